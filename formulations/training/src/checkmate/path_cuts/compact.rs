//! The cuts as rows of the retention-edge form.

use super::walk::PathDistances;
use super::{
    FractionalPoint, PathCut, PathMemoryCut, PointBuilder, SeparationSettings, ViolatedCut,
};
use crate::checkmate::compact::{Compact, Entry, Space};
use remat_lp::{ColId, NewRow};
use std::collections::BTreeSet;

/// The point of the form's columns.
pub fn point_of(form: &Compact, x: &[f64]) -> FractionalPoint {
    let n = form.graph().len();
    let mut point = PointBuilder::new(n);
    for t in 0..n {
        for i in 0..t {
            let kept = form.retained(t, i).value(x);
            if kept != 0.0 {
                point.add_retained(i, t..t + 1, kept);
            }
            let made = form.computed(t, i).value(x);
            if made != 0.0 {
                point.add_recomputed(i, t, made);
            }
        }
    }
    point.finish()
}

#[derive(Default)]
struct RowTerms {
    entries: Vec<(ColId, f64)>,
    constant: f64,
}

impl RowTerms {
    fn add(&mut self, entry: Entry, factor: f64) {
        match entry {
            Entry::Zero => {}
            Entry::One => self.constant += factor,
            Entry::Column(c) => self.entries.push((c, factor)),
        }
    }

    /// Sorted, each column once.
    fn merged(mut self) -> (Vec<(ColId, f64)>, f64) {
        self.entries.sort_by_key(|e| e.0);
        remat_solver::entries::add_up(&mut self.entries);
        (self.entries, self.constant)
    }
}

/// A path cut as a row.
pub fn path_cut_row(form: &Compact, cut: &PathCut) -> NewRow {
    let mut terms = RowTerms::default();
    let a = cut.from as usize;
    for &p in &cut.path {
        terms.add(form.retained(a, p as usize), 1.0);
    }
    for t in a..=cut.reader as usize {
        terms.add(form.computed(t, cut.source() as usize), 1.0);
    }
    let (entries, constant) = terms.merged();
    NewRow::new(1.0 - constant.., entries)
}

/// A path memory cut as a row, in units of the
/// [graph](crate::checkmate::CheckmateGraph::memory_unit).
pub fn memory_cut_row(form: &Compact, cut: &PathMemoryCut) -> NewRow {
    let g = form.graph();
    let unit = g.memory_unit();
    let mut terms = RowTerms::default();
    let (a, b) = (cut.path.from as usize, cut.path.reader as usize);
    for &k in &cut.staying {
        let k = k as usize;
        let bytes = g.bytes[k] as f64 / unit;
        terms.add(form.retained(b + 1, k), bytes);
        for t in a..=b {
            terms.add(form.computed(t, k), -bytes);
        }
    }
    let need = g.need_bytes(cut.path.source() as usize) as f64 / unit;
    for &p in &cut.path.path {
        terms.add(form.retained(a, p as usize), -need);
    }
    let room = (g.capacity as f64 - cut.other_bytes as f64) / unit - need;
    let (entries, constant) = terms.merged();
    NewRow::new(..=room - constant, entries)
}

/// Violated path memory cuts of the form, the most violated first, at most
/// `settings.resource_cut_limit`, one for each (reader, source).
pub fn separate_memory_cuts(
    form: &Compact,
    point: &FractionalPoint,
    settings: &SeparationSettings,
) -> Vec<ViolatedCut<PathMemoryCut>> {
    let g = form.graph();
    let n = g.len();
    let first_stage = match form.space() {
        Space::Rectangular => g.first_backward.unwrap_or(0) as usize,
        Space::Full => 0,
    };
    // Tensors that are known to be there, by stage: the gradients of the rectangular space.
    let known: Vec<u64> = (0..n)
        .map(|t| {
            (first_stage..t)
                .filter(|&i| form.retained(t, i) == Entry::One)
                .map(|i| g.bytes[i])
                .sum()
        })
        .collect();
    let stop = 1.0 - settings.violation;
    let mut walk = PathDistances::new(n);
    let mut found = Vec::new();
    let mut stay = vec![0.0; n];
    for q in 0..n {
        let first = (q + 1).max(first_stage);
        let Some(&last) = g.users[q].last() else {
            continue;
        };
        let end = last as usize + 1;
        if first >= end
            || point
                .retained_of(q)
                .all_reach(stop, first as u32..end as u32)
        {
            continue;
        }
        walk.run(g, point, q, first..end, stop);
        for &b in g.users[q].iter().filter(|&&b| b as usize >= first) {
            let b = b as usize;
            let mut best: Vec<(f64, usize)> = vec![(0.02, 0); walk.nodes.len()];
            let mut least_known = u64::MAX;
            for a in (first..=b).rev() {
                least_known = least_known.min(known[a]);
                let mut staying = 0.0;
                for (k, s) in stay.iter_mut().enumerate().take(a) {
                    let column = matches!(form.retained(b + 1, k), Entry::Column(_));
                    let d = point.retained(b + 1, k) - point.recomputed_in(k, a..b + 1);
                    *s = if column {
                        d.max(0.0) * g.bytes[k] as f64
                    } else {
                        0.0
                    };
                    staying += *s;
                }
                for (k, slot) in best.iter_mut().enumerate() {
                    let d = walk.distance(k, a);
                    if d >= stop {
                        continue;
                    }
                    let j = walk.nodes[k] as usize;
                    let own = g.needs[j].iter().map(|&u| u as usize).chain([j]);
                    let excluded: f64 = own.filter(|&u| u < a).map(|u| stay[u]).sum();
                    let need = g.need_bytes(j) as f64;
                    let load = staying - excluded + need * (1.0 - d) + least_known as f64;
                    let share = (load - g.capacity as f64) / need;
                    if share > slot.0 {
                        *slot = (share, a);
                    }
                }
            }
            for (k, (share, a)) in best.into_iter().enumerate() {
                if a > 0 {
                    found.push((share, b, walk.nodes[k], a, walk.path(k, a)));
                }
            }
        }
    }
    found.sort_by(|x, y| y.0.total_cmp(&x.0).then_with(|| x.4.cmp(&y.4)));
    let mut seen = BTreeSet::new();
    let mut out = Vec::new();
    for (share, b, j, a, path) in found {
        if out.len() >= settings.resource_cut_limit {
            break;
        }
        if !seen.insert((b, j)) {
            continue;
        }
        let staying = (0..a as u32)
            .filter(|&k| {
                let made = point.recomputed_in(k as usize, a..b + 1);
                let d = point.retained(b + 1, k as usize) - made;
                k != j
                    && !g.needs[j as usize].contains(&k)
                    && matches!(form.retained(b + 1, k as usize), Entry::Column(_))
                    && d > 1e-6
            })
            .collect();
        let path = PathCut {
            reader: b as u32,
            from: a as u32,
            path,
        };
        let other_bytes = (a..=b).map(|t| known[t]).min().unwrap_or(0);
        let cut = PathMemoryCut {
            path,
            staying,
            other_bytes,
            companions: Vec::new(),
        };
        out.push(ViolatedCut {
            cut,
            violation: share,
            score: share,
        });
    }
    out
}
