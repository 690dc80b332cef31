//! Check that every row of the published program of an instance is a row of the model, or follows
//! from one. Then no schedule's cost is above the model's optimum by more than the gap.

use super::light::{Light, UpperRow};
use crate::monet::original::MonetParts;
use std::collections::HashMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

const TOLERANCE: f64 = 1e-7;

/// A column of the published program in the model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum ColumnPlace {
    /// A value that it has in every point.
    Known(bool),
    /// The column that stands for it.
    Column(u32),
    /// No column of the model.
    Nowhere,
}

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() <= TOLERANCE * a.abs().max(b.abs()).max(1.0)
}

fn key(row: &UpperRow) -> u64 {
    let mut hasher = DefaultHasher::new();
    row.entries.iter().for_each(|e| e.0.hash(&mut hasher));
    hasher.finish()
}

/// `Some` if all rows are there.
pub(super) fn rows(p: &Light, parts: &MonetParts, places: &[ColumnPlace]) -> Option<()> {
    let mut known: HashMap<u64, Vec<u32>> = HashMap::new();
    for (r, row) in p.rows.iter().enumerate() {
        known.entry(key(row)).or_default().push(r as u32);
    }
    let mut missing = false;
    parts.each_row(&mut |lower, upper, entries| {
        if missing {
            return;
        }
        for (sign, side) in [(1.0, upper), (-1.0, -lower)] {
            if side.is_finite() && !is_there(p, &known, places, entries, sign, side) {
                missing = true;
            }
        }
    });
    (!missing).then_some(())
}

fn is_there(
    p: &Light,
    known: &HashMap<u64, Vec<u32>>,
    places: &[ColumnPlace],
    entries: &[(u32, f64)],
    sign: f64,
    side: f64,
) -> bool {
    let mut upper = side;
    let mut named = Vec::with_capacity(entries.len());
    let mut nowhere = false;
    for (c, v) in entries {
        match places[*c as usize] {
            ColumnPlace::Known(true) => upper -= sign * v,
            ColumnPlace::Known(false) => {}
            ColumnPlace::Column(c) => named.push((c, sign * v)),
            // It counts as one more column, which only idle rows may have.
            ColumnPlace::Nowhere => {
                nowhere = true;
                named.push((u32::MAX, sign * v));
            }
        }
    }
    let row = UpperRow::new(named, upper);
    if row.is_idle() {
        return true;
    }
    if nowhere {
        return false;
    }
    let same = known.get(&key(&row)).into_iter().flatten();
    same.map(|r| &p.rows[*r as usize]).any(|r| implies(r, &row))
}

/// Returns whether a row of the model implies a published row. Coefficients of published rows are
/// integers, so right sides may be rounded down.
fn implies(model: &UpperRow, published: &UpperRow) -> bool {
    let (a, b) = (model.entries[0].1, published.entries[0].1);
    if model.entries.len() != published.entries.len() || a * b < 0.0 {
        return false;
    }
    let scale = b / a;
    let mut pairs = model.entries.iter().zip(&published.entries);
    let size = published
        .entries
        .iter()
        .fold(0.0, |m: f64, e| m.max(e.1.abs()));
    pairs.all(|(m, p)| m.0 == p.0 && (m.1 * scale - p.1).abs() <= TOLERANCE * size)
        && (model.upper * scale + TOLERANCE).floor()
            <= published.upper + TOLERANCE * size.max(published.upper.abs())
}

/// Compares costs of all columns; the published ones are `scale` times the model's. Returns the
/// constant by which the model's objective is above.
pub(super) fn costs(
    p: &Light,
    parts: &MonetParts,
    places: &[ColumnPlace],
    scale: f64,
) -> Option<f64> {
    let mut cost = vec![0.0; p.cost.len()];
    let mut constant = 0.0;
    let mut nowhere = false;
    parts.each_cost(&mut |c, v| match places[c as usize] {
        ColumnPlace::Known(true) => constant += v / scale,
        ColumnPlace::Known(false) => {}
        ColumnPlace::Column(c) => cost[c as usize] += v,
        ColumnPlace::Nowhere => nowhere |= v != 0.0,
    });
    let alike = p.cost.iter().zip(&cost).all(|(a, b)| near(a * scale, *b));
    (alike && !nowhere).then_some(p.constant - constant)
}
