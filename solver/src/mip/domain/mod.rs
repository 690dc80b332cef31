//! Bounds of the columns at one place of the tree. Every change is recorded on a trail, so that
//! probing, strong branching and dives can undo it. Rows wait in a queue after a change of their
//! bounds (`propagation`).

mod activity;
pub(crate) mod clauses;
mod objective;
mod propagation;

use crate::mip::domain::clauses::Clause;
use crate::mip::domain::clauses::watch::{Says, Watched};
use crate::mip::problem::{Problem, ceil_tol, contradiction, floor_tol};
use activity::Activities;
use objective::ObjectiveRow;
use std::sync::Arc;

/// No position on the trail.
pub(crate) const NONE: u32 = u32::MAX;

/// Reason for a bound.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Reason {
    /// A branching, or a source without further reasons.
    None,
    /// A row of the problem, or the objective as the row after the last. The cause is its least
    /// activity if `least`, else its largest one.
    Row { row: u32, least: bool },
    /// A clause of this domain.
    Clause(u32),
}

/// One change of a bound, with its old value and its reason.
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

/// Reason why a domain is infeasible.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Contradiction {
    pub reason: Reason,
    /// Column and side of the bound that would have crossed the opposite one. `None` if the row or
    /// clause is infeasible without such a bound.
    pub bound: Option<(u32, bool)>,
}

/// A bound to apply.
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
    /// Contradiction that made it infeasible, if it is known.
    pub conflict: Option<Contradiction>,
    pub clauses: Watched,
    activities: Activities,
    objective: Arc<ObjectiveRow>,
    /// Limit on the objective of useful points.
    cutoff: f64,
    /// True if a bound of a column with a cost has changed since the last propagation of the
    /// objective.
    objective_due: bool,
    /// Number of changes processed by the clauses, and clauses to check.
    seen: usize,
    pending: Vec<u32>,
    /// Reason of the bounds being derived.
    reason: Reason,
    /// True if small gains of bounds count where a range only stands for infinity.
    pub takes_small_gains: bool,
    /// The last change of each lower and each upper bound.
    last: [Vec<u32>; 2],
    /// Positions of branchings.
    levels: Vec<u32>,
    queue: Vec<u32>,
    queued: Vec<bool>,
}

/// Adds a row to the queue, unless it is there already.
fn enqueue(queue: &mut Vec<u32>, queued: &mut [bool], i: usize) {
    if !std::mem::replace(&mut queued[i], true) {
        queue.push(i as u32);
    }
}

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
            activities: Activities::new(p, &p.lower, &p.upper),
            objective: Arc::new(ObjectiveRow::new(p)),
            cutoff: f64::INFINITY,
            objective_due: false,
            seen: 0,
            pending: Vec::new(),
            reason: Reason::None,
            takes_small_gains: false,
            last: [vec![NONE; p.num_cols()], vec![NONE; p.num_cols()]],
            levels: Vec::new(),
            queue: Vec::new(),
            queued: vec![false; p.num_rows()],
        }
    }

    /// Discards the trail and loads bounds.
    pub fn reset(&mut self, p: &Problem, lower: &[f64], upper: &[f64]) {
        let sides = [
            (false, &mut self.lower, lower),
            (true, &mut self.upper, upper),
        ];
        for (is_upper, side, new) in sides {
            for (j, (v, &to)) in side.iter_mut().zip(new).enumerate() {
                if *v != to {
                    self.activities.revert(p, j, is_upper, (*v, to));
                    *v = to;
                }
            }
        }
        if self.activities.have_drifted() {
            self.activities = Activities::new(p, &self.lower, &self.upper);
        }
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

    /// Marks the position of a branching; its consequences follow.
    pub fn begin_level(&mut self) {
        self.levels.push(self.trail.len() as u32);
    }

    /// Position of the last branching.
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

    /// Number of changes of a bound on the trail.
    fn changes(&self, j: usize, upper: bool) -> usize {
        let mut at = self.last[usize::from(upper)][j];
        let mut count = 0;
        while at != NONE {
            count += 1;
            at = self.trail[at as usize].previous;
        }
        count
    }

    /// Value of a bound immediately before a position.
    pub fn value_before(&self, j: usize, upper: bool, time: u32) -> f64 {
        let mut at = self.last[usize::from(upper)][j];
        let mut value = if upper { self.upper[j] } else { self.lower[j] };
        while at != NONE && at >= time {
            value = self.trail[at as usize].old;
            at = self.trail[at as usize].previous;
        }
        value
    }

    /// Replaces the clauses for propagation, after a reset.
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

    /// Adds a clause at any time.
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

    /// Returns whether the lower or the upper side of a row holds for all points within the bounds.
    pub fn always_meets(&mut self, p: &Problem, i: usize, lower: bool) -> bool {
        self.activities.settle(p, i, lower).unwrap_or_else(|| {
            let (index, value) = p.rows.vector(i);
            self.ticks += index.len() as u64;
            let sum: f64 = (index.iter().zip(value))
                .map(|(&j, &a)| {
                    let j = j as usize;
                    a * if (a > 0.0) == lower {
                        self.lower[j]
                    } else {
                        self.upper[j]
                    }
                })
                .sum();
            if lower {
                sum >= p.row_lower[i]
            } else {
                sum <= p.row_upper[i]
            }
        })
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

    /// Undoes changes back to a mark.
    pub fn undo(&mut self, p: &Problem, mark: usize) {
        while self.trail.len() > mark {
            let Some(c) = self.trail.pop() else { break };
            let side = if c.upper {
                &mut self.upper
            } else {
                &mut self.lower
            };
            side[c.col as usize] = c.old;
            let moved = (c.new, c.old);
            self.activities.revert(p, c.col as usize, c.upper, moved);
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
            enqueue(&mut self.queue, &mut self.queued, i);
        }
    }

    /// Queues the rows that a moved bound may make propagate.
    fn touch(&mut self, p: &Problem, j: usize, upper: bool, moved: (f64, f64)) {
        let (queue, queued) = (&mut self.queue, &mut self.queued);
        self.activities
            .change(p, j, upper, moved, |i| enqueue(queue, queued, i));
        self.ticks += p.cols.len(j) as u64;
        self.objective_due |= p.cost[j] != 0.0;
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

    /// Notes a contradiction by a bound that would cross the opposite one.
    fn cross(&mut self, j: usize, upper: bool) {
        self.infeasible = true;
        self.conflict = Some(Contradiction {
            reason: self.reason,
            bound: Some((j as u32, upper)),
        });
    }

    /// Closes the domain without a known reason.
    pub fn close(&mut self) {
        self.infeasible = true;
        self.conflict = None;
    }

    /// Applies a bound. Returns whether it changed. Crossing bounds make the domain infeasible.
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
            if p.integer[j] || value > u + contradiction(u) {
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
        self.touch(p, j, false, (l, value));
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
            if p.integer[j] || value < l - contradiction(l) {
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
        self.touch(p, j, true, (u, value));
        true
    }

    pub fn fix(&mut self, p: &Problem, j: usize, value: f64) {
        self.tighten_lower(p, j, value);
        if !self.infeasible {
            self.tighten_upper(p, j, value);
        }
    }
}
