//! A fractional solution of the interval form, and the rows it violates.

use super::rows::starts_between;
use super::{CheckmateGraph, Interval, Row, event};
use crate::checkmate::path_cuts::{
    FractionalPoint, MemoryCandidate, PathCut, PathMemoryCut, PointBuilder, SeparationSettings,
    walk_memory,
};
use crate::life::Stretch;
use remat_instances::schedule::{BitMatrix, CheckmateSchedule, StageRuns};

/// Intervals with their values.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct IntervalPoint {
    /// Intervals with positive values, by tensor.
    pub intervals: Vec<(Interval, f64)>,
}

/// Path memory cuts that are computed for each wanted one, the most promising first: a point far
/// from convergence has tens of thousands of windows.
const CANDIDATES: usize = 5;
/// Values below count as 0.
const ZERO: f64 = 1e-9;

impl IntervalPoint {
    /// The point of an LP solution.
    pub fn new(columns: impl Iterator<Item = (Interval, f64)>) -> Self {
        let mut intervals: Vec<_> = columns.filter(|c| c.1 > ZERO).collect();
        intervals.sort_by_key(|c| c.0);
        IntervalPoint { intervals }
    }

    /// `R` and `S` of the point.
    pub fn fractional(&self, graph: &CheckmateGraph) -> FractionalPoint {
        let mut point = PointBuilder::new(graph.len());
        for &(c, x) in &self.intervals {
            point.add_retained(c.node as usize, c.start as usize + 1..c.end as usize + 1, x);
            if c.is_recomputed() {
                point.add_recomputed(c.node as usize, c.start as usize, x);
            }
        }
        point.finish()
    }

    /// Tensors that the point retains by more than a threshold and to some use, shape `n x n`. In
    /// general this is not a schedule that fits, but it is one if the point is integral. (An
    /// interval may end at a reader that does not run there: that end is useless.)
    pub fn rounded(&self, graph: &CheckmateGraph, threshold: f64) -> BitMatrix {
        kept(graph, &self.fractional(graph), threshold)
    }

    /// The intervals of each tensor, as ranges into `intervals`.
    pub(super) fn by_tensor(&self, graph: &CheckmateGraph) -> Vec<std::ops::Range<usize>> {
        by_tensor(&self.intervals, graph.len(), |c| c.node)
    }

    /// Rows of recomputations whose inputs are not all there, or that come without their parents,
    /// by more than `tolerance`.
    pub fn violated_inputs(&self, graph: &CheckmateGraph, tolerance: f64) -> Vec<Row> {
        let tensors = self.by_tensor(graph);
        let mut found = Vec::new();
        for (node, stage, made) in self.recomputations() {
            if let Some(parent) = graph.parent[node as usize] {
                let own = self.intervals[tensors[parent as usize].clone()].iter();
                let stages = graph.parent_from(parent, stage)..=stage;
                let with = own.filter(|(d, _)| d.is_recomputed() && stages.contains(&d.start));
                if with.map(|d| d.1).sum::<f64>() < made - tolerance {
                    found.push(Row::Parent { stage, node });
                }
            }
            for &input in &graph.needs[node as usize] {
                let there: f64 = self.intervals[tensors[input as usize].clone()]
                    .iter()
                    .filter(|(d, _)| match graph.has_moments() {
                        true => (d.start..=d.end).contains(&stage),
                        false => d.covers(graph, stage, node),
                    })
                    .map(|d| d.1)
                    .sum();
                if there < made - tolerance {
                    found.push(Row::Input { stage, node, input });
                }
            }
        }
        found
    }

    /// Recomputations as (node, stage, how often), by node and stage.
    pub(super) fn recomputations(&self) -> Vec<(u32, u32, f64)> {
        let same = |a: &(Interval, f64), b: &(Interval, f64)| {
            (a.0.node, a.0.start) == (b.0.node, b.0.start)
        };
        let groups = self.intervals.chunk_by(same);
        let again = groups.filter(|group| group[0].0.is_recomputed());
        let made = again.map(|group| {
            let first = group[0].0;
            (first.node, first.start, group.iter().map(|c| c.1).sum())
        });
        made.collect()
    }

    /// Bytes of other micro-batches that wait, by a gauge.
    pub fn waiting_bytes(&self, graph: &CheckmateGraph, gauge: u32) -> f64 {
        let Some(wait) = graph.wait_event() else {
            return 0.0;
        };
        let sizes = &graph.gauges[gauge as usize].waiting;
        let there = self.intervals.iter().filter(|(c, _)| c.is_at(graph, wait));
        there.map(|(c, x)| sizes[c.node as usize] as f64 * x).sum()
    }

