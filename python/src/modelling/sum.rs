//! Sums over many objects, in linear time.

use super::linear::LinExpr;
use super::operand::{Operand, expected};
use super::terms::Linear;
use super::var::Var;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyFloat};

/// The sum of numbers and expressions.
#[pyfunction]
pub fn quicksum(p_list: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
    let py = p_list.py();
    let mut sum = Linear::default();
    let mut quadratic = None;
    let values = match p_list.cast::<PyDict>() {
        Ok(dictionary) => dictionary.values().into_any(),
        Err(_) => p_list.clone(),
    };
    for item in values.try_iter()? {
        let item = item?;
        if let Ok(var) = item.cast_exact::<Var>() {
            let var = var.get();
            sum.add_column(&var.home, var.col, 1.0);
        } else if let Ok(expression) = item.cast_exact::<LinExpr>()
            && let Operand::Linear(linear) = expression.borrow().operand()
        {
            sum.add(&linear, 1.0);
        } else if let Ok(number) = item.cast_exact::<PyFloat>() {
            sum.constant += number.value();
        } else {
            match expected(&item)? {
                Operand::Number(v) => sum.constant += v,
                Operand::Linear(linear) => sum.add(&linear, 1.0),
                Operand::Quadratic(q) => {
                    quadratic = Some(match quadratic {
                        None => Operand::Quadratic(q),
                        Some(so_far) => Operand::plus(so_far, Operand::Quadratic(q), 1.0),
                    });
                }
            }
        }
    }
    match quadratic {
        None => Operand::Linear(sum).object(py),
        Some(quadratic) => quadratic.plus(Operand::Linear(sum), 1.0).object(py),
    }
}
