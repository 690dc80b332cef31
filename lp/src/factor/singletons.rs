//! The phases before elimination proper: columns, then rows, with one active entry, and the split
//! of the rest.

use super::lu::{PIVOT_TINY, Workspace, refill};
use super::{Factor, NONE};
use crate::compressed::Compressed;

impl Factor {
    /// Pivots on columns, then rows, with a single active entry, as long as there are any.
    pub(super) fn singletons(&mut self, a: &Compressed, w: &mut Workspace, ticks: &mut u64) {
        count_active(a, w, self.m, ticks);
        self.singleton_columns(a, w);
        self.singleton_rows(a, w);
    }

    fn singleton_columns(&mut self, a: &Compressed, w: &mut Workspace) {
        w.queue.clear();
        w.queue
            .extend((0..w.vars.len() as u32).filter(|&k| w.col_count[k as usize] == 1));
        while let Some(k) = w.queue.pop() {
            let k = k as usize;
            if w.col_count[k] != 1 {
                continue;
            }
            let Some((i, v)) = a
                .iter(w.vars[k] as usize)
                .find(|&(i, _)| w.row_var[i] == NONE)
            else {
                continue;
            };
            if v.abs() < PIVOT_TINY {
                continue;
            }
            w.pivot_row[k] = i as u32;
            w.row_var[i] = w.vars[k];
            w.early[i] = true;
            self.diag[i] = v;
            self.order.push(i as u32);
            for &other in &w.row_cols[w.row_start[i]..w.row_start[i + 1]] {
                let c = &mut w.col_count[other as usize];
                *c -= 1;
                if *c == 1 {
                    w.queue.push(other);
                }
            }
        }
    }

    fn singleton_rows(&mut self, a: &Compressed, w: &mut Workspace) {
        let m = self.m;
        for i in 0..m {
            if w.row_var[i] == NONE {
                w.row_count[i] = w.row_cols[w.row_start[i]..w.row_start[i + 1]]
                    .iter()
                    .filter(|&&k| w.pivot_row[k as usize] == NONE)
                    .count() as u32;
            }
        }
        w.queue.clear();
        w.queue.extend(
            (0..m as u32)
                .filter(|&i| w.row_var[i as usize] == NONE && w.row_count[i as usize] == 1),
        );
        while let Some(i) = w.queue.pop() {
            let i = i as usize;
            if w.row_var[i] != NONE || w.row_count[i] != 1 {
                continue;
            }
            let list = &w.row_cols[w.row_start[i]..w.row_start[i + 1]];
            let Some(&k) = list.iter().find(|&&k| w.pivot_row[k as usize] == NONE) else {
                continue;
            };
            let var = w.vars[k as usize];
            let Some((_, pivot)) = a.iter(var as usize).find(|&(r, _)| r == i) else {
                continue;
            };
            if pivot.abs() < PIVOT_TINY {
                continue;
            }
            w.pivot_row[k as usize] = i as u32;
            w.row_var[i] = var;
            self.diag[i] = pivot;
            self.order.push(i as u32);
            self.lower.begin[i] = self.lower.index.len();
            for (r, v) in a.iter(var as usize) {
                if w.row_var[r] == NONE {
                    self.lower.index.push(r as u32);
                    self.lower.value.push(v / pivot);
                    w.row_count[r] -= 1;
                    if w.row_count[r] == 1 {
                        w.queue.push(r as u32);
                    }
                }
            }
            self.lower.end[i] = self.lower.index.len();
            if self.lower.end[i] > self.lower.begin[i] {
                self.lower.order.push(i as u32);
            }
        }
    }

