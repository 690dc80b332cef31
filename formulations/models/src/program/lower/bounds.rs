//! Bounds of columns and sums that follow from rows and from definitions of special constraints.

use super::affine::Affine;
use super::{LARGEST, Lowering, model_bounds};
use crate::program::special::{Norm, Product, Special};
use crate::program::violation::pieces_at;
use crate::program::{Program, ProgramError};
use remat_lp::{ColId, Limits, LpOutcome, ModelBuilder, Sense, Solver};

/// Rounds over all rows and definitions, to propagate along chains of them.
const ROUNDS: usize = 4;

/// Limit on the simplex iterations of one linear program.
const ITERATIONS: u64 = 100_000;

impl Lowering<'_> {
    /// Tightens bounds by rows and definitions. A bound that would cross the other is not taken.
    /// Bounds by definitions become bounds of the model, because forms that rest on them may
    /// replace the definition.
    pub(super) fn tighten(&mut self) -> Result<(), ProgramError> {
        let program = self.program;
        for _ in 0..ROUNDS {
            let before = (self.lower.clone(), self.upper.clone());
            for row in program.rows() {
                let (lower, upper) = program.row_bounds(row)?;
                let sum = self.sum(program.entries(row)?);
                self.by_row(&sum.terms, lower, upper);
            }
            for (_, special) in program.specials() {
                self.by_definition(special);
            }
            if before == (self.lower.clone(), self.upper.clone()) {
                break;
            }
        }
        Ok(())
    }

    /// Tightens the bounds of a row's columns by the row.
    fn by_row(&mut self, terms: &[(usize, f64)], lower: f64, upper: f64) {
        let ends = |of: &Self, j: usize, v: f64| match v > 0.0 {
            true => (v * of.lower[j], v * of.upper[j]),
            false => (v * of.upper[j], v * of.lower[j]),
        };
        // The finite part of each end, and the number of infinite terms there.
        let (mut least, mut most) = ((0.0, 0), (0.0, 0));
        for &(j, v) in terms {
            let (low, high) = ends(self, j, v);
            match low.is_finite() {
                true => least.0 += low,
                false => least.1 += 1,
            }
            match high.is_finite() {
                true => most.0 += high,
                false => most.1 += 1,
            }
        }
        for &(j, v) in terms {
            let (low, high) = ends(self, j, v);
            let rest = |(sum, infinite): (f64, i32), own: f64| match (infinite, own.is_finite()) {
                (0, _) => Some(sum - own),
                (1, false) => Some(sum),
                _ => None,
            };
            let above = rest(least, low).filter(|_| upper.is_finite());
            let below = rest(most, high).filter(|_| lower.is_finite());
            let above = above.map(|rest| (upper - rest) / v);
            let below = below.map(|rest| (lower - rest) / v);
            let (new_lower, new_upper) = match v > 0.0 {
                true => (below, above),
                false => (above, below),
            };
            self.narrow(
                j,
                new_lower.unwrap_or(f64::NEG_INFINITY),
                new_upper.unwrap_or(f64::INFINITY),
            );
            // The sums are over older bounds of the other terms, and stay valid.
        }
    }

    /// Takes bounds of a column if they are tighter.
    fn narrow(&mut self, j: usize, mut lower: f64, mut upper: f64) {
        if self.integer[j] {
            (lower, upper) = ((lower - 1e-6).ceil(), (upper + 1e-6).floor());
        }
        let (old_lower, old_upper) = (self.lower[j], self.upper[j]);
        if lower > old_lower && lower <= old_upper {
            self.lower[j] = lower;
        }
        if upper < old_upper && upper >= self.lower[j] {
            self.upper[j] = upper;
        }
    }

    /// Tightens the bounds of a definition's result by its arguments.
    fn by_definition(&mut self, special: &Special) {
        let range = |of: &Self, col| {
            let j = of.at(col);
            (of.lower[j], of.upper[j])
        };
        let (result, (lower, upper)) = match special {
            Special::Maximum {
                result,
                of,
                constant,
            } => {
                let start = constant.unwrap_or(f64::NEG_INFINITY);
                let ends = of.iter().map(|&c| range(self, c));
                let ends = ends.fold((start, start), |(l, u), (a, b)| (l.max(a), u.max(b)));
                (*result, ends)
            }
            Special::Minimum {
                result,
                of,
                constant,
            } => {
                let start = constant.unwrap_or(f64::INFINITY);
                let ends = of.iter().map(|&c| range(self, c));
                let ends = ends.fold((start, start), |(l, u), (a, b)| (l.min(a), u.min(b)));
                (*result, ends)
            }
            Special::Abs { result, of } => (*result, size(range(self, *of))),
            Special::Norm { result, of, norm } => {
                let sizes = of.iter().map(|&c| size(range(self, c)));
                let ends = match norm {
                    Norm::Zero => (0.0, of.len() as f64),
                    Norm::One => sizes.fold((0.0, 0.0), |s, e| (s.0 + e.0, s.1 + e.1)),
                    Norm::Infinity => {
                        sizes.fold((0.0, 0.0), |s: (f64, f64), e| (s.0.max(e.0), s.1.max(e.1)))
                    }
                };
                (*result, ends)
            }
            Special::Pieces { x, y, points } => {
                let (low, high) = range(self, *x);
                if !(low.is_finite() && high.is_finite()) {
                    return;
                }
                let inner = points.iter().filter(|p| (low..=high).contains(&p.0));
                let values = inner.map(|p| (p.1, p.1));
                let ends = [pieces_at(points, low), pieces_at(points, high)];
                let ends = values.chain(ends);
                let none = (f64::INFINITY, f64::NEG_INFINITY);
                (*y, ends.fold(none, |(l, u), (a, b)| (l.min(a), u.max(b))))
            }
            Special::ProductRow {
                entries,
                products,
                lower,
                upper,
            } => {
                let values = products.iter().map(|p| self.product_range(p));
                let (low, high) = values.fold((0.0, 0.0), |s, e| (s.0 + e.0, s.1 + e.1));
                let terms = self.sum(entries).merged();
                self.by_row(&terms, lower - high, upper - low);
                return;
            }
            _ => return,
        };
        let j = self.at(result);
        let before = (self.lower[j], self.upper[j]);
        self.narrow(j, lower, upper);
        let (lower, upper) = (self.lower[j], self.upper[j]);
        if (lower, upper) != before {
            self.lowered.bounds.insert(j, (lower, upper));
        }
    }

    /// The least and the largest value of a product, which may be infinite.
    fn product_range(&self, product: &Product) -> (f64, f64) {
        let (a, b) = (self.at(product.first), self.at(product.second));
        // 0 times an infinite bound is 0; an infinite product comes from the other corners.
        let times = |u: f64, v: f64| if u == 0.0 || v == 0.0 { 0.0 } else { u * v };
        let corners = [self.lower[a], self.upper[a]]
            .map(|u| [self.lower[b], self.upper[b]].map(|v| times(product.factor, times(u, v))));
        let corners = corners.as_flattened().iter().copied();
        corners.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
            (low.min(value), high.max(value))
        })
    }

    /// The least and the largest value of a sum.
    pub(super) fn range(&self, sum: &Affine) -> (f64, f64) {
        let start = (sum.constant, sum.constant);
        let terms = sum.merged().into_iter();
        terms.fold(start, |(low, high), (j, v)| match v > 0.0 {
            true => (low + v * self.lower[j], high + v * self.upper[j]),
            false => (low + v * self.upper[j], high + v * self.lower[j]),
        })
    }

    /// An upper bound of a sum for use in a row: by the bounds of its columns, or by a linear
    /// program over all rows.
    ///
    /// # Errors
    /// [`ProgramError::Unbounded`] names the column.
    pub(super) fn most(&mut self, what: &'static str, sum: &Affine) -> Result<f64, ProgramError> {
        let bound = self.range(sum).1;
        if bound.abs() <= LARGEST {
            return Ok(bound);
        }
        let own = self.own.len();
        if sum.terms.iter().all(|&(j, _)| j < own) {
            if self.linear.is_none() {
                self.linear = Some(LpBounds::new(self.program)?);
            }
            let by_rows = self.linear.as_mut().and_then(|lp| lp.most(sum));
            if let Some(bound) = by_rows.filter(|b| b.abs() <= LARGEST) {
                return Ok(bound);
            }
        }
        let merged = sum.merged();
        let culprit = merged.iter().find(|&&(j, v)| match v > 0.0 {
            true => v * self.upper[j] > LARGEST,
            false => v * self.lower[j] > LARGEST,
        });
        let culprit = culprit.or(merged.first());
        let above = culprit.is_none_or(|term| term.1 > 0.0);
        Err(ProgramError::Unbounded {
            what,
            bound: if above { "upper" } else { "lower" },
            column: culprit.map_or_else(|| "a constant".into(), |term| self.name(term.0)),
        })
    }

    /// A lower bound, as [`Self::most`].
    pub(super) fn least(&mut self, what: &'static str, sum: &Affine) -> Result<f64, ProgramError> {
        Ok(-self.most(what, &sum.times(-1.0))?)
    }
}

