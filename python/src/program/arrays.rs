//! Vectors of numbers and names from Python: NumPy arrays and sequences.

use crate::numbers::{whole, wrong_type};
use crate::trouble::Trouble;
use numpy::{PyArrayDyn, PyArrayMethods, PyReadonlyArray1};
use pyo3::prelude::*;

/// Numbers of a `float64` array without a copy, or of any other array or sequence with a copy.
pub enum Numbers<'py> {
    /// An existing array.
    Array(PyReadonlyArray1<'py, f64>),
    /// Copied numbers.
    Owned(Vec<f64>),
}

impl Numbers<'_> {
    /// The numbers.
    pub fn as_slice(&self) -> &[f64] {
        match self {
            // Checked on entry.
            Numbers::Array(array) => array.as_slice().unwrap_or(&[]),
            Numbers::Owned(numbers) => numbers,
        }
    }
}

/// The numbers of an argument.
///
/// # Errors
/// `InvalidArgument` names the argument.
pub fn numbers<'py>(name: &str, value: &Bound<'py, PyAny>) -> PyResult<Numbers<'py>> {
    if let Ok(array) = value.extract::<PyReadonlyArray1<'py, f64>>()
        && array.as_slice().is_ok()
    {
        return Ok(Numbers::Array(array));
    }
    let list = match value.cast::<PyArrayDyn<f64>>() {
        Ok(array) => array.to_vec().ok(),
        Err(_) => None,
    };
    let list = list.map_or_else(|| value.extract::<Vec<f64>>(), Ok);
    let owned = list.map_err(|_| wrong_type(name, value, "a vector of numbers"))?;
    Ok(Numbers::Owned(owned))
}

/// Whole numbers of an argument, at least 0.
///
/// # Errors
/// `InvalidType`, and `InvalidArgument` for a number that is below 0 or too large.
pub fn indices<T: TryFrom<u64>>(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Vec<T>> {
    macro_rules! whole_array {
        ($($kind:ty),*) => {$(
            if let Ok(array) = value.extract::<PyReadonlyArray1<'_, $kind>>() {
                let each = |&k: &$kind| u64::try_from(k).ok().and_then(|k| T::try_from(k).ok());
                let numbers = array.as_array();
                let whole: Option<Vec<T>> = numbers.iter().map(each).collect();
                if let Some(whole) = whole {
                    return Ok(whole);
                }
            }
        )*};
    }
    whole_array!(i32, i64, u32, u64);
    let members = value.try_iter();
    let members = members.map_err(|_| wrong_type(name, value, "a vector of whole numbers"))?;
    let each = |(k, member): (usize, PyResult<_>)| whole(&format!("{name}[{k}]"), &member?);
    members.enumerate().map(each).collect()
}

/// Checks that an argument has the expected number of entries.
///
/// # Errors
/// `InvalidArgument` names the argument.
pub fn check_length(name: &str, found: usize, expected: usize) -> PyResult<()> {
    if found == expected {
        return Ok(());
    }
    let words = format!("{found} entries where {expected} are needed");
    Err(Trouble::argument(name, words).into())
}
