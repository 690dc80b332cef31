//! Exact outcomes of a model, with its numbers read as the decimals that were written.
//!
//! A small contradiction may be an artefact of rounding: equations that repeat one another differ
//! in their last digits. So a program is called infeasible only if it is infeasible in each
//! [`Reading`].

use super::{
    Rational, RationalBound, RationalEnd, RationalLp, RationalRow, decimal, short_decimal,
};
use crate::certificate::{self, check};
use crate::ids::Bounds;
use crate::model::Model;
use crate::outcome::{Basis, LpOutcome, Ray, Solution};
use crate::sum2::Sum2;

/// Interpretations of a model's numbers, from the strictest on.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Reading {
    /// The shortest decimals that give the doubles.
    Written,
    /// Fifteen digits: further digits are taken for rounding errors of doubles.
    Short,
    /// Sides of rows relaxed by 1e-13 of their numbers.
    Rounded,
    /// Sides and bounds relaxed by the tolerances.
    Tolerant,
}

/// Relaxation of a row's side against rounding, as a share of the side and of the row's largest
/// entry.
const ROUNDED_SHARE: f64 = 1e-13;
/// Relaxation of a side or bound, as a share of it (docs/reference/tolerances.md).
const MET_SHARE: f64 = 1e-9;

/// The outcome for a program; `None` if it takes too long or is stopped. If no strict reading is
/// feasible, an optimum `found` that is feasible within the tolerance is accepted.
pub(crate) fn judge(
    model: &Model,
    found: &LpOutcome,
    tolerance: f64,
    stopped: &dyn Fn() -> bool,
) -> Option<LpOutcome> {
    use Reading::{Rounded, Short, Tolerant, Written};
    let mut multipliers = Vec::new();
    for reading in [Written, Short, Rounded, Tolerant] {
        if reading == Tolerant
            && matches!(found, LpOutcome::Optimal(_))
            && check(model, found, 10.0 * tolerance).is_ok()
        {
            return Some(found.clone());
        }
        let mut lp = program(model, reading, tolerance)?;
        match lp.solve(stopped)? {
            RationalEnd::Optimal { y, x } => return Some(optimal(model, &lp, &x, &y)),
            RationalEnd::Unbounded { x, direction } => {
                return Some(LpOutcome::Unbounded(Ray {
                    x: within_bounds(model, &x),
                    direction: doubles(&direction),
                }));
            }
            RationalEnd::Infeasible { y } => multipliers = doubles(&y),
        }
    }
    certificate::oriented(model, multipliers).map(LpOutcome::Infeasible)
}

fn double(v: &Rational) -> f64 {
    v.to_f64().value()
}

fn doubles(values: &[Rational]) -> Vec<f64> {
    values.iter().map(double).collect()
}

fn within_bounds(model: &Model, x: &[Rational]) -> Vec<f64> {
    let sides = model.col_lower.iter().zip(&model.col_upper);
    let within = |(v, (&l, &u)): (&Rational, (&f64, &f64))| Bounds::new(l, u).nearest(double(v));
    x.iter().zip(sides).map(within).collect()
}

fn program(model: &Model, reading: Reading, tolerance: f64) -> Option<RationalLp> {
    let number = |v: f64| match reading {
        Reading::Short => short_decimal(v),
        _ => decimal(v),
    };
    let side = |v: f64, looser: f64| -> RationalBound {
        Some(number(v)? + Rational::try_from(looser).ok()?)
    };
    let met = |v: f64| match reading {
        Reading::Tolerant => tolerance.max(MET_SHARE * v.abs()),
        _ => 0.0,
    };
    let bounds = model.col_lower.iter().zip(&model.col_upper);
    let bounds = bounds.map(|(&l, &u)| (side(l, -met(l)), side(u, met(u))));
    let sign = Rational::try_from(model.sense.sign()).ok()?;
    let cost: Option<Vec<_>> = (model.cost.iter())
        .map(|&c| Some(number(c)? * &sign))
        .collect();
    let mut entries = Vec::with_capacity(model.num_rows());
    let mut sides = Vec::with_capacity(model.num_rows());
    for i in 0..model.num_rows() {
        let (l, u) = (model.row_lower[i], model.row_upper[i]);
        let largest = model
            .row_entries(i)
            .fold(0.0f64, |a, (_, v)| a.max(v.abs()));
        let looser = |v: f64| match reading {
            Reading::Rounded => ROUNDED_SHARE * (v.abs() + largest),
            _ => met(v),
        };
        sides.push((side(l, -looser(l)), side(u, looser(u))));
        let row: Option<Vec<_>> = (model.row_entries(i).filter(|(_, v)| *v != 0.0))
            .map(|(j, v)| Some((j, number(v)?)))
            .collect();
        entries.push(row?);
    }
    let rows: Vec<RationalRow<'_>> = entries.iter().map(Vec::as_slice).zip(sides).collect();
    RationalLp::new(&cost?, bounds.collect(), &rows)
}

fn optimal(model: &Model, lp: &RationalLp, x: &[Rational], y: &[Rational]) -> LpOutcome {
    let (m, n) = (model.num_rows(), model.num_cols());
    let sign = model.sense.sign();
    let x = within_bounds(model, x);
    let y: Vec<f64> = y.iter().map(|v| sign * double(v)).collect();
    let row_activity = (0..m).map(|i| {
        let mut sum = Sum2::default();
        model
            .row_entries(i)
            .for_each(|(j, a)| sum.add_product(a, x[j]));
        sum.value()
    });
    let basis = Basis {
        cols: (0..n).map(|j| lp.status(j)).collect(),
        rows: (n..n + m).map(|i| lp.status(i)).collect(),
    };
    let reduced_costs = lp.reduced_costs().into_iter().map(|d| sign * double(&d));
    LpOutcome::Optimal(Solution {
        objective: model.objective(&x),
        row_activity: row_activity.collect(),
        reduced_costs: reduced_costs.collect(),
        x,
        y,
        basis,
    })
}
