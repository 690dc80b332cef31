//! Starts, callbacks, solves, interrupts.

use super::col;
use crate::calls::with_model;
use crate::follow::{RematIncumbentCallback, RematLogCallback, RematProgressCallback, User};
use crate::pointers::{array, length};
use crate::registry::RematModel;
use crate::trouble::Trouble;
use std::ffi::{c_int, c_void};

/// Adds a start: one value for each handle, NaN for columns without a value.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn remat_add_start(
    model: *mut RematModel,
    count: i32,
    values: *const f64,
) -> c_int {
    with_model(model, |model| {
        let count = length("count", count.into())?;
        // SAFETY: the caller's promise for arrays.
        let values = unsafe { array("values", values, count)? };
        let mut state = model.state()?;
        let handles = state.program.col_handles();
        if count != handles {
            let text = format!("the start has {count} values, there are {handles} columns");
            return Err(Trouble::argument(text));
        }
        if let Some(k) = values.iter().position(|v| v.is_infinite()) {
            let text = format!("values[{k}] is infinite; a number or NaN is needed");
            return Err(Trouble::argument(text));
        }
        state.starts.push(values.to_vec());
        Ok(())
    })
}

/// Adds a start with values for some columns.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn remat_add_partial_start(
    model: *mut RematModel,
    count: i32,
    cols: *const i32,
    values: *const f64,
) -> c_int {
    with_model(model, |model| {
        let count = length("count", count.into())?;
        // SAFETY: the caller's promise for arrays.
        let (cols, values) =
            unsafe { (array("cols", cols, count)?, array("values", values, count)?) };
        let mut state = model.state()?;
        let mut start = vec![f64::NAN; state.program.col_handles()];
        for (k, (&j, &value)) in cols.iter().zip(values).enumerate() {
            let col = col(j)?;
            state.program.cost(col)?;
            if !value.is_finite() {
                let text = format!("values[{k}] is {value}; a finite number is needed");
                return Err(Trouble::argument(text));
            }
            start[col.index()] = value;
        }
        state.starts.push(start);
        Ok(())
    })
}

/// Removes all starts.
#[unsafe(no_mangle)]
pub extern "C" fn remat_clear_starts(model: *mut RematModel) -> c_int {
    with_model(model, |model| {
        model.state()?.starts.clear();
        Ok(())
    })
}

/// Sets the callback for progress.
#[unsafe(no_mangle)]
pub extern "C" fn remat_set_progress_callback(
    model: *mut RematModel,
    callback: RematProgressCallback,
    user: *mut c_void,
) -> c_int {
    with_model(model, |model| {
        model.state()?.callbacks.progress = (callback, User(user));
        Ok(())
    })
}

/// Sets the callback for better points.
#[unsafe(no_mangle)]
pub extern "C" fn remat_set_incumbent_callback(
    model: *mut RematModel,
    callback: RematIncumbentCallback,
    user: *mut c_void,
) -> c_int {
    with_model(model, |model| {
        model.state()?.callbacks.incumbent = (callback, User(user));
        Ok(())
    })
}

/// Sets the callback for log lines.
#[unsafe(no_mangle)]
pub extern "C" fn remat_set_log_callback(
    model: *mut RematModel,
    callback: RematLogCallback,
    user: *mut c_void,
) -> c_int {
    with_model(model, |model| {
        model.state()?.callbacks.log = (callback, User(user));
        Ok(())
    })
}

/// Solves the program.
#[unsafe(no_mangle)]
pub extern "C" fn remat_solve(model: *mut RematModel) -> c_int {
    with_model(model, |model| model.solve())
}

/// Interrupts the running solve, if there is one.
#[unsafe(no_mangle)]
pub extern "C" fn remat_interrupt(model: *mut RematModel) -> c_int {
    with_model(model, |model| {
        model.interrupt();
        Ok(())
    })
}
