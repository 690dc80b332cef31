//! Objects on either side of an operator, and the operators of all classes of expressions.

use super::linear::LinExpr;
use super::quadratic::QuadExpr;
use super::relation::{Sense, TempConstr};
use super::terms::{Linear, Quadratic};
use super::trouble::{Errno, error};
use super::var::Var;
use numpy::PyUntypedArray;
use pyo3::prelude::*;
use pyo3::types::{PyFloat, PyInt, PyList, PyString};
use pyo3::{Borrowed, IntoPyObjectExt};

/// An operand of an expression.
pub enum Operand {
    /// A number.
    Number(f64),
    /// A linear expression.
    Linear(Linear),
    /// A quadratic expression.
    Quadratic(Quadratic),
}

impl Operand {
    /// Converts it to a quadratic expression.
    pub fn quadratic(self) -> Quadratic {
        match self {
            Operand::Number(v) => Quadratic::of(Linear::constant(v)),
            Operand::Linear(linear) => Quadratic::of(linear),
            Operand::Quadratic(quadratic) => quadratic,
        }
    }

    /// Converts it to a Python object; numbers and linear expressions become linear ones.
    pub fn object(self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        match self {
            Operand::Number(v) => LinExpr::from(Linear::constant(v)).into_py_any(py),
            Operand::Linear(linear) => LinExpr::from(linear).into_py_any(py),
            Operand::Quadratic(quadratic) => QuadExpr::from(quadratic).into_py_any(py),
        }
    }

    /// `self + factor * other`.
    pub fn plus(self, other: Operand, factor: f64) -> Operand {
        match (self, other) {
            (Operand::Quadratic(mut a), b) => {
                a.add(&b.quadratic(), factor);
                Operand::Quadratic(a)
            }
            (a, Operand::Quadratic(mut b)) => {
                b.scale(factor);
                b.add(&a.quadratic(), 1.0);
                Operand::Quadratic(b)
            }
            (Operand::Linear(mut a), Operand::Linear(b)) => {
                a.add(&b, factor);
                Operand::Linear(a)
            }
            (Operand::Linear(mut a), Operand::Number(b)) => {
                a.constant += factor * b;
                Operand::Linear(a)
            }
            (Operand::Number(a), Operand::Linear(mut b)) => {
                b.scale(factor);
                b.constant += a;
                Operand::Linear(b)
            }
            (Operand::Number(a), Operand::Number(b)) => Operand::Number(a + factor * b),
        }
    }

    /// The product with a number.
    pub fn scaled(self, factor: f64) -> Operand {
        match self {
            Operand::Number(v) => Operand::Number(v * factor),
            Operand::Linear(mut linear) => {
                linear.scale(factor);
                Operand::Linear(linear)
            }
            Operand::Quadratic(mut quadratic) => {
                quadratic.scale(factor);
                Operand::Quadratic(quadratic)
            }
        }
    }

    /// Converts a quadratic expression without products to a linear one.
    fn without_products(self) -> Operand {
        match self {
            Operand::Quadratic(q) if q.terms.is_empty() => Operand::Linear(q.linear),
            other => other,
        }
    }

    /// The product; `None` for a product of more than two variables.
    pub fn times(self, other: Operand) -> Option<Operand> {
        Some(match (self.without_products(), other.without_products()) {
            (Operand::Number(v), other) | (other, Operand::Number(v)) => other.scaled(v),
            (Operand::Linear(a), Operand::Linear(b)) => Operand::Quadratic(a.times(&b)),
            (Operand::Quadratic(mut q), Operand::Linear(e))
            | (Operand::Linear(e), Operand::Quadratic(mut q)) => match e.terms.is_empty() {
                true => {
                    q.scale(e.constant);
                    Operand::Quadratic(q)
                }
                false => return None,
            },
            (Operand::Quadratic(_), Operand::Quadratic(_)) => return None,
        })
    }
}

/// A nonlinear expression of Python's class.
fn nonlinear(
    py: Python<'_>,
    name: &str,
    one: &Bound<'_, PyAny>,
    two: &Bound<'_, PyAny>,
) -> PyResult<Py<PyAny>> {
    let class = py.import("remat_bb.gurobi.nonlinear")?.getattr("NLExpr")?;
    Ok(class.call1((name, one, two))?.unbind())
}

