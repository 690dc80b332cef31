//! Attributes of variables and constraints, by name in upper or lower case.

use super::home::Home;
use super::operand::number;
use super::trouble::{Errno, error, no_attribute, unavailable};
use pyo3::prelude::*;
use remat_models::program::{Range, Sensitivity};

/// The number that an attribute is set to.
///
/// # Errors
/// `GurobiError` names the attribute.
pub fn wanted(name: &str, value: &Bound<'_, PyAny>) -> PyResult<f64> {
    number(value).ok_or_else(|| {
        let words = format!("attribute '{name}': a number is needed");
        error(Errno::InvalidArgument, words)
    })
}

/// An end of a range of the answer's basis: the lower one if the name ends in `low`.
///
/// # Errors
/// `GurobiError` without ranges, for example for a model with integers.
pub fn end_of_range(
    home: &Home,
    name: &str,
    range: impl FnOnce(&Sensitivity) -> Option<Range>,
) -> PyResult<f64> {
    let range = home.ranges().as_deref().and_then(range);
    let (low, high) = range.ok_or_else(|| unavailable(name))?;
    let end = if name.ends_with("low") { low } else { high };
    match end.is_nan() {
        true => Err(unavailable(name)),
        false => Ok(end),
    }
}

/// The default of an attribute that is accepted without effect; `None` for another name.
pub fn default_of(name: &str) -> Option<i32> {
    match name {
        "partition" | "poolignore" => Some(0),
        "iislbforce" | "iisubforce" | "iisconstrforce" => Some(-1),
        _ => None,
    }
}

/// Refuses any value except the default of an attribute without effect.
///
/// # Errors
/// `GurobiError` names the attribute.
pub fn only_default(name: &str, value: f64, default: i32) -> PyResult<()> {
    match value == f64::from(default) {
        true => Ok(()),
        false => {
            let words = format!("attribute '{name}' is not supported by remat-bb: only {default}");
            Err(error(Errno::NotSupported, words))
        }
    }
}

/// Attributes of gurobipy's variables and constraints that are refused: `left_out.py` lists them.
const LEFT_OUT: [&str; 7] = [
    "barx",
    "objn",
    "pwlobjcvx",
    "scennlb",
    "scennobj",
    "scennrhs",
    "scennub",
];

/// The error of an attribute that a class lacks; `doing` names the attempted action.
pub fn unknown(class: &str, name: &str, doing: &str) -> PyErr {
    if LEFT_OUT.contains(&name.to_ascii_lowercase().as_str()) {
        let words = format!("attribute '{name}' is not supported by remat-bb");
        return no_attribute(Errno::NotSupported, words);
    }
    let words = format!("'remat_bb.gurobi.{class}' object has no attribute '{name}'{doing}");
    no_attribute(Errno::UnknownAttribute, words)
}

/// The methods `getAttr` and `setAttr` of a class with `__getattr__` and `__setattr__`, in terms of
/// its `get` and `set`.
#[macro_export]
macro_rules! attributes {
    ($class:ident) => {
        #[pymethods]
        impl $class {
            /// An attribute by its name, in upper or lower case.
            #[pyo3(name = "getAttr")]
            fn get_attr(&self, attrname: &str, py: Python<'_>) -> PyResult<Py<PyAny>> {
                self.__getattr__(attrname, py)
            }

            /// Sets an attribute by its name, in upper or lower case.
            #[pyo3(name = "setAttr")]
            fn set_attr(&self, attrname: &str, newvalue: &Bound<'_, PyAny>) -> PyResult<()> {
                self.__setattr__(attrname, newvalue)
            }

            fn __getattr__(&self, name: &str, py: Python<'_>) -> PyResult<Py<PyAny>> {
                let found = self.get(&name.to_ascii_lowercase(), py)?;
                found.ok_or_else(|| unknown(stringify!($class), name, ""))
            }

            fn __setattr__(&self, name: &str, value: &Bound<'_, PyAny>) -> PyResult<()> {
                match self.set(&name.to_ascii_lowercase(), value)? {
                    true => Ok(()),
                    false => Err(unknown(stringify!($class), name, " to set")),
                }
            }
        }
    };
}
