//! Tangents in rational numbers, for certificates.

use super::epigraph::Epigraph;
use super::tangents::Tangents;
use remat_lp::rational::{Rational, decimal, total};
use remat_lp::{ColId, Model};
use remat_solver::mip::{StatedRow, StatedRows};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Significant bits of the points of tangents. A tangent at a point nearby is as valid, and lower
/// by the square of the distance.
const BITS: i32 = 32;

/// Distance from the objective at which the tangents of a proof suffice: well below the gap that
/// counts as optimal.
const DISTANCE: f64 = 1e-10;

/// Distance, relative to 1 and the value, of further tangents beside a point in the direction of
/// columns without bounds. The slope of a tangent in such a column must cancel in a proof, and that
/// of a rounded point does not cancel alone.
const BESIDE: f64 = 1e-5;

/// Tangents and values of an objective whose coefficients are the decimals of its file.
pub(super) struct ExactTangents {
    epigraph: Arc<Epigraph>,
    tangents: Arc<Tangents>,
    /// The linear model without tangents.
    plain: Model,
    /// Point of the first tangents.
    first: Option<Vec<f64>>,
    /// Rows of the minimised matrix, by column.
    matrix: BTreeMap<usize, Vec<(usize, Rational)>>,
}

impl ExactTangents {
    /// # Errors
    /// The reason in words if the objective is not convex in rational numbers.
    pub fn new(
        plain: Model,
        tangents: Arc<Tangents>,
        first: Option<Vec<f64>>,
    ) -> Result<Self, String> {
        let epigraph = tangents.epigraph.clone();
        let mut matrix = BTreeMap::new();
        for col in epigraph.blocks.iter().flatten() {
            let entry =
                |(other, v): (ColId, f64)| Some((other.index(), decimal(epigraph.sign * v)?));
            let row: Option<Vec<_>> = epigraph.quadratic.row(*col).map(entry).collect();
            let row = row.ok_or("a product's factor is not finite")?;
            matrix.insert(col.index(), row);
        }
        if let Some(col) = curved_down(&matrix) {
            let name = epigraph.model.col_name(ColId(col as u32));
            return Err(format!(
                "in exact decimals the objective is not convex: along {name}, after the columns before it, its \
                 curvature is negative by rounding; write its factors with all their digits, or add a small \
                 multiple of the square of {name}"
            ));
        }
        Ok(ExactTangents {
            epigraph,
            tangents,
            plain,
            first,
            matrix,
        })
    }

    /// The minimised gradient in the columns of a block.
    fn gradient(&self, block: &[ColId], at: impl Fn(usize) -> Rational) -> Vec<Rational> {
        let of = |col: &ColId| {
            let row = self.matrix.get(&col.index());
            let terms = row.into_iter().flatten();
            total(terms.map(|(other, v)| v * at(*other)))
        };
        block.iter().map(of).collect()
    }

    /// The tangent of a block at a point, or the secants of a block of one integer column.
    fn rows_of(&self, k: usize, x: &[f64]) -> Vec<StatedRow> {
        let block = &self.epigraph.blocks[k];
        let above = self.epigraph.above(k).index();
        if let [col] = block[..]
            && self.epigraph.model.is_integer(col)
        {
            let secant = |from| self.secant(above, col, from);
            return Epigraph::secant_starts(x[col.index()])
                .map(secant)
                .collect();
        }
        let Some(at) = block
            .iter()
            .map(|j| short(x[j.index()]))
            .collect::<Option<Vec<_>>>()
        else {
            return Vec::new();
        };
        let places: BTreeMap<usize, &Rational> = block.iter().map(|j| j.index()).zip(&at).collect();
        let gradient = self.gradient(block, |j| (*places[&j]).clone());
        let value = total(gradient.iter().zip(&at).map(|(g, v)| g * v)) / Rational::from(2);
        vec![row_above(above, block, gradient, -value)]
    }

    /// The rows of a block at a point, and beside it in the direction of columns without bounds.
    fn rows_around(&self, k: usize, x: &[f64]) -> Vec<StatedRow> {
        let mut rows = self.rows_of(k, x);
        let model = &self.epigraph.model;
        for &col in &self.epigraph.blocks[k] {
            let bounds = model.col_bounds(col);
            if bounds.lower.is_finite() && bounds.upper.is_finite() {
                continue;
            }
            for side in [-BESIDE, BESIDE] {
                let mut beside = x.to_vec();
                let at = &mut beside[col.index()];
                *at += side * (1.0 + at.abs());
                rows.extend(self.rows_of(k, &beside));
            }
        }
        rows
    }

