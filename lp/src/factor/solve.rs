//! FTRAN (`B x = b`) and BTRAN (`B^T y = c`), plain or hypersparse.
//!
//! A plain pass walks all pivots and skips zeros. If the right side has few entries and few are
//! expected in the result, a sparse pass touches only reachable positions (`pending.rs`).

use super::pending::PendingSet;
use super::{Etas, Factor, NONE, Ragged};
use crate::sparse_vec::{CHUNK, SparseVec, TINY, all_zero, observe};

/// Above this share of entries in the current vector, a plain pass is cheaper than a sparse one.
const HYPER_CURRENT: f64 = 0.1;
/// Above this expected share of entries in the result, a plain pass is cheaper.
const HYPER_EXPECTED: f64 = 0.20;

/// An eta pass is plain above this share of present or expected entries in the part that it works
/// on.
const ETA_DENSE: f64 = 0.25;

/// A sparse pass with a unit triangular matrix, in ascending or descending order of positions.
/// Needs a correct list of nonzeros.
fn eta_sparse(v: &mut SparseVec, pending: &mut PendingSet, etas: &Etas, ascending: bool) -> u64 {
    pending.mark_all(&v.index);
    v.index.clear();
    let mut ticks = 0;
    let visit = |pending: &mut PendingSet, p: u32| {
        let x = v.value[p as usize];
        if x.abs() <= TINY {
            v.value[p as usize] = 0.0;
            return;
        }
        v.index.push(p);
        let r = etas.begin[p as usize]..etas.end[p as usize];
        ticks += r.len() as u64;
        for (&i, &l) in etas.index[r.clone()].iter().zip(&etas.value[r]) {
            v.value[i as usize] -= x * l;
            pending.mark(i);
        }
    };
    if ascending {
        pending.ascending(visit);
    } else {
        pending.descending(visit);
    }
    2 * ticks + v.index.len() as u64
}

/// A plain pass with a unit triangular matrix, in ascending or descending order, over the positions
/// from `first` on, which hold all its entries. Needs a correct list of nonzeros and keeps it
/// correct.
fn eta_dense(v: &mut SparseVec, etas: &Etas, first: usize, ascending: bool) -> u64 {
    let last = v.value.len();
    let mut ticks = (last - first) as u64;
    let mut done = first;
    while done < last {
        let end = (done / CHUNK * CHUNK + CHUNK).min(last);
        let (from, to) = match ascending {
            true => (done, end),
            false => (last - (end - first), last - (done - first)),
        };
        done = end;
        if all_zero(&v.value[from..to]) {
            continue;
        }
        for k in 0..to - from {
            let p = if ascending { from + k } else { to - 1 - k };
            let x = v.value[p];
            if x.abs() > TINY {
                let r = etas.begin[p]..etas.end[p];
                ticks += r.len() as u64;
                subtract(&mut v.value, &etas.index[r.clone()], &etas.value[r], x);
            }
        }
    }
    v.relist_from(first);
    ticks
}

/// `values[index] -= x * coefficients`: the innermost loop of every dense pass.
#[inline(always)]
fn subtract(values: &mut [f64], index: &[u32], coefficients: &[f64], x: f64) {
    for (&i, &c) in index.iter().zip(coefficients) {
        debug_assert!((i as usize) < values.len());
        // SAFETY: indices stored in L and U are rows of the factorised basis (`Factor::build` and
        // `Factor::update` take them from the matrix and from listed vectors), and `values` has one
        // entry per row.
        unsafe { *values.get_unchecked_mut(i as usize) -= x * c };
    }
}

/// Data that passes with `U` need.
struct Upper<'a> {
    /// Its entries by columns and by rows.
    columns: &'a Ragged,
    rows: &'a Ragged,
    /// Pivots in elimination order: first one per row, by position or [`NONE`] if an update moved
    /// it to the end, then the updated pivots.
    order: &'a [u32],
    place: &'a [u32],
    diag: &'a [f64],
    /// Number of initial pivots that belong to slack columns.
    slacks: usize,
}

/// Divides by the pivot `p` and subtracts its multiple from the rest. Returns the length of its
/// list, or `None` if its value is zero.
#[inline(always)]
fn upper_pivot(values: &mut [f64], p: usize, lists: &Ragged, diag: &[f64]) -> Option<u64> {
    let x = values[p];
    if x.abs() <= TINY {
        values[p] = 0.0;
        return None;
    }
    let x = x / diag[p];
    values[p] = x;
    let (index, value) = lists.list(p);
    subtract(values, index, value, x);
    Some(index.len() as u64)
}

