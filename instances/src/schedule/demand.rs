//! Schedules defined by their retained sets, from which the computations follow.

use super::{Changes, CheckmateSchedule, StageRuns};
use crate::instance::{Instance, NodeId};
use std::collections::BinaryHeap;

/// The parts of a graph that determine the computations needed for given retained sets.
pub trait Demands {
    /// Number of nodes, and of stages.
    fn nodes(&self) -> usize;
    /// Inputs of a node.
    fn inputs(&self, node: u32) -> impl Iterator<Item = u32>;
    /// The node that must be recomputed with a by-product.
    fn parent(&self, node: u32) -> Option<u32>;
    /// The last stage in which a node may be computed again; its own stage if it never is.
    fn last_stage_again(&self, node: u32) -> u32;
}

impl Demands for Instance {
    fn nodes(&self) -> usize {
        self.len()
    }

    fn inputs(&self, node: u32) -> impl Iterator<Item = u32> {
        self.needs(NodeId(node)).iter().map(|j| j.0)
    }

    fn parent(&self, node: u32) -> Option<u32> {
        self.node(NodeId(node)).parent().map(|p| p.0)
    }

    fn last_stage_again(&self, node: u32) -> u32 {
        self.last_stage_again(NodeId(node)).0
    }
}

impl CheckmateSchedule {
    /// The cheapest computations for given retained sets. Each stage computes its own node, the
    /// tensors that the next stage retains and this one does not hold, and recursively every input
    /// that is not held. A by-product is recomputed together with its parent, even if the parent is
    /// held. Where a node may not be computed again, it is held as long as a computation reads it or
    /// a stage retains it.
    ///
    /// This is "min-R" (Checkmate section 5.1.1): optimal for the given `retained`. Entries
    /// `retained[t, i]` with `i >= t` are dropped first, since such a tensor does not exist yet.
    /// Time is linear in the runs of the retained sets, the computations and their inputs, up to a
    /// logarithm of the computations in a stage.
    pub fn cheapest(instance: &Instance, retained: impl Into<StageRuns>) -> Self {
        Sweep::new(instance, retained.into(), false).run()
    }

    /// The cheapest computations for the given retained sets, without useless retentions and
    /// computations.
    ///
    /// The needs of the next stage determine the computations of a stage, as in
    /// [`CheckmateSchedule::cheapest`]. A retained tensor is kept only if a computation reads it or
    /// the next stage holds it, and the stage does not compute it. Checkmate's program also treats
    /// unused retentions as spurious (section 4.6).
    ///
    /// Cost and peak are at most those given by [`CheckmateSchedule::cheapest`] for the same sets;
    /// the time is of the same order.
    pub fn tightest(graph: &impl Demands, retained: impl Into<StageRuns>) -> Self {
        Sweep::new(graph, retained.into(), true).run()
    }
}

/// Marks the absence of a stage.
const NOWHERE: u32 = u32::MAX;

/// A sweep over the stages from the last to the first. A tensor continues unchanged through a stage
/// that neither computes nor reads it, unless one of its given runs begins or ends there.
struct Sweep<'a, G> {
    graph: &'a G,
    /// True if unused retentions are dropped.
    tight: bool,
    given: Changes,
    /// True for each tensor that the given sets hold in the current stage.
    is_given: Vec<bool>,
    /// Last stage of each tensor's current run, if the next stage holds the tensor.
    held_to: Vec<u32>,
    /// Earliest stage so far that reads each tensor, and earliest stage that computes it.
    read_in: Vec<u32>,
    computed_in: Vec<u32>,
    /// Nodes that may be computed again up to a stage before the last one, by this stage.
    ended: Vec<(u32, u32)>,
    /// Nodes computed in the current stage whose inputs are still to be processed.
    open: BinaryHeap<u32>,
    /// Tensors that may change in the current stage.
    touched: Vec<u32>,
    /// Computations (stage, node), and runs of retained tensors; the latest come first.
    computed: Vec<[u32; 2]>,
    retained: Vec<(u32, [u32; 2])>,
}

