//! Forrest-Tomlin update: one column of the basis is replaced.
//!
//! Let `p` be the row of the leaving variable, `s = R L^-1 a_q` the spike kept by the FTRAN of the
//! entering column, and `y` the half-solved vector of the BTRAN of `e_p`, `U^T y = e_p`. Column `p`
//! of `U` becomes `s`, and row `p` is eliminated by the row eta `x_p -= sum_k r_k x_k` with
//! `r_k = -u_pp y_k`. The new diagonal is `s_p - sum_k r_k s_k`, which equals `alpha u_pp` for the
//! pivot `alpha` of the simplex. Both values are known, so their difference measures the accuracy
//! of the factorisation.

use super::{Factor, NONE};
use crate::sparse_vec::{SparseVec, TINY};

/// Outcome of an update.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum UpdateCheck {
    /// The new diagonal agrees with the pivot up to this relative error.
    Accurate(f64),
    /// The factorisation must be rebuilt before it is used again.
    Unusable,
}

impl Factor {
    /// Replaces the variable that pivots in row `p` by the one of the last
    /// [`Factor::ftran_entering`]. `column` is the solved column. The last [`Factor::btran_unit`]
    /// must have been for row `p`.
    pub fn update(&mut self, p: usize, column: &SparseVec) -> UpdateCheck {
        let p32 = p as u32;
        if self.partial_row != p32 {
            return UpdateCheck::Unusable;
        }
        self.partial_row = NONE;
        self.observe_lengths(
            column.index.len(),
            self.partial_index.len() + self.spike_len,
        );
        if self.product_due() {
            return self.update_product(p, column);
        }
        let alpha = column.value[p];
        let old = self.diag[p];
        let spike_at_p = self
            .spike_index
            .iter()
            .position(|&i| i == p32)
            .map_or(0.0, |k| self.spike_value[k]);
        let r_from = self.r_index.len();
        for (&k, &y) in self.partial_index.iter().zip(&self.partial_value) {
            if k != p32 && y.abs() > TINY {
                self.r_index.push(k);
                self.r_value.push(-old * y);
            }
        }
        let fresh = alpha * old;
        // Remove the old column and row from U.
        for pos in self.u_cols.range(p) {
            let i = self.u_cols.index[pos];
            self.u_rows.remove(i as usize, p32);
        }
        for pos in self.u_rows.range(p) {
            let j = self.u_rows.index[pos];
            self.u_cols.remove(j as usize, p32);
        }
        // Net fill: entries that U gains now. Every solve also walks the row eta.
        self.fill += self.spike_index.len() as i64
            - self.u_cols.lists[p].len as i64
            - self.u_rows.lists[p].len as i64;
        self.u_rows.lists[p].len = 0;
        self.u_cols.clear_list(p, self.spike_index.len() as u32);
        let mut check = spike_at_p;
        for k in 0..self.spike_index.len() {
            let (i, v) = (self.spike_index[k], self.spike_value[k]);
            if i != p32 {
                self.u_cols.push(p, i, v);
                self.u_rows.push(i as usize, p32, v);
            }
        }
        // The new diagonal once more, from the eta and the spike.
        if r_from < self.r_index.len() {
            let dense = &mut self.lookup;
            for (&i, &v) in self.spike_index.iter().zip(&self.spike_value) {
                dense[i as usize] = v;
            }
            for pos in r_from..self.r_index.len() {
                check -= self.r_value[pos] * dense[self.r_index[pos] as usize];
            }
            for &i in &self.spike_index {
                dense[i as usize] = 0.0;
            }
        }
        if self.r_index.len() > r_from {
            self.r_pivot.push(p32);
            self.r_start.push(self.r_index.len());
        }
        self.diag[p] = fresh;
        self.order[self.place[p] as usize] = NONE;
        self.place[p] = self.order.len() as u32;
        self.order.push(p32);
        self.updates += 1;
        // Each of some three solves an iteration walks all of R and, densities permitting, much of
        // the new U.
        self.growth += 3 * self.r_index.len() as u64 + self.fill.max(0) as u64;
        self.ticks += (self.spike_index.len() + self.partial_index.len()) as u64 * 2;
        if fresh.abs() < 1e-14 || !fresh.is_finite() {
            return UpdateCheck::Unusable;
        }
        UpdateCheck::Accurate((check - fresh).abs() / fresh.abs().max(check.abs()))
    }
}
