//! Budgets, times, gaps and other arguments from Python.

use crate::trouble::Trouble;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyString};
use remat_formulations::options::parse_duration;
use remat_instances::Budget;
use remat_instances::instance::HostLink;
use std::time::Duration;

/// A budget: bytes as a number, or text in the command line's form.
///
/// # Errors
/// `InvalidBudget` quotes the value and names the valid forms.
pub fn budget(value: &Bound<'_, PyAny>) -> PyResult<Budget> {
    let text = match value.cast::<PyString>() {
        Ok(text) => text.to_string(),
        Err(_) => number_text(value).ok_or_else(|| {
            let kind = value
                .get_type()
                .name()
                .map_or_else(|_| "?".into(), |n| n.to_string());
            Trouble::new("InvalidBudget", format!("budget: an object of type {kind}"))
                .at("budget")
                .remedy("give bytes as an integer, or text such as \"6GiB\" or \"60%\"")
        })?,
    };
    Ok(text.parse::<Budget>().map_err(Trouble::from)?)
}

/// A budget; `None` for the word `least`.
///
/// # Errors
/// As [`budget`].
pub fn budget_or_least(value: &Bound<'_, PyAny>) -> PyResult<Option<Budget>> {
    let word = value.cast::<PyString>();
    match word.is_ok_and(|word| word.to_string().trim() == "least") {
        true => Ok(None),
        false => budget(value).map(Some),
    }
}

/// A number as text, without decimals if it is whole; `None` for anything else.
pub fn number_text(value: &Bound<'_, PyAny>) -> Option<String> {
    if value.is_instance_of::<PyBool>() {
        return None;
    }
    let whole = value.extract::<i128>().map(|n| n.to_string());
    whole
        .or_else(|_| value.extract::<f64>().map(|n| n.to_string()))
        .ok()
}

/// A time: seconds as a number, text in the command line's form, or a `datetime.timedelta`.
///
/// # Errors
/// `InvalidArgument` quotes the value and names the valid forms.
pub fn duration(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Duration> {
    let text = match value.cast::<PyString>() {
        Ok(text) => text.to_string(),
        Err(_) => match value.call_method0("total_seconds") {
            Ok(seconds) => number_text(&seconds),
            Err(_) => number_text(value),
        }
        .unwrap_or_else(|| value.to_string()),
    };
    Ok(parse_duration(&text).map_err(|e| Trouble::argument(name, e))?)
}

/// A time limit in seconds, in any form that [`solve`](crate::solving::solve) takes.
#[pyfunction]
#[pyo3(signature = (time_limit, /))]
pub fn parse_seconds(time_limit: &Bound<'_, PyAny>) -> PyResult<f64> {
    Ok(duration("time_limit", time_limit)?.as_secs_f64())
}

/// Reads a link: ``"pcie3"``, ``"pcie4"``, ``"pcie5"``, ``"gh200"``, ``"gb300"``, a speed such as
/// ``"12GB/s"``, or one speed for each direction, ``"24GB/s,50GB/s"``.
///
/// Returns:
///     The ``host_link`` of a ``remat-instance/1`` document: ``to_host_bytes_per_second``,
///     ``from_host_bytes_per_second``, ``latency_ns`` and ``duplex``.
///
/// Raises:
///     InvalidArgument: the text is not a link.
#[pyfunction]
#[pyo3(signature = (text, /))]
pub fn host_link<'py>(py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyDict>> {
    let link: HostLink = text.parse().map_err(|e| Trouble::argument("offload", e))?;
    let found = PyDict::new(py);
    found.set_item("to_host_bytes_per_second", link.to_host_bytes_per_second)?;
    found.set_item(
        "from_host_bytes_per_second",
        link.from_host_bytes_per_second,
    )?;
    found.set_item("latency_ns", link.latency_ns)?;
    found.set_item("duplex", link.duplex.as_str())?;
    Ok(found)
}
