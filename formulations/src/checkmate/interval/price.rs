//! Prices of intervals from duals.

use super::byte_prices::BytePrices;
use super::sweep::IntervalSweep;
use super::{CheckmateGraph, Interval, Quantity, Row, event, starts_between};
use crate::life::Exclusions;
use remat_solver::price::{Candidate, Number, Priced};
use std::collections::{BTreeMap, BTreeSet};

/// Prices of the intervals of one tensor, from the duals.
#[derive(Clone, Debug)]
pub(super) struct TensorPrices<T> {
    /// Paid to an interval that covers an event.
    pub cover: Vec<(u32, T)>,
    /// Paid to an interval that crosses the start of a stage.
    pub cross: Vec<(u32, T)>,
    /// Paid to an interval that starts in a stage of the range (first, last).
    pub start: Vec<(u32, u32, T)>,
}

/// Prices on events, stage boundaries and starts.
#[derive(Clone, Debug)]
pub(super) struct IntervalPrices<T> {
    /// For each gauge in use.
    pub memory: Vec<BytePrices<T>>,
    /// Stages with events at which bytes have a price, ascending.
    pub memory_stages: Vec<u32>,
    pub tensors: Vec<TensorPrices<T>>,
}

impl<T: Number> IntervalPrices<T> {
    /// Prices of rows with duals. The dual of a count is at least 0; that of a memory row is given
    /// as its price of a byte, at least 0.
    pub fn new<'a>(graph: &CheckmateGraph, rows: impl Iterator<Item = (&'a Row, T)>) -> Self {
        let n = graph.len();
        let mut memory: BTreeMap<u32, Vec<(u32, u32, T)>> = BTreeMap::new();
        let empty = TensorPrices {
            cover: Vec::new(),
            cross: Vec::new(),
            start: Vec::new(),
        };
        let mut tensors = vec![empty; n];
        for (row, y) in rows {
            if y == T::ZERO {
                continue;
            }
            match row {
                Row::Need { node, reader } => {
                    tensors[*node as usize]
                        .cover
                        .push((event(n, *reader, *reader), y));
                }
                Row::Input { stage, node, input } => {
                    tensors[*input as usize]
                        .cover
                        .push((event(n, *stage, *node), y));
                    tensors[*node as usize].start.push((*stage, *stage, -y));
                }
                Row::Parent { stage, node } => {
                    if let Some(parent) = graph.parent[*node as usize] {
                        tensors[parent as usize].start.push((*stage, *stage, y));
                    }
                    tensors[*node as usize].start.push((*stage, *stage, -y));
                }
                Row::Memory { stage, node, gauge } => {
                    let priced = memory.entry(*gauge).or_default();
                    priced.push((*stage, *node, y));
                    let k = *node as usize;
                    let gauge = &graph.gauges[*gauge as usize];
                    let scratch = gauge.working_again[k] as i64 - gauge.bytes[k] as i64;
                    if scratch > 0 && stage > node {
                        tensors[*node as usize]
                            .start
                            .push((*stage, *stage, -y.times(scratch)));
                    }
                }
                Row::Cover(at) => {
                    if at.made > 0 {
                        let worth = y.times(i64::from(at.made));
                        let start = (at.stage, at.stage, -worth);
                        tensors[at.node as usize].start.push(start);
                    }
                    let e = event(n, at.stage, at.node);
                    for &(i, weight) in &at.cover.weights {
                        let worth = y.times(i64::from(weight));
                        tensors[i as usize].cover.push((e, -worth));
                    }
                }
                Row::Path(cut) => {
                    for &i in &cut.path {
                        tensors[i as usize].cross.push((cut.from, y));
                    }
                    tensors[cut.source() as usize]
                        .start
                        .push((cut.from, cut.reader, y));
                }
                Row::PathMemory(cut) => {
                    let (a, b, j) = (cut.path.from, cut.path.reader, cut.path.source());
                    for &k in &cut.staying {
                        let worth = y.times(graph.bytes[k as usize] as i64);
                        tensors[k as usize].cover.push((event(n, b, j), -worth));
                        let window = starts_between(k, j, a, b);
                        if !window.is_empty() {
                            tensors[k as usize]
                                .start
                                .push((*window.start(), *window.end(), worth));
                        }
                    }
                    for &(t, k) in &cut.companions {
                        let worth = y.times(graph.bytes[k as usize] as i64);
                        tensors[k as usize].cover.push((event(n, t, j), -worth));
                    }
                    let need = y.times(graph.need_bytes(j as usize) as i64);
                    for &i in &cut.path.path {
                        tensors[i as usize].cross.push((a, need));
                    }
                }
                Row::Branch(branch) => {
                    let y = y.times(branch.sign());
                    for &node in branch.quantity.of().list(&graph.classes) {
                        let tensor = &mut tensors[node as usize];
                        match branch.quantity {
                            // The first computation is none of them.
                            Quantity::Starts { first, last, .. } => {
                                tensor.start.push((first.max(node + 1), last, y));
                            }
                            Quantity::Held { stage, .. } => tensor.cross.push((stage, y)),
                        }
                    }
                }
            }
        }
        for t in &mut tensors {
            t.cover.sort_unstable_by_key(|e| e.0);
            t.cross.sort_unstable_by_key(|e| e.0);
        }
        let priced = memory.values().flatten();
        let memory_stages: BTreeSet<u32> = priced.map(|(stage, ..)| *stage).collect();
        let memory = memory.into_iter();
        let memory = memory.map(|(gauge, priced)| BytePrices::new(gauge, n, priced, T::ZERO));
        IntervalPrices {
            memory: memory.collect(),
            memory_stages: memory_stages.into_iter().collect(),
            tensors,
        }
    }
}

