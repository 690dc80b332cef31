//! The bound where reduced costs must be exactly zero: on free columns, and along rays without
//! cost.
//!
//! A column becomes an equation if its reduced cost has a wrong sign that no bound makes up for.
//! The multipliers are moved by rational amounts, in as many rows as there are equations, to
//! satisfy them exactly. This is the projection of Steffy & Wolter, *Valid linear programming
//! bounds for exact mixed-integer programming*, INFORMS J. Computing 2013. The new reduced costs of
//! all other columns are enclosed from exact sums. If a column fails now, it joins the equations;
//! if a row fails, it may no longer move. Then the projection is repeated.
//!
//! - `dyadic.rs`: doubles, their sums and products.
//! - `modular.rs`: the choice of independent equations and of the rows in which to solve them.
//! - `lifting.rs`: the exact solution, verified.

mod dyadic;
mod lifting;
mod modular;

use super::bound::{OpenSides, least, priced, reduced_cost};
use crate::model::{Model, Sense};
use dashu_int::IBig;
use dyadic::Dyadic;
use lifting::{Rationals, System};
use modular::{Elimination, EquationEntry};
use std::collections::BTreeSet;

/// Projections before giving up. After each one, columns that it spoilt join the equations.
const ROUNDS: usize = 12;
/// Elementary operations per projection, some nanoseconds each.
const WORK: u64 = 4_000_000_000;

/// A bound on the optimum that is valid for any `y`, like [`safe_bound`](super::safe_bound). Its
/// multipliers are near `y` and satisfy in exact arithmetic the dual equations that `y` misses by
/// rounding. Infinite if they prove no bound either, or if the computation takes too long.
///
/// ```
/// use remat_lp::{certificate, ModelBuilder, Sense};
/// // min x + 0.125 y, 3 x + 0.375 y = 7, both free: the multiplier must be exactly a third.
/// let mut b = ModelBuilder::new(Sense::Minimise);
/// let (x, y) = (b.add_col(1.0, ..), b.add_col(0.125, ..));
/// b.add_row(7.0, [(x, 3.0), (y, 0.375)]);
/// let model = b.build()?;
/// assert_eq!(certificate::safe_bound(&model, &[1.0 / 3.0]), f64::NEG_INFINITY);
/// let bound = certificate::exact_bound(&model, &[1.0 / 3.0]);
/// assert!(bound <= 7.0 / 3.0 && bound > 7.0 / 3.0 - 1e-14);
/// # Ok::<(), remat_lp::ModelError>(())
/// ```
pub fn exact_bound(model: &Model, y: &[f64]) -> f64 {
    let plain = super::safe_bound(model, y);
    if plain.is_finite() || y.len() != model.num_rows() {
        return plain;
    }
    match project(model, priced(model, y), true, WORK) {
        Some((low, _)) if model.sense == Sense::Maximise => -low,
        Some((low, _)) => low,
        None => plain,
    }
}

/// Least amount by which the rows, combined by multipliers near `y`, exceed the activity that the
/// columns' bounds allow, and the doubles next to these multipliers. `None` if they prove no
/// contradiction.
pub(super) fn infeasibility(model: &Model, y: &[f64], work: u64) -> Option<(f64, Vec<f64>)> {
    let (least, moved) = project(model, y.to_vec(), false, work)?;
    let multipliers = (0..y.len()).map(|i| moved.multiplier(i).0).collect();
    (least > 0.0).then_some((least, multipliers))
}

/// The bound of the minimised program, and the moved multipliers; `with_cost` as in [`least`].
fn project(model: &Model, y: Vec<f64>, with_cost: bool, work: u64) -> Option<(f64, Moved<'_>)> {
    let mut moved = Moved::by_nothing(model, y, with_cost);
    let (mut equations, mut fixed) = (BTreeSet::new(), BTreeSet::new());
    for _ in 0..ROUNDS {
        match moved.least() {
            Ok(bound) => return Some((bound, moved)),
            Err(open) => {
                let known = equations.len() + fixed.len();
                equations.extend(open.cols);
                fixed.extend(open.rows);
                if equations.len() + fixed.len() == known {
                    return None;
                }
            }
        }
        moved.project(&equations, &fixed, work)?;
    }
    None
}

/// Multipliers `y + move`, where the move is rational.
struct Moved<'a> {
    model: &'a Model,
    with_cost: bool,
    y: Vec<f64>,
    /// Index of each row's entry in the move.
    place: Vec<u32>,
    by: Rationals,
    /// Exponent of the power of two that multiplies the numerators.
    exponent: i64,
}

/// The place of a multiplier that is not moved.
const UNMOVED: u32 = u32::MAX;

impl<'a> Moved<'a> {
    fn by_nothing(model: &'a Model, y: Vec<f64>, with_cost: bool) -> Self {
        Moved {
            model,
            with_cost,
            place: vec![UNMOVED; y.len()],
            y,
            by: Rationals {
                numerators: Vec::new(),
                denominator: IBig::from(1),
            },
            exponent: 0,
        }
    }

