//! Equations over integer columns with wide bounds, for which halving bounds never ends: with
//! `2 x + 4 y - 6 z = 3` every relaxation is feasible, but no integer point is.
//!
//! Equations without an integer point are detected. In others, the columns become sums of new
//! columns: integer multiples of a short basis of the equations' lattice. Branching on the new
//! columns splits the program along its thin direction (Aardal, Hurkens & Lenstra 2000;
//! `lattice.rs`).

use super::{Infeasible, PostsolveStep, WorkingProblem};
use crate::mip::exact::lattice::{IntegerPoints, Lattice, connected, integer_points};
use crate::mip::exact::{Integer, scaled};
use dashu_int::ops::Gcd;
use num_traits::Signed;

/// Limits on the columns of a system, and on the coefficients of the new rows.
const MOST_COLUMNS: usize = 50;
const MOST_COEFFICIENT: f64 = 1e7;
/// Number of values below which a column is left to branching.
const WIDE: f64 = 20.0;
/// Limit on the entries of the new rows, for each old entry.
const FILL: usize = 4;

/// An equation in integers without a common factor.
struct WholeEquation {
    row: usize,
    entries: Vec<(usize, Integer)>,
    side: Integer,
}

/// The integer form of a row of decimals over integer columns, with its side.
fn whole(w: &WorkingProblem, i: usize) -> Option<(Vec<(usize, Integer)>, Integer)> {
    let side = w.row_lower[i];
    let row = &w.rows[i];
    if side != w.row_upper[i] {
        return None;
    }
    let scale = w.exact_scale(i)?;
    let integer = |v: f64| Some(Integer::from(scaled(v, scale)? as i64));
    let entries: Option<Vec<(usize, Integer)>> = row
        .iter()
        .map(|&(j, a)| Some((j as usize, integer(a)?)))
        .collect();
    Some((entries?, integer(side)?))
}

/// Replaces the columns of equations whose columns are all wide and have no coefficient of one.
pub(super) fn reduce(w: &mut WorkingProblem) -> Result<(), Infeasible> {
    let is_wide = |w: &WorkingProblem, j: usize| w.upper[j] - w.lower[j] >= WIDE;
    let mut equations = Vec::new();
    for i in 0..w.rows.len() {
        let len = w.rows[i].len();
        if !w.row_alive[i] || !(2..=MOST_COLUMNS).contains(&len) {
            continue;
        }
        if !w.rows[i].iter().all(|e| is_wide(w, e.0 as usize)) {
            continue;
        }
        let Some((mut entries, side)) = whole(w, i) else {
            continue;
        };
        let divisor = entries
            .iter()
            .fold(Integer::ZERO, |g, e| g.gcd(&e.1).into());
        if !side.is_multiple_of(&divisor) {
            return Err(Infeasible);
        }
        entries.iter_mut().for_each(|e| e.1 = &e.1 / &divisor);
        if entries.iter().all(|e| !e.1.abs().is_one()) {
            equations.push(WholeEquation {
                row: i,
                entries,
                side: side / divisor,
            });
        }
    }
    let columns_of = |e: &WholeEquation| e.entries.iter().map(|e| e.0).collect();
    for system in connected(equations, columns_of, w.cost.len()) {
        replace(w, &system)?;
    }
    Ok(())
}

/// Replaces the columns of a system by sums of new columns.
fn replace(w: &mut WorkingProblem, system: &[WholeEquation]) -> Result<(), Infeasible> {
    let mut columns: Vec<usize> = system
        .iter()
        .flat_map(|e| e.entries.iter().map(|e| e.0))
        .collect();
    columns.sort_unstable();
    columns.dedup();
    if columns.len() > MOST_COLUMNS || columns.iter().any(|&j| w.is_needed(j)) {
        return Ok(());
    }
    let place = |j: usize| columns.binary_search(&j).unwrap_or(0);
    let rows: Vec<Vec<(usize, Integer)>> = system
        .iter()
        .map(|e| {
            e.entries
                .iter()
                .map(|(j, a)| (place(*j), a.clone()))
                .collect()
        })
        .collect();
    let sides: Vec<Integer> = system.iter().map(|e| e.side.clone()).collect();
    let mut lattice = match integer_points(&rows, &sides, columns.len()) {
        IntegerPoints::None(_) => return Err(Infeasible),
        IntegerPoints::Lattice(lattice) => lattice,
    };
    lattice.shorten();
    let middle: Vec<f64> = columns
        .iter()
        .map(|&j| middle(w.lower[j], w.upper[j]))
        .collect();
    lattice.centre(&middle);
    if let Some(sums) = Sums::new(&lattice)
        && sums.fill(w, &columns) <= FILL * sums.old_entries(w, &columns) + 100
        && sums.keep_precision(w, &columns, system)
    {
        for e in system {
            w.kill_row(e.row);
        }
        sums.substitute(w, &columns);
    }
    Ok(())
}

