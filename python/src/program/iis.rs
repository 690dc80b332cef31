//! The reason why a program is infeasible.

use super::Program;
use super::solving::Stop;
use crate::asked;
use crate::relay::{Ended, work_until};
use crate::trouble::Trouble;
use pyo3::prelude::*;
use remat_models::ModelSettings;
use remat_models::program::{self, Col, find_iis};

/// Rows, bounds and special constraints that no point satisfies together.
#[pyclass(frozen, get_all, module = "remat_bb")]
pub struct Iis {
    /// Handles of rows.
    rows: Vec<u32>,
    /// Handles of columns whose lower bound is in it.
    lower: Vec<u32>,
    /// Handles of columns whose upper bound is in it.
    upper: Vec<u32>,
    /// Handles of special constraints.
    specials: Vec<u32>,
    /// True if each of them is proven to be necessary.
    minimal: bool,
}

impl From<program::Iis> for Iis {
    fn from(iis: program::Iis) -> Self {
        let handles = |cols: Vec<Col>| cols.into_iter().map(|c| c.0).collect();
        Iis {
            rows: iis.rows.into_iter().map(|r| r.0).collect(),
            lower: handles(iis.lower),
            upper: handles(iis.upper),
            specials: iis.specials.into_iter().map(|s| s.0).collect(),
            minimal: iis.minimal,
        }
    }
}

#[pymethods]
impl Program {
    /// Finds rows, bounds and special constraints that no point satisfies together, each of which
    /// is necessary. Ctrl-C and the time limit end it with the set found so far.
    ///
    /// Returns:
    ///     ``None`` if the program is feasible.
    ///
    /// Raises:
    ///     InvalidArgument: within the limits there is no proof that the program is infeasible.
    #[pyo3(signature = (*, time_limit = None, threads = None, stop = None))]
    fn find_iis(
        &self,
        py: Python<'_>,
        time_limit: Option<Bound<'_, PyAny>>,
        threads: Option<Bound<'_, PyAny>>,
        stop: Option<&Bound<'_, Stop>>,
    ) -> PyResult<Option<Iis>> {
        let limits = asked::values([
            ("time_limit", time_limit.as_ref()),
            ("threads", threads.as_ref()),
        ])?;
        let limits = limits.settings();
        let mut settings = ModelSettings::default();
        settings.mip.limits.seconds = limits.time_limit.map(|t| t.as_secs_f64());
        settings.mip.threads = limits.worker_threads();
        let program = self.lock().clone();
        let stop = stop.map(|stop| stop.get().flag()).unwrap_or_default();
        let nobody: Option<Py<PyAny>> = None;
        let Ended { value, interrupt } = work_until(
            py,
            stop,
            nobody,
            |relay: &std::sync::Arc<crate::relay::Relay<super::answer::ProgramProgress>>| {
                settings.mip.limits.interrupt = Some(relay.stop().clone());
                find_iis(&program, &settings)
            },
        )?;
        match (value, interrupt) {
            (Err(_), Some(interrupt)) => Err(interrupt),
            (value, _) => Ok(value.map_err(Trouble::from)?.map(Iis::from)),
        }
    }
}
