//! One rematerialization plan in one call.

use crate::codes::{REMAT_ERROR_SOLVE, REMAT_STATUS_NONE, of_plan};
use crate::options::{seconds, threads};
use crate::pointers::{output, put_if_wanted, text};
use crate::registry::lend;
use crate::roomy::on_roomy_thread;
use crate::trouble::{Trouble, entry};
use remat_formulations::Solve;
use remat_instances::{Budget, read_bytes};
use remat_search::Settings;
use std::ffi::{c_char, c_int};
use std::ptr;
use std::time::Duration;

/// The end of a solve.
struct Found {
    status: c_int,
    bound: u64,
    cost: u64,
    peak_bytes: u64,
    /// The plan's document.
    text: Option<String>,
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
        let threads = self::threads(threads.into())?;
        let wrong = |e: remat_instances::instance::InstanceError| Trouble::argument(e.to_string());
        let settings = Settings {
            time_limit: limit.map(Duration::from_secs_f64),
            threads,
            ..Settings::default()
        };
        let failed = |e: &dyn std::error::Error| Trouble::new(REMAT_ERROR_SOLVE, e.to_string());
        let found = on_roomy_thread(|_| {
            let instance = read_bytes("instance_json", instance.as_bytes()).map_err(wrong)?;
            let solve = Solve::new(&instance, Budget::Bytes(budget_bytes)).settings(settings);
            let solution = solve.run().map_err(|e| failed(&e))?;
            let plan = solution.document();
            Ok::<_, Trouble>(Found {
                status: of_plan(solution.status),
                bound: solution.bound,
                cost: plan.map_or(u64::MAX, |plan| plan.objective),
                peak_bytes: plan.map_or(u64::MAX, |plan| plan.peak_bytes),
                text: plan.map(|plan| plan.write(solution.instance())),
            })
        })??;
        // SAFETY: the caller's promise for outputs.
        unsafe {
            put_if_wanted("cost", cost, found.cost)?;
            put_if_wanted("bound", bound, found.bound)?;
            put_if_wanted("peak_bytes", peak_bytes, found.peak_bytes)?;
            if let Some(text) = found.text
                && !plan_json.is_null()
            {
                put_if_wanted("plan_json", plan_json, lend(text)?)?;
            }
            put_if_wanted("status", status, found.status)
        }
    })
}
