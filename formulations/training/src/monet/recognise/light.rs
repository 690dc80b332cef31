//! A program over binary columns, without the columns that short rows fix or identify.
//!
//! Only rows of whole numbers fix columns. Fixings by memory rows are left out, so that every
//! column with a meaning can still be read.

use remat_lp::{ColId, Model, RowId};
use std::collections::HashSet;

const TOLERANCE: f64 = 1e-7;
/// Entries up to which a row is examined for fixings: alternatives of one decision.
const ENTRY_LIMIT: usize = 24;

/// Entries by column, ascending, at most `upper`.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct UpperRow {
    pub entries: Vec<(u32, f64)>,
    pub upper: f64,
}

impl UpperRow {
    /// Adds up entries of one column, drops zeros.
    pub fn new(mut entries: Vec<(u32, f64)>, upper: f64) -> UpperRow {
        if !entries.is_sorted_by(|a, b| a.0 < b.0) {
            entries.sort_by_key(|e| e.0);
            entries.dedup_by(|later, first| {
                let same = later.0 == first.0;
                if same {
                    first.1 += later.1;
                }
                same
            });
        }
        let largest = entries.iter().fold(0.0, |m: f64, e| m.max(e.1.abs()));
        entries.retain(|e| e.1.abs() > 1e-12 * largest);
        UpperRow { entries, upper }
    }

    /// Returns whether every 0-1 point satisfies the row.
    pub fn is_idle(&self) -> bool {
        let largest = self.entries.iter().fold(0.0, |m: f64, e| m.max(e.1.abs()));
        let most: f64 = self.entries.iter().map(|e| e.1.max(0.0)).sum();
        most <= self.upper + TOLERANCE * largest
    }

    /// Returns whether all coefficients are positive, with at least two of them.
    fn is_sum(&self) -> bool {
        self.entries.len() >= 2 && self.entries.iter().all(|e| e.1 > 0.0)
    }

    /// The row divided by its smallest coefficient.
    pub fn normal(&self) -> UpperRow {
        let sizes = self.entries.iter().map(|e| e.1.abs());
        let least = sizes.fold(f64::INFINITY, f64::min);
        UpperRow {
            entries: self.entries.iter().map(|e| (e.0, e.1 / least)).collect(),
            upper: self.upper / least,
        }
    }
}

/// A minimisation over binary columns, in classes of columns that are equal.
pub(super) struct Light {
    /// Values that are known.
    pub value: Vec<Option<bool>>,
    /// The column that stands for each; itself for most.
    pub same: Vec<u32>,
    /// Cost of each class, at the column that stands for it.
    pub cost: Vec<f64>,
    /// Cost of the known columns and of the offset.
    pub constant: f64,
    /// All rows that are not idle, and sums even if they are, by columns that stand for their
    /// class.
    pub rows: Vec<UpperRow>,
}

/// Reads a model; `None` if a column is not binary, or short rows contradict each other.
pub(super) fn read(model: &Model) -> Option<Light> {
    let n = model.num_cols();
    let sign = model.sense().sign();
    if (0..n as u32).any(|c| !model.is_integer(ColId(c))) {
        return None;
    }
    let mut value = bounds(model)?;
    let rows = sides(model);
    propagate(&rows, &mut value)?;
    let rows = without(rows, &value)?;
    let same = classes(&rows, n);
    let mut out = Light {
        cost: vec![0.0; n],
        constant: sign * model.offset(),
        rows: Vec::with_capacity(rows.len()),
        value,
        same,
    };
    for (c, cost) in model.costs().iter().enumerate() {
        match out.value[c] {
            Some(true) => out.constant += sign * cost,
            Some(false) => {}
            None => out.cost[out.same[c] as usize] += sign * cost,
        }
    }
    for row in rows {
        let named = row.entries.iter().map(|e| (out.same[e.0 as usize], e.1));
        let row = UpperRow::new(named.collect(), row.upper);
        if row.entries.is_empty() && row.upper < -TOLERANCE {
            return None;
        }
        if row.is_sum() || !row.entries.is_empty() && !row.is_idle() {
            out.rows.push(row);
        }
    }
    Some(out)
}

/// Values by bounds of columns, including bounds that are written as rows.
fn bounds(model: &Model) -> Option<Vec<Option<bool>>> {
    let (mut lower, mut upper) = (model.col_lower().to_vec(), model.col_upper().to_vec());
    for row in (0..model.num_rows() as u32).map(RowId) {
        let mut entries = model.row(row);
        let (Some((c, v)), None) = (entries.next(), entries.next()) else {
            continue;
        };
        let side = model.row_bounds(row);
        let (a, b) = (side.lower / v, side.upper / v);
        let c = c.index();
        lower[c] = lower[c].max(a.min(b));
        upper[c] = upper[c].min(a.max(b));
    }
    let one = |(l, u): (&f64, &f64)| {
        if *l < -TOLERANCE && *l > -1.0 + TOLERANCE || l > u {
            return None;
        }
        // From 0 to 1, or a part of it.
        let inside = *l >= -TOLERANCE && *u <= 1.0 + TOLERANCE;
        let value = match (*l > TOLERANCE, *u < 1.0 - TOLERANCE) {
            (true, _) => Some(true),
            (_, true) => Some(false),
            _ => None,
        };
        inside.then_some(value)
    };
    lower.iter().zip(&upper).map(one).collect()
}