    fn secant(&self, above: usize, col: ColId, from: f64) -> StatedRow {
        let from = decimal(from).unwrap_or_default();
        let curvature = self.gradient(&[col], |_| Rational::ONE).remove(0);
        let half = curvature / Rational::from(2);
        let slope = &half * (Rational::from(2) * &from + Rational::ONE);
        let side = -(half * &from * (&from + Rational::ONE));
        row_above(above, &[col], vec![slope], side)
    }
}

/// The row `above - gradient . block >= side`.
fn row_above(above: usize, block: &[ColId], gradient: Vec<Rational>, side: Rational) -> StatedRow {
    let entries = block.iter().zip(gradient).map(|(j, g)| (j.index(), -g));
    let entries = entries.filter(|e| e.1 != Rational::ZERO);
    StatedRow {
        side,
        entries: entries.chain([(above, Rational::ONE)]).collect(),
    }
}

/// A number near a double with few digits.
fn short(v: f64) -> Option<Rational> {
    if v.fract() == 0.0 {
        return decimal(v);
    }
    let unit = 2f64.powi(v.abs().log2().ceil().max(-900.0) as i32 - BITS);
    Rational::try_from((v / unit).round() * unit).ok()
}

/// Eliminates the columns of a symmetric matrix one after another. Returns a column of negative
/// curvature, or without a curvature and with other entries.
fn curved_down(matrix: &BTreeMap<usize, Vec<(usize, Rational)>>) -> Option<usize> {
    let sparse = |row: &Vec<(usize, Rational)>| row.iter().cloned().collect();
    let mut rows: BTreeMap<usize, BTreeMap<usize, Rational>> =
        matrix.iter().map(|(j, row)| (*j, sparse(row))).collect();
    while let Some((j, row)) = rows.pop_first() {
        let pivot = row.get(&j).cloned().unwrap_or_default();
        let others = || row.iter().filter(|(k, v)| **k > j && **v != Rational::ZERO);
        if pivot < Rational::ZERO || (pivot == Rational::ZERO && others().next().is_some()) {
            return Some(j);
        }
        for (k, v) in others() {
            let factor = v / &pivot;
            let Some(below) = rows.get_mut(k) else {
                continue;
            };
            for (l, w) in others() {
                *below.entry(*l).or_default() -= &factor * w;
            }
        }
    }
    None
}

impl StatedRows for ExactTangents {
    fn model(&self) -> &Model {
        &self.plain
    }

    fn first(&self) -> Vec<StatedRow> {
        let blocks = 0..self.epigraph.blocks.len();
        let point = self.first.iter();
        point
            .flat_map(|x| blocks.clone().flat_map(|k| self.rows_around(k, x)))
            .collect()
    }

    fn rows(&self, x: &[f64], lower: &[f64], upper: &[f64]) -> Vec<StatedRow> {
        let bound = self.epigraph.relaxed_objective(x);
        let points = self.tangents.points(x, (lower, upper), bound, DISTANCE);
        let rows = points
            .iter()
            .flat_map(|(x, blocks)| blocks.iter().flat_map(|&k| self.rows_around(k, x)));
        rows.collect()
    }

    fn complete(&self, point: &mut [Rational]) {
        for (k, block) in self.epigraph.blocks.iter().enumerate() {
            let gradient = self.gradient(block, |j| point[j].clone());
            let terms = block
                .iter()
                .zip(&gradient)
                .map(|(j, g)| &point[j.index()] * g);
            point[self.epigraph.above(k).index()] = total(terms) / Rational::from(2);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn convexity_is_exact() {
        let of = |rows: &[&[(usize, f64)]]| {
            let row =
                |r: &&[(usize, f64)]| r.iter().map(|&(j, v)| (j, decimal(v).unwrap())).collect();
            curved_down(&rows.iter().map(row).enumerate().collect())
        };
        // (x + y)^2, with the last decimal of one factor too large, and without a curvature.
        assert_eq!(of(&[&[(0, 0.2), (1, 0.2)], &[(0, 0.2), (1, 0.2)]]), None);
        let longer = 0.2f64.next_up();
        assert_eq!(
            of(&[&[(0, 0.2), (1, longer)], &[(0, longer), (1, 0.2)]]),
            Some(1)
        );
        assert_eq!(of(&[&[(1, 1.0)], &[(0, 1.0), (1, 5.0)]]), Some(0));
        assert_eq!(of(&[&[(0, -1e-300)]]), Some(0));
    }

    #[test]
    fn points_of_tangents_are_short() {
        for v in [0.1, -1234.56789, 1e-9, 3.0, 0.0] {
            let near = short(v).unwrap();
            let apart = (near.to_f64().value() - v).abs();
            assert!(apart <= 1e-9 * v.abs(), "{v}: {near}");
        }
        assert_eq!(short(-7.0), decimal(-7.0));
    }
}
