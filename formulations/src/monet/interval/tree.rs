//! Branch, price and cut over the interval form.
//!
//! A node of the tree is a list of branchings. One restricted program serves all nodes: going to another node exchanges its
//! branching rows, while columns, rows and cuts, which hold everywhere, stay. The node with the least bound comes first. Every
//! bound is a Lagrangian bound in integers.

use super::branch::{Branch, Open, open_quantities};
use super::root::{CutEffort, RelaxEnd, Relaxation, Relaxed};
use super::{Graph, RootError, RootSettings};
use crate::instance::Instance;
use crate::schedule::MonetSchedule;
use std::collections::BTreeMap;
use std::sync::Arc;

/// How the tree is searched.
#[derive(Clone, Debug)]
pub struct TreeSettings {
    /// A node whose bound is within this share of the best cost is closed.
    pub gap: f64,
    /// Nodes at most.
    pub nodes: u64,
    /// No further node after so many simplex iterations, those of the root included.
    pub iterations: u64,
    /// Rounds of cuts at a node below the root.
    pub node_cut_rounds: usize,
    /// Branchings that are tried before one is chosen.
    pub candidates: usize,
    /// Simplex iterations of a trial.
    pub trial_iterations: u64,
}

impl Default for TreeSettings {
    fn default() -> Self {
        TreeSettings {
            gap: 1e-4,
            nodes: u64::MAX,
            iterations: u64::MAX,
            node_cut_rounds: 4,
            candidates: 12,
            trial_iterations: 300,
        }
    }
}

/// What the tree shares with the search for schedules.
pub trait Exchange {
    /// Cost of the best schedule known. Not asked for before the root is solved.
    fn best(&self) -> Option<u64>;
    /// A relaxation of the root, on the way.
    fn relaxed(&self, relaxed: &Relaxed<'_>) {
        let _ = relaxed;
    }
    /// A schedule near a relaxation, in general not within the budget; `integral` says that it meets every row of the
    /// published program, with the cost given.
    fn offer(&self, proposal: MonetSchedule, integral: Option<u64>);
    /// How far the tree is: proven bound, nodes, simplex iterations.
    fn progress(&self, bound: u64, nodes: u64, iterations: u64);
}

/// How the search ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TreeEnd {
    /// No node is open: the bound is within the gap of the best cost.
    Closed,
    /// Proven: no schedule fits.
    Infeasible,
    /// A limit, the flag or the LP solver stopped it.
    Limit,
}

/// What the search found.
#[derive(Clone, Debug)]
pub struct TreeOutcome {
    /// How it ended.
    pub end: TreeEnd,
    /// Safe lower bound on the cost of every schedule that fits. Above the cost of every schedule if none fits.
    pub bound: u64,
    /// Bound at the root.
    pub root_bound: u64,
    /// Cost of the best point of the published program that the tree came upon.
    pub integral: Option<u64>,
    /// Nodes solved.
    pub nodes: u64,
    /// Simplex iterations.
    pub iterations: u64,
    /// Cuts added.
    pub cuts: usize,
}

struct Node {
    bound: u64,
    branches: Vec<Branch>,
}

/// Solves the root and searches the tree, over the whole space of schedules, one node after the other. `root.stop` and
/// `root.time_limit` end the search too.
///
/// # Errors
/// [`RootError`] where the instance has no such program.
pub fn search(
    instance: &Instance,
    budget_bytes: u64,
    root: &RootSettings,
    settings: &TreeSettings,
    exchange: &dyn Exchange,
) -> Result<TreeOutcome, RootError> {
    let graph = Arc::new(Graph::new(instance, budget_bytes)?);
    let mut relax = Relaxation::new(graph.clone(), root.clone())?;
    relax.forget_proofs();
    let (end, _) = relax.root(&|r| {
        exchange.progress(r.bound, 0, r.master.iterations());
        exchange.relaxed(&Relaxed(r));
    })?;
    let mut tree = Tree {
        instance,
        graph,
        settings,
        exchange,
        open: BTreeMap::new(),
        closed_bound: u64::MAX,
        integral: None,
        created: 0,
        nodes: 0,
    };
    let root_bound = relax.bound;
    match end {
        RelaxEnd::Converged => tree.branch(&mut relax, Vec::new())?,
        _ => tree.closed_bound = relax.bound,
    }
    let mut bound = root_bound;
    while let Some(key) = tree.open.keys().next().copied() {
        bound = bound.max(key.0.min(tree.closed_bound));
        exchange.progress(bound, tree.nodes, relax.master.iterations());
        let enough =
            tree.nodes >= settings.nodes || relax.master.iterations() >= settings.iterations;
        if key.0 >= tree.target() || relax.is_late() || enough {
            break;
        }
        if let Some(node) = tree.open.remove(&key) {
            tree.solve(&mut relax, node)?;
        }
    }
    let least_open = tree.open.keys().next().map_or(u64::MAX, |k| k.0);
    bound = bound.max(least_open.min(tree.closed_bound));
    Ok(TreeOutcome {
        end: if bound > relax.costliest {
            TreeEnd::Infeasible
        } else if bound >= tree.target() {
            TreeEnd::Closed
        } else {
            TreeEnd::Limit
        },
        bound,
        root_bound,
        integral: tree.integral,
        nodes: tree.nodes,
        iterations: relax.master.iterations(),
        cuts: relax.spent.cuts,
    })
}