/// A number that is no expression: Python's, or a scalar of NumPy's.
pub fn number(value: &Bound<'_, PyAny>) -> Option<f64> {
    if value.is_instance_of::<PyFloat>() || value.is_instance_of::<PyInt>() {
        return value.extract().ok();
    }
    if value.is_instance_of::<PyString>() || dimensions(value).is_some_and(|n| n > 0) {
        return None;
    }
    value.extract().ok()
}

/// Number of dimensions of an array, NumPy's or ours.
fn dimensions(value: &Bound<'_, PyAny>) -> Option<usize> {
    value.getattr("ndim").ok()?.extract().ok()
}

/// A nonlinear expression of a number and an expression to its right; `NotImplemented` if the left
/// object is no number.
///
/// # Errors
/// Python's errors.
pub fn reflected(
    py: Python<'_>,
    name: &str,
    left: &Bound<'_, PyAny>,
    this: &Bound<'_, PyAny>,
) -> PyResult<Py<PyAny>> {
    match number(left) {
        Some(_) => nonlinear(py, name, left, this),
        None => Ok(py.NotImplemented()),
    }
}

/// Returns whether operators apply to the members of an array: NumPy's, SciPy's sparse ones, or
/// ours. Others, such as a series of pandas, have their own operators.
fn has_members(value: &Bound<'_, PyAny>) -> bool {
    let py = value.py();
    value.cast::<PyUntypedArray>().is_ok()
        || ["tolist_flat", "_as_constraint", "todense"]
            .into_iter()
            .any(|name| {
                value
                    .get_type()
                    .hasattr(pyo3::types::PyString::new(py, name))
                    .unwrap_or(false)
            })
}

/// An object to add in place. It is not an array with its own operators, which Python then uses.
pub struct Addend<'py>(pub Bound<'py, PyAny>);

impl<'py> FromPyObject<'_, 'py> for Addend<'py> {
    type Error = PyErr;

    fn extract(value: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        let value = value.to_owned();
        match dimensions(&value).is_none_or(|n| n == 0) || has_members(&value) {
            true => Ok(Addend(value)),
            false => Err(error(Errno::InvalidArgument, "an array of another kind")),
        }
    }
}

/// The operand of an object; `None` for arrays and other objects.
pub fn operand(value: &Bound<'_, PyAny>) -> Option<Operand> {
    if let Ok(var) = value.cast_exact::<Var>() {
        return Some(Operand::Linear(var.get().linear()));
    }
    if let Ok(expression) = value.cast_exact::<LinExpr>() {
        return Some(expression.borrow().operand());
    }
    if let Some(number) = number(value) {
        return Some(Operand::Number(number));
    }
    if let Ok(expression) = value.cast::<QuadExpr>() {
        return Some(Operand::Quadratic(expression.borrow().inner.clone()));
    }
    None
}

/// As [`operand`], and for an array with one entry.
///
/// # Errors
/// `GurobiError` names the type.
pub fn expected(value: &Bound<'_, PyAny>) -> PyResult<Operand> {
    if let Some(found) = operand(value) {
        return Ok(found);
    }
    if value.hasattr("_plain")? {
        return expected(&value.call_method0("_plain")?);
    }
    if dimensions(value).is_some()
        && let Ok(item) = value.call_method0("item")
        && let Some(found) = operand(&item)
    {
        return Ok(found);
    }
    let kind = value
        .get_type()
        .name()
        .map_or_else(|_| "?".into(), |n| n.to_string());
    Err(error(
        Errno::InvalidArgument,
        format!("an object of type {kind} is no expression"),
    ))
}

/// Operators of expressions.
#[derive(Clone, Copy)]
pub enum Operator {
    /// `a + b`.
    Add,
    /// `b + a`.
    AddTo,
    /// `a - b`.
    Subtract,
    /// `b - a`.
    SubtractFrom,
    /// `a * b`.
    Multiply,
    /// `b * a`.
    MultiplyBy,
    /// `a / b`.
    Divide,
}

impl Operator {
    fn word(self) -> &'static str {
        match self {
            Operator::Add => "add",
            Operator::AddTo => "add_to",
            Operator::Subtract => "subtract",
            Operator::SubtractFrom => "subtract_from",
            Operator::Multiply => "multiply",
            Operator::MultiplyBy => "multiply_by",
            Operator::Divide => "divide",
        }
    }
}

