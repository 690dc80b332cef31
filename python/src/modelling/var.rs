//! Variables: columns of a model.

use super::attribute::{default_of, end_of_range, only_default, unknown, wanted};
use super::home::{Home, edit};
use super::operand::{Operand, Operator, operate, power, reflected, relate};
use super::relation::Sense;
use super::terms::Linear;
use super::trouble::{Errno, error, unavailable};
use crate::program::lock;
use crate::{attributes, operators};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::PyString;
use remat_lp::VarStatus;
use remat_models::program::{Col, Kind, Program};
use std::sync::Arc;

/// A variable of a model.
#[pyclass(frozen, module = "remat_bb.gurobi")]
pub struct Var {
    /// Its model.
    pub home: Arc<Home>,
    /// Handle of its column.
    pub col: u32,
}

impl Var {
    /// The variable as a linear expression.
    pub fn linear(&self) -> Linear {
        Linear::column(&self.home, self.col)
    }

    /// The variable of a column as an object, always the same one.
    ///
    /// # Errors
    /// Python's errors.
    pub fn object(home: &Arc<Home>, col: u32, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let objects = home.objects.upgrade();
        let known = objects.as_ref().and_then(|objects| {
            let objects = lock(objects);
            let object = objects.get(col as usize)?.as_ref()?;
            Some(object.clone_ref(py).into_any())
        });
        if let Some(known) = known {
            return Ok(known);
        }
        let home = home.clone();
        let made = Py::new(py, Var { home, col })?;
        if let Some(objects) = objects {
            let mut objects = lock(&objects);
            if objects.len() <= col as usize {
                objects.resize_with(col as usize + 1, || None);
            }
            objects[col as usize] = Some(made.clone_ref(py));
        }
        Ok(made.into_any())
    }

    fn operand_of(this: &Bound<'_, Self>) -> Operand {
        Operand::Linear(this.get().linear())
    }

    /// Value at a point of the latest answer.
    fn value(&self, number: usize, attribute: &str) -> PyResult<f64> {
        let state = self.home.state();
        let point = state.answer.as_ref().and_then(|a| a.points.get(number));
        let value = point.and_then(|p| p.x.get(self.col as usize)).copied();
        value
            .filter(|v| !v.is_nan())
            .ok_or_else(|| unavailable(attribute))
    }

    /// The name, or the default name of an unnamed variable.
    pub fn name(&self) -> PyResult<String> {
        edit(&self.home, |program| col_name(program, self.col))
    }
}

/// Name of a column; an unnamed column is called `C` and its handle.
///
/// # Errors
/// As for the program.
pub fn col_name(
    program: &Program,
    col: u32,
) -> Result<String, remat_models::program::ProgramError> {
    let name = program.col_name(Col(col))?;
    Ok(name.map_or_else(|| format!("C{col}"), str::to_owned))
}

/// The kind of a letter.
///
/// # Errors
/// `GurobiError` quotes it.
pub fn kind(letter: &str) -> PyResult<Kind> {
    match letter {
        "C" | "c" => Ok(Kind::Continuous),
        "B" | "b" => Ok(Kind::Binary),
        "I" | "i" => Ok(Kind::Integer),
        "S" | "s" => Ok(Kind::SemiContinuous),
        "N" | "n" => Ok(Kind::SemiInteger),
        _ => Err(error(
            Errno::InvalidArgument,
            format!("vtype {letter:?} is none of 'C', 'B', 'I', 'S' and 'N'"),
        )),
    }
}

/// The letter of a kind.
pub fn letter(kind: Kind) -> &'static str {
    match kind {
        Kind::Continuous => "C",
        Kind::Binary => "B",
        Kind::Integer => "I",
        Kind::SemiContinuous => "S",
        Kind::SemiInteger => "N",
    }
}

/// gurobipy's number for a status in a basis.
pub fn basis_code(status: VarStatus) -> i32 {
    match status {
        VarStatus::Basic => 0,
        VarStatus::AtLower => -1,
        VarStatus::AtUpper => -2,
        VarStatus::Free => -3,
    }
}

