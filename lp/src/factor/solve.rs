//! FTRAN (`B x = b`) and BTRAN (`B^T y = c`), plain or hypersparse.
//!
//! A plain pass walks all pivots and skips zeros. When the right side has few entries and the result is expected to,
//! a depth-first search first finds the pivots that can be reached, and only those are touched.

use super::{Etas, Factor, NONE, Ragged};
use crate::simplex::observe;
use crate::sparse_vec::{GHOST, SparseVec, TINY};

/// Above this share of entries in the current vector, a plain pass is cheaper than a search.
const HYPER_CURRENT: f64 = 0.05;
/// Above this expected share of entries in the result, likewise.
const HYPER_EXPECTED: f64 = 0.10;

/// Edges after which a search is given up for a plain pass: following one costs some ten times as much as passing over a
/// pivot. (A result of 5,000 to 10,000 entries among 85,000 is found by a search three times as long as by a plain pass.)
fn search_limit(v: &SparseVec) -> u64 {
    v.value.len() as u64 / 10 + 20
}

/// Depth-first search over the pattern of a triangular matrix.
#[derive(Clone, Debug, Default)]
pub(super) struct Reach {
    mark: Vec<bool>,
    stack: Vec<(u32, usize)>,
    /// Nodes in post-order: process from the back.
    found: Vec<u32>,
}

impl Reach {
    pub fn resize(&mut self, m: usize) {
        self.mark.clear();
        self.mark.resize(m, false);
        self.found.clear();
        self.found.reserve(m);
        self.stack.clear();
        self.stack.reserve(m);
    }

    /// Fills `found` with everything reachable from `roots`, where node `p` leads to `index[range(p)]`. It is given up once
    /// more than `limit` edges have been seen; whether it was shows in the ticks returned.
    #[inline]
    fn search_within(
        &mut self,
        limit: u64,
        roots: &[u32],
        index: &[u32],
        range: impl Fn(usize) -> (usize, usize),
    ) -> u64 {
        let mut ticks = 0;
        self.found.clear();
        for &root in roots {
            if self.mark[root as usize] {
                continue;
            }
            self.mark[root as usize] = true;
            self.stack.push((root, range(root as usize).0));
            while let Some(top) = self.stack.last_mut() {
                let (node, mut at) = *top;
                let end = range(node as usize).1;
                let mut child = NONE;
                while at < end {
                    let c = index[at];
                    at += 1;
                    ticks += 1;
                    if !self.mark[c as usize] {
                        child = c;
                        break;
                    }
                }
                top.1 = at;
                if ticks > limit {
                    self.unmark();
                    return ticks;
                }
                if child == NONE {
                    self.stack.pop();
                    self.found.push(node);
                } else {
                    self.mark[child as usize] = true;
                    self.stack.push((child, range(child as usize).0));
                }
            }
        }
        self.unmark();
        ticks
    }

    fn unmark(&mut self) {
        for &p in &self.found {
            self.mark[p as usize] = false;
        }
        for &(p, _) in &self.stack {
            self.mark[p as usize] = false;
        }
        self.stack.clear();
    }
}

/// How an eta pass treats the list of nonzeros.
#[derive(Clone, Copy, PartialEq)]
enum Mode {
    /// Only what can be reached is touched.
    Hyper,
    /// All etas, keeping the list.
    Listed,
    /// All etas; the list is wrong afterwards.
    Dense,
}