/// The outcome of an operator; `NotImplemented` if the other object is no operand.
///
/// # Errors
/// `ZeroDivisionError`, and Python's errors.
pub fn operate(
    py: Python<'_>,
    mine: impl FnOnce() -> Operand,
    this: &Bound<'_, PyAny>,
    operator: Operator,
    other: &Bound<'_, PyAny>,
) -> PyResult<Py<PyAny>> {
    let Some(other_operand) = operand(other) else {
        if has_members(other) {
            let arrays = py.import("remat_bb.gurobi.matrix")?;
            return Ok(arrays
                .call_method1(operator.word(), (this, other))?
                .unbind());
        }
        return Ok(py.NotImplemented());
    };
    let mine = mine();
    let found = match operator {
        Operator::Add => mine.plus(other_operand, 1.0),
        Operator::AddTo => other_operand.plus(mine, 1.0),
        Operator::Subtract => mine.plus(other_operand, -1.0),
        Operator::SubtractFrom => other_operand.plus(mine, -1.0),
        Operator::Multiply | Operator::MultiplyBy => match mine.times(other_operand) {
            Some(product) => product,
            None => return nonlinear(py, "*", this, other),
        },
        Operator::Divide => match other_operand {
            Operand::Number(0.0) => {
                return Err(pyo3::exceptions::PyZeroDivisionError::new_err(
                    "division by zero",
                ));
            }
            Operand::Number(v) => mine.scaled(1.0 / v),
            _ => return nonlinear(py, "/", this, other),
        },
    };
    found.object(py)
}

/// A power of an expression: nonlinear unless the exponent is 0, 1 or 2.
///
/// # Errors
/// Python's errors.
pub fn power(
    py: Python<'_>,
    mine: Operand,
    this: &Bound<'_, PyAny>,
    exponent: &Bound<'_, PyAny>,
) -> PyResult<Py<PyAny>> {
    match number(exponent) {
        Some(0.0) => Operand::Number(1.0).object(py),
        Some(1.0) => mine.object(py),
        Some(2.0) => {
            let twin = match &mine {
                Operand::Number(v) => Operand::Number(*v),
                Operand::Linear(e) => Operand::Linear(e.clone()),
                Operand::Quadratic(q) => Operand::Quadratic(q.clone()),
            };
            match mine.times(twin) {
                Some(square) => square.object(py),
                None => nonlinear(py, "**", this, exponent),
            }
        }
        None if dimensions(exponent).is_some() => Ok(py.NotImplemented()),
        _ => nonlinear(py, "**", this, exponent),
    }
}

/// The relation of two sides; `NotImplemented` if the other object is no operand.
///
/// # Errors
/// Python's errors.
pub fn relate(
    py: Python<'_>,
    mine: impl FnOnce() -> Operand,
    this: &Bound<'_, PyAny>,
    sense: Sense,
    other: &Bound<'_, PyAny>,
) -> PyResult<Py<PyAny>> {
    let Some(side) = operand(other) else {
        if has_members(other) {
            let arrays = py.import("remat_bb.gurobi.matrix")?;
            return Ok(arrays
                .call_method1("relate", (this, sense.sign(), other))?
                .unbind());
        }
        if sense == Sense::Equal && other.is_instance_of::<PyList>() {
            let general = py.import("remat_bb.gurobi.general")?;
            return Ok(general.call_method1("between", (this, other))?.unbind());
        }
        if other.hasattr("_as_general_constraint")? {
            let called = other.call_method1("_as_general_constraint", (this, sense.sign()))?;
            return Ok(called.unbind());
        }
        return Ok(py.NotImplemented());
    };
    TempConstr::new(mine(), sense, side).into_py_any(py)
}

