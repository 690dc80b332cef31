//! The walk backwards from a needed node, for all stages at once.

use super::{FractionalPoint, PathCut, SeparationSettings, ViolatedCut};
use crate::checkmate::CheckmateGraph;
use std::collections::BinaryHeap;

/// Not on any path yet.
const UNREACHED: f64 = 2.0;
const NONE: u32 = u32::MAX;

/// Distances from a needed node, for a range of stages.
pub(super) struct PathDistances {
    /// First stage of the range and one past the last.
    pub first: usize,
    pub end: usize,
    /// Nodes in the order of the walk: descending, the needed node first.
    pub nodes: Vec<u32>,
    /// `d_i(a)` of the k-th node at `k * width + (a - first)`; `UNREACHED` where no path with less
    /// than 1 reaches it.
    distance: Vec<f64>,
    /// The next node on the way to the needed one.
    parent: Vec<u32>,
    slot: Vec<u32>,
    /// Copy of the distances that are being handed on.
    from: Vec<f64>,
    heap: BinaryHeap<u32>,
}

impl PathDistances {
    pub fn new(len: usize) -> Self {
        PathDistances {
            first: 0,
            end: 0,
            nodes: Vec::new(),
            distance: Vec::new(),
            parent: Vec::new(),
            slot: vec![NONE; len],
            from: Vec::new(),
            heap: BinaryHeap::new(),
        }
    }

    pub fn width(&self) -> usize {
        self.end - self.first
    }

    /// Distances of the k-th node by stage, from `first` on.
    pub fn distances(&self, k: usize) -> &[f64] {
        &self.distance[k * self.width()..(k + 1) * self.width()]
    }

    /// The path from the k-th node to the needed one as seen from stage `a`.
    pub fn path(&self, k: usize, a: usize) -> Vec<u32> {
        let mut path = vec![self.nodes[k]];
        let mut at = k;
        while at != 0 {
            let next = self.parent[at * self.width() + a - self.first];
            path.push(next);
            at = self.slot[next as usize] as usize;
        }
        path
    }

    /// Walks back from `needed` over stages `first..end`, leaving nodes with distances of `stop` or
    /// more unexpanded.
    pub fn run(
        &mut self,
        graph: &CheckmateGraph,
        point: &FractionalPoint,
        needed: usize,
        stages: std::ops::Range<usize>,
        stop: f64,
    ) {
        for i in self.nodes.drain(..) {
            self.slot[i as usize] = NONE;
        }
        (self.first, self.end) = (stages.start, stages.end);
        let width = self.width();
        self.distance.clear();
        self.parent.clear();
        self.heap.clear();
        self.distance
            .extend_from_slice(&point.retained_of(needed)[stages.clone()]);
        self.parent.resize(width, NONE);
        self.nodes.push(needed as u32);
        self.slot[needed] = 0;
        self.expand(graph, point, 0, stop);
        // Inputs are numbered below their readers: the largest node left has all its distances.
        while let Some(i) = self.heap.pop() {
            let k = self.slot[i as usize] as usize;
            self.expand(graph, point, k, stop);
        }
    }

    fn expand(&mut self, graph: &CheckmateGraph, point: &FractionalPoint, k: usize, stop: f64) {
        let width = self.width();
        let i = self.nodes[k];
        let own = self.distances(k);
        let near = |d: &f64| *d < stop;
        let Some(low) = own.iter().position(near) else {
            return;
        };
        let high = own.iter().rposition(near).map_or(low, |p| p + 1);
        let range = k * width + low..k * width + high;
        self.from.clear();
        self.from.extend_from_slice(&self.distance[range]);
        for &j in &graph.needs[i as usize] {
            let mut to = self.slot[j as usize] as usize;
            if to == NONE as usize {
                to = self.nodes.len();
                self.slot[j as usize] = to as u32;
                self.nodes.push(j);
                self.distance.resize((to + 1) * width, UNREACHED);
                self.parent.resize((to + 1) * width, NONE);
                self.heap.push(j);
            }
            let held = &point.retained_of(j as usize)[self.first + low..self.first + high];
            let parents = &mut self.parent[to * width + low..to * width + high];
            let distances = &mut self.distance[to * width + low..to * width + high];
            for (((d, p), f), s) in distances.iter_mut().zip(parents).zip(&self.from).zip(held) {
                let new = f + s;
                if *f < stop && new < *d {
                    *d = new;
                    *p = i;
                }
            }
        }
    }
}

/// Violated path cuts, the most promising first, at most `settings.limit`. Windows start at stage
/// `first_stage` or later (0 for the full space, the first backward node for the rectangular one).
pub fn separate(
    graph: &CheckmateGraph,
    point: &FractionalPoint,
    first_stage: usize,
    settings: &SeparationSettings,
) -> Vec<ViolatedCut<PathCut>> {
    let n = graph.len();
    let stop = 1.0 - settings.violation;
    // A cheap source is worth a little, so that chains of free operators are not forgotten.
    let least_cost = 1e-3 * graph.base_cost() as f64 / n.max(1) as f64;
    let mut walk = PathDistances::new(n);
    let mut found = Vec::new();
    let mut best: Vec<(f64, f64, usize, usize)> = Vec::new();
    for q in 0..n {
        let first = (q + 1).max(first_stage);
        let Some(&last) = graph.users[q].last() else {
            continue;
        };
        let end = last as usize + 1;
        if first >= end || point.retained_of(q)[first..end].iter().all(|s| *s >= stop) {
            continue;
        }
        walk.run(graph, point, q, first..end, stop);
        for &b in &graph.users[q] {
            let b = b as usize;
            if b < first {
                continue;
            }
            best.clear();
            for k in 1..walk.nodes.len() {
                let j = walk.nodes[k] as usize;
                let made = point.recomputed_before(j);
                let upto = made[b + 1];
                let (mut worst, mut at) = (settings.violation, None);
                let distances = &walk.distances(k)[..b + 1 - first];
                for (z, d) in distances.iter().enumerate() {
                    let violation = 1.0 - d - (upto - made[first + z]);
                    // The latest of equals: before memory is tight a tensor is held a stage longer
                    // for nothing, so that cuts with earlier windows are met without effect, one
                    // after the other (measured: ResNet-50 6 GiB stalls at 110701 with the earliest
                    // and goes beyond 112900 with the latest).
                    if violation >= worst - 1e-9 {
                        (worst, at) = (violation, Some(first + z));
                    }
                }
                if let Some(a) = at {
                    best.push((
                        worst * (graph.cost_again[j] as f64 + least_cost),
                        worst,
                        k,
                        a,
                    ));
                }
            }
            best.sort_by(|x, y| y.0.total_cmp(&x.0).then(x.2.cmp(&y.2)));
            for &(score, violation, k, a) in best.iter().take(settings.per_target) {
                let cut = PathCut {
                    reader: b as u32,
                    from: a as u32,
                    path: walk.path(k, a),
                };
                found.push(ViolatedCut {
                    cut,
                    violation,
                    score,
                });
            }
        }
    }
    found.sort_by(|x, y| y.score.total_cmp(&x.score).then_with(|| x.cut.cmp(&y.cut)));
    found.truncate(settings.limit);
    found
}
