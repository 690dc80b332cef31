//! Branch, price and cut over the interval form.
//!
//! A node of the tree is a list of branchings ([`Branch`]). One restricted program serves all nodes: going to another node
//! exchanges its branching rows, while columns, rows and cuts, which hold everywhere, stay. Nodes are taken by least bound,
//! with short plunges to the better child. Every bound is a Lagrangian bound in integers.

use super::branch::{Open, open_quantities};
use super::relax::{RelaxEnd, Relaxation};
use super::root::solve_root;
use super::{Branch, Graph, Interval, RootError, RootSettings};
use crate::schedule::{BitMatrix, CheckmateSchedule};
use std::collections::BTreeMap;

/// How the tree is searched.
#[derive(Clone, Debug)]
pub struct TreeSettings {
    /// How the relaxations are solved.
    pub root: RootSettings,
    /// A node whose bound is within this share of the best cost is closed.
    pub gap: f64,
    /// Nodes at most.
    pub nodes: u64,
    /// Simplex iterations at most.
    pub iterations: u64,
    /// Rounds of cuts at a node below the root.
    pub node_cut_rounds: usize,
    /// Branchings that are tried before one is chosen.
    pub strong_candidates: usize,
    /// Simplex iterations of a trial.
    pub strong_iterations: u64,
}

impl Default for TreeSettings {
    fn default() -> Self {
        TreeSettings {
            root: RootSettings::default(),
            gap: 1e-4,
            nodes: u64::MAX,
            iterations: u64::MAX,
            node_cut_rounds: 4,
            strong_candidates: 8,
            strong_iterations: 500,
        }
    }
}

/// What the tree shares with the search for schedules beside it.
pub trait Exchange {
    /// Cost of the best schedule known.
    fn best(&self) -> Option<u64>;
    /// Retained sets that may make a good schedule, perhaps after repair.
    fn offer(&self, retained: BitMatrix);
    /// The schedule with the least cost, where it can be had at once.
    fn schedule(&self) -> Option<CheckmateSchedule>;
    /// How far the tree is: proven bound, nodes, simplex iterations.
    fn progress(&self, bound: u64, nodes: u64, iterations: u64);
}

/// How the search ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TreeEnd {
    /// No node is open: the bound is within the gap of the best cost, or nothing fits.
    Closed,
    /// A limit or the flag stopped it.
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
    /// Nodes solved.
    pub nodes: u64,
    /// Simplex iterations.
    pub iterations: u64,
    /// Cuts added.
    pub cuts: usize,
}

/// Searches the tree, in safe bounds, over the whole space of schedules.
///
/// # Errors
/// [`RootError`] where the LP solver refuses a change: a defect.
pub fn search(
    graph: Graph,
    settings: &TreeSettings,
    exchange: &dyn Exchange,
) -> Result<TreeOutcome, RootError> {
    let relax = Relaxation::new(graph, settings.root.clone(), None)?;
    let tree = Tree {
        relax,
        settings,
        exchange,
        open: BTreeMap::new(),
        closed_bound: u64::MAX,
        bound: 0,
        created: 0,
        nodes: 0,
        history: History::default(),
    };
    tree.run()
}

#[derive(Clone, Debug)]
struct Node {
    bound: u64,
    branches: Vec<Branch>,
}

/// Bound first, then the younger node.
type Key = (u64, std::cmp::Reverse<u64>);

struct Tree<'a> {
    relax: Relaxation,
    settings: &'a TreeSettings,
    exchange: &'a dyn Exchange,
    open: BTreeMap<Key, Node>,
    /// Least bound of the nodes that were closed.
    closed_bound: u64,
    bound: u64,
    created: u64,
    nodes: u64,
    history: History,
}

/// Gains of branchings, by kind and direction: pseudo-costs.
#[derive(Default)]
struct History {
    /// By tensor and direction: sum of gains per unit of the value's distance, and number.
    gains: BTreeMap<(super::Quantity, bool), (f64, u32)>,
}

