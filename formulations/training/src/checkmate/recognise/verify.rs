//! Check that a reduced program is, under its labels, the published program of the instance that
//! was read from it.

use super::{Reduced, reduce};
use crate::checkmate::original::{Decision, Original};
use remat_lp::ColId;
use std::collections::BTreeMap;

/// A row as a map key: its columns in the published program; and its numbers.
type Rows = BTreeMap<Vec<u32>, Vec<(Vec<f64>, f64)>>;

const TOLERANCE: f64 = 1e-7;
/// Largest cost of an instance from which on its costs are rounded.
const LEAST_ROUNDED: f64 = (1u64 << 38) as f64;

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() <= TOLERANCE * a.abs().max(b.abs()).max(1.0)
}

/// `Some` if every row of the published program is a row of the model, which may have others. The
/// model may lack the `FREE` and `U` columns of nodes beyond the stage, which are of no use. Rows
/// with these columns are left out of the comparison.
pub(super) fn same(
    model: &Reduced,
    original: &Original,
    decisions: &[Option<Decision>],
) -> Option<()> {
    let published = reduce(original.model())?;
    // For each column of the model, its column in the published program.
    let mut name = vec![None; decisions.len()];
    let mut there = vec![false; published.cost.len()];
    for (j, decision) in decisions.iter().enumerate() {
        let Some(decision) = decision else { continue };
        let column = original.column(*decision)?.index();
        if std::mem::replace(&mut there[column], true) || published.fixed[column].is_some() {
            return None;
        }
        name[j] = Some(column as u32);
    }
    let beyond = |column: usize| match original.decision(ColId(column as u32)) {
        Decision::Freed { stage, reader, .. } => reader > stage,
        Decision::Memory { stage, node } => node > stage,
        _ => false,
    };
    for (column, there) in there.iter().enumerate() {
        if !there && published.fixed[column].is_none() && !beyond(column) {
            return None;
        }
    }
    bounds(model, &published, &name)?;
    let own = |j: u32| name[j as usize];
    let every = |j: u32| there[j as usize].then_some(j);
    let whole = |j: u32| !there[j as usize];
    let found = rows(model, own, |_| false)?;
    let wanted = rows(&published, every, whole)?;
    contain(&found, &wanted)
}

/// Costs and bounds of each column.
fn bounds(model: &Reduced, published: &Reduced, name: &[Option<u32>]) -> Option<()> {
    let scale = name.iter().enumerate().find_map(|(j, c)| {
        let c = (*c)? as usize;
        (model.cost[j] != 0.0).then(|| published.cost[c] / model.cost[j])
    });
    let scale = scale.unwrap_or(1.0);
    // Costs that no unit makes integers are rounded down, in units far below the largest.
    let largest = published.cost.iter().copied().fold(0.0, f64::max);
    let rounding = if largest >= LEAST_ROUNDED { 1.0 } else { 0.0 };
    let alike = |a: f64, b: f64| near(a, b) || (a - b).abs() <= rounding;
    for (j, c) in name.iter().enumerate() {
        let Some(c) = *c else { continue };
        let c = c as usize;
        let price = model.cost[j] * scale;
        if model.binary[j] != published.binary[c] || !alike(price, published.cost[c]) {
            return None;
        }
        // The capacity may be cut to the integer below.
        let upper = model.upper[j] + TOLERANCE >= published.upper[c]
            && near(model.upper[j].floor(), published.upper[c].floor())
            || near(model.upper[j], published.upper[c]);
        if !model.binary[j] && (model.lower[j] > TOLERANCE || !upper) {
            return None;
        }
    }
    Some(())
}

/// All rows, by columns of the published program. Rows with a column that `skipped` names are left
/// out.
fn rows(
    p: &Reduced,
    name: impl Fn(u32) -> Option<u32>,
    skipped: impl Fn(u32) -> bool,
) -> Option<Rows> {
    let mut out = Rows::new();
    let mut add = |entries: &[(u32, f64)], side: f64, equality: bool| -> Option<()> {
        if entries.iter().any(|e| skipped(e.0)) {
            return Some(());
        }
        let mut named = Vec::with_capacity(entries.len());
        for (c, v) in entries {
            named.push((name(*c)?, *v));
        }
        named.sort_by_key(|e| e.0);
        // Equalities have no sign of their own, and no scale; inequalities no scale.
        let unit = match equality {
            true => named[0].1,
            false => named
                .iter()
                .map(|e| e.1.abs())
                .fold(f64::INFINITY, f64::min),
        };
        let key = named.iter().map(|e| e.0).collect();
        let values = named.iter().map(|e| e.1 / unit).collect();
        out.entry(key).or_default().push((values, side / unit));
        Some(())
    };
    for row in &p.binaries {
        let (entries, upper) = tightest(p, &row.entries, row.upper);
        add(&entries, upper, false)?;
    }
    for row in &p.mixed {
        add(&row.entries, row.upper, false)?;
    }
    for row in &p.equalities {
        add(&row.entries, row.side, true)?;
    }
    Some(out)
}

/// `k F + h <= k + g` says that `h <= g` if `F` is 1. Any `k` that does not restrict `h` otherwise
/// is equivalent; the least one is taken. Other rows stay as they are.
fn tightest(p: &Reduced, entries: &[(u32, f64)], upper: f64) -> (Vec<(u32, f64)>, f64) {
    let mut large = entries.iter().filter(|e| e.1 > 1.5);
    let (Some((f, k)), None) = (large.next(), large.next()) else {
        return (entries.to_vec(), upper);
    };
    let others = entries.iter().filter(|e| e.0 != *f);
    let most: f64 = others.map(|e| e.1.max(0.0)).sum();
    if !p.binary[*f as usize] || upper + TOLERANCE < most {
        return (entries.to_vec(), upper);
    }
    let g = upper - k;
    let changed = entries
        .iter()
        .map(|e| (e.0, if e.0 == *f { most - g } else { e.1 }));
    (changed.collect(), most)
}

fn contain(found: &Rows, wanted: &Rows) -> Option<()> {
    for (key, b) in wanted {
        let a = found.get(key)?;
        let alike = |x: &(Vec<f64>, f64), y: &(Vec<f64>, f64)| {
            near(x.1, y.1) && x.0.iter().zip(&y.0).all(|(v, w)| near(*v, *w))
        };
        let inside = |all: &[(Vec<f64>, f64)], x: &(Vec<f64>, f64)| all.iter().any(|y| alike(x, y));
        if !b.iter().all(|x| inside(a, x)) {
            return None;
        }
    }
    Some(())
}
