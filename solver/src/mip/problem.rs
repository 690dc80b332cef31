//! The working form of a program: minimised, with integral bounds of integer columns, and the
//! matrix by rows and by columns.

use crate::mip::exact::decimal_scale;
pub(crate) use remat_lp::Compressed as Sparse;
use remat_lp::{Bounds, CONTRADICTION, ColId, Model, ModelBuilder, ModelError, Sense, cost_scale};
use serde::{Deserialize, Serialize};

/// Absolute value from which on a number is infinite, as in MPS files.
pub(crate) const INFINITE: f64 = 1e20;

/// A mixed-integer program in minimised form. The objective has a unit of its own, in which the
/// largest cost is neither small nor large: thresholds of the search are absolute.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Problem {
    pub cost: Vec<f64>,
    pub offset: f64,
    pub lower: Vec<f64>,
    pub upper: Vec<f64>,
    pub integer: Vec<bool>,
    pub row_lower: Vec<f64>,
    pub row_upper: Vec<f64>,
    pub rows: Sparse,
    pub cols: Sparse,
    /// Marks rows of decimals over integer columns: the test whether a point satisfies them needs
    /// no tolerance.
    pub exact: Vec<bool>,
    /// Factor from the model's objective to this one: a power of two, negative if the model is
    /// maximised.
    pub unit: f64,
    /// If positive, `cost . x` (without the offset) is a multiple of this in every feasible point.
    pub objective_step: f64,
}

fn clip(v: f64) -> f64 {
    if v >= INFINITE {
        f64::INFINITY
    } else if v <= -INFINITE {
        f64::NEG_INFINITY
    } else {
        v
    }
}

/// Distance from an integer that counts as rounding in a bound of an integer column.
pub(crate) const INTEGER_TOLERANCE: f64 = 1e-6;

/// The largest integer not above `v`, where `v` may be short of an integer by rounding.
pub(crate) fn floor_tol(v: f64) -> f64 {
    (v + INTEGER_TOLERANCE).floor()
}

/// The smallest integer not below `v`, where `v` may be past an integer by rounding.
pub(crate) fn ceil_tol(v: f64) -> f64 {
    (v - INTEGER_TOLERANCE).ceil()
}

/// Bounds of an integer column from its stated sides. A fractional side is trusted up to its own
/// rounding, a billionth of it.
pub(crate) fn within_sides(lower: f64, upper: f64) -> (f64, f64) {
    let own = |side: f64| {
        if side.fract() == 0.0 || side.is_infinite() {
            0.0
        } else {
            1e-9 * side.abs().max(1.0)
        }
    };
    ((lower - own(lower)).ceil(), (upper + own(upper)).floor())
}

/// Violation of a side of a continuous column, or of an inexact row, that counts as a contradiction
/// (docs/reference/tolerances.md).
pub(crate) fn contradiction(side: f64) -> f64 {
    CONTRADICTION.max(1e-9 * side.abs())
}

/// Rounding that a reduction may leave in a side of an inexact row, in units of the row: a tenth of
/// a contradiction.
pub(crate) const SIDE_ROUNDING: f64 = 0.1 * CONTRADICTION;

/// The power of ten that makes a row of decimals over integer columns integral: such a row is
/// exact. `None` for other rows.
pub(crate) fn exact_scale(row: &[(u32, f64)], sides: [f64; 2], integer: &[bool]) -> Option<f64> {
    if !row.iter().all(|e| integer[e.0 as usize]) {
        return None;
    }
    let sides = sides.into_iter().filter(|s| s.is_finite());
    let values: Vec<f64> = row.iter().map(|e| e.1).chain(sides).collect();
    decimal_scale(&values)
}

/// Limit on the integers to which decimals are scaled.
pub(crate) const MOST_SCALED: f64 = 1e7;

/// Factor that makes a row of decimals over integer columns integral, if the integers remain small.
/// Cuts, propagation and the check of solutions then use the same row.
fn whole_scale(model: &Model, row: remat_lp::RowId) -> f64 {
    if !model.row(row).all(|(j, _)| model.is_integer(j)) {
        return 1.0;
    }
    let b = model.row_bounds(row);
    let sides = [b.lower, b.upper]
        .into_iter()
        .filter(|s| s.abs() < INFINITE);
    let values: Vec<f64> = model.row(row).map(|(_, a)| a).chain(sides).collect();
    let largest = values.iter().fold(0.0f64, |m, v| m.max(v.abs()));
    decimal_scale(&values)
        .filter(|s| s * largest <= MOST_SCALED)
        .unwrap_or(1.0)
}

