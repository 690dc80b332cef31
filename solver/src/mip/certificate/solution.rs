//! A solution in exact numbers: integer columns by rounding, continuous ones from the basis of
//! their linear program.

use super::ExactModel;
use crate::mip::exact::{Rational, decimal, solve_square, total};
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
