//! Propagation of bounds through rows and clauses.
//!
//! Activity based (Savelsbergh 1994; Achterberg 2007, section 7.1): a row tightens its columns if
//! the gap between its least activity and its side is small.

use super::{Contradiction, Domain, Reason};
use crate::mip::problem::{INTEGER_TOLERANCE, Problem, SIDE_ROUNDING, contradiction};

/// Limit on the absolute value of a derived bound of a continuous column.
const LARGE: f64 = 1e8;

/// Changes of one bound that need only a share of the bound, if the range is a placeholder. Later
/// ones need a share of the range, which ends long series of ever smaller gains.
const FREE_CHANGES: usize = 10;

/// Range, in multiples of a bound, from which on it is a placeholder for infinity.
const PLACEHOLDER_RATIO: f64 = 1e3;

/// The smaller need: a share of the bound that is replaced, which counts as at least this large.
const LEAST_SHARE: f64 = 0.05;
const LEAST_BOUND: f64 = 1e-3;

/// A bound implied by a row.
#[derive(Clone, Copy)]
struct Derived {
    value: f64,
    upper: bool,
    /// Tolerance of the row in units of the column: a smaller violation is no contradiction.
    tolerance: f64,
    /// Rounding of the row in units of the column.
    rounding: f64,
}

impl Derived {
    /// The bound `value` of an exact row, rounded to an integer because its columns are integer.
    /// Only the division has a tolerance.
    fn exact(value: f64, upper: bool) -> Derived {
        let rounding = 1e-12 * value.abs().max(1.0);
        let value = match upper {
            true => (value + rounding).floor(),
            false => (value - rounding).ceil(),
        };
        Derived::plain(value, upper)
    }

    /// The bound `value` by an entry of a row with a tolerance.
    fn loose(value: f64, upper: bool, tolerance: f64, entry: f64) -> Derived {
        Derived {
            value,
            upper,
            tolerance: tolerance / entry.abs(),
            rounding: SIDE_ROUNDING / entry.abs(),
        }
    }

    /// The bound `value` of a row whose side includes its tolerance.
    fn plain(value: f64, upper: bool) -> Derived {
        Derived {
            value,
            upper,
            tolerance: 0.0,
            rounding: 0.0,
        }
    }
}

impl Domain {
    /// Propagates until no bound moves or the limit of ticks is reached. Returns whether the domain
    /// is still feasible.
    pub fn propagate(&mut self, p: &Problem) -> bool {
        let limit = self.ticks + 30 * (p.rows.index.len() as u64 + 1000);
        let mut head = 0;
        loop {
            while head < self.queue.len() && !self.infeasible && self.ticks <= limit {
                let i = self.queue[head] as usize;
                head += 1;
                self.queued[i] = false;
                self.propagate_row(p, i);
                if head > 4096 && head * 2 > self.queue.len() {
                    self.queue.drain(..head);
                    head = 0;
                }
            }
            if self.infeasible || self.ticks > limit {
                break;
            }
            // The objective is last: it may be the longest row, and most rows affect it.
            if std::mem::take(&mut self.objective_due) && self.cutoff.is_finite() {
                self.propagate_objective(p);
            } else if !self.propagate_clauses(p) {
                break;
            }
        }
        self.queue.drain(..head.min(self.queue.len()));
        self.clear_queue();
        !self.infeasible
    }

    /// Checks clauses against the changes since the last call. Returns whether a bound changed.
    fn propagate_clauses(&mut self, p: &Problem) -> bool {
        if self.clauses.is_empty() {
            return false;
        }
        let start = self.trail.len();
        for id in std::mem::take(&mut self.pending) {
            let says = self.clauses.look(id, &self.lower, &self.upper);
            self.obey(p, id, says);
            if self.infeasible {
                return true;
            }
        }
        while self.seen < self.trail.len() {
            let c = self.trail[self.seen];
            self.seen += 1;
            for id in self.clauses.watchers(c.col as usize, c.upper) {
                self.ticks += 5;
                let says = self.clauses.look(id, &self.lower, &self.upper);
                self.obey(p, id, says);
                if self.infeasible {
                    return true;
                }
            }
        }
        self.trail.len() > start
    }

    fn propagate_row(&mut self, p: &Problem, i: usize) {
        let sides = (p.row_lower[i], p.row_upper[i]);
        self.propagate_entries(p, i, p.rows.vector(i), sides, p.exact[i]);
    }