    /// Splits the entries of the remaining columns into U entries and the kernel.
    pub(super) fn split(&mut self, a: &Compressed, w: &mut Workspace) {
        let (m, ncols) = (self.m, w.vars.len());
        let kernel = &mut w.kernel;
        let active = w.pivot_row.iter().filter(|&&p| p == NONE).count();
        let kernel_rows = if active == 0 { 0 } else { m };
        let kernel_cols = if active == 0 { 0 } else { ncols };
        kernel.cols.reset(kernel_cols, active);
        kernel.rows.reset(kernel_rows, active);
        for v in [&mut kernel.col_begin, &mut kernel.row_begin] {
            v.clear();
        }
        kernel.col_begin.resize(kernel_cols, 0);
        kernel.row_begin.resize(kernel_rows, 0);
        refill(&mut kernel.col_len, kernel_cols, 0);
        refill(&mut kernel.col_cap, kernel_cols, 0);
        refill(&mut kernel.row_len, kernel_rows, 0);
        refill(&mut kernel.row_cap, kernel_rows, 0);
        refill(&mut kernel.mult, kernel_rows, 0.0);
        refill(&mut kernel.seen, kernel_rows, NONE);
        kernel.col_index.clear();
        kernel.col_value.clear();
        kernel.row_index.clear();
        for k in 0..ncols {
            let p = w.pivot_row[k];
            let var = w.vars[k] as usize;
            if p != NONE {
                for (i, v) in a.iter(var) {
                    if w.early[i] && i as u32 != p {
                        w.trip_row.push(i as u32);
                        w.trip_col.push(k as u32);
                        w.trip_value.push(v);
                    }
                }
                continue;
            }
            kernel.col_begin[k] = kernel.col_index.len();
            for (i, v) in a.iter(var) {
                if w.early[i] {
                    w.trip_row.push(i as u32);
                    w.trip_col.push(k as u32);
                    w.trip_value.push(v);
                } else if w.row_var[i] == NONE {
                    kernel.col_index.push(i as u32);
                    kernel.col_value.push(v);
                    kernel.row_len[i] += 1;
                }
            }
            let len = kernel.col_index.len() - kernel.col_begin[k];
            kernel.col_len[k] = len as u32;
            // Room for fill-in.
            let cap = len + len / 2 + 4;
            kernel.col_cap[k] = cap as u32;
            kernel.col_index.resize(kernel.col_begin[k] + cap, 0);
            kernel.col_value.resize(kernel.col_begin[k] + cap, 0.0);
            if len > 0 {
                kernel.cols.link(k as u32, len as u32);
            }
        }
        let mut at = 0;
        for i in 0..kernel_rows {
            let len = kernel.row_len[i] as usize;
            if len > 0 {
                let cap = len + len / 2 + 4;
                kernel.row_begin[i] = at;
                kernel.row_cap[i] = cap as u32;
                kernel.rows.link(i as u32, len as u32);
                kernel.row_len[i] = 0;
                at += cap;
            }
        }
        kernel.row_index.resize(at, 0);
        for k in 0..kernel_cols {
            let b = kernel.col_begin[k];
            for pos in b..b + kernel.col_len[k] as usize {
                let i = kernel.col_index[pos] as usize;
                kernel.row_index[kernel.row_begin[i] + kernel.row_len[i] as usize] = k as u32;
                kernel.row_len[i] += 1;
            }
        }
    }
}

/// Lists the active rows with their columns, and counts the active entries of both.
fn count_active(a: &Compressed, w: &mut Workspace, m: usize, ticks: &mut u64) {
    let ncols = w.vars.len();
    refill(&mut w.row_start, m + 1, 0);
    refill(&mut w.col_count, ncols, 0);
    for (k, &v) in w.vars.iter().enumerate() {
        for &i in a.vector(v as usize).0 {
            if w.row_var[i as usize] == NONE {
                w.row_start[i as usize + 1] += 1;
                w.col_count[k] += 1;
            }
        }
    }
    refill(&mut w.row_count, m, 0);
    for i in 0..m {
        w.row_count[i] = w.row_start[i + 1] as u32;
        w.row_start[i + 1] += w.row_start[i];
    }
    refill(&mut w.row_cols, w.row_start[m], 0);
    *ticks += 3 * w.row_start[m] as u64;
    // Fill backwards from the ends, so that row_start ends up at the beginnings.
    w.counts.clear();
    w.counts.extend(w.row_count.iter());
    for (k, &v) in w.vars.iter().enumerate().rev() {
        for &i in a.vector(v as usize).0 {
            let i = i as usize;
            if w.row_var[i] == NONE {
                w.counts[i] -= 1;
                w.row_cols[w.row_start[i] + w.counts[i] as usize] = k as u32;
            }
        }
    }
}
