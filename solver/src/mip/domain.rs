//! Bounds of the columns at one place of the tree, and their propagation through the rows.
//!
//! Activity based (Savelsbergh 1994; Achterberg 2007, section 7.1): a row whose least activity leaves little room
//! tightens its columns. Rows wait in a queue until a bound of theirs changes; every change is on a trail, so that
//! probing, strong branching and dives can go back.

use crate::mip::clauses::Clause;
use crate::mip::clauses::watch::{Says, Watched};
use crate::mip::problem::{Problem, ceil_tol, floor_tol};
use std::sync::Arc;

/// No position on the trail.
pub(crate) const NONE: u32 = u32::MAX;

/// What a bound follows from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Reason {
    /// A branching, or something that cannot be taken apart.
    None,
    /// A row of the problem; `least`: its least activity leaves no more room, else its largest does.
    Row { row: u32, least: bool },
    /// A clause of this domain.
    Clause(u32),
}

/// One change of a bound, with what it was and why it changed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Change {
    pub col: u32,
    pub upper: bool,
    pub old: f64,
    pub new: f64,
    pub reason: Reason,
    /// The change of the same bound before this one, or [`NONE`].
    pub previous: u32,
}

/// Why a domain is infeasible.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Contradiction {
    pub reason: Reason,
    /// Column and side of the bound that would have crossed the opposite one; `None` if the row or clause cannot be
    /// met at all.
    pub bound: Option<(u32, bool)>,
}

/// A bound to be imposed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct BoundChange {
    pub col: u32,
    pub upper: bool,
    pub value: f64,
}

#[derive(Clone, Debug)]
pub(crate) struct Domain {
    pub lower: Vec<f64>,
    pub upper: Vec<f64>,
    pub infeasible: bool,
    pub trail: Vec<Change>,
    pub ticks: u64,
    /// What made it infeasible, where that is known.
    pub conflict: Option<Contradiction>,
    pub clauses: Watched,
    /// Changes that the clauses have seen, and clauses that have to be looked at.
    seen: usize,
    pending: Vec<u32>,
    /// Reason of what is being derived.
    reason: Reason,
    /// The last change of each lower and each upper bound.
    last: [Vec<u32>; 2],
    /// Positions at which branchings begin.
    levels: Vec<u32>,
    queue: Vec<u32>,
    queued: Vec<bool>,
}

/// Bounds derived for continuous columns beyond this are not worth having.
const LARGE: f64 = 1e8;

impl Domain {
    pub fn new(p: &Problem) -> Domain {
        Domain {
            lower: p.lower.clone(),
            upper: p.upper.clone(),
            infeasible: false,
            trail: Vec::new(),
            ticks: 0,
            conflict: None,
            clauses: Watched::default(),
            seen: 0,
            pending: Vec::new(),
            reason: Reason::None,
            last: [vec![NONE; p.num_cols()], vec![NONE; p.num_cols()]],
            levels: Vec::new(),
            queue: Vec::new(),
            queued: vec![false; p.num_rows()],
        }
    }

    /// Forgets everything and takes over bounds.
    pub fn reset(&mut self, lower: &[f64], upper: &[f64]) {
        self.lower.copy_from_slice(lower);
        self.upper.copy_from_slice(upper);
        self.infeasible = false;
        self.conflict = None;
        for c in &self.trail {
            self.last[usize::from(c.upper)][c.col as usize] = NONE;
        }
        self.trail.clear();
        self.levels.clear();
        self.seen = 0;
        self.clear_queue();
    }

    /// What follows is a branching and what comes of it.
    pub fn begin_level(&mut self) {
        self.levels.push(self.trail.len() as u32);
    }

    /// Where the last branching begins.
    pub fn last_level(&self) -> u32 {
        self.levels.last().copied().unwrap_or(0)
    }

    /// The last change of a bound before a position, or [`NONE`].
    pub fn last_before(&self, j: usize, upper: bool, time: u32) -> u32 {
        let mut at = self.last[usize::from(upper)][j];
        while at != NONE && at >= time {
            at = self.trail[at as usize].previous;
        }
        at
    }

    /// A bound as it was just before a position.
    pub fn value_before(&self, j: usize, upper: bool, time: u32) -> f64 {
        let mut at = self.last[usize::from(upper)][j];
        let mut value = if upper { self.upper[j] } else { self.lower[j] };
        while at != NONE && at >= time {
            value = self.trail[at as usize].old;
            at = self.trail[at as usize].previous;
        }
        value
    }