/// All rows with two entries or more, as upper sides.
fn sides(model: &Model) -> Vec<UpperRow> {
    let mut out = Vec::with_capacity(model.num_rows());
    for row in (0..model.num_rows() as u32).map(RowId) {
        let entries: Vec<(u32, f64)> = model.row(row).map(|(c, v)| (c.0, v)).collect();
        if entries.len() < 2 {
            continue;
        }
        let side = model.row_bounds(row);
        if side.lower.is_finite() {
            let turned = entries.iter().map(|e| (e.0, -e.1)).collect();
            out.push(UpperRow {
                entries: turned,
                upper: -side.lower,
            });
        }
        if side.upper.is_finite() {
            out.push(UpperRow {
                entries,
                upper: side.upper,
            });
        }
    }
    out
}

/// Returns whether a row is short and all coefficients are 1 or 2 times the smallest.
fn is_of_whole_numbers(row: &UpperRow) -> bool {
    let sizes = || row.entries.iter().map(|e| e.1.abs());
    let least = sizes().fold(f64::INFINITY, f64::min);
    let whole = |v: f64| (v / least - 1.0).abs() < 1e-9 || (v / least - 2.0).abs() < 1e-9;
    row.entries.len() <= ENTRY_LIMIT && sizes().all(whole)
}

/// Fixes the columns that short rows of whole numbers force, to the fixpoint.
fn propagate(rows: &[UpperRow], value: &mut [Option<bool>]) -> Option<()> {
    let short: Vec<&UpperRow> = rows.iter().filter(|r| is_of_whole_numbers(r)).collect();
    let mut of: Vec<Vec<u32>> = vec![Vec::new(); value.len()];
    for (r, row) in short.iter().enumerate() {
        for (c, _) in &row.entries {
            of[*c as usize].push(r as u32);
        }
    }
    let mut waiting: Vec<u32> = (0..short.len() as u32).collect();
    let mut queued = vec![true; short.len()];
    while let Some(r) = waiting.pop() {
        queued[r as usize] = false;
        let row = short[r as usize];
        let mut least = 0.0;
        for (c, v) in &row.entries {
            least += match value[*c as usize] {
                Some(one) => f64::from(u8::from(one)) * v,
                None => v.min(0.0),
            };
        }
        let slack = TOLERANCE * row.upper.abs().max(1.0);
        if least > row.upper + slack {
            return None;
        }
        for (c, v) in &row.entries {
            if value[*c as usize].is_none() && least + v.abs() > row.upper + slack {
                value[*c as usize] = Some(*v < 0.0);
                for other in &of[*c as usize] {
                    if !std::mem::replace(&mut queued[*other as usize], true) {
                        waiting.push(*other);
                    }
                }
            }
        }
    }
    Some(())
}

/// Rows without the known columns.
fn without(rows: Vec<UpperRow>, value: &[Option<bool>]) -> Option<Vec<UpperRow>> {
    let mut out = Vec::with_capacity(rows.len());
    for mut row in rows {
        let size = row.entries.iter().fold(1.0, |m: f64, e| m.max(e.1.abs()));
        for (c, v) in &row.entries {
            if value[*c as usize] == Some(true) {
                row.upper -= v;
            }
        }
        row.entries.retain(|e| value[e.0 as usize].is_none());
        if row.entries.is_empty() && row.upper < -TOLERANCE * size {
            return None;
        }
        if !row.entries.is_empty() {
            out.push(row);
        }
    }
    Some(out)
}

/// For each column, the column that stands for its class: columns that are at most each other.
fn classes(rows: &[UpperRow], n: usize) -> Vec<u32> {
    let pairs = rows.iter().filter_map(at_most);
    let below: HashSet<(u32, u32)> = pairs.collect();
    let mut same: Vec<u32> = (0..n as u32).collect();
    fn root(same: &mut [u32], mut c: u32) -> u32 {
        while same[c as usize] != c {
            same[c as usize] = same[same[c as usize] as usize];
            c = same[c as usize];
        }
        c
    }
    for (x, y) in rows.iter().filter_map(at_most) {
        if below.contains(&(y, x)) {
            let (a, b) = (root(&mut same, x), root(&mut same, y));
            same[a.max(b) as usize] = a.min(b);
        }
    }
    for c in 0..n as u32 {
        same[c as usize] = root(&mut same, c);
    }
    same
}

/// `x` and `y` of `x <= y`.
fn at_most(row: &UpperRow) -> Option<(u32, u32)> {
    let [(a, v), (b, w)] = row.entries[..] else {
        return None;
    };
    let opposite = (v + w).abs() <= 1e-9 * v.abs() && row.upper.abs() <= TOLERANCE * v.abs();
    opposite.then_some(if v > 0.0 { (a, b) } else { (b, a) })
}
