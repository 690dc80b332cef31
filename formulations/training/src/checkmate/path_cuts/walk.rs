//! The walk backwards from a needed node, for all stages at once.

use super::{FractionalPoint, PathCut, SeparationSettings, ViolatedCut};
use crate::checkmate::CheckmateGraph;
use std::collections::BinaryHeap;
use std::ops::Range;

/// Distance of a node that is not on any path yet.
const UNREACHED: f64 = 2.0;
const NONE: u32 = u32::MAX;

/// Distance of a node over a run of stages, up to the next run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct RunDistances {
    /// First stage.
    pub begin: u32,
    /// `UNREACHED` if no path shorter than 1 reaches the node.
    pub distance: f64,
    /// The next node on the way to the needed one.
    parent: u32,
}

/// Distances from a needed node, for a range of stages.
pub(super) struct PathDistances {
    /// First stage of the range and one past the last.
    stages: Range<u32>,
    /// Nodes in the order of the walk: descending, the needed node first.
    pub nodes: Vec<u32>,
    /// `d_i` of the k-th node, in runs that follow one another; there may be more lists than nodes.
    runs: Vec<Vec<RunDistances>>,
    slot: Vec<u32>,
    /// Distances that are being handed on, and the runs that result.
    from: Vec<(Range<u32>, f64)>,
    lowered: Vec<RunDistances>,
    heap: BinaryHeap<u32>,
}

impl PathDistances {
    pub fn new(len: usize) -> Self {
        PathDistances {
            stages: 0..0,
            nodes: Vec::new(),
            runs: Vec::new(),
            slot: vec![NONE; len],
            from: Vec::new(),
            lowered: Vec::new(),
            heap: BinaryHeap::new(),
        }
    }

    /// Distances of the k-th node: ranges of stages that follow one another, with the distance in
    /// all of them.
    pub fn distances(&self, k: usize) -> impl Iterator<Item = (Range<u32>, f64)> + '_ {
        ranges(&self.runs[k], self.stages.end).map(|(stages, run)| (stages, run.distance))
    }

    /// Distance of the k-th node in a stage.
    pub fn distance(&self, k: usize, stage: usize) -> f64 {
        self.run_at(k, stage).distance
    }

    fn run_at(&self, k: usize, stage: usize) -> RunDistances {
        let runs = &self.runs[k];
        runs[runs.partition_point(|run| run.begin as usize <= stage) - 1]
    }

    /// The path from the k-th node to the needed one as seen from a stage.
    pub fn path(&self, k: usize, stage: usize) -> Vec<u32> {
        let mut path = vec![self.nodes[k]];
        let mut at = k;
        while at != 0 {
            let next = self.run_at(at, stage).parent;
            path.push(next);
            at = self.slot[next as usize] as usize;
        }
        path
    }

    /// Walks back from `needed` over some stages, leaving nodes with distances of `stop` or more
    /// unexpanded.
    pub fn run(
        &mut self,
        graph: &CheckmateGraph,
        point: &FractionalPoint,
        needed: usize,
        stages: Range<usize>,
        stop: f64,
    ) {
        for i in self.nodes.drain(..) {
            self.slot[i as usize] = NONE;
        }
        self.stages = stages.start as u32..stages.end as u32;
        self.heap.clear();
        self.reach(needed as u32);
        let held = point.retained_of(needed).over(self.stages.clone());
        let runs = &mut self.runs[0];
        runs.clear();
        runs.extend(held.map(|(stages, distance)| RunDistances {
            begin: stages.start,
            distance,
            parent: NONE,
        }));
        self.expand(graph, point, 0, stop);
        // Inputs are numbered below their readers: the largest node left has all its distances.
        while let Some(i) = self.heap.pop() {
            let k = self.slot[i as usize] as usize;
            self.expand(graph, point, k, stop);
        }
    }

    /// Adds a node that no path has reached yet; returns its place on the walk.
    fn reach(&mut self, node: u32) -> usize {
        let k = self.nodes.len();
        self.slot[node as usize] = k as u32;
        self.nodes.push(node);
        if self.runs.len() == k {
            self.runs.push(Vec::new());
        }
        self.runs[k].clear();
        self.runs[k].push(RunDistances {
            begin: self.stages.start,
            distance: UNREACHED,
            parent: NONE,
        });
        k
    }

    fn expand(&mut self, graph: &CheckmateGraph, point: &FractionalPoint, k: usize, stop: f64) {
        let mut from = std::mem::take(&mut self.from);
        from.clear();
        from.extend(self.distances(k).filter(|(_, distance)| *distance < stop));
        if !from.is_empty() {
            let i = self.nodes[k];
            for &j in &graph.needs[i as usize] {
                let mut to = self.slot[j as usize] as usize;
                if to == NONE as usize {
                    to = self.reach(j);
                    self.heap.push(j);
                }
                let held = point.retained_of(j as usize);
                let new = from.iter().flat_map(|(stages, distance)| {
                    let held = held.over(stages.clone());
                    held.map(move |(stages, share)| (stages, distance + share))
                });
                lower(&self.runs[to], self.stages.end, new, i, &mut self.lowered);
                std::mem::swap(&mut self.runs[to], &mut self.lowered);
            }
        }
        self.from = from;
    }
}

/// Runs with the stages that each has, up to an end.
fn ranges(
    runs: &[RunDistances],
    end: u32,
) -> impl Iterator<Item = (Range<u32>, RunDistances)> + '_ {
    let ends = runs[1..].iter().map(|run| run.begin).chain([end]);
    let with_end = runs.iter().copied().zip(ends);
    with_end.map(|(run, end)| (run.begin..end, run))
}