    /// Takes clauses for propagation instead of those it had, after a reset.
    pub fn set_clauses(&mut self, p: &Problem, clauses: impl Iterator<Item = Arc<Clause>>) {
        self.clauses.clear();
        self.pending.clear();
        for c in clauses {
            let id = self.clauses.clauses.len() as u32;
            self.ticks += c.literals.len() as u64;
            let says = self.clauses.add(c, &self.lower, &self.upper);
            self.obey(p, id, says);
        }
    }

    /// One clause more, here or anywhere.
    pub fn add_clause(&mut self, clause: Arc<Clause>) {
        self.pending.push(self.clauses.clauses.len() as u32);
        self.clauses.add(clause, &self.lower, &self.upper);
    }

    fn obey(&mut self, p: &Problem, id: u32, says: Says) {
        match says {
            Says::Nothing => {}
            Says::Conflict => {
                self.clauses.used[id as usize] = true;
                self.infeasible = true;
                self.conflict = Some(Contradiction {
                    reason: Reason::Clause(id),
                    bound: None,
                });
            }
            Says::Not(l) => {
                self.clauses.used[id as usize] = true;
                self.reason = Reason::Clause(id);
                if l.upper {
                    self.tighten_lower(p, l.col as usize, l.value + 1.0);
                } else {
                    self.tighten_upper(p, l.col as usize, l.value - 1.0);
                }
                self.reason = Reason::None;
            }
        }
    }

    /// Lets the clauses look at the changes since they looked last; whether anything changed.
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

    fn clear_queue(&mut self) {
        for &i in &self.queue {
            self.queued[i as usize] = false;
        }
        self.queue.clear();
    }

    pub fn mark(&self) -> usize {
        self.trail.len()
    }

    /// Goes back to a mark.
    pub fn undo(&mut self, mark: usize) {
        while self.trail.len() > mark {
            let Some(c) = self.trail.pop() else { break };
            let side = if c.upper {
                &mut self.upper
            } else {
                &mut self.lower
            };
            side[c.col as usize] = c.old;
            self.last[usize::from(c.upper)][c.col as usize] = c.previous;
        }
        while self.levels.last().is_some_and(|&l| l as usize >= mark) {
            self.levels.pop();
        }
        self.seen = self.seen.min(mark);
        self.conflict = None;
        self.infeasible = false;
        self.clear_queue();
    }

    pub fn is_fixed(&self, j: usize) -> bool {
        self.lower[j] == self.upper[j]
    }

    pub fn enqueue_all(&mut self, p: &Problem) {
        for i in 0..p.num_rows() {
            self.enqueue(i);
        }
    }

    fn enqueue(&mut self, i: usize) {
        if !self.queued[i] {
            self.queued[i] = true;
            self.queue.push(i as u32);
        }
    }

    fn touch(&mut self, p: &Problem, j: usize) {
        for &i in p.cols.vector(j).0 {
            self.enqueue(i as usize);
        }
        self.ticks += p.cols.len(j) as u64;
    }

    fn record(&mut self, j: usize, upper: bool, old: f64, new: f64) {
        let last = &mut self.last[usize::from(upper)][j];
        self.trail.push(Change {
            col: j as u32,
            upper,
            old,
            new,
            reason: self.reason,
            previous: *last,
        });
        *last = (self.trail.len() - 1) as u32;
    }

    /// A bound that would cross the opposite one.
    fn cross(&mut self, j: usize, upper: bool) {
        self.infeasible = true;
        self.conflict = Some(Contradiction {
            reason: self.reason,
            bound: Some((j as u32, upper)),
        });
    }

    /// Imposes a bound; whether it changed anything. Crossing bounds make the domain infeasible.
    pub fn tighten(&mut self, p: &Problem, c: BoundChange) -> bool {
        if c.upper {
            self.tighten_upper(p, c.col as usize, c.value)
        } else {
            self.tighten_lower(p, c.col as usize, c.value)
        }
    }

    pub fn tighten_lower(&mut self, p: &Problem, j: usize, value: f64) -> bool {
        let value = if p.integer[j] { ceil_tol(value) } else { value };
        let (l, u) = (self.lower[j], self.upper[j]);
        if value <= l || value.is_nan() {
            return false;
        }
        let value = if value > u {
            if p.integer[j] || value > u + 1e-6 * u.abs().max(1.0) {
                self.cross(j, false);
                return true;
            }
            u
        } else {
            value
        };
        if value == l {
            return false;
        }
        self.record(j, false, l, value);
        self.lower[j] = value;
        self.touch(p, j);
        true
    }

