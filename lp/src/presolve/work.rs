//! The program during presolve: minimised, with rows and columns that can be removed, and queues of
//! changed ones.

use super::stack::{ReductionRecord, Stack};
use crate::model::{CONTRADICTION, Model};
use std::collections::VecDeque;

/// Reason for an early end of presolve.
pub(super) enum Stop {
    /// These multipliers of the remaining rows prove that no point is feasible.
    Infeasible(Vec<(usize, f64)>),
    /// A column improves the objective without limit if any point is feasible.
    DualInfeasible,
}

/// Entries of a row or column: (index of the other dimension, coefficient).
pub(super) type Entries = Vec<(u32, f64)>;

/// The range of a row's activity over the columns' bounds.
#[derive(Clone, Copy, Default)]
pub(super) struct Activity {
    min: f64,
    min_infinite: u32,
    max: f64,
    max_infinite: u32,
    /// Sum of the magnitudes of the finite terms.
    size: f64,
    /// True if the range has been updated since it was summed, so that rounding errors have
    /// accumulated.
    updated: bool,
}

impl Activity {
    fn add(&mut self, a: f64, l: f64, u: f64) {
        let (low, high) = if a > 0.0 {
            (a * l, a * u)
        } else {
            (a * u, a * l)
        };
        if low.is_finite() {
            self.min += low;
            self.size += low.abs();
        } else {
            self.min_infinite += 1;
        }
        if high.is_finite() {
            self.max += high;
            self.size += high.abs();
        } else {
            self.max_infinite += 1;
        }
    }

    fn remove(&mut self, a: f64, l: f64, u: f64) {
        let (low, high) = if a > 0.0 {
            (a * l, a * u)
        } else {
            (a * u, a * l)
        };
        if low.is_finite() {
            self.min -= low;
        } else {
            self.min_infinite -= 1;
        }
        if high.is_finite() {
            self.max -= high;
        } else {
            self.max_infinite -= 1;
        }
        self.updated = true;
    }

    pub fn min(&self) -> f64 {
        if self.min_infinite > 0 {
            f64::NEG_INFINITY
        } else {
            self.min
        }
    }

    pub fn max(&self) -> f64 {
        if self.max_infinite > 0 {
            f64::INFINITY
        } else {
            self.max
        }
    }

    /// The range without one of the entries, widened by possible rounding errors.
    pub fn without(&self, a: f64, l: f64, u: f64) -> (f64, f64) {
        let (low, high) = if a > 0.0 {
            (a * l, a * u)
        } else {
            (a * u, a * l)
        };
        let slop = 1e-14 * self.size;
        let min = match (low.is_finite(), self.min_infinite) {
            (true, 0) => self.min - low - slop,
            (false, 1) => self.min - slop,
            _ => f64::NEG_INFINITY,
        };
        let max = match (high.is_finite(), self.max_infinite) {
            (true, 0) => self.max - high + slop,
            (false, 1) => self.max + slop,
            _ => f64::INFINITY,
        };
        (min, max)
    }
}

/// A queue that holds each item at most once.
struct UniqueQueue {
    queue: VecDeque<u32>,
    member: Vec<bool>,
}

impl UniqueQueue {
    fn full(len: usize) -> Self {
        UniqueQueue {
            queue: (0..len as u32).collect(),
            member: vec![true; len],
        }
    }

    fn push(&mut self, k: usize) {
        if !self.member[k] {
            self.member[k] = true;
            self.queue.push_back(k as u32);
        }
    }

    fn pop(&mut self) -> Option<usize> {
        let k = self.queue.pop_front()? as usize;
        self.member[k] = false;
        Some(k)
    }
}

/// The program being reduced.
pub(super) struct WorkingModel {
    pub cost: Vec<f64>,
    pub offset: f64,
    pub lower: Vec<f64>,
    pub upper: Vec<f64>,
    pub row_lower: Vec<f64>,
    pub row_upper: Vec<f64>,
    /// Largest magnitude that has entered a row's bounds; their rounding errors are relative to it.
    row_scale: Vec<f64>,
    rows: Vec<Entries>,
    cols: Vec<Entries>,
    row_alive: Vec<bool>,
    col_alive: Vec<bool>,
    row_len: Vec<u32>,
    col_len: Vec<u32>,
    activity: Vec<Option<Activity>>,
    row_queue: UniqueQueue,
    col_queue: UniqueQueue,
    pub stack: Stack,
    /// Entries visited so far.
    pub effort: u64,
    /// Rows and columns removed so far.
    pub removed: usize,
}

