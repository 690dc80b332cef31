//! Probing: fix a binary both ways, propagate, and keep what both ways agree on (Savelsbergh 1994).

use super::Infeasible;
use crate::mip::domain::Domain;
use crate::mip::problem::Problem;
use std::sync::atomic::{AtomicBool, Ordering};

/// Tightens the domain; the binaries with the most rows first, within a tick limit.
pub(crate) fn run(p: &Problem, d: &mut Domain, stop: &AtomicBool) -> Result<(), Infeasible> {
    let limit = d.ticks + 20_000_000 + 20 * p.rows.index.len() as u64;
    for j in p.binaries_by_rows(&d.lower, &d.upper) {
        if d.ticks > limit || stop.load(Ordering::Relaxed) {
            break;
        }
        if d.is_fixed(j) {
            continue;
        }
        let mark = d.mark();
        d.fix(p, j, 0.0);
        let zero = d.propagate(p);
        let implied: Vec<(u32, f64, f64)> = d.trail[mark..]
            .iter()
            .map(|c| (c.col, d.lower[c.col as usize], d.upper[c.col as usize]))
            .collect();
        d.undo(mark);
        d.fix(p, j, 1.0);
        let one = d.propagate(p);
        let mut common: Vec<(usize, f64, f64)> = Vec::new();
        if zero && one {
            for &(k, l0, u0) in &implied {
                let k = k as usize;
                if p.integer[k] && k != j {
                    common.push((k, l0.min(d.lower[k]), u0.max(d.upper[k])));
                }
            }
        }
        d.undo(mark);
        match (zero, one) {
            (false, false) => return Err(Infeasible),
            (false, true) => d.fix(p, j, 1.0),
            (true, false) => d.fix(p, j, 0.0),
            (true, true) => {
                for (k, l, u) in common {
                    d.tighten_lower(p, k, l);
                    d.tighten_upper(p, k, u);
                }
            }
        }
        if d.infeasible || !d.propagate(p) {
            return Err(Infeasible);
        }
    }
    Ok(())
}
