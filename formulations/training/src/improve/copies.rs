//! Plans that copy to the host, improved statement by statement.
//!
//! A statement moves past others that touch neither its register nor its buffer, so the statements
//! of a tensor keep their order. A value that leaves memory and comes back, by copies or by a
//! recomputation, may stay instead. The replay judges every change: bytes above the budget, then
//! the makespan, then the peak.

use remat_instances::instance::{Instance, Precedence};
use remat_instances::plan::{HostBuffer, Plan, Register, Step};
use remat_instances::simulate::{self, Replay};
use remat_search::anneal::Xoshiro256;

/// Statements replayed in all tries together.
const STATEMENTS_LIMIT: u64 = 4_000_000;
/// Largest distance of half of the moves.
const NEAR: usize = 8;

/// Improves a plan with copies until its tries are over; `rank` orders replays, less is better.
pub(super) fn improved(
    instance: &Instance,
    rules: &Precedence,
    (plan, replay): (Plan, Replay),
    rank: &dyn Fn(&Replay) -> [u64; 3],
    seed: u64,
    is_over: &dyn Fn() -> bool,
) -> (Plan, Replay) {
    let mut best = (plan, replay);
    let judged = |steps: Vec<Step>, best: &(Plan, Replay)| {
        let plan = Plan {
            steps,
            ..best.0.clone()
        };
        let replay = simulate::plan(instance, &plan).ok()?;
        let is_no_worse = rank(&replay) <= rank(&best.1);
        let is_allowed = is_no_worse && rules.allows(&plan.first_computations(instance));
        is_allowed.then_some((plan, replay))
    };
    let tries = STATEMENTS_LIMIT / (best.0.steps.len() as u64).max(1);
    let mut random = Xoshiro256::new(seed, 0);
    let mut last = None;
    for k in 0..tries {
        if best.0.steps.is_empty() || is_over() {
            break;
        }
        // All values that may stay are tried first, and again after every gain.
        if last != Some(rank(&best.1)) {
            last = Some(rank(&best.1));
            let mut at = 0;
            while at < best.0.steps.len() && !is_over() {
                let found = staying(&best.0.steps, at).and_then(|steps| judged(steps, &best));
                match found {
                    Some(found) => best = found,
                    None => at += 1,
                }
            }
        }
        let found = moved(&best.0.steps, &mut random).and_then(|steps| judged(steps, &best));
        if let Some(found) = found {
            best = found;
        }
        debug_assert!(k < tries);
    }
    best
}

/// Register and buffer of a statement.
fn touched(step: &Step) -> (Option<Register>, Option<HostBuffer>) {
    match *step {
        Step::Allocate { register, .. }
        | Step::Compute { register, .. }
        | Step::Deallocate { register }
        | Step::Gather { register, .. }
        | Step::Scatter { register, .. } => (Some(register), None),
        Step::Offload { register, buffer } | Step::Prefetch { buffer, register } => {
            (Some(register), Some(buffer))
        }
        Step::Wait { buffer } | Step::Release { buffer } => (None, Some(buffer)),
    }
}

/// The statements with one of them elsewhere; `None` if it cannot move.
fn moved(steps: &[Step], random: &mut Xoshiro256) -> Option<Vec<Step>> {
    let from = random.below(steps.len() as u32) as usize;
    let is_back = random.one_in(2);
    let room = match is_back {
        true => from,
        false => steps.len() - 1 - from,
    };
    let reach = match random.one_in(2) {
        true => room.min(NEAR),
        false => room,
    };
    if reach == 0 {
        return None;
    }
    let distance = 1 + random.below(reach as u32) as usize;
    let own = touched(&steps[from]);
    let meets = |step: &Step| {
        let other = touched(step);
        own.0.is_some() && own.0 == other.0 || own.1.is_some() && own.1 == other.1
    };
    let to = match is_back {
        true => {
            let stop = (from - distance..from).rev().find(|k| meets(&steps[*k]));
            stop.map_or(from - distance, |stop| stop + 1)
        }
        false => {
            let stop = (from + 1..=from + distance).find(|k| meets(&steps[*k]));
            stop.map_or(from + distance, |stop| stop - 1)
        }
    };
    if to == from {
        return None;
    }
    let mut steps = steps.to_vec();
    let step = steps.remove(from);
    steps.insert(to, step);
    Some(steps)
}

/// The statements in which the value that statement `at` frees stays in memory until it would have
/// come back; `None` if it frees no such value.
fn staying(steps: &[Step], at: usize) -> Option<Vec<Step>> {
    let Step::Deallocate { register: old } = steps[at] else {
        return None;
    };
    let of = |register: Register| {
        let mut earlier = steps[..at].iter().rev();
        earlier.find_map(|step| match *step {
            Step::Allocate { register: r, node } if r == register => Some(node),
            _ => None,
        })
    };
    let node = of(old)?;
    let again = (at + 1..steps.len())
        .find(|k| matches!(steps[*k], Step::Allocate { node: n, .. } if n == node))?;
    let Step::Allocate { register: new, .. } = steps[again] else {
        return None;
    };
    let made = (again + 1..steps.len()).find(|k| match steps[*k] {
        Step::Compute { register, .. } | Step::Prefetch { register, .. } => register == new,
        _ => false,
    })?;
    let mut left_out = vec![at, again, made];
    if let Step::Prefetch { buffer, .. } = steps[made] {
        let others = steps.iter().enumerate();
        let mut others = others.filter(|(k, step)| touched(step).1 == Some(buffer) && *k != made);
        let is_only = others
            .clone()
            .all(|(_, step)| !matches!(step, Step::Prefetch { .. }));
        if is_only {
            left_out.extend(others.by_ref().map(|(k, _)| k));
        }
    }
    let renamed = |register: Register| if register == new { old } else { register };
    let kept = steps
        .iter()
        .enumerate()
        .filter(|(k, _)| !left_out.contains(k));
    let steps = kept.map(|(k, step)| match *step {
        _ if k < again => *step,
        Step::Allocate { register, node } => Step::Allocate {
            register: renamed(register),
            node,
        },
        Step::Compute {
            node,
            register,
            implementation,
        } => Step::Compute {
            node,
            register: renamed(register),
            implementation,
        },
        Step::Deallocate { register } => Step::Deallocate {
            register: renamed(register),
        },
        Step::Offload { register, buffer } => Step::Offload {
            register: renamed(register),
            buffer,
        },
        Step::Prefetch { buffer, register } => Step::Prefetch {
            buffer,
            register: renamed(register),
        },
        same => same,
    });
    Some(steps.collect())
}