    /// Events at which the memory, measured by a gauge, exceeds `limit_bytes`, worst first, at most
    /// `per_stage` in a stage, without `known` rows.
    pub fn violated_memory(
        &self,
        graph: &CheckmateGraph,
        gauge: u32,
        limit_bytes: f64,
        per_stage: usize,
        known: impl Fn(&Row) -> bool,
    ) -> Vec<Row> {
        let n = graph.len();
        let gauge_of = &graph.gauges[gauge as usize];
        let (bytes, again) = (&gauge_of.bytes, &gauge_of.working_again);
        let mut changes = Vec::with_capacity(2 * self.intervals.len());
        let mut scratch = Vec::new();
        for &(c, x) in &self.intervals {
            let held = bytes[c.node as usize] as f64 * x;
            let (first, last) = (c.first_event(graph), c.last_event(graph));
            if first <= last {
                changes.push((first, held));
                changes.push((last + 1, -held));
            }
            let workspace = again[c.node as usize] - bytes[c.node as usize];
            if c.is_recomputed() && workspace > 0 && !graph.has_moments() {
                scratch.push((event(n, c.start, c.node), workspace as f64 * x));
            }
        }
        changes.sort_by_key(|c| c.0);
        scratch.sort_by_key(|s| s.0);
        let mut changes = changes.into_iter().peekable();
        let mut scratch = scratch.into_iter().peekable();
        let mut found: Vec<(f64, u32, u32)> = Vec::new();
        let mut load = self.waiting_bytes(graph, gauge);
        let mut stage = Vec::new();
        for t in 0..n as u32 {
            stage.clear();
            let is_news = |here: f64, k: u32| {
                let row = Row::Memory {
                    stage: t,
                    node: k,
                    gauge,
                };
                here > limit_bytes && !known(&row)
            };
            let mut k = 0;
            loop {
                let e = event(n, t, k);
                while let Some((_, change)) = changes.next_if(|c| c.0 <= e) {
                    load += change;
                }
                let mut here = load;
                while let Some((_, w)) = scratch.next_if(|s| s.0 <= e) {
                    here += w;
                }
                if k == t {
                    here += gauge_of.working[k as usize] as f64;
                }
                // With moments, stages have other rows.
                if is_news(here, k) && (k == t || !graph.has_moments()) {
                    stage.push((here, t, k));
                }
                if k == t {
                    break;
                }
                // Up to the next event that differs all are alike.
                let next = [changes.peek(), scratch.peek()].into_iter().flatten();
                let next = next.map(|c| c.0 - event(n, t, 0)).fold(t, u32::min);
                if load > limit_bytes && !graph.has_moments() {
                    let alike = (k + 1..next).filter(|k| is_news(load, *k));
                    stage.extend(alike.take(per_stage).map(|k| (load, t, k)));
                }
                k = next;
            }
            stage.sort_by(|a: &(f64, u32, u32), b| b.0.total_cmp(&a.0).then(a.2.cmp(&b.2)));
            found.extend(stage.iter().take(per_stage));
        }
        found.sort_by(|a, b| b.0.total_cmp(&a.0).then((a.1, a.2).cmp(&(b.1, b.2))));
        found
            .into_iter()
            .map(|(_, stage, node)| Row::Memory { stage, node, gauge })
            .collect()
    }

