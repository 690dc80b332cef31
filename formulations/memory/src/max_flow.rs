//! Maximum flow and minimum cut: Dinic's algorithm with integer capacities.
//!
//! `petgraph` has it too, and starts each augmenting path with all vertices:
//! `docs/inside/decisions/010-petgraph.md`.

use std::collections::VecDeque;

/// A capacity that no cut of finite value crosses.
pub const UNLIMITED: u64 = u64::MAX / 4;

/// A flow network: directed edges with capacities, to which a flow is added by
/// [`FlowNetwork::maximise`].
///
/// Edges are stored in pairs, each next to its reverse, so that edge `e ^ 1` undoes edge `e`.
///
/// ```
/// use remat_memory::max_flow::FlowNetwork;
/// let mut network = FlowNetwork::new(4);
/// network.add_edge(0, 1, 3);
/// network.add_edge(1, 2, 2);
/// network.add_edge(2, 3, 5);
/// assert_eq!(network.maximise(0, 3), 2);
/// assert_eq!(network.sink_side(3), [false, false, true, true]);
/// assert_eq!(network.flow(1), 2);
/// ```
#[derive(Clone, Debug)]
pub struct FlowNetwork {
    heads: Vec<u32>,
    residual: Vec<u64>,
    outgoing: Vec<Vec<u32>>,
}

impl FlowNetwork {
    /// A network of vertices `0..vertices` without edges.
    pub fn new(vertices: usize) -> Self {
        FlowNetwork {
            heads: Vec::new(),
            residual: Vec::new(),
            outgoing: vec![Vec::new(); vertices],
        }
    }

    /// Adds an edge with a capacity of at most [`UNLIMITED`] (larger ones are cut down to it).
    /// Panics on a vertex out of range.
    pub fn add_edge(&mut self, from: usize, to: usize, capacity: u64) {
        let edge = self.heads.len() as u32;
        self.heads.extend([to as u32, from as u32]);
        self.residual.extend([capacity.min(UNLIMITED), 0]);
        self.outgoing[from].push(edge);
        self.outgoing[to].push(edge + 1);
    }

    /// Flow over the `k`-th edge that was added, from 0. Panics if there are not so many edges.
    pub fn flow(&self, k: usize) -> u64 {
        self.residual[2 * k + 1]
    }

    /// Adds flow from `source` to `sink` until it is maximal, and returns the added amount. The two
    /// must differ, and some cut must have a capacity below [`UNLIMITED`].
    ///
    /// Phases of breadth-first levels and blocking flows (Dinic, 1970): O(vertices^2 edges), far
    /// less in practice.
    pub fn maximise(&mut self, source: usize, sink: usize) -> u64 {
        let mut total = 0;
        let mut next = vec![0usize; self.outgoing.len()];
        while let Some(mut levels) = self.levels(source, sink) {
            next.fill(0);
            while let Some(path) = self.augmenting_path(source, sink, &mut levels, &mut next) {
                let amount = path
                    .iter()
                    .map(|&e| self.residual[e as usize])
                    .min()
                    .unwrap_or(0);
                for &e in &path {
                    self.residual[e as usize] -= amount;
                    self.residual[e as usize ^ 1] += amount;
                }
                total += amount;
            }
        }
        total
    }

    /// Marks the vertices that still reach `sink` after [`FlowNetwork::maximise`]: the sink side of
    /// the minimum cut that is nearest to the sink.
    pub fn sink_side(&self, sink: usize) -> Vec<bool> {
        let mut reaches = vec![false; self.outgoing.len()];
        reaches[sink] = true;
        let mut open = vec![sink];
        while let Some(v) = open.pop() {
            for &e in &self.outgoing[v] {
                let u = self.heads[e as usize] as usize;
                if self.residual[e as usize ^ 1] > 0 && !reaches[u] {
                    reaches[u] = true;
                    open.push(u);
                }
            }
        }
        reaches
    }

