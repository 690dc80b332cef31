//! The first basis, from the ranks of the variables.

use super::{CorePoint, nearest};
use crate::outcome::VarStatus;
use crate::simplex::Core;

/// A variable whose distance to a bound is less than this, scaled, is put on it.
const DISTANCE: f64 = 1e-9;

/// Distance of a value to the nearer bound; infinite without bounds.
fn distance(x: f64, l: f64, u: f64) -> f64 {
    (x - l).min(u - x).max(0.0)
}

/// Installs the basis, puts the other variables on their bounds where the point all but does, and
/// returns those that it leaves between them, the least interior first.
///
/// Ranks are the ratio of distance and reduced cost, which on the central path tends to infinity
/// for variables that are basic in the optimal face and to zero for the others.
pub(super) fn install(core: &mut Core, point: &CorePoint) -> Vec<u32> {
    let total = core.total();
    let rank: Vec<f64> = (0..total)
        .map(|j| {
            let (l, u) = (core.lower[j], core.upper[j]);
            if l == u {
                return 0.0;
            }
            let near = distance(point.x[j], l, u);
            if near.is_infinite() {
                return f64::INFINITY;
            }
            near / (point.d[j].abs() + 1e-12)
        })
        .collect();
    let mut order: Vec<u32> = (0..total as u32).collect();
    // Logicals first among equals: they keep the factorisation sparse.
    order.sort_by(|&a, &b| {
        rank[b as usize]
            .total_cmp(&rank[a as usize])
            .then(b.cmp(&a))
    });
    let mut status: Vec<VarStatus> = (0..total)
        .map(|j| nearest(point.x[j], core.lower[j], core.upper[j]).1)
        .collect();
    for &j in &order[..core.m] {
        status[j as usize] = VarStatus::Basic;
    }
    core.install_basis(&status);
    core.settle_nonbasic();
    core.refactor();
    let mut superbasic = Vec::new();
    for &j in order.iter().rev() {
        let k = j as usize;
        if core.status[k] == VarStatus::Basic {
            continue;
        }
        let (l, u) = (core.lower[k], core.upper[k]);
        let near = distance(point.x[k], l, u);
        // A small distance with a larger reduced cost is a bound that the method has not reached.
        let rests = near <= DISTANCE || (near.is_finite() && near < point.d[k].abs());
        if !rests && core.x[k] != point.x[k] {
            core.x[k] = point.x[k];
            superbasic.push(j);
        }
    }
    core.primal_valid = false;
    superbasic
}
