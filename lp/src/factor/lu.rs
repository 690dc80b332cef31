//! Sparse LU: slack columns, column singletons, row singletons, then Markowitz with threshold
//! pivoting on the rest. The phases are in `singletons.rs` and `kernel.rs`; `assemble.rs` builds
//! the arrays of the result.

use super::kernel::ActiveSubmatrix;
use super::{Factor, NONE};
use crate::compressed::Compressed;

/// Pivots smaller than this (on scaled data) count as zero.
pub(super) const PIVOT_TINY: f64 = 1e-10;

/// Scratch of the factorisation, kept between builds.
#[derive(Clone, Debug, Default)]
pub(super) struct Workspace {
    pub(super) vars: Vec<u32>,
    pub(super) pivot_row: Vec<u32>,
    pub(super) row_var: Vec<u32>,
    /// Rows pivoted before any elimination: their entries become U entries unchanged.
    pub(super) early: Vec<bool>,
    pub(super) col_count: Vec<u32>,
    pub(super) row_start: Vec<usize>,
    pub(super) row_cols: Vec<u32>,
    pub(super) row_count: Vec<u32>,
    pub(super) queue: Vec<u32>,
    pub(super) trip_row: Vec<u32>,
    pub(super) trip_col: Vec<u32>,
    pub(super) trip_value: Vec<f64>,
    pub(super) kernel: ActiveSubmatrix,
    pub(super) counts: Vec<u32>,
    pub(super) scratch_a: Vec<usize>,
    pub(super) scratch_b: Vec<usize>,
    pub(super) scratch_value: Vec<f64>,
}

pub(super) fn refill<T: Clone>(v: &mut Vec<T>, len: usize, value: T) {
    v.clear();
    v.resize(len, value);
}

impl Factor {
    /// Factorises the basis made of the variables `basic` (structural `j < n` is column `j` of `a`,
    /// logical `n + i` the unit column of row `i`), and reorders `basic` by position: `basic[p]`
    /// pivots in row `row(p)`.
    ///
    /// If the basis is singular, dependent variables are replaced by the logicals of rows without a
    /// pivot; the replaced ones are returned as (variable, row).
    pub fn build(&mut self, a: &Compressed, n: usize, basic: &mut [u32]) -> Vec<(u32, u32)> {
        let m = basic.len();
        self.m = m;
        self.reset(m);
        let mut w = std::mem::take(&mut self.lu);
        refill(&mut w.row_var, m, NONE);
        refill(&mut w.early, m, false);
        w.vars.clear();
        w.trip_row.clear();
        w.trip_col.clear();
        w.trip_value.clear();
        for &v in basic.iter() {
            if (v as usize) >= n {
                let i = v as usize - n;
                w.row_var[i] = v;
                w.early[i] = true;
                self.diag[i] = 1.0;
                self.order.push(i as u32);
            } else {
                w.vars.push(v);
            }
        }
        self.slacks = self.order.len();
        refill(&mut w.pivot_row, w.vars.len(), NONE);
        let mut ticks = m as u64;
        self.singletons(a, &mut w, &mut ticks);
        self.split(a, &mut w);
        if w.kernel.cols.count.iter().any(|&c| c != NONE) {
            self.markowitz(&mut w, &mut ticks);
        }
        let deficient = self.repair(&mut w, n);
        self.assemble(&mut w, &mut ticks);
        for (p, b) in basic.iter_mut().enumerate() {
            *b = w.row_var[self.row_of[p] as usize];
        }
        self.lu = w;
        self.build_ticks = ticks;
        self.ticks += ticks;
        self.updates = 0;
        self.growth = 0;
        self.fill = 0;
        self.u_entries = self.lu.trip_row.len();
        self.search_pause = 0;
        deficient
    }

    fn reset(&mut self, m: usize) {
        self.lower.order.clear();
        self.lower.index.clear();
        self.lower.value.clear();
        refill(&mut self.lower.begin, m, 0);
        refill(&mut self.lower.end, m, 0);
        refill(&mut self.diag, m, 0.0);
        self.order.clear();
        refill(&mut self.place, m, NONE);
        self.r_pivot.clear();
        self.r_start.clear();
        self.r_start.push(0);
        self.r_index.clear();
        self.r_value.clear();
        self.product.clear();
        self.spike_index.clear();
        self.spike_value.clear();
        self.partial_row = NONE;
        refill(&mut self.lookup, m, 0.0);
        self.pending.resize(m);
        self.found.clear();
        self.found.reserve(m);
    }

    fn markowitz(&mut self, w: &mut Workspace, ticks: &mut u64) {
        while let Some((i, k)) = w.kernel.search(self.threshold, ticks) {
            let pivot = w.kernel.eliminate(
                i,
                k,
                &mut self.lower.index,
                &mut self.lower.value,
                (&mut w.trip_row, &mut w.trip_col, &mut w.trip_value),
                ticks,
            );
            let row = i as usize;
            w.pivot_row[k as usize] = i;
            w.row_var[row] = w.vars[k as usize];
            self.diag[row] = pivot;
            self.order.push(i);
            self.lower.begin[row] = self
                .lower
                .order
                .last()
                .map_or(0, |&p| self.lower.end[p as usize]);
            self.lower.end[row] = self.lower.index.len();
            if self.lower.end[row] > self.lower.begin[row] {
                self.lower.order.push(i);
            }
        }
    }

    /// Assigns the logical to each row without a pivot. Such a row has no recorded eta, so the
    /// logical's column of U is the unit vector.
    fn repair(&mut self, w: &mut Workspace, n: usize) -> Vec<(u32, u32)> {
        let mut dependent = Vec::new();
        if self.order.len() == self.m {
            return dependent;
        }
        let mut rows = (0..self.m as u32)
            .filter(|&i| w.row_var[i as usize] == NONE)
            .collect::<Vec<_>>()
            .into_iter();
        for k in 0..w.vars.len() {
            if w.pivot_row[k] == NONE
                && let Some(i) = rows.next()
            {
                dependent.push((w.vars[k], i));
                w.row_var[i as usize] = (n + i as usize) as u32;
                self.diag[i as usize] = 1.0;
                self.order.push(i);
            }
        }
        dependent
    }
}
