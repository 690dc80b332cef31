//! Budgets, times, gaps and other arguments, as Python gives them.

use crate::numbers::{whole_if_given, whole_to};
use crate::trouble::Trouble;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyString};
use remat_bb::arguments::{parse_duration, parse_gap};
use remat_instances::{Budget, Semantics};
use remat_search::{Effort, Settings};
use std::time::Duration;

/// A budget: bytes as a number, or text as the command line takes it.
///
/// # Errors
/// `InvalidBudget` quotes it and says what is taken.
pub fn budget(value: &Bound<'_, PyAny>) -> PyResult<Budget> {
    let text = match value.cast::<PyString>() {
        Ok(text) => text.to_string(),
        Err(_) => number(value).ok_or_else(|| {
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

/// A number as text, whole where it is whole; `None` for anything else.
fn number(value: &Bound<'_, PyAny>) -> Option<String> {
    if value.is_instance_of::<PyBool>() {
        return None;
    }
    let whole = value.extract::<i128>().map(|n| n.to_string());
    whole
        .or_else(|_| value.extract::<f64>().map(|n| n.to_string()))
        .ok()
}

/// A time: seconds as a number, text as the command line takes it, or a `datetime.timedelta`.
///
/// # Errors
/// `InvalidArgument` quotes it and says what is taken.
pub fn duration(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Duration> {
    let text = match value.cast::<PyString>() {
        Ok(text) => text.to_string(),
        Err(_) => match value.call_method0("total_seconds") {
            Ok(seconds) => number(&seconds),
            Err(_) => number(value),
        }
        .unwrap_or_else(|| value.to_string()),
    };
    Ok(parse_duration(&text).map_err(|e| Trouble::argument(name, e))?)
}

/// A time limit in seconds, as it is given to [`solve`](crate::solving::solve).
#[pyfunction]
#[pyo3(signature = (time_limit, /))]
pub fn parse_seconds(time_limit: &Bound<'_, PyAny>) -> PyResult<f64> {
    Ok(duration("time_limit", time_limit)?.as_secs_f64())
}

/// A relative gap: a fraction, or text with a percentage.
fn gap(value: &Bound<'_, PyAny>) -> PyResult<f64> {
    let text = match value.cast::<PyString>() {
        Ok(text) => text.to_string(),
        Err(_) => number(value).unwrap_or_else(|| value.to_string()),
    };
    Ok(parse_gap(&text).map_err(|e| Trouble::argument("gap", format!("{text:?}: {e}")))?)
}

/// Semantics by their name.
///
/// # Errors
/// `InvalidArgument` names those that there are.
pub fn semantics(name: Option<&str>) -> PyResult<Option<Semantics>> {
    let known = name.map(str::parse::<Semantics>).transpose();
    Ok(known.map_err(|e| Trouble::argument("formulation", e))?)
}

/// Limits of a solve, its threads and its seed.
#[derive(Default)]
pub struct Limits<'py> {
    /// Time after which it ends.
    pub time_limit: Option<Bound<'py, PyAny>>,
    /// Work where there is no time limit; the full one by default.
    pub effort: Option<&'py str>,
    /// Worker threads; nothing or 0 for one per core.
    pub threads: Option<Bound<'py, PyAny>>,
    /// Seed of all random choices; nothing for 0.
    pub seed: Option<Bound<'py, PyAny>>,
    /// Gap at which it ends.
    pub gap: Option<Bound<'py, PyAny>>,
}

impl Limits<'_> {
    /// Settings with these, as the command line makes them.
    ///
    /// # Errors
    /// `InvalidArgument` names the argument.
    pub fn settings(&self) -> PyResult<Settings> {
        const MOST_THREADS: u64 = 1024;
        let right = format!("a whole number from 0 (one per core) to {MOST_THREADS}");
        let threads = self.threads.as_ref();
        let threads = threads.map(|t| whole_to("threads", t, MOST_THREADS, &right));
        let threads = threads.transpose()?.unwrap_or(0) as usize;
        let limit = self.time_limit.as_ref();
        let effort = self.effort.map(str::parse::<Effort>).transpose();
        let settings = Settings {
            time_limit: limit.map(|t| duration("time_limit", t)).transpose()?,
            effort: effort
                .map_err(|e| Trouble::argument("effort", e))?
                .unwrap_or_default(),
            threads,
            seed: whole_if_given("seed", self.seed.as_ref())?.unwrap_or(0),
            ..Settings::default()
        };
        Ok(match &self.gap {
            Some(value) => settings.with_gap(gap(value)?),
            None => settings,
        })
    }
}
