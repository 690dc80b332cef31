//! One rematerialization plan in one call.

use crate::codes::{REMAT_ERROR_SOLVE, REMAT_STATUS_NONE, of_plan};
use crate::options::{seconds, threads};
use crate::pointers::{put_if_wanted, text};
use crate::registry::lend;
use crate::trouble::{Trouble, entry};
use remat_formulations::Solve;
use remat_formulations::solve::{PlanError, Settings};
use remat_instances::{Budget, read_bytes};
use std::ffi::{c_char, c_int};
use std::ptr;
use std::time::Duration;

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
        let instance = read_bytes("instance_json", instance.as_bytes()).map_err(wrong)?;
        let settings = Settings {
            time_limit: limit.map(Duration::from_secs_f64),
            threads,
            ..Settings::default()
        };
        let failed = |e: &dyn std::error::Error| Trouble::new(REMAT_ERROR_SOLVE, e.to_string());
        let solve = Solve::new(&instance, Budget::Bytes(budget_bytes)).settings(settings);
        let solution = solve.run().map_err(|e| failed(&e))?;
        let plan = match solution.plan() {
            Ok(plan) => Some(plan),
            Err(PlanError::NoPlan(_)) => None,
            Err(error) => return Err(failed(&error)),
        };
        let (costs, peak) = plan.as_ref().map_or((u64::MAX, u64::MAX), |plan| {
            (plan.document.objective, plan.document.peak_bytes)
        });
        // SAFETY: the caller's promise for outputs.
        unsafe {
            put_if_wanted("cost", cost, costs)?;
            put_if_wanted("bound", bound, solution.bound)?;
            put_if_wanted("peak_bytes", peak_bytes, peak)?;
            if let Some(plan) = plan
                && !plan_json.is_null()
            {
                put_if_wanted("plan_json", plan_json, lend(plan.text())?)?;
            }
            put_if_wanted("status", status, of_plan(solution.status))
        }
    })
}
