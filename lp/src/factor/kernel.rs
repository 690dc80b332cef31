//! The active submatrix of the elimination: Markowitz search with threshold pivoting, and the
//! elimination step.

use super::NONE;
use super::lu::PIVOT_TINY;

/// Entries smaller than this after elimination are cancellation noise.
const DROP: f64 = 1e-14;
/// Number of columns and rows after which the Markowitz search stops once it has a candidate (Suhl
/// & Suhl 1990 use 4).
const SEARCH_LIMIT: usize = 4;

/// The active submatrix: columns with values, rows with indices only, both in lists by count.
#[derive(Clone, Debug, Default)]
pub(super) struct ActiveSubmatrix {
    pub(super) col_begin: Vec<usize>,
    pub(super) col_len: Vec<u32>,
    pub(super) col_cap: Vec<u32>,
    pub(super) col_index: Vec<u32>,
    pub(super) col_value: Vec<f64>,
    pub(super) row_begin: Vec<usize>,
    pub(super) row_len: Vec<u32>,
    pub(super) row_cap: Vec<u32>,
    pub(super) row_index: Vec<u32>,
    pub(super) cols: CountLists,
    pub(super) rows: CountLists,
    pub(super) mult: Vec<f64>,
    pub(super) seen: Vec<u32>,
}

/// Doubly linked lists of items by their count.
#[derive(Clone, Debug, Default)]
pub(super) struct CountLists {
    pub(super) head: Vec<u32>,
    pub(super) next: Vec<u32>,
    pub(super) prev: Vec<u32>,
    pub(super) count: Vec<u32>,
}

impl CountLists {
    pub(super) fn reset(&mut self, items: usize, max_count: usize) {
        self.head.clear();
        self.head.resize(max_count + 1, NONE);
        for v in [&mut self.next, &mut self.prev, &mut self.count] {
            v.clear();
            v.resize(items, NONE);
        }
    }

    pub(super) fn link(&mut self, item: u32, count: u32) {
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

impl ActiveSubmatrix {
    fn col(&self, k: u32) -> std::ops::Range<usize> {
        let b = self.col_begin[k as usize];
        b..b + self.col_len[k as usize] as usize
    }

    fn row(&self, i: u32) -> std::ops::Range<usize> {
        let b = self.row_begin[i as usize];
        b..b + self.row_len[i as usize] as usize
    }

    /// Returns a pivot of small Markowitz cost that is not too small in its column.
    pub(super) fn search(&mut self, threshold: f64, ticks: &mut u64) -> Option<(u32, u32)> {
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

    /// Removes a numerically empty column from the search.
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

    /// Pivots on row `ip`, column `kp`: appends the eta to L and the row to the U triplets, and
    /// updates the rest.
    pub(super) fn eliminate(
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
                // Clear the stamps: a later pivot may meet the same column.
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
