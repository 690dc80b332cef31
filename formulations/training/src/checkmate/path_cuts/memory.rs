//! Windows and paths that may carry a violated path memory cut, in any of its forms.

use super::walk::PathDistances;
use super::{FractionalPoint, PathCut, SeparationSettings};
use crate::checkmate::CheckmateGraph;
use std::cmp::Reverse;

/// A window and a path that may carry a violated cut.
#[derive(Clone, Debug, PartialEq)]
pub struct MemoryCandidate {
    /// Need, window and path.
    pub path: PathCut,
    /// Amount of the path that is held at the start of the window.
    pub held: f64,
    /// Estimated excess of memory, as a share of the need of the path's first node.
    pub share: f64,
}

/// For every need and every node on its walk, the window in which memory looks tightest, with so
/// many bytes as the capacity. The bytes that stay are estimated from `S[b,k]` less the
/// recomputations in the window. This is an overestimate for tensors that are read for the last
/// time early in stage `b`; the caller computes the cut itself.
pub fn walk_memory(
    graph: &CheckmateGraph,
    point: &FractionalPoint,
    capacity: f64,
    settings: &SeparationSettings,
) -> Vec<MemoryCandidate> {
    let n = graph.len();
    let stop = 1.0 - settings.violation;
    let backward = graph.first_backward.map_or(n, |f| f as usize);
    let gradients = gradients_alive(graph, backward);
    let kept = bytes_kept(graph, point, backward);
    let mut stays = Stays::new(graph, point, backward);
    let mut walk = PathDistances::new(n);
    let mut out = Vec::new();
    let mut starts: Vec<WindowStart> = Vec::new();
    for q in 0..n {
        let Some(&last) = graph.users[q].last() else {
            continue;
        };
        let stages = q as u32 + 1..last + 1;
        if point.retained_of(q).all_reach(stop, stages.clone()) {
            continue;
        }
        walk.run(graph, point, q, q + 1..last as usize + 1, stop);
        for &b in &graph.users[q] {
            let b = b as usize;
            let most = note_starts(graph, &walk, b, stop, &mut starts);
            if kept[b] + gradients[b] + most <= capacity {
                continue;
            }
            stays.end_at(b);
            let mut best = vec![(settings.violation, 0); walk.nodes.len()];
            let mut beside = f64::INFINITY;
            let mut begin = b + 1;
            for start in &starts {
                while begin > start.stage {
                    begin -= 1;
                    beside = beside.min(gradients[begin]);
                    stays.begin_at(begin);
                }
                let j = walk.nodes[start.place] as usize;
                let slot = &mut best[start.place];
                let need = (graph.need_bytes(j) as f64).max(1.0);
                let least = slot.0 * need;
                let load = stays.sum + start.bytes + beside;
                let over = load - capacity;
                if over <= least {
                    continue;
                }
                let own = graph.needs[j].iter().map(|&u| u as usize).chain([j]);
                let over = over - own.map(|u| stays.bytes[u]).sum::<f64>();
                if over > least {
                    *slot = (over / need, start.stage);
                }
            }
            for (k, (share, a)) in best.into_iter().enumerate() {
                if a > 0 {
                    let path = PathCut {
                        reader: b as u32,
                        from: a as u32,
                        path: walk.path(k, a),
                    };
                    out.push(MemoryCandidate {
                        path,
                        held: walk.distance(k, a),
                        share,
                    });
                }
            }
        }
    }
    out
}

/// A window that ends with a certain stage, and a node that is made anew in it.
struct WindowStart {
    /// First stage.
    stage: usize,
    /// Place of the node on the walk.
    place: usize,
    /// Bytes that it needs in the window, as far as the path to it is not held.
    bytes: f64,
}

/// Notes the windows that end with a stage and may be the tightest for a node on a walk, the latest
/// first. Returns the most bytes that any of the nodes needs. The earlier a window begins, the less
/// stays throughout, so the window begins at the last stage of a run of equal distances.
fn note_starts(
    graph: &CheckmateGraph,
    walk: &PathDistances,
    last: usize,
    stop: f64,
    out: &mut Vec<WindowStart>,
) -> f64 {
    out.clear();
    for (place, node) in walk.nodes.iter().enumerate() {
        let need = graph.need_bytes(*node as usize) as f64;
        let runs = walk.distances(place).filter(|run| run.1 < stop);
        let runs = runs.take_while(|run| run.0.start as usize <= last);
        out.extend(runs.map(|(stages, distance)| WindowStart {
            stage: last.min(stages.end as usize - 1),
            place,
            bytes: need * (1.0 - distance),
        }));
    }
    out.sort_unstable_by_key(|start| Reverse((start.stage, start.place)));
    out.iter().map(|start| start.bytes).fold(0.0, f64::max)
}

