//! Programs derived from a program.

use remat_lp::{Bounds, ColId, Model, ModelBuilder, RowId};
use std::fmt;

/// A way to derive a program.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Variant {
    /// The objective times this.
    Objective(f64),
    /// A finite bound at this multiple of the largest value of the best point, where continuous
    /// columns have none: a modeller's placeholder for infinity.
    Bounds(f64),
}

impl fmt::Display for Variant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Variant::Objective(factor) => write!(f, "objective {factor:e}"),
            Variant::Bounds(factor) => write!(f, "bounds {factor:e}"),
        }
    }
}

/// The variants of every program.
pub fn all() -> Vec<Variant> {
    vec![
        Variant::Objective(1e-6),
        Variant::Objective(1e3),
        Variant::Objective(1e6),
        Variant::Bounds(10.0),
        Variant::Bounds(1e3),
    ]
}

impl Variant {
    /// The objective of the variant as a multiple of the program's.
    pub fn factor(&self) -> f64 {
        match self {
            Variant::Objective(factor) => *factor,
            Variant::Bounds(_) => 1.0,
        }
    }

    /// The program with the same best points. `None` if it would be the same program, or if its
    /// numbers leave the range of a model.
    pub fn of(&self, model: &Model, best: Option<&[f64]>) -> Option<Model> {
        match *self {
            Variant::Objective(factor) => {
                let is_priced = model.costs().iter().any(|c| *c != 0.0);
                is_priced.then(|| rebuilt(model, factor, |_, bounds| bounds))?
            }
            Variant::Bounds(factor) => {
                let best = best?;
                let is_open = |j: usize| {
                    let b = model.col_bounds(ColId(j as u32));
                    !model.is_integer(ColId(j as u32)) && b.lower.is_finite() && b.upper >= 1e20
                };
                if !(0..model.num_cols()).any(is_open) {
                    return None;
                }
                let largest = best.iter().fold(1.0f64, |a, v| a.max(v.abs()));
                rebuilt(model, 1.0, |j, bounds| match is_open(j) {
                    true => Bounds::new(bounds.lower, bounds.lower.max(0.0) + factor * largest),
                    false => bounds,
                })
            }
        }
    }
}

/// The model with its objective times a factor, and other bounds.
fn rebuilt(model: &Model, factor: f64, bounds: impl Fn(usize, Bounds) -> Bounds) -> Option<Model> {
    let mut b = ModelBuilder::new(model.sense());
    b.set_offset(factor * model.offset());
    for (j, cost) in model.costs().iter().enumerate() {
        let col = ColId(j as u32);
        let new = b.add_col(factor * cost, bounds(j, model.col_bounds(col)));
        b.set_integer(new, model.is_integer(col));
        b.set_col_name(new, model.col_name(col));
    }
    for i in 0..model.num_rows() {
        let row = RowId(i as u32);
        let new = b.add_row(model.row_bounds(row), model.row(row));
        b.set_row_name(new, model.row_name(row));
    }
    b.build().ok()
}
