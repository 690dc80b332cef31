//! Learning from closed nodes. The proof that a relaxation is infeasible (or has no point below the
//! cutoff) is a row that holds everywhere. Propagation of that row closes or shrinks other nodes
//! (dual proof analysis: Witzig, Berthold & Heinz 2017, *Experiments with conflict analysis in
//! mixed integer programming*; Pólik 2015).
//!
//! A proof `y` gives `(c - A'y) x <= cutoff - y . side`, without the objective for an infeasible
//! relaxation. Only globally valid rows may take part. The side covers rounding by global bounds,
//! so that exclusions are exact. A conflict excludes no solution better than the incumbent.

use crate::mip::domain::Domain;
use crate::mip::problem::Problem;
use crate::mip::relaxation::ExtraRow;
use crate::mip::relaxation::safe;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A learned row `entries . x <= upper`, and its number of rounds without use.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Conflict {
    pub row: Arc<ExtraRow>,
    /// Rounds since it last tightened a bound.
    pub age: u32,
}

/// Limit on the stored rows.
const CONFLICT_ROW_LIMIT: usize = 150;

/// Rounds without use after which a row is dropped.
const OLDEST: u32 = 40;

/// Merges the rows learned in a round. `used`: tags of rows that tightened a bound.
pub(crate) fn merge(pool: &mut Vec<Conflict>, learned: Vec<Arc<ExtraRow>>, mut used: Vec<u64>) {
    used.sort_unstable();
    used.dedup();
    for c in pool.iter_mut() {
        c.age = if used.binary_search(&c.row.tag).is_ok() {
            0
        } else {
            c.age + 1
        };
    }
    pool.retain(|c| c.age <= OLDEST);
    for row in learned {
        if !pool
            .iter()
            .any(|c| c.row.entries == row.entries && c.row.upper <= row.upper)
        {
            pool.push(Conflict { row, age: 0 });
        }
    }
    while pool.len() > CONFLICT_ROW_LIMIT {
        // The least useful one: ties go to the longest, then to the oldest.
        let worst = (pool.iter().enumerate())
            .max_by_key(|(k, c)| (c.age, c.row.entries.len(), std::cmp::Reverse(*k)))
            .map(|(k, _)| k);
        match worst {
            Some(k) => pool.remove(k),
            None => break,
        };
    }
}

/// A row from a proof, in a form for propagation; `None` if it would be of little use.
///
/// `row`: the proof's row from [`safe::proof_row`]. `local`: the node that it closed.
pub(crate) fn learn(
    p: &Problem,
    (mut entries, mut rhs): (Vec<(u32, f64)>, f64),
    (lower, upper): (&[f64], &[f64]),
    local: &Domain,
) -> Option<(Vec<(u32, f64)>, f64)> {
    let largest = entries.iter().fold(0.0f64, |m, e| m.max(e.1.abs()));
    if !(largest > 1e-9 && largest < 1e9) {
        return None;
    }
    let least = |e: &(u32, f64), l: &[f64], u: &[f64]| {
        let j = e.0 as usize;
        if e.1 > 0.0 { e.1 * l[j] } else { e.1 * u[j] }
    };
    let activity = |entries: &[(u32, f64)]| -> f64 {
        let d = local;
        entries.iter().map(|e| least(e, &d.lower, &d.upper)).sum()
    };
    let margin = |rhs: f64| 1e-6 * rhs.abs().max(largest);
    if activity(&entries) <= rhs + margin(rhs) {
        return None;
    }
    // Small entries, continuous columns, and columns no more bounded here than globally are
    // replaced by their least contribution.
    let most = 20 + p.num_cols() / 10;
    for pass in 0..3 {
        if pass == 2 && entries.len() <= most {
            break;
        }
        let fits = |e: &(u32, f64)| match pass {
            0 => e.1.abs() <= 1e-6 * largest,
            1 => !p.integer[e.0 as usize],
            _ => least(e, lower, upper) == least(e, &local.lower, &local.upper),
        };
        let gone: f64 = (entries.iter().filter(|e| fits(e)))
            .map(|e| least(e, lower, upper))
            .sum();
        if !gone.is_finite() {
            continue;
        }
        let rest: Vec<(u32, f64)> = entries.iter().filter(|e| !fits(e)).copied().collect();
        // The sum of the removed entries is rounded.
        let size = gone.abs() + largest;
        let new = rhs - gone + 1e-13 * size * entries.len() as f64;
        if activity(&rest) > new + margin(new) {
            (entries, rhs) = (rest, new);
        } else if pass == 0 {
            return None;
        }
    }
    if entries.is_empty() || entries.len() > most.max(200) {
        return None;
    }
    tighten(p, &mut entries, &mut rhs, (lower, upper));
    let largest = entries.iter().fold(0.0f64, |m, e| m.max(e.1.abs()));
    for e in &mut entries {
        e.1 /= largest;
    }
    rhs = rhs / largest + 1e-12 * (rhs / largest).abs();
    Some((entries, rhs))
}

