//! The first basis, from the ranks of the variables.

use super::{CorePoint, nearest};
use crate::outcome::VarStatus;
use crate::simplex::Core;

/// A variable closer to a bound than this distance, scaled, is put on it.
const DISTANCE: f64 = 1e-9;

/// Distance of a value to the nearer bound; infinite without bounds.
fn distance(x: f64, l: f64, u: f64) -> f64 {
    (x - l).min(u - x).max(0.0)
}

/// Installs the basis, and puts each other variable on its bound if the point is near it. Returns
/// the variables left between their bounds, the least interior first.
///
/// A variable's rank is its distance over its reduced cost. On the central path the ratio tends to
/// infinity for variables that are basic in the optimal face and to zero for the others.
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
    // Logicals come first among equal ranks: they keep the factorisation sparse.
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
        // If the reduced cost exceeds the distance, the point is converging to the bound.
        let rests = near <= DISTANCE || (near.is_finite() && near < point.d[k].abs());
        if !rests && core.x[k] != point.x[k] {
            core.x[k] = point.x[k];
            superbasic.push(j);
        }
    }
    core.primal_valid = false;
    superbasic
}
