//! Vectors of numbers and names from Python: NumPy arrays and sequences.

use crate::trouble::Trouble;
use numpy::{PyArrayDyn, PyArrayMethods, PyReadonlyArray1};
use pyo3::prelude::*;

/// Numbers out of an array of `float64` without a copy, out of any other array or sequence by one.
pub enum Numbers<'py> {
    /// An array that is there.
    Array(PyReadonlyArray1<'py, f64>),
    /// Numbers of something else.
    Owned(Vec<f64>),
}

impl Numbers<'_> {
    /// The numbers.
    pub fn as_slice(&self) -> &[f64] {
        match self {
            // Checked when it was taken.
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
    let owned = list.map_err(|_| Trouble::argument(name, "a vector of numbers is needed"))?;
    Ok(Numbers::Owned(owned))
}

/// Whole numbers not below 0 of an argument.
///
/// # Errors
/// `InvalidArgument` names the argument.
pub fn indices(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Vec<usize>> {
    macro_rules! whole {
        ($($kind:ty),*) => {$(
            if let Ok(array) = value.extract::<PyReadonlyArray1<'_, $kind>>() {
                let whole: Result<Vec<_>, _> = array.as_array().iter().map(|&k| usize::try_from(k)).collect();
                return whole.map_err(|_| negative(name));
            }
        )*};
    }
    whole!(i32, i64, u32, u64);
    let list = value.extract::<Vec<i64>>();
    let list = list.map_err(|_| Trouble::argument(name, "a vector of whole numbers is needed"))?;
    let whole: Result<Vec<_>, _> = list.into_iter().map(usize::try_from).collect();
    whole.map_err(|_| negative(name))
}

fn negative(name: &str) -> PyErr {
    Trouble::argument(name, "a number below 0 stands among the positions").into()
}

/// Checks that an argument has one entry for each of something.
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
