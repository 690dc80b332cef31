//! A sum of rows by column: dense values with the list of columns that have one.

use super::shift::Base;
use super::sum::Sum;
use remat_lp::{Model, RowId};

/// Sparse accumulator of an aggregation or a cut.
pub(super) struct Accumulator {
    pub value: Vec<f64>,
    /// Columns with a value, in the order of their first summand.
    pub index: Vec<u32>,
    present: Vec<bool>,
    /// The side, with the largest summand of `value`.
    pub side: Sum,
}

impl Accumulator {
    /// An empty one for a number of columns.
    pub fn new(columns: usize) -> Accumulator {
        Accumulator {
            value: vec![0.0; columns],
            index: Vec::new(),
            present: vec![false; columns],
            side: Sum::default(),
        }
    }

    /// Adds a summand to the coefficient of a column.
    #[inline]
    pub fn add(&mut self, j: usize, v: f64) {
        if !self.present[j] {
            self.present[j] = true;
            self.index.push(j as u32);
        }
        self.value[j] += v;
        self.side.see(v);
    }

    /// Adds the coefficients of a row, but not its side.
    pub fn add_row(&mut self, model: &Model, row: usize, factor: f64) {
        for (j, a) in model.row(RowId(row as u32)) {
            self.add(j.index(), factor * a);
        }
    }

    pub fn clear(&mut self) {
        for &j in &self.index {
            self.value[j as usize] = 0.0;
            self.present[j as usize] = false;
        }
        self.index.clear();
        self.side = Sum::default();
    }

    /// Columns with nonzero coefficients, in the order of `index`.
    pub fn entries(&self) -> impl Iterator<Item = (u32, f64)> + '_ {
        let entry = |&j: &u32| (j, self.value[j as usize]);
        self.index.iter().map(entry).filter(|e| e.1 != 0.0)
    }

    /// Sorts the columns. A scan of all columns is cheaper than sorting unless there are few.
    pub fn sort(&mut self) {
        if 8 * self.index.len() < self.present.len() {
            self.index.sort_unstable();
        } else {
            self.index.clear();
            let columns = 0..self.present.len() as u32;
            (self.index).extend(columns.filter(|&j| self.present[j as usize]));
        }
    }

    /// The sum as an equation with these slacks, or its opposite.
    pub fn base(&self, slacks: &[(u32, f64, bool)], sign: f64) -> Base {
        Base {
            entries: self.entries().map(|(j, a)| (j, sign * a)).collect(),
            slacks: slacks.iter().map(|&(r, f, u)| (r, sign * f, u)).collect(),
            rhs: self.side.scaled(sign),
        }
    }
}