/// Does the same as [`upper_pivot`] and marks the positions it reaches.
#[inline(always)]
fn upper_pivot_marked(
    values: &mut [f64],
    pending: &mut PendingSet,
    p: u32,
    lists: &Ragged,
    diag: &[f64],
) -> Option<u64> {
    let x = values[p as usize];
    if x.abs() <= TINY {
        values[p as usize] = 0.0;
        return None;
    }
    let x = x / diag[p as usize];
    values[p as usize] = x;
    let (index, value) = lists.list(p as usize);
    for (&i, &u) in index.iter().zip(value) {
        values[i as usize] -= x * u;
        pending.mark(i);
    }
    Some(index.len() as u64)
}

/// A sparse pass with `U` by columns, pivots from last to first: `U x = v`. Needs a correct list.
fn upper_columns_sparse(v: &mut SparseVec, pending: &mut PendingSet, upper: &Upper<'_>) -> u64 {
    let lists = upper.columns;
    pending.mark_all(&v.index);
    v.index.clear();
    let mut ticks = 0;
    let (built, updated) = upper.order.split_at(v.value.len());
    for &p in updated.iter().rev().filter(|&&p| p != NONE) {
        if let Some(len) = upper_pivot_marked(&mut v.value, pending, p, lists, upper.diag) {
            ticks += len;
            v.index.push(p);
        }
    }
    pending.descending(|pending, p| {
        if built[p as usize] != NONE
            && let Some(len) = upper_pivot_marked(&mut v.value, pending, p, lists, upper.diag)
        {
            ticks += len;
            v.index.push(p);
        }
    });
    2 * ticks + v.index.len() as u64
}

/// A sparse pass with `U` by rows, pivots from first to last: `U^T x = v`. Needs a correct list.
fn upper_rows_sparse(v: &mut SparseVec, pending: &mut PendingSet, upper: &Upper<'_>) -> u64 {
    let lists = upper.rows;
    pending.mark_all(&v.index);
    v.index.clear();
    let mut ticks = 0;
    let (built, updated) = upper.order.split_at(v.value.len());
    pending.ascending(|pending, p| {
        if built[p as usize] != NONE
            && let Some(len) = upper_pivot_marked(&mut v.value, pending, p, lists, upper.diag)
        {
            ticks += len;
            v.index.push(p);
        }
    });
    for &p in updated.iter().filter(|&&p| p != NONE) {
        if let Some(len) = upper_pivot(&mut v.value, p as usize, lists, upper.diag) {
            ticks += len;
            v.index.push(p);
        }
    }
    2 * ticks + v.index.len() as u64
}

/// A plain pass with `U` by columns, pivots from last to first: `U x = v`. The list may be wrong
/// before the pass.
fn upper_columns(v: &mut SparseVec, upper: &Upper<'_>) -> u64 {
    let lists = upper.columns;
    v.index.clear();
    let mut ticks = upper.order.len() as u64;
    let (built, updated) = upper.order.split_at(v.value.len());
    for &p in updated.iter().rev().filter(|&&p| p != NONE) {
        if let Some(len) = upper_pivot(&mut v.value, p as usize, lists, upper.diag) {
            ticks += len;
            v.index.push(p);
        }
    }
    let mut end = built.len();
    while end > 0 {
        let begin = (end - 1) / CHUNK * CHUNK;
        if !all_zero(&v.value[begin..end]) {
            for p in (begin..end).rev() {
                if v.value[p] == 0.0 || built[p] == NONE {
                    continue;
                }
                if let Some(len) = upper_pivot(&mut v.value, p, lists, upper.diag) {
                    ticks += len;
                    v.index.push(p as u32);
                }
            }
        }
        end = begin;
    }
    ticks
}

/// A plain pass with `U` by rows, pivots from first to last: `U^T x = v`. Needs a correct list.
fn upper_rows(v: &mut SparseVec, upper: &Upper<'_>) -> u64 {
    let lists = upper.rows;
    let mut ticks = upper.order.len() as u64;
    let (built, updated) = upper.order.split_at(v.value.len());
    // Columns of slacks are unit vectors, so earlier pivots do not change theirs.
    let (mut first, mut kept) = (built.len(), 0);
    for k in 0..v.index.len() {
        let p = v.index[k];
        let place = upper.place[p as usize] as usize;
        first = first.min(place.max(upper.slacks));
        if place < upper.slacks
            && let Some(len) = upper_pivot(&mut v.value, p as usize, lists, upper.diag)
        {
            ticks += len;
            first = upper.slacks;
            v.index[kept] = p;
            kept += 1;
        }
    }
    v.index.truncate(kept);
    let mut begin = first;
    while begin < built.len() {
        let end = (begin / CHUNK * CHUNK + CHUNK).min(built.len());
        if !all_zero(&v.value[begin..end]) {
            for p in (begin..end).filter(|&p| built[p] != NONE) {
                if v.value[p] == 0.0 {
                    continue;
                }
                if let Some(len) = upper_pivot(&mut v.value, p, lists, upper.diag) {
                    ticks += len;
                    v.index.push(p as u32);
                }
            }
        }
        begin = end;
    }
    for &p in updated.iter().filter(|&&p| p != NONE) {
        if let Some(len) = upper_pivot(&mut v.value, p as usize, lists, upper.diag) {
            ticks += len;
            v.index.push(p);
        }
    }
    ticks
}