    /// Distances from the source over edges with room, up to the distance of the sink; `None` if
    /// the sink is out of reach.
    fn levels(&self, source: usize, sink: usize) -> Option<Vec<u32>> {
        let mut levels = vec![u32::MAX; self.outgoing.len()];
        levels[source] = 0;
        let mut queue = VecDeque::from([source]);
        while let Some(v) = queue.pop_front() {
            if v == sink {
                return Some(levels);
            }
            for &e in &self.outgoing[v] {
                let u = self.heads[e as usize] as usize;
                if self.residual[e as usize] > 0 && levels[u] == u32::MAX {
                    levels[u] = levels[v] + 1;
                    queue.push_back(u);
                }
            }
        }
        None
    }

    /// A path of edges from source to sink, each one level up. Dead ends lose their level, so a
    /// phase visits each edge once, apart from the paths themselves.
    fn augmenting_path(
        &self,
        source: usize,
        sink: usize,
        levels: &mut [u32],
        next: &mut [usize],
    ) -> Option<Vec<u32>> {
        let mut path: Vec<u32> = Vec::new();
        let mut v = source;
        while v != sink {
            let step = self.outgoing[v][next[v]..].iter().position(|&e| {
                let u = self.heads[e as usize] as usize;
                self.residual[e as usize] > 0 && levels[u] != u32::MAX && levels[u] == levels[v] + 1
            });
            if let Some(skipped) = step {
                next[v] += skipped;
                let e = self.outgoing[v][next[v]];
                path.push(e);
                v = self.heads[e as usize] as usize;
            } else {
                levels[v] = u32::MAX;
                let e = path.pop()?;
                v = self.heads[e as usize ^ 1] as usize;
            }
        }
        Some(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Value of the cut whose sink side is `sink_side`.
    fn cut_value(edges: &[(usize, usize, u64)], sink_side: impl Fn(usize) -> bool) -> u64 {
        edges
            .iter()
            .filter(|&&(a, b, _)| !sink_side(a) && sink_side(b))
            .map(|e| e.2)
            .sum()
    }

    #[test]
    fn an_unreachable_sink_gets_nothing() {
        let mut network = FlowNetwork::new(3);
        network.add_edge(0, 1, 7);
        network.add_edge(2, 1, 7);
        assert_eq!(network.maximise(0, 2), 0);
        assert_eq!(network.sink_side(2), [false, false, true]);
    }

    #[test]
    fn flow_is_rerouted_over_reverse_edges() {
        // The first shortest paths may use 1 -> 2 -> 5 and block; the maximum is 2 either way.
        let mut network = FlowNetwork::new(6);
        for (a, b) in [(0, 1), (0, 2), (1, 3), (1, 4), (2, 3), (3, 5), (4, 5)] {
            network.add_edge(a, b, 1);
        }
        assert_eq!(network.maximise(0, 5), 2);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(400))]

        #[test]
        fn flow_equals_the_least_cut_and_the_reported_cut_is_the_smallest_sink_side(
            n in 2usize..8,
            raw in prop::collection::vec((any::<u8>(), any::<u8>(), 0u64..12), 0..22),
        ) {
            let edges: Vec<(usize, usize, u64)> =
                raw.iter().map(|&(a, b, c)| (a as usize % n, b as usize % n, c)).collect();
            let mut network = FlowNetwork::new(n);
            for &(a, b, c) in &edges {
                network.add_edge(a, b, c);
            }
            let flow = network.maximise(0, n - 1);
            let cuts: Vec<(u64, u32)> = (0u32..1 << n)
                .filter(|set| set & 1 == 0 && set >> (n - 1) & 1 != 0)
                .map(|set| (cut_value(&edges, |v| set >> v & 1 != 0), set))
                .collect();
            let least = cuts.iter().map(|c| c.0).min().unwrap();
            prop_assert_eq!(flow, least);
            let side = network.sink_side(n - 1);
            prop_assert_eq!(cut_value(&edges, |v| side[v]), least);
            // Minimum cuts are closed under intersection: the nearest one is inside all others.
            let nearest = cuts.iter().filter(|c| c.0 == least).fold(u32::MAX, |a, c| a & c.1);
            for (v, &inside) in side.iter().enumerate() {
                prop_assert_eq!(inside, nearest >> v & 1 != 0);
            }
        }
    }
}