    /// Propagates a row of the problem, or the objective, with its number for reasons.
    pub(super) fn propagate_entries(
        &mut self,
        p: &Problem,
        i: usize,
        (index, value): (&[u32], &[f64]),
        (row_l, row_u): (f64, f64),
        exact: bool,
    ) {
        self.ticks += 2 * index.len() as u64 + 1;
        // Finite parts and numbers of infinite contributions of the least and the largest activity.
        let (mut min, mut max, mut min_inf, mut max_inf) = (0.0, 0.0, 0u32, 0u32);
        let finite = |side: f64| if side.is_finite() { side.abs() } else { 0.0 };
        let (mut min_size, mut max_size) = (finite(row_u), finite(row_l));
        for (&j, &a) in index.iter().zip(value) {
            let (l, u) = (self.lower[j as usize], self.upper[j as usize]);
            let (low, high) = if a > 0.0 {
                (a * l, a * u)
            } else {
                (a * u, a * l)
            };
            if low.is_finite() {
                min += low;
                min_size = min_size.max(low.abs());
            } else {
                min_inf += 1;
            }
            if high.is_finite() {
                max += high;
                max_size = max_size.max(high.abs());
            } else {
                max_inf += 1;
            }
        }
        // Summation error of the activities, which derived bounds must exceed.
        let rounding = 1e-13 * index.len() as f64;
        let (min_noise, max_noise) = (rounding * min_size, rounding * max_size);
        let tol = |side: f64, noise: f64| {
            if exact {
                noise
            } else {
                contradiction(side) + noise
            }
        };
        let over = min_inf == 0 && min > row_u + tol(row_u, min_noise);
        if over || (max_inf == 0 && max < row_l - tol(row_l, max_noise)) {
            self.infeasible = true;
            self.conflict = Some(Contradiction {
                reason: Reason::Row {
                    row: i as u32,
                    least: over,
                },
                bound: None,
            });
            return;
        }
        // The side from the cutoff has no tolerance, since only better points matter.
        let is_row = i < p.num_rows();
        let derived = |value: f64, upper: bool, side: f64, a: f64| match (exact, is_row) {
            (true, _) => Derived::exact(value, upper),
            (false, true) => Derived::loose(value, upper, contradiction(side), a),
            (false, false) => Derived::plain(value, upper),
        };
        let need_upper = row_u.is_finite()
            && min_inf <= 1
            && (max_inf > 0 || max > row_u + 1e-9 * row_u.abs().max(1.0));
        let need_lower = row_l.is_finite()
            && max_inf <= 1
            && (min_inf > 0 || min < row_l - 1e-9 * row_l.abs().max(1.0));
        if !need_upper && !need_lower {
            return;
        }
        for (&j, &a) in index.iter().zip(value) {
            let j = j as usize;
            // Uses the bounds from before this loop, even if it has tightened some: they are
            // weaker, but valid.
            let (l, u) = (self.lower[j], self.upper[j]);
            if l == u {
                continue;
            }
            let (low, high) = if a > 0.0 {
                (a * l, a * u)
            } else {
                (a * u, a * l)
            };
            if need_upper && (min_inf == 0 || !low.is_finite()) {
                let rest = if low.is_finite() { min - low } else { min };
                self.reason = Reason::Row {
                    row: i as u32,
                    least: true,
                };
                let value = derived((row_u - rest + min_noise) / a, a > 0.0, row_u, a);
                self.derive(p, j, value, (l, u));
                self.reason = Reason::None;
            }
            if self.infeasible {
                return;
            }
            if need_lower && (max_inf == 0 || !high.is_finite()) {
                let rest = if high.is_finite() { max - high } else { max };
                self.reason = Reason::Row {
                    row: i as u32,
                    least: false,
                };
                let value = derived((row_l - rest - max_noise) / a, a < 0.0, row_l, a);
                self.derive(p, j, value, (l, u));
                self.reason = Reason::None;
            }
            if self.infeasible {
                return;
            }
        }
    }

    /// Propagates a row `entries . x <= rhs` outside the problem. Returns whether a bound changed.
    pub fn propagate_extra(&mut self, p: &Problem, entries: &[(u32, f64)], rhs: f64) -> bool {
        self.ticks += entries.len() as u64 + 1;
        let (mut min, mut infinite, mut size) = (0.0, 0u32, 0.0f64);
        for &(j, a) in entries {
            let j = j as usize;
            let low = if a > 0.0 {
                a * self.lower[j]
            } else {
                a * self.upper[j]
            };
            if low.is_finite() {
                min += low;
                size = size.max(low.abs());
            } else {
                infinite += 1;
            }
        }
        let noise = 1e-13 * size * entries.len() as f64;
        if infinite == 0 && min > rhs + 1e-6 * rhs.abs().max(1.0) + noise {
            self.infeasible = true;
            self.conflict = None;
            return true;
        }
        if infinite > 1 {
            return false;
        }
        let mark = self.mark();
        for &(j, a) in entries {
            let j = j as usize;
            let (l, u) = (self.lower[j], self.upper[j]);
            let low = if a > 0.0 { a * l } else { a * u };
            if l == u || (infinite == 1 && low.is_finite()) {
                continue;
            }
            let rest = if low.is_finite() { min - low } else { min };
            let value = Derived::plain((rhs - rest + noise) / a, a > 0.0);
            self.derive(p, j, value, (l, u));
            if self.infeasible {
                return true;
            }
        }
        self.mark() > mark
    }

