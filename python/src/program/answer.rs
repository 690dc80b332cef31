//! Answers to programs, and snapshots of their search.

use crate::copied_as_itself;
use crate::numbers::whole_if_given;
use crate::pickled::{Reduced, packed, reduced, unpacked};
use numpy::{IntoPyArray, PyArray1};
use pyo3::prelude::*;
use remat_lp::VarStatus;
use remat_models::program;
use remat_solver::mip;
use std::borrow::Cow;

/// A snapshot of the search in a program.
#[pyclass(frozen, module = "remat_bb")]
#[derive(Clone, Debug)]
pub struct ProgramProgress {
    /// Seconds since the start.
    #[pyo3(get)]
    pub seconds: f64,
    /// Objective of the best point; `None` before the first.
    #[pyo3(get)]
    pub objective: Option<f64>,
    /// Best bound: no point is better than this.
    #[pyo3(get)]
    pub bound: f64,
    /// Number of nodes done.
    #[pyo3(get)]
    pub nodes: u64,
    /// Number of open nodes.
    #[pyo3(get)]
    pub open: u64,
    /// Simplex iterations.
    #[pyo3(get)]
    pub lp_iterations: u64,
    /// Relative gap of objective and bound; `None` before the first point.
    pub gap: Option<f64>,
}

impl From<&mip::Progress> for ProgramProgress {
    fn from(look: &mip::Progress) -> Self {
        ProgramProgress {
            seconds: look.seconds,
            objective: look.objective,
            bound: look.dual_bound,
            nodes: look.nodes,
            open: look.open,
            lp_iterations: look.lp_iterations,
            gap: look.gap(),
        }
    }
}

/// The answer to a program.
#[pyclass(frozen, weakref, module = "remat_bb")]
pub struct Answer {
    /// The answer.
    pub inner: program::Answer,
}

fn status_letters(of: &[Option<VarStatus>]) -> String {
    let letter = |status: &Option<VarStatus>| match status {
        Some(VarStatus::Basic) => 'B',
        Some(VarStatus::AtLower) => 'L',
        Some(VarStatus::AtUpper) => 'U',
        Some(VarStatus::Free) => 'F',
        None => '-',
    };
    of.iter().map(letter).collect()
}

copied_as_itself!(Answer);

#[pymethods]
impl Answer {
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py, (Cow<'static, [u8]>,)>> {
        reduced(py, "Answer", (packed(&self.inner)?.into(),))
    }

    /// The answer of a pickle.
    #[staticmethod]
    fn __restored__(bytes: &[u8]) -> PyResult<Self> {
        let inner = unpacked(bytes)?;
        Ok(Answer { inner })
    }

    /// ``optimal``, ``infeasible``, ``unbounded``, ``infeasible or unbounded`` (the relaxation is
    /// unbounded, no point was found), ``cutoff`` (no point is better), ``time limit``, ``node
    /// limit``, ``iteration limit``, ``memory limit``, ``work limit``, ``interrupted`` or
    /// ``numeric`` (numerical trouble that all remedies failed to solve).
    #[getter]
    fn status(&self) -> &'static str {
        self.inner.ending.words()
    }

    /// Objective of the best point; ``None`` without one.
    #[getter]
    fn objective(&self) -> Option<f64> {
        self.inner.points.first().map(|p| p.objective)
    }

    /// Best bound: no point is better than this.
    #[getter]
    fn bound(&self) -> f64 {
        self.inner.bound
    }

    /// ``|objective - bound| / |objective|``; infinite without a point.
    #[getter]
    fn gap(&self) -> f64 {
        self.inner.gap()
    }

    /// Objectives of all points, the best first.
    #[getter]
    fn objectives(&self) -> Vec<f64> {
        self.inner.points.iter().map(|p| p.objective).collect()
    }

    /// Values of several objectives at the best point, in their order; empty for a single
    /// objective.
    #[getter]
    fn objective_values(&self) -> Vec<f64> {
        self.inner.objective_values.clone()
    }

    /// Values of a point by handle, as an array; ``None`` for a point that does not exist.
    #[pyo3(signature = (number = None))]
    fn x<'py>(
        &self,
        py: Python<'py>,
        number: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Option<Bound<'py, PyArray1<f64>>>> {
        let number: usize = whole_if_given("number", number)?.unwrap_or(0);
        let point = self.inner.points.get(number);
        Ok(point.map(|point| point.x.clone().into_pyarray(py)))
    }

    /// By row, the change of the objective per unit of its side; ``None`` with integers.
    #[getter]
    fn duals<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyArray1<f64>>> {
        let duals = self.inner.duals.as_ref()?;
        Some(duals.rows.clone().into_pyarray(py))
    }

    /// By column, ``cost - A^T y``; ``None`` with integers.
    #[getter]
    fn reduced_costs<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyArray1<f64>>> {
        let duals = self.inner.duals.as_ref()?;
        Some(duals.reduced_costs.clone().into_pyarray(py))
    }

    /// Letters for columns and for rows: ``B`` basic, ``L`` at the lower side, ``U`` at the
    /// upper, ``F`` free, ``-`` removed.
    #[getter]
    fn basis(&self) -> Option<(String, String)> {
        let duals = self.inner.duals.as_ref()?;
        let (cols, rows) = (&duals.col_status, &duals.row_status);
        let is_empty = cols.is_empty() && rows.is_empty();
        if !is_empty && cols.iter().chain(rows).all(Option::is_none) {
            // A quadratic program has duals and no basis.
            return None;
        }
        let cols = status_letters(&duals.col_status);
        Some((cols, status_letters(&duals.row_status)))
    }

    /// By row, a proof that a linear program is infeasible.
    #[getter]
    fn farkas<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyArray1<f64>>> {
        Some(self.inner.farkas.clone()?.into_pyarray(py))
    }

    /// By column, a direction in which a linear program's objective improves without limit.
    #[getter]
    fn ray<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyArray1<f64>>> {
        Some(self.inner.ray.clone()?.into_pyarray(py))
    }

    /// Objective and bound as fractions, and the reason why they are not exact; each may be
    /// ``None``. ``None`` unless ``exact`` was set.
    #[getter]
    fn exact(&self) -> Option<(Option<&str>, Option<&str>, Option<&str>)> {
        let exact = self.inner.exact.as_ref()?;
        Some((
            exact.objective.as_deref(),
            exact.bound.as_deref(),
            exact.problem.as_deref(),
        ))
    }

    /// Nodes of the tree.
    #[getter]
    fn nodes(&self) -> u64 {
        self.inner.info.nodes
    }

    /// Simplex iterations.
    #[getter]
    fn lp_iterations(&self) -> u64 {
        self.inner.info.lp_iterations
    }

    /// Work in deterministic units.
    #[getter]
    fn ticks(&self) -> u64 {
        self.inner.info.ticks
    }

    /// Time taken.
    #[getter]
    fn seconds(&self) -> f64 {
        self.inner.info.seconds
    }

    /// Name of the recognised published program, and number of nodes of its graph.
    #[getter]
    fn recognised(&self) -> Option<(&'static str, usize)> {
        let program = self.inner.recognised?;
        Some((program.program, program.nodes))
    }

    fn __repr__(&self) -> String {
        let objective = self.objective();
        let value = objective.map_or("no point".into(), |v| format!("objective {v}"));
        format!(
            "Answer({}, {value}, bound {})",
            self.status(),
            self.inner.bound
        )
    }
}
