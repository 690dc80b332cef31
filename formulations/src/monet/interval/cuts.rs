//! Separation of path cuts and path memory cuts: shortest paths backwards from what a backward node reads.
//!
//! For fixed `q`, walk backwards from `q` through the inputs with `d_i(a)` the least storage at the start of stage `a` along a
//! path from `i` to `q`, for all `a` at once. The step from a by-product to its parent is free. Where a backward node chooses
//! between implementations that read different tensors, one cut takes a path for each: their common part counts once, and
//! the node `j` at their head too, which no sum of cuts for the single tensors gives.

use super::either::{Beginning, either_way};
use super::{Graph, PathCut, Point, Row};
use crate::interval::SeparationSettings;
use std::collections::{BTreeSet, BinaryHeap};

/// Not on any path.
const FAR: f64 = 2.0;
const NONE: u32 = u32::MAX;
/// How far from violated a path memory cut may be to be rounded, as a share of what its source needs.
const BY_ROUNDING: f64 = 0.3;
/// How much more than as it is a cut is violated when it is rounded, to be worth it.
const BETTER: f64 = 0.01;

/// How far from violated one that charges both ways may look to be tried, as a share of that; and in how many windows it is.
const NEARLY: f64 = -0.2;
const TRIES: usize = 3;

/// Distances to one tensor for the stages `1..=last`.
struct Walk {
    last: usize,
    /// In the order of the walk: descending, the tensor itself first.
    nodes: Vec<u32>,
    /// `d(a)` of the k-th node at `k * last + a - 1`.
    distance: Vec<f64>,
    /// The next node on the way.
    next: Vec<u32>,
    slot: Vec<u32>,
}

impl Walk {
    fn new(graph: &Graph, point: &Point, tensor: u32, last: usize, stop: f64) -> Walk {
        let mut w = Walk {
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
                    w.distance.resize((to + 1) * last, FAR);
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
            NONE => FAR,
            k => self.distance[k as usize * self.last + a - 1],
        }
    }

    /// Adds the nodes of the path from `node` as seen from stage `a` whose storage counts.
    fn trace(&self, graph: &Graph, node: u32, a: usize, stored: &mut BTreeSet<u32>) {
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

/// Reader, source, and the form of the cut: one cut of a round for each.
type Moment = (u32, u32, u8);
const PLAIN: u8 = 0;
const COVER: u8 = 1;
const ROUNDED: u8 = 2;
const BOTH_WAYS: u8 = 3;

/// Choices of a backward node and the tensors with which each may be content.
struct Target<'a> {
    ways: Vec<u32>,
    need: f64,
    groups: Vec<Vec<&'a Walk>>,
}

impl Target<'_> {
    /// At most what a cut from `j` and `a` charges for storage; exact for a single tensor.
    fn least(&self, j: u32, a: usize) -> f64 {
        let of = |g: &Vec<&Walk>| g.iter().map(|w| w.distance(j, a)).fold(FAR, f64::min);
        self.groups.iter().map(of).fold(0.0, f64::max)
    }

    fn sources(&self) -> BTreeSet<u32> {
        let walks = self.groups[0].iter();
        let all: BTreeSet<u32> = walks.flat_map(|w| w.nodes.iter().copied()).collect();
        let in_group = |g: &Vec<&Walk>, j: u32| g.iter().any(|w| w.slot[j as usize] != NONE);
        let common = all.into_iter();
        common
            .filter(|&j| self.groups.iter().all(|g| in_group(g, j)))
            .collect()
    }

