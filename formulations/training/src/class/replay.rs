//! Memory and cost of a list of decisions, event by event, as Checkmate's semantics counts them.

use super::graph::ClassGraph;
use remat_instances::schedule::{BitMatrix, StageRuns};

/// No place, no event.
const NONE: u32 = u32::MAX;

/// The replay of decisions, with its working memory.
#[derive(Clone, Debug)]
pub struct ClassReplay<'g> {
    graph: &'g ClassGraph,
    /// By node: the stage of its recomputation, or [`NONE`].
    place: Vec<u32>,
    /// By stage: its first recomputed node; by node: the next one of the stage.
    first_in: Vec<u32>,
    next_in: Vec<u32>,
    /// By node: the events of its runs, counted in the order of execution.
    own_event: Vec<u32>,
    again_event: Vec<u32>,
    /// By event: bytes that are freed behind it.
    freed: Vec<u64>,
    /// Cost of the latest replay.
    pub cost: u64,
    /// Bytes above capacity, summed over its stages; a run that is refused counts as more than the
    /// capacity.
    pub excess: f64,
}

impl<'g> ClassReplay<'g> {
    /// A replay of nothing yet.
    pub fn new(graph: &'g ClassGraph) -> Self {
        let n = graph.len();
        ClassReplay {
            graph,
            place: vec![NONE; n],
            first_in: vec![NONE; n],
            next_in: vec![NONE; n],
            own_event: vec![0; n],
            again_event: vec![0; n],
            freed: Vec::with_capacity(2 * n),
            cost: 0,
            excess: 0.0,
        }
    }

    /// The replay of the plan with the decisions of some retained sets.
    pub fn of(graph: &'g ClassGraph, retained: &BitMatrix) -> Self {
        let mut replay = ClassReplay::new(graph);
        replay.run(&graph.dropped(retained));
        replay
    }

    /// Replays decisions: `dropped` by decision.
    pub fn run(&mut self, dropped: &[bool]) {
        self.set_places(dropped);
        self.list_places();
        self.number_events();
        self.free_inputs();
        self.sweep();
    }

    /// The stage in which each dropped node that is needed runs again: its place, or the first one
    /// that reads it.
    fn set_places(&mut self, dropped: &[bool]) {
        let graph = self.graph;
        self.place.fill(NONE);
        self.cost = graph.base_cost();
        // Readers have larger numbers.
        for node in (0..graph.rules.first_backward() as usize).rev() {
            let decision = graph.rules.decision(node as u32);
            if !decision.is_some_and(|d| dropped[d as usize]) {
                continue;
            }
            let (forward, backward) = graph.readers(node);
            let again = forward.iter().map(|u| self.place[*u as usize]);
            let first = again.chain(backward.first().copied()).min();
            let first = first.unwrap_or(NONE);
            if first == NONE {
                continue;
            }
            self.place[node] = graph.rules.place(node as u32).unwrap_or(first);
            self.cost += graph.cost_again[node];
        }
    }

    /// Lists the nodes that run again in each stage, ascending. A by-product runs with its parent.
    fn list_places(&mut self) {
        self.first_in.fill(NONE);
        for node in (0..self.graph.rules.first_backward() as usize).rev() {
            if self.place[node] == NONE {
                continue;
            }
            if let Some(parent) = self.graph.parent[node] {
                self.place[node] = self.place[parent as usize];
            }
            let stage = self.place[node] as usize;
            self.next_in[node] = self.first_in[stage];
            self.first_in[stage] = node as u32;
        }
    }

    /// Numbers the runs: those of a stage in the order of the nodes, its own node last.
    fn number_events(&mut self) {
        let mut event = 0;
        for stage in 0..self.graph.len() {
            let mut node = self.first_in[stage];
            while node != NONE {
                self.again_event[node as usize] = event;
                event += 1;
                node = self.next_in[node as usize];
            }
            self.own_event[stage] = event;
            event += 1;
        }
        self.freed.clear();
        self.freed.resize(event as usize, 0);
    }

    /// Notes behind which run each output, and each copy, is freed.
    fn free_inputs(&mut self) {
        let graph = self.graph;
        for node in 0..graph.len() {
            let (forward, backward) = graph.readers(node);
            let own = |u: &u32| self.own_event[*u as usize];
            let again = forward
                .iter()
                .filter(|u| self.place[**u as usize] != NONE)
                .map(|u| self.again_event[*u as usize]);
            let late = backward.last().map(own).into_iter().chain(again).max();
            let early = forward.last().map(own);
            let last = match self.place[node] {
                NONE => late.max(early),
                _ => {
                    let copy = late.unwrap_or(self.again_event[node]);
                    self.freed[copy as usize] += graph.bytes[node];
                    early
                }
            };
            // An output without a reader stays until its stage ends, which its own run does.
            let last = last.unwrap_or(self.own_event[node]);
            self.freed[last as usize] += graph.bytes[node];
        }
    }

    fn sweep(&mut self) {
        let graph = self.graph;
        let (mut live, mut excess) = (0u64, 0u64);
        for stage in 0..graph.len() {
            let mut most = 0;
            let mut run = |node: usize, event: u32, workspace: u64| {
                live += graph.bytes[node];
                most = most.max(live + workspace);
                live -= self.freed[event as usize];
            };
            let mut node = self.first_in[stage];
            while node != NONE {
                let k = node as usize;
                // The simulator refuses a run behind a node that ends it.
                if !graph.may_recompute_in(node, stage as u32) {
                    excess = excess.saturating_add(graph.capacity + 1);
                }
                run(k, self.again_event[k], graph.workspace_again[k]);
                node = self.next_in[k];
            }
            run(stage, self.own_event[stage], graph.workspace[stage]);
            excess += most.saturating_sub(graph.capacity);
        }
        self.excess = excess as f64;
    }

    /// The retained sets of the latest replay.
    pub fn retained(&self) -> BitMatrix {
        let graph = self.graph;
        let mut retained = StageRuns::new(graph.len(), graph.len());
        for node in 0..graph.len() {
            let (forward, backward) = graph.readers(node);
            let again = forward.iter().map(|u| self.place[*u as usize]);
            let again = again.filter(|place| *place != NONE);
            let late = backward.last().copied().into_iter().chain(again).max();
            let early = forward.last().copied();
            let (first, last) = match self.place[node] {
                NONE => (node, late.max(early)),
                place => {
                    if let Some(last) = early {
                        retained.fill(node, node + 1, last as usize);
                    }
                    (place as usize, late)
                }
            };
            if let Some(last) = last.filter(|last| *last as usize > first) {
                retained.fill(node, first + 1, last as usize);
            }
        }
        retained.to_bits()
    }
}
