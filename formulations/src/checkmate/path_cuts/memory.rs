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
    let mut stays = Stays::new(graph, point, backward);
    let mut walk = PathDistances::new(n);
    let mut out = Vec::new();
    let mut best: Vec<(f64, usize)> = Vec::new();
    for q in 0..n {
        let first = q + 1;
        let Some(&last) = graph.users[q].last() else {
            continue;
        };
        let end = last as usize + 1;
        if point.retained_of(q)[first..end].iter().all(|s| *s >= stop) {
            continue;
        }
        walk.run(graph, point, q, first..end, stop);
        for &b in &graph.users[q] {
            let b = b as usize;
            best.clear();
            best.resize(walk.nodes.len(), (settings.violation, 0));
            let mut beside = f64::INFINITY;
            stays.end_at(b);
            for a in (first..=b).rev() {
                beside = beside.min(gradients[a]);
                stays.begin_at(a);
                for (k, slot) in best.iter_mut().enumerate() {
                    let d = walk.distances(k)[a - first];
                    let j = walk.nodes[k] as usize;
                    let need = graph.need_bytes(j) as f64;
                    let load = stays.sum + need * (1.0 - d) + beside;
                    let over = load - graph.capacity as f64;
                    let least = slot.0 * need.max(1.0);
                    if d >= stop || over <= least {
                        continue;
                    }
                    let own = graph.needs[j].iter().map(|&u| u as usize).chain([j]);
                    let over = over - own.map(|u| stays.bytes[u]).sum::<f64>();
                    if over > least {
                        *slot = (over / need.max(1.0), a);
                    }
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
                        held: walk.distances(k)[a - first],
                        share,
                    });
                }
            }
        }
    }
    out
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
    backward: usize,
    /// `S[t,k]` by stages.
    retained: Vec<f64>,
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
    fn new(graph: &'a CheckmateGraph, point: &FractionalPoint, backward: usize) -> Self {
        let n = graph.len();
        let mut retained = vec![0.0; n * backward];
        let mut made = vec![Vec::new(); n];
        for k in 0..backward {
            let before = point.recomputed_before(k);
            for t in k + 1..n {
                retained[t * backward + k] = point.retained(t, k);
                if before[t + 1] > before[t] {
                    made[t].push((k as u32, before[t + 1] - before[t]));
                }
            }
        }
        Stays {
            graph,
            backward,
            retained,
            made,
            share: vec![0.0; n],
            bytes: vec![0.0; n],
            sum: 0.0,
        }
    }

    /// The window ends with stage `b`; its first stage is the next one that [`Stays::begin_at`] is
    /// told.
    fn end_at(&mut self, b: usize) {
        let row = &self.retained[b * self.backward..(b + 1) * self.backward];
        self.share[..self.backward].copy_from_slice(row);
        self.bytes.fill(0.0);
        self.sum = 0.0;
        let there = row.iter().zip(&self.graph.bytes).take(b);
        for (slot, (share, bytes)) in self.bytes.iter_mut().zip(there) {
            *slot = share * *bytes as f64;
            self.sum += *slot;
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
            let mut point = FractionalPoint::new(n);
            for k in 0..n {
                for t in k + 1..n {
                    point.add_retained(k, t..t + 1, next());
                    point.add_recomputed(k, t, next().powi(4));
                }
            }
            point.finish();
            let backward = graph.first_backward.map_or(n, |f| f as usize);
            let mut stays = Stays::new(&graph, &point, backward);
            for b in 1..n {
                stays.end_at(b);
                for a in (1..=b).rev() {
                    stays.begin_at(a);
                    let mut sum = 0.0;
                    for k in 0..n {
                        let made = point.recomputed_before(k);
                        let share = point.retained(b, k) - (made[b + 1] - made[a]);
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