/// A pass with a unit triangular matrix, eta by eta in order, or when sparse by reach.
fn eta_pass(v: &mut SparseVec, reach: &mut Reach, etas: &Etas, mode: Mode) -> u64 {
    let Etas {
        order,
        begin,
        end,
        index,
        value,
    } = etas;
    let mut ticks = 0;
    if order.is_empty() {
        return 0;
    }
    let mut mode = mode;
    if mode == Mode::Hyper {
        let limit = search_limit(v);
        let seen = reach.search_within(limit, &v.index, index, |p| (begin[p], end[p]));
        ticks += seen;
        if seen > limit {
            mode = Mode::Listed;
        }
    }
    if mode == Mode::Hyper {
        v.index.clear();
        for &p in reach.found.iter().rev() {
            let x = v.value[p as usize];
            if x.abs() > TINY {
                v.index.push(p);
                for pos in begin[p as usize]..end[p as usize] {
                    v.value[index[pos] as usize] -= x * value[pos];
                }
            } else {
                v.value[p as usize] = 0.0;
            }
        }
        return ticks * 2;
    }
    let values = &mut v.value[..];
    for &p in order {
        let x = values[p as usize];
        if x.abs() <= TINY {
            continue;
        }
        let r = begin[p as usize]..end[p as usize];
        ticks += r.len() as u64;
        if mode == Mode::Dense {
            subtract(values, &index[r.clone()], &value[r], x);
            continue;
        }
        for (&i, &l) in index[r.clone()].iter().zip(&value[r]) {
            let i = i as usize;
            let old = values[i];
            let new = old - x * l;
            if old == 0.0 {
                v.index.push(i as u32);
            }
            values[i] = if new.abs() < TINY { GHOST } else { new };
        }
    }
    ticks + order.len() as u64
}

/// `values[index] -= x * coefficients`: the innermost loop of every dense pass.
#[inline(always)]
fn subtract(values: &mut [f64], index: &[u32], coefficients: &[f64], x: f64) {
    for (&i, &c) in index.iter().zip(coefficients) {
        debug_assert!((i as usize) < values.len());
        // SAFETY: indices stored in L and U are rows of the factorised basis (`Factor::build` and `Factor::update` take
        // them from the matrix and from listed vectors), and `values` has one entry per row.
        unsafe { *values.get_unchecked_mut(i as usize) -= x * c };
    }
}

