//! Separation of path cuts and path memory cuts: shortest paths backwards from the tensors that a
//! backward node reads.
//!
//! For fixed `q`, walk backwards from `q` through the inputs, for all stages `a` at once. `d_i(a)`
//! is the least storage at the start of stage `a` along a path from `i` to `q`. The step from a
//! by-product to its parent is free. If a backward node chooses between implementations that read
//! different tensors, one cut takes a path for each of them. Common nodes of the paths count once,
//! and so does the node `j` at their head. No sum of cuts for the single tensors achieves this.

use super::windows::{Form, StageWindows, StoredByStage, memory_cuts};
use super::{MonetGraph, PathCut, Point, Row};
use remat_solver::price::SeparationSettings;
use std::collections::{BTreeSet, BinaryHeap};

/// Distance of a node that is on no path.
const UNREACHED: f64 = 2.0;
const NONE: u32 = u32::MAX;

/// Distances to one tensor for the stages `1..=last`.
struct StageDistances {
    last: usize,
    /// In the order of the walk: descending, the tensor itself first.
    nodes: Vec<u32>,
    /// `d(a)` of the k-th node at `k * last + a - 1`.
    distance: Vec<f64>,
    /// The next node on the way.
    next: Vec<u32>,
    slot: Vec<u32>,
}

impl StageDistances {
    fn new(
        graph: &MonetGraph,
        point: &Point,
        tensor: u32,
        last: usize,
        stop: f64,
    ) -> StageDistances {
        let mut w = StageDistances {
            last,
            nodes: vec![tensor],
            distance: point.stored_of(tensor as usize)[1..=last].to_vec(),
            next: vec![NONE; last],
            slot: vec![NONE; graph.columns],
        };
        w.slot[tensor as usize] = 0;
        let mut heap = BinaryHeap::new();
        let mut own = Vec::new();
        heap.push(tensor);
        // Inputs are numbered below their readers: the largest node left has all its distances.
        while let Some(i) = heap.pop() {
            let k = w.slot[i as usize] as usize;
            own.clear();
            own.extend_from_slice(&w.distance[k * last..(k + 1) * last]);
            if own.iter().all(|d| *d >= stop) {
                continue;
            }
            for &u in &graph.needs[i as usize] {
                let free = graph.parent[i as usize] == Some(u);
                let mut to = w.slot[u as usize] as usize;
                if w.slot[u as usize] == NONE {
                    to = w.nodes.len();
                    w.slot[u as usize] = to as u32;
                    w.nodes.push(u);
                    w.distance.resize((to + 1) * last, UNREACHED);
                    w.next.resize((to + 1) * last, NONE);
                    heap.push(u);
                }
                let stored = &point.stored_of(u as usize)[1..=last];
                let range = to * last..(to + 1) * last;
                let slots = w.distance[range.clone()].iter_mut().zip(&mut w.next[range]);
                for (((d, next), from), s) in slots.zip(&own).zip(stored) {
                    let new = if free { *from } else { from + s };
                    if *from < stop && new < *d {
                        *d = new;
                        *next = i;
                    }
                }
            }
        }
        w
    }

    fn distance(&self, node: u32, a: usize) -> f64 {
        match self.slot[node as usize] {
            NONE => UNREACHED,
            k => self.distance[k as usize * self.last + a - 1],
        }
    }

    /// Adds the nodes of the path from `node` as seen from stage `a` whose storage counts.
    fn trace(&self, graph: &MonetGraph, node: u32, a: usize, stored: &mut BTreeSet<u32>) {
        let mut at = node;
        loop {
            let k = self.slot[at as usize] as usize;
            let next = self.next[k * self.last + a - 1];
            if next == NONE {
                stored.insert(at);
                return;
            }
            if graph.parent[next as usize] != Some(at) {
                stored.insert(at);
            }
            at = next;
        }
    }
}

/// Choices of a backward node, and for each the tensors from any of which its path may start.
pub(super) struct Target<'a> {
    ways: Vec<u32>,
    /// Sum of the values of the choices.
    pub need: f64,
    groups: Vec<Vec<&'a StageDistances>>,
}

