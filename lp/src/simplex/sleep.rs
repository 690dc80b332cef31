//! Rows that are left out of the working matrix while they are far from binding.
//!
//! A row whose logical is basic and well within its bounds does not affect a pivot, yet every FTRAN
//! computes its value. On the interval form of the rematerialization program, four fifths of the
//! entries of `U` lie in such rows. They are put to sleep: their entries leave the working matrix
//! of the simplex, so they become empty free rows, and the program becomes a relaxation. Its basis,
//! duals and steepest edge weights are also valid for the whole program, so the rest is unchanged.
//!
//! At an optimum the activities of sleeping rows are computed from the values. Violated rows are
//! woken, and the dual continues. This is partial pricing of rows, extended to the factorisation.
//!
//! If columns with attractive reduced costs arrive together with violated rows, the violated rows
//! are also put to sleep. The remaining program is primal feasible, so the primal runs first, and
//! then the dual for the rows. This replaces a dual phase 1 (docs/inside/decisions/059).

use super::Core;
use crate::compressed::Compressed;
use crate::outcome::VarStatus;

/// Distance from its bounds, relative to the bound, beyond which a row may sleep.
const SLEEP_DISTANCE: f64 = 1e-2;
/// Distance from its bounds, relative to the bound, within which a row is woken together with a
/// violated one.
const WAKE_DISTANCE: f64 = 1e-2;
/// Least share of the entries of basic columns that sleeping rows must remove.
const SLEEPING_SHARE_FLOOR: f64 = 0.3;
/// Rounds of waking after which all rows are woken.
const WAKING_ROUND_LIMIT: u32 = 12;

/// Record of the sleeping rows.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sleep {
    /// True for each sleeping row; valid if `some` is set.
    asleep: Vec<bool>,
    some: bool,
    /// The whole matrix by columns while [`Core::a`] lacks the entries of sleeping rows.
    whole: Option<Compressed>,
    /// Memory of the last matrix without sleeping rows, for reuse.
    spare: Compressed,
    /// For each row: solves for which it stays awake, and the number for the next time it is woken.
    banned: Vec<(u8, u8)>,
    /// True if `x` holds the values of all variables at an optimum, and only rows and columns were
    /// added since.
    values_known: bool,
    rounds: u32,
}

impl Core {
    /// Returns whether the row sleeps.
    #[inline]
    pub fn is_asleep(&self, row: usize) -> bool {
        self.sleep.some && self.sleep.asleep[row]
    }

    /// Returns whether any row sleeps.
    pub fn has_sleepers(&self) -> bool {
        self.sleep.some
    }

    /// Keeps the values of an optimum for [`Core::put_to_sleep`].
    pub fn keep_values(&mut self) {
        for (&j, &v) in self.basic.iter().zip(&self.xb) {
            self.x[j as usize] = v;
        }
        self.sleep.values_known = true;
    }

    /// The flag that the kept values are still valid.
    pub fn values_known(&mut self) -> &mut bool {
        &mut self.sleep.values_known
    }

    /// Updates the records after rows were deleted while all rows are awake.
    pub fn retain_sleepers(&mut self, keep: &[bool]) {
        let mut k = 0;
        self.sleep.banned.retain(|_| {
            k += 1;
            keep[k - 1]
        });
    }

    /// Value of the logical of row `i` at the values in `x`.
    fn logical_value(&self, i: usize) -> f64 {
        let (index, value) = self.at.vector(i);
        let sum = index
            .iter()
            .zip(value)
            .map(|(&j, &v)| v * self.x[j as usize]);
        -sum.sum::<f64>()
    }

