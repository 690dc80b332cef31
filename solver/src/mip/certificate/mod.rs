//! Independently checkable proofs: VIPR 1.1 (Cheung, Gleixner & Steffy 2017, *Verifying integer
//! programming results*).
//!
//! The proof does not record the search that found the result. It is a second tree, depth first,
//! without presolve, with cuts proven one by one at the root, and with the known optimum. Each of
//! its leaves is a combination of rows, bounds and assumptions with rational multipliers. The
//! multipliers come from the duals of the floating-point relaxation; bounds correct them so that
//! the leaf holds exactly. Numbers of the model are read as their printed decimals.

mod aggregation;
mod bounds;
mod choice;
pub(crate) mod claim;
mod coefficients;
mod cuts;
mod duals;
mod equations;
mod leaf;
mod probing;
mod proof;
mod settling;
mod solution;
mod stated;
mod tree;
mod write;

pub(crate) use settling::{OUT_OF_WORK, Settling};

use crate::mip::exact::{Rational, decimal, total};
use remat_lp::{ColId, Model, RowId};
use std::fmt::Write as _;

/// Direction of a constraint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ConstraintSense {
    AtLeast,
    AtMost,
    Equal,
}

impl ConstraintSense {
    fn letter(self) -> char {
        match self {
            ConstraintSense::AtLeast => 'G',
            ConstraintSense::AtMost => 'L',
            ConstraintSense::Equal => 'E',
        }
    }
}

/// Positions of a row's or column's sides among the constraints.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SidePositions {
    pub lower: Option<usize>,
    pub upper: Option<usize>,
}

/// The model in exact numbers, minimised.
pub(crate) struct ExactModel {
    /// Costs in minimised form.
    pub cost: Vec<Rational>,
    pub integer: Vec<bool>,
    pub rows: Vec<Vec<(usize, Rational)>>,
    pub row_sides: Vec<(Option<Rational>, Option<Rational>)>,
    pub col_sides: Vec<(Option<Rational>, Option<Rational>)>,
    /// `true` if the original model is maximised.
    pub maximise: bool,
}

/// Absolute value from which on a bound is infinite, as in MPS files.
const INFINITE: f64 = 1e20;

fn side(v: f64) -> Option<Rational> {
    if v.abs() >= INFINITE {
        None
    } else {
        decimal(v)
    }
}

impl ExactModel {
    fn new(model: &Model) -> Option<ExactModel> {
        let maximise = model.sense().sign() < 0.0;
        let n = model.num_cols();
        let mut cost = Vec::with_capacity(n);
        for &c in model.costs() {
            let c = decimal(c)?;
            cost.push(if maximise { -c } else { c });
        }
        let mut rows = Vec::with_capacity(model.num_rows());
        for i in 0..model.num_rows() {
            let mut row = Vec::new();
            for (j, a) in model.row(RowId(i as u32)) {
                row.push((j.index(), decimal(a)?));
            }
            rows.push(row);
        }
        let pairs = |l: &[f64], u: &[f64]| -> Vec<_> {
            l.iter().zip(u).map(|(&l, &u)| (side(l), side(u))).collect()
        };
        Some(ExactModel {
            cost,
            integer: (0..n).map(|j| model.is_integer(ColId(j as u32))).collect(),
            rows,
            row_sides: pairs(model.row_lower(), model.row_upper()),
            col_sides: pairs(model.col_lower(), model.col_upper()),
            maximise,
        })
    }

    /// Objective of a point in minimised form, without the offset.
    fn value(&self, point: &[Rational]) -> Rational {
        total(self.cost.iter().zip(point).map(|(c, x)| c * x))
    }

    /// Cost of a column in the original model.
    fn given_cost(&self, j: usize) -> Rational {
        if self.maximise {
            -self.cost[j].clone()
        } else {
            self.cost[j].clone()
        }
    }
}

fn entries<'a>(e: impl Iterator<Item = (usize, &'a Rational)>) -> String {
    let mut out = String::new();
    let mut count = 0;
    for (j, v) in e {
        // Writing to a string cannot fail.
        let _ = write!(out, " {j} {v}");
        count += 1;
    }
    format!("{count}{out}")
}
