//! Fix and propagate: integer columns are fixed one after another at the value with the fewest
//! locks, and rows propagate. Rows that choose one of their columns come first, each decided as a
//! whole (after Achterberg, Berthold & Hendel 2012, *Rounding and propagation heuristics*). It
//! needs no relaxation.

use crate::mip::problem::Problem;
use crate::mip::worker::{Attempt, RoundShared, Worker};
use remat_lp::ModelError;

/// Contradictions after which the walk is given up.
const CONTRADICTION_LIMIT: u32 = 200;

impl Worker {
    /// Fixes all integer columns within a limit of ticks, and solves for the rest. Returns whether
    /// that gives a new incumbent. The domain is restored.
    pub(crate) fn fix_and_propagate(
        &mut self,
        shared: &RoundShared,
        budget: u64,
    ) -> Result<bool, ModelError> {
        let p = shared.problem.clone();
        let mark = self.domain.mark();
        let all = self.fix_all(shared, &p, budget);
        let x: Vec<f64> = (0..p.num_cols())
            .map(|j| nearest_to_zero(self.domain.lower[j], self.domain.upper[j]))
            .collect();
        let found = all && self.try_integral(shared, &x, "fixing")? == Attempt::Accepted;
        self.domain.undo(&shared.problem, mark);
        self.sync_bounds(shared)?;
        Ok(found)
    }

    fn fix_all(&mut self, shared: &RoundShared, p: &Problem, budget: u64) -> bool {
        let limit = self.domain.ticks + budget;
        let locks = &shared.locks;
        let mut contradictions = 0;
        // The order of the model usually follows its structure.
        for i in 0..p.num_rows() {
            if !is_choice(p, i) {
                continue;
            }
            loop {
                let (index, _) = p.rows.vector(i);
                let open = index.iter().map(|&j| j as usize);
                let open = open.filter(|&j| !self.domain.is_fixed(j));
                let least = open.min_by(|&a, &b| {
                    let cost = p.cost[a].total_cmp(&p.cost[b]);
                    locks[a].1.cmp(&locks[b].1).then(cost)
                });
                let Some(j) = least else {
                    break;
                };
                if !self.takes(shared, p, j, 1.0, &mut contradictions) {
                    return false;
                }
                if self.domain.ticks > limit || shared.stopped() {
                    return false;
                }
            }
        }
        for j in 0..p.num_cols() {
            if !p.integer[j] || self.domain.is_fixed(j) {
                continue;
            }
            let (down, up) = locks[j];
            let [l, u] = [self.domain.lower[j], self.domain.upper[j]];
            let falls = down < up || (down == up && p.cost[j] >= 0.0);
            let value = match falls {
                true if l.is_finite() => l,
                false if u.is_finite() => u,
                _ => nearest_to_zero(l, u),
            };
            if !self.takes(shared, p, j, value, &mut contradictions) {
                return false;
            }
            if self.domain.ticks > limit || shared.stopped() {
                return false;
            }
        }
        true
    }

    /// Fixes a column to a value; at a contradiction, excludes the value instead. Returns whether
    /// either is consistent.
    fn takes(
        &mut self,
        shared: &RoundShared,
        p: &Problem,
        j: usize,
        value: f64,
        contradictions: &mut u32,
    ) -> bool {
        let mark = self.domain.mark();
        self.domain.fix(p, j, value);
        if self.propagate(shared) {
            return true;
        }
        self.domain.undo(&shared.problem, mark);
        *contradictions += 1;
        let [l, u] = [self.domain.lower[j], self.domain.upper[j]];
        if *contradictions > CONTRADICTION_LIMIT || (value > l && value < u) {
            return false;
        }
        match value == l {
            true => self.domain.tighten_lower(p, j, l + 1.0),
            false => self.domain.tighten_upper(p, j, u - 1.0),
        };
        self.propagate(shared)
    }
}

/// Returns whether a row says that exactly one of its columns, all binary, is 1.
fn is_choice(p: &Problem, i: usize) -> bool {
    let (index, value) = p.rows.vector(i);
    let binary = |&j: &u32| {
        let j = j as usize;
        p.integer[j] && p.lower[j] >= 0.0 && p.upper[j] <= 1.0
    };
    p.row_lower[i] == 1.0
        && p.row_upper[i] == 1.0
        && value.iter().all(|a| *a == 1.0)
        && index.iter().all(binary)
}

/// The value between two bounds that is nearest to 0.
fn nearest_to_zero(lower: f64, upper: f64) -> f64 {
    0.0f64.max(lower).min(upper)
}
