//! A program without the columns that its own rows fix, independent of how the fixings are written.

use remat_lp::{ColId, Model, RowId, Sense};

/// Entries with their columns, at most `upper`.
#[derive(Clone, Debug)]
pub(crate) struct Inequality {
    /// By column.
    pub entries: Vec<(u32, f64)>,
    pub upper: f64,
}

/// Entries of an equality with at least one continuous column.
#[derive(Clone, Debug)]
pub(crate) struct Equality {
    /// By column.
    pub entries: Vec<(u32, f64)>,
    pub side: f64,
}

/// A minimisation over binary and continuous columns, reduced.
#[derive(Clone)]
pub(crate) struct Reduced {
    /// Known values of binary columns.
    pub fixed: Vec<Option<bool>>,
    pub binary: Vec<bool>,
    pub lower: Vec<f64>,
    pub upper: Vec<f64>,
    /// In the minimised form.
    pub cost: Vec<f64>,
    /// Cost of the fixed columns and of the offset, in the minimised form.
    pub constant: f64,
    /// Rows over free binary columns that not every point satisfies, scaled so that the smallest
    /// coefficient is 1.
    pub binaries: Vec<Inequality>,
    /// Rows that define continuous columns.
    pub equalities: Vec<Equality>,
    /// Inequalities with continuous columns, not scaled.
    pub mixed: Vec<Inequality>,
}

const TOLERANCE: f64 = 1e-7;

/// Fixes binary columns as far as single rows over binary columns force them, and drops fixed
/// columns and idle rows. `None` for a program with other columns than binary and bounded
/// continuous ones or with other rows, or whose rows contradict each other.
pub(crate) fn reduce(model: &Model) -> Option<Reduced> {
    let n = model.num_cols();
    let sign = match model.sense() {
        Sense::Minimise => 1.0,
        Sense::Maximise => -1.0,
    };
    let mut out = Reduced {
        fixed: vec![None; n],
        binary: (0..n as u32).map(|j| model.is_integer(ColId(j))).collect(),
        lower: model.col_lower().to_vec(),
        upper: model.col_upper().to_vec(),
        cost: model.costs().iter().map(|c| sign * c).collect(),
        constant: sign * model.offset(),
        binaries: Vec::new(),
        equalities: Vec::new(),
        mixed: Vec::new(),
    };
    for j in 0..n {
        if out.binary[j] {
            if out.lower[j] < -TOLERANCE || out.upper[j] > 1.0 + TOLERANCE {
                return None;
            }
            out.fixed[j] = match (out.lower[j] > 0.5, out.upper[j] < 0.5) {
                (true, true) => return None,
                (true, _) => Some(true),
                (_, true) => Some(false),
                _ => None,
            };
        }
    }
    propagate(model, &mut out)?;
    let rows = (0..model.num_rows() as u32).map(RowId);
    for row in rows.filter(|row| !is_limit(model, *row)) {
        take(model, row, &mut out)?;
    }
    for j in 0..n {
        if out.fixed[j] == Some(true) {
            out.constant += out.cost[j];
        }
    }
    Some(out)
}

/// Returns whether a row limits a sum of binary columns and is no part of the program. Its
/// coefficients are all positive, and alike or several of them above the least. By itself it would
/// fix the columns that exceed the limit, and hide the structure.
fn is_limit(model: &Model, row: RowId) -> bool {
    let bounds = model.row_bounds(row);
    let (sign, side) = match (bounds.lower.is_finite(), bounds.upper.is_finite()) {
        (false, true) => (1.0, bounds.upper),
        (true, false) => (-1.0, -bounds.lower),
        _ => return false,
    };
    let is_positive = |(c, v): (ColId, f64)| model.is_integer(c) && v * sign > 0.0;
    if side <= 0.0 || !model.row(row).all(is_positive) {
        return false;
    }
    let entries: Vec<f64> = model.row(row).map(|(_, v)| v * sign).collect();
    let least = entries.iter().copied().fold(f64::INFINITY, f64::min);
    let is_above = |v: &&f64| **v > least * (1.0 + TOLERANCE);
    let above = entries.iter().filter(is_above).count();
    entries.len() > 1 && side >= least && above != 1
}

