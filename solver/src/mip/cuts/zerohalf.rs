//! Zero-half cuts: sums of integral rows with multipliers of one half (Caprara & Fischetti 1996).
//! They are found by pairing odd rows that share odd columns (the row elimination of Koster,
//! Zymolka & Kutschka 2009 with a small limit).

use super::mir;
use super::shift::BoundSubstitution;
use super::{Context, Cut};
use remat_lp::RowId;

/// A row modulo two over columns away from their bounds.
#[derive(Clone)]
struct Parity {
    odd: Vec<u32>,
    rhs_odd: bool,
    slack: f64,
    rows: Vec<(u32, bool)>,
}

/// Eliminates columns one by one over rows with little slack, and rounds the rows that end odd.
pub(crate) fn separate(c: &Context<'_>, out: &mut Vec<Cut>) {
    let x = &c.solution.x;
    let mut rows: Vec<Parity> = Vec::new();
    for i in 0..c.model.num_rows() {
        if !c.integral_rows[i] {
            continue;
        }
        let b = c.model.row_bounds(RowId(i as u32));
        let a = c.solution.row_activity[i];
        for (side, slack, upper) in [(b.upper, b.upper - a, true), (b.lower, a - b.lower, false)] {
            if !side.is_finite()
                || slack > 0.9
                || side.abs() > 1e9
                || (b.lower == b.upper && !upper)
            {
                continue;
            }
            let mut parity = Parity {
                odd: Vec::new(),
                rhs_odd: side.rem_euclid(2.0) == 1.0,
                slack: slack.max(0.0),
                rows: vec![(i as u32, upper)],
            };
            for (j, v) in c.model.row(RowId(i as u32)) {
                if v.rem_euclid(2.0) != 1.0 {
                    continue;
                }
                let k = j.index();
                let (to_l, to_u) = (x[k] - c.lower[k], c.upper[k] - x[k]);
                // A column at a bound is shifted there: it is removed, and the parity of its bound
                // moves to the side.
                if to_l.min(to_u) < 1e-6 {
                    let at = if to_l <= to_u { c.lower[k] } else { c.upper[k] };
                    parity.rhs_odd ^= at.rem_euclid(2.0) == 1.0;
                } else {
                    parity.odd.push(j.0);
                }
            }
            rows.push(parity);
        }
    }
    if rows.len() > 3_000 {
        rows.sort_by(|a, b| {
            a.slack
                .total_cmp(&b.slack)
                .then(a.rows[0].0.cmp(&b.rows[0].0))
        });
        rows.truncate(3_000);
    }
    let mut tried = 0;
    let mut work = 0usize;
    while tried < 150 && work < 3_000_000 {
        // Rows without odd columns and with an odd side are cuts already.
        let mut k = 0;
        while k < rows.len() {
            if rows[k].odd.is_empty() {
                let r = rows.swap_remove(k);
                if r.rhs_odd && r.slack < 0.95 {
                    tried += 1;
                    round(c, &r, out);
                }
            } else {
                k += 1;
            }
        }
        // Eliminates with the shortest row of little slack: its first odd column is cleared from
        // all others.
        let pick = (0..rows.len()).min_by(|&a, &b| {
            rows[a]
                .slack
                .total_cmp(&rows[b].slack)
                .then(rows[a].odd.len().cmp(&rows[b].odd.len()))
                .then(rows[a].rows[0].0.cmp(&rows[b].rows[0].0))
        });
        let Some(pick) = pick else { break };
        let pivot = rows.swap_remove(pick);
        let Some(&col) = pivot.odd.iter().max_by(|&&a, &&b| {
            let inside = |j: u32| {
                (x[j as usize] - c.lower[j as usize]).min(c.upper[j as usize] - x[j as usize])
            };
            inside(a).total_cmp(&inside(b)).then(b.cmp(&a))
        }) else {
            break;
        };
        for r in &mut rows {
            work += 1;
            if r.odd.binary_search(&col).is_ok() {
                work += r.odd.len() + pivot.odd.len();
                r.odd = symmetric_difference(&r.odd, &pivot.odd);
                r.rhs_odd ^= pivot.rhs_odd;
                r.slack += pivot.slack;
                r.rows.extend_from_slice(&pivot.rows);
            }
        }
        rows.retain(|r| r.slack < 0.95 && r.rows.len() < 40);
    }
}

fn symmetric_difference(a: &[u32], b: &[u32]) -> Vec<u32> {
    let mut out = Vec::with_capacity(a.len() + b.len());
    let (mut i, mut k) = (0, 0);
    while i < a.len() || k < b.len() {
        if k == b.len() || (i < a.len() && a[i] < b[k]) {
            out.push(a[i]);
            i += 1;
        } else if i == a.len() || b[k] < a[i] {
            out.push(b[k]);
            k += 1;
        } else {
            i += 1;
            k += 1;
        }
    }
    out
}

/// Rounds half the sum of the rows.
fn round(c: &Context<'_>, r: &Parity, out: &mut Vec<Cut>) {
    let mut times = r.rows.clone();
    times.sort_unstable();
    let mut sum = c.scratch.borrow_mut();
    let mut slacks = Vec::new();
    let mut k = 0;
    while k < times.len() {
        let (row, upper) = times[k];
        let mut count = 0;
        while k < times.len() && times[k] == (row, upper) {
            count += 1;
            k += 1;
        }
        if count % 2 == 0 {
            continue;
        }
        let b = c.model.row_bounds(RowId(row));
        let sign = if upper { 0.5 } else { -0.5 };
        sum.add_row(c.model, row as usize, sign);
        sum.side.add(sign * if upper { b.upper } else { b.lower });
        if b.lower != b.upper {
            slacks.push((row, 0.5, upper));
        }
    }
    sum.sort();
    let base = sum.base(&slacks, 1.0);
    sum.clear();
    drop(sum);
    mir::separate(c, &base, &[BoundSubstitution::Never], out);
}
