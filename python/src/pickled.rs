//! Pickles of native objects: the name of the class, and a state that its `__restored__` takes.

use crate::trouble::Trouble;
use pyo3::prelude::*;
use remat_search::Status;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The value of `__reduce__`: a Python function, and its arguments.
pub type Reduced<'py, S> = (Bound<'py, PyAny>, (&'static str, S));

/// The value of `__reduce__` of a class with a state.
///
/// # Errors
/// The package is incomplete.
pub fn reduced<'py, S>(
    py: Python<'py>,
    class: &'static str,
    state: S,
) -> PyResult<Reduced<'py, S>> {
    let restore = py.import("remat_bb._pickled")?.getattr("restore")?;
    Ok((restore, (class, state)))
}

/// A value as bytes.
///
/// # Errors
/// `InvalidArgument` for a value that cannot be serialised.
pub fn packed<T: Serialize>(value: &T) -> PyResult<Vec<u8>> {
    postcard::to_stdvec(value).map_err(|e| broken(&e))
}

/// The value of bytes.
///
/// # Errors
/// `InvalidArgument` for bytes that [`packed`] does not make.
pub fn unpacked<T: DeserializeOwned>(bytes: &[u8]) -> PyResult<T> {
    postcard::from_bytes(bytes).map_err(|e| broken(&e))
}

fn broken(problem: &postcard::Error) -> PyErr {
    let words = format!("the pickle is of another version, or damaged: {problem}");
    Trouble::new("InvalidArgument", words).into()
}

/// The status of a word.
///
/// # Errors
/// `InvalidArgument` for an unknown word.
pub fn status(word: &str) -> PyResult<Status> {
    let all = [
        Status::Optimal,
        Status::Feasible,
        Status::Infeasible,
        Status::Limit,
        Status::Interrupted,
    ];
    let found = all.into_iter().find(|status| status.as_str() == word);
    found.ok_or_else(|| Trouble::argument("status", format!("{word:?} is no status")).into())
}

/// `__copy__` and `__deepcopy__` of an immutable class: the object itself.
#[macro_export]
macro_rules! copied_as_itself {
    ($class:ident) => {
        #[pymethods]
        impl $class {
            fn __copy__(this: Py<Self>) -> Py<Self> {
                this
            }

            fn __deepcopy__(this: Py<Self>, _memo: &Bound<'_, PyAny>) -> Py<Self> {
                this
            }
        }
    };
}
