//! The program that the barrier method works on: `min c x`, `A x = b`, `l <= x <= u`, scaled.
//!
//! Fixed columns of a model are moved into `b`. A row that is not an equation gets a column of its
//! own, with entry `-1` in that row and the row's bounds. A row without bounds is left out. The
//! objective is always minimised.

use crate::compressed::Compressed;
use crate::model::Model;
use crate::quadratic::Quadratic;
use crate::scaling::Scaling;

/// Scaled program in standard form, and its place in the model.
pub(super) struct BarrierProgram {
    /// Matrix by columns, row indices ascending, and by rows.
    pub a: Compressed,
    pub at: Compressed,
    pub b: Vec<f64>,
    pub cost: Vec<f64>,
    pub lower: Vec<f64>,
    pub upper: Vec<f64>,
    /// The model's column of each of the first columns; the remaining columns are slacks of rows.
    pub cols: Vec<u32>,
    /// The model's row of each row.
    pub rows: Vec<u32>,
    /// Row of each slack column.
    pub slack_row: Vec<u32>,
    pub scaling: Scaling,
    /// Objective of the fixed columns and the model's offset, minimised.
    pub offset: f64,
    /// Turns the minimised objective into the model's.
    pub sign: f64,
    /// The matrix of a quadratic objective, whole and by columns, minimised.
    pub q: Option<Compressed>,
}

impl BarrierProgram {
    pub fn new(model: &Model, scaling: bool) -> BarrierProgram {
        let (m, n) = (model.num_rows(), model.num_cols());
        let sign = model.sense.sign();
        let scaling = if scaling {
            let cols = Compressed::from(model.cols.clone());
            Scaling::geometric(&cols, &Compressed::from(model.rows.clone()))
        } else {
            Scaling::identity(m, n)
        };
        let mut place = vec![u32::MAX; m];
        let mut rows = Vec::new();
        for (i, at) in place.iter_mut().enumerate() {
            if model.row_lower[i].is_finite() || model.row_upper[i].is_finite() {
                *at = rows.len() as u32;
                rows.push(i as u32);
            }
        }
        let mut p = BarrierProgram {
            a: Compressed::default(),
            at: Compressed::default(),
            b: vec![0.0; rows.len()],
            cost: Vec::new(),
            lower: Vec::new(),
            upper: Vec::new(),
            cols: Vec::new(),
            rows,
            slack_row: Vec::new(),
            scaling,
            offset: sign * model.offset,
            sign,
            q: None,
        };
        for j in 0..n {
            let (l, u) = (model.col_lower[j], model.col_upper[j]);
            if l == u {
                p.offset += sign * model.cost[j] * l;
                for (i, v) in model.col_entries(j) {
                    if place[i] != u32::MAX {
                        p.b[place[i] as usize] -= v * l * p.scaling.row[i];
                    }
                }
                continue;
            }
            let c = p.scaling.col[j];
            let row = &p.scaling.row;
            let entries = model.col_entries(j).filter(|(i, _)| place[*i] != u32::MAX);
            p.a.push(entries.map(|(i, v)| (place[i], v * c * row[i])));
            p.cols.push(j as u32);
            p.cost.push(sign * model.cost[j] * c);
            p.lower.push(l / c);
            p.upper.push(u / c);
        }
        for k in 0..p.rows.len() {
            let i = p.rows[k] as usize;
            let (l, u) = (model.row_lower[i], model.row_upper[i]);
            let r = p.scaling.row[i];
            if l == u {
                p.b[k] += l * r;
            } else {
                p.a.push([(k as u32, -1.0)]);
                p.slack_row.push(k as u32);
                p.cost.push(0.0);
                p.lower.push(l * r);
                p.upper.push(u * r);
            }
        }
        p.at = p.a.transpose(p.rows.len());
        p
    }

