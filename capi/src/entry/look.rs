//! Queries about a program.

use super::{col, handle, letter, row};
use crate::calls::{with_model, with_model_or};
use crate::codes::{REMAT_MAXIMISE, REMAT_MINIMISE};
use crate::pointers::{length, output, put, put_array, put_if_wanted};
use crate::registry::RematModel;
use remat_lp::Sense;
use std::ffi::{c_char, c_int};

/// Number of columns, or -1.
#[unsafe(no_mangle)]
pub extern "C" fn remat_num_cols(model: *const RematModel) -> i32 {
    with_model_or(model, -1, |model| {
        Ok(handle(model.state()?.program.num_cols()))
    })
}

/// Number of rows, or -1.
#[unsafe(no_mangle)]
pub extern "C" fn remat_num_rows(model: *const RematModel) -> i32 {
    with_model_or(model, -1, |model| {
        Ok(handle(model.state()?.program.num_rows()))
    })
}

/// Number of entries that are not 0, or -1.
#[unsafe(no_mangle)]
pub extern "C" fn remat_num_nonzeros(model: *const RematModel) -> i64 {
    with_model_or(model, -1, |model| {
        Ok(model.state()?.program.num_nonzeros() as i64)
    })
}

/// Number of handles of columns given out, or -1.
#[unsafe(no_mangle)]
pub extern "C" fn remat_num_col_handles(model: *const RematModel) -> i32 {
    with_model_or(model, -1, |model| {
        Ok(handle(model.state()?.program.col_handles()))
    })
}

/// Number of handles of rows given out, or -1.
#[unsafe(no_mangle)]
pub extern "C" fn remat_num_row_handles(model: *const RematModel) -> i32 {
    with_model_or(model, -1, |model| {
        Ok(handle(model.state()?.program.row_handles()))
    })
}

/// Sense and constant of the objective.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn remat_get_objective_sense(
    model: *const RematModel,
    sense: *mut c_int,
    offset: *mut f64,
) -> c_int {
    with_model(model, |model| {
        let state = model.state()?;
        output("offset", offset)?;
        let number = match state.program.sense() {
            Sense::Minimise => REMAT_MINIMISE,
            Sense::Maximise => REMAT_MAXIMISE,
        };
        // SAFETY: the caller's promise for outputs.
        unsafe {
            put_if_wanted("sense", sense, number)?;
            put_if_wanted("offset", offset, state.program.offset())
        }
    })
}

/// Bounds, cost and kind of a column.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn remat_get_col(
    model: *const RematModel,
    col: i32,
    lower: *mut f64,
    upper: *mut f64,
    cost: *mut f64,
    kind: *mut c_char,
) -> c_int {
    with_model(model, |model| {
        let (state, col) = (model.state()?, self::col(col)?);
        let bounds = state.program.col_bounds(col)?;
        output("lower", lower)?;
        output("upper", upper)?;
        output("cost", cost)?;
        // SAFETY: the caller's promise for outputs.
        unsafe {
            put_if_wanted("lower", lower, bounds.0)?;
            put_if_wanted("upper", upper, bounds.1)?;
            put_if_wanted("cost", cost, state.program.cost(col)?)?;
            put_if_wanted("kind", kind, letter(state.program.kind(col)?))
        }
    })
}

/// Sides of a row, and the number of its entries.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn remat_get_row(
    model: *const RematModel,
    row: i32,
    lower: *mut f64,
    upper: *mut f64,
    num_nonzeros: *mut i32,
) -> c_int {
    with_model(model, |model| {
        let (state, row) = (model.state()?, self::row(row)?);
        let sides = state.program.row_bounds(row)?;
        output("lower", lower)?;
        output("upper", upper)?;
        output("num_nonzeros", num_nonzeros)?;
        let count = state.program.entries(row)?.len();
        // SAFETY: the caller's promise for outputs.
        unsafe {
            put_if_wanted("lower", lower, sides.0)?;
            put_if_wanted("upper", upper, sides.1)?;
            put_if_wanted("num_nonzeros", num_nonzeros, handle(count))
        }
    })
}

/// Entries of a row.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn remat_get_row_entries(
    model: *const RematModel,
    row: i32,
    num_nonzeros: i32,
    cols: *mut i32,
    values: *mut f64,
) -> c_int {
    with_model(model, |model| {
        let count = length("num_nonzeros", num_nonzeros.into())?;
        let (state, row) = (model.state()?, self::row(row)?);
        let entries = state.program.entries(row)?;
        let (js, vs): (Vec<i32>, Vec<f64>) = entries
            .iter()
            .map(|&(col, value)| (handle(col.index()), value))
            .unzip();
        output("cols", cols)?;
        output("values", values)?;
        // SAFETY: the caller's promise for outputs.
        unsafe {
            put_array("cols", cols, count, &js)?;
            put_array("values", values, count, &vs)
        }
    })
}

/// The entry of a row in a column; 0 for an entry that does not exist.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn remat_get_entry(
    model: *const RematModel,
    row: i32,
    col: i32,
    value: *mut f64,
) -> c_int {
    with_model(model, |model| {
        let (state, row, col) = (model.state()?, self::row(row)?, self::col(col)?);
        state.program.cost(col)?;
        let mut entries = state.program.entries(row)?.iter();
        let found = entries.find(|e| e.0 == col).map_or(0.0, |e| e.1);
        // SAFETY: the caller's promise for outputs.
        unsafe { put("value", value, found) }
    })
}
