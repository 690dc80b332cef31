//! Names of programs, columns and rows.

use super::{col, handle, row};
use crate::calls::with_model;
use crate::names;
use crate::pointers::{put, put_text, text};
use crate::registry::RematModel;
use crate::trouble::Trouble;
use std::ffi::{c_char, c_int};

/// Names the program.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn remat_set_name(model: *mut RematModel, name: *const c_char) -> c_int {
    with_model(model, |model| {
        // SAFETY: the caller's promise for texts.
        let name = unsafe { text("name", name)? };
        model.state()?.program.set_name(name);
        Ok(())
    })
}

/// Name of the program.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn remat_get_name(
    model: *const RematModel,
    buffer: *mut c_char,
    room: usize,
    needed: *mut usize,
) -> c_int {
    with_model(model, |model| {
        let state = model.state()?;
        // SAFETY: the caller's promise for buffers and outputs.
        unsafe { put_text(state.program.name(), buffer, room, needed) }
    })
}

/// Names a column.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn remat_set_col_name(
    model: *mut RematModel,
    col: i32,
    name: *const c_char,
) -> c_int {
    with_model(model, |model| {
        // SAFETY: the caller's promise for texts.
        let name = unsafe { text("name", name)? };
        let col = self::col(col)?;
        Ok(model.state()?.program.set_col_name(col, name)?)
    })
}

/// Names a row.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn remat_set_row_name(
    model: *mut RematModel,
    row: i32,
    name: *const c_char,
) -> c_int {
    with_model(model, |model| {
        // SAFETY: the caller's promise for texts.
        let name = unsafe { text("name", name)? };
        let row = self::row(row)?;
        Ok(model.state()?.program.set_row_name(row, name)?)
    })
}

/// Name of a column.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn remat_get_col_name(
    model: *const RematModel,
    col: i32,
    buffer: *mut c_char,
    room: usize,
    needed: *mut usize,
) -> c_int {
    with_model(model, |model| {
        let (state, col) = (model.state()?, self::col(col)?);
        let name = state.program.col_name(col)?;
        let name = name.map_or_else(|| names::of_col(col.0), str::to_owned);
        // SAFETY: the caller's promise for buffers and outputs.
        unsafe { put_text(&name, buffer, room, needed) }
    })
}

/// Name of a row.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn remat_get_row_name(
    model: *const RematModel,
    row: i32,
    buffer: *mut c_char,
    room: usize,
    needed: *mut usize,
) -> c_int {
    with_model(model, |model| {
        let (state, row) = (model.state()?, self::row(row)?);
        let name = state.program.row_name(row)?;
        let name = name.map_or_else(|| names::of_row(row.0), str::to_owned);
        // SAFETY: the caller's promise for buffers and outputs.
        unsafe { put_text(&name, buffer, room, needed) }
    })
}

/// Handle of the column with a name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn remat_col_by_name(
    model: *mut RematModel,
    name: *const c_char,
    col: *mut i32,
) -> c_int {
    with_model(model, |model| {
        // SAFETY: the caller's promise for texts.
        let name = unsafe { text("name", name)? };
        let mut state = model.state()?;
        let state = &mut *state;
        let found = state.names.col(&state.program, name);
        let missing = || Trouble::argument(format!("there is no column {name:?}"));
        // SAFETY: the caller's promise for outputs.
        unsafe { put("col", col, handle(found.ok_or_else(missing)? as usize)) }
    })
}

/// Handle of the row with a name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn remat_row_by_name(
    model: *mut RematModel,
    name: *const c_char,
    row: *mut i32,
) -> c_int {
    with_model(model, |model| {
        // SAFETY: the caller's promise for texts.
        let name = unsafe { text("name", name)? };
        let mut state = model.state()?;
        let state = &mut *state;
        let found = state.names.row(&state.program, name);
        let missing = || Trouble::argument(format!("there is no row {name:?}"));
        // SAFETY: the caller's promise for outputs.
        unsafe { put("row", row, handle(found.ok_or_else(missing)? as usize)) }
    })
}