/// Fixes columns by rows over binary columns only, to the fixpoint.
fn propagate(model: &Model, out: &mut Reduced) -> Option<()> {
    let mut waiting: Vec<u32> = (0..model.num_rows() as u32)
        .filter(|&r| model.row(RowId(r)).all(|(c, _)| out.binary[c.index()]))
        .filter(|&r| !is_limit(model, RowId(r)))
        .collect();
    let inside: Vec<bool> = {
        let mut inside = vec![false; model.num_rows()];
        waiting.iter().for_each(|&r| inside[r as usize] = true);
        inside
    };
    let mut queued = inside.clone();
    while let Some(r) = waiting.pop() {
        queued[r as usize] = false;
        let bounds = model.row_bounds(RowId(r));
        let (mut least, mut most) = (0.0, 0.0);
        for (c, v) in model.row(RowId(r)) {
            match out.fixed[c.index()] {
                Some(one) => {
                    let value = if one { v } else { 0.0 };
                    (least, most) = (least + value, most + value);
                }
                None => (least, most) = (least + v.min(0.0), most + v.max(0.0)),
            }
        }
        if least > bounds.upper + TOLERANCE || most < bounds.lower - TOLERANCE {
            return None;
        }
        for (c, v) in model.row(RowId(r)) {
            if out.fixed[c.index()].is_some() {
                continue;
            }
            // Activities of the row with the column at its unfavourable value.
            let over = least + v.abs() > bounds.upper + TOLERANCE;
            let under = most - v.abs() < bounds.lower - TOLERANCE;
            let value = match (over, under) {
                (true, true) => return None,
                (true, _) => v < 0.0,
                (_, true) => v > 0.0,
                _ => continue,
            };
            out.fixed[c.index()] = Some(value);
            (least, most) = match value == (v > 0.0) {
                true => (least + v.abs(), most),
                false => (least, most - v.abs()),
            };
            for (other, _) in model.col(c) {
                if inside[other.index()] && !queued[other.index()] {
                    queued[other.index()] = true;
                    waiting.push(other.0);
                }
            }
        }
    }
    Some(())
}

/// Sorts a row into its kind, without fixed columns.
fn take(model: &Model, row: RowId, out: &mut Reduced) -> Option<()> {
    let bounds = model.row_bounds(row);
    let (mut lower, mut upper) = (bounds.lower, bounds.upper);
    let mut entries: Vec<(u32, f64)> = Vec::new();
    for (c, v) in model.row(row) {
        match out.fixed[c.index()] {
            Some(true) => (lower, upper) = (lower - v, upper - v),
            Some(false) => {}
            None => entries.push((c.0, v)),
        }
    }
    if entries.is_empty() {
        return (lower <= TOLERANCE && upper >= -TOLERANCE).then_some(());
    }
    if entries.iter().any(|e| !out.binary[e.0 as usize]) {
        return take_mixed(entries, lower, upper, out);
    }
    let most: f64 = entries.iter().map(|e| e.1.max(0.0)).sum();
    let least: f64 = entries.iter().map(|e| e.1.min(0.0)).sum();
    let (binds_above, binds_below) = (most > upper + TOLERANCE, least < lower - TOLERANCE);
    if binds_below {
        let turned = entries.iter().map(|e| (e.0, -e.1)).collect();
        out.binaries.push(scaled(turned, -lower));
    }
    if binds_above {
        out.binaries.push(scaled(entries, upper));
    }
    Some(())
}

fn take_mixed(entries: Vec<(u32, f64)>, lower: f64, upper: f64, out: &mut Reduced) -> Option<()> {
    if lower == upper {
        let side = lower;
        out.equalities.push(Equality { entries, side });
        return Some(());
    }
    if let [(c, v)] = entries[..] {
        // A bound written as a row.
        let (a, b) = (lower / v, upper / v);
        let (a, b) = if v > 0.0 { (a, b) } else { (b, a) };
        let c = c as usize;
        out.lower[c] = out.lower[c].max(a);
        out.upper[c] = out.upper[c].min(b);
        return Some(());
    }
    if lower.is_finite() {
        let turned = entries.iter().map(|e| (e.0, -e.1)).collect();
        out.mixed.push(Inequality {
            entries: turned,
            upper: -lower,
        });
    }
    if upper.is_finite() {
        out.mixed.push(Inequality { entries, upper });
    }
    Some(())
}

fn scaled(mut entries: Vec<(u32, f64)>, upper: f64) -> Inequality {
    let least = entries
        .iter()
        .map(|e| e.1.abs())
        .fold(f64::INFINITY, f64::min);
    entries.iter_mut().for_each(|e| e.1 /= least);
    Inequality {
        entries,
        upper: upper / least,
    }
}
