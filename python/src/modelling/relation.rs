//! Relations of expressions, which become constraints once a model takes them.

use super::operand::Operand;
use super::terms::Quadratic;
use super::trouble::{Errno, error};
use pyo3::prelude::*;

/// Sense of a relation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sense {
    /// Not more than.
    Less,
    /// Not less than.
    Greater,
    /// The same as.
    Equal,
}

impl Sense {
    /// gurobipy's letter for it.
    pub fn sign(self) -> &'static str {
        match self {
            Sense::Less => "<",
            Sense::Greater => ">",
            Sense::Equal => "=",
        }
    }

    /// The sense of a sign.
    ///
    /// # Errors
    /// `GurobiError` quotes it.
    pub fn parse(sign: &str) -> PyResult<Self> {
        match sign.chars().next() {
            Some('<') => Ok(Sense::Less),
            Some('>') => Ok(Sense::Greater),
            Some('=') => Ok(Sense::Equal),
            _ => Err(error(
                Errno::InvalidArgument,
                format!("sense {sign:?} is none of '<', '>' and '='"),
            )),
        }
    }

    /// Sides of a row whose terms stand in this relation to `side`.
    pub fn sides(self, side: f64) -> (f64, f64) {
        match self {
            Sense::Less => (f64::NEG_INFINITY, side),
            Sense::Greater => (side, f64::INFINITY),
            Sense::Equal => (side, side),
        }
    }
}

/// A relation that is not in a model yet: an expression, and its sense towards 0.
#[pyclass(frozen, module = "remat_bb.gurobi")]
pub struct TempConstr {
    /// Left side less right side.
    pub difference: Quadratic,
    /// The sense.
    pub sense: Sense,
}

impl TempConstr {
    /// Returns whether it relates a variable to itself.
    fn is_identity(&self) -> bool {
        let linear = &self.difference.linear;
        let [(a, v), (b, w)] = linear.terms[..] else {
            return false;
        };
        a == b && v == -w && linear.constant == 0.0 && self.difference.terms.is_empty()
    }

    /// The relation of two sides.
    pub fn new(left: Operand, sense: Sense, right: Operand) -> Self {
        TempConstr {
            difference: left.plus(right, -1.0).quadratic(),
            sense,
        }
    }
}

#[pymethods]
impl TempConstr {
    fn __bool__(&self) -> PyResult<bool> {
        // A dictionary compares a variable with itself.
        if self.sense == Sense::Equal && self.is_identity() {
            return Ok(true);
        }
        Err(error(
            Errno::InvalidArgument,
            "a constraint is neither true nor false; two sides at once are given by addRange",
        ))
    }

    /// Left side less right side, as a linear or quadratic expression.
    #[getter(_difference)]
    fn difference_object(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let difference = self.difference.clone();
        match difference.terms.is_empty() {
            true => Operand::Linear(difference.linear).object(py),
            false => Operand::Quadratic(difference).object(py),
        }
    }

    /// The sense: ``<``, ``>`` or ``=``.
    #[getter(_sense)]
    fn sense_sign(&self) -> &'static str {
        self.sense.sign()
    }

    fn __rshift__(this: &Bound<'_, Self>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        let module = this.py().import("remat_bb.gurobi.general")?;
        Ok(module.call_method1("implication", (this, other))?.unbind())
    }
}