impl Tree<'_> {
    fn run(mut self) -> Result<TreeOutcome, RootError> {
        let (end, _) = solve_root(&mut self.relax)?;
        self.nodes = 1;
        let root_bound = self.relax.bound;
        self.bound = root_bound;
        self.report();
        let mut plunge = match end {
            RelaxEnd::Converged => self.split(Vec::new())?,
            RelaxEnd::Late | RelaxEnd::Trouble => {
                self.close(root_bound);
                None
            }
            RelaxEnd::Cutoff | RelaxEnd::Infeasible => {
                self.close(root_bound);
                None
            }
        };
        loop {
            self.update_bound(plunge.as_ref());
            self.report();
            if self.limit_reached() {
                break;
            }
            let Some(node) = plunge.take().or_else(|| self.next()) else {
                break;
            };
            plunge = self.solve(node)?;
        }
        self.update_bound(plunge.as_ref());
        self.report();
        let closed = self.bound >= self.target();
        Ok(TreeOutcome {
            end: if closed {
                TreeEnd::Closed
            } else {
                TreeEnd::Limit
            },
            bound: self.bound,
            root_bound,
            nodes: self.nodes,
            iterations: self.relax.master.stats().iterations(),
            cuts: self.relax.spent.cuts,
        })
    }

    fn report(&self) {
        let iterations = self.relax.master.stats().iterations();
        self.exchange.progress(self.bound, self.nodes, iterations);
    }

    fn limit_reached(&self) -> bool {
        let iterations = self.relax.master.stats().iterations();
        self.bound >= self.target()
            || self.nodes >= self.settings.nodes
            || iterations >= self.settings.iterations
            || self.relax.is_late()
    }

    /// The least bound that closes a node.
    fn target(&self) -> u64 {
        self.exchange.best().map_or(u64::MAX, |best| {
            best - (self.settings.gap * best as f64).floor() as u64
        })
    }

    /// The bound of the whole tree: the least of all open and closed nodes'.
    fn update_bound(&mut self, plunge: Option<&Node>) {
        let open = self.open.keys().next().map_or(u64::MAX, |k| k.0);
        let plunge = plunge.map_or(u64::MAX, |n| n.bound);
        let all = open.min(plunge).min(self.closed_bound);
        self.bound = self.bound.max(all);
    }

    fn close(&mut self, bound: u64) {
        self.closed_bound = self.closed_bound.min(bound);
    }

    fn push(&mut self, node: Node) {
        self.created += 1;
        self.open
            .insert((node.bound, std::cmp::Reverse(self.created)), node);
    }

    fn next(&mut self) -> Option<Node> {
        let target = self.target();
        loop {
            let (_, node) = self.open.pop_first()?;
            if node.bound < target {
                return Some(node);
            }
            self.close(node.bound);
        }
    }

    /// Solves a node; the child to go on with, if there is one.
    fn solve(&mut self, node: Node) -> Result<Option<Node>, RootError> {
        self.nodes += 1;
        let target = self.target();
        if node.bound >= target {
            self.close(node.bound);
            return Ok(None);
        }
        self.relax.cutoff = target;
        self.relax.enter(&node.branches, node.bound)?;
        let mut end = self.relax.converge(false)?;
        if end == RelaxEnd::Converged && self.settings.node_cut_rounds > 0 {
            end = self
                .relax
                .cut_rounds(self.settings.node_cut_rounds, 2e-5, 1, false)?;
        }
        match end {
            RelaxEnd::Converged => self.split(node.branches),
            RelaxEnd::Cutoff | RelaxEnd::Infeasible => {
                self.close(self.relax.bound);
                Ok(None)
            }
            RelaxEnd::Late | RelaxEnd::Trouble => {
                // Unsolved: its bound stands.
                self.close(self.relax.bound);
                Ok(None)
            }
        }
    }

    /// Branches at the relaxation's solution.
    fn split(&mut self, branches: Vec<Branch>) -> Result<Option<Node>, RootError> {
        let bound = self.relax.bound;
        let open = open_quantities(self.relax.graph(), &self.relax.point, 64);
        if open.is_empty() {
            self.exchange.offer(self.retained(0.5));
            self.close(bound.max(self.relax.value.round() as u64).min(bound));
            return Ok(None);
        }
        if self.nodes.is_power_of_two() || self.nodes.is_multiple_of(32) {
            self.exchange.offer(self.retained(0.5));
        }
        let (chosen, gains) = self.choose(&open)?;
        let children = chosen.branches().map(|branch| {
            let mut branches = branches.clone();
            // A tighter bound on the same quantity takes the place of the old one.
            branches.retain(|b| b.quantity != branch.quantity || b.at_least != branch.at_least);
            branches.push(branch);
            Node { bound, branches }
        });
        let [down, up] = children;
        // Plunge where the bound rises least.
        let (first, second) = if gains[0] <= gains[1] {
            (down, up)
        } else {
            (up, down)
        };
        self.push(second);
        let least = self.open.keys().next().map_or(u64::MAX, |k| k.0);
        let reach = least + (self.target().saturating_sub(least)) / 4;
        if self.target() == u64::MAX || first.bound <= reach {
            return Ok(Some(first));
        }
        self.push(first);
        Ok(None)
    }

    /// The branching whose trial, or history, promises most.
    fn choose(&mut self, open: &[Open]) -> Result<(Open, [f64; 2]), RootError> {
        let mut best: Option<(f64, Open, [f64; 2])> = None;
        let value = self.relax.value;
        for candidate in open.iter().take(self.settings.strong_candidates) {
            let distance = [
                candidate.value - candidate.value.floor(),
                candidate.value.ceil() - candidate.value,
            ];
            let mut gains = [0.0; 2];
            for (k, branch) in candidate.branches().into_iter().enumerate() {
                let key = (candidate.quantity, branch.at_least);
                let known = self.history.gains.get(&key).copied().unwrap_or((0.0, 0));
                gains[k] = if known.1 >= 4 {
                    known.0 / f64::from(known.1) * distance[k]
                } else {
                    let after = self
                        .relax
                        .master
                        .probe(branch, self.settings.strong_iterations)?;
                    let gain = (after - value).max(0.0);
                    let entry = self.history.gains.entry(key).or_insert((0.0, 0));
                    entry.0 += gain / distance[k].max(1e-3);
                    entry.1 += 1;
                    gain
                };
            }
            let least = 1e-6 * value.abs().max(1.0);
            let score = gains[0].max(least) * gains[1].max(least);
            if best.as_ref().is_none_or(|b| score > b.0) {
                best = Some((score, *candidate, gains));
            }
        }
        let (_, open, gains) = best.unwrap_or((0.0, open[0], [0.0; 2]));
        Ok((open, gains))
    }

    /// What the relaxation's solution retains by more than a threshold.
    fn retained(&self, threshold: f64) -> BitMatrix {
        let graph = self.relax.graph();
        let n = graph.len();
        let point = self.relax.point.fractional(graph);
        let mut retained = BitMatrix::new(n, n);
        for i in 0..n {
            for (t, s) in point.retained_of(i)[..n].iter().enumerate() {
                if *s > threshold {
                    retained.set(t, i, true);
                }
            }
        }
        retained
    }

    /// Brings the intervals of a schedule into the program.
    #[allow(dead_code)]
    fn teach(&mut self, schedule: &CheckmateSchedule) -> Result<(), RootError> {
        let intervals = Interval::of_schedule(self.relax.graph(), schedule);
        self.relax.master.add_columns(intervals)?;
        Ok(())
    }
}
