//! Contradictions that need no tree: crossing sides, and equations over integer columns without an
//! integer solution. Such equations add up to one with integer coefficients and a fractional side,
//! whose two roundings contradict each other.

use super::proof::Derivation;
use super::{ConstraintSense, ExactModel, SidePositions, entries};
use crate::mip::exact::lattice::{IntegerPoints, connected, integer_points};
use crate::mip::exact::{Integer, Rational, one};
use dashu_int::UBig;
use dashu_int::ops::Gcd;
use num_traits::Zero;
use std::collections::BTreeMap;

/// Limit on the columns of a system: larger ones are left to the tree.
const MOST_COLUMNS: usize = 200;

/// Derives a contradiction without assumptions; returns its line.
pub(super) fn contradiction(m: &ExactModel, proof: &mut Derivation) -> Option<usize> {
    crossed(m, proof).or_else(|| unsolvable(m, proof))
}

fn crossed(m: &ExactModel, proof: &mut Derivation) -> Option<usize> {
    let columns = m.col_sides.iter().zip(&proof.cols);
    let rows = m.row_sides.iter().zip(&proof.rows);
    let (side, lines) = columns.chain(rows).find_map(|((l, u), lines)| {
        let apart = l.as_ref()? - u.as_ref()?;
        (apart > Rational::zero()).then_some((apart, lines))
    })?;
    let SidePositions {
        lower: Some(lower),
        upper: Some(upper),
    } = *lines
    else {
        return None;
    };
    let parts = [(lower, one()), (upper, -one())];
    Some(proof.combine(ConstraintSense::AtLeast, &side, "0", &parts, false))
}

/// An equation of the model times a number that makes it integral.
struct Whole {
    row: usize,
    factor: UBig,
    entries: Vec<(usize, Integer)>,
    side: Integer,
}

fn unsolvable(m: &ExactModel, proof: &mut Derivation) -> Option<usize> {
    let equations: Vec<Whole> = (0..m.rows.len()).filter_map(|i| whole(m, i)).collect();
    let columns_of = |e: &Whole| e.entries.iter().map(|e| e.0).collect();
    for system in connected(equations, columns_of, m.cost.len()) {
        let mut place = BTreeMap::new();
        for e in system.iter().flat_map(|e| &e.entries) {
            let next = place.len();
            place.entry(e.0).or_insert(next);
        }
        if place.len() > MOST_COLUMNS {
            continue;
        }
        let rows: Vec<Vec<(usize, Integer)>> = system
            .iter()
            .map(|e| {
                e.entries
                    .iter()
                    .map(|(j, a)| (place[j], a.clone()))
                    .collect()
            })
            .collect();
        let sides: Vec<Integer> = system.iter().map(|e| e.side.clone()).collect();
        if let IntegerPoints::None(multipliers) = integer_points(&rows, &sides, place.len()) {
            let parts = (system.iter().zip(multipliers))
                .filter(|(_, y)| !y.is_zero())
                .map(|(e, y)| (e.row, y * Rational::from(e.factor.clone())))
                .collect::<Vec<_>>();
            return refuse(m, proof, &parts);
        }
    }
    None
}

fn whole(m: &ExactModel, row: usize) -> Option<Whole> {
    let (Some(l), Some(u)) = &m.row_sides[row] else {
        return None;
    };
    let entries = &m.rows[row];
    if l != u || entries.is_empty() || !entries.iter().all(|e| m.integer[e.0]) {
        return None;
    }
    let numbers = entries.iter().map(|e| &e.1).chain([l]);
    let factor = numbers.fold(UBig::ONE, |f, v| {
        let d = v.denominator();
        &f / (&f).gcd(d) * d
    });
    let times = |v: &Rational| (v * Rational::from(factor.clone())).trunc();
    Some(Whole {
        row,
        entries: entries.iter().map(|(j, a)| (*j, times(a))).collect(),
        side: times(l),
        factor,
    })
}

/// Derives the sum of equations with multipliers, rounded both ways.
fn refuse(m: &ExactModel, proof: &mut Derivation, parts: &[(usize, Rational)]) -> Option<usize> {
    let mut sum: BTreeMap<usize, Rational> = BTreeMap::new();
    let mut side = Rational::zero();
    let mut lines = Vec::new();
    for (row, y) in parts {
        for (j, a) in &m.rows[*row] {
            *sum.entry(*j).or_default() += y * a;
        }
        side += y * m.row_sides[*row].0.as_ref()?;
        lines.push((proof.rows[*row].lower?, y.clone()));
    }
    let form = entries(sum.iter().filter(|e| !e.1.is_zero()).map(|(j, a)| (*j, a)));
    let mut rounded = |sense| proof.combine_rounded(sense, &side, &form, &lines);
    let above = rounded(ConstraintSense::AtLeast);
    let below = rounded(ConstraintSense::AtMost);
    let parts = [(above, one()), (below, -one())];
    Some(proof.combine(ConstraintSense::AtLeast, &one(), "0", &parts, false))
}