/// Prices all intervals of all tensors. Duals are in the instance's unit of cost, those of memory
/// rows per byte and at most 0. For each tensor at most `per_block` recomputed intervals and the
/// one from the first computation are returned.
pub(super) fn price(
    graph: &CheckmateGraph,
    exclusions: &Exclusions,
    rows: &[Row],
    duals: &[f64],
    per_block: usize,
    tolerance: f64,
) -> Priced<Interval> {
    let priced = rows
        .iter()
        .zip(duals)
        .map(|(row, &y)| match row.is_memory() {
            true => (row, (-y).max(0.0)),
            false => (row, y.max(0.0)),
        });
    let worth = priced.clone().map(|(row, y)| {
        let right = row.right_side(graph) as f64;
        if row.is_memory() {
            -y * right
        } else {
            y * right
        }
    });
    let mut out = Priced::new(graph.base_cost() as f64 + worth.sum::<f64>());
    let prices = IntervalPrices::new(graph, priced);
    let mut scratch = IntervalSweep::new(1.0);
    let mut own: Vec<Candidate<Interval>> = Vec::new();
    for i in 0..graph.len() {
        own.clear();
        out.bound += prices.sweep(
            graph,
            exclusions,
            i,
            &mut scratch,
            |reduced_cost, interval| {
                if reduced_cost < -tolerance {
                    own.push(Candidate {
                        reduced_cost,
                        column: interval,
                    });
                }
            },
        );
        out.add_best(&mut own, per_block, |c| !c.is_recomputed());
    }
    out.sorted()
}

/// The tensors whose intervals may have a coefficient in a row, each once.
pub(super) fn uses(graph: &CheckmateGraph, row: &Row, note: &mut dyn FnMut(u32)) {
    match row {
        Row::Need { node, .. } => note(*node),
        Row::Input { node, input, .. } => {
            note(*node);
            note(*input);
        }
        Row::Parent { node, .. } => {
            note(*node);
            graph.parent[*node as usize].into_iter().for_each(note);
        }
        Row::Memory { stage, .. } => {
            let alive = |i: &u32| graph.last_stage[*i as usize] >= *stage;
            (0..=*stage).filter(alive).for_each(note);
        }
        Row::Cover(at) => at.tensors().for_each(note),
        Row::Path(cut) => cut.path.iter().copied().for_each(note),
        Row::PathMemory(cut) => {
            let beside = cut.companions.iter().map(|g| g.1);
            let named = cut.path.path.iter().chain(&cut.staying).copied();
            let all: BTreeSet<u32> = named.chain(beside).collect();
            all.into_iter().for_each(note);
        }
        Row::Branch(branch) => {
            let nodes = branch.quantity.of();
            nodes.list(&graph.classes).iter().copied().for_each(note);
        }
    }
}
