//! Windows and paths that may carry a violated path memory cut, whatever form it is stated in.

use super::walk::Walk;
use super::{FractionalPoint, PathCut, SeparationSettings};
use crate::checkmate::Graph;

/// For every need and every node on its walk the window in which memory looks tightest, with the distance (how much of
/// the path is held at its start). What stays is estimated from `S[b,k]` less the recomputations in the window, an
/// overestimate for tensors that are read for the last time early in stage `b`; the caller computes the cut itself.
pub fn walk_memory(
    graph: &Graph,
    point: &FractionalPoint,
    settings: &SeparationSettings,
) -> Vec<(PathCut, f64)> {
    let n = graph.len();
    let stop = 1.0 - settings.violation;
    // Gradients as the plain order has them; they are not counted among what stays.
    let backward = graph.first_backward.map_or(n, |f| f as usize);
    let gradients: Vec<f64> = (0..n)
        .map(|t| {
            let alive = |g: &usize| graph.users[*g].last().is_some_and(|&q| q as usize >= t);
            (backward..t)
                .filter(alive)
                .map(|g| graph.bytes[g] as f64)
                .sum()
        })
        .collect();
    let mut walk = Walk::new(n);
    let mut out = Vec::new();
    let mut stay = vec![0.0; n];
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
            for a in (first..=b).rev() {
                beside = beside.min(gradients[a]);
                let any = (0..walk.nodes.len()).any(|k| walk.distances(k)[a - first] < stop);
                if !any {
                    continue;
                }
                let mut staying = 0.0;
                for (k, s) in stay.iter_mut().enumerate().take(a.min(backward)) {
                    let made = point.recomputed_before(k);
                    let d = point.retained(b, k) - (made[b + 1] - made[a]);
                    *s = d.max(0.0) * graph.bytes[k] as f64;
                    staying += *s;
                }
                for (k, slot) in best.iter_mut().enumerate() {
                    let d = walk.distances(k)[a - first];
                    if d >= stop {
                        continue;
                    }
                    let j = walk.nodes[k] as usize;
                    let own = graph.needs[j].iter().map(|&u| u as usize).chain([j]);
                    let excluded: f64 = own.filter(|&u| u < a.min(backward)).map(|u| stay[u]).sum();
                    let need = graph.need_bytes(j) as f64;
                    let load = staying - excluded + need * (1.0 - d) + beside;
                    let share = (load - graph.capacity as f64) / need.max(1.0);
                    if share > slot.0 {
                        *slot = (share, a);
                    }
                }
            }
            for (k, &(_, a)) in best.iter().enumerate() {
                if a > 0 {
                    let path = PathCut {
                        reader: b as u32,
                        from: a as u32,
                        path: walk.path(k, a),
                    };
                    out.push((path, walk.distances(k)[a - first]));
                }
            }
        }
    }
    out
}
