//! Windows and paths that may carry a violated path memory cut, whatever form it is stated in.

use super::walk::PathDistances;
use super::{FractionalPoint, PathCut, SeparationSettings};
use crate::checkmate::CheckmateGraph;

/// A window and a path that may carry a violated cut.
#[derive(Clone, Debug, PartialEq)]
pub struct MemoryCandidate {
    /// Need, window and path.
    pub path: PathCut,
    /// Amount of the path that is held at the start of the window.
    pub held: f64,
    /// By how much memory looks exceeded, as a share of what the first node of the path needs.
    pub share: f64,
}

/// For every need and every node on its walk the window in which memory looks tightest. What stays
/// is estimated from `S[b,k]` less the recomputations in the window, an overestimate for tensors
/// that are read for the last time early in stage `b`; the caller computes the cut itself.
pub fn walk_memory(
    graph: &CheckmateGraph,
    point: &FractionalPoint,
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
    let mut best: Vec<(f64, usize)> = Vec::new();
    let mut tops: Vec<(usize, usize, f64)> = Vec::new();
    for q in 0..n {
        let first = q + 1;
        let Some(&last) = graph.users[q].last() else {
            continue;
        };
        let end = last as usize + 1;
        if point
            .retained_of(q)
            .all_reach(stop, first as u32..end as u32)
        {
            continue;
        }
        walk.run(graph, point, q, first..end, stop);
        let need = |k: usize| graph.need_bytes(walk.nodes[k] as usize) as f64;
        for &b in &graph.users[q] {
            let b = b as usize;
            // The earlier a window begins, the less stays throughout: of the windows that begin in a
            // run of equal distances the shortest is the tightest.
            tops.clear();
            let mut most = 0.0;
            for k in 0..walk.nodes.len() {
                let runs = walk.distances(k).filter(|run| run.1 < stop);
                for (stages, d) in runs.take_while(|run| run.0.start as usize <= b) {
                    tops.push((b.min(stages.end as usize - 1), k, d));
                    most = f64::max(most, need(k) * (1.0 - d));
                }
            }
            if kept[b] + gradients[b] + most <= graph.capacity as f64 {
                continue;
            }
            tops.sort_unstable_by_key(|top| std::cmp::Reverse((top.0, top.1)));
            best.clear();
            best.resize(walk.nodes.len(), (settings.violation, 0));
            let mut beside = f64::INFINITY;
            stays.end_at(b);
            let mut begin = b + 1;
            for &(a, k, d) in &tops {
                while begin > a {
                    begin -= 1;
                    beside = beside.min(gradients[begin]);
                    stays.begin_at(begin);
                }
                let need = need(k);
                let least = best[k].0 * need.max(1.0);
                let over = stays.sum + need * (1.0 - d) + beside - graph.capacity as f64;
                if over <= least {
                    continue;
                }
                let j = walk.nodes[k] as usize;
                let own = graph.needs[j].iter().map(|&u| u as usize).chain([j]);
                let over = over - own.map(|u| stays.bytes[u]).sum::<f64>();
                if over > least {
                    best[k] = (over / need.max(1.0), a);
                }
            }
            for (k, &(share, a)) in best.iter().enumerate() {
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

/// By stage, the bytes of what is held of the forward pass, and made before, when it begins.
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

/// By stage, the bytes of gradients as the plain order has them; they are not counted among what
/// stays.
fn gradients_alive(graph: &CheckmateGraph, backward: usize) -> Vec<f64> {
    let alive_at = |t: usize| {
        let alive = |g: &usize| graph.users[*g].last().is_some_and(|&q| q as usize >= t);
        let bytes = (backward..t).filter(alive).map(|g| graph.bytes[g] as f64);
        bytes.sum()
    };
    (0..graph.len()).map(alive_at).collect()
}

/// Tensors that stay in memory throughout a window, for one window after the other that begins a
/// stage earlier.
struct Stays<'a> {
    graph: &'a CheckmateGraph,
    point: &'a FractionalPoint,
    backward: usize,
    /// By stage, which nodes are recomputed there and how often.
    made: Vec<Vec<(u32, f64)>>,
    /// Share of each tensor that stays: below 0 where it is recomputed more often than it is there
    /// in the end.
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

    /// The window ends with stage `b`; its first stage is the next one that [`Stays::begin_at`] is
    /// told.
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

    /// The window begins with stage `a`, the one before the last.
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
