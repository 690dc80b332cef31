//! The program that the first-order method works on: scaled so that the norm of its matrix is at
//! most 1, and minimised.
//!
//! Columns are stored as runs of rows with the same coefficient: a column with entries in many
//! consecutive rows costs one difference of sums.

use super::RowOrder;
use crate::model::Model;

/// Passes in which rows and columns are divided by the square root of their largest entry (Ruiz).
const EQUILIBRATION_PASSES: usize = 4;

/// A run of rows, at the places `first..end` of the row order, with the same coefficient in a
/// column.
#[derive(Clone, Copy, Debug)]
struct RowRange {
    first: u32,
    end: u32,
    value: f64,
}

#[derive(Clone, Debug)]
pub(super) struct Scaled {
    /// Runs of column `j` are `start[j]..start[j + 1]`.
    start: Vec<u32>,
    runs: Vec<RowRange>,
    pub cost: Vec<f64>,
    pub lower: Vec<f64>,
    pub upper: Vec<f64>,
    /// Bounds of rows, in their order.
    pub row_lower: Vec<f64>,
    pub row_upper: Vec<f64>,
    /// Factors: the scaled matrix is `row[i] * a_ij * col[j]`, with rows in their order.
    pub row: Vec<f64>,
    pub col: Vec<f64>,
    /// The model's row at each place.
    pub order: Vec<u32>,
    /// Turns the minimised objective into the model's.
    pub sign: f64,
}

impl Scaled {
    pub fn new(model: &Model, order: &RowOrder) -> Scaled {
        let sign = model.sense.sign();
        let (m, n) = (model.num_rows(), model.num_cols());
        let order = order.places(m);
        let [row, col] = factors(model);
        let mut place = vec![0u32; m];
        for (at, i) in order.iter().enumerate() {
            place[*i as usize] = at as u32;
        }
        let (mut start, mut runs) = (vec![0], Vec::new());
        let mut own: Vec<(u32, f64)> = Vec::new();
        for j in 0..n {
            own.clear();
            own.extend(model.col_entries(j).map(|(i, v)| (place[i], v)));
            own.sort_unstable_by_key(|e| e.0);
            let follows = |a: &(u32, f64), b: &(u32, f64)| a.0 + 1 == b.0 && a.1 == b.1;
            runs.extend(own.chunk_by(follows).map(|run| RowRange {
                first: run[0].0,
                end: run[0].0 + run.len() as u32,
                value: run[0].1,
            }));
            start.push(runs.len() as u32);
        }
        let over = |bounds: &[f64]| -> Vec<f64> {
            bounds.iter().zip(&col).map(|(b, by)| b / by).collect()
        };
        let of_rows = |bounds: &[f64]| -> Vec<f64> {
            let at = |i: &u32| bounds[*i as usize] * row[*i as usize];
            order.iter().map(at).collect()
        };
        let costs = model.cost.iter().zip(&col);
        Scaled {
            start,
            runs,
            cost: costs.map(|(c, by)| sign * c * by).collect(),
            lower: over(&model.col_lower),
            upper: over(&model.col_upper),
            row_lower: of_rows(&model.row_lower),
            row_upper: of_rows(&model.row_upper),
            row: order.iter().map(|i| row[*i as usize]).collect(),
            col,
            order,
            sign,
        }
    }

    pub fn num_runs(&self) -> usize {
        self.runs.len()
    }

    /// `out = A x`; `out` is one longer than the number of rows.
    pub fn times(&self, x: &[f64], out: &mut [f64]) {
        out.fill(0.0);
        for (j, x) in x.iter().enumerate() {
            if *x == 0.0 {
                continue;
            }
            let x = x * self.col[j];
            for run in self.of(j) {
                let v = run.value * x;
                out[run.first as usize] += v;
                out[run.end as usize] -= v;
            }
        }
        let mut sum = 0.0;
        for (out, by) in out.iter_mut().zip(&self.row) {
            sum += *out;
            *out = sum * by;
        }
    }

    /// Prefix sums of scaled duals, from the empty to the full sum, for [`Scaled::transposed`].
    pub fn sums(&self, y: &[f64], out: &mut [f64]) {
        let mut sum = 0.0;
        for ((y, by), out) in y.iter().zip(&self.row).zip(out.iter_mut()) {
            *out = sum;
            sum += y * by;
        }
        out[y.len()] = sum;
    }

    /// `A^T y` of one column, from the prefix sums of the duals.
    #[inline]
    pub fn transposed(&self, j: usize, sums: &[f64]) -> f64 {
        let of = |run: &RowRange| run.value * (sums[run.end as usize] - sums[run.first as usize]);
        self.of(j).iter().map(of).sum::<f64>() * self.col[j]
    }

    #[inline]
    fn of(&self, j: usize) -> &[RowRange] {
        &self.runs[self.start[j] as usize..self.start[j + 1] as usize]
    }
}

/// Factors of rows and columns.
fn factors(model: &Model) -> [Vec<f64>; 2] {
    let (m, n) = (model.num_rows(), model.num_cols());
    let (mut row, mut col) = (vec![1.0f64; m], vec![1.0f64; n]);
    let (mut of_row, mut of_col) = (vec![0.0f64; m], vec![0.0f64; n]);
    let divide = |by: &mut [f64], of: &[f64]| {
        for (by, of) in by.iter_mut().zip(of).filter(|f| *f.1 > 0.0) {
            *by /= of.sqrt();
        }
    };
    // The last pass scales by Pock and Chambolle 2011, lemma 2 with an exponent of 1, which makes
    // the norm at most 1.
    for pass in 0..=EQUILIBRATION_PASSES {
        of_row.fill(0.0);
        of_col.fill(0.0);
        for (j, of_col) in of_col.iter_mut().enumerate() {
            for (i, v) in model.col_entries(j) {
                let size = v.abs() * row[i] * col[j];
                if pass == EQUILIBRATION_PASSES {
                    of_row[i] += size;
                    *of_col += size;
                } else {
                    of_row[i] = of_row[i].max(size);
                    *of_col = of_col.max(size);
                }
            }
        }
        divide(&mut row, &of_row);
        divide(&mut col, &of_col);
    }
    [row, col]
}
