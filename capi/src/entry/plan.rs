//! One rematerialization plan in one call.

use crate::codes::{REMAT_ERROR_SOLVE, REMAT_STATUS_NONE, of_plan};
use crate::options::{seconds, threads};
use crate::pointers::{array, length, output, put_if_wanted, text};
use crate::registry::lend;
use crate::roomy::on_roomy_thread;
use crate::trouble::{Trouble, entry};
use remat_formulations::Solve;
use remat_formulations::options::SolveOptions;
use remat_instances::{Budget, read_bytes};
use remat_report::SolveJson;
use remat_report::results::json;
use std::ffi::{c_char, c_int};
use std::ptr;
use std::time::Duration;

/// Outcome of a solve.
struct EndedSolve {
    status: c_int,
    bound: u64,
    cost: u64,
    peak_bytes: u64,
    /// The plan's document.
    plan: Option<String>,
    /// The answer as JSON.
    answer: String,
}

fn solved(instance: &str, budget: Budget, options: &SolveOptions) -> Result<EndedSolve, Trouble> {
    let wrong = |e: &dyn std::error::Error| Trouble::argument(e.to_string());
    on_roomy_thread(|_| {
        let instance = read_bytes("instance_json", instance.as_bytes()).map_err(|e| wrong(&e))?;
        let formulation = options.applied(&instance).map_err(|e| wrong(&e))?;
        let solution = Solve::of(formulation, budget).options(options).run();
        let solution = solution.map_err(|e| Trouble::new(REMAT_ERROR_SOLVE, e.to_string()))?;
        let plan = solution.document();
        Ok(EndedSolve {
            status: of_plan(solution.status),
            bound: solution.bound,
            cost: plan.map_or(u64::MAX, |plan| plan.objective),
            peak_bytes: plan.map_or(u64::MAX, |plan| plan.peak_bytes),
            plan: plan.map(|plan| plan.write(solution.instance())),
            answer: json(&SolveJson::of(&solution, &options.settings(), None)),
        })
    })?
}

/// Finds the plan of least cost within a budget.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn remat_solve_call(
    instance_json: *const c_char,
    budget_bytes: u64,
    time_limit: f64,
    threads: i32,
    plan_json: *mut *mut c_char,
    cost: *mut u64,
    bound: *mut u64,
    peak_bytes: *mut u64,
    status: *mut c_int,
) -> c_int {
    entry(|| {
        output("plan_json", plan_json)?;
        output("cost", cost)?;
        output("bound", bound)?;
        output("peak_bytes", peak_bytes)?;
        // SAFETY: the caller's promise for outputs.
        unsafe {
            put_if_wanted("status", status, REMAT_STATUS_NONE)?;
            put_if_wanted("plan_json", plan_json, ptr::null_mut())?;
        }
        // SAFETY: the caller's promise for texts.
        let instance = unsafe { text("instance_json", instance_json)? };
        let limit = seconds("time_limit", time_limit)?;
        let options = SolveOptions {
            time_limit: limit.map(Duration::from_secs_f64),
            threads: self::threads(threads.into())?,
            ..SolveOptions::default()
        };
        let found = solved(instance, Budget::Bytes(budget_bytes), &options)?;
        // SAFETY: the caller's promise for outputs.
        unsafe {
            put_if_wanted("cost", cost, found.cost)?;
            put_if_wanted("bound", bound, found.bound)?;
            put_if_wanted("peak_bytes", peak_bytes, found.peak_bytes)?;
            lend_if_wanted("plan_json", plan_json, found.plan)?;
            put_if_wanted("status", status, found.status)
        }
    })
}

/// The same with every option of a solve, and the answer as JSON.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn remat_plan(
    instance_json: *const c_char,
    budget: *const c_char,
    names: *const *const c_char,
    values: *const *const c_char,
    count: i64,
    plan_json: *mut *mut c_char,
    answer_json: *mut *mut c_char,
    status: *mut c_int,
) -> c_int {
    entry(|| {
        output("plan_json", plan_json)?;
        output("answer_json", answer_json)?;
        // SAFETY: the caller's promise for outputs.
        unsafe {
            put_if_wanted("status", status, REMAT_STATUS_NONE)?;
            put_if_wanted("plan_json", plan_json, ptr::null_mut())?;
            put_if_wanted("answer_json", answer_json, ptr::null_mut())?;
        }
        let count = length("count", count)?;
        // SAFETY: the caller's promise for texts and arrays of them.
        let (instance, budget, names, values) = unsafe {
            (
                text("instance_json", instance_json)?,
                text("budget", budget)?,
                array("names", names, count)?,
                array("values", values, count)?,
            )
        };
        let read = budget.parse::<Budget>();
        let budget = read.map_err(|e| Trouble::argument(format!("budget: {e}")))?;
        let mut options = SolveOptions::default();
        for (name, value) in names.iter().zip(values) {
            // SAFETY: the caller's promise for arrays of texts.
            let (name, value) = unsafe { (text("names", *name)?, text("values", *value)?) };
            let set = options.set(name, value);
            set.map_err(|e| Trouble::argument(e.to_string()))?;
        }
        let found = solved(instance, budget, &options)?;
        // SAFETY: the caller's promise for outputs.
        unsafe {
            lend_if_wanted("plan_json", plan_json, found.plan)?;
            lend_if_wanted("answer_json", answer_json, Some(found.answer))?;
            put_if_wanted("status", status, found.status)
        }
    })
}

/// Hands a text to the caller if it is wanted. The caller owns it from then on.
///
/// # Safety
/// As [`put_if_wanted`].
unsafe fn lend_if_wanted(
    name: &str,
    place: *mut *mut c_char,
    text: Option<String>,
) -> Result<(), Trouble> {
    match text {
        Some(text) if !place.is_null() => {
            let text = lend(text)?;
            // SAFETY: the caller's promise.
            unsafe { put_if_wanted(name, place, text) }
        }
        _ => Ok(()),
    }
}
