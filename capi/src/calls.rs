//! Calls with a model: the handle is resolved, and the model keeps the text of an error.

use crate::model::Model;
use crate::registry;
use crate::trouble::{Trouble, caught, code};
use std::ffi::c_int;
use std::sync::Arc;

/// As [`entry`], with a model, which keeps the text of an error as well.
pub fn with_model(
    handle: *const registry::RematModel,
    work: impl FnOnce(&Arc<Model>) -> Result<(), Trouble>,
) -> c_int {
    code(on_model(handle, work))
}

/// As [`with_model`], for functions that return something else; `none` stands for an error.
pub fn with_model_or<T>(
    handle: *const registry::RematModel,
    none: T,
    work: impl FnOnce(&Arc<Model>) -> Result<T, Trouble>,
) -> T {
    match on_model(handle, work) {
        Ok(value) => value,
        other => {
            code(other.map(drop));
            none
        }
    }
}

fn on_model<T>(
    handle: *const registry::RematModel,
    work: impl FnOnce(&Arc<Model>) -> Result<T, Trouble>,
) -> Result<T, Trouble> {
    let model = caught(|| registry::model(handle))?;
    let done = caught(|| work(&model));
    if let Err(trouble) = &done {
        model.set_error(&trouble.text);
    }
    done
}
