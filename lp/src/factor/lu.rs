//! Sparse LU: slack columns, column singletons, row singletons, then Markowitz with threshold pivoting on what is left.

use super::{Factor, NONE};
use crate::matrix::Compressed;

/// Pivots smaller than this (on scaled data) are taken for zero.
const PIVOT_TINY: f64 = 1e-10;
/// Entries smaller than this after elimination are cancellation noise.
const DROP: f64 = 1e-14;
/// How many columns and rows the Markowitz search looks at once it has a candidate (Suhl & Suhl 1990 use 4).
const SEARCH_LIMIT: usize = 4;

/// Scratch of the factorisation, kept between builds.
#[derive(Clone, Debug, Default)]
pub(super) struct Workspace {
    vars: Vec<u32>,
    pivot_row: Vec<u32>,
    row_var: Vec<u32>,
    /// Rows pivoted before any elimination took place: their entries are U entries as they stand.
    early: Vec<bool>,
    col_count: Vec<u32>,
    row_start: Vec<usize>,
    row_cols: Vec<u32>,
    row_count: Vec<u32>,
    queue: Vec<u32>,
    trip_row: Vec<u32>,
    trip_col: Vec<u32>,
    trip_value: Vec<f64>,
    kernel: Kernel,
    counts: Vec<u32>,
    scratch_a: Vec<usize>,
    scratch_b: Vec<usize>,
    scratch_value: Vec<f64>,
}

/// The active submatrix: columns with values, rows with indices only, both in lists by count.
#[derive(Clone, Debug, Default)]
struct Kernel {
    col_begin: Vec<usize>,
    col_len: Vec<u32>,
    col_cap: Vec<u32>,
    col_index: Vec<u32>,
    col_value: Vec<f64>,
    row_begin: Vec<usize>,
    row_len: Vec<u32>,
    row_cap: Vec<u32>,
    row_index: Vec<u32>,
    cols: CountLists,
    rows: CountLists,
    mult: Vec<f64>,
    seen: Vec<u32>,
}

/// Doubly linked lists of items by their count.
#[derive(Clone, Debug, Default)]
struct CountLists {
    head: Vec<u32>,
    next: Vec<u32>,
    prev: Vec<u32>,
    count: Vec<u32>,
}

impl CountLists {
    fn reset(&mut self, items: usize, max_count: usize) {
        self.head.clear();
        self.head.resize(max_count + 1, NONE);
        for v in [&mut self.next, &mut self.prev, &mut self.count] {
            v.clear();
            v.resize(items, NONE);
        }
    }

    fn link(&mut self, item: u32, count: u32) {
        let k = item as usize;
        let h = self.head[count as usize];
        self.next[k] = h;
        self.prev[k] = NONE;
        self.count[k] = count;
        if h != NONE {
            self.prev[h as usize] = item;
        }
        self.head[count as usize] = item;
    }

    fn unlink(&mut self, item: u32) {
        let k = item as usize;
        if self.count[k] == NONE {
            return;
        }
        let (p, n) = (self.prev[k], self.next[k]);
        if p == NONE {
            self.head[self.count[k] as usize] = n;
        } else {
            self.next[p as usize] = n;
        }
        if n != NONE {
            self.prev[n as usize] = p;
        }
        self.count[k] = NONE;
    }
}

fn refill<T: Clone>(v: &mut Vec<T>, len: usize, value: T) {
    v.clear();
    v.resize(len, value);
}