/// The methods of all classes of expressions, in terms of `operand_of(self)`.
#[macro_export]
macro_rules! operators {
    ($class:ty) => {
        #[pymethods]
        impl $class {
            #[classattr]
            fn __array_ufunc__(py: Python<'_>) -> Py<PyAny> {
                // NumPy leaves the operators to this class.
                py.None()
            }

            fn __add__<'py>(
                this: &Bound<'py, Self>,
                other: &Bound<'py, PyAny>,
            ) -> PyResult<Py<PyAny>> {
                let mine = || Self::operand_of(this);
                operate(this.py(), mine, this.as_any(), Operator::Add, other)
            }

            fn __radd__<'py>(
                this: &Bound<'py, Self>,
                other: &Bound<'py, PyAny>,
            ) -> PyResult<Py<PyAny>> {
                let mine = || Self::operand_of(this);
                operate(this.py(), mine, this.as_any(), Operator::AddTo, other)
            }

            fn __sub__<'py>(
                this: &Bound<'py, Self>,
                other: &Bound<'py, PyAny>,
            ) -> PyResult<Py<PyAny>> {
                let mine = || Self::operand_of(this);
                operate(this.py(), mine, this.as_any(), Operator::Subtract, other)
            }

            fn __rsub__<'py>(
                this: &Bound<'py, Self>,
                other: &Bound<'py, PyAny>,
            ) -> PyResult<Py<PyAny>> {
                let mine = || Self::operand_of(this);
                operate(
                    this.py(),
                    mine,
                    this.as_any(),
                    Operator::SubtractFrom,
                    other,
                )
            }

            fn __mul__<'py>(
                this: &Bound<'py, Self>,
                other: &Bound<'py, PyAny>,
            ) -> PyResult<Py<PyAny>> {
                let mine = || Self::operand_of(this);
                operate(this.py(), mine, this.as_any(), Operator::Multiply, other)
            }

            fn __rmul__<'py>(
                this: &Bound<'py, Self>,
                other: &Bound<'py, PyAny>,
            ) -> PyResult<Py<PyAny>> {
                let mine = || Self::operand_of(this);
                operate(this.py(), mine, this.as_any(), Operator::MultiplyBy, other)
            }

            fn __truediv__<'py>(
                this: &Bound<'py, Self>,
                other: &Bound<'py, PyAny>,
            ) -> PyResult<Py<PyAny>> {
                let mine = || Self::operand_of(this);
                operate(this.py(), mine, this.as_any(), Operator::Divide, other)
            }

            fn __rtruediv__<'py>(
                this: &Bound<'py, Self>,
                other: &Bound<'py, PyAny>,
            ) -> PyResult<Py<PyAny>> {
                reflected(this.py(), "/", other, this.as_any())
            }

            fn __rpow__<'py>(
                this: &Bound<'py, Self>,
                other: &Bound<'py, PyAny>,
                _modulo: Option<&Bound<'py, PyAny>>,
            ) -> PyResult<Py<PyAny>> {
                reflected(this.py(), "**", other, this.as_any())
            }

            fn __neg__(this: &Bound<'_, Self>) -> PyResult<Py<PyAny>> {
                Self::operand_of(this).scaled(-1.0).object(this.py())
            }

            fn __pos__(this: &Bound<'_, Self>) -> PyResult<Py<PyAny>> {
                Self::operand_of(this).object(this.py())
            }

            fn __pow__<'py>(
                this: &Bound<'py, Self>,
                exponent: &Bound<'py, PyAny>,
                _modulo: Option<&Bound<'py, PyAny>>,
            ) -> PyResult<Py<PyAny>> {
                power(this.py(), Self::operand_of(this), this.as_any(), exponent)
            }

            fn __le__<'py>(
                this: &Bound<'py, Self>,
                other: &Bound<'py, PyAny>,
            ) -> PyResult<Py<PyAny>> {
                let mine = || Self::operand_of(this);
                relate(this.py(), mine, this.as_any(), Sense::Less, other)
            }

            fn __ge__<'py>(
                this: &Bound<'py, Self>,
                other: &Bound<'py, PyAny>,
            ) -> PyResult<Py<PyAny>> {
                let mine = || Self::operand_of(this);
                relate(this.py(), mine, this.as_any(), Sense::Greater, other)
            }

            fn __eq__<'py>(
                this: &Bound<'py, Self>,
                other: &Bound<'py, PyAny>,
            ) -> PyResult<Py<PyAny>> {
                let mine = || Self::operand_of(this);
                relate(this.py(), mine, this.as_any(), Sense::Equal, other)
            }
        }
    };
}