    /// The cut with the tensors that stay through its window most, and its violation as a share of
    /// `need_j`. `capacity` are the bytes beside other micro-batches that wait.
    fn memory_cut(
        &self,
        graph: &CheckmateGraph,
        path: PathCut,
        held: f64,
        capacity: f64,
        tensors: &[std::ops::Range<usize>],
    ) -> (f64, PathMemoryCut) {
        let (a, b, j) = (path.from, path.reader, path.source());
        let own = |k: u32| k == j || graph.needs[j as usize].contains(&k);
        let mut staying = Vec::new();
        let mut load = 0.0;
        // Tensors that are there whole at event (t,j), by stage of the window.
        let mut whole: Vec<Vec<u32>> = vec![Vec::new(); (b - a + 1) as usize];
        let mut cover = Vec::new();
        for k in (0..b).filter(|&k| !own(k)) {
            let range = tensors[k as usize].clone();
            if range.is_empty() {
                continue;
            }
            let window = starts_between(graph, k, j, a, b);
            let stays: f64 = self.intervals[range.clone()]
                .iter()
                .map(|(c, x)| {
                    let kept = c.covers(graph, b, j);
                    x * (f64::from(u8::from(kept)) - f64::from(u8::from(window.contains(&c.start))))
                })
                .sum();
            if k < a && stays > 1e-6 {
                staying.push(k);
                load += stays * graph.bytes[k as usize] as f64;
                continue;
            }
            cover.clear();
            cover.resize(whole.len(), 0.0);
            for &(c, x) in &self.intervals[range] {
                for t in c.start.max(a)..=c.end.min(b) {
                    if c.covers(graph, t, j) {
                        cover[(t - a) as usize] += x;
                    }
                }
            }
            for (list, there) in whole.iter_mut().zip(&cover) {
                if *there > 1.0 - 1e-6 {
                    list.push(k);
                }
            }
        }
        let bytes = |k: &u32| graph.bytes[*k as usize];
        let least = whole
            .iter()
            .map(|g| g.iter().map(bytes).sum::<u64>())
            .min()
            .unwrap_or(0);
        let mut companions = Vec::new();
        let mut other_bytes = u64::MAX;
        for (t, list) in (a..=b).zip(&mut whole) {
            // The largest first, no more than the leanest stage can match.
            list.sort_by_key(|k| std::cmp::Reverse(bytes(k)));
            let mut sum = 0;
            for &k in list.iter() {
                if sum >= least {
                    break;
                }
                sum += bytes(&k);
                companions.push((t, k));
            }
            other_bytes = other_bytes.min(sum);
        }
        companions.sort_unstable();
        let need = graph.need_bytes(j as usize) as f64;
        let room = capacity - other_bytes as f64;
        let share = (load + need * (1.0 - held) - room) / need.max(1.0);
        (
            share,
            PathMemoryCut {
                path,
                staying,
                other_bytes,
                companions,
            },
        )
    }

    /// Violated path memory cuts, most violated first.
    pub fn violated_path_memory(
        &self,
        graph: &CheckmateGraph,
        settings: &SeparationSettings,
    ) -> Vec<PathMemoryCut> {
        let tensors = self.by_tensor(graph);
        let point = self.fractional(graph);
        let mut found = Vec::new();
        let capacity = graph.capacity as f64 - self.waiting_bytes(graph, 0);
        let mut candidates = walk_memory(graph, &point, capacity, settings);
        candidates.sort_by(|a, b| {
            let order = b.share.total_cmp(&a.share);
            order.then_with(|| a.path.cmp(&b.path))
        });
        candidates.truncate(CANDIDATES.saturating_mul(settings.resource_cut_limit));
        for candidate in candidates {
            let MemoryCandidate { path, held, .. } = candidate;
            let (share, cut) = self.memory_cut(graph, path, held, capacity, &tensors);
            if share > settings.violation {
                found.push((share, cut));
            }
        }
        found.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
        let mut seen = std::collections::BTreeSet::new();
        found.retain(|(_, c)| seen.insert((c.path.reader, c.path.source())));
        found.truncate(settings.resource_cut_limit);
        found.into_iter().map(|f| f.1).collect()
    }
}

/// Ranges of each tensor's own in a list of columns that is ascending by tensor.
pub(crate) fn by_tensor<C>(
    columns: &[(C, f64)],
    tensors: usize,
    node: impl Fn(&C) -> u32,
) -> Vec<std::ops::Range<usize>> {
    let mut out = vec![0..0; tensors];
    let mut at = 0;
    for group in columns.chunk_by(|a, b| node(&a.0) == node(&b.0)) {
        out[node(&group[0].0) as usize] = at..at + group.len();
        at += group.len();
    }
    out
}

/// Tensors that a point retains by more than a threshold and to some use, shape `n x n`.
pub(crate) fn kept(graph: &CheckmateGraph, point: &FractionalPoint, threshold: f64) -> BitMatrix {
    let n = graph.len();
    let mut retained = StageRuns::new(n, n);
    for i in 0..n {
        for (stages, share) in point.retained_of(i).over(0..n as u32) {
            if share > threshold {
                retained.fill(i, stages.start as usize, stages.end as usize - 1);
            }
        }
    }
    let computed = StageRuns::new(n, n);
    let schedule = CheckmateSchedule { computed, retained };
    graph.cleaned(&schedule).retained.to_bits()
}