    /// Adds a quadratic part of the objective. Fixed columns turn into costs and a constant.
    pub fn with_quadratic(mut self, model: &Model, quadratic: &Quadratic) -> BarrierProgram {
        let matrix = &quadratic.matrix;
        let mut place = vec![u32::MAX; model.num_cols()];
        for (k, &j) in self.cols.iter().enumerate() {
            place[j as usize] = k as u32;
        }
        let mut q = Compressed::default();
        for (k, &j) in self.cols.iter().enumerate() {
            let scale = self.sign * self.scaling.col[j as usize];
            let mut fixed = 0.0;
            let entries = matrix.iter(j as usize).filter_map(|(i, v)| {
                if place[i] == u32::MAX {
                    fixed += scale * v * model.col_lower[i];
                    return None;
                }
                Some((place[i], scale * v * self.scaling.col[i]))
            });
            q.push(entries);
            self.cost[k] += fixed;
        }
        for _ in self.cols.len()..self.num_cols() {
            q.push([]);
        }
        for j in (0..model.num_cols()).filter(|&j| place[j] == u32::MAX) {
            let fixed = matrix.iter(j).filter(|&(i, _)| place[i] == u32::MAX);
            let gradient: f64 = fixed.map(|(i, v)| v * model.col_lower[i]).sum();
            self.offset += 0.5 * self.sign * gradient * model.col_lower[j];
        }
        self.q = Some(q);
        self
    }

    pub fn num_rows(&self) -> usize {
        self.rows.len()
    }

    pub fn num_cols(&self) -> usize {
        self.cost.len()
    }

    pub fn is_free(&self, j: usize) -> bool {
        !self.lower[j].is_finite() && !self.upper[j].is_finite()
    }

    /// `out = A x`.
    pub fn times(&self, x: &[f64], out: &mut [f64]) {
        for (i, o) in out.iter_mut().enumerate() {
            *o = dot(self.at.vector(i), x);
        }
    }

    /// `A^T y` of one column.
    #[inline]
    pub fn transposed(&self, j: usize, y: &[f64]) -> f64 {
        dot(self.a.vector(j), y)
    }

    /// Values of the model's columns, in its units.
    pub fn values(&self, model: &Model, x: &[f64]) -> Vec<f64> {
        let mut out = model.col_lower.clone();
        for (k, &j) in self.cols.iter().enumerate() {
            out[j as usize] = x[k] * self.scaling.col[j as usize];
        }
        out
    }

    /// Duals of the model's rows, in its units and sense.
    pub fn duals(&self, model: &Model, y: &[f64]) -> Vec<f64> {
        let mut out = vec![0.0; model.num_rows()];
        for (k, &i) in self.rows.iter().enumerate() {
            out[i as usize] = self.sign * y[k] * self.scaling.row[i as usize];
        }
        out
    }

    /// Values of this program's columns from values of the model's columns; each slack column gets
    /// its row's activity.
    pub fn values_from(&self, x: &[f64]) -> Vec<f64> {
        let cols = self.cols.iter();
        let mut out: Vec<f64> = cols
            .map(|&j| x[j as usize] / self.scaling.col[j as usize])
            .collect();
        out.resize(self.num_cols(), 0.0);
        let first = self.cols.len();
        for (k, &i) in self.slack_row.iter().enumerate() {
            // The slack itself is still zero.
            let activity = dot(self.at.vector(i as usize), &out);
            out[first + k] = activity - self.b[i as usize];
        }
        out
    }

    /// Duals of this program's rows from duals of the model's rows.
    pub fn duals_from(&self, y: &[f64]) -> Vec<f64> {
        let rows = self.rows.iter().map(|&i| i as usize);
        rows.map(|i| self.sign * y[i] / self.scaling.row[i])
            .collect()
    }
}

#[inline]
fn dot((index, value): (&[u32], &[f64]), x: &[f64]) -> f64 {
    let mut sum = 0.0;
    for (&i, &v) in index.iter().zip(value) {
        sum += v * x[i as usize];
    }
    sum
}

pub(super) fn largest(v: &[f64]) -> f64 {
    v.iter().fold(
        0.0,
        |a: f64, x| {
            if x.is_nan() { f64::NAN } else { a.max(x.abs()) }
        },
    )
}