/// Bounds of an absolute value.
fn size((lower, upper): (f64, f64)) -> (f64, f64) {
    let least = lower.max(-upper).max(0.0);
    (least, upper.max(-lower))
}

/// Linear programs over the rows of a program.
pub(super) struct LpBounds {
    solver: Solver,
}

impl LpBounds {
    fn new(program: &Program) -> Result<Self, ProgramError> {
        let mut builder = ModelBuilder::new(Sense::Maximise);
        let mut ids = vec![ColId(u32::MAX); program.col_handles()];
        for col in program.cols() {
            let (lower, upper) = model_bounds(program, col)?;
            ids[col.index()] = builder.add_col(0.0, lower..=upper);
        }
        for row in program.rows() {
            let (lower, upper) = program.row_bounds(row)?;
            let entries = program.entries(row)?.iter();
            builder.add_row(lower..=upper, entries.map(|&(c, v)| (ids[c.index()], v)));
        }
        let mut solver = Solver::new(builder.build()?, remat_lp::Settings::default());
        solver.set_limits(Limits {
            iterations: Some(ITERATIONS),
            ..Limits::default()
        });
        Ok(LpBounds { solver })
    }

    /// The largest value of a sum of the program's columns, a little more than the simplex finds.
    fn most(&mut self, sum: &Affine) -> Option<f64> {
        let terms = sum.merged();
        for &(j, v) in &terms {
            self.solver.set_cost(ColId(j as u32), v).ok()?;
        }
        let outcome = self.solver.solve();
        for &(j, _) in &terms {
            self.solver.set_cost(ColId(j as u32), 0.0).ok()?;
        }
        match outcome {
            LpOutcome::Optimal(s) => {
                let bound = s.objective + sum.constant;
                Some((bound + 1e-6 * bound.abs().max(1.0)).ceil())
            }
            // Any bound holds if there is no point.
            LpOutcome::Infeasible(_) => Some(0.0),
            _ => None,
        }
    }
}
