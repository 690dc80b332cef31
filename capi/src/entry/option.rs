//! Settings by name.

use crate::calls::with_model;
use crate::options::{Value, wrong_kind};
use crate::pointers::{put, put_text, text};
use crate::registry::RematModel;
use std::ffi::{c_char, c_int};

/// Sets an option that is a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn remat_set_double_option(
    model: *mut RematModel,
    name: *const c_char,
    value: f64,
) -> c_int {
    with_model(model, |model| {
        // SAFETY: the caller's promise for texts.
        let name = unsafe { text("name", name)? };
        model.state()?.options.set(name, Value::Double(value))
    })
}

/// Sets an option that is a whole number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn remat_set_int_option(
    model: *mut RematModel,
    name: *const c_char,
    value: i64,
) -> c_int {
    with_model(model, |model| {
        // SAFETY: the caller's promise for texts.
        let name = unsafe { text("name", name)? };
        model.state()?.options.set(name, Value::Int(value))
    })
}

/// Sets an option that is a switch.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn remat_set_bool_option(
    model: *mut RematModel,
    name: *const c_char,
    value: c_int,
) -> c_int {
    with_model(model, |model| {
        // SAFETY: the caller's promise for texts.
        let name = unsafe { text("name", name)? };
        model.state()?.options.set(name, Value::Bool(value != 0))
    })
}

/// Sets an option that is a word.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn remat_set_string_option(
    model: *mut RematModel,
    name: *const c_char,
    value: *const c_char,
) -> c_int {
    with_model(model, |model| {
        // SAFETY: the caller's promise for texts.
        let (name, value) = unsafe { (text("name", name)?, text("value", value)?) };
        model.state()?.options.set(name, Value::Text(value.into()))
    })
}

/// Value of an option that is a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn remat_get_double_option(
    model: *const RematModel,
    name: *const c_char,
    value: *mut f64,
) -> c_int {
    with_model(model, |model| {
        // SAFETY: the caller's promise for texts and outputs.
        unsafe {
            let name = text("name", name)?;
            match model.state()?.options.get(name)? {
                Value::Double(found) => put("value", value, found),
                other => Err(wrong_kind(name, &other)),
            }
        }
    })
}

/// Value of an option that is a whole number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn remat_get_int_option(
    model: *const RematModel,
    name: *const c_char,
    value: *mut i64,
) -> c_int {
    with_model(model, |model| {
        // SAFETY: the caller's promise for texts and outputs.
        unsafe {
            let name = text("name", name)?;
            match model.state()?.options.get(name)? {
                Value::Int(found) => put("value", value, found),
                other => Err(wrong_kind(name, &other)),
            }
        }
    })
}

/// Value of an option that is a switch.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn remat_get_bool_option(
    model: *const RematModel,
    name: *const c_char,
    value: *mut c_int,
) -> c_int {
    with_model(model, |model| {
        // SAFETY: the caller's promise for texts and outputs.
        unsafe {
            let name = text("name", name)?;
            match model.state()?.options.get(name)? {
                Value::Bool(found) => put("value", value, c_int::from(found)),
                other => Err(wrong_kind(name, &other)),
            }
        }
    })
}

/// Value of an option that is a word.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn remat_get_string_option(
    model: *const RematModel,
    name: *const c_char,
    buffer: *mut c_char,
    room: usize,
    needed: *mut usize,
) -> c_int {
    with_model(model, |model| {
        // SAFETY: the caller's promise for texts, buffers and outputs.
        unsafe {
            let name = text("name", name)?;
            match model.state()?.options.get(name)? {
                Value::Text(found) => put_text(&found, buffer, room, needed),
                other => Err(wrong_kind(name, &other)),
            }
        }
    })
}