operators!(Var);

attributes!(Var);

#[pymethods]
impl Var {
    fn __hash__(&self) -> u64 {
        // All variables of a process have different hashes, so that a dictionary never compares
        // different ones.
        self.home.number << 32 | u64::from(self.col)
    }

    /// True if both are the same variable of the same model.
    #[pyo3(name = "sameAs")]
    fn same_as(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Var>().is_ok_and(|other| {
            let other = other.get();
            Arc::ptr_eq(&self.home, &other.home) && self.col == other.col
        })
    }

    #[getter]
    fn _handle(&self) -> u32 {
        self.col
    }

    /// Position among the variables of the model; -2 if it was removed.
    #[getter]
    fn index(&self) -> i64 {
        let program = self.home.program();
        match program.cost(Col(self.col)) {
            Err(_) => -2,
            Ok(_) if program.num_cols() == program.col_handles() => i64::from(self.col),
            Ok(_) => program
                .cols()
                .position(|c| c.0 == self.col)
                .map_or(-2, |k| k as i64),
        }
    }

    fn __repr__(&self) -> String {
        let Ok(name) = self.name() else {
            return "<gurobi.Var (removed)>".into();
        };
        match self.value(0, "x") {
            Ok(value) => format!("<gurobi.Var {name} (value {value:?})>"),
            Err(_) => format!("<gurobi.Var {name}>"),
        }
    }
}

/// The number for a missing value in starts and hints.
pub const UNDEFINED: f64 = 1e101;

impl Var {
    fn in_iis(
        &self,
        part: impl Fn(&super::home::Iis) -> &Vec<u32>,
        attribute: &str,
    ) -> PyResult<i32> {
        let state = self.home.state();
        let iis = state.iis.as_ref().ok_or_else(|| unavailable(attribute))?;
        Ok(i32::from(part(iis).contains(&self.col)))
    }
}

impl Var {
    /// An attribute by its name in lower case; `None` for an unknown one.
    fn get(&self, name: &str, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        let col = Col(self.col);
        let found = match name {
            "x" => self.value(0, "x")?.into_py_any(py),
            "xn" => {
                let number = self.home.state().solution_number;
                self.value(number, "Xn")?.into_py_any(py)
            }
            "lb" => edit(&self.home, |p| p.col_bounds(col))?.0.into_py_any(py),
            "ub" => edit(&self.home, |p| p.col_bounds(col))?.1.into_py_any(py),
            "obj" => edit(&self.home, |p| p.cost(col))?.into_py_any(py),
            "vtype" => letter(edit(&self.home, |p| p.kind(col))?).into_py_any(py),
            "varname" => self.name()?.into_py_any(py),
            "start" => {
                let state = self.home.state();
                let start = state.starts.get(&state.start_number);
                let value = start.and_then(|s| s.get(&self.col)).copied();
                value.unwrap_or(UNDEFINED).into_py_any(py)
            }
            "varhintval" => {
                let hint = self.home.state().hints.get(&self.col).copied();
                hint.map_or(UNDEFINED, |h| h.0).into_py_any(py)
            }
            "varhintpri" => {
                let hint = self.home.state().hints.get(&self.col).copied();
                hint.map_or(0, |h| h.1).into_py_any(py)
            }
            "branchpriority" => {
                let priority = self.home.state().priorities.get(&self.col).copied();
                priority.unwrap_or(0).into_py_any(py)
            }
            "rc" => {
                let state = self.home.state();
                let duals = state.answer.as_ref().and_then(|a| a.duals.as_ref());
                let cost = duals
                    .and_then(|d| d.reduced_costs.get(col.index()))
                    .copied();
                let cost = cost
                    .filter(|v| !v.is_nan())
                    .ok_or_else(|| unavailable("RC"))?;
                cost.into_py_any(py)
            }
            "vbasis" => {
                let state = self.home.state();
                let duals = state.answer.as_ref().and_then(|a| a.duals.as_ref());
                let status = duals.and_then(|d| d.col_status.get(col.index()).copied().flatten());
                let status = status.ok_or_else(|| unavailable("VBasis"))?;
                basis_code(status).into_py_any(py)
            }
            "unbdray" => {
                let state = self.home.state();
                let ray = state.answer.as_ref().and_then(|a| a.ray.as_ref());
                let value = ray.and_then(|r| r.get(col.index())).copied();
                value.ok_or_else(|| unavailable("UnbdRay"))?.into_py_any(py)
            }
            "saobjlow" | "saobjup" => {
                end_of_range(&self.home, name, |r| r.costs.get(col.index()).copied())?
                    .into_py_any(py)
            }
            "salblow" | "salbup" => {
                end_of_range(&self.home, name, |r| r.lower.get(col.index()).copied())?
                    .into_py_any(py)
            }
            "saublow" | "saubup" => {
                end_of_range(&self.home, name, |r| r.upper.get(col.index()).copied())?
                    .into_py_any(py)
            }
            "iislb" => self.in_iis(|iis| &iis.lower, "IISLB")?.into_py_any(py),
            "iisub" => self.in_iis(|iis| &iis.upper, "IISUB")?.into_py_any(py),
            "vtag" => {
                let tag = self.home.state().col_tags.get(&self.col).cloned();
                tag.unwrap_or_default().into_py_any(py)
            }
            // The simplex methods take no start from attributes.
            "pstart" => UNDEFINED.into_py_any(py),
            _ => match default_of(name) {
                Some(default) => default.into_py_any(py),
                None => return Ok(None),
            },
        };
        found.map(Some)
    }

