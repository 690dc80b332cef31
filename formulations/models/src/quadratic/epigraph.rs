//! The linear model of a program with a convex quadratic objective: a column above each block of
//! its products.

use remat_lp::{Bounds, ColId, Model, ModelBuilder, ModelError, Quadratic, RowId};
use std::sync::Arc;

/// Allowance for rounding in a tangent, relative to its terms.
const ROUNDING: f64 = 1e-14;

/// Largest useful bound above a block.
const LARGEST: f64 = 1e9;

/// A model, its objective's products, and their blocks. Sums and values are those of the minimised
/// objective.
pub(super) struct Epigraph {
    pub model: Arc<Model>,
    pub quadratic: Arc<Quadratic>,
    /// Columns of each block. No product joins two blocks, so each has a value of its own.
    pub blocks: Vec<Vec<ColId>>,
    pub sign: f64,
}

/// A row with entries: `lower <= entries . x`.
pub(super) type Tangent = (Bounds, Vec<(ColId, f64)>);

impl Epigraph {
    pub fn new(model: Arc<Model>, quadratic: Arc<Quadratic>) -> Epigraph {
        Epigraph {
            blocks: quadratic.blocks(),
            sign: model.sense().sign(),
            model,
            quadratic,
        }
    }

    /// The column above a block.
    pub fn above(&self, block: usize) -> ColId {
        ColId((self.model.num_cols() + block) as u32)
    }

    /// Columns of products, and those above blocks.
    pub fn columns(&self) -> Vec<ColId> {
        let above = (0..self.blocks.len()).map(|k| self.above(k));
        self.blocks.iter().flatten().copied().chain(above).collect()
    }

    /// The linear model with these tangents as rows.
    ///
    /// # Errors
    /// As [`ModelBuilder::build`].
    pub fn linear(&self, tangents: Vec<Tangent>) -> Result<Model, ModelError> {
        let model = &self.model;
        let mut b = ModelBuilder::new(model.sense());
        b.set_name(model.name());
        b.set_offset(model.offset());
        for j in 0..model.num_cols() {
            let col = ColId(j as u32);
            b.add_col(model.costs()[j], model.col_bounds(col));
            b.set_integer(col, model.is_integer(col));
            b.set_col_name(col, model.col_name(col));
        }
        for (k, block) in self.blocks.iter().enumerate() {
            // A convex form without linear part is not negative.
            let above = b.add_col(self.sign, 0.0..=self.largest(block));
            b.set_col_name(above, self.name_above(k));
        }
        for i in 0..model.num_rows() {
            let row = RowId(i as u32);
            b.add_row(model.row_bounds(row), model.row(row));
            b.set_row_name(row, model.row_name(row));
        }
        for (bounds, entries) in tangents {
            b.add_row(bounds, entries);
        }
        b.build()
    }

    /// A name for the column above a block that no column of the model has.
    fn name_above(&self, block: usize) -> String {
        let names = || (0..self.model.num_cols()).map(|j| self.model.col_name(ColId(j as u32)));
        let longest = names().map(|name| name.len()).max().unwrap_or(0);
        let mut name = format!("block{block}");
        if names().any(|own| own == name) {
            name += &"_".repeat(longest);
        }
        name
    }

    /// Minimised objective of a point of the linear model.
    pub fn relaxed_objective(&self, x: &[f64]) -> f64 {
        let n = self.model.num_cols();
        self.sign * self.model.objective(&x[..n]) + x[n..].iter().sum::<f64>()
    }

    /// A bound above a block at all points; infinite if its columns have no useful one. With it the
    /// duals of a relaxation prove a bound even if the block's reduced cost is off by rounding.
    fn largest(&self, block: &[ColId]) -> f64 {
        let size = |col: ColId| {
            let bounds = self.model.col_bounds(col);
            bounds.lower.abs().max(bounds.upper.abs())
        };
        let row = |&col: &ColId| -> f64 {
            let entries = self.quadratic.row(col);
            size(col) * entries.map(|(other, v)| v.abs() * size(other)).sum::<f64>()
        };
        let most = 1.0 + block.iter().map(row).sum::<f64>();
        if most <= LARGEST { most } else { f64::INFINITY }
    }

    /// Minimised gradient of the products at a point.
    fn gradient(&self, x: &[f64]) -> Vec<f64> {
        let x = &x[..self.model.num_cols()];
        let mut gradient = self.quadratic.gradient(x);
        gradient.iter_mut().for_each(|g| *g *= self.sign);
        gradient
    }

    /// Value of each block at a point.
    pub fn values(&self, x: &[f64]) -> Vec<f64> {
        let gradient = self.gradient(x);
        let value = |block: &Vec<ColId>| {
            let terms = block.iter().map(|j| x[j.index()] * gradient[j.index()]);
            0.5 * terms.sum::<f64>()
        };
        self.blocks.iter().map(value).collect()
    }

    /// Objective of a point of the program, in the model's sense.
    pub fn objective(&self, x: &[f64]) -> f64 {
        let x = &x[..self.model.num_cols()];
        self.model.objective(x) + self.quadratic.value(x)
    }

    /// A point of the program with the values of the columns above blocks.
    pub fn extended(&self, x: &[f64]) -> Vec<f64> {
        let mut all = x[..self.model.num_cols()].to_vec();
        all.extend(self.values(x));
        all
    }

    /// Tangents of the blocks at a point. `wanted` selects blocks by number and value. A block of
    /// one integer column gets secants between neighbouring integers, which are above its tangents.
    pub fn tangents(&self, x: &[f64], wanted: impl Fn(usize) -> bool) -> Vec<Tangent> {
        let (gradient, values) = (self.gradient(x), self.values(x));
        let mut tangents = Vec::new();
        for (k, block) in self.blocks.iter().enumerate() {
            if !wanted(k) {
                continue;
            }
            match block[..] {
                [col] if self.model.is_integer(col) => {
                    let curvature = self.quadratic.row(col).map(|e| self.sign * e.1).sum();
                    let secants = Self::secant_starts(x[col.index()]);
                    tangents.extend(secants.map(|from| self.secant(k, col, curvature, from)));
                }
                _ => {
                    let above = [(self.above(k), 1.0)].into_iter();
                    let entries = block.iter().map(|&j| (j, -gradient[j.index()]));
                    let size: f64 = entries.clone().map(|(j, g)| (g * x[j.index()]).abs()).sum();
                    let low = -values[k] - ROUNDING * block.len() as f64 * size;
                    let entries = above.chain(entries.filter(|e| e.1 != 0.0));
                    tangents.push((Bounds::new(low, f64::INFINITY), entries.collect()));
                }
            }
        }
        tangents
    }

    /// The integers at which secants near a value begin: both around an integer.
    pub fn secant_starts(at: f64) -> impl Iterator<Item = f64> {
        let near = at.round();
        let is_whole = (at - near).abs() < 1e-6;
        let first = if is_whole { near - 1.0 } else { at.floor() };
        let both = [first, first + 1.0].into_iter();
        both.take(1 + usize::from(is_whole))
    }

    /// The line through a square at two neighbouring integers: it is above the square only between
    /// them.
    fn secant(&self, block: usize, col: ColId, curvature: f64, from: f64) -> Tangent {
        let slope = 0.5 * curvature * (2.0 * from + 1.0);
        let low = -0.5 * curvature * from * (from + 1.0);
        let low = low - ROUNDING * (low.abs() + slope.abs());
        let mut entries = vec![(self.above(block), 1.0)];
        if slope != 0.0 {
            entries.push((col, -slope));
        }
        (Bounds::new(low, f64::INFINITY), entries)
    }
}