impl Factor {
    fn hyper(&self, v: &SparseVec, expected: f64) -> bool {
        expected <= HYPER_EXPECTED && v.index.len() as f64 <= HYPER_CURRENT * self.m as f64
    }

    /// Solves `B x = v` in place. `expected` is the expected share of nonzeros in the result.
    pub fn ftran(&mut self, v: &mut SparseVec, expected: f64) {
        self.ftran_lower(v);
        self.ftran_upper(v, expected);
    }

    /// Solves as [`Factor::ftran`] does, and keeps the half-solved vector for the next
    /// [`Factor::update`].
    pub fn ftran_entering(&mut self, v: &mut SparseVec, expected: f64) {
        self.ftran_lower(v);
        self.spike_index.clear();
        self.spike_value.clear();
        self.spike_len = v.index.len();
        if self.product_due() {
            // The product form does not use the spike.
        } else {
            for &i in &v.index {
                let x = v.value[i as usize];
                if x.abs() > TINY {
                    self.spike_index.push(i);
                    self.spike_value.push(x);
                }
            }
        }
        self.ftran_upper(v, expected);
    }

    /// Solves `B x = v` and writes to `out` the entries of `x` at `targets` only; `v` is cleared.
    ///
    /// A weight update of dual steepest edge needs a few positions of a dense `x`. A search along
    /// the rows of `U` finds the entries on which these depend, and only those are computed, by dot
    /// products in reverse elimination order. On relaxations of the rematerialization program, `x`
    /// has 75% nonzeros and the search visits a tenth of them. If the search visits too many
    /// entries, the plain pass is used and the next searches are skipped.
    pub fn ftran_at(
        &mut self,
        v: &mut SparseVec,
        targets: &[u32],
        expected: &mut f64,
        out: &mut Vec<f64>,
    ) {
        out.clear();
        // After the lower solve the vector is still sparse, however dense `x` is.
        self.ftran_lower(v);
        let sparse = self.hyper(v, *expected);
        // An entry after the product form updates depends on the entries at all their pivots.
        let mut wanted = std::mem::take(&mut self.wanted);
        wanted.clear();
        wanted.extend_from_slice(targets);
        wanted.extend_from_slice(self.product.pivots());
        let solved = !sparse && wanted.len() * 4 < self.m && self.solve_at(v, &wanted);
        self.wanted = wanted;
        if solved {
            self.ticks += self.product.ftran_values(&mut v.value);
            out.extend(targets.iter().map(|&p| v.value[p as usize]));
            self.product.wipe(&mut v.value);
            if self.found.len() * 8 < self.m {
                for &p in &self.found {
                    v.value[p as usize] = 0.0;
                }
                v.clear();
            } else {
                v.value.fill(0.0);
                v.index.clear();
            }
            return;
        }
        self.ftran_upper(v, *expected);
        observe(expected, v.density());
        out.extend(targets.iter().map(|&p| v.value[p as usize]));
        v.clear();
    }

    /// Solves the part of the upper system on which `targets` depend. Returns false, with the
    /// vector unchanged, if that part is too large.
    fn solve_at(&mut self, v: &mut SparseVec, targets: &[u32]) -> bool {
        if self.search_pause > 0 {
            self.search_pause -= 1;
            return false;
        }
        let entries = (self.u_entries as i64 + self.fill).max(0) as u64 + self.m as u64;
        let limit = entries / 4;
        let lists = &self.u_rows;
        let mut ticks = 0;
        let found = &mut self.found;
        found.clear();
        self.pending.mark_all(targets);
        let (built, updated) = self.order.split_at(self.m);
        self.pending.ascending(|pending, p| {
            if ticks <= limit && built[p as usize] != NONE {
                found.push(p);
                let index = lists.list(p as usize).0;
                ticks += index.len() as u64;
                pending.mark_all(index);
            }
        });
        self.ticks += ticks;
        if ticks > limit {
            self.search_backoff = (2 * self.search_backoff).clamp(1, 32);
            self.search_pause = self.search_backoff;
            return false;
        }
        self.search_backoff = 0;
        // All updated pivots are included: there are few.
        found.extend(updated.iter().filter(|&&p| p != NONE));
        for &p in found.iter().rev() {
            let pu = p as usize;
            let (index, value) = lists.list(pu);
            let mut x = v.value[pu];
            for (&j, &u) in index.iter().zip(value) {
                x -= u * v.value[j as usize];
            }
            v.value[pu] = if x == 0.0 { 0.0 } else { x / self.diag[pu] };
        }
        self.ticks += ticks;
        true
    }

