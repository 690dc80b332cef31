//! PRICE: a row of the simplex tableau, `rho^T A`, over the nonbasic variables.

use super::Core;
use crate::outcome::VarStatus;
use crate::sparse_vec::{CHUNK, TINY, all_zero, observe};

/// Entries of the tableau row below this size are dropped.
const ALPHA_TINY: f64 = 1e-12;
/// Density of `rho` above which columns are multiplied one by one instead of adding up rows.
const COLUMN_WISE: f64 = 0.8;
/// Density of `rho` above which rows come from the price matrix.
const ROW_DENSITY_LIMIT: f64 = 0.02;
/// Least number of rows for which the price matrix pays.
const ROW_PRICING_THRESHOLD: usize = 500;

/// The nonbasic entries of a tableau row, structurals and logicals together.
#[derive(Clone, Debug, Default)]
pub(crate) struct PackedRow {
    pub index: Vec<u32>,
    pub value: Vec<f64>,
}

impl PackedRow {
    pub fn reserve(&mut self, total: usize) {
        self.index.clear();
        self.value.clear();
        self.index.reserve(total);
        self.value.reserve(total);
    }

    #[inline]
    fn push(&mut self, j: u32, v: f64) {
        self.index.push(j);
        self.value.push(v);
    }

    /// Pairs of variable and entry.
    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = (usize, f64)> + '_ {
        self.index
            .iter()
            .zip(&self.value)
            .map(|(&j, &v)| (j as usize, v))
    }
}

/// A copy of the matrix by rows for pricing with long rows of the inverse. Its rows are in the
/// order of positions, so that a pass walks memory forwards. It has only the columns that were
/// nonbasic at the last factorisation (a third of the columns of the compact rematerialization
/// program). Columns that have left the basis since are multiplied one by one.
#[derive(Clone, Debug, Default)]
pub(crate) struct PriceMatrix {
    start: Vec<u32>,
    index: Vec<u32>,
    value: Vec<f64>,
    /// For each column, true if it is in the matrix or in `late`.
    member: Vec<bool>,
    late: Vec<u32>,
    valid: bool,
}

impl PriceMatrix {
    /// Marks the copy invalid after a change of positions or of the matrix.
    pub fn invalidate(&mut self) {
        self.valid = false;
    }

    /// Records that a column has left the basis.
    #[inline]
    pub fn left_basis(&mut self, j: usize) {
        if self.valid && j < self.member.len() && !self.member[j] {
            self.member[j] = true;
            self.late.push(j as u32);
        }
    }
}

/// `row[index] += r * coefficients`: the innermost loop of pricing.
#[inline(always)]
fn add_multiple(row: &mut [f64], index: &[u32], coefficients: &[f64], r: f64) {
    for (&j, &v) in index.iter().zip(coefficients) {
        debug_assert!((j as usize) < row.len());
        // SAFETY: the matrix by rows and its copies hold indices of structural columns only, and
        // `row` has one entry for each of them (`Core::resize`).
        unsafe { *row.get_unchecked_mut(j as usize) += r * v };
    }
}

impl Core {
    fn build_price_matrix(&mut self) {
        let w = &mut self.price_matrix;
        let basic = |j: u32| self.status[j as usize] == VarStatus::Basic;
        w.start.clear();
        w.index.clear();
        w.value.clear();
        w.late.clear();
        for p in 0..self.m {
            w.start.push(w.index.len() as u32);
            let (index, value) = self.at.vector(self.factor.row(p));
            for (&j, &v) in index.iter().zip(value) {
                if !basic(j) {
                    w.index.push(j);
                    w.value.push(v);
                }
            }
        }
        w.start.push(w.index.len() as u32);
        w.member.clear();
        w.member.extend((0..self.n as u32).map(|j| !basic(j)));
        w.valid = true;
        self.ticks += self.at.nnz() as u64;
    }

