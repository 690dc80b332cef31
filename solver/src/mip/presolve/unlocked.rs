//! Dual fixing after a probe. With a column fixed, some rows hold for any values of the others.
//! Columns that only these rows locked then move to their cheapest values.
//!
//! Only columns with a cost move, so that every optimum after the probe has them there.
//! Consequences of several probes therefore hold together.

use crate::mip::domain::Domain;
use crate::mip::problem::Problem;

/// Limit on the entries visited in one probe, as a multiple of the average row.
const WORK_LIMIT: u64 = 2_000;

/// Marks the rows visited in the present probe.
pub(super) struct Unlocked {
    seen: Vec<u32>,
    probe: u32,
    work_limit: u64,
}

impl Unlocked {
    pub fn new(p: &Problem) -> Unlocked {
        let average = p.rows.index.len() / p.num_rows().max(1) + 1;
        Unlocked {
            seen: vec![0; p.num_rows()],
            probe: 0,
            work_limit: WORK_LIMIT * average as u64,
        }
    }

    /// Fixes the columns that the changes since `mark` have unlocked, and propagates. Returns
    /// whether an optimum may remain. `movable` tells for each column whether it may be fixed.
    pub fn fix(&mut self, p: &Problem, d: &mut Domain, mark: usize, movable: &[bool]) -> bool {
        self.probe += 1;
        let limit = d.ticks + self.work_limit;
        let mut next = mark;
        while next < d.mark() {
            let j = d.trail[next].col as usize;
            next += 1;
            for &i in p.cols.vector(j).0 {
                let i = i as usize;
                if d.ticks > limit {
                    return true;
                }
                if self.seen[i] == self.probe {
                    continue;
                }
                // A row may become redundant only by a later change; it is visited again then.
                let sides = [true, false].map(|lower| d.always_meets(p, i, lower));
                if sides == [false, false] {
                    continue;
                }
                if sides == [true, true] {
                    self.seen[i] = self.probe;
                }
                let (index, value) = p.rows.vector(i);
                d.ticks += index.len() as u64;
                for (&k, &a) in index.iter().zip(value) {
                    let k = k as usize;
                    let down = p.cost[k] > 0.0;
                    // Moving down can violate the lower side of a row if the entry is positive.
                    let held = sides[usize::from((a > 0.0) != down)];
                    if p.cost[k] == 0.0 || !held || d.is_fixed(k) || !movable[k] {
                        continue;
                    }
                    let to = if down { d.lower[k] } else { d.upper[k] };
                    if !to.is_finite() || !is_free(p, d, k, down) {
                        continue;
                    }
                    d.fix(p, k, to);
                    if d.infeasible {
                        return false;
                    }
                }
            }
            if next == d.mark() && !d.propagate(p) {
                return false;
            }
        }
        true
    }
}

/// Returns whether a column can move down (or up) to its bound without violating a row.
fn is_free(p: &Problem, d: &mut Domain, k: usize, down: bool) -> bool {
    let (index, value) = p.cols.vector(k);
    d.ticks += index.len() as u64;
    (index.iter().zip(value)).all(|(&i, &a)| d.always_meets(p, i as usize, (a > 0.0) == down))
}

#[cfg(test)]
mod tests {
    use super::super::probing;
    use super::*;
    use remat_lp::{ModelBuilder, Sense};
    use std::sync::atomic::AtomicBool;

    /// A flow through two gates in series, which earns two per unit.
    fn gates(costs: [f64; 2]) -> Problem {
        let mut b = ModelBuilder::new(Sense::Minimise);
        let open = costs.map(|cost| {
            let c = b.add_col(cost, 0.0..=1.0);
            b.set_integer(c, true);
            c
        });
        let passing = b.add_col(-2.0, 0.0..);
        for gate in open {
            b.add_row(..=0.0, [(passing, 1.0), (gate, -7.0)]);
        }
        Problem::from_model(&b.build().unwrap())
    }

    fn propagated(p: &Problem) -> Domain {
        let mut d = Domain::new(p);
        d.enqueue_all(p);
        assert!(d.propagate(p));
        d
    }

    #[test]
    fn gates_of_which_one_is_useless_without_the_other_are_one() {
        let p = gates([3.0, 4.0]);
        let mut d = propagated(&p);
        let before = d.mark();
        let probe = |d: &mut Domain, movable: bool| {
            probing::run(&p, d, &[movable; 3], &AtomicBool::new(false))
                .ok()
                .unwrap()
        };
        let found = probe(&mut d, true);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!((found[0].constant, found[0].factor), (0.0, 1.0));
        assert_eq!(found[0].col + found[0].binary, 1);
        assert_eq!(d.mark(), before, "neither is fixed");
        assert!(probe(&mut d, false).is_empty());
    }

    #[test]
    fn gates_that_cost_nothing_stay() {
        // An open gate is harmless: not every optimum has it closed.
        let p = gates([3.0, 0.0]);
        let mut d = propagated(&p);
        let found = probing::run(&p, &mut d, &[true; 3], &AtomicBool::new(false));
        assert!(found.ok().unwrap().is_empty());
    }
}