    /// Multiplies by the inverse of `L` (ascending) or of its transpose. The list is correct before
    /// and after.
    fn eta_pass(&mut self, v: &mut SparseVec, expected: f64, ascending: bool) -> u64 {
        let Some(&first) = self.lower.order.first() else {
            v.tighten();
            return 0;
        };
        // Only entries from the first eta on take part.
        let first = first as usize;
        let part = v.index.iter().filter(|&&p| p as usize >= first).count() as f64;
        let etas = if ascending {
            &self.lower
        } else {
            &self.lower_rows
        };
        let region = (self.m - first) as f64;
        if part.max(expected * self.m as f64) > ETA_DENSE * region {
            eta_dense(v, etas, first, ascending)
        } else {
            eta_sparse(v, &mut self.pending, etas, ascending)
        }
    }

    fn ftran_lower(&mut self, v: &mut SparseVec) {
        let mut ticks = self.eta_pass(v, 0.0, true);
        for (e, &p) in self.r_pivot.iter().enumerate() {
            let (b, end) = (self.r_start[e], self.r_start[e + 1]);
            let mut dot = 0.0;
            for (&i, &r) in self.r_index[b..end].iter().zip(&self.r_value[b..end]) {
                dot += r * v.value[i as usize];
            }
            if dot != 0.0 {
                v.add(p as usize, -dot);
            }
        }
        ticks += (self.r_index.len() + self.r_pivot.len()) as u64;
        self.ticks += ticks;
    }

    /// `U`, and the marks that sparse passes with it need.
    fn upper(&mut self) -> (Upper<'_>, &mut PendingSet) {
        let upper = Upper {
            columns: &self.u_cols,
            rows: &self.u_rows,
            order: &self.order,
            place: &self.place,
            diag: &self.diag,
            slacks: self.slacks,
        };
        (upper, &mut self.pending)
    }

    fn ftran_upper(&mut self, v: &mut SparseVec, expected: f64) {
        let hyper = self.hyper(v, expected);
        let (upper, pending) = self.upper();
        let ticks = match hyper {
            true => upper_columns_sparse(v, pending, &upper),
            false => upper_columns(v, &upper),
        };
        self.ticks += ticks + self.product.ftran(v);
    }

    /// Solves `B^T y = v` in place.
    pub fn btran(&mut self, v: &mut SparseVec, expected: f64) {
        self.btran_upper(v, expected);
        self.btran_lower(v, expected);
    }

    /// Sets `v` to row `r` of the inverse of the basis, and keeps the half-solved vector for the
    /// next [`Factor::update`].
    pub fn btran_unit(&mut self, r: usize, v: &mut SparseVec, expected: f64) {
        v.clear();
        v.value[r] = 1.0;
        v.index.push(r as u32);
        self.btran_upper(v, expected);
        self.partial_row = r as u32;
        self.partial_index.clear();
        self.partial_value.clear();
        self.partial_index.extend_from_slice(&v.index);
        if !self.product_due() {
            let values = v.index.iter().map(|&i| v.value[i as usize]);
            self.partial_value.extend(values);
        }
        self.btran_lower(v, expected);
    }

    fn btran_upper(&mut self, v: &mut SparseVec, expected: f64) {
        self.ticks += self.product.btran(v);
        let hyper = self.hyper(v, expected);
        let (upper, pending) = self.upper();
        let ticks = match hyper {
            true => upper_rows_sparse(v, pending, &upper),
            false => upper_rows(v, &upper),
        };
        self.ticks += ticks;
    }

    fn btran_lower(&mut self, v: &mut SparseVec, expected: f64) {
        let mut ticks = 0;
        for e in (0..self.r_pivot.len()).rev() {
            let x = v.value[self.r_pivot[e] as usize];
            if x.abs() > TINY {
                let (b, end) = (self.r_start[e], self.r_start[e + 1]);
                ticks += (end - b) as u64;
                for pos in b..end {
                    v.add(self.r_index[pos] as usize, -x * self.r_value[pos]);
                }
            }
        }
        ticks += self.r_pivot.len() as u64;
        ticks += self.eta_pass(v, expected, false);
        self.ticks += ticks;
    }
}
