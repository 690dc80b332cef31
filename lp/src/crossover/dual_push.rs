//! Dual pushes, for basic variables with nonzero reduced cost.
//!
//! The first basis is completed with variables at bounds, which may have a nonzero reduced cost.
//! Each is pushed until its reduced cost is zero, or until a nonbasic variable's reduced cost
//! reaches zero first. That variable may then lie between its bounds, and enters the basis in its
//! place. Values do not change.

use super::primal_push::LIMIT_PAUSE;
use super::{LEAST_PIVOT, UPDATE_ERROR};
use crate::factor::UpdateCheck;
use crate::outcome::{LimitKind, VarStatus};
use crate::simplex::{Core, WorkBudget};
use crate::sparse_vec::observe;

/// Reduced cost that counts as zero, scaled, relative to one plus the largest cost.
const PRICE: f64 = 1e-9;
/// Violation of a reduced cost that a push may leave.
const SLACKNESS: f64 = 1e-9;

/// Pushes the reduced cost of each basic variable to zero. `d` has the reduced costs of all
/// variables at the point's duals. `superbasic` lists the nonbasic variables between their bounds,
/// whose reduced cost must stay zero.
pub(super) fn run(
    core: &mut Core,
    d: &mut [f64],
    superbasic: &[u32],
    budget: &WorkBudget,
) -> Result<(), LimitKind> {
    let largest = core.cost.iter().fold(0.0f64, |a, c| a.max(c.abs()));
    let zero = PRICE * (1.0 + largest);
    let mut between = vec![false; core.total()];
    superbasic.iter().for_each(|&j| between[j as usize] = true);
    let mut priced: Vec<u32> = core.basic.clone();
    priced.retain(|&j| d[j as usize].abs() > zero);
    // The largest reduced costs come first: their variables should not be basic.
    priced.sort_by(|&a, &b| {
        let size = |j: u32| d[j as usize].abs();
        size(b).total_cmp(&size(a)).then(a.cmp(&b))
    });
    let mut place = vec![u32::MAX; core.total()];
    let mut fresh = false;
    for (k, &p) in priced.iter().enumerate() {
        if k.is_multiple_of(LIMIT_PAUSE)
            && let Some(kind) = core.limit_reached(budget)
        {
            return Err(kind);
        }
        if !core.factored || core.refactor_due() {
            core.refactor();
            fresh = false;
        }
        if !fresh {
            for (r, &j) in core.basic.iter().enumerate() {
                place[j as usize] = r as u32;
            }
            fresh = true;
        }
        // A repair of the basis may have removed it.
        if core.status[p as usize] != VarStatus::Basic || d[p as usize].abs() <= zero {
            continue;
        }
        if let Some(q) = push(core, d, &between, place[p as usize] as usize) {
            place[q] = place[p as usize];
        }
    }
    Ok(())
}

/// Pushes the reduced cost of the basic variable at a position. Returns the variable that replaces
/// it, if any.
fn push(core: &mut Core, d: &mut [f64], between: &[bool], r: usize) -> Option<usize> {
    let p = core.basic[r] as usize;
    core.factor.btran_unit(r, &mut core.rho, core.density.rho);
    observe(&mut core.density.rho, core.rho.density());
    core.price();
    core.count.crossover += 1;
    let wanted = d[p];
    let entering = ratio_test(core, d, between, wanted);
    let step = entering.map_or(wanted, |(_, step)| step);
    for (&j, &a) in core.packed.index.iter().zip(&core.packed.value) {
        if core.status[j as usize] != VarStatus::Basic {
            d[j as usize] -= step * a;
        }
    }
    d[p] -= step;
    let (q, _) = entering?;
    core.load_entering(q);
    core.factor.ftran_entering(&mut core.col, core.density.col);
    observe(&mut core.density.col, core.col.density());
    if core.col.value[r].abs() < 0.1 * LEAST_PIVOT {
        core.factored = false;
        return None;
    }
    d[q] = 0.0;
    let status = leaving_status(core, p, d[p]);
    let value = core.x[q];
    core.exchange(r, q, status);
    core.xb[r] = value;
    core.primal_valid = false;
    match core.factor.update(r, &core.col) {
        UpdateCheck::Accurate(error) if error < UPDATE_ERROR => {}
        _ => core.factored = false,
    }
    Some(q)
}

/// The bound at which the variable leaves the basis: the one that is optimal for this reduced cost.
fn leaving_status(core: &Core, p: usize, price: f64) -> VarStatus {
    let (l, u) = (core.wl[p], core.wu[p]);
    match (l.is_finite(), u.is_finite()) {
        (true, true) if price < 0.0 => VarStatus::AtUpper,
        (true, _) => VarStatus::AtLower,
        (false, true) => VarStatus::AtUpper,
        (false, false) => VarStatus::Free,
    }
}

/// The nonbasic variable whose reduced cost reaches zero before the wanted step is done, and that
/// step. Among the variables that block within a tolerance, the one with the largest pivot is
/// chosen.
fn ratio_test(core: &Core, d: &[f64], between: &[bool], wanted: f64) -> Option<(usize, f64)> {
    let sign = wanted.signum();
    // Distance of a reduced cost to zero in the direction of the step, widened by `slack`.
    let room = |j: usize, a: f64, slack: f64| -> f64 {
        let rate = sign * a;
        if core.wl[j] == core.wu[j] || rate.abs() <= LEAST_PIVOT {
            return f64::INFINITY;
        }
        let status = core.status[j];
        if between[j] || status == VarStatus::Free {
            return slack / rate.abs();
        }
        let price = if status == VarStatus::AtLower {
            d[j]
        } else {
            -d[j]
        };
        let falls = if status == VarStatus::AtLower {
            rate
        } else {
            -rate
        };
        if falls <= 0.0 {
            return f64::INFINITY;
        }
        (price.max(0.0) + slack) / falls
    };
    let entries = || core.packed.index.iter().zip(&core.packed.value);
    let nonbasic = |j: u32| core.status[j as usize] != VarStatus::Basic;
    let mut longest = wanted.abs();
    for (&j, &a) in entries() {
        if nonbasic(j) {
            longest = longest.min(room(j as usize, a, SLACKNESS));
        }
    }
    if longest >= wanted.abs() {
        return None;
    }
    let mut best: Option<(usize, f64)> = None;
    let mut size = 0.0;
    for (&j, &a) in entries() {
        if !nonbasic(j) || a.abs() <= size {
            continue;
        }
        let step = room(j as usize, a, 0.0);
        if step <= longest {
            size = a.abs();
            best = Some((j as usize, sign * step));
        }
    }
    best
}
