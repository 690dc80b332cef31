//! Rows that are multiples of one another: one row is kept, with the tighter bounds (Andersen &
//! Andersen 1995; found by hashing, as in Tomlin & Welch 1986).

use super::stack::{BoundSide, PostsolveState, ReductionRecord};
use super::work::{Entries, Stop, WorkingModel};

struct DuplicateRow {
    kept: usize,
    gone: usize,
    /// `gone = factor * kept`.
    factor: f64,
    /// True if this bound of the kept row came from the removed one.
    lower_from_gone: bool,
    upper_from_gone: bool,
    fixed: bool,
}

impl ReductionRecord for DuplicateRow {
    /// Gives the dual to the row that the bound came from.
    fn undo(&self, s: &mut PostsolveState) {
        let side = s.row_side(self.kept, self.fixed);
        let from_gone = match side {
            Some(BoundSide::Lower) => self.lower_from_gone,
            Some(BoundSide::Upper) => self.upper_from_gone,
            None => false,
        };
        match side {
            Some(side) if from_gone => {
                s.y[self.gone] = s.y[self.kept] / self.factor;
                s.row[self.gone] = side.times(self.factor).status();
                s.row_is_slack(self.kept);
            }
            _ => {
                s.row_is_slack(self.gone);
                if let Some(side) = side {
                    s.row[self.kept] = side.status();
                }
            }
        }
    }
}

/// Groups of vectors that are probably multiples of one another, each with its sorted entries.
/// `fill` provides the entries.
pub(super) fn candidates(
    vectors: &[usize],
    mut fill: impl FnMut(usize, &mut Entries),
) -> Vec<Vec<(usize, Entries)>> {
    let mut buffer = Entries::new();
    let mut sorted = |k: usize, buffer: &mut Entries| {
        buffer.clear();
        fill(k, buffer);
        buffer.sort_unstable_by_key(|e| e.0);
    };
    let mut hashed: Vec<(u64, usize)> = Vec::with_capacity(vectors.len());
    for &k in vectors {
        sorted(k, &mut buffer);
        hashed.push((hash(&buffer), k));
    }
    hashed.sort_unstable();
    hashed
        .chunk_by(|a, b| a.0 == b.0)
        .filter(|group| group.len() > 1)
        .map(|group| {
            let entries = |&(_, k): &(u64, usize)| {
                sorted(k, &mut buffer);
                (k, buffer.clone())
            };
            group.iter().map(entries).collect()
        })
        .collect()
}

/// A hash of pattern and ratios. Ratios that differ by rounding get different hashes only if a
/// rounding border lies between them.
fn hash(entries: &Entries) -> u64 {
    let first = entries.first().map_or(1.0, |e| e.1);
    let mut h = entries.len() as u64;
    for &(k, v) in entries {
        // Adds half a unit of the last kept place, so that exact decimal ratios lie inside a cell.
        let ratio = (v / first).to_bits().wrapping_add(1 << 19) >> 20;
        for word in [u64::from(k), ratio] {
            h = (h ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            h ^= h >> 29;
        }
    }
    h
}

/// The factor `b / a`, if `b` is a multiple of `a` (to 1e-13).
pub(super) fn multiple(a: &Entries, b: &Entries) -> Option<f64> {
    if a.len() != b.len() || a.is_empty() {
        return None;
    }
    let factor = b[0].1 / a[0].1;
    let same = a
        .iter()
        .zip(b)
        .all(|(p, q)| p.0 == q.0 && (q.1 - factor * p.1).abs() <= 1e-13 * q.1.abs());
    same.then_some(factor)
}

/// Number of later members of its group that a vector is compared with, so that the time stays
/// linear for groups of thousands.
pub(super) const WINDOW: usize = 24;

/// Merges all duplicate rows.
pub(super) fn all(w: &mut WorkingModel) -> Result<(), Stop> {
    let rows: Vec<usize> = (0..w.num_rows())
        .filter(|&i| w.row_is_alive(i) && w.row_len(i) > 1)
        .collect();
    for group in candidates(&rows, |i, entries| entries.extend(w.row(i))) {
        for k in 0..group.len() {
            for l in k + 1..group.len().min(k + 1 + WINDOW) {
                let (kept, gone) = (group[k].0, group[l].0);
                if w.row_is_alive(kept)
                    && w.row_is_alive(gone)
                    && let Some(factor) = multiple(&group[k].1, &group[l].1)
                {
                    merge(w, kept, gone, factor)?;
                }
            }
        }
    }
    Ok(())
}

fn merge(w: &mut WorkingModel, kept: usize, gone: usize, factor: f64) -> Result<(), Stop> {
    let (l, u) = (w.row_lower[kept], w.row_upper[kept]);
    let (p, q) = (w.row_lower[gone] / factor, w.row_upper[gone] / factor);
    let (p, q) = if factor > 0.0 { (p, q) } else { (q, p) };
    let tol = w
        .row_tolerance(kept)
        .max(w.row_tolerance(gone) / factor.abs());
    let impossible = w
        .row_impossible(kept)
        .max(w.row_impossible(gone) / factor.abs());
    if p > u + impossible {
        return Err(Stop::Infeasible(vec![
            (gone, factor.signum()),
            (kept, -factor.abs()),
        ]));
    }
    if q < l - impossible {
        return Err(Stop::Infeasible(vec![
            (gone, -factor.signum()),
            (kept, factor.abs()),
        ]));
    }
    // A bound that is equal up to rounding is kept, so an equation stays an equation.
    let lower_from_gone = p > l + if l.is_finite() { tol } else { 0.0 };
    let upper_from_gone = q < u - if u.is_finite() { tol } else { 0.0 };
    let mut new_l = if lower_from_gone { p } else { l };
    let mut new_u = if upper_from_gone { q } else { u };
    // Bounds that cross by rounding, or nearly meet, make an equation, whose dual may have either
    // sign.
    if new_u - new_l <= tol {
        if lower_from_gone && !upper_from_gone {
            new_l = new_u;
        } else {
            new_u = new_l;
        }
    }
    w.row_lower[kept] = new_l;
    w.row_upper[kept] = new_u;
    w.remove_row(gone);
    w.push(DuplicateRow {
        kept,
        gone,
        factor,
        lower_from_gone,
        upper_from_gone,
        fixed: new_l == new_u,
    });
    w.touch_row(kept);
    w.touch_cols_of(kept);
    Ok(())
}