/// A backward pass with `U` (columns, pivots from last to first) or forward with `U^T` (rows, first to last).
fn upper_pass<'a>(
    v: &mut SparseVec,
    reach: &mut Reach,
    order: impl Iterator<Item = &'a u32>,
    lists: &Ragged,
    diag: &[f64],
    hyper: bool,
) -> u64 {
    let mut ticks = 0;
    let mut hyper = hyper;
    if hyper {
        let limit = search_limit(v);
        let seen = reach.search_within(limit, &v.index, &lists.index, |p| {
            let r = lists.range(p);
            (r.start, r.end)
        });
        ticks += seen;
        hyper = seen <= limit;
    }
    if hyper {
        v.index.clear();
        for &p in reach.found.iter().rev() {
            let pu = p as usize;
            let x = v.value[pu];
            if x.abs() > TINY {
                let x = x / diag[pu];
                v.value[pu] = x;
                v.index.push(p);
                let (index, value) = lists.list(pu);
                for (&i, &u) in index.iter().zip(value) {
                    v.value[i as usize] -= x * u;
                }
            } else {
                v.value[pu] = 0.0;
            }
        }
        return ticks * 2;
    }
    v.index.clear();
    for &p in order {
        ticks += 1;
        if p == NONE {
            continue;
        }
        let pu = p as usize;
        let x = v.value[pu];
        if x.abs() > TINY {
            let x = x / diag[pu];
            v.value[pu] = x;
            v.index.push(p);
            let (index, value) = lists.list(pu);
            ticks += index.len() as u64;
            subtract(&mut v.value, index, value, x);
        } else if x != 0.0 {
            v.value[pu] = 0.0;
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
        let listed = self.ftran_lower(v, expected);
        self.ftran_upper(v, expected, listed);
    }

    /// As [`Factor::ftran`], and keeps the half-way vector for the next [`Factor::update`].
    pub fn ftran_entering(&mut self, v: &mut SparseVec, expected: f64) {
        let listed = self.ftran_lower(v, expected);
        self.spike_index.clear();
        self.spike_value.clear();
        self.spike_len = v.index.len();
        if self.product_due() {
            // Nobody asks for the spike.
        } else if listed {
            for &i in &v.index {
                let x = v.value[i as usize];
                if x.abs() > TINY {
                    self.spike_index.push(i);
                    self.spike_value.push(x);
                }
            }
        } else {
            for (i, &x) in v.value.iter().enumerate() {
                if x.abs() > TINY {
                    self.spike_index.push(i as u32);
                    self.spike_value.push(x);
                }
            }
        }
        self.ftran_upper(v, expected, listed);
    }

    /// Solves `B x = v` and writes to `out` the entries of `x` at `targets` only; `v` is cleared.
    ///
    /// A weight update of dual steepest edge needs a dense `x` at a few positions. What these depend on is found by a
    /// search along the rows of `U`, and only that is computed (by dot products, in the order in which the search leaves
    /// the nodes). Measured on the relaxations of the rematerialization program: `x` has 75% nonzeros, the search meets a
    /// tenth of that. Where it meets too much, the plain pass is taken, and the search is not tried for a while.
    pub fn ftran_at(
        &mut self,
        v: &mut SparseVec,
        targets: &[u32],
        expected: &mut f64,
        out: &mut Vec<f64>,
    ) {
        out.clear();
        let listed = self.ftran_lower(v, *expected);
        let sparse = listed && self.hyper(v, *expected);
        // An entry after the product form updates takes the entries at all their pivots.
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
            if listed && self.reach.found.len() * 8 < self.m {
                for &p in &self.reach.found {
                    v.value[p as usize] = 0.0;
                }
                v.clear();
            } else {
                v.value.fill(0.0);
                v.index.clear();
            }
            return;
        }
        self.ftran_upper(v, *expected, sparse);
        observe(expected, v.density());
        out.extend(targets.iter().map(|&p| v.value[p as usize]));
        v.clear();
    }

    /// The part of an upper solve that `targets` depend on. False, and nothing done, if that is too much.
    fn solve_at(&mut self, v: &mut SparseVec, targets: &[u32]) -> bool {
        if self.search_pause > 0 {
            self.search_pause -= 1;
            return false;
        }
        let entries = (self.u_entries as i64 + self.fill).max(0) as u64 + self.m as u64;
        let limit = entries / 4;
        let lists = &self.u_rows;
        let ticks = self.reach.search_within(limit, targets, &lists.index, |p| {
            let r = lists.range(p);
            (r.start, r.end)
        });
        self.ticks += ticks;
        if ticks > limit {
            self.search_backoff = (2 * self.search_backoff).clamp(1, 32);
            self.search_pause = self.search_backoff;
            return false;
        }
        self.search_backoff = 0;
        for &p in &self.reach.found {
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

    /// Returns whether the list of nonzeros is right afterwards.
    fn ftran_lower(&mut self, v: &mut SparseVec, expected: f64) -> bool {
        let mode = match self.hyper(v, expected) {
            true if self.lower.order.len() > v.index.len() => Mode::Hyper,
            true => Mode::Listed,
            false => Mode::Dense,
        };
        let mut ticks = eta_pass(v, &mut self.reach, &self.lower, mode);
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
        mode != Mode::Dense
    }

    fn ftran_upper(&mut self, v: &mut SparseVec, expected: f64, listed: bool) {
        let hyper = listed && self.hyper(v, expected);
        let ticks = upper_pass(
            v,
            &mut self.reach,
            self.order.iter().rev(),
            &self.u_cols,
            &self.diag,
            hyper,
        );
        self.ticks += ticks + self.product.ftran(v);
    }

    /// Solves `B^T y = v` in place.
    pub fn btran(&mut self, v: &mut SparseVec, expected: f64) {
        self.btran_upper(v, expected);
        self.btran_lower(v, expected);
    }

    /// Sets `v` to row `r` of the inverse of the basis, and keeps the half-way vector for the next
    /// [`Factor::update`].
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
        let ticks = upper_pass(
            v,
            &mut self.reach,
            self.order.iter(),
            &self.u_rows,
            &self.diag,
            hyper,
        );
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
        let mode = match self.hyper(v, expected) {
            true if self.lower_rows.order.len() > v.index.len() => Mode::Hyper,
            true => Mode::Listed,
            false => Mode::Dense,
        };
        ticks += eta_pass(v, &mut self.reach, &self.lower_rows, mode);
        if mode == Mode::Dense {
            v.relist();
        } else {
            v.tighten();
        }
        self.ticks += ticks;
    }
}
