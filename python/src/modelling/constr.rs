//! Constraints: rows of a model.

use super::attribute::{default_of, end_of_range, only_default, unknown, wanted};
use super::home::{Home, edit};
use super::relation::Sense;
use super::trouble::unavailable;
use super::var::{UNDEFINED, basis_code};
use crate::attributes;
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::PyString;
use remat_models::program::{Program, ProgramError, Row};
use std::sync::Arc;

/// A linear constraint of a model.
#[pyclass(frozen, module = "remat_bb.gurobi")]
pub struct Constr {
    /// Its model.
    pub home: Arc<Home>,
    /// Handle of its row.
    pub row: u32,
}

/// Name of a row; an unnamed row is called `R` and its handle.
///
/// # Errors
/// As for the program.
pub fn row_name(program: &Program, row: u32) -> Result<String, ProgramError> {
    let name = program.row_name(Row(row))?;
    Ok(name.map_or_else(|| format!("R{row}"), str::to_owned))
}

/// Sense and right side of a row. A row with two sides is an equation with its upper side, as in
/// gurobipy.
fn sense_and_side((lower, upper): (f64, f64)) -> (Sense, f64) {
    match (lower.is_finite(), upper.is_finite()) {
        (true, false) => (Sense::Greater, lower),
        (true, true) if lower == upper => (Sense::Equal, lower),
        (true, true) => (Sense::Equal, upper),
        (false, _) => (Sense::Less, upper),
    }
}

impl Constr {
    fn sides(&self) -> PyResult<(f64, f64)> {
        edit(&self.home, |program| program.row_bounds(Row(self.row)))
    }

    /// A value of the latest answer's duals.
    fn dual<T: Copy>(
        &self,
        of: impl Fn(&remat_models::program::Duals) -> &Vec<T>,
        attribute: &str,
    ) -> PyResult<T> {
        let state = self.home.state();
        let duals = state.answer.as_ref().and_then(|a| a.duals.as_ref());
        let value = duals.and_then(|d| of(d).get(self.row as usize)).copied();
        value.ok_or_else(|| unavailable(attribute))
    }

    /// Right side less activity at the best point.
    fn slack(&self) -> PyResult<f64> {
        let (_, side) = sense_and_side(self.sides()?);
        let answer = self.home.state().answer.clone();
        let point = answer.as_ref().and_then(|a| a.points.first());
        let x = &point.ok_or_else(|| unavailable("Slack"))?.x;
        edit(&self.home, |program| {
            let entries = program.entries(Row(self.row))?.iter();
            let terms = entries.map(|&(col, v)| v * x.get(col.index()).copied().unwrap_or(0.0));
            Ok(side - terms.sum::<f64>())
        })
    }
}

attributes!(Constr);

#[pymethods]
impl Constr {
    fn __hash__(&self) -> u64 {
        self.home.number << 32 | u64::from(self.row)
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        self.same_as(other)
    }

    /// True if both are the same constraint of the same model.
    #[pyo3(name = "sameAs")]
    fn same_as(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Constr>().is_ok_and(|other| {
            let other = other.get();
            Arc::ptr_eq(&self.home, &other.home) && self.row == other.row
        })
    }

    #[getter]
    fn _handle(&self) -> u32 {
        self.row
    }

    /// Position among the constraints of the model; -2 if it was removed.
    #[getter]
    fn index(&self) -> i64 {
        let program = self.home.program();
        match program.row_bounds(Row(self.row)) {
            Err(_) => -2,
            Ok(_) if program.num_rows() == program.row_handles() => i64::from(self.row),
            Ok(_) => program
                .rows()
                .position(|r| r.0 == self.row)
                .map_or(-2, |k| k as i64),
        }
    }

    fn __repr__(&self) -> String {
        match edit(&self.home, |p| row_name(p, self.row)) {
            Ok(name) => format!("<gurobi.Constr {name}>"),
            Err(_) => "<gurobi.Constr (removed)>".into(),
        }
    }
}

impl Constr {
    /// An attribute by its name in lower case; `None` for an unknown one.
    fn get(&self, name: &str, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        let found = match name {
            "constrname" => edit(&self.home, |p| row_name(p, self.row))?.into_py_any(py),
            "rhs" => sense_and_side(self.sides()?).1.into_py_any(py),
            "sense" => sense_and_side(self.sides()?).0.sign().into_py_any(py),
            "slack" => self.slack()?.into_py_any(py),
            "pi" => self.dual(|d| &d.rows, "Pi")?.into_py_any(py),
            "sarhslow" | "sarhsup" => {
                let range = end_of_range(&self.home, name, |r| {
                    r.sides.get(self.row as usize).copied()
                });
                range?.into_py_any(py)
            }
            "cbasis" => {
                let status = self.dual(|d| &d.row_status, "CBasis")?;
                let status = status.ok_or_else(|| unavailable("CBasis"))?;
                // A row at a side is not basic; gurobipy does not state the side.
                basis_code(status).max(-1).into_py_any(py)
            }
            "farkasdual" => {
                let state = self.home.state();
                let ray = state.answer.as_ref().and_then(|a| a.farkas.as_ref());
                let value = ray.and_then(|r| r.get(self.row as usize)).copied();
                // gurobipy proves by `y A x <= y b`: multipliers of "not more" are at least 0.
                (-value.ok_or_else(|| unavailable("FarkasDual"))?).into_py_any(py)
            }
            "lazy" => {
                let lazy = self.home.state().lazy.get(&self.row).copied();
                lazy.unwrap_or(0).into_py_any(py)
            }
            "iisconstr" => {
                let state = self.home.state();
                let iis = state.iis.as_ref().ok_or_else(|| unavailable("IISConstr"))?;
                i32::from(iis.rows.contains(&self.row)).into_py_any(py)
            }
            "ctag" => {
                let tag = self.home.state().row_tags.get(&self.row).cloned();
                tag.unwrap_or_default().into_py_any(py)
            }
            // The simplex methods take no start from attributes.
            "dstart" => UNDEFINED.into_py_any(py),
            _ => match default_of(name) {
                Some(default) => default.into_py_any(py),
                None => return Ok(None),
            },
        };
        found.map(Some)
    }

    /// Sets an attribute by its name in lower case; returns false for an unknown one.
    fn set(&self, name: &str, value: &Bound<'_, PyAny>) -> PyResult<bool> {
        let wanted = || wanted(name, value);
        let (sense, side) = sense_and_side(self.sides()?);
        let set = |(lower, upper): (f64, f64)| {
            edit(&self.home, |p| {
                p.set_row_bounds(Row(self.row), lower, upper)
            })
        };
        let done = match name {
            "rhs" => set(sense.sides(wanted()?)),
            "sense" => set(Sense::parse(value.cast::<PyString>()?.to_str()?)?.sides(side)),
            "constrname" => {
                let text = value.cast::<PyString>()?.to_string();
                edit(&self.home, |p| p.set_row_name(Row(self.row), &text))
            }
            "lazy" => {
                let lazy = wanted()? as i32;
                self.home.state().lazy.insert(self.row, lazy);
                Ok(())
            }
            "ctag" => {
                let tag = value.cast::<PyString>()?.to_string();
                self.home.state().row_tags.insert(self.row, tag);
                Ok(())
            }
            // The start of a simplex method does not change an answer.
            "cbasis" | "dstart" => Ok(()),
            _ => match default_of(name) {
                Some(default) => only_default(name, wanted()?, default),
                None => return Ok(false),
            },
        };
        done.map(|()| true)
    }
}
