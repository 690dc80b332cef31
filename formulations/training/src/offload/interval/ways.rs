//! Ways to run nodes: implementations, in place or not, and by-products that need not be made.
//!
//! For each node, the graph counts the parts common to all ways: the inputs that all of them read,
//! the least cost, the least workspace. A first run with several ways has a column for each; a trip
//! that begins with a further run includes its way. By-products need not run at all.

use crate::checkmate::{CheckmateGraph, last_stages};
use remat_instances::instance::{Implementation, Instance, Node, NodeId, NodeKind};

/// A way to run a node, as its excess over the parts that the graph counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Way {
    /// Index into [`Node::implementations`].
    pub implementation: u16,
    /// True if the output goes into the buffer of the input that the node may overwrite.
    pub in_place: bool,
    /// Cost beyond the least, in the instance's unit.
    pub cost: u64,
    /// Time beyond the least, in units of time, rounded up.
    pub time: i64,
    /// Workspace in bytes beyond the workspace that the graph counts; negative if it is less.
    pub bytes: i64,
    /// Inputs that not all ways read, ascending.
    pub reads: Vec<u32>,
}

/// Ways of all nodes.
#[derive(Clone, Debug, Default)]
pub struct Ways {
    /// Ways of first runs, by node; empty if the graph counts the only way.
    pub first: Vec<Vec<Way>>,
    /// Ways of further runs, likewise; inputs that only some of them read are not required.
    pub again: Vec<Vec<Way>>,
    /// By-products that need not be made, by node.
    pub optional: Vec<Option<Optional>>,
    /// Bytes in use at the first run of each node beyond the bytes that the graph counts, including
    /// fixed memory.
    pub beside_first: Vec<i64>,
    /// The same at further runs in each stage.
    pub beside_again: Vec<i64>,
    /// Position of the first column of each node's first ways, after the columns of idle time.
    pub columns: Vec<u32>,
}

/// First run of a by-product that need not be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Optional {
    /// Its cost, in the instance's unit.
    pub cost: u64,
    /// Its time, in units of time, rounded up.
    pub time: i64,
    /// Its least workspace in bytes; may be below 0.
    pub bytes: i64,
}

impl Ways {
    /// The ways of `nodes` nodes with one way each.
    pub fn single(nodes: usize) -> Self {
        Ways {
            first: vec![Vec::new(); nodes],
            again: vec![Vec::new(); nodes],
            optional: vec![None; nodes],
            beside_first: vec![0; nodes],
            beside_again: vec![0; nodes],
            columns: vec![0; nodes],
        }
    }

    /// Returns whether a node is a by-product that need not be made.
    pub fn is_optional(&self, node: u32) -> bool {
        self.optional[node as usize].is_some()
    }

    /// Bytes in use at an event beyond the bytes that the graph counts.
    pub fn beside(&self, stage: u32, node: u32) -> i64 {
        match stage == node {
            true => self.beside_first[stage as usize],
            false => self.beside_again[stage as usize],
        }
    }

    /// Number of columns of first ways.
    pub fn count(&self) -> usize {
        self.first.iter().map(Vec::len).sum()
    }