/// By stage, the bytes of tensors of the forward pass that are held when it begins.
fn bytes_kept(graph: &CheckmateGraph, point: &FractionalPoint, backward: usize) -> Vec<f64> {
    let n = graph.len();
    let mut changes = vec![0.0; n + 2];
    for k in 0..backward {
        for (stages, share) in point.retained_of(k).over(0..n as u32 + 1) {
            let bytes = share * graph.bytes[k] as f64;
            changes[stages.start as usize] += bytes;
            changes[stages.end as usize] -= bytes;
        }
    }
    let mut sum = 0.0;
    let at = |change: f64| {
        sum += change;
        sum
    };
    changes.into_iter().map(at).collect()
}

/// By stage, the bytes of gradients in plain order; they do not count as staying tensors.
fn gradients_alive(graph: &CheckmateGraph, backward: usize) -> Vec<f64> {
    let alive_at = |t: usize| {
        let alive = |g: &usize| graph.users[*g].last().is_some_and(|&q| q as usize >= t);
        let bytes = (backward..t).filter(alive).map(|g| graph.bytes[g] as f64);
        bytes.sum()
    };
    (0..graph.len()).map(alive_at).collect()
}

/// Tensors that stay in memory throughout a window. Each window begins a stage earlier than the one
/// before.
struct Stays<'a> {
    graph: &'a CheckmateGraph,
    point: &'a FractionalPoint,
    backward: usize,
    /// By stage, which nodes are recomputed there and how often.
    made: Vec<Vec<(u32, f64)>>,
    /// Share of each tensor that stays; negative if it is recomputed more often than it is there in
    /// the end.
    share: Vec<f64>,
    /// Bytes of each tensor that stay, and of all together.
    bytes: Vec<f64>,
    sum: f64,
}

impl<'a> Stays<'a> {
    fn new(graph: &'a CheckmateGraph, point: &'a FractionalPoint, backward: usize) -> Self {
        let n = graph.len();
        let mut made = vec![Vec::new(); n];
        for k in 0..backward {
            for (stage, times) in point.recomputations(k) {
                made[stage as usize].push((k as u32, times));
            }
        }
        Stays {
            graph,
            point,
            backward,
            made,
            share: vec![0.0; n],
            bytes: vec![0.0; n],
            sum: 0.0,
        }
    }

    /// Ends the window with stage `b`. Its first stage is the next argument of [`Stays::begin_at`].
    fn end_at(&mut self, b: usize) {
        self.share.fill(0.0);
        self.bytes.fill(0.0);
        self.sum = 0.0;
        for k in 0..b.min(self.backward) {
            let share = self.point.retained(b, k);
            self.share[k] = share;
            self.bytes[k] = share * self.graph.bytes[k] as f64;
            self.sum += self.bytes[k];
        }
    }

    /// Begins the window with stage `a`, the stage before its previous beginning.
    fn begin_at(&mut self, a: usize) {
        self.sum -= std::mem::take(&mut self.bytes[a]);
        for &(k, times) in &self.made[a] {
            let k = k as usize;
            self.share[k] -= times;
            let bytes = self.share[k].max(0.0) * self.graph.bytes[k] as f64;
            self.sum += bytes - std::mem::replace(&mut self.bytes[k], bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::baselines::fixtures::{any_chain, small_dag};
    use crate::checkmate::path_cuts::PointBuilder;
    use proptest::prelude::*;
    use remat_instances::instance::Instance;

    fn instance() -> impl Strategy<Value = Instance> {
        prop_oneof![any_chain(), small_dag(9)]
    }

    proptest! {
        #[test]
        fn what_stays_follows_the_window((instance, values) in (instance(), prop::collection::vec(0..5u8, 64))) {
            let graph = CheckmateGraph::new(&instance, u64::MAX / 4).unwrap();
            let n = graph.len();
            let mut values = values.into_iter().map(|v| f64::from(v) / 4.0).cycle();
            let mut next = || values.next().unwrap();
            let mut point = PointBuilder::new(n);
            for k in 0..n {
                for t in k + 1..n {
                    point.add_retained(k, t..t + 1, next());
                    point.add_recomputed(k, t, next().powi(4));
                }
            }
            let point = point.finish();
            let backward = graph.first_backward.map_or(n, |f| f as usize);
            let mut stays = Stays::new(&graph, &point, backward);
            for b in 1..n {
                stays.end_at(b);
                for a in (1..=b).rev() {
                    stays.begin_at(a);
                    let mut sum = 0.0;
                    for k in 0..n {
                        let share = point.retained(b, k) - point.recomputed_in(k, a..b + 1);
                        let counted = k < a.min(backward);
                        let bytes = if counted { share.max(0.0) * graph.bytes[k] as f64 } else { 0.0 };
                        prop_assert!((stays.bytes[k] - bytes).abs() < 1e-6);
                        sum += bytes;
                    }
                    prop_assert!((stays.sum - sum).abs() < 1e-6 * (1.0 + sum));
                }
            }
        }
    }
}
