//! Product form updates: `B' = B E`, where `E` is the identity with the solved entering column in
//! place of column `p` (Dantzig & Orchard-Hays 1954).
//!
//! Forrest-Tomlin keeps a row eta per update, which every FTRAN has to multiply in full, and puts
//! the half-solved column into `U`. If solved columns are short and rows long, column etas are
//! cheaper: FTRAN skips those with a zero pivot, and BTRAN takes a short dot product of each. The
//! form is chosen anew after each build, by running averages of the costs of the etas in both forms
//! (docs/inside/decisions/059).

use super::{Factor, UpdateCheck};
use crate::sparse_vec::{SparseVec, TINY, observe};

/// A pivot below this share of its column's largest entry is too small to divide by; the basis is
/// factorised afresh.
const SMALL_PIVOT: f64 = 1e-7;

/// The product of the updates since the build, oldest first.
#[derive(Clone, Debug, Default)]
pub(super) struct UpdateProduct {
    pivot: Vec<u32>,
    diag: Vec<f64>,
    start: Vec<usize>,
    index: Vec<u32>,
    value: Vec<f64>,
    /// True if the next build is to be updated by this form.
    wanted: bool,
    /// Running averages of the lengths of column etas and of row etas with their spikes.
    columns: f64,
    rows: f64,
    /// Scratch: the etas applied in a partial solve.
    applied: Vec<u32>,
}

impl UpdateProduct {
    pub fn clear(&mut self) {
        self.pivot.clear();
        self.diag.clear();
        self.start.clear();
        self.start.push(0);
        self.index.clear();
        self.value.clear();
        // Three solves per iteration use row etas; one uses column etas.
        self.wanted = 2.0 * self.columns < self.rows;
    }

    pub fn is_empty(&self) -> bool {
        self.pivot.is_empty()
    }

    pub fn pivots(&self) -> &[u32] {
        &self.pivot
    }

    fn range(&self, e: usize) -> std::ops::Range<usize> {
        self.start[e]..self.start[e + 1]
    }

    /// Computes `E^-1 v` and keeps the list of nonzeros.
    pub fn ftran(&self, v: &mut SparseVec) -> u64 {
        let mut ticks = self.pivot.len() as u64;
        for (e, (&p, &diag)) in self.pivot.iter().zip(&self.diag).enumerate() {
            let x = v.value[p as usize];
            if x.abs() <= TINY {
                continue;
            }
            let x = x / diag;
            v.value[p as usize] = x;
            let r = self.range(e);
            ticks += r.len() as u64;
            for (&i, &a) in self.index[r.clone()].iter().zip(&self.value[r]) {
                v.add(i as usize, -a * x);
            }
        }
        ticks
    }

    /// Computes `E^-1 v` on values alone; only the entries at pivots and at requested positions are
    /// correct. [`UpdateProduct::wipe`] zeroes all entries afterwards.
    pub fn ftran_values(&mut self, v: &mut [f64]) -> u64 {
        self.applied.clear();
        let mut ticks = self.pivot.len() as u64;
        for (e, (&p, &diag)) in self.pivot.iter().zip(&self.diag).enumerate() {
            let x = v[p as usize];
            if x.abs() <= TINY {
                continue;
            }
            let x = x / diag;
            v[p as usize] = x;
            self.applied.push(e as u32);
            let r = self.start[e]..self.start[e + 1];
            ticks += r.len() as u64;
            for (&i, &a) in self.index[r.clone()].iter().zip(&self.value[r]) {
                v[i as usize] -= a * x;
            }
        }
        ticks
    }

    /// Zeroes all entries that [`UpdateProduct::ftran_values`] has changed.
    pub fn wipe(&self, v: &mut [f64]) {
        for &e in &self.applied {
            for &i in &self.index[self.range(e as usize)] {
                v[i as usize] = 0.0;
            }
        }
        for &p in &self.pivot {
            v[p as usize] = 0.0;
        }
    }

    /// `E^-T v`.
    pub fn btran(&self, v: &mut SparseVec) -> u64 {
        for (e, (&p, &diag)) in self.pivot.iter().zip(&self.diag).enumerate().rev() {
            let r = self.range(e);
            let mut dot = 0.0;
            for (&i, &a) in self.index[r.clone()].iter().zip(&self.value[r]) {
                dot += a * v.value[i as usize];
            }
            let old = v.value[p as usize];
            if dot != 0.0 || old != 0.0 {
                let new = (old - dot) / diag;
                v.add(p as usize, new - old);
            }
        }
        (self.index.len() + self.pivot.len()) as u64
    }
}

impl Factor {
    /// Chooses the form of updates since the build.
    #[cfg(test)]
    pub(super) fn set_product_form(&mut self, wanted: bool) {
        self.product.wanted = wanted;
    }

    /// Returns whether the next update is in product form. Once begun, the product form lasts until
    /// the next build.
    pub(super) fn product_due(&self) -> bool {
        !self.product.is_empty() || (self.product.wanted && self.updates == 0)
    }

    /// Records the cost of an update in either form.
    pub(super) fn observe_lengths(&mut self, column: usize, row: usize) {
        observe(&mut self.product.columns, column as f64);
        observe(&mut self.product.rows, row as f64);
    }

    /// Appends the solved entering column.
    pub(super) fn update_product(&mut self, p: usize, column: &SparseVec) -> UpdateCheck {
        let alpha = column.value[p];
        let mut largest = 0.0f64;
        for &i in &column.index {
            let v = column.value[i as usize];
            if i as usize != p && v.abs() > TINY {
                self.product.index.push(i);
                self.product.value.push(v);
                largest = largest.max(v.abs());
            }
        }
        self.product.pivot.push(p as u32);
        self.product.diag.push(alpha);
        self.product.start.push(self.product.index.len());
        self.updates += 1;
        self.growth += 2 * self.product.index.len() as u64;
        self.ticks += column.index.len() as u64;
        if alpha.abs() < SMALL_PIVOT * largest || alpha.abs() < TINY || !alpha.is_finite() {
            return UpdateCheck::Unusable;
        }
        UpdateCheck::Accurate(0.0)
    }
}
