//! Structure of a graph as OLLA's program reads it (arXiv 2210.12924, section 4, and its code):
//! levels, early updates, and pairs of tensors that may be in memory together.
//!
//! Its graph has data and `order_edges`; resident tensors are nodes without inputs.

use super::bits::{self, Matrix};
use remat_instances::order::{OperatorId, OrderGraph, TensorId};

/// OLLA's view of a graph.
///
/// ```
/// use remat_memory::order::Olla;
/// use remat_instances::order::{read_order_graph_bytes, TensorId};
///
/// let text = r#"{"schema": "remat-order/1", "operators": [
///     {"outputs": [0]}, {"inputs": [0], "outputs": [1]}, {"inputs": [1]}],
///     "tensors": [{"bytes": 4}, {"bytes": 4}]}"#;
/// let graph = read_order_graph_bytes("three.json", text.as_bytes())?;
/// let olla = Olla::of(&graph);
/// assert_eq!((olla.forward_levels(), olla.backward_levels()), (&[0, 1, 2][..], &[2, 1, 0][..]));
/// assert!(olla.may_overlap(TensorId(0), TensorId(1)));
/// assert!(olla.early_edges().is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Olla<'a> {
    graph: &'a OrderGraph,
    /// Sources of inputs and sinks of outputs; edges of size 0 come after data edges.
    before: Vec<Vec<u32>>,
    after: Vec<Vec<u32>>,
    forward: Vec<u32>,
    backward: Vec<u32>,
    /// Operators before each.
    ancestors: Matrix,
    producer: Vec<Option<u32>>,
    readers: Vec<Vec<u32>>,
}

impl<'a> Olla<'a> {
    /// The view of a graph, in `edges * operators / 64` steps.
    pub fn of(graph: &'a OrderGraph) -> Self {
        let n = graph.len();
        let tensors = graph.tensors();
        let mut producer = vec![None; tensors.len()];
        let mut readers = vec![Vec::new(); tensors.len()];
        for (v, operator) in graph.operators().iter().enumerate() {
            let v = v as u32;
            operator
                .outputs
                .iter()
                .for_each(|t| producer[t.index()] = Some(v));
            operator
                .inputs
                .iter()
                .for_each(|t| readers[t.index()].push(v));
        }
        let (mut before, mut after) = (vec![Vec::new(); n], vec![Vec::new(); n]);
        for (v, operator) in graph.operators().iter().enumerate() {
            before[v].extend(operator.inputs.iter().filter_map(|t| producer[t.index()]));
            after[v].extend(operator.outputs.iter().flat_map(|t| &readers[t.index()]));
        }
        for [a, b] in &graph.data().order_edges {
            after[a.index()].push(b.0);
            before[b.index()].push(a.0);
        }
        let mut olla = Olla {
            graph,
            before,
            after,
            forward: vec![0; n],
            backward: vec![0; n],
            ancestors: Matrix::new(n),
            producer,
            readers,
        };
        olla.levels();
        olla
    }

    /// Computes the levels, in an order of the operators by data and edges.
    fn levels(&mut self) {
        let n = self.before.len();
        let mut waits: Vec<usize> = self.before.iter().map(Vec::len).collect();
        let mut order: Vec<u32> = (0..n as u32).filter(|v| waits[*v as usize] == 0).collect();
        let mut next = 0;
        while let Some(&v) = order.get(next) {
            next += 1;
            let inputs = &self.graph.operators()[v as usize].inputs;
            let mut inputs = inputs.iter();
            let above = self.before[v as usize].iter();
            let level = above.map(|u| self.forward[*u as usize] + 1).max();
            let of_weight = inputs.any(|t| self.graph.tensors()[t.index()].resident);
            self.forward[v as usize] = level.unwrap_or(0).max(of_weight.into());
            for k in 0..self.before[v as usize].len() {
                self.ancestors.absorb(v, self.before[v as usize][k]);
            }
            for &w in &self.after[v as usize] {
                waits[w as usize] -= 1;
                if waits[w as usize] == 0 {
                    order.push(w);
                }
            }
        }
        for &v in order.iter().rev() {
            let below = self.after[v as usize].iter();
            let level = below.map(|w| self.backward[*w as usize] + 1).max();
            self.backward[v as usize] = level.unwrap_or(0);
        }
    }

