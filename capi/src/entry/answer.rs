//! Results.

use super::{handle, letters};
use crate::calls::{with_model, with_model_or};
use crate::codes::{self, REMAT_STATUS_NONE};
use crate::follow::signed;
use crate::model::ModelState;
use crate::pointers::{length, output, put, put_array, put_if_wanted, put_text};
use crate::registry::RematModel;
use crate::trouble::Trouble;
use remat_models::program::{Answer, Duals, Exact, Point, Program};
use std::ffi::{c_char, c_int};

/// Status of the last solve, or -1.
#[unsafe(no_mangle)]
pub extern "C" fn remat_get_status(model: *const RematModel) -> c_int {
    with_model_or(model, -1, |model| {
        let state = model.state()?;
        let ending = state.answer.as_ref().map(|a| codes::of_ending(a.ending));
        Ok(ending.unwrap_or(REMAT_STATUS_NONE))
    })
}

/// Writes a number of the answer.
///
/// # Safety
/// `value` can be written to, unless it is null.
unsafe fn number<T: Copy>(
    model: *const RematModel,
    value: *mut T,
    of: impl FnOnce(&Answer) -> Result<T, Trouble>,
) -> c_int {
    with_model(model, |model| {
        let state = model.state()?;
        // SAFETY: passed on.
        unsafe { put("value", value, of(state.answered()?)?) }
    })
}

fn best(answer: &Answer) -> Result<&Point, Trouble> {
    let none = || Trouble::no_result("the last solve found no point");
    answer.points.first().ok_or_else(none)
}

/// Objective of the best point.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn remat_get_objective(model: *const RematModel, value: *mut f64) -> c_int {
    // SAFETY: the caller's promise for outputs.
    unsafe { number(model, value, |answer| Ok(best(answer)?.objective)) }
}

/// Bound: no point is better than this number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn remat_get_bound(model: *const RematModel, value: *mut f64) -> c_int {
    // SAFETY: the caller's promise for outputs.
    unsafe { number(model, value, |answer| Ok(answer.bound)) }
}

/// Relative gap of objective and bound.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn remat_get_gap(model: *const RematModel, value: *mut f64) -> c_int {
    // SAFETY: the caller's promise for outputs.
    unsafe { number(model, value, |answer| Ok(answer.gap())) }
}

/// Seconds of the solve.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn remat_get_seconds(model: *const RematModel, value: *mut f64) -> c_int {
    // SAFETY: the caller's promise for outputs.
    unsafe { number(model, value, |answer| Ok(answer.info.seconds)) }
}

/// Nodes of the tree.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn remat_get_nodes(model: *const RematModel, value: *mut i64) -> c_int {
    // SAFETY: the caller's promise for outputs.
    unsafe { number(model, value, |answer| Ok(signed(answer.info.nodes))) }
}

/// Simplex iterations.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn remat_get_iterations(model: *const RematModel, value: *mut i64) -> c_int {
    let of = |answer: &Answer| Ok(signed(answer.info.lp_iterations));
    // SAFETY: the caller's promise for outputs.
    unsafe { number(model, value, of) }
}

/// Nodes of the training graph of a recognised program; 0 for any other.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn remat_get_recognised(model: *const RematModel, value: *mut i64) -> c_int {
    let of = |answer: &Answer| Ok(answer.recognised.map_or(0, |r| r.nodes as i64));
    // SAFETY: the caller's promise for outputs.
    unsafe { number(model, value, of) }
}

/// Writes a text of the exact answer.
///
/// # Safety
/// As for [`put_text`].
unsafe fn exact_text(
    model: *const RematModel,
    buffer: *mut c_char,
    room: usize,
    needed: *mut usize,
    of: impl FnOnce(&Exact) -> Option<&String>,
) -> c_int {
    with_model(model, |model| {
        let state = model.state()?;
        let none = || Trouble::no_result("no exact answer was asked for: set the option exact");
        let exact = state.answered()?.exact.as_ref().ok_or_else(none)?;
        let found = of(exact).ok_or_else(|| {
            let problem = exact.problem.as_deref();
            Trouble::no_result(problem.unwrap_or("no point is feasible without a tolerance"))
        })?;
        // SAFETY: passed on.
        unsafe { put_text(found, buffer, room, needed) }
    })
}

/// Objective of the best point as a fraction.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn remat_get_exact_objective(
    model: *const RematModel,
    buffer: *mut c_char,
    room: usize,
    needed: *mut usize,
) -> c_int {
    // SAFETY: the caller's promise for buffers and outputs.
    unsafe {
        exact_text(model, buffer, room, needed, |exact| {
            exact.objective.as_ref()
        })
    }
}

/// Bound as a fraction: no point is better than it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn remat_get_exact_bound(
    model: *const RematModel,
    buffer: *mut c_char,
    room: usize,
    needed: *mut usize,
) -> c_int {
    // SAFETY: the caller's promise for buffers and outputs.
    unsafe { exact_text(model, buffer, room, needed, |exact| exact.bound.as_ref()) }
}

