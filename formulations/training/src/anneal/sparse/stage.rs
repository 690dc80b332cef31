//! Evaluation of one stage from runs, in time linear in its computations and reads up to
//! logarithms.

use super::super::graph::{CheckmateLandscape, NO_PARENT};
use super::state::{StageRange, holds};
use remat_search::anneal::Flip;
use std::collections::BinaryHeap;

/// Computations of a stage beyond which a flip is not evaluated: it costs more than any flip that
/// pays. The time of a move must not grow with the graph.
const COMPUTATIONS_LIMIT: usize = 512;

/// A stage, and the sets that it starts and ends with.
pub(super) struct Asked<'a> {
    pub graph: &'a CheckmateLandscape,
    pub kept: &'a [Vec<StageRange>],
    /// Tensors held at the start of the next stage, but not at the start of this one.
    pub begins: &'a [u32],
    pub stage: usize,
    /// A flip to be carried out before.
    pub flip: Option<Flip>,
}

impl Asked<'_> {
    #[inline]
    fn is_kept(&self, tensor: u32, stage: usize) -> bool {
        let stage = stage as u32;
        match self.flip {
            Some(f) if f.tensor == tensor && (f.from..=f.to).contains(&stage) => f.keep,
            _ => holds(&self.kept[tensor as usize], stage),
        }
    }
}

/// Scratch of [`evaluate`].
#[derive(Clone)]
pub(super) struct SparseScratch {
    /// Number of the evaluation in which a node was last found to be computed, and to be read.
    computed_at: Vec<u32>,
    read_at: Vec<u32>,
    number: u32,
    open: BinaryHeap<u32>,
    /// Computations in descending node order, with the bytes that are freed once each has run.
    computed: Vec<(u32, f64)>,
    touched: Vec<u32>,
}

impl SparseScratch {
    pub fn new(nodes: usize) -> Self {
        SparseScratch {
            computed_at: vec![0; nodes],
            read_at: vec![0; nodes],
            number: 0,
            open: BinaryHeap::new(),
            computed: Vec::new(),
            touched: Vec::new(),
        }
    }

    /// Tensors that the stage evaluated last computes or reads, ascending.
    pub fn touched(&mut self) -> &[u32] {
        self.touched.sort_unstable();
        self.touched.dedup();
        &self.touched
    }

    fn begin(&mut self) {
        self.number = self.number.wrapping_add(1);
        if self.number == 0 {
            self.computed_at.fill(0);
            self.read_at.fill(0);
            self.number = 1;
        }
        self.computed.clear();
        self.touched.clear();
    }

    #[inline]
    fn compute(&mut self, node: u32) {
        let at = &mut self.computed_at[node as usize];
        if *at != self.number {
            *at = self.number;
            self.open.push(node);
        }
    }
}

/// Cost and peak of a stage that starts with so many bytes, equal to the values of
/// [`evaluate`](super::super::evaluate). Infinite if a flip makes the stage compute hundreds of
/// nodes.
pub(super) fn evaluate(
    asked: &Asked<'_>,
    held_bytes: f64,
    scratch: &mut SparseScratch,
) -> (f64, f64) {
    let (graph, t) = (asked.graph, asked.stage);
    scratch.begin();
    scratch.compute(t as u32);
    let flipped = asked.flip.map(|flip| flip.tensor);
    for &i in asked.begins.iter().filter(|i| Some(**i) != flipped) {
        scratch.compute(i);
    }
    if let Some(i) = flipped
        && asked.is_kept(i, t + 1)
        && !asked.is_kept(i, t)
    {
        scratch.compute(i);
    }
    while let Some(k) = scratch.open.pop() {
        if asked.flip.is_some() && scratch.computed.len() > COMPUTATIONS_LIMIT {
            scratch.open.clear();
            return (f64::INFINITY, f64::INFINITY);
        }
        let parent = graph.parent[k as usize];
        if parent != NO_PARENT && (k as usize) < t {
            scratch.compute(parent);
        }
        let mut freed = 0.0;
        for (d, frees) in graph.reads(k as usize) {
            if !asked.is_kept(d, t) {
                scratch.compute(d);
            }
            let read_at = &mut scratch.read_at[d as usize];
            if *read_at != scratch.number {
                *read_at = scratch.number;
                scratch.touched.push(d);
                if !asked.is_kept(d, t + 1) {
                    freed += frees;
                }
            }
        }
        scratch.computed.push((k, freed));
        scratch.touched.push(k);
    }
    let mut bytes = held_bytes;
    let (mut cost, mut peak) = (0.0, held_bytes);
    let again = scratch.computed[1..].iter().map(|c| c.0 as usize);
    let never = graph.never_bytes(asked.stage, again);
    for &(k, freed) in scratch.computed[1..].iter().rev() {
        let k = k as usize;
        bytes += graph.bytes[k];
        peak = f64::max(peak, bytes + graph.workspace_again[k]);
        bytes -= freed;
        cost += graph.cost_again[k];
    }
    peak = peak.max(bytes + graph.bytes[t] + graph.workspace[t]) + never;
    (cost + graph.cost[t], peak)
}
