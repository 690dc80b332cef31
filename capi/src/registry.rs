//! Live models and texts.

use crate::codes::{REMAT_ERROR_HANDLE, REMAT_ERROR_NULL};
use crate::model::Model;
use crate::trouble::Trouble;
use std::collections::HashMap;
use std::ffi::{CString, c_char};
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex, PoisonError, RwLock};

/// A model's handle in C: a number in the shape of a pointer, without memory behind it.
#[repr(C)]
pub struct RematModel {
    nothing: [u8; 0],
}

/// Distance of two handles; handles of different processes may be equal.
const STRIDE: usize = 64;

static MODELS: LazyLock<RwLock<HashMap<usize, Arc<Model>>>> = LazyLock::new(RwLock::default);
static NEXT: AtomicUsize = AtomicUsize::new(STRIDE);
static TEXTS: LazyLock<Mutex<HashMap<usize, CString>>> = LazyLock::new(Mutex::default);

/// A handle for a model.
pub fn register(model: Model) -> *mut RematModel {
    let number = NEXT.fetch_add(STRIDE, Ordering::Relaxed);
    let mut models = MODELS.write().unwrap_or_else(PoisonError::into_inner);
    models.insert(number, Arc::new(model));
    ptr::without_provenance_mut(number)
}

/// The model of a handle.
///
/// # Errors
/// [`REMAT_ERROR_NULL`], [`REMAT_ERROR_HANDLE`].
pub fn model(handle: *const RematModel) -> Result<Arc<Model>, Trouble> {
    let models = MODELS.read().unwrap_or_else(PoisonError::into_inner);
    let found = models.get(&handle.addr()).cloned();
    found.ok_or_else(|| missing(handle))
}

fn missing(handle: *const RematModel) -> Trouble {
    match handle.is_null() {
        true => Trouble::new(REMAT_ERROR_NULL, "the model is a null pointer"),
        false => Trouble::new(REMAT_ERROR_HANDLE, "the model was freed, or is none"),
    }
}

/// Removes a model; a solve that uses it still runs to its end.
///
/// # Errors
/// As [`model`].
pub fn free(handle: *const RematModel) -> Result<(), Trouble> {
    let mut models = MODELS.write().unwrap_or_else(PoisonError::into_inner);
    let taken = models.remove(&handle.addr());
    drop(models);
    taken.map(drop).ok_or_else(|| missing(handle))
}

/// A text that C owns until it is freed.
///
/// # Errors
/// `REMAT_ERROR_ARGUMENT` for a text with a NUL in it.
pub fn lend(text: String) -> Result<*mut c_char, Trouble> {
    let text = CString::new(text).map_err(|_| Trouble::argument("the text has a NUL in it"))?;
    let pointer = text.as_ptr().cast_mut();
    let mut texts = TEXTS.lock().unwrap_or_else(PoisonError::into_inner);
    texts.insert(pointer.addr(), text);
    Ok(pointer)
}

/// Frees a text that was lent.
///
/// # Errors
/// [`REMAT_ERROR_HANDLE`] for any other text.
pub fn take_back(text: *const c_char) -> Result<(), Trouble> {
    let mut texts = TEXTS.lock().unwrap_or_else(PoisonError::into_inner);
    let taken = texts.remove(&text.addr());
    let missing = || {
        Trouble::new(
            REMAT_ERROR_HANDLE,
            "the text was freed, or is none of these",
        )
    };
    taken.map(drop).ok_or_else(missing)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handles_are_never_given_out_twice() {
        let first = register(Model::default());
        assert!(model(first).is_ok());
        free(first).unwrap();
        let second = register(Model::default());
        assert_ne!(first, second);
        assert_eq!(model(first).err().unwrap().code, REMAT_ERROR_HANDLE);
        assert_eq!(free(first).unwrap_err().code, REMAT_ERROR_HANDLE);
        assert_eq!(free(ptr::null()).unwrap_err().code, REMAT_ERROR_NULL);
        free(second).unwrap();
    }

    #[test]
    fn texts_are_taken_back_once() {
        let text = lend("plan".into()).unwrap();
        take_back(text).unwrap();
        assert_eq!(take_back(text).unwrap_err().code, REMAT_ERROR_HANDLE);
        assert!(lend("a\0b".into()).is_err());
    }
}