/// Shrinks coefficients of integer columns that only make the row redundant (Savelsbergh 1994).
fn tighten(
    p: &Problem,
    entries: &mut [(u32, f64)],
    rhs: &mut f64,
    (lower, upper): (&[f64], &[f64]),
) {
    let reach = |e: &(u32, f64)| {
        let j = e.0 as usize;
        if e.1 > 0.0 {
            e.1 * upper[j]
        } else {
            e.1 * lower[j]
        }
    };
    let mut max: f64 = entries.iter().map(reach).sum();
    if !max.is_finite() {
        return;
    }
    for e in entries.iter_mut() {
        let j = e.0 as usize;
        let d = *rhs - (max - e.1.abs());
        let at = if e.1 > 0.0 { upper[j] } else { lower[j] };
        if !p.integer[j] || d <= 1e-3 * e.1.abs() || d >= 0.99 * e.1.abs() || at.abs() > 1e3 {
            continue;
        }
        let moved = -d * e.1.signum() * at;
        e.1 -= d * e.1.signum();
        *rhs += moved;
        max += moved;
    }
}

/// The row that a proof gives with global bounds; `None` if it uses local rows.
pub(crate) fn row_of(
    model: &remat_lp::Model,
    y: &[f64],
    (lower, upper): (&[f64], &[f64]),
    cutoff: Option<f64>,
    is_local: impl Fn(usize) -> bool,
) -> Option<(Vec<(u32, f64)>, f64)> {
    if y.iter()
        .enumerate()
        .any(|(i, v)| v.abs() >= 1e-14 && is_local(i))
    {
        return None;
    }
    safe::proof_row(model, y, lower, upper, cutoff)
}

#[cfg(test)]
mod tests {
    use super::*;
    use remat_lp::{ModelBuilder, Sense};

    fn row(tag: u64, n: u32) -> Arc<ExtraRow> {
        Arc::new(ExtraRow {
            tag,
            entries: (0..n).map(|j| (j + tag as u32, 1.0)).collect(),
            lower: f64::NEG_INFINITY,
            upper: 1.0,
        })
    }

    #[test]
    fn what_is_of_no_use_goes() {
        let mut pool = Vec::new();
        merge(&mut pool, vec![row(1, 2), row(2, 3), row(1, 2)], vec![]);
        assert_eq!(pool.len(), 2);
        for _ in 0..=OLDEST {
            merge(&mut pool, Vec::new(), vec![2]);
        }
        let tags: Vec<u64> = pool.iter().map(|c| c.row.tag).collect();
        assert_eq!(tags, [2]);
        merge(&mut pool, (10..500).map(|t| row(t, 4)).collect(), vec![2]);
        assert_eq!(pool.len(), CONFLICT_ROW_LIMIT);
        assert!(pool.iter().any(|c| c.row.tag == 2));
    }

    #[test]
    fn a_proof_closes_other_nodes() {
        // x + y + z >= 2 and 2x + 2y + w <= 3: infeasible with z = 0.
        let mut b = ModelBuilder::new(Sense::Minimise);
        let c: Vec<_> = (0..4)
            .map(|_| {
                let c = b.add_col(1.0, 0.0..=1.0);
                b.set_integer(c, true);
                c
            })
            .collect();
        b.add_row(2.0.., [(c[0], 1.0), (c[1], 1.0), (c[2], 1.0)]);
        b.add_row(..=3.0, [(c[0], 2.0), (c[1], 2.0), (c[3], 1.0)]);
        let model = b.build().unwrap();
        let p = Problem::from_model(&model);
        let mut d = Domain::new(&p);
        d.fix(&p, 2, 0.0);
        let global = (p.lower.as_slice(), p.upper.as_slice());
        let raw = row_of(&model, &[2.0, -1.0], global, None, |_| false).unwrap();
        let (entries, rhs) = learn(&p, raw, global, &d).unwrap();
        // -2z + w <= -1, and w contributes 0: z must be 1.
        let mut fresh = Domain::new(&p);
        fresh.propagate_extra(&p, &entries, rhs);
        assert_eq!((fresh.lower[2], fresh.infeasible), (1.0, false));
        d.propagate_extra(&p, &entries, rhs);
        assert!(d.infeasible);
        assert!(row_of(&model, &[2.0, -1.0], global, None, |i| i == 1).is_none());
    }
}
