//! PRICE: a row of the simplex tableau, `rho^T A`, over the nonbasic variables.

use super::{Core, observe};
use crate::outcome::VarStatus;
use crate::sparse_vec::TINY;

/// Entries of the tableau row smaller than this are left out.
const ALPHA_TINY: f64 = 1e-12;
/// Above this density of `rho`, columns are multiplied one by one instead of rows being added up.
const COLUMN_WISE: f64 = 0.35;

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

impl Core {
    /// Fills `packed` with the tableau row that belongs to `rho`.
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
            // Adding up rows; the list of touched columns is kept only while the row is expected to stay sparse.
            let listed = self.density.row < 0.1;
            self.row.index.clear();
            let mut ticks = 0;
            for &i in &self.rho.index {
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
                    for (&j, &v) in index.iter().zip(value) {
                        self.row.value[j as usize] += r * v;
                    }
                }
            }
            self.ticks += 2 * ticks + if listed { 0 } else { n as u64 };
            if listed {
                // In variable order: the order in which columns were met depends on rounding-free structure only, but
                // a sorted scan of `d` and `status` is kinder to the cache when the row is not tiny.
                for k in 0..self.row.index.len() {
                    let j = self.row.index[k];
                    let v = std::mem::take(&mut self.row.value[j as usize]);
                    if v.abs() > ALPHA_TINY && self.status[j as usize] != VarStatus::Basic {
                        self.packed.push(j, v);
                    }
                }
                self.row.index.clear();
            } else {
                for (j, slot) in self.row.value.iter_mut().enumerate() {
                    if *slot != 0.0 {
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