/// Replaces distances of runs up to an end by `new` ones from a parent where these are lower. The
/// stages of `new` ascend.
fn lower(
    old: &[RunDistances],
    end: u32,
    new: impl Iterator<Item = (Range<u32>, f64)>,
    parent: u32,
    out: &mut Vec<RunDistances>,
) {
    out.clear();
    let mut push = |run: RunDistances| {
        let is_same =
            |last: &RunDistances| (last.distance, last.parent) == (run.distance, run.parent);
        if !out.last().is_some_and(is_same) {
            out.push(run);
        }
    };
    let mut old = ranges(old, end).peekable();
    let mut at = old.peek().map_or(end, |(stages, _)| stages.start);
    // Advances to a stage; `make` turns each old run on the way into a new one.
    let mut advance = |to: u32, make: &dyn Fn(RunDistances) -> RunDistances| {
        while at < to {
            let Some((stages, run)) = old.peek() else {
                break;
            };
            push(RunDistances {
                begin: at,
                ..make(*run)
            });
            at = stages.end.min(to);
            if at == stages.end {
                old.next();
            }
        }
    };
    for (stages, distance) in new {
        advance(stages.start, &|run| run);
        advance(stages.end, &|run| match distance < run.distance {
            true => RunDistances {
                distance,
                parent,
                ..run
            },
            false => run,
        });
    }
    advance(end, &|run| run);
}

/// Violated path cuts, the most promising first, at most `settings.limit`. Windows start at stage
/// `first_stage` or later (0 for the full space, the first backward node for the rectangular one).
pub fn separate(
    graph: &CheckmateGraph,
    point: &FractionalPoint,
    first_stage: usize,
    settings: &SeparationSettings,
) -> Vec<ViolatedCut<PathCut>> {
    let mut walk = PathDistances::new(graph.len());
    let mut found = Vec::new();
    for q in 0..graph.len() {
        let Some(&last) = graph.users[q].last() else {
            continue;
        };
        let stages = (q + 1).max(first_stage)..last as usize + 1;
        if !walk.reaches_below(graph, point, q, stages.clone(), settings) {
            continue;
        }
        for &b in graph.users[q]
            .iter()
            .filter(|b| **b as usize >= stages.start)
        {
            walk.note_violated(graph, point, b, settings, &mut found);
        }
    }
    found.sort_by(|x, y| y.score.total_cmp(&x.score).then_with(|| x.cut.cmp(&y.cut)));
    found.truncate(settings.limit);
    found
}

/// Violated path cuts for the inputs of one node, in no order.
pub(crate) fn separate_for(
    graph: &CheckmateGraph,
    point: &FractionalPoint,
    reader: u32,
    settings: &SeparationSettings,
) -> Vec<ViolatedCut<PathCut>> {
    let mut walk = PathDistances::new(graph.len());
    let mut found = Vec::new();
    for &q in &graph.needs[reader as usize] {
        let stages = q as usize + 1..reader as usize + 1;
        if walk.reaches_below(graph, point, q as usize, stages, settings) {
            walk.note_violated(graph, point, reader, settings, &mut found);
        }
    }
    found
}

impl PathDistances {
    /// Walks back from a needed node over some stages, unless it is held in all of them.
    fn reaches_below(
        &mut self,
        graph: &CheckmateGraph,
        point: &FractionalPoint,
        needed: usize,
        stages: Range<usize>,
        settings: &SeparationSettings,
    ) -> bool {
        let stop = 1.0 - settings.violation;
        let all = stages.start as u32..stages.end as u32;
        if stages.is_empty() || point.retained_of(needed).all_reach(stop, all) {
            return false;
        }
        self.run(graph, point, needed, stages, stop);
        true
    }

    /// Notes the most promising cuts for a reader of the node from which the walk began.
    fn note_violated(
        &self,
        graph: &CheckmateGraph,
        point: &FractionalPoint,
        reader: u32,
        settings: &SeparationSettings,
        found: &mut Vec<ViolatedCut<PathCut>>,
    ) {
        // A source without cost has a little weight, so that chains of free operators are not
        // forgotten.
        let least_cost = 1e-3 * graph.base_cost() as f64 / graph.len().max(1) as f64;
        let mut best: Vec<(f64, f64, usize, usize)> = Vec::new();
        for k in 1..self.nodes.len() {
            let j = self.nodes[k] as usize;
            let made = point.recomputed_before(j);
            let upto = made.at(reader + 1);
            let (mut worst, mut at) = (settings.violation, None);
            for (stages, distance) in self.distances(k) {
                let window = stages.start..stages.end.min(reader + 1);
                for (stages, before) in made.over(window) {
                    let violation = 1.0 - distance - (upto - before);
                    // The latest of equals: before memory is tight, a tensor is held a stage longer
                    // at no cost. So cuts with earlier windows are satisfied without effect, one
                    // after the other (measured: ResNet-50 6 GiB stalls at 110701 with the earliest
                    // and goes beyond 112900 with the latest).
                    if violation >= worst - 1e-9 {
                        (worst, at) = (violation, Some(stages.end as usize - 1));
                    }
                }
            }
            if let Some(a) = at {
                let score = worst * (graph.cost_again[j] as f64 + least_cost);
                best.push((score, worst, k, a));
            }
        }
        best.sort_by(|x, y| y.0.total_cmp(&x.0).then(x.2.cmp(&y.2)));
        for &(score, violation, k, a) in best.iter().take(settings.per_target) {
            let cut = PathCut {
                reader,
                from: a as u32,
                path: self.path(k, a),
            };
            found.push(ViolatedCut {
                cut,
                violation,
                score,
            });
        }
    }
}