impl Factor {
    /// Factorises the basis made of the variables `basic` (structural `j < n` is column `j` of `a`, logical `n + i` the
    /// unit column of row `i`), and reorders `basic` by position: `basic[p]` pivots in row `row(p)`.
    ///
    /// If the basis is singular, dependent variables are replaced by the logicals of rows without a pivot; the
    /// replaced ones are returned as (variable, row).
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
        self.reach.resize(m);
    }

    /// Peels off columns, then rows, with a single active entry, as long as there are any.
    fn singletons(&mut self, a: &Compressed, w: &mut Workspace, ticks: &mut u64) {
        let m = self.m;
        let ncols = w.vars.len();
        // Active rows with their columns.
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
        w.queue.clear();
        w.queue
            .extend((0..ncols as u32).filter(|&k| w.col_count[k as usize] == 1));
        let mut at = 0;
        while at < w.queue.len() {
            let k = w.queue[at] as usize;
            at += 1;
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
        // Rows.
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
        let mut at = 0;
        while at < w.queue.len() {
            let i = w.queue[at] as usize;
            at += 1;
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

    /// Sorts the entries of the remaining columns into U entries and the kernel.
    fn split(&mut self, a: &Compressed, w: &mut Workspace) {
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

    /// Gives the rows without a pivot their logicals. No eta has been recorded for such a row, so the logical's
    /// column of U is the unit vector.
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

    /// Lays out U both ways and L by rows.
    fn assemble(&mut self, w: &mut Workspace, ticks: &mut u64) {
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

impl Kernel {
    fn col(&self, k: u32) -> std::ops::Range<usize> {
        let b = self.col_begin[k as usize];
        b..b + self.col_len[k as usize] as usize
    }

    fn row(&self, i: u32) -> std::ops::Range<usize> {
        let b = self.row_begin[i as usize];
        b..b + self.row_len[i as usize] as usize
    }

    /// A pivot of small Markowitz cost that is not too small in its column.
    fn search(&mut self, threshold: f64, ticks: &mut u64) -> Option<(u32, u32)> {
        let mut best: Option<(u32, u32)> = None;
        let mut best_cost = u64::MAX;
        let mut best_size = 0.0;
        let mut searched = 0;
        let max_count = self.cols.head.len() - 1;
        for c in 1..=max_count {
            let mut k = self.cols.head[c];
            while k != NONE {
                let next = self.cols.next[k as usize];
                let range = self.col(k);
                *ticks += range.len() as u64;
                let largest = self.col_value[range.clone()]
                    .iter()
                    .fold(0.0f64, |a, v| a.max(v.abs()));
                if largest < PIVOT_TINY {
                    self.bury(k);
                    k = next;
                    continue;
                }
                for pos in range {
                    let size = self.col_value[pos].abs();
                    if size >= threshold * largest {
                        let i = self.col_index[pos];
                        let cost = (c as u64 - 1) * (self.row_len[i as usize] as u64 - 1);
                        if cost < best_cost || (cost == best_cost && size > best_size) {
                            (best, best_cost, best_size) = (Some((i, k)), cost, size);
                        }
                    }
                }
                searched += 1;
                if best_cost <= ((c - 1) * (c - 1)) as u64
                    || (best.is_some() && searched >= SEARCH_LIMIT)
                {
                    return best;
                }
                k = next;
            }
            let mut i = self.rows.head.get(c).copied().unwrap_or(NONE);
            while i != NONE {
                for at in self.row(i) {
                    let k = self.row_index[at];
                    let cost = (c as u64 - 1) * (self.col_len[k as usize] as u64 - 1);
                    if cost >= best_cost {
                        continue;
                    }
                    let (mut largest, mut size) = (0.0f64, 0.0f64);
                    let range = self.col(k);
                    *ticks += range.len() as u64;
                    for pos in range {
                        let v = self.col_value[pos].abs();
                        largest = largest.max(v);
                        if self.col_index[pos] == i {
                            size = v;
                        }
                    }
                    if size >= threshold * largest && size >= PIVOT_TINY {
                        (best, best_cost, best_size) = (Some((i, k)), cost, size);
                    }
                }
                searched += 1;
                if best_cost <= (c * (c - 1)) as u64 || (best.is_some() && searched >= SEARCH_LIMIT)
                {
                    return best;
                }
                i = self.rows.next[i as usize];
            }
        }
        best
    }

    /// Takes a numerically empty column out of the game.
    fn bury(&mut self, k: u32) {
        self.cols.unlink(k);
        for pos in self.col(k) {
            let i = self.col_index[pos];
            self.remove_from_row(i, k);
            self.rows.unlink(i);
            if self.row_len[i as usize] > 0 {
                self.rows.link(i, self.row_len[i as usize]);
            }
        }
        self.col_len[k as usize] = 0;
    }

    fn remove_from_row(&mut self, i: u32, k: u32) {
        let r = self.row(i);
        if let Some(pos) = self.row_index[r.clone()].iter().position(|&x| x == k) {
            self.row_index.swap(r.start + pos, r.end - 1);
            self.row_len[i as usize] -= 1;
        }
    }

    fn push_to_row(&mut self, i: u32, k: u32) {
        let r = self.row(i);
        let iu = i as usize;
        if self.row_len[iu] == self.row_cap[iu] {
            let begin = self.row_index.len();
            let cap = 2 * self.row_cap[iu] + 4;
            self.row_index.extend_from_within(r);
            self.row_index.resize(begin + cap as usize, 0);
            self.row_begin[iu] = begin;
            self.row_cap[iu] = cap;
        }
        self.row_index[self.row_begin[iu] + self.row_len[iu] as usize] = k;
        self.row_len[iu] += 1;
    }

    fn push_to_col(&mut self, k: u32, i: u32, v: f64) {
        let r = self.col(k);
        let ku = k as usize;
        if self.col_len[ku] == self.col_cap[ku] {
            let begin = self.col_index.len();
            let cap = 2 * self.col_cap[ku] + 4;
            self.col_index.extend_from_within(r.clone());
            self.col_value.extend_from_within(r);
            self.col_index.resize(begin + cap as usize, 0);
            self.col_value.resize(begin + cap as usize, 0.0);
            self.col_begin[ku] = begin;
            self.col_cap[ku] = cap;
        }
        let at = self.col_begin[ku] + self.col_len[ku] as usize;
        self.col_index[at] = i;
        self.col_value[at] = v;
        self.col_len[ku] += 1;
    }

    /// Pivots on row `ip`, column `kp`: appends the eta to L, the row to the U triplets, updates the rest.
    fn eliminate(
        &mut self,
        ip: u32,
        kp: u32,
        l_index: &mut Vec<u32>,
        l_value: &mut Vec<f64>,
        (trip_row, trip_col, trip_value): (&mut Vec<u32>, &mut Vec<u32>, &mut Vec<f64>),
        ticks: &mut u64,
    ) -> f64 {
        self.cols.unlink(kp);
        self.rows.unlink(ip);
        let col = self.col(kp);
        let pivot = col
            .clone()
            .find(|&pos| self.col_index[pos] == ip)
            .map_or(1.0, |pos| self.col_value[pos]);
        let l_from = l_index.len();
        for pos in col {
            let i = self.col_index[pos];
            if i != ip {
                let mult = self.col_value[pos] / pivot;
                l_index.push(i);
                l_value.push(mult);
                self.mult[i as usize] = mult;
                self.rows.unlink(i);
            }
            self.remove_from_row(i, kp);
        }
        self.col_len[kp as usize] = 0;
        let l_len = l_index.len() - l_from;
        for at in self.row(ip) {
            let k = self.row_index[at];
            self.cols.unlink(k);
            let col = self.col(k);
            *ticks += 2 * (col.len() + l_len) as u64;
            let Some(pos) = col.clone().find(|&pos| self.col_index[pos] == ip) else {
                continue;
            };
            let u = self.col_value[pos];
            self.col_index.swap(pos, col.end - 1);
            self.col_value.swap(pos, col.end - 1);
            self.col_len[k as usize] -= 1;
            trip_row.push(ip);
            trip_col.push(k);
            trip_value.push(u);
            if l_len > 0 {
                let mut matched = 0;
                let mut pos = self.col_begin[k as usize];
                while pos < self.col_begin[k as usize] + self.col_len[k as usize] as usize {
                    let i = self.col_index[pos];
                    let mult = self.mult[i as usize];
                    if mult != 0.0 {
                        matched += 1;
                        self.seen[i as usize] = k;
                        let v = self.col_value[pos] - u * mult;
                        if v.abs() < DROP {
                            let last = self.col(k).end - 1;
                            self.col_index.swap(pos, last);
                            self.col_value.swap(pos, last);
                            self.col_len[k as usize] -= 1;
                            self.remove_from_row(i, k);
                            continue;
                        }
                        self.col_value[pos] = v;
                    }
                    pos += 1;
                }
                if matched < l_len {
                    for t in l_from..l_index.len() {
                        let i = l_index[t];
                        if self.seen[i as usize] != k {
                            let v = -u * l_value[t];
                            if v.abs() >= DROP {
                                self.push_to_col(k, i, v);
                                self.push_to_row(i, k);
                            }
                        }
                    }
                }
                // The stamp must not survive: a later pivot may meet the same column.
                for &i in &l_index[l_from..] {
                    self.seen[i as usize] = NONE;
                }
            }
            if self.col_len[k as usize] > 0 {
                self.cols.link(k, self.col_len[k as usize]);
            }
        }
        self.row_len[ip as usize] = 0;
        for &i in &l_index[l_from..] {
            self.mult[i as usize] = 0.0;
            if self.row_len[i as usize] > 0 {
                self.rows.link(i, self.row_len[i as usize]);
            }
        }
        pivot
    }
}
