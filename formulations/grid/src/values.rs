//! Values of a grid file as texts.

use crate::error::GridError;
use toml::{Table, Value};

/// A single value as the text that an option reads.
pub(crate) fn text(file: &str, key: &str, value: &Value) -> Result<String, GridError> {
    match value {
        Value::String(text) => Ok(text.trim().into()),
        Value::Integer(number) => Ok(number.to_string()),
        Value::Float(number) => Ok(number.to_string()),
        Value::Boolean(on) => Ok(on.to_string()),
        other => Err(GridError::key(
            file,
            key,
            format!("a value of type {}", other.type_str()),
            "write a text, a number, true or false",
        )),
    }
}

/// The values of an axis: a list, or one value alone.
pub(crate) fn texts(file: &str, key: &str, value: &Value) -> Result<Vec<String>, GridError> {
    let Value::Array(list) = value else {
        return Ok(vec![text(file, key, value)?]);
    };
    if list.is_empty() {
        let remedy = "give at least one value, or leave the key out";
        return Err(GridError::key(file, key, "an empty list", remedy));
    }
    list.iter().map(|value| text(file, key, value)).collect()
}

/// A whole number of at least `least`.
pub(crate) fn whole(
    file: &str,
    table: &Table,
    key: &str,
    least: i64,
) -> Result<Option<usize>, GridError> {
    match table.get(key) {
        None => Ok(None),
        Some(Value::Integer(number)) if *number >= least => Ok(usize::try_from(*number).ok()),
        Some(other) => Err(GridError::key(
            file,
            key,
            format!("{other} is no whole number from {least}"),
            format!("write {key} = 10"),
        )),
    }
}

/// True or false.
pub(crate) fn switch(file: &str, table: &Table, key: &str) -> Result<Option<bool>, GridError> {
    match table.get(key) {
        None => Ok(None),
        Some(Value::Boolean(on)) => Ok(Some(*on)),
        Some(other) => Err(GridError::key(
            file,
            key,
            format!("{other} is neither true nor false"),
            format!("write {key} = false"),
        )),
    }
}