    /// Puts rows to sleep that are far from binding, before a solve that has to factorise anyway.
    /// With `columns_first`, violated rows sleep too if there are attractive columns.
    pub fn put_to_sleep(&mut self, columns_first: bool) {
        self.sleep.rounds = 0;
        let Some(least) = self.lazy_rows else {
            return;
        };
        if self.factored || self.has_sleepers() || !self.sleep.values_known {
            return;
        }
        let (m, n) = (self.m, self.n);
        self.sleep.banned.resize(m, (0, 1));
        self.sleep.asleep.clear();
        self.sleep.asleep.resize(m, false);
        let mut attractive = columns_first
            && self.dual_valid
            && (0..n).any(|j| {
                self.dual_violation(j) > self.dual_tol
                    && !(self.lower[j].is_finite() && self.upper[j].is_finite())
            });
        attractive &= (0..n).all(|j| {
            self.status[j] != VarStatus::Basic
                || (self.x[j] >= self.lower[j] - self.primal_tol
                    && self.x[j] <= self.upper[j] + self.primal_tol)
        });
        for i in 0..m {
            let j = n + i;
            if self.status[j] != VarStatus::Basic {
                continue;
            }
            let v = self.logical_value(i);
            let (l, u) = (self.lower[j], self.upper[j]);
            let (below, above) = (v - l, u - v);
            let clear = |gap: f64, bound: f64| {
                !bound.is_finite() || gap > SLEEP_DISTANCE * (1.0 + bound.abs())
            };
            let far = clear(below, l) && clear(above, u);
            let violated = below < -self.primal_tol || above < -self.primal_tol;
            let ban = &mut self.sleep.banned[i].0;
            if *ban > 0 {
                *ban -= 1;
            }
            self.sleep.asleep[i] = (far && *ban == 0) || (violated && attractive);
        }
        let (mut gone, mut all) = (0, 0);
        for j in (0..n).filter(|&j| self.status[j] == VarStatus::Basic) {
            let index = self.a.vector(j).0;
            all += index.len();
            gone += index
                .iter()
                .filter(|&&i| self.sleep.asleep[i as usize])
                .count();
        }
        self.ticks += self.at.nnz() as u64 + all as u64;
        let worth = gone >= least && gone as f64 > SLEEPING_SHARE_FLOOR * all as f64;
        self.sleep.some = true;
        if worth {
            self.filter_matrix();
        } else if attractive {
            // Violated rows only need their bounds ignored.
            for i in 0..m {
                let asleep = self.sleep.asleep[i] && {
                    let (j, v) = (n + i, self.logical_value(i));
                    v < self.lower[j] || v > self.upper[j]
                };
                self.sleep.asleep[i] = asleep;
            }
        } else {
            self.sleep.some = false;
        }
    }

    /// Removes the entries of sleeping rows from the working matrix.
    fn filter_matrix(&mut self) {
        let whole = match self.sleep.whole.take() {
            Some(whole) => whole,
            None => std::mem::replace(&mut self.a, std::mem::take(&mut self.sleep.spare)),
        };
        let a = &mut self.a;
        a.start.clear();
        a.index.clear();
        a.value.clear();
        a.start.push(0);
        a.start.reserve(whole.outer());
        a.index.reserve(whole.nnz());
        a.value.reserve(whole.nnz());
        for j in 0..whole.outer() {
            for (i, v) in whole.iter(j) {
                if !self.sleep.asleep[i] {
                    a.index.push(i as u32);
                    a.value.push(v);
                }
            }
            a.start.push(a.index.len());
        }
        self.ticks += whole.nnz() as u64;
        self.sleep.whole = Some(whole);
        self.matrix_changed();
    }

    fn matrix_changed(&mut self) {
        self.price_matrix.invalidate();
        self.factored = false;
        self.primal_valid = false;
    }

    /// Wakes all rows. The factorisation becomes invalid if entries of rows were left out.
    pub fn wake_all(&mut self) {
        if !std::mem::take(&mut self.sleep.some) {
            return;
        }
        let asleep = &self.sleep.asleep;
        let woken = (0..asleep.len()).filter(|&i| asleep[i]);
        self.new_rows.extend(woken.map(|i| i as u32));
        self.primal_valid = false;
        if let Some(whole) = self.sleep.whole.take() {
            self.sleep.spare = std::mem::replace(&mut self.a, whole);
            self.matrix_changed();
        }
    }

    /// Wakes the violated sleeping rows at an optimum of the relaxation. Returns whether there are
    /// any.
    pub fn wake_violated(&mut self) -> bool {
        self.keep_values();
        if !self.has_sleepers() {
            return false;
        }
        self.sleep.rounds += 1;
        let mut worst = 0.0f64;
        for i in (0..self.m).filter(|&i| self.sleep.asleep[i]) {
            let (j, v) = (self.n + i, self.logical_value(i));
            self.x[j] = v;
            worst = worst.max(self.lower[j] - v).max(v - self.upper[j]);
        }
        self.ticks += self.at.nnz() as u64;
        if worst <= self.primal_tol {
            return false;
        }
        for i in 0..self.m {
            if !self.sleep.asleep[i] {
                continue;
            }
            let j = self.n + i;
            let (v, l, u) = (self.x[j], self.lower[j], self.upper[j]);
            if v < l + WAKE_DISTANCE * (1.0 + l.abs()) || v > u - WAKE_DISTANCE * (1.0 + u.abs()) {
                self.sleep.asleep[i] = false;
                let (ban, next) = &mut self.sleep.banned[i];
                *ban = *next;
                *next = next.saturating_mul(2);
                self.new_rows.push(i as u32);
            }
        }
        self.primal_valid = false;
        if self.sleep.rounds > WAKING_ROUND_LIMIT {
            self.wake_all();
        } else if self.sleep.whole.is_some() {
            self.filter_matrix();
        } else {
            self.sleep.some = self.sleep.asleep.contains(&true);
        }
        true
    }