/// A value well within bounds; zero without bounds.
fn middle(lower: f64, upper: f64) -> f64 {
    match (lower.is_finite(), upper.is_finite()) {
        (true, true) => lower + (upper - lower) / 2.0,
        (true, false) => lower,
        (false, true) => upper,
        (false, false) => 0.0,
    }
}

/// Each old column as a constant plus multiples of new ones, and each new one from the old ones.
struct Sums {
    constant: Vec<f64>,
    /// New columns and factors for each old column.
    terms: Vec<Vec<(usize, f64)>>,
    /// Constant, old columns and factors for each new column.
    back: Vec<(f64, Vec<(usize, f64)>)>,
}

impl Sums {
    /// `None` if the numbers are too large for floating point.
    fn new(lattice: &Lattice) -> Option<Sums> {
        let small = |v: &Integer, most: f64| Some(v.to_f64().value()).filter(|v| v.abs() <= most);
        let constant: Vec<f64> = lattice
            .base
            .iter()
            .map(|v| small(v, 1e12))
            .collect::<Option<_>>()?;
        let mut terms = vec![Vec::new(); constant.len()];
        for (k, vector) in lattice.basis.iter().enumerate() {
            for (j, v) in vector.iter().enumerate().filter(|e| !e.1.is_zero()) {
                terms[j].push((k, small(v, MOST_COEFFICIENT)?));
            }
        }
        let back = lattice
            .inverse
            .iter()
            .map(|row| {
                let shift: Integer = row.iter().zip(&lattice.base).map(|(a, b)| a * b).sum();
                let entries: Option<Vec<(usize, f64)>> = row
                    .iter()
                    .enumerate()
                    .filter(|e| !e.1.is_zero())
                    .map(|(j, v)| Some((j, small(v, 1e12)?)))
                    .collect();
                Some((-small(&shift, 1e15)?, entries?))
            })
            .collect::<Option<_>>()?;
        Some(Sums {
            constant,
            terms,
            back,
        })
    }

    fn old_entries(&self, w: &WorkingProblem, columns: &[usize]) -> usize {
        let of = |row: &Vec<(u32, f64)>| {
            row.iter()
                .filter(|e| columns.binary_search(&(e.0 as usize)).is_ok())
                .count()
        };
        w.rows.iter().map(of).sum()
    }

    /// Number of entries of the new columns: one row for each old column, and the rows it was in.
    fn fill(&self, w: &WorkingProblem, columns: &[usize]) -> usize {
        let own: usize = self.terms.iter().map(Vec::len).sum();
        let touched = w.rows.iter().filter(|row| {
            row.iter()
                .any(|e| columns.binary_search(&(e.0 as usize)).is_ok())
        });
        own + touched.count() * self.back.len()
    }

    /// Returns whether the rows outside the system can take the sums without losing precision.
    fn keep_precision(
        &self,
        w: &WorkingProblem,
        columns: &[usize],
        system: &[WholeEquation],
    ) -> bool {
        (0..w.rows.len()).all(|i| {
            let mut inside = w.rows[i].iter();
            let is_touched = inside.any(|e| columns.binary_search(&(e.0 as usize)).is_ok());
            !is_touched || system.iter().any(|e| e.row == i) || w.is_precise(i)
        })
    }

    fn substitute(&self, w: &mut WorkingProblem, columns: &[usize]) {
        let first = w.cost.len() as u32;
        for (constant, terms) in &self.back {
            let of = |&(k, f): &(usize, f64)| (columns[k] as u32, f);
            w.add_column(*constant, terms.iter().map(of).collect());
        }
        let new_terms = |k: usize| -> Vec<(u32, f64)> {
            let of = |&(t, f): &(usize, f64)| (first + t as u32, f);
            self.terms[k].iter().map(of).collect()
        };
        for i in 0..w.rows.len() {
            let inside: Vec<(usize, f64)> = w.rows[i]
                .iter()
                .filter_map(|e| Some((columns.binary_search(&(e.0 as usize)).ok()?, e.1)))
                .collect();
            if inside.is_empty() || !w.row_alive[i] {
                continue;
            }
            w.rows[i].retain(|e| columns.binary_search(&(e.0 as usize)).is_err());
            let shift: f64 = inside.iter().map(|&(k, a)| a * self.constant[k]).sum();
            w.row_lower[i] -= shift;
            w.row_upper[i] -= shift;
            for (k, a) in inside {
                w.add_multiple(i, &new_terms(k), a);
            }
        }
        for (k, &j) in columns.iter().enumerate() {
            let (terms, constant) = (new_terms(k), self.constant[k]);
            w.shift_cost(&terms, constant, w.cost[j]);
            if w.lower[j].is_finite() || w.upper[j].is_finite() {
                let ends = (w.lower[j] - constant, w.upper[j] - constant);
                w.add_row(terms.clone(), ends.0, ends.1);
            }
            w.col_alive[j] = false;
            w.steps.push(PostsolveStep::Aggregated {
                col: j as u32,
                constant,
                terms,
            });
            w.changes += 1;
        }
    }
}