    /// The cut, and what it charges for storage.
    fn cut(&self, graph: &Graph, point: &Point, b: usize, a: usize, j: u32) -> (PathCut, f64) {
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
    graph: &Graph,
    point: &Point,
    b: usize,
    walks: &'a [(u32, Walk)],
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

/// Violated path cuts and, if `memory`, path memory cuts, the most promising of each first.
pub fn separate_cuts(
    graph: &Graph,
    point: &Point,
    settings: &SeparationSettings,
    memory: bool,
) -> Vec<Row> {
    let stop = 1.0 - settings.violation;
    let units = super::round::units(graph);
    let mut paths: Vec<(f64, PathCut)> = Vec::new();
    let mut loads: Vec<(f64, Row, Moment)> = Vec::new();
    let mean = graph.base_cost() as f64 / graph.columns as f64;
    let cost = |j: u32| {
        let least = graph.again[j as usize].iter().map(|s| s.cost).min();
        least.unwrap_or(0) as f64 + 1e-3 * mean
    };
    for b in 1..graph.stages {
        let reads: BTreeSet<u32> = graph.choices[b]
            .iter()
            .flat_map(|c| c.reads.iter().copied())
            .collect();
        let walks: Vec<(u32, Walk)> = reads
            .into_iter()
            .map(|u| (u, Walk::new(graph, point, u, b, stop)))
            .collect();
        for target in targets(graph, point, b, &walks) {
            if target.need <= settings.violation {
                continue;
            }
            let exact = target.groups.len() == 1;
            let mut best: Vec<(f64, PathCut)> = Vec::new();
            for j in target.sources() {
                let made = point.made_before(j as usize);
                let upto = made[b + 1];
                // The latest of equals: before memory is tight a tensor is stored a stage longer for nothing.
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
            paths.extend(best.into_iter().take(settings.per_need));
            if memory {
                loads.extend(memory_cuts(graph, point, b, &target, &units, settings));
            }
        }
    }
    paths.sort_by(|x, y| y.0.total_cmp(&x.0).then_with(|| x.1.cmp(&y.1)));
    paths.dedup_by(|x, y| x.1 == y.1);
    paths.truncate(settings.limit);
    let mut covers = match settings.covers {
        true => point.violated_covers(graph),
        false => Vec::new(),
    };
    covers.sort_by(|x, y| y.0.total_cmp(&x.0).then_with(|| x.1.cmp(&y.1)));
    covers.truncate(settings.limit);
    loads.sort_by(|x, y| y.0.total_cmp(&x.0).then_with(|| x.1.cmp(&y.1)));
    // Where a cut charges both ways, the plain one of the same reader and source is nearly the same row.
    let of_both = loads.iter().filter(|l| l.2.2 == BOTH_WAYS);
    let of_both: BTreeSet<(u32, u32)> = of_both.map(|l| (l.2.0, l.2.1)).collect();
    loads.retain(|l| l.2.2 != PLAIN || !of_both.contains(&(l.2.0, l.2.1)));
    let mut seen = BTreeSet::new();
    loads.retain(|l| seen.insert(l.2));
    loads.truncate(settings.memory_limit);
    let paths = paths.into_iter().map(|(_, cut)| Row::path(graph, &cut));
    let loads = loads.into_iter().map(|l| l.1);
    let covers = covers.into_iter().map(|c| c.1);
    let mut rounded = super::round::separate(graph, point);
    rounded.sort_by(|x, y| y.0.total_cmp(&x.0).then_with(|| x.1.cmp(&y.1)));
    rounded.truncate(settings.memory_limit);
    let rounded = rounded.into_iter().map(|r| r.1);
    paths.chain(loads).chain(covers).chain(rounded).collect()
}

/// For every node on the way to a target the window in which memory looks tightest; the violation as a share of `need_j`.
fn memory_cuts(
    graph: &Graph,
    point: &Point,
    b: usize,
    target: &Target<'_>,
    units: &[i64],
    settings: &SeparationSettings,
) -> Vec<(f64, Row, Moment)> {
    let sources: Vec<u32> = target.sources().into_iter().collect();
    // How much of each source must be made from a stage on, and from where on its paths must be free of storage for that.
    let windows: Vec<Vec<(f64, usize)>> = sources
        .iter()
        .map(|&j| {
            let made = point.made_before(j as usize);
            let mut best = (f64::NEG_INFINITY, 0);
            let due = |a: usize| {
                let value = target.need - target.least(j, a);
                if value + made[a] >= best.0 - 1e-9 {
                    best = (value + made[a], a);
                }
                (best.0 - made[a], best.1)
            };
            (1..=b).map(due).collect()
        })
        .collect();
    // A cover may be violated where the sum is not.
    let mut best = vec![(-1.0, 0); sources.len()];
    let mut either: Vec<Vec<(f64, usize)>> = vec![Vec::new(); sources.len()];
    let n = graph.columns;
    // Bytes that stay up to the turn of a node behind k (from the left), before k (from the right).
    let stay = |k: usize, a: usize, upto: usize| {
        let made = point.made_before(k);
        (point.stored(upto, k) - (made[upto] - made[a])).max(0.0) * graph.bytes[k] as f64
    };
    let mut left = vec![0.0; n + 1];
    let mut right = vec![0.0; n + 1];
    let mut room = i64::MIN;
    for a in (1..=b).rev() {
        room = room.max(graph.room[a]);
        let near = |w: &Vec<(f64, usize)>| w[a - 1].0 > settings.violation;
        if !windows.iter().any(near) {
            continue;
        }
        for k in 0..n {
            left[k + 1] = left[k] + stay(k, a, b + 1);
        }
        for k in (0..n).rev() {
            right[k] = right[k + 1] + stay(k, a, b);
        }
        let begin = Beginning::of(graph, a);
        let fill = begin.fill(graph, point, room, |k| stay(k, a, b));
        for (&j, tops) in sources.iter().zip(&mut either) {
            let stored = target.least(j, a);
            if stored > 1.0 - settings.violation {
                continue;
            }
            let need = graph.need_bytes(j).max(1) as f64;
            let own = graph.passing[j as usize].iter().chain([&j]);
            let own: f64 = own.map(|&u| stay(u as usize, a, b)).sum();
            let on_paths = graph.bytes[j as usize] as f64 * stored;
            let over = fill.at(stored) - own + need * (target.need - stored) + on_paths;
            let share = over / need;
            if share > NEARLY {
                tops.push((share, a));
            }
        }
        for ((&j, window), slot) in sources.iter().zip(&windows).zip(&mut best) {
            let (due, _) = window[a - 1];
            if due <= settings.violation {
                continue;
            }
            let need = graph.need_bytes(j).max(1) as f64;
            let passing = graph.passing[j as usize].iter();
            let own: f64 = passing.map(|&u| stay(u as usize, a, b + 1)).sum();
            let load = left[j as usize] - own + right[j as usize + 1] + need * due;
            let share = (load - room as f64) / need;
            if share > slot.0 {
                *slot = (share, a);
            }
        }
    }
    let mut out = Vec::new();
    for (&j, tops) in sources.iter().zip(&mut either) {
        tops.sort_by(|x, y| y.0.total_cmp(&x.0).then(x.1.cmp(&y.1)));
        let found = tops.iter().take(TRIES).filter_map(|&(_, a)| {
            let (cut, _) = target.cut(graph, point, b, a, j);
            either_way(graph, point, &cut, target.need)
        });
        let best = found.max_by(|x, y| x.0.total_cmp(&y.0));
        let best = best.filter(|f| f.0 > settings.violation);
        out.extend(best.map(|(share, row)| (share, row, (b as u32, j, BOTH_WAYS))));
    }
    for ((&j, window), &(_, since)) in sources.iter().zip(&windows).zip(&best) {
        if since == 0 {
            continue;
        }
        let a = window[since - 1].1;
        let (cut, held) = target.cut(graph, point, b, a, j);
        let made = point.made_before(j as usize);
        let due = target.need - held - (made[since] - made[a]);
        let mut staying = Vec::new();
        let mut load = 0.0;
        for k in (0..n).filter(|&k| k != j as usize) {
            if graph.passing[j as usize].binary_search(&(k as u32)).is_ok() {
                continue;
            }
            let bytes = stay(k, since, b + usize::from(k < j as usize));
            if bytes > 1e-6 * graph.bytes[k] as f64 {
                staying.push(k as u32);
                load += bytes;
            }
        }
        let need = graph.need_bytes(j).max(1) as f64;
        let room = (since..=b).map(|t| graph.room[t]).max().unwrap_or(0);
        let share = (load + need * due - room as f64) / need;
        let row = Row::path_memory(graph, &cut, since as u32, &staying);
        if share > -BY_ROUNDING {
            let rounded = units.iter().filter_map(|&unit| row.rounded(graph, unit));
            let over = |r: &Row| (point.activity(graph, r) - r.right as f64) / need;
            let best = rounded
                .map(|r| (over(&r), r))
                .max_by(|a, b| a.0.total_cmp(&b.0));
            if let Some((over, row)) = best.filter(|r| r.0 > settings.violation.max(share + BETTER))
            {
                out.push((over, row, (b as u32, j, ROUNDED)));
            }
        }
        if share > settings.violation {
            out.push((share, row, (b as u32, j, PLAIN)));
        }
        let stays = |k: u32| {
            let upto = b + usize::from(k < j);
            let made = point.made_before(k as usize);
            point.stored(upto, k as usize) - (made[upto] - made[since])
        };
        let covered = Row::path_cover(graph, &cut, since as u32, due, stays);
        out.extend(covered.map(|(share, row)| (share, row, (b as u32, j, COVER))));
    }
    out
}