    /// Columns of first ways: node, index of the way, and the way.
    pub fn all(&self) -> impl Iterator<Item = (u32, u32, &Way)> {
        let of = |(node, ways): (u32, &'_ Vec<Way>)| (node, ways.len());
        let all = (0u32..).zip(&self.first).map(of);
        all.flat_map(move |(node, count)| {
            let own = &self.first[node as usize];
            (0..count as u32).map(move |way| (node, way, &own[way as usize]))
        })
    }

    /// Sum of all excesses of ways, for bounds on numbers.
    pub(super) fn size(&self) -> f64 {
        let of = |w: &Way| w.cost as f64 + w.time as f64 + w.bytes.unsigned_abs() as f64 + 1.0;
        let ways = self.first.iter().chain(&self.again).flatten();
        let made = self.optional.iter().flatten();
        let made = made.map(|o| o.cost as f64 + o.time as f64 + o.bytes.unsigned_abs() as f64);
        let beside = self.beside_first.iter().chain(&self.beside_again);
        let beside = beside.map(|bytes| bytes.unsigned_abs() as f64);
        ways.map(of).chain(made).chain(beside).sum()
    }
}

/// A run of a node with its full values.
struct Run {
    implementation: u16,
    in_place: bool,
    cost: u64,
    workspace: i64,
    reads: Vec<u32>,
}

/// The ways of MONeT's program to run a node: first, or again.
fn runs(node: &Node, again: bool) -> Vec<Run> {
    let mut all = Vec::new();
    for (k, way) in node.implementations.iter().enumerate() {
        let mut reads: Vec<u32> = way.needs.iter().map(|d| d.0).collect();
        reads.sort_unstable();
        let (cost, workspace) = (way.run_cost(again), way.run_workspace_bytes(again));
        if let Some(option) = &node.in_place {
            all.push(Run {
                implementation: k as u16,
                in_place: true,
                cost: cost.saturating_add_signed(option.cost_delta),
                workspace: option.workspace_bytes,
                reads: reads.clone(),
            });
        }
        all.push(Run {
            implementation: k as u16,
            in_place: false,
            cost,
            workspace,
            reads,
        });
    }
    all
}

/// Inputs common to all implementations, ascending.
fn read_by_all(ways: &[Implementation]) -> Vec<u32> {
    let Some((first, others)) = ways.split_first() else {
        return Vec::new();
    };
    let in_all = |u: &&NodeId| others.iter().all(|w| w.needs.contains(u));
    let mut all: Vec<u32> = first.needs.iter().filter(in_all).map(|u| u.0).collect();
    all.sort_unstable();
    all
}

/// Inputs of any implementation, ascending.
fn read_by_any(ways: &[Implementation]) -> Vec<u32> {
    let all = ways.iter().flat_map(|w| &w.needs).map(|u| u.0);
    let mut all: Vec<u32> = all.collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// The undominated runs, as ways with their excess over the counted cost and workspace. A run
/// dominates another one if it costs no more, needs no more workspace and reads no further inputs.
/// Empty if the only way left has no excess.
fn ways(runs: Vec<Run>, counted: (u64, i64), common: &[u32], unit: u64) -> Vec<Way> {
    let no_worse = |a: &Run, b: &Run| {
        let reads = a.reads.iter().all(|u| b.reads.contains(u));
        a.cost <= b.cost && a.workspace <= b.workspace && reads
    };
    let is_beaten = |k: usize| {
        let beats = |o: usize| {
            o != k && no_worse(&runs[o], &runs[k]) && (o < k || !no_worse(&runs[k], &runs[o]))
        };
        (0..runs.len()).any(beats)
    };
    let (least, bytes) = counted;
    let kept = (0..runs.len()).filter(|k| !is_beaten(*k));
    let kept: Vec<Way> = kept
        .map(|k| {
            let run = &runs[k];
            let cost = run.cost - least;
            let beyond = |u: &&u32| !common.contains(u);
            Way {
                implementation: run.implementation,
                in_place: run.in_place,
                cost,
                time: i64::try_from(cost.div_ceil(unit)).unwrap_or(i64::MAX),
                bytes: run.workspace - bytes,
                reads: run.reads.iter().filter(beyond).copied().collect(),
            }
        })
        .collect();
    match kept.as_slice() {
        [only] if only.cost == 0 && only.bytes == 0 && only.reads.is_empty() => Vec::new(),
        _ => kept,
    }
}

/// Least cost and least workspace of some runs.
fn least(runs: &[Run]) -> (u64, i64) {
    let cost = runs.iter().map(|run| run.cost).min();
    let bytes = runs.iter().map(|run| run.workspace).min();
    (cost.unwrap_or(0), bytes.unwrap_or(0))
}

/// The graph of an instance under MONeT's semantics with the parts common to all ways, and the
/// ways; the budget is in bytes, fixed memory included. `None` if the least fixed memory exceeds
/// the budget.
pub(super) fn of_monet(instance: &Instance, budget_bytes: u64) -> Option<(CheckmateGraph, Ways)> {
    let nodes = instance.nodes();
    let least_fixed = nodes.iter().map(|v| v.fixed_bytes).min().unwrap_or(0);
    let capacity = budget_bytes.checked_sub(least_fixed)?;
    let mut graph = CheckmateGraph::with_capacity(instance, capacity);
    graph.gauges.truncate(1);
    read(&mut graph, nodes);
    let all: Vec<[Vec<Run>; 2]> = nodes
        .iter()
        .map(|node| [false, true].map(|again| runs(node, again)))
        .collect();
    for (i, (node, [first, further])) in nodes.iter().zip(&all).enumerate() {
        let gauge = &mut graph.gauges[0];
        let (cost, bytes) = least(first);
        let counted = bytes.max(0) as u64;
        (graph.cost[i], graph.workspace[i], gauge.working[i]) = match is_optional(node) {
            true => (0, 0, 0),
            false => (cost, counted, node.output_bytes + counted),
        };
        let (cost, bytes) = least(further);
        let counted = bytes.max(0) as u64;
        (graph.cost_again[i], graph.workspace_again[i]) = (cost, counted);
        gauge.working_again[i] = node.output_bytes + counted;
    }
    // The graph's unit depends on the costs.
    let unit = graph.cost_unit() as u64;
    let mut own = Ways::single(nodes.len());
    let fixed = fixed_around(nodes);
    for (i, (node, [first, mut further])) in nodes.iter().zip(all).enumerate() {
        let (cost, bytes) = least(&first);
        let around = (fixed[i] - least_fixed) as i64;
        own.beside_again[i] = around;
        if is_optional(node) {
            own.beside_first[i] = around;
            own.optional[i] = Some(Optional {
                cost,
                time: i64::try_from(cost.div_ceil(unit)).unwrap_or(i64::MAX),
                bytes,
            });
        } else {
            // The graph does not count a negative workspace.
            own.beside_first[i] = (node.fixed_bytes - least_fixed) as i64 + bytes.min(0);
            own.first[i] = ways(first, (cost, bytes), &graph.needs[i], unit);
        }
        // Inputs that only some further runs read are not required.
        further.iter_mut().for_each(|run| run.reads.clear());
        let (cost, bytes) = least(&further);
        own.again[i] = ways(further, (cost, bytes.max(0)), &[], unit);
        // A by-product follows its parent.
        if is_optional(node) && !own.again[i].is_empty() {
            own.again[i] = vec![Way {
                implementation: 0,
                in_place: false,
                cost: 0,
                time: 0,
                bytes: bytes.min(0),
                reads: Vec::new(),
            }];
        }
    }
    let mut column = 0;
    for (first, at) in own.first.iter().zip(&mut own.columns) {
        *at = column;
        column += first.len() as u32;
    }
    Some((graph, own))
}

fn is_optional(node: &Node) -> bool {
    matches!(node.kind, NodeKind::ByProduct { .. })
}

/// Sets needs to the inputs of all ways, and users to the readers in any way.
fn read(graph: &mut CheckmateGraph, nodes: &[Node]) {
    let n = nodes.len();
    let needs = nodes.iter().map(|v| read_by_all(&v.implementations));
    graph.needs = needs.collect();
    graph.users = vec![Vec::new(); n];
    for (v, node) in nodes.iter().enumerate() {
        for u in read_by_any(&node.implementations) {
            graph.users[u as usize].push(v as u32);
        }
    }
    graph.last_stage = last_stages(&graph.users, &graph.again_until);
}

/// Lower bound in bytes, by stage, on the fixed memory at any computation but the first run of a
/// node that must be made. It is the minimum over the last such node before, the next such node,
/// and all by-products. A by-product first made with a further run of its parent brings its own
/// fixed memory back.
fn fixed_around(nodes: &[Node]) -> Vec<u64> {
    let by_products = nodes.iter().filter(|v| is_optional(v));
    let late = by_products.map(|v| v.fixed_bytes).min().unwrap_or(u64::MAX);
    let mut around = vec![late; nodes.len()];
    let mut last = u64::MAX;
    for (least, node) in around.iter_mut().zip(nodes) {
        *least = (*least).min(last);
        if !is_optional(node) {
            last = node.fixed_bytes;
        }
    }
    let mut next = u64::MAX;
    for (least, node) in around.iter_mut().zip(nodes).rev() {
        if !is_optional(node) {
            next = node.fixed_bytes;
        }
        *least = (*least).min(next).min(node.fixed_bytes);
    }
    around
}
