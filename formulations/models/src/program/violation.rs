//! Special constraints at a point, by their definitions.

use super::special::{Norm, Product, SosType, Special};
use super::{Col, Program};
use remat_lp::Sense;

/// Largest violation of a special constraint in a point that counts, in units of its values if
/// these are larger than 1.
pub const SPECIAL_TOLERANCE: f64 = 1e-6;

/// Numbers up to this are 0 in ordered sets and norms.
const ZERO: f64 = 1e-6;

fn linear(entries: &[(Col, f64)], x: &[f64]) -> f64 {
    entries.iter().map(|&(c, v)| v * x[c.index()]).sum()
}

/// Value of products at a point by handle.
pub(super) fn quadratic(products: &[Product], x: &[f64]) -> f64 {
    let terms = products.iter();
    let terms = terms.map(|p| p.factor * x[p.first.index()] * x[p.second.index()]);
    terms.sum()
}

fn outside(value: f64, lower: f64, upper: f64) -> f64 {
    (lower - value).max(value - upper).max(0.0)
}

/// The least and the largest value of a function by pieces.
pub(super) fn pieces_at(points: &[(f64, f64)], x: f64) -> (f64, f64) {
    let n = points.len();
    let on = |(x0, y0): (f64, f64), (x1, y1): (f64, f64)| {
        // From the nearer end, which makes it exact there.
        let slope = (y1 - y0) / (x1 - x0);
        match (x - x0).abs() <= (x - x1).abs() {
            true => y0 + slope * (x - x0),
            false => y1 + slope * (x - x1),
        }
    };
    if x < points[0].0 {
        let y = on(points[0], points[1]);
        return (y, y);
    }
    if x > points[n - 1].0 {
        let y = on(points[n - 2], points[n - 1]);
        return (y, y);
    }
    let at = points.iter().filter(|p| p.0 == x).map(|p| p.1);
    let (low, high) = at.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), y| {
        (l.min(y), h.max(y))
    });
    if low <= high {
        return (low, high);
    }
    let k = points.partition_point(|p| p.0 <= x);
    let y = on(points[k - 1], points[k]);
    (y, y)
}

/// Steepest slope of a function by pieces.
fn steepness(points: &[(f64, f64)]) -> f64 {
    let slopes = points.windows(2).filter(|w| w[0].0 < w[1].0);
    let slopes = slopes.map(|w| ((w[1].1 - w[0].1) / (w[1].0 - w[0].0)).abs());
    slopes.fold(0.0, f64::max)
}

impl Special {
    /// Violation at a point by handle, in units of [`SPECIAL_TOLERANCE`]'s scale.
    pub fn violation(&self, x: &[f64]) -> f64 {
        let at = |col: Col| x[col.index()];
        let extremum = |result: Col, of: &[Col], constant: Option<f64>, sign: f64| {
            let values = of.iter().map(|&c| sign * at(c));
            let most = values.chain(constant.map(|c| sign * c));
            let most = most.fold(f64::NEG_INFINITY, f64::max);
            (sign * at(result) - most).abs() / most.abs().max(1.0)
        };
        let near = |result: Col, value: f64| (at(result) - value).abs() / value.abs().max(1.0);
        match self {
            Special::Indicator {
                col,
                value,
                entries,
                lower,
                upper,
            } => {
                if (at(*col) > 0.5) != *value {
                    return 0.0;
                }
                let row = linear(entries, x);
                outside(row, *lower, *upper) / row.abs().max(1.0)
            }
            Special::Maximum {
                result,
                of,
                constant,
            } => extremum(*result, of, *constant, 1.0),
            Special::Minimum {
                result,
                of,
                constant,
            } => extremum(*result, of, *constant, -1.0),
            Special::Abs { result, of } => near(*result, at(*of).abs()),
            Special::And { result, of } => {
                let all = of.iter().all(|&c| at(c) > 0.5);
                near(*result, f64::from(u8::from(all)))
            }
            Special::Or { result, of } => {
                let any = of.iter().any(|&c| at(c) > 0.5);
                near(*result, f64::from(u8::from(any)))
            }
            Special::Norm { result, of, norm } => {
                let sizes = of.iter().map(|&c| at(c).abs());
                near(
                    *result,
                    match norm {
                        Norm::Zero => sizes.filter(|&v| v > ZERO).count() as f64,
                        Norm::One => sizes.sum(),
                        Norm::Infinity => sizes.fold(0.0, f64::max),
                    },
                )
            }
            Special::Pieces { x, y, points } => {
                let (low, high) = pieces_at(points, at(*x));
                // A point beside a jump is on it.
                let reach = ZERO * at(*x).abs().max(1.0);
                let beside = points.iter().filter(|p| (p.0 - at(*x)).abs() <= reach);
                let (low, high) = beside.fold((low, high), |(l, h), p| (l.min(p.1), h.max(p.1)));
                let scale = (1.0 + steepness(points)) * at(*y).abs().max(1.0);
                outside(at(*y), low, high) / scale
            }
            Special::Sos { kind, members } => {
                let sizes: Vec<f64> = members.iter().map(|m| at(m.0).abs()).collect();
                let width = match kind {
                    SosType::One => 1,
                    SosType::Two => 2,
                };
                let Some(first) = sizes.iter().position(|&v| v > ZERO) else {
                    return 0.0;
                };
                let late = sizes.iter().skip(first + width);
                late.fold(0.0, |most, &v| {
                    f64::max(most, if v > ZERO { v } else { 0.0 })
                })
            }
            Special::ProductRow {
                entries,
                products,
                lower,
                upper,
            } => {
                let value = linear(entries, x) + quadratic(products, x);
                let sizes = entries.iter().map(|&(c, v)| (v * at(c)).abs());
                let sizes = sizes.chain(products.iter().map(|p| quadratic(&[*p], x).abs()));
                let sizes = sizes.chain(products.iter().map(|p| p.factor.abs()));
                outside(value, *lower, *upper) / sizes.fold(1.0, f64::max)
            }
        }
    }
}

impl Program {
    /// The special constraint that a point by handle violates most, and its violation; `None` if no
    /// violation exceeds [`SPECIAL_TOLERANCE`].
    pub fn violated_special(&self, x: &[f64]) -> Option<(super::SpecialId, f64)> {
        let all = self.specials().map(|(id, s)| (id, s.violation(x)));
        let worst = all.max_by(|a, b| a.1.total_cmp(&b.1))?;
        (worst.1 > SPECIAL_TOLERANCE).then_some(worst)
    }

    /// Objective of a point by handle, in the program's sense.
    pub fn objective_of(&self, x: &[f64]) -> f64 {
        let costs = self.cols().map(|col| match self.cost(col) {
            Ok(cost) if cost != 0.0 => cost * x[col.index()],
            _ => 0.0,
        });
        let pieces = self.pieces.iter().map(|(col, points)| {
            let (low, high) = pieces_at(points, x[col.index()]);
            match self.sense() {
                Sense::Minimise => low,
                Sense::Maximise => high,
            }
        });
        let pieces = pieces.sum::<f64>();
        self.offset() + costs.sum::<f64>() + pieces + quadratic(&self.products, x)
    }
}