struct Tree<'a> {
    instance: &'a Instance,
    graph: Arc<Graph>,
    settings: &'a TreeSettings,
    exchange: &'a dyn Exchange,
    /// By bound, the younger node first.
    open: BTreeMap<(u64, std::cmp::Reverse<u64>), Node>,
    /// Least bound of the nodes that were closed.
    closed_bound: u64,
    integral: Option<u64>,
    created: u64,
    nodes: u64,
}

impl Tree<'_> {
    /// The least bound that closes a node.
    fn target(&self) -> u64 {
        let known = self.exchange.best().into_iter().chain(self.integral).min();
        known.map_or(u64::MAX, |best| {
            best - (self.settings.gap * best as f64).floor() as u64
        })
    }

    fn solve(&mut self, relax: &mut Relaxation, node: Node) -> Result<(), RootError> {
        self.nodes += 1;
        relax.cutoff = self.target();
        relax.enter(&node.branches, node.bound)?;
        let mut end = relax.converge(false, &|_| ())?;
        if end == RelaxEnd::Converged && self.settings.node_cut_rounds > 0 {
            let effort = CutEffort {
                rounds: self.settings.node_cut_rounds,
                least_progress: 2e-5,
                idle_rounds: 1,
                eager: false,
            };
            end = relax.cut_rounds(effort, &|_| ())?;
        }
        match end {
            RelaxEnd::Converged => self.branch(relax, node.branches)?,
            // Where the relaxation was not solved to its end, its bound stands.
            _ => self.closed_bound = self.closed_bound.min(relax.bound),
        }
        Ok(())
    }

    /// Splits the node whose relaxation is solved, or takes it as a schedule.
    fn branch(&mut self, relax: &mut Relaxation, branches: Vec<Branch>) -> Result<(), RootError> {
        let open = open_quantities(&self.graph, &relax.point, 4 * self.settings.candidates);
        if open.is_empty() {
            let (schedule, cost) = relax.point.rounded(&self.graph);
            self.integral = Some(self.integral.map_or(cost, |best| best.min(cost)));
            self.exchange.offer(schedule, Some(cost));
            self.closed_bound = self.closed_bound.min(relax.bound);
            return Ok(());
        }
        let proposal = relax.point.proposal(self.instance, &self.graph, 0.5);
        self.exchange.offer(proposal, None);
        let (chosen, gains) = self.choose(relax, &open)?;
        // The younger node comes first among equals: the one whose value rises least.
        let mut children = chosen.branches();
        if gains[0] <= gains[1] {
            children.reverse();
        }
        for branch in children {
            let mut below = branches.clone();
            // A tighter bound on the same quantity takes the place of the old one.
            below.retain(|b| b.quantity != branch.quantity || b.at_least != branch.at_least);
            below.push(branch);
            self.created += 1;
            let node = Node {
                bound: relax.bound,
                branches: below,
            };
            let key = (relax.bound, std::cmp::Reverse(self.created));
            self.open.insert(key, node);
        }
        Ok(())
    }

    /// The branching whose trial promises most.
    fn choose(&self, relax: &Relaxation, open: &[Open]) -> Result<(Open, [f64; 2]), RootError> {
        let value = relax.value;
        let enough = match self.target() {
            u64::MAX => 0.1 * value.max(1.0),
            target => (target as f64 - value).max(1.0) * 1.1,
        };
        let mut best: Option<(f64, Open, [f64; 2])> = None;
        for candidate in open.iter().take(self.settings.candidates) {
            let mut gains = [0.0; 2];
            for (gain, branch) in gains.iter_mut().zip(candidate.branches()) {
                let after = relax
                    .master
                    .probe(&branch.row(), self.settings.trial_iterations)?;
                *gain = (after - value).clamp(1e-3 * enough, enough);
            }
            let score = gains[0] * gains[1];
            if best.as_ref().is_none_or(|b| score > b.0) {
                best = Some((score, *candidate, gains));
            }
        }
        let (_, open, gains) = best.unwrap_or((0.0, open[0], [0.0; 2]));
        Ok((open, gains))
    }
}