    /// The longest path from an input to each operator, in edges.
    pub fn forward_levels(&self) -> &[u32] {
        &self.forward
    }

    /// The longest path from each operator to an output, in edges.
    pub fn backward_levels(&self) -> &[u32] {
        &self.backward
    }

    /// Returns whether two tensors may be in memory together in some order: unless all readers of
    /// one come before the producer of the other. A tensor without readers, and a resident one, may
    /// be there with any.
    pub fn may_overlap(&self, a: TensorId, b: TensorId) -> bool {
        let precedes = |a: TensorId, b: TensorId| {
            let readers = &self.readers[a.index()];
            let is_made = self.producer[a.index()].is_some() && !readers.is_empty();
            let before = |v: u32| readers.iter().all(|r| bits::has(self.ancestors.row(v), *r));
            is_made && self.producer[b.index()].is_some_and(before)
        };
        !precedes(a, b) && !precedes(b, a)
    }

    /// OLLA's control edges of early weight updates, `[update, anchor]`, by operator: a heuristic
    /// that cuts off optima. Equal to `olla_early_edges` of the published graphs.
    ///
    /// An update is an operator without successors that reads a resident tensor. Its anchor is
    /// searched among the successors of its inputs' sources, then of the sources of their inputs,
    /// and so on. It is the operator with the highest backward level behind the update's forward
    /// level.
    pub fn early_edges(&self) -> Vec<[OperatorId; 2]> {
        let reads_weight = |v: &u32| {
            let mut inputs = self.graph.operators()[*v as usize].inputs.iter();
            inputs.any(|t| self.graph.tensors()[t.index()].resident)
        };
        let all = 0..self.before.len() as u32;
        let updates = all
            .filter(|v| self.after[*v as usize].is_empty())
            .filter(reads_weight);
        let edges = updates.filter_map(|v| Some([v, self.anchor(v)?].map(OperatorId)));
        edges.collect()
    }

    /// The anchor of an update.
    fn anchor(&self, update: u32) -> Option<u32> {
        let level = self.forward[update as usize];
        let mut known = vec![None; self.before.len()];
        let mut candidates = vec![update];
        let mut seen = bits::empty(self.before.len());
        while !candidates.is_empty() {
            let mut sources = Vec::new();
            for &u in candidates.iter().flat_map(|v| &self.before[*v as usize]) {
                // A visited source gave no anchor.
                if !bits::has(&seen, u) {
                    bits::insert(&mut seen, u);
                    sources.push(u);
                }
            }
            let mut best = None;
            for &u in &sources {
                let found = self.highest_behind(u, level, &mut known);
                let height = |v: Option<u32>| v.map_or(0, |v| self.backward[v as usize]);
                if height(found) > height(best) {
                    best = found;
                }
            }
            if best.is_some() {
                return best;
            }
            candidates = sources;
        }
        None
    }

    /// Of the operators above a forward level that come right behind an operator, or behind those
    /// within the level that do, the first with the highest backward level.
    fn highest_behind(&self, v: u32, level: u32, known: &mut [Option<Option<u32>>]) -> Option<u32> {
        let within = |w: &u32| self.forward[*w as usize] <= level;
        let mut stack = vec![v];
        while let Some(&at) = stack.last() {
            let behind = &self.after[at as usize];
            let open = behind
                .iter()
                .filter(|w| within(w) && known[**w as usize].is_none());
            let before = stack.len();
            let open: Vec<u32> = open.copied().collect();
            if known[at as usize].is_none() {
                stack.extend(open);
            }
            if stack.len() > before {
                continue;
            }
            let mut best: Option<u32> = None;
            for &w in behind {
                let found = if within(&w) {
                    known[w as usize].flatten()
                } else {
                    Some(w)
                };
                let height = |v: Option<u32>| v.map(|v| self.backward[v as usize]);
                if height(found) > height(best) {
                    best = found;
                }
            }
            known[at as usize] = Some(best);
            stack.pop();
        }
        known[v as usize].flatten()
    }
}