    /// Applies a bound implied by a row. Continuous columns take only large improvements, with a
    /// margin.
    fn derive(&mut self, p: &Problem, j: usize, derived: Derived, (l, u): (f64, f64)) {
        let Derived { value, upper, .. } = derived;
        if !value.is_finite() {
            return;
        }
        if p.integer[j] {
            if value.abs() > 1e12 {
                return;
            }
            // Integer bounds have a separate tolerance.
            let more = (derived.tolerance - INTEGER_TOLERANCE).max(0.0);
            if upper {
                self.tighten_upper(p, j, value + more);
            } else {
                self.tighten_lower(p, j, value - more);
            }
            return;
        }
        if value.abs() > LARGE {
            return;
        }
        let margin = (1e-7 * value.abs().max(1.0)).max(derived.rounding);
        let worth = |domain: &Domain, old: f64| domain.is_worth(j, upper, (old, value), u - l);
        // A bound equal to the opposite one needs no margin, because rounding is included. A
        // crossing by less than the row's tolerance is no contradiction.
        let meets =
            |other: f64| (value - other).abs() <= contradiction(other).max(derived.tolerance);
        if upper && value <= l && meets(l) {
            self.tighten_upper(p, j, l);
        } else if !upper && value >= u && meets(u) {
            self.tighten_lower(p, j, u);
        } else if upper {
            if value + margin < u && worth(self, u) {
                self.tighten_upper(p, j, value + margin);
            }
        } else if value - margin > l && worth(self, l) {
            self.tighten_lower(p, j, value - margin);
        }
    }

    /// Returns whether a continuous column's new bound is worth its consequences. The range may be
    /// a modeller's placeholder for infinity, so the first gains are compared with the bound.
    fn is_worth(&self, j: usize, upper: bool, (old, new): (f64, f64), range: f64) -> bool {
        let gain = (new - old).abs();
        if !gain.is_finite() {
            return true;
        }
        // Without a finite opposite bound, a bound is compared with itself.
        let least = if range.is_finite() {
            0.02 * range.min(1e6) + 1e-4
        } else {
            1e-3 * new.abs().max(0.1)
        };
        let is_placeholder =
            self.takes_small_gains && range >= PLACEHOLDER_RATIO * old.abs().max(new.abs());
        gain > least
            || (is_placeholder
                && gain > LEAST_SHARE * old.abs().max(LEAST_BOUND)
                && self.changes(j, upper) < FREE_CHANGES)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use remat_lp::{ModelBuilder, Sense};

    fn knapsack() -> Problem {
        let mut b = ModelBuilder::new(Sense::Minimise);
        let c: Vec<_> = (0..3)
            .map(|_| {
                let c = b.add_col(1.0, 0.0..=1.0);
                b.set_integer(c, true);
                c
            })
            .collect();
        b.add_row(..=5.0, [(c[0], 4.0), (c[1], 3.0), (c[2], 2.0)]);
        b.add_row(1.0.., [(c[1], 1.0), (c[2], 1.0)]);
        Problem::from_model(&b.build().unwrap())
    }

    #[test]
    fn fixing_one_item_excludes_the_others_and_undo_restores() {
        let p = knapsack();
        let mut d = Domain::new(&p);
        let mark = d.mark();
        d.fix(&p, 0, 1.0);
        // No other item fits beside item 0, but one of them is required.
        assert!(!d.propagate(&p));
        d.undo(&p, mark);
        assert_eq!(
            (d.lower.clone(), d.upper.clone()),
            (vec![0.0; 3], vec![1.0; 3])
        );
        d.fix(&p, 1, 0.0);
        assert!(d.propagate(&p));
        assert_eq!(d.lower, vec![0.0, 0.0, 1.0]);
        assert_eq!(d.upper[0], 0.0);
    }

    #[test]
    fn continuous_columns_without_room_are_fixed() {
        // 3 x + y <= 7 z, and w is 0.3 x: with z at 0 all three are exactly 0.
        let mut b = ModelBuilder::new(Sense::Minimise);
        let z = b.add_col(1.0, 0.0..=1.0);
        b.set_integer(z, true);
        let [x, y, w] = [10.0, 20.0, 1e6].map(|u| b.add_col(-1.0, 0.0..=u));
        b.add_row(..=0.0, [(x, 3.0), (y, 1.0), (z, -7.0)]);
        b.add_row(0.0..=0.0, [(w, 1.0), (x, -0.3)]);
        let p = Problem::from_model(&b.build().unwrap());
        let mut d = Domain::new(&p);
        d.enqueue_all(&p);
        assert!(d.propagate(&p));
        assert!(d.upper[y.index()] >= 7.0);
        d.fix(&p, z.index(), 0.0);
        assert!(d.propagate(&p));
        assert_eq!(d.upper, vec![0.0; 4]);
    }

    #[test]
    fn one_infinite_column_gets_its_bound() {
        let mut b = ModelBuilder::new(Sense::Minimise);
        let x = b.add_col(1.0, 0.0..);
        let y = b.add_col(1.0, 0.0..=4.0);
        b.set_integer(x, true);
        b.add_row(..=10.5, [(x, 2.0), (y, 1.0)]);
        let p = Problem::from_model(&b.build().unwrap());
        let mut d = Domain::new(&p);
        d.enqueue_all(&p);
        assert!(d.propagate(&p));
        assert_eq!(d.upper[0], 5.0);
    }
}
