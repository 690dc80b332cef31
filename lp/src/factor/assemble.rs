//! Builds the arrays for solves from the record of an elimination: L and U, each by columns and by
//! rows.

use super::lu::{Workspace, refill};
use super::{Factor, NONE};

impl Factor {
    /// Numbers positions by elimination order and renames everything recorded by row so far.
    fn number_positions(&mut self, w: &mut Workspace) {
        let m = self.m;
        self.row_of.clear();
        self.row_of.extend_from_slice(&self.order);
        refill(&mut self.position_of, m, NONE);
        for (p, &row) in self.order.iter().enumerate() {
            self.position_of[row as usize] = p as u32;
        }
        let position = &self.position_of;
        let renamed = self.lower.order.iter_mut().chain(&mut self.lower.index);
        renamed.for_each(|i| *i = position[*i as usize]);
        let lower = &mut self.lower;
        for (from, to) in [
            (&mut lower.begin, &mut w.scratch_a),
            (&mut lower.end, &mut w.scratch_b),
        ] {
            to.clear();
            to.extend(self.row_of.iter().map(|&row| from[row as usize]));
            std::mem::swap(from, to);
        }
        w.scratch_value.clear();
        w.scratch_value
            .extend(self.row_of.iter().map(|&row| self.diag[row as usize]));
        std::mem::swap(&mut self.diag, &mut w.scratch_value);
        self.order.clear();
        self.order.extend(0..m as u32);
        self.place.clear();
        self.place.extend(0..m as u32);
    }

    /// Builds U by columns and by rows, and L by rows.
    pub(super) fn assemble(&mut self, w: &mut Workspace, ticks: &mut u64) {
        let m = self.m;
        self.number_positions(w);
        let position = &self.position_of;
        *ticks += 4 * w.trip_row.len() as u64 + 2 * self.lower.index.len() as u64;
        for p in w.pivot_row.iter_mut().filter(|p| **p != NONE) {
            *p = position[*p as usize];
        }
        refill(&mut w.counts, m, 0);
        for &k in &w.trip_col {
            let p = w.pivot_row[k as usize];
            if p != NONE {
                w.counts[p as usize] += 1;
            }
        }
        self.u_cols.layout(&w.counts, 0);
        refill(&mut w.counts, m, 0);
        for (t, i) in w.trip_row.iter_mut().enumerate() {
            *i = position[*i as usize];
            if w.pivot_row[w.trip_col[t] as usize] != NONE {
                w.counts[*i as usize] += 1;
            }
        }
        self.u_rows.layout(&w.counts, 2);
        for t in 0..w.trip_row.len() {
            let p = w.pivot_row[w.trip_col[t] as usize];
            if p != NONE {
                self.u_cols.push(p as usize, w.trip_row[t], w.trip_value[t]);
                self.u_rows.push(w.trip_row[t] as usize, p, w.trip_value[t]);
            }
        }
        // L by rows.
        refill(&mut self.lower_rows.begin, m, 0);
        refill(&mut self.lower_rows.end, m, 0);
        for &i in &self.lower.index {
            self.lower_rows.end[i as usize] += 1;
        }
        let mut at = 0;
        for i in 0..m {
            let c = self.lower_rows.end[i];
            self.lower_rows.begin[i] = at;
            self.lower_rows.end[i] = at;
            at += c;
        }
        refill(&mut self.lower_rows.index, at, 0);
        refill(&mut self.lower_rows.value, at, 0.0);
        for &p in &self.lower.order {
            for pos in self.lower.begin[p as usize]..self.lower.end[p as usize] {
                let i = self.lower.index[pos] as usize;
                let to = self.lower_rows.end[i];
                self.lower_rows.end[i] += 1;
                self.lower_rows.index[to] = p;
                self.lower_rows.value[to] = self.lower.value[pos];
            }
        }
        self.lower_rows.order.clear();
        let (begin, end) = (&self.lower_rows.begin, &self.lower_rows.end);
        self.lower_rows.order.extend(
            self.order
                .iter()
                .rev()
                .filter(|&&i| end[i as usize] > begin[i as usize]),
        );
    }
}