impl Target<'_> {
    /// Lower bound on the storage that a cut from `j` and `a` charges; exact for a single tensor.
    pub fn least(&self, j: u32, a: usize) -> f64 {
        let of =
            |g: &Vec<&StageDistances>| g.iter().map(|w| w.distance(j, a)).fold(UNREACHED, f64::min);
        self.groups.iter().map(of).fold(0.0, f64::max)
    }

    /// Nodes from which every choice can be reached.
    pub fn sources(&self) -> BTreeSet<u32> {
        let walks = self.groups[0].iter();
        let all: BTreeSet<u32> = walks.flat_map(|w| w.nodes.iter().copied()).collect();
        let in_group =
            |g: &Vec<&StageDistances>, j: u32| g.iter().any(|w| w.slot[j as usize] != NONE);
        let common = all.into_iter();
        common
            .filter(|&j| self.groups.iter().all(|g| in_group(g, j)))
            .collect()
    }

    /// The cut, and the storage that it charges.
    pub fn cut(
        &self,
        graph: &MonetGraph,
        point: &Point,
        b: usize,
        a: usize,
        j: u32,
    ) -> (PathCut, f64) {
        let mut stored = BTreeSet::new();
        for group in &self.groups {
            let nearest = group
                .iter()
                .min_by(|v, w| v.distance(j, a).total_cmp(&w.distance(j, a)));
            if let Some(walk) = nearest {
                walk.trace(graph, j, a, &mut stored);
            }
        }
        let held = stored.iter().map(|&i| point.stored(a, i as usize)).sum();
        let cut = PathCut {
            reader: b as u32,
            from: a as u32,
            source: j,
            stored: stored.into_iter().collect(),
            ways: self.ways.clone(),
        };
        (cut, held)
    }
}

fn targets<'a>(
    graph: &MonetGraph,
    point: &Point,
    b: usize,
    walks: &'a [(u32, StageDistances)],
) -> Vec<Target<'a>> {
    let choices = &graph.choices[b];
    let value = |way: usize| point.choices[b][way];
    let find = |u: &u32| {
        let at = walks.iter().find(|w| w.0 == *u);
        at.map(|w| &w.1)
    };
    let mut out: Vec<Target<'a>> = Vec::new();
    for (u, walk) in walks {
        let ways = (0..choices.len()).filter(|&w| choices[w].reads.contains(u));
        let ways: Vec<usize> = ways.collect();
        let all = ways.len() == choices.len();
        out.push(Target {
            need: if all {
                1.0
            } else {
                ways.iter().map(|&w| value(w)).sum()
            },
            ways: ways.iter().map(|&w| w as u32).collect(),
            groups: vec![vec![walk]],
        });
    }
    if choices.len() < 2 {
        return out;
    }
    let mut sets: Vec<Vec<usize>> = Vec::new();
    let reading: Vec<usize> = (0..choices.len())
        .filter(|&w| !choices[w].reads.is_empty())
        .collect();
    let used: Vec<usize> = reading
        .iter()
        .copied()
        .filter(|&w| value(w) > 1e-6)
        .collect();
    sets.push(reading);
    sets.push(used);
    sets.dedup();
    for set in sets.into_iter().filter(|s| s.len() > 1) {
        out.push(Target {
            need: if set.len() == choices.len() {
                1.0
            } else {
                set.iter().map(|&w| value(w)).sum()
            },
            ways: set.iter().map(|&w| w as u32).collect(),
            groups: set
                .iter()
                .map(|&w| choices[w].reads.iter().filter_map(find).collect())
                .collect(),
        });
    }
    out
}

