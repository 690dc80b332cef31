//! Numbers from Python's arguments: an error names the argument and shows its value.

use crate::trouble::Trouble;
use pyo3::prelude::*;
use std::fmt::Display;

/// Most characters of a value that an error shows.
const SHOWN: usize = 60;

/// An object in the form that errors show.
pub fn shown(value: &Bound<'_, PyAny>) -> String {
    let text = value
        .repr()
        .map_or_else(|_| "?".into(), |text| text.to_string());
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    }
}

/// The error of an argument of a wrong type.
pub fn wrong_type(name: &str, value: &Bound<'_, PyAny>, right: impl Display) -> PyErr {
    let words = format!("{name}: {right} is needed, not {}", shown(value));
    Trouble::new("InvalidType", words).at(name).into()
}

/// The error of an argument with a wrong value.
fn wrong(name: &str, value: impl Display, right: &str) -> PyErr {
    Trouble::argument(name, format!("{right} is needed, not {value}")).into()
}

/// An argument that is a whole number, at least 0.
///
/// # Errors
/// `InvalidType` and `InvalidArgument` name the argument and show its value.
pub fn whole<T>(name: &str, value: &Bound<'_, PyAny>) -> PyResult<T>
where
    T: TryFrom<u64>,
{
    let most = u64::MAX >> (64 - 8 * size_of::<T>());
    let right = format!("a whole number from 0 up to {most}");
    let found = whole_to(name, value, most, &right)?;
    T::try_from(found).map_err(|_| wrong(name, found, &right))
}

/// An argument that is a whole number from 0 to `most`; `right` names the valid numbers.
///
/// # Errors
/// As [`whole`].
pub fn whole_to(name: &str, value: &Bound<'_, PyAny>, most: u64, right: &str) -> PyResult<u64> {
    match value.extract::<u64>() {
        Ok(found) if found <= most => Ok(found),
        Ok(found) => Err(wrong(name, found, right)),
        Err(_) if value.call_method0("__index__").is_ok() => Err(wrong(name, shown(value), right)),
        Err(_) => Err(wrong_type(name, value, right)),
    }
}

/// As [`whole`], for an optional argument.
///
/// # Errors
/// As [`whole`].
pub fn whole_if_given<T>(name: &str, value: Option<&Bound<'_, PyAny>>) -> PyResult<Option<T>>
where
    T: TryFrom<u64>,
{
    value.map(|value| whole(name, value)).transpose()
}

/// An argument that is a number. It may be infinite.
///
/// # Errors
/// `InvalidType`, and `InvalidArgument` for NaN.
pub fn number(name: &str, value: &Bound<'_, PyAny>) -> PyResult<f64> {
    match value.extract::<f64>() {
        Ok(found) if found.is_nan() => Err(wrong(name, "NaN", "a number")),
        Ok(found) => Ok(found),
        Err(_) => Err(wrong_type(name, value, "a number")),
    }
}

/// As [`number`], for an optional argument.
///
/// # Errors
/// As [`number`].
pub fn number_if_given(name: &str, value: Option<&Bound<'_, PyAny>>) -> PyResult<Option<f64>> {
    value.map(|value| number(name, value)).transpose()
}

/// Members of an argument, or of a callback's answer, each read under its place.
///
/// # Errors
/// `InvalidType` for an object without members, and the errors of reading one.
pub fn members<T>(
    name: &str,
    list: &Bound<'_, PyAny>,
    right: &str,
    read: impl Fn(&str, &Bound<'_, PyAny>) -> PyResult<T>,
) -> PyResult<Vec<T>> {
    let members = list.try_iter().map_err(|_| wrong_type(name, list, right))?;
    let members = members.enumerate();
    members
        .map(|(k, member)| read(&format!("{name}[{k}]"), &member?))
        .collect()
}

/// Checks that an optional argument can be called.
///
/// # Errors
/// `InvalidType`.
pub fn function_if_given(py: Python<'_>, name: &str, value: Option<&Py<PyAny>>) -> PyResult<()> {
    match value.map(|value| value.bind(py)) {
        Some(value) if !value.is_callable() => Err(wrong_type(name, value, "a function")),
        _ => Ok(()),
    }
}

/// Handle of a column, as an argument `col`.
pub struct ColHandle(pub u32);

/// Handle of a row, as an argument `row`.
pub struct RowHandle(pub u32);

impl<'py> FromPyObject<'_, 'py> for ColHandle {
    type Error = PyErr;

    fn extract(value: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        whole("col", &value).map(ColHandle)
    }
}

impl<'py> FromPyObject<'_, 'py> for RowHandle {
    type Error = PyErr;

    fn extract(value: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        whole("row", &value).map(RowHandle)
    }
}