    /// Appends columns to the working matrix, without their entries in sleeping rows.
    pub fn append_to_matrix(&mut self, extra: &Compressed) {
        let Some(whole) = &mut self.sleep.whole else {
            return self.a.append(extra);
        };
        whole.append(extra);
        let asleep = &self.sleep.asleep;
        for k in 0..extra.outer() {
            let entries = extra.iter(k).map(|(i, v)| (i as u32, v));
            self.a.push(entries.filter(|e| !asleep[e.0 as usize]));
        }
    }

    /// Deletes columns from the working matrix.
    pub fn retain_in_matrix(&mut self, keep: &[bool]) {
        self.a.retain_outer(keep);
        if let Some(whole) = &mut self.sleep.whole {
            whole.retain_outer(keep);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{Model, ModelBuilder, NewCol, NewRow, RowId, Sense, Settings, Solver};

    /// Maximise `x + y` subject to `x + 2 y <= 4`, with thirty rows far from binding and one,
    /// `x <= 6 - y / 9`, nearer.
    fn model() -> Model {
        let mut b = ModelBuilder::new(Sense::Maximise);
        let x = b.add_col(1.0, 0.0..);
        let y = b.add_col(1.0, 0.0..);
        b.add_row(..=4.0, [(x, 1.0), (y, 2.0)]);
        for k in 0..30 {
            b.add_row(..=100.0, [(x, 1.0), (y, k as f64)]);
        }
        b.add_row(..=6.0, [(x, 1.0), (y, 1.0 / 9.0)]);
        b.build().unwrap()
    }

    #[test]
    fn rows_sleep_until_they_are_violated() {
        let settings = Settings {
            lazy_rows: Some(1),
            ..Default::default()
        };
        let mut s = Solver::new(model(), settings);
        assert_eq!(s.solve().optimal().unwrap().objective, 4.0);
        let (x, y) = (crate::ColId(0), crate::ColId(1));
        // A cut: from now on the far rows are left out.
        s.add_rows(&[NewRow::new(..=3.0, [(x, 1.0), (y, 0.5)])])
            .unwrap();
        let first = s.solve().optimal().unwrap().objective;
        assert!((first - 10.0 / 3.0).abs() < 1e-12);
        assert!(s.core_mut().has_sleepers());
        assert!(s.core_mut().is_asleep(5) && !s.core_mut().is_asleep(32));
        // Relaxing the binding rows moves the optimum beyond the last row, which is woken.
        s.set_row_bounds(RowId(0), ..=50.0).unwrap();
        s.set_row_bounds(RowId(32), ..=50.0).unwrap();
        let end = s.solve();
        crate::certificate::check(s.model(), &end, 1e-9).unwrap();
        let second = end.optimal().unwrap();
        assert!(!s.core_mut().is_asleep(31));
        let cold = Solver::new(s.model().clone(), Settings::default()).solve();
        let cold = cold.optimal().unwrap();
        assert!((second.objective - cold.objective).abs() < 1e-9);
    }

    #[test]
    fn columns_and_rows_that_arrive_together_need_no_phase_1() {
        let mut b = ModelBuilder::new(Sense::Minimise);
        let x = b.add_col(10.0, 0.0..);
        let row = b.add_row(1.0.., [(x, 1.0)]);
        let mut s = Solver::new(b.build().unwrap(), Settings::default());
        assert_eq!(s.solve().optimal().unwrap().objective, 10.0);
        let y = s
            .add_cols(&[NewCol::new(1.0, 0.0.., [(row, 1.0)])])
            .unwrap();
        s.add_rows(&[NewRow::new(3.0.., [(x, 1.0), (y, 1.0)])])
            .unwrap();
        let before = s.stats();
        assert_eq!(s.solve().optimal().unwrap().objective, 3.0);
        let after = s.stats();
        assert_eq!(
            (after.dual_phase1, after.primal_phase1),
            (before.dual_phase1, before.primal_phase1)
        );
        assert_eq!(after.primal_phase2, before.primal_phase2 + 1);
    }
}