    pub fn tighten_upper(&mut self, p: &Problem, j: usize, value: f64) -> bool {
        let value = if p.integer[j] {
            floor_tol(value)
        } else {
            value
        };
        let (l, u) = (self.lower[j], self.upper[j]);
        if value >= u || value.is_nan() {
            return false;
        }
        let value = if value < l {
            if p.integer[j] || value < l - 1e-6 * l.abs().max(1.0) {
                self.cross(j, true);
                return true;
            }
            l
        } else {
            value
        };
        if value == u {
            return false;
        }
        self.record(j, true, u, value);
        self.upper[j] = value;
        self.touch(p, j);
        true
    }

    pub fn fix(&mut self, p: &Problem, j: usize, value: f64) {
        self.tighten_lower(p, j, value);
        if !self.infeasible {
            self.tighten_upper(p, j, value);
        }
    }

    /// Propagates until nothing moves or the work allowed is done; whether the domain is still feasible.
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
            if self.infeasible || self.ticks > limit || !self.propagate_clauses(p) {
                break;
            }
        }
        self.queue.drain(..head.min(self.queue.len()));
        self.clear_queue();
        !self.infeasible
    }

    fn propagate_row(&mut self, p: &Problem, i: usize) {
        let (index, value) = p.rows.vector(i);
        self.ticks += 2 * index.len() as u64 + 1;
        // Finite parts and numbers of infinite contributions of the least and the largest activity.
        let (mut min, mut max, mut min_inf, mut max_inf, mut size) = (0.0, 0.0, 0u32, 0u32, 0.0f64);
        for (&j, &a) in index.iter().zip(value) {
            let (l, u) = (self.lower[j as usize], self.upper[j as usize]);
            let (low, high) = if a > 0.0 {
                (a * l, a * u)
            } else {
                (a * u, a * l)
            };
            if low.is_finite() {
                min += low;
                size = size.max(low.abs());
            } else {
                min_inf += 1;
            }
            if high.is_finite() {
                max += high;
                size = size.max(high.abs());
            } else {
                max_inf += 1;
            }
        }
        let (row_l, row_u) = (p.row_lower[i], p.row_upper[i]);
        // Summation error of the activities; what is derived has to be worse than that.
        let noise = 1e-13 * size * index.len() as f64;
        let tol = |side: f64| 1e-6 * side.abs().max(1.0) + noise;
        let over = min_inf == 0 && min > row_u + tol(row_u);
        if over || (max_inf == 0 && max < row_l - tol(row_l)) {
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
            // Bounds of the row's start are used even if this loop has tightened some: weaker, never wrong.
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
                self.derive(p, j, (row_u - rest + noise) / a, a > 0.0, (l, u));
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
                self.derive(p, j, (row_l - rest - noise) / a, a < 0.0, (l, u));
                self.reason = Reason::None;
            }
            if self.infeasible {
                return;
            }
        }
    }

    /// Propagates a row `entries . x <= rhs` that is not of the problem; whether it changed anything.
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
            self.derive(p, j, (rhs - rest + noise) / a, a > 0.0, (l, u));
            if self.infeasible {
                return true;
            }
        }
        self.mark() > mark
    }

    /// A bound that follows from a row. Continuous columns take it only if it is worth it, with a margin.
    fn derive(&mut self, p: &Problem, j: usize, value: f64, upper: bool, (l, u): (f64, f64)) {
        if !value.is_finite() {
            return;
        }
        if p.integer[j] {
            if value.abs() > 1e12 {
                return;
            }
            if upper {
                self.tighten_upper(p, j, value);
            } else {
                self.tighten_lower(p, j, value);
            }
            return;
        }
        if value.abs() > LARGE {
            return;
        }
        let margin = 1e-7 * value.abs().max(1.0);
        let range = if (u - l).is_finite() {
            u - l
        } else {
            f64::INFINITY
        };
        let worth = |gain: f64| !gain.is_finite() || gain > 0.02 * range.min(1e6) + 1e-4;
        if upper {
            if value + margin < u && worth(u - value) {
                self.tighten_upper(p, j, value + margin);
            }
        } else if value - margin > l && worth(value - l) {
            self.tighten_lower(p, j, value - margin);
        }
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
        // Nothing else fits beside item 0, but one of the others is needed.
        assert!(!d.propagate(&p));
        d.undo(mark);
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
