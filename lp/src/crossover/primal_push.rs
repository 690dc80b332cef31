//! Primal pushes, for nonbasic variables between their bounds.

use super::{LEAST_PIVOT, UPDATE_ERROR, nearest};
use crate::factor::UpdateCheck;
use crate::outcome::{LimitKind, VarStatus};
use crate::simplex::{Core, WorkBudget};
use crate::sparse_vec::observe;

/// Violation of a basic variable's bounds that a push may leave, scaled.
const SLACKNESS: f64 = 1e-9;
/// Pushes between two checks of the limits.
pub(super) const LIMIT_PAUSE: usize = 20;

/// Pushes each of these nonbasic variables to a bound, or into the basis.
pub(super) fn run(
    core: &mut Core,
    superbasic: &[u32],
    budget: &WorkBudget,
) -> Result<(), LimitKind> {
    for (k, &j) in superbasic.iter().enumerate() {
        if k.is_multiple_of(LIMIT_PAUSE)
            && let Some(kind) = core.limit_reached(budget)
        {
            return Err(kind);
        }
        let j = j as usize;
        // A repair of the basis may have made it basic.
        if core.status[j] == VarStatus::Basic {
            continue;
        }
        if !core.factored || core.refactor_due() {
            core.refactor();
        }
        if !core.primal_valid {
            core.compute_primal();
        }
        push(core, j);
    }
    Ok(())
}

fn push(core: &mut Core, j: usize) {
    let (target, status) = nearest(core.x[j], core.wl[j], core.wu[j]);
    let way = target - core.x[j];
    if way != 0.0 {
        core.load_entering(j);
        core.factor.ftran_entering(&mut core.col, core.density.col);
        observe(&mut core.density.col, core.col.density());
        core.count.crossover += 1;
        let blocked = ratio_test(core, way);
        let step = blocked.as_ref().map_or(way, |b| b.step);
        for &i in &core.col.index {
            core.xb[i as usize] -= step * core.col.value[i as usize];
        }
        if let Some(blocked) = blocked {
            return enter(core, j, &blocked);
        }
    }
    core.status[j] = status;
    core.settle(j);
}

/// Basic variable that reaches a bound before the pushed one does.
struct Blocked {
    position: usize,
    step: f64,
    /// The bound that it reaches.
    status: VarStatus,
}

/// The basic variable that blocks a move of the entering variable by `way`. Among those that block
/// within their bounds widened by [`SLACKNESS`], the one with the largest pivot is chosen (Harris).
fn ratio_test(core: &Core, way: f64) -> Option<Blocked> {
    let sign = way.signum();
    let rate = |i: usize| -sign * core.col.value[i];
    let room = |i: usize, slack: f64| {
        let rate = rate(i);
        let bound = if rate > 0.0 { core.bu[i] } else { core.bl[i] };
        ((bound - core.xb[i]) / rate).max(0.0) + slack / rate.abs()
    };
    let blocks = |i: usize| rate(i).abs() > LEAST_PIVOT;
    let mut longest = way.abs();
    for &i in &core.col.index {
        if blocks(i as usize) {
            longest = longest.min(room(i as usize, SLACKNESS));
        }
    }
    if longest >= way.abs() {
        return None;
    }
    let mut best: Option<(usize, f64)> = None;
    let mut size = 0.0;
    for &i in &core.col.index {
        let i = i as usize;
        let step = if rate(i).abs() > size && blocks(i) {
            room(i, 0.0)
        } else {
            continue;
        };
        if step <= longest {
            size = rate(i).abs();
            best = Some((i, step));
        }
    }
    best.map(|(position, step)| Blocked {
        position,
        step: sign * step,
        status: if rate(position) > 0.0 {
            VarStatus::AtUpper
        } else {
            VarStatus::AtLower
        },
    })
}

/// Puts variable `j` into the basis in place of the one that blocks it.
fn enter(core: &mut Core, j: usize, blocked: &Blocked) {
    let r = blocked.position;
    let value = core.x[j] + blocked.step;
    // The update needs the half-solved vector.
    core.factor.btran_unit(r, &mut core.rho, core.density.rho);
    observe(&mut core.density.rho, core.rho.density());
    core.exchange(r, j, blocked.status);
    core.xb[r] = value;
    match core.factor.update(r, &core.col) {
        UpdateCheck::Accurate(error) if error < UPDATE_ERROR => {}
        _ => {
            core.factored = false;
            core.primal_valid = false;
        }
    }
}
