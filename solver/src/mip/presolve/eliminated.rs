//! Equations over integer columns alone, implied by equations with continuous columns.
//!
//! If such an equation has no integer point, branching on columns without bounds may never end.
//! `6 x + 9 s = 1, s = 3 y + t, t = 5 / 3` is equivalent to `3 x + 14 y = -7`, and every bound of x
//! leaves the relaxation feasible.

use super::{Infeasible, WorkingProblem};
use crate::mip::exact::elimination::{Combination, without};
use crate::mip::exact::lattice::{IntegerPoints, connected, integer_points};
use crate::mip::exact::{Integer, Rational, decimal, double, total};
use dashu_int::UBig;
use dashu_int::ops::Gcd;
use num_traits::Signed;

/// Limit on the columns of a system.
const COLUMNS_LIMIT: usize = 50;
/// Limit on the violation of an implied equation by a point within tolerances. The equation has
/// integer coefficients: with half a unit, neighbouring integer points would be indistinguishable.
const MISS_LIMIT: f64 = 0.25;
/// Limit on the numbers of an implied equation.
const NUMBER_LIMIT: f64 = 1e12;

/// Adds the implied equations of systems in which an integer column lacks a bound.
pub(super) fn run(w: &mut WorkingProblem, tolerance: f64) -> Result<(), Infeasible> {
    let is_open = |j: u32| {
        let j = j as usize;
        w.integer[j] && (w.upper[j] - w.lower[j]).is_infinite()
    };
    if !(0..w.cost.len() as u32).any(is_open) {
        return Ok(());
    }
    let rows = (0..w.rows.len()).filter(|&i| {
        let side = w.row_lower[i];
        w.row_alive[i] && side == w.row_upper[i] && w.rows[i].len() <= COLUMNS_LIMIT
    });
    let continuous = |&i: &usize| -> Vec<usize> {
        let columns = w.rows[i].iter().map(|e| e.0 as usize);
        columns.filter(|&j| !w.integer[j]).collect()
    };
    let mut implied = Vec::new();
    for system in connected(rows.collect(), continuous, w.cost.len()) {
        let mut columns: Vec<u32> = (system.iter())
            .flat_map(|&i| w.rows[i].iter().map(|e| e.0))
            .collect();
        columns.sort_unstable();
        columns.dedup();
        let mixed = columns.iter().any(|&j| !w.integer[j as usize]);
        if mixed && columns.len() <= COLUMNS_LIMIT && columns.iter().any(|&j| is_open(j)) {
            implied.extend(of_system(w, &system, tolerance).unwrap_or_default());
        }
    }
    for Whole { entries, side } in implied {
        let columns: Vec<(usize, Integer)> = (entries.iter().enumerate())
            .map(|(k, e)| (k, e.1.clone()))
            .collect();
        let sides = std::slice::from_ref(&side);
        if let IntegerPoints::None(_) = integer_points(&[columns], sides, entries.len()) {
            return Err(Infeasible);
        }
        let number = |v: &Integer| double(&Rational::from(v.clone()));
        let fits = |v: &Integer| number(v).abs() <= NUMBER_LIMIT;
        if entries.iter().all(|e| fits(&e.1)) && fits(&side) {
            let row = entries.iter().map(|(j, a)| (*j as u32, number(a)));
            w.add_row(row.collect(), number(&side), number(&side));
        }
    }
    Ok(())
}

/// An equation in integers.
struct Whole {
    entries: Vec<(usize, Integer)>,
    side: Integer,
}

/// The implied equations that points within the tolerance satisfy too.
fn of_system(w: &WorkingProblem, system: &[usize], tolerance: f64) -> Option<Vec<Whole>> {
    let equation = |&i: &usize| {
        let entries = w.rows[i].iter();
        let entries = entries.map(|&(j, a)| Some((j as usize, decimal(a)?)));
        Some((
            entries.collect::<Option<Vec<_>>>()?,
            decimal(w.row_lower[i])?,
        ))
    };
    let equations = system.iter().map(equation).collect::<Option<Vec<_>>>()?;
    let combinations = without(equations.into_iter(), |j| !w.integer[j]);
    let whole = |c: &Combination| -> Option<Whole> {
        let numbers = || c.entries.iter().map(|e| &e.1).chain([&c.side]);
        let scale = numbers().fold(UBig::ONE, |f, v| {
            let d = v.denominator();
            &f / (&f).gcd(d) * d
        });
        let scale = Rational::from(scale);
        let times = |v: &Rational| (v * &scale).trunc();
        let divisor = (c.entries.iter()).fold(Integer::ZERO, |g, e| g.gcd(&times(&e.1)).into());
        let miss = total(c.parts.iter().map(|(k, y)| {
            let side = w.row_lower[system[*k]].abs().max(1.0);
            y.abs() * Rational::try_from(side * tolerance).unwrap_or(Rational::ONE)
        }));
        let unit = Rational::from(divisor.clone());
        let is_robust = !divisor.is_zero() && double(&(miss * &scale / unit)) < MISS_LIMIT;
        (is_robust && c.parts.len() > 1).then(|| Whole {
            entries: c.entries.iter().map(|(j, a)| (*j, times(a))).collect(),
            side: times(&c.side),
        })
    };
    Some(combinations.iter().filter_map(whole).collect())
}
