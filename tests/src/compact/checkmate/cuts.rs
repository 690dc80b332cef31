//! The cuts as rows of the retention-edge form.

use super::{Compact, Entry, Space};
use remat_formulations::checkmate::CheckmateGraph;
use remat_formulations::checkmate::path_cuts::{
    FractionalPoint, PathCut, PathMemoryCut, PointBuilder, SeparationSettings, ViolatedCut,
};
use remat_lp::{ColId, NewRow};
use std::collections::BTreeSet;

/// Share of a node's memory need by which memory must exceed the capacity.
const LEAST_EXCESS: f64 = 0.02;

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
/// [graph](CheckmateGraph::memory_unit).
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

/// Distances from a needed node at one stage: the retained share of the shortest path to it.
struct Distances {
    /// The distance of each node, and its reader on the path; `None` beyond the limit.
    to: Vec<Option<(f64, usize)>>,
}

impl Distances {
    /// Distances below `limit` from `needed` at the start of stage `from`.
    fn new(
        graph: &CheckmateGraph,
        point: &FractionalPoint,
        (needed, from): (usize, usize),
        limit: f64,
    ) -> Self {
        let mut to = vec![None; graph.len()];
        to[needed] = Some((point.retained(from, needed), needed));
        for node in (0..=needed).rev() {
            let Some((distance, _)) = to[node].filter(|(distance, _)| *distance < limit) else {
                to[node] = None;
                continue;
            };
            for &input in &graph.needs[node] {
                let input = input as usize;
                let through = distance + point.retained(from, input);
                if to[input].is_none_or(|(known, _)| through < known) {
                    to[input] = Some((through, node));
                }
            }
        }
        Distances { to }
    }

    /// The nodes within the limit, each with its distance.
    fn nodes(&self) -> impl Iterator<Item = (usize, f64)> + '_ {
        let all = self.to.iter().enumerate();
        all.filter_map(|(node, to)| Some((node, to.as_ref()?.0)))
    }

    /// The shortest path from a node within the limit, the needed node last.
    fn path(&self, node: usize) -> Vec<u32> {
        let mut path = vec![node as u32];
        let mut at = node;
        while let Some((_, reader)) = self.to[at].filter(|(_, reader)| *reader != at) {
            path.push(reader as u32);
            at = reader;
        }
        path
    }
}

/// Bytes of tensors that the form knows to be in memory, by stage: the gradients of the rectangular
/// space.
fn known_bytes(form: &Compact, first_stage: usize) -> Vec<u64> {
    let graph = form.graph();
    let at = |t: usize| {
        let known = (first_stage..t).filter(|&i| form.retained(t, i) == Entry::One);
        known.map(|i| graph.bytes[i]).sum()
    };
    (0..graph.len()).map(at).collect()
}

/// The cut of a window and a path, and its violation as a share of the first node's memory need.
fn memory_cut(
    form: &Compact,
    point: &FractionalPoint,
    known: &[u64],
    path: PathCut,
    distance: f64,
) -> (f64, PathMemoryCut) {
    let graph = form.graph();
    let (a, b, j) = (path.from as usize, path.reader as usize, path.source());
    let stay =
        |k: u32| point.retained(b + 1, k as usize) - point.recomputed_in(k as usize, a..b + 1);
    let is_apart = |k: &u32| *k != j && !graph.needs[j as usize].contains(k);
    let is_open = |k: &u32| matches!(form.retained(b + 1, *k as usize), Entry::Column(_));
    let all = (0..path.from).filter(|k| is_apart(k) && is_open(k));
    let staying: Vec<u32> = all.filter(|k| stay(*k) > 1e-6).collect();
    let bytes = staying
        .iter()
        .map(|&k| stay(k) * graph.bytes[k as usize] as f64);
    let other_bytes = known[a..=b].iter().copied().min().unwrap_or(0);
    let need = graph.need_bytes(j as usize) as f64;
    let load = bytes.sum::<f64>() + need * (1.0 - distance) + other_bytes as f64;
    let cut = PathMemoryCut {
        path,
        staying,
        other_bytes,
        companions: Vec::new(),
    };
    ((load - graph.capacity as f64) / need, cut)
}

/// Violated path memory cuts of the form, the most violated first, one for each (reader, source),
/// at most `settings.resource_cut_limit`. Every window is tried.
pub fn separate_memory_cuts(
    form: &Compact,
    point: &FractionalPoint,
    settings: &SeparationSettings,
) -> Vec<ViolatedCut<PathMemoryCut>> {
    let graph = form.graph();
    let first_stage = match form.space() {
        Space::Rectangular => graph.first_backward.unwrap_or(0) as usize,
        Space::Full => 0,
    };
    let known = known_bytes(form, first_stage);
    let limit = 1.0 - settings.violation;
    let mut found = Vec::new();
    for needed in 0..graph.len() {
        let last = graph.users[needed].last().map_or(0, |&last| last as usize);
        for from in (needed + 1).max(first_stage)..=last {
            let distances = Distances::new(graph, point, (needed, from), limit);
            let readers = graph.users[needed].iter().filter(|&&b| b as usize >= from);
            for &reader in readers {
                for (source, distance) in distances.nodes() {
                    let path = PathCut {
                        reader,
                        from: from as u32,
                        path: distances.path(source),
                    };
                    let (excess, cut) = memory_cut(form, point, &known, path, distance);
                    if excess > LEAST_EXCESS {
                        found.push(ViolatedCut {
                            cut,
                            violation: excess,
                            score: excess,
                        });
                    }
                }
            }
        }
    }
    found.sort_by(|x, y| {
        let order = y.violation.total_cmp(&x.violation);
        order.then_with(|| x.cut.path.path.cmp(&y.cut.path.path))
    });
    let mut seen = BTreeSet::new();
    found.retain(|f| seen.insert((f.cut.path.reader, f.cut.path.source())));
    found.truncate(settings.resource_cut_limit);
    found
}