    /// Sets an attribute by its name in lower case; returns false for an unknown one.
    fn set(&self, name: &str, value: &Bound<'_, PyAny>) -> PyResult<bool> {
        let col = Col(self.col);
        let wanted = || wanted(name, value);
        let done = match name {
            "lb" => {
                let lower = wanted()?;
                edit(&self.home, |p| {
                    let (_, upper) = p.col_bounds(col)?;
                    p.set_col_bounds(col, lower, upper)
                })
            }
            "ub" => {
                let upper = wanted()?;
                edit(&self.home, |p| {
                    let (lower, _) = p.col_bounds(col)?;
                    p.set_col_bounds(col, lower, upper)
                })
            }
            "obj" => {
                let cost = wanted()?;
                edit(&self.home, |p| {
                    p.set_pieces(col, Vec::new())?;
                    p.set_cost(col, cost)
                })
            }
            "vtype" => {
                let kind = kind(value.cast::<PyString>()?.to_str()?)?;
                edit(&self.home, |p| p.set_kind(col, kind))
            }
            "varname" => {
                let text = value.cast::<PyString>()?.to_string();
                edit(&self.home, |p| p.set_col_name(col, &text))
            }
            "start" => {
                let start = match value.is_none() {
                    true => UNDEFINED,
                    false => wanted()?,
                };
                let mut state = self.home.state();
                let number = state.start_number;
                let starts = state.starts.entry(number).or_default();
                match start >= UNDEFINED {
                    true => starts.remove(&self.col),
                    false => starts.insert(self.col, start),
                };
                Ok(())
            }
            "varhintval" => {
                let value = wanted()?;
                self.home.state().hints.entry(self.col).or_default().0 = value;
                Ok(())
            }
            "varhintpri" => {
                let priority = wanted()? as i32;
                self.home.state().hints.entry(self.col).or_default().1 = priority;
                Ok(())
            }
            "branchpriority" => {
                let priority = wanted()? as i32;
                self.home.state().priorities.insert(self.col, priority);
                Ok(())
            }
            "vtag" => {
                let tag = value.cast::<PyString>()?.to_string();
                self.home.state().col_tags.insert(self.col, tag);
                Ok(())
            }
            // The start of a simplex method does not change an answer.
            "vbasis" | "pstart" | "partition" => Ok(()),
            _ => match default_of(name) {
                Some(default) => only_default(name, wanted()?, default),
                None => return Ok(false),
            },
        };
        done.map(|()| true)
    }
}