impl Problem {
    /// The working form of a model. Rows of decimals over integer columns are scaled to integers.
    /// Bounds of integer columns are rounded inwards and may cross.
    pub fn from_model(model: &Model) -> Problem {
        let unit = model.sense().sign() * cost_scale(model.costs());
        Problem::with_scales(model, unit, |row| whole_scale(model, row))
    }

    /// The working form of a model without scaling of rows and costs.
    pub fn as_given(model: &Model) -> Problem {
        Problem::with_scales(model, model.sense().sign(), |_| 1.0)
    }

    fn with_scales(model: &Model, unit: f64, scale_of: impl Fn(remat_lp::RowId) -> f64) -> Problem {
        let n = model.num_cols();
        let mut rows = Sparse::default();
        let mut exact = Vec::with_capacity(model.num_rows());
        let integer: Vec<bool> = (0..n).map(|j| model.is_integer(ColId(j as u32))).collect();
        let mut row_lower: Vec<f64> = model.row_lower().iter().map(|&v| clip(v)).collect();
        let mut row_upper: Vec<f64> = model.row_upper().iter().map(|&v| clip(v)).collect();
        for i in 0..model.num_rows() {
            let id = remat_lp::RowId(i as u32);
            let scale = scale_of(id);
            // The scale makes each of them an integer.
            let times = |v: f64| if scale == 1.0 { v } else { (v * scale).round() };
            for side in [&mut row_lower[i], &mut row_upper[i]] {
                *side = times(*side);
            }
            let row: Vec<(u32, f64)> = model.row(id).map(|(j, v)| (j.0, times(v))).collect();
            exact.push(exact_scale(&row, [row_lower[i], row_upper[i]], &integer).is_some());
            rows.push(row);
        }
        let mut lower: Vec<f64> = model.col_lower().iter().map(|&v| clip(v)).collect();
        let mut upper: Vec<f64> = model.col_upper().iter().map(|&v| clip(v)).collect();
        for j in 0..n {
            if integer[j] {
                (lower[j], upper[j]) = within_sides(lower[j], upper[j]);
            }
        }
        let cols = rows.transpose(n);
        let mut p = Problem {
            cost: model.costs().iter().map(|c| unit * c).collect(),
            offset: unit * model.offset(),
            lower,
            upper,
            integer,
            row_lower,
            row_upper,
            rows,
            cols,
            exact,
            unit,
            objective_step: 0.0,
        };
        p.objective_step = objective_step(&p.cost, &p.integer, unit);
        p
    }

    /// Factor from differences of the model's objective to differences of this one.
    pub fn scale(&self) -> f64 {
        self.unit.abs()
    }

    /// A value of this objective in the model's units, still minimised.
    pub fn in_model_units(&self, value: f64) -> f64 {
        value / self.scale()
    }

    pub fn num_cols(&self) -> usize {
        self.cost.len()
    }

    pub fn num_rows(&self) -> usize {
        self.row_lower.len()
    }

    /// The columns that are binary under the given bounds, in order of probing: columns in the most
    /// rows come first.
    pub fn binaries_by_rows(&self, lower: &[f64], upper: &[f64]) -> Vec<usize> {
        let mut binaries: Vec<usize> = (0..self.num_cols())
            .filter(|&j| self.integer[j] && lower[j] == 0.0 && upper[j] == 1.0)
            .collect();
        binaries.sort_by_key(|&j| (std::cmp::Reverse(self.cols.len(j)), j));
        binaries
    }

    /// The linear relaxation.
    pub fn to_model(&self) -> Result<Model, ModelError> {
        let mut b = ModelBuilder::new(Sense::Minimise);
        b.set_offset(self.offset);
        for j in 0..self.num_cols() {
            let c = b.add_col(self.cost[j], Bounds::new(self.lower[j], self.upper[j]));
            b.set_integer(c, self.integer[j]);
        }
        for i in 0..self.num_rows() {
            b.add_row(
                Bounds::new(self.row_lower[i], self.row_upper[i]),
                self.rows.iter(i).map(|(j, v)| (ColId(j as u32), v)),
            );
        }
        b.build()
    }

    pub fn objective(&self, x: &[f64]) -> f64 {
        self.offset + self.cost.iter().zip(x).map(|(c, v)| c * v).sum::<f64>()
    }