    fn least(&self) -> Result<f64, OpenSides> {
        least(
            self.model,
            self.with_cost,
            |i| self.multiplier(i),
            |j| self.reduced_cost(j),
        )
    }

    /// The move of row `i`, times the denominator.
    fn numerator(&self, i: usize) -> Option<Dyadic> {
        let mantissa = self.by.numerators.get(self.place[i] as usize)?.clone();
        Some(Dyadic {
            mantissa,
            exponent: self.exponent,
        })
    }

    fn multiplier(&self, i: usize) -> (f64, f64) {
        match self.numerator(i) {
            None => (self.y[i], self.y[i]),
            Some(by) => {
                let mut y = self.times_denominator(Dyadic::new(self.y[i]));
                y += by;
                y.over(&self.by.denominator)
            }
        }
    }

    fn times_denominator(&self, mut v: Dyadic) -> Dyadic {
        v.mantissa *= &self.by.denominator;
        v
    }

    fn reduced_cost(&self, j: usize) -> (f64, f64) {
        if self
            .model
            .col_entries(j)
            .all(|(i, _)| self.place[i] == UNMOVED)
        {
            return reduced_cost(self.model, self.with_cost, &self.y, j);
        }
        let mut d = self.times_denominator(self.unmoved(j));
        for (i, v) in self.model.col_entries(j) {
            if let Some(by) = self.numerator(i) {
                let v = Dyadic::new(-v);
                d += Dyadic {
                    mantissa: by.mantissa * v.mantissa,
                    exponent: by.exponent + v.exponent,
                };
            }
        }
        d.over(&self.by.denominator)
    }

    /// The reduced cost of a column before the move.
    fn unmoved(&self, j: usize) -> Dyadic {
        let mut d = match self.with_cost {
            true => Dyadic::new(self.model.sense.sign() * self.model.cost[j]),
            false => Dyadic::default(),
        };
        for (i, v) in self.model.col_entries(j) {
            d += Dyadic::product(-v, self.y[i]);
        }
        d
    }

    /// Moves the multipliers so that the reduced costs of the independent ones of `columns` are
    /// zero. Rows in `fixed` do not move.
    fn project(
        &mut self,
        columns: &BTreeSet<usize>,
        fixed: &BTreeSet<usize>,
        work: u64,
    ) -> Option<()> {
        let model = self.model;
        let columns: Vec<usize> = columns.iter().copied().collect();
        // A nonzero multiplier of a one-sided row may move; a zero one may not, since it could get
        // the wrong sign.
        let may_move = |i: usize| {
            let equation = model.row_lower[i].is_finite() && model.row_upper[i].is_finite();
            (equation || self.y[i] != 0.0) && !fixed.contains(&i)
        };
        let entry = |(i, v): (usize, f64)| EquationEntry {
            var: i as u32,
            value: v,
            residue: Dyadic::new(v).residue(),
        };
        let equations = columns.iter().map(|&j| {
            let entries = model.col_entries(j).filter(|&(i, _)| may_move(i));
            entries.map(entry).collect()
        });
        let elimination = Elimination::new(equations.collect(), model.num_rows(), work)?;
        // The square part of the system, with rows and columns in pivot order.
        let mut place = vec![UNMOVED; model.num_rows()];
        let mut order = vec![UNMOVED; columns.len()];
        for (k, (e, i)) in elimination.pivots().enumerate() {
            place[i] = k as u32;
            order[e] = k as u32;
        }
        let elimination = elimination.renumbered(&order, &place);
        let rest: Vec<(usize, Dyadic)> = (0..columns.len())
            .filter(|&e| order[e] != UNMOVED)
            .map(|e| (e, self.unmoved(columns[e])))
            .collect();
        let mut system = System {
            equations: vec![Vec::new(); rest.len()],
            exponents: vec![0; rest.len()],
            right: vec![IBig::default(); rest.len()],
            vars: rest.len(),
        };
        // Each equation is multiplied by its own power of two, and all right sides by a common one.
        let mut scaled = Vec::with_capacity(rest.len());
        for (e, right) in rest {
            let square = model.col_entries(columns[e]);
            let entries: Vec<(usize, Dyadic)> = square
                .filter(|&(i, _)| place[i] != UNMOVED)
                .map(|(i, v)| (place[i] as usize, Dyadic::new(v)))
                .collect();
            let low = entries.iter().map(|x| x.1.exponent).min().unwrap_or(0);
            let k = order[e] as usize;
            system.equations[k] = entries.into_iter().map(|(v, x)| (v, x.at(low))).collect();
            system.exponents[k] = low;
            scaled.push((k, right, low));
        }
        let nonzero = scaled.iter().filter(|s| !s.1.is_zero());
        self.exponent = nonzero.map(|s| s.1.exponent - s.2).min().unwrap_or(0);
        for (k, right, low) in scaled {
            if !right.is_zero() {
                system.right[k] = right.at(self.exponent + low);
            }
        }
        self.by = system.solve(&elimination, work)?;
        self.place = place;
        Some(())
    }
}