impl<'a, G: Demands> Sweep<'a, G> {
    fn new(graph: &'a G, mut retained: StageRuns, tight: bool) -> Self {
        let n = graph.nodes();
        (0..n).for_each(|i| retained.clear(i, 0, i));
        let ended = (0..n as u32).map(|i| (graph.last_stage_again(i), i));
        let ended = ended.filter(|(last, i)| i < last && *last + 1 < n as u32);
        let mut ended: Vec<(u32, u32)> = ended.collect();
        ended.sort_unstable();
        Sweep {
            graph,
            tight,
            given: retained.changes(),
            is_given: vec![false; n],
            held_to: vec![NOWHERE; n],
            read_in: vec![NOWHERE; n],
            computed_in: vec![NOWHERE; n],
            ended,
            open: BinaryHeap::new(),
            touched: Vec::new(),
            computed: Vec::with_capacity(n),
            retained: Vec::new(),
        }
    }

    fn run(mut self) -> CheckmateSchedule {
        let n = self.graph.nodes();
        for t in (0..n as u32).rev() {
            self.stage(t);
        }
        let mut schedule = CheckmateSchedule {
            computed: StageRuns::new(n, n),
            retained: StageRuns::new(n, n),
        };
        for [t, i] in self.computed.into_iter().rev() {
            schedule.computed.set(t as usize, i as usize, true);
        }
        for (i, [first, last]) in self.retained.into_iter().rev() {
            let retained = &mut schedule.retained;
            retained.fill(i as usize, first as usize, last as usize);
        }
        schedule
    }

    fn stage(&mut self, t: u32) {
        self.touched.clear();
        self.touched.push(t);
        self.compute(t, t);
        for k in 0..self.given.ends(t as usize + 1).len() {
            let i = self.given.ends(t as usize + 1)[k];
            self.is_given[i as usize] = true;
            self.touched.push(i);
        }
        for k in 0..self.given.begins(t as usize + 1).len() {
            let i = self.given.begins(t as usize + 1)[k];
            self.is_given[i as usize] = false;
            self.touched.push(i);
            self.bring(i, t);
        }
        // A tensor that was held because it could not be computed again can be from here on.
        while let Some(&(_, i)) = self.ended.last().filter(|(last, _)| *last == t) {
            self.ended.pop();
            self.touched.push(i);
            if !self.is_given[i as usize] {
                self.bring(i, t);
            }
        }
        while let Some(k) = self.open.pop() {
            self.read_inputs(k, t);
        }
        for k in 0..self.touched.len() {
            let i = self.touched[k];
            let is_held = self.is_held(i, t);
            let held_to = &mut self.held_to[i as usize];
            if is_held && *held_to == NOWHERE {
                *held_to = t;
            } else if !is_held && *held_to != NOWHERE {
                self.retained.push((i, [t + 1, *held_to]));
                *held_to = NOWHERE;
            }
        }
    }

    /// Returns whether a tensor is only there in a stage if it is held: it may not be computed.
    fn must_be_held(&self, i: u32, t: u32) -> bool {
        t > self.graph.last_stage_again(i)
    }

    /// Computes a tensor that is not given in a stage, but in the next one, if it may be.
    fn bring(&mut self, i: u32, t: u32) {
        if self.held_to[i as usize] != NOWHERE && !self.must_be_held(i, t) {
            self.compute(i, t);
        }
    }

    /// Adds a computation of a node to a stage, unless it is there already.
    fn compute(&mut self, i: u32, t: u32) {
        let computed_in = &mut self.computed_in[i as usize];
        if *computed_in != t {
            *computed_in = t;
            self.computed.push([t, i]);
            self.open.push(i);
            self.touched.push(i);
        }
    }

    /// Ensures that the inputs of a computation are held or computed, and that the parent is
    /// computed with it.
    fn read_inputs(&mut self, k: u32, t: u32) {
        let graph = self.graph;
        if let Some(parent) = graph.parent(k).filter(|_| k < t) {
            self.compute(parent, t);
        }
        for i in graph.inputs(k) {
            self.read_in[i as usize] = t;
            self.touched.push(i);
            if !self.is_given[i as usize] && !self.must_be_held(i, t) {
                self.compute(i, t);
            }
        }
    }

    /// Returns whether a tensor is held at the start of a stage.
    fn is_held(&self, i: u32, t: u32) -> bool {
        let at = i as usize;
        let is_wanted = self.held_to[at] != NOWHERE;
        let is_read = self.read_in[at] == t;
        let is_used = is_wanted || is_read;
        let may_be = self.is_given[at] || self.must_be_held(i, t) && is_used;
        let is_computed = self.computed_in[at] == t;
        i < t && may_be && !(self.tight && (!is_used || is_computed))
    }
}

#[cfg(test)]
mod tests;
