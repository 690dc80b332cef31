//! Plans as files for viewers.

use crate::instance::save;
use crate::plan::Plan;
use crate::relay::apart;
use crate::trouble::Trouble;
use pyo3::prelude::*;
use remat_report::{snapshot, steps_csv, trace};
use std::path::PathBuf;

#[pymethods]
impl Plan {
    /// Writes the step as trace events for Perfetto and ``chrome://tracing``, gzipped if the name
    /// ends in ``.gz``: lanes of computations, recomputations and copies, memory, and arrows to the
    /// readers. On an error the file is unchanged.
    ///
    /// Raises:
    ///     FileError: with the system's message.
    #[pyo3(signature = (path, /))]
    fn to_trace(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let (plan, budget) = (&self.document.plan, self.document.budget_bytes);
        let write = || {
            save(
                &path,
                &trace::of_plan(&self.view, plan, &self.replay, budget)?,
            )
        };
        Ok(apart(py, write)??)
    }

    /// Writes a PyTorch memory snapshot, which pytorch.org/memory_viz and
    /// ``torch.cuda._memory_viz`` open: every tensor is a block, at its address if the plan has
    /// addresses. On an error the file is unchanged.
    ///
    /// Raises:
    ///     FileError: with the system's message.
    #[pyo3(signature = (path, /))]
    fn to_snapshot(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let plan = &self.document.plan;
        let write = || {
            let bytes = snapshot::of_plan(&self.view, plan, &self.replay, self.addresses())?;
            let written = remat_lp::whole_file::write(&path, &[&bytes]);
            written.map_err(|e| Trouble::file(&path, e))
        };
        Ok(apart(py, write)??)
    }

    /// Writes memory over time as CSV, gzipped if the name ends in ``.gz``: a row for each
    /// statement. On an error the file is unchanged.
    ///
    /// Raises:
    ///     FileError: with the system's message.
    #[pyo3(signature = (path, /))]
    fn to_csv(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let plan = &self.document.plan;
        let write = || save(&path, &steps_csv::of_plan(&self.view, plan, &self.replay));
        Ok(apart(py, write)??)
    }
}
