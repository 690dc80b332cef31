//! A solution in exact numbers: integer columns by rounding, continuous ones from the basis of
//! their linear program.

use super::ExactModel;
use super::stated::is_near;
use crate::mip::exact::{Rational, decimal, solve_any, solve_square, total};
use crate::mip::extend::StatedRows;
use remat_lp::{ColId, Model, VarStatus};
use std::collections::BTreeMap;

/// An exactly feasible point with the integer values of `x`, if the data have one.
pub(super) fn exact_point(model: &Model, m: &ExactModel, x: &[f64]) -> Option<Vec<Rational>> {
    let rounded: Vec<Rational> = x.iter().map(|&v| decimal(v)).collect::<Option<_>>()?;
    if holds(m, &rounded) {
        return Some(rounded);
    }
    let point = basic_point(model, m, x, rounded)?;
    holds(m, &point).then_some(point)
}

/// Distance from a side, relative to 1 and the side, within which a point is meant to meet it.
const MEANT: f64 = 1e-6;

/// An exactly feasible point near `x`. Rows and bounds that `x` nearly meets become equations, and
/// the continuous columns between their bounds make the least move, in squares, that satisfies
/// them. Stated rows complete the point.
pub(super) fn point_near(
    m: &ExactModel,
    x: &[f64],
    stated: &dyn StatedRows,
) -> Option<Vec<Rational>> {
    let given = |(&v, &integer): (&f64, &bool)| decimal(if integer { v.round() } else { v });
    let mut point: Vec<Rational> = (x.iter().zip(&m.integer))
        .map(given)
        .collect::<Option<_>>()?;
    stated.complete(&mut point);
    if holds(m, &point) {
        return Some(point);
    }
    let moves = move_to_sides(m, &mut point);
    let (mut rows, mut gaps) = (Vec::new(), Vec::new());
    for (row, sides) in m.rows.iter().zip(&m.row_sides) {
        let activity = total(row.iter().map(|(j, a)| a * &point[*j]));
        let moving: BTreeMap<usize, Rational> = (row.iter().filter(|(j, _)| moves[*j]))
            .map(|(j, a)| (*j, a.clone()))
            .collect();
        if let Some(side) = met(&activity, sides)
            && !moving.is_empty()
        {
            gaps.push(side - activity);
            rows.push(moving);
        }
    }
    // The least move is a combination of the rows.
    let product = |a: &BTreeMap<usize, Rational>, b: &BTreeMap<usize, Rational>| {
        total(a.iter().filter_map(|(j, v)| Some(v * b.get(j)?)))
    };
    let of_row = |a: &BTreeMap<usize, Rational>| -> BTreeMap<usize, Rational> {
        let products = rows.iter().map(|b| product(a, b)).enumerate();
        products.filter(|(_, v)| *v != Rational::ZERO).collect()
    };
    let (factors, _) = solve_any(rows.iter().map(of_row).collect(), gaps)?;
    for (row, factor) in rows.iter().zip(&factors) {
        for (j, a) in row {
            point[*j] += factor * a;
        }
    }
    stated.complete(&mut point);
    holds(m, &point).then_some(point)
}

/// Moves continuous columns that nearly meet a bound to it. Returns which columns may move on.
fn move_to_sides(m: &ExactModel, point: &mut [Rational]) -> Vec<bool> {
    let mut moves = Vec::with_capacity(point.len());
    for (j, v) in point.iter_mut().enumerate() {
        let side = met(v, &m.col_sides[j]).filter(|_| !m.integer[j]);
        moves.push(!m.integer[j] && side.is_none());
        if let Some(side) = side {
            *v = side;
        }
    }
    moves
}

/// The side that a value meets or exceeds; `None` if it is between them.
fn met(v: &Rational, (l, u): &(Option<Rational>, Option<Rational>)) -> Option<Rational> {
    let low = l.as_ref().filter(|l| v <= *l || is_near(v, l, MEANT));
    let high = u.as_ref().filter(|u| v >= *u || is_near(v, u, MEANT));
    low.or(high).cloned()
}

fn within(v: &Rational, (l, u): &(Option<Rational>, Option<Rational>)) -> bool {
    l.as_ref().is_none_or(|l| v >= l) && u.as_ref().is_none_or(|u| v <= u)
}

fn holds(m: &ExactModel, x: &[Rational]) -> bool {
    let columns = x.iter().zip(&m.col_sides).zip(&m.integer);
    let rows = m.rows.iter().zip(&m.row_sides);
    columns
        .into_iter()
        .all(|((v, sides), &integer)| within(v, sides) && (!integer || v.is_int()))
        && rows.into_iter().all(|(row, sides)| {
            let activity = total(row.iter().map(|(j, a)| a * &x[*j]));
            within(&activity, sides)
        })
}

/// The basic solution of the linear program over the continuous columns, solved in rational
/// numbers.
fn basic_point(
    model: &Model,
    m: &ExactModel,
    x: &[f64],
    mut point: Vec<Rational>,
) -> Option<Vec<Rational>> {
    let mut lp = remat_lp::Solver::new(model.clone(), remat_lp::Settings::default());
    for (j, v) in x.iter().enumerate() {
        if m.integer[j] {
            lp.set_col_bounds(ColId(j as u32), *v).ok()?;
        }
    }
    let outcome = lp.solve();
    let basis = &outcome.optimal()?.basis;
    let mut place = BTreeMap::new();
    for j in 0..x.len() {
        if m.integer[j] {
            continue;
        }
        let (l, u) = &m.col_sides[j];
        point[j] = match basis.cols[j] {
            VarStatus::Basic => {
                place.insert(j, place.len());
                continue;
            }
            VarStatus::AtLower => l.clone()?,
            VarStatus::AtUpper => u.clone()?,
            VarStatus::Free => Rational::default(),
        };
    }
    // An integer column that is basic at its fixed value leaves one row too many. Such rows must
    // agree with the rest.
    let (mut rows, mut sides) = (Vec::new(), Vec::new());
    for (i, row) in m.rows.iter().enumerate() {
        let (l, u) = &m.row_sides[i];
        let mut side = match basis.rows[i] {
            VarStatus::Basic | VarStatus::Free => continue,
            VarStatus::AtLower => l.clone().or(u.clone())?,
            VarStatus::AtUpper => u.clone().or(l.clone())?,
        };
        let mut entries = BTreeMap::new();
        for (j, a) in row {
            match place.get(j) {
                Some(&k) => {
                    entries.insert(k, a.clone());
                }
                None => side -= a * &point[*j],
            }
        }
        if !entries.is_empty() {
            rows.push(entries);
            sides.push(side);
        }
    }
    if rows.len() != place.len() {
        return None;
    }
    let values = solve_square(rows, sides)?;
    for (j, k) in place {
        point[j] = values[k].clone();
    }
    Some(point)
}
