//! Errors of `remat_bb.gurobi`.

use pyo3::prelude::*;

/// Numbers of errors, as in gurobipy.
#[derive(Clone, Copy, Debug)]
pub enum Errno {
    /// An invalid value.
    InvalidArgument = 10003,
    /// An attribute that does not exist.
    UnknownAttribute = 10004,
    /// An attribute without a value at the moment.
    DataNotAvailable = 10005,
    /// A feature that is not supported here.
    NotSupported = 10024,
    /// A variable or constraint of another model, or a removed one.
    NotInModel = 20001,
}

/// An exception of `remat_bb.gurobi` with its number.
pub fn error(errno: Errno, message: impl Into<String>) -> PyErr {
    raised("GurobiError", errno, message.into())
}

/// An attribute that is not available: a `GurobiError` and an `AttributeError` at once.
pub fn no_attribute(errno: Errno, message: impl Into<String>) -> PyErr {
    raised("AttributeUnavailable", errno, message.into())
}

/// The error of an attribute that has no value at the moment.
pub fn unavailable(attribute: &str) -> PyErr {
    let words = format!("Unable to retrieve attribute '{attribute}'");
    no_attribute(Errno::DataNotAvailable, words)
}

fn raised(class: &str, errno: Errno, message: String) -> PyErr {
    Python::attach(|py| {
        let made = py
            .import("remat_bb.gurobi.errors")
            .and_then(|module| module.getattr(class))
            .and_then(|class| class.call1((errno as i32, message)));
        made.map_or_else(|error| error, PyErr::from_value)
    })
}