impl WorkingModel {
    pub fn new(model: &Model) -> WorkingModel {
        let (m, n) = (model.num_rows(), model.num_cols());
        let sign = model.sense.sign();
        let entries = |(index, value): (&[u32], &[f64])| -> Entries {
            index.iter().copied().zip(value.iter().copied()).collect()
        };
        let rows: Vec<Entries> = (0..m).map(|i| entries(model.row_slices(i))).collect();
        let cols: Vec<Entries> = (0..n).map(|j| entries(model.col_slices(j))).collect();
        let scale = |i: usize| {
            [model.row_lower[i], model.row_upper[i]]
                .iter()
                .filter(|v| v.is_finite())
                .fold(1.0f64, |a, v| a.max(v.abs()))
        };
        WorkingModel {
            cost: model.cost.iter().map(|c| sign * c).collect(),
            offset: sign * model.offset,
            lower: model.col_lower.clone(),
            upper: model.col_upper.clone(),
            row_lower: model.row_lower.clone(),
            row_upper: model.row_upper.clone(),
            row_scale: (0..m).map(scale).collect(),
            row_len: rows.iter().map(|r| r.len() as u32).collect(),
            col_len: cols.iter().map(|c| c.len() as u32).collect(),
            rows,
            cols,
            row_alive: vec![true; m],
            col_alive: vec![true; n],
            activity: vec![None; m],
            row_queue: UniqueQueue::full(m),
            col_queue: UniqueQueue::full(n),
            stack: Vec::new(),
            effort: 0,
            removed: 0,
        }
    }

    pub fn num_rows(&self) -> usize {
        self.row_alive.len()
    }

    pub fn num_cols(&self) -> usize {
        self.col_alive.len()
    }

    pub fn row_is_alive(&self, i: usize) -> bool {
        self.row_alive[i]
    }

    pub fn col_is_alive(&self, j: usize) -> bool {
        self.col_alive[j]
    }

    pub fn row_len(&self, i: usize) -> usize {
        self.row_len[i] as usize
    }

    pub fn col_len(&self, j: usize) -> usize {
        self.col_len[j] as usize
    }

    pub fn row_is_equation(&self, i: usize) -> bool {
        self.row_lower[i] == self.row_upper[i]
    }

    /// Largest violation of a row that counts as satisfied: the solver's tolerance plus the
    /// rounding of the row's bounds.
    pub fn row_tolerance(&self, i: usize) -> f64 {
        1e-9 + 1e-13 * self.row_scale[i]
    }

    /// Violations beyond this prove infeasibility; smaller ones are left to the solver's tolerance.
    pub fn row_impossible(&self, i: usize) -> f64 {
        CONTRADICTION + 1e-11 * self.row_scale[i]
    }

    pub fn next_row(&mut self) -> Option<usize> {
        self.row_queue.pop()
    }

    pub fn next_col(&mut self) -> Option<usize> {
        self.col_queue.pop()
    }

