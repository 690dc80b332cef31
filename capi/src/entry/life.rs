//! Creation and freeing of models; errors, texts, version.

use crate::codes;
use crate::model::Model;
use crate::pointers::put_text;
use crate::registry::{self, RematModel};
use crate::trouble::{self, entry, entry_or};
use std::ffi::{c_char, c_int};
use std::ptr;

/// Version of the library.
#[unsafe(no_mangle)]
pub extern "C" fn remat_version() -> *const c_char {
    const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "\0");
    VERSION.as_ptr().cast()
}

/// Text of the last error on this thread.
#[unsafe(no_mangle)]
pub extern "C" fn remat_last_error() -> *const c_char {
    trouble::last_error()
}

/// Words of a status.
#[unsafe(no_mangle)]
pub extern "C" fn remat_status_name(status: c_int) -> *const c_char {
    codes::words(status).map_or(ptr::null(), |words| words.as_ptr())
}

/// An empty program.
#[unsafe(no_mangle)]
pub extern "C" fn remat_create() -> *mut RematModel {
    entry_or(ptr::null_mut(), || Ok(registry::register(Model::default())))
}

/// Frees a program.
#[unsafe(no_mangle)]
pub extern "C" fn remat_free(model: *mut RematModel) -> c_int {
    entry(|| match model.is_null() {
        true => Ok(()),
        false => registry::free(model),
    })
}

/// Frees a text of the library.
#[unsafe(no_mangle)]
pub extern "C" fn remat_free_text(text: *mut c_char) -> c_int {
    entry(|| match text.is_null() {
        true => Ok(()),
        false => registry::take_back(text),
    })
}

/// Text of the last error with a model.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn remat_get_error(
    model: *const RematModel,
    buffer: *mut c_char,
    room: usize,
    needed: *mut usize,
) -> c_int {
    entry(|| {
        let error = registry::model(model)?.error();
        // SAFETY: the caller's promise for buffers and outputs.
        unsafe { put_text(&error, buffer, room, needed) }
    })
}