    /// Upper limits on the number of rows violated by a small decrease (`.0`) or increase (`.1`) of
    /// a column.
    pub fn locks(&self, j: usize) -> (usize, usize) {
        let (mut down, mut up) = (0, 0);
        for (i, a) in self.cols.iter(j) {
            let (l, u) = (self.row_lower[i].is_finite(), self.row_upper[i].is_finite());
            if (a > 0.0 && l) || (a < 0.0 && u) {
                down += 1;
            }
            if (a > 0.0 && u) || (a < 0.0 && l) {
                up += 1;
            }
        }
        (down, up)
    }

    /// Rounds a lower bound on the objective up to the next possible objective.
    pub fn round_bound(&self, bound: f64) -> f64 {
        let s = self.objective_step;
        if s > 0.0 && bound.is_finite() {
            let k = (bound - self.offset) / s;
            let up = (k - 1e-6 - 1e-12 * k.abs()).ceil() * s + self.offset;
            up.max(bound)
        } else {
            bound
        }
    }

    /// The largest possible objective below another one. The other one may be from before a
    /// restart, when columns that are fixed now allowed objectives in between.
    pub fn step_below(&self, objective: f64) -> Option<f64> {
        let s = self.objective_step;
        let k = (objective - self.offset) / s;
        (s > 0.0).then(|| ((k - 1e-6 - 1e-12 * k.abs()).ceil() - 1.0) * s + self.offset)
    }
}

/// The largest step that divides every integer combination of the costs. 0 if there is no such step
/// (continuous columns with a cost, or costs with too many digits in the model's units).
pub(crate) fn objective_step(cost: &[f64], integer: &[bool], unit: f64) -> f64 {
    let unit = unit.abs();
    let mut scale_found = 0.0;
    let used: Vec<f64> = cost
        .iter()
        .zip(integer)
        .filter(|(c, _)| **c != 0.0)
        .map(|(c, &i)| if i { c.abs() / unit } else { f64::NAN })
        .collect();
    if used.is_empty() || used.iter().any(|c| c.is_nan()) {
        return 0.0;
    }
    for scale in [
        1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 12.0, 16.0, 20.0, 100.0, 1e3, 1e4, 1e5, 1e6, 1e7,
        1e8, 1e9, 1e10, 1e11, 1e12,
    ] {
        if used.iter().all(|c| {
            let v = c * scale;
            v < 1e11 && (v - v.round()).abs() <= 1e-12 * v && v.round() >= 1.0
        }) {
            scale_found = scale;
            break;
        }
    }
    if scale_found == 0.0 {
        return 0.0;
    }
    let g = used
        .iter()
        .fold(0u64, |g, c| gcd(g, (c * scale_found).round() as u64));
    unit * (g as f64 / scale_found)
}

pub(crate) fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_below_an_objective_is_a_possible_one() {
        let mut b = remat_lp::ModelBuilder::new(remat_lp::Sense::Minimise);
        let col = b.add_col(100.0, 0.0..=9.0);
        b.set_integer(col, true);
        let mut p = Problem::as_given(&b.build().unwrap());
        p.offset = 4.0;
        p.objective_step = 100.0;
        // 528 was possible before a restart.
        let cases = [
            (504.0, 404.0),
            (528.0, 504.0),
            (503.9999999, 404.0),
            (505.0, 504.0),
        ];
        for (objective, next) in cases {
            assert_eq!(p.step_below(objective), Some(next));
        }
        p.objective_step = 0.0;
        assert_eq!(p.step_below(504.0), None);
    }

    #[test]
    fn the_step_of_an_integer_objective_is_the_gcd_of_its_costs() {
        let step = |cost: &[f64], integer: &[bool]| objective_step(cost, integer, 1.0);
        assert_eq!(step(&[6.0, 0.0, -9.0], &[true, false, true]), 3.0);
        assert_eq!(step(&[0.5, 0.25], &[true, true]), 0.25);
        assert!((step(&[0.1, 0.3], &[true, true]) - 0.1).abs() < 1e-15);
        assert!((step(&[2e-9, 6e-9], &[true, true]) - 2e-9).abs() < 1e-20);
        assert_eq!(step(&[1.0, 1.0], &[true, false]), 0.0);
        assert_eq!(step(&[1.0, std::f64::consts::PI], &[true, true]), 0.0);
        assert_eq!(step(&[], &[]), 0.0);
        // The decimals of the model count, not those of the scaled costs.
        let scaled = [0.1, 0.3].map(|c| c * 1024.0);
        let step = objective_step(&scaled, &[true, true], -1024.0);
        assert!((step - 102.4).abs() < 1e-12);
    }
}