    /// The live entries of a row. Removes dead entries from the list when they prevail.
    pub fn row(&mut self, i: usize) -> impl Iterator<Item = (u32, f64)> + '_ {
        let alive = &self.col_alive;
        let row = &mut self.rows[i];
        if row.len() > 2 * self.row_len[i] as usize + 4 {
            row.retain(|e| alive[e.0 as usize]);
        }
        self.effort += row.len() as u64 + 1;
        row.iter().copied().filter(|e| alive[e.0 as usize])
    }

    /// The live entries of a column.
    pub fn col(&mut self, j: usize) -> impl Iterator<Item = (u32, f64)> + '_ {
        let alive = &self.row_alive;
        let col = &mut self.cols[j];
        if col.len() > 2 * self.col_len[j] as usize + 4 {
            col.retain(|e| alive[e.0 as usize]);
        }
        self.effort += col.len() as u64 + 1;
        col.iter().copied().filter(|e| alive[e.0 as usize])
    }

    /// Returns whether all live entries of a column have a property. Does not remove dead entries.
    pub fn col_all(&self, j: usize, property: impl Fn(usize, f64) -> bool) -> bool {
        self.cols[j]
            .iter()
            .filter(|e| self.row_alive[e.0 as usize])
            .all(|e| property(e.0 as usize, e.1))
    }

    pub fn row_entries(&mut self, i: usize) -> Entries {
        self.row(i).collect()
    }

    pub fn col_entries(&mut self, j: usize) -> Entries {
        self.col(j).collect()
    }

    pub fn row_without(&mut self, i: usize, j: usize) -> Entries {
        self.row(i).filter(|e| e.0 as usize != j).collect()
    }

    pub fn col_without(&mut self, j: usize, i: usize) -> Entries {
        self.col(j).filter(|e| e.0 as usize != i).collect()
    }

    pub fn push(&mut self, record: impl ReductionRecord + 'static) {
        self.stack.push(Box::new(record));
    }

    pub fn touch_row(&mut self, i: usize) {
        self.row_queue.push(i);
    }

    pub fn touch_col(&mut self, j: usize) {
        self.col_queue.push(j);
    }

    /// Queues the columns of a row whose bounds changed.
    pub fn touch_cols_of(&mut self, i: usize) {
        let WorkingModel {
            rows,
            col_alive,
            col_queue,
            effort,
            ..
        } = self;
        *effort += rows[i].len() as u64;
        for &(j, _) in &rows[i] {
            if col_alive[j as usize] {
                col_queue.push(j as usize);
            }
        }
    }

    /// The range of a row's activity, accurate enough to decide whether a closer look is
    /// worthwhile.
    pub fn activity(&mut self, i: usize) -> Activity {
        match self.activity[i] {
            Some(a) => a,
            None => self.exact_activity(i),
        }
    }

    /// The range of a row's activity, summed afresh if updates have added rounding errors.
    pub fn exact_activity(&mut self, i: usize) -> Activity {
        if let Some(a) = self.activity[i].filter(|a| !a.updated) {
            return a;
        }
        let WorkingModel {
            rows,
            col_alive,
            lower,
            upper,
            effort,
            ..
        } = self;
        let mut sum = Activity::default();
        *effort += rows[i].len() as u64;
        for &(j, a) in &rows[i] {
            let j = j as usize;
            if col_alive[j] {
                sum.add(a, lower[j], upper[j]);
            }
        }
        self.activity[i] = Some(sum);
        sum
    }

    /// Replaces a column's bounds and queues its rows.
    pub fn set_bounds(&mut self, j: usize, l: f64, u: f64) {
        if self.lower[j] == l && self.upper[j] == u {
            return;
        }
        let (old_l, old_u) = (self.lower[j], self.upper[j]);
        self.lower[j] = l;
        self.upper[j] = u;
        self.touch_col(j);
        let entries = std::mem::take(&mut self.cols[j]);
        for &(i, a) in entries.iter().filter(|e| self.row_alive[e.0 as usize]) {
            if let Some(activity) = &mut self.activity[i as usize] {
                activity.remove(a, old_l, old_u);
                activity.add(a, l, u);
            }
            self.row_queue.push(i as usize);
        }
        self.effort += entries.len() as u64;
        self.cols[j] = entries;
    }

    /// Adds to both bounds of a row.
    pub fn shift_row(&mut self, i: usize, by: f64) {
        if by != 0.0 {
            self.row_lower[i] += by;
            self.row_upper[i] += by;
            self.row_scale[i] = self.row_scale[i].max(by.abs());
            self.touch_row(i);
        }
    }

    /// Removes a row; the caller's record must restore its dual.
    pub fn remove_row(&mut self, i: usize) {
        let entries = std::mem::take(&mut self.rows[i]);
        for &(j, _) in entries.iter().filter(|e| self.col_alive[e.0 as usize]) {
            self.col_len[j as usize] -= 1;
            self.col_queue.push(j as usize);
        }
        self.effort += entries.len() as u64;
        self.row_alive[i] = false;
        self.removed += 1;
    }

    /// Removes a column; the caller's record must restore its value.
    pub fn remove_col(&mut self, j: usize) {
        let (l, u) = (self.lower[j], self.upper[j]);
        let entries = std::mem::take(&mut self.cols[j]);
        for &(i, a) in entries.iter().filter(|e| self.row_alive[e.0 as usize]) {
            self.row_len[i as usize] -= 1;
            if let Some(activity) = &mut self.activity[i as usize] {
                activity.remove(a, l, u);
            }
            self.row_queue.push(i as usize);
        }
        self.effort += entries.len() as u64;
        self.col_alive[j] = false;
        self.removed += 1;
    }

    /// Adds to a coefficient, which may create or remove the entry.
    pub fn add_to_entry(&mut self, i: usize, j: usize, by: f64) {
        if by == 0.0 {
            return;
        }
        self.activity[i] = None;
        self.touch_row(i);
        self.touch_col(j);
        self.effort += (self.rows[i].len() + self.cols[j].len()) as u64;
        let in_row = self.rows[i].iter().position(|e| e.0 as usize == j);
        let in_col = self.cols[j].iter().position(|e| e.0 as usize == i);
        let (Some(r), Some(c)) = (in_row, in_col) else {
            self.rows[i].push((j as u32, by));
            self.cols[j].push((i as u32, by));
            self.row_len[i] += 1;
            self.col_len[j] += 1;
            return;
        };
        let old = self.rows[i][r].1;
        let new = cancel(old, by);
        if new == 0.0 {
            self.rows[i].swap_remove(r);
            self.cols[j].swap_remove(c);
            self.row_len[i] -= 1;
            self.col_len[j] -= 1;
        } else {
            self.rows[i][r].1 = new;
            self.cols[j][c].1 = new;
        }
    }
}

/// A sum, set to zero if only rounding noise remains.
pub(super) fn cancel(a: f64, b: f64) -> f64 {
    let sum = a + b;
    if sum.abs() <= 1e-13 * (a.abs() + b.abs()) {
        0.0
    } else {
        sum
    }
}