    /// Adds up rows of the price matrix into `row`, without a list of touched columns.
    fn add_up_price_rows(&mut self) {
        if !self.price_matrix.valid {
            self.build_price_matrix();
        }
        let w = &self.price_matrix;
        let row = &mut self.row.value;
        let mut ticks = 0;
        for &p in &self.rho.index {
            let r = self.rho.value[p as usize];
            let range = w.start[p as usize] as usize..w.start[p as usize + 1] as usize;
            ticks += range.len() as u64;
            add_multiple(row, &w.index[range.clone()], &w.value[range], r);
        }
        for &j in &w.late {
            let j = j as usize;
            if self.status[j] != VarStatus::Basic {
                let (index, value) = self.a.vector(j);
                ticks += index.len() as u64;
                row[j] = index
                    .iter()
                    .zip(value)
                    .map(|(&i, &v)| v * self.rho.value[self.factor.position(i as usize)])
                    .sum();
            }
        }
        self.ticks += 2 * ticks;
    }

    /// Fills `packed` with the tableau row of `rho`.
    pub fn price(&mut self) {
        let n = self.n;
        self.packed.index.clear();
        self.packed.value.clear();
        let density = self.rho.density();
        if density > COLUMN_WISE {
            self.ticks += self.a.nnz() as u64;
            for (i, y) in self.by_row.iter_mut().enumerate() {
                *y = self.rho.value[self.factor.position(i)];
            }
            for j in 0..n {
                if self.status[j] == VarStatus::Basic {
                    continue;
                }
                let (index, value) = self.a.vector(j);
                let mut dot = 0.0;
                for (&i, &v) in index.iter().zip(value) {
                    dot += self.by_row[i as usize] * v;
                }
                if dot.abs() > ALPHA_TINY {
                    self.packed.push(j as u32, dot);
                }
            }
        } else {
            // Add up rows. The list of touched columns is kept only while the row is expected to
            // stay sparse. The price matrix is updated at every pivot, which pays if it leaves out
            // many columns.
            let long = density > ROW_DENSITY_LIMIT && self.m >= ROW_PRICING_THRESHOLD;
            let listed = self.density.row < 0.1 && !long;
            self.row.index.clear();
            let mut ticks = 0;
            if long {
                self.add_up_price_rows();
            }
            for &i in self.rho.index.iter().filter(|_| !long) {
                let r = self.rho.value[i as usize];
                let (index, value) = self.at.vector(self.factor.row(i as usize));
                ticks += index.len() as u64;
                if listed {
                    for (&j, &v) in index.iter().zip(value) {
                        let slot = &mut self.row.value[j as usize];
                        if *slot == 0.0 {
                            self.row.index.push(j);
                            *slot = crate::sparse_vec::GHOST;
                        }
                        *slot += r * v;
                    }
                } else {
                    add_multiple(&mut self.row.value, index, value, r);
                }
            }
            self.ticks += 2 * ticks + if listed { 0 } else { n as u64 };
            if listed {
                // This visits columns in the order of their first touch, which depends only on
                // structure, not on rounding.
                for k in 0..self.row.index.len() {
                    let j = self.row.index[k];
                    let v = std::mem::take(&mut self.row.value[j as usize]);
                    if v.abs() > ALPHA_TINY && self.status[j as usize] != VarStatus::Basic {
                        self.packed.push(j, v);
                    }
                }
                self.row.index.clear();
            } else {
                for (k, chunk) in self.row.value.chunks_mut(CHUNK).enumerate() {
                    if all_zero(chunk) {
                        continue;
                    }
                    for (j, slot) in (k * CHUNK..).zip(chunk) {
                        let v = std::mem::take(slot);
                        if v.abs() > ALPHA_TINY && self.status[j] != VarStatus::Basic {
                            self.packed.push(j as u32, v);
                        }
                    }
                }
            }
        }
        if n > 0 {
            observe(
                &mut self.density.row,
                self.packed.index.len() as f64 / n as f64,
            );
        }
        for &i in &self.rho.index {
            let v = self.rho.value[i as usize];
            let j = n + self.factor.row(i as usize);
            if v.abs() > TINY.max(ALPHA_TINY) && self.status[j] != VarStatus::Basic {
                self.packed.push(j as u32, v);
            }
        }
    }
}