/// Violated path cuts and path memory cuts, the most promising of each first.
pub fn separate_cuts(graph: &MonetGraph, point: &Point, settings: &SeparationSettings) -> Vec<Row> {
    let stop = 1.0 - settings.violation;
    let units = match graph.plain_cuts {
        true => Vec::new(),
        false => super::round::units(graph),
    };
    let mut paths: Vec<(f64, PathCut)> = Vec::new();
    let mut loads = Vec::new();
    let mean = graph.base_cost() as f64 / graph.columns as f64;
    let cost = |j: u32| {
        let least = graph.again[j as usize].iter().map(|s| s.cost).min();
        least.unwrap_or(0) as f64 + 1e-3 * mean
    };
    let stored = StoredByStage::new(graph, point);
    for b in 1..graph.stages {
        let reads: BTreeSet<u32> = graph.choices[b]
            .iter()
            .flat_map(|c| c.reads.iter().copied())
            .collect();
        let walks: Vec<(u32, StageDistances)> = reads
            .into_iter()
            .map(|u| (u, StageDistances::new(graph, point, u, b, stop)))
            .collect();
        let windows = StageWindows::new(graph, point, &stored, b);
        for target in targets(graph, point, b, &walks) {
            if target.need <= settings.violation {
                continue;
            }
            let exact = target.groups.len() == 1;
            let mut best: Vec<(f64, PathCut)> = Vec::new();
            for j in target.sources() {
                let made = point.made_before(j as usize);
                let upto = made[b + 1];
                // The latest of equals: before memory is tight, a tensor is stored a stage longer
                // at no cost.
                let mut tops: [(f64, usize); 2] = [(settings.violation, 0); 2];
                for (a, before) in made.iter().enumerate().take(b + 1).skip(1) {
                    let violation = target.need - target.least(j, a) - (upto - before);
                    if violation >= tops[0].0 - 1e-9 {
                        tops[1] = tops[0];
                        tops[0] = (violation, a);
                    }
                }
                let tries = if exact { 1 } else { 2 };
                let tops = tops[..tries].iter().filter(|t| t.1 > 0);
                let found = tops.map(|&(_, a)| {
                    let (cut, held) = target.cut(graph, point, b, a, j);
                    (target.need - held - (upto - made[a]), cut)
                });
                let found = found.filter(|f| f.0 > settings.violation);
                if let Some((violation, cut)) = found.max_by(|x, y| x.0.total_cmp(&y.0)) {
                    best.push((violation * cost(j), cut));
                }
            }
            best.sort_by(|x, y| y.0.total_cmp(&x.0).then_with(|| x.1.cmp(&y.1)));
            paths.extend(best.into_iter().take(settings.per_target));
            if settings.resource_cuts {
                loads.extend(memory_cuts(&windows, &target, &units, settings));
            }
        }
    }
    paths.sort_by(|x, y| y.0.total_cmp(&x.0).then_with(|| x.1.cmp(&y.1)));
    paths.dedup_by(|x, y| x.1 == y.1);
    paths.truncate(settings.limit);
    let mut covers = match settings.dense {
        true => point.violated_covers(graph),
        false => Vec::new(),
    };
    covers.sort_by(|x, y| y.0.total_cmp(&x.0).then_with(|| x.1.cmp(&y.1)));
    covers.truncate(settings.limit);
    loads.sort_by(|x, y| {
        y.violation
            .total_cmp(&x.violation)
            .then_with(|| x.row.cmp(&y.row))
    });
    // A plain cut is nearly the same row as the cut of the same reader and source that charges both
    // ways.
    let of_both = loads.iter().filter(|l| l.form == Form::BothWays);
    let of_both: BTreeSet<(u32, u32)> = of_both.map(|l| (l.reader, l.source)).collect();
    loads.retain(|l| l.form != Form::Plain || !of_both.contains(&(l.reader, l.source)));
    let mut seen = BTreeSet::new();
    loads.retain(|l| seen.insert((l.reader, l.source, l.form)));
    loads.truncate(settings.resource_cut_limit);
    let paths = paths.into_iter().map(|(_, cut)| Row::path(graph, &cut));
    let loads = loads.into_iter().map(|l| l.row);
    let covers = covers.into_iter().map(|c| c.1);
    let mut rounded = super::round::separate(graph, point, &units);
    rounded.sort_by(|x, y| y.0.total_cmp(&x.0).then_with(|| x.1.cmp(&y.1)));
    rounded.truncate(settings.resource_cut_limit);
    let rounded = rounded.into_iter().map(|r| r.1);
    paths.chain(loads).chain(covers).chain(rounded).collect()
}