/// Writes a vector of the answer.
///
/// # Safety
/// `count` values can be written at `values`, unless it is null.
unsafe fn vector<T: Copy>(
    model: *const RematModel,
    count: i32,
    values: *mut T,
    of: impl FnOnce(&ModelState) -> Result<Vec<T>, Trouble>,
) -> c_int {
    with_model(model, |model| {
        let count = length("count", count.into())?;
        let state = model.state()?;
        // SAFETY: passed on.
        unsafe { put_array("values", values, count, &of(&state)?) }
    })
}

/// Activities of the rows at a point, by handle; NaN for removed rows.
pub(super) fn activities(program: &Program, x: &[f64]) -> Result<Vec<f64>, Trouble> {
    let mut all = vec![f64::NAN; program.row_handles()];
    for row in program.rows() {
        let entries = program.entries(row)?.iter();
        all[row.index()] = entries.map(|&(col, value)| value * x[col.index()]).sum();
    }
    Ok(all)
}

/// Values of the best point.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn remat_get_values(
    model: *const RematModel,
    count: i32,
    values: *mut f64,
) -> c_int {
    let of = |state: &ModelState| Ok(best(state.answered()?)?.x.clone());
    // SAFETY: the caller's promise for outputs.
    unsafe { vector(model, count, values, of) }
}

/// Activities of the rows at the best point.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn remat_get_row_values(
    model: *const RematModel,
    count: i32,
    values: *mut f64,
) -> c_int {
    let of = |state: &ModelState| activities(&state.program, &best(state.answered()?)?.x);
    // SAFETY: the caller's promise for outputs.
    unsafe { vector(model, count, values, of) }
}

fn duals(state: &ModelState) -> Result<&Duals, Trouble> {
    let none = || Trouble::no_result("the last solve has no duals: those of linear programs have");
    state.answered()?.duals.as_ref().ok_or_else(none)
}

/// Duals of the rows.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn remat_get_duals(
    model: *const RematModel,
    count: i32,
    values: *mut f64,
) -> c_int {
    // SAFETY: the caller's promise for outputs.
    unsafe { vector(model, count, values, |state| Ok(duals(state)?.rows.clone())) }
}

/// Reduced costs of the columns.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn remat_get_reduced_costs(
    model: *const RematModel,
    count: i32,
    values: *mut f64,
) -> c_int {
    let of = |state: &ModelState| Ok(duals(state)?.reduced_costs.clone());
    // SAFETY: the caller's promise for outputs.
    unsafe { vector(model, count, values, of) }
}

/// Letters of the columns in the basis.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn remat_get_col_basis(
    model: *const RematModel,
    count: i32,
    values: *mut c_char,
) -> c_int {
    let of = |state: &ModelState| Ok(letters(&duals(state)?.col_status));
    // SAFETY: the caller's promise for outputs.
    unsafe { vector(model, count, values, of) }
}

/// Letters of the rows in the basis.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn remat_get_row_basis(
    model: *const RematModel,
    count: i32,
    values: *mut c_char,
) -> c_int {
    let of = |state: &ModelState| Ok(letters(&duals(state)?.row_status));
    // SAFETY: the caller's promise for outputs.
    unsafe { vector(model, count, values, of) }
}

/// Multipliers of the rows that prove that a linear program is infeasible.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn remat_get_farkas(
    model: *const RematModel,
    count: i32,
    values: *mut f64,
) -> c_int {
    let none = || Trouble::no_result("the last solve did not prove that a linear program is empty");
    let of = |state: &ModelState| state.answered()?.farkas.clone().ok_or_else(none);
    // SAFETY: the caller's promise for outputs.
    unsafe { vector(model, count, values, of) }
}

/// Direction in which the objective of a linear program improves without limit.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn remat_get_ray(
    model: *const RematModel,
    count: i32,
    values: *mut f64,
) -> c_int {
    let none = || Trouble::no_result("the last solve did not find a linear program unbounded");
    let of = |state: &ModelState| state.answered()?.ray.clone().ok_or_else(none);
    // SAFETY: the caller's promise for outputs.
    unsafe { vector(model, count, values, of) }
}

/// Number of points that were kept, or -1.
#[unsafe(no_mangle)]
pub extern "C" fn remat_num_points(model: *const RematModel) -> i32 {
    with_model_or(model, -1, |model| {
        Ok(handle(model.state()?.answered()?.points.len()))
    })
}

/// Objective and values of a kept point.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn remat_get_point(
    model: *const RematModel,
    number: i32,
    objective: *mut f64,
    count: i32,
    values: *mut f64,
) -> c_int {
    with_model(model, |model| {
        let number = length("number", number.into())?;
        let count = length("count", count.into())?;
        let state = model.state()?;
        let points = &state.answered()?.points;
        let none = || {
            Trouble::no_result(format!(
                "there is no point {number}: {} were kept",
                points.len()
            ))
        };
        let point = points.get(number).ok_or_else(none)?;
        output("objective", objective)?;
        // SAFETY: the caller's promise for outputs.
        unsafe {
            put_array("values", values, count, &point.x)?;
            put_if_wanted("objective", objective, point.objective)
        }
    })
}
