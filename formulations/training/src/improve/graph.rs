//! The computations of a plan as operators of an order graph.

use remat_instances::instance::{Instance, Precedence};
use remat_instances::order::{Operator, OperatorId, OrderGraph, OrderGraphData, Tensor, TensorId};
use remat_instances::plan::Computations;

/// Operators of a plan's computations. The first operators are the computations in their order; the
/// others have neither tensors nor memory and stand between groups of nodes.
pub(crate) struct RunGraph {
    pub graph: OrderGraph,
    /// Number of computations.
    pub runs: usize,
}

impl RunGraph {
    /// The graph of computations. `None` if edges contradict each other, or if the sum of sizes is
    /// too large.
    ///
    /// Computations of the same node keep their order, so that costs and workspaces stay; a
    /// by-product comes before the next run of its parent; first computations follow `rules`; all
    /// runs of a node come before the nodes that end it.
    /// Under MONeT's semantics the memory is not exact: releases while a node runs are left out.
    pub fn of(
        instance: &Instance,
        rules: &Precedence,
        computations: &Computations,
    ) -> Option<Self> {
        let runs = computations.runs.len();
        let mut seen: Vec<Option<usize>> = vec![None; instance.len()];
        let mut first: Vec<Option<usize>> = vec![None; instance.len()];
        let mut is_read = vec![false; runs];
        for r in computations.reads.iter().flatten() {
            is_read[*r] = true;
        }
        let mut edges: Vec<[usize; 2]> = Vec::new();
        let mut operators = Vec::with_capacity(runs);
        let mut tensors = Vec::with_capacity(runs);
        // The last by-products of each run.
        let mut with: Vec<Vec<usize>> = vec![Vec::new(); runs];
        for (k, run) in computations.runs.iter().enumerate() {
            let node = instance.node(run.node);
            let before = seen[run.node.index()].replace(k);
            if let Some(before) = before {
                edges.push([before, k]);
                edges.extend(with[before].iter().map(|b| [*b, k]));
            } else {
                first[run.node.index()] = Some(k);
            }
            if let Some(parent) = computations.parent[k] {
                with[parent].push(k);
                edges.push([parent, k]);
            }
            let way = &node.implementations[usize::from(run.implementation)];
            let again = before.is_some();
            let workspace = match &node.in_place {
                Some(option) if run.in_place => option.workspace_bytes,
                _ => way.run_workspace_bytes(again),
            };
            let dead = match is_read[k] {
                true => 0,
                false => node.output_bytes,
            };
            let tensor = |r: &usize| TensorId(*r as u32);
            operators.push(Operator {
                inputs: computations.reads[k].iter().map(tensor).collect(),
                outputs: vec![TensorId(k as u32)],
                workspace_bytes: workspace.max(0) as u64 + dead,
                ..Operator::default()
            });
            tensors.push(Tensor {
                bytes: node.output_bytes,
                in_place_on: computations.overwrites[k].as_ref().map(tensor),
                ..Tensor::default()
            });
        }
        for id in instance.ids() {
            let Some(own) = first[id.index()] else {
                continue;
            };
            let before = rules.before(id).iter();
            edges.extend(before.filter_map(|b| Some([first[b.index()]?, own])));
            // Every run of a node comes before the node that ends it.
            for ended in instance.ended_by(id) {
                let runs = computations.runs.iter().enumerate();
                let runs = runs.filter(|(_, run)| run.node == ended);
                edges.extend(runs.map(|(k, _)| [k, own]));
            }
        }
        let groups = instance.ids().map(|id| rules.group(id)).max();
        for group in 1..=groups.unwrap_or(0) {
            // Stands after the first computations of one group and before the first ones of the
            // next.
            let gate = operators.len();
            operators.push(Operator::default());
            for id in instance.ids() {
                match (first[id.index()], rules.group(id)) {
                    (Some(own), g) if g + 1 == group => edges.push([own, gate]),
                    (Some(own), g) if g == group => edges.push([gate, own]),
                    _ => {}
                }
            }
        }
        let operator = |k: usize| OperatorId(k as u32);
        let data = OrderGraphData {
            name: instance.name().into(),
            unused_resident_bytes: instance.static_bytes(),
            program_order: (0..operators.len()).map(operator).collect(),
            operators,
            tensors,
            order_edges: edges.into_iter().map(|e| e.map(operator)).collect(),
            ..OrderGraphData::default()
        };
        let graph = OrderGraph::new(data).ok()?;
        Some(RunGraph { graph, runs })
    }
}
