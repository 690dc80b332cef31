//! Branch, price and cut over the interval form.
//!
//! A node of the tree is a list of branchings ([`Branch`]). One restricted program serves all nodes: going to another node
//! exchanges its branching rows, while columns, rows and cuts, which hold everywhere, stay. A few such programs work side by
//! side, in rounds. Nodes are taken by least bound, with short plunges to the better child. Every bound is a Lagrangian
//! bound in integers.

use super::branch::{Open, open_quantities};
use super::relax::{CutEffort, RelaxEnd, Relaxation};
use super::root::Root;
use super::{Branch, Quantity, RootError};
use crate::schedule::BitMatrix;
use rayon::prelude::*;
use std::collections::BTreeMap;

/// How the tree is searched.
#[derive(Clone, Debug)]
pub struct TreeSettings {
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
    /// Trials in a row without a better one that end the choice.
    pub strong_patience: usize,
    /// Simplex iterations of a trial.
    pub strong_iterations: u64,
}

impl Default for TreeSettings {
    fn default() -> Self {
        TreeSettings {
            gap: 1e-4,
            nodes: u64::MAX,
            iterations: u64::MAX,
            node_cut_rounds: 4,
            strong_candidates: 40,
            strong_patience: 8,
            strong_iterations: 500,
        }
    }
}

/// What the tree shares with the search for schedules.
pub trait Exchange {
    /// Cost of the best schedule known.
    fn best(&self) -> Option<u64>;
    /// Makes schedules of retained sets that are rounded from relaxations; returns the work done, in moves of the
    /// annealing.
    fn polish(&self, starts: Vec<BitMatrix>) -> u64;
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

/// Searches the tree, in safe bounds, over the whole space of schedules. Nodes are solved in rounds of [`LANES`], in the
/// current rayon pool; the answer does not depend on its size.
///
/// # Errors
/// [`RootError`] where the LP solver refuses a change: a defect.
pub fn search(
    root: Root,
    settings: &TreeSettings,
    exchange: &dyn Exchange,
) -> Result<TreeOutcome, RootError> {
    Tree::new(root, settings, exchange).run()
}

#[derive(Clone, Debug)]
struct Node {
    bound: u64,
    branches: Vec<Branch>,
    /// What the last branching was made at, its direction, and the value of the relaxation there.
    made_at: Option<(Open, bool, f64)>,
}

/// Nodes solved side by side: fixed, so that the answer does not depend on the number of threads.
const LANES: usize = 4;
/// Moves of the annealing for each simplex iteration: a fifth to a third of the time.
const MOVES_PER_ITERATION: u64 = 50;

/// Bound first, then the younger node.
type Key = (u64, std::cmp::Reverse<u64>);

struct Tree<'a> {
    lanes: Vec<Relaxation>,
    settings: &'a TreeSettings,
    exchange: &'a dyn Exchange,
    open: BTreeMap<Key, Node>,
    /// The node that each lane goes on with.
    plunges: Vec<Option<Node>>,
    /// Least bound of the nodes that were closed.
    closed_bound: u64,
    bound: u64,
    root_bound: u64,
    created: u64,
    nodes: u64,
    moves: u64,
    history: History,
    /// Iterations of the root, which every lane inherits.
    root_iterations: u64,
}

/// What became of a node.
struct Solved {
    /// Bound of the node.
    bound: u64,
    /// Its children, the one to plunge into first; none if it is closed.
    children: Option<[Node; 2]>,
    /// What its relaxation retains.
    retained: Option<BitMatrix>,
    /// The relaxation is a schedule.
    integral: bool,
    /// Trials of branchings.
    trials: Vec<(Open, [f64; 2])>,
    /// What the branching above gained in truth.
    gained: Option<(Open, bool, f64)>,
}

/// Gains of branchings by tensor, kind and direction: pseudo-costs. What a trial gains in the restricted program is more
/// than what is left of it once new columns are in, so what was gained in truth counts as soon as it is known.
#[derive(Default)]
struct History {
    trials: BTreeMap<HistoryKey, Average>,
    gained: BTreeMap<HistoryKey, Average>,
}

/// Tensor, kind of quantity, direction.
type HistoryKey = (u32, u8, bool);

/// Gains per unit of distance.
#[derive(Clone, Copy, Default)]
struct Average {
    sum: f64,
    number: u32,
}

impl Average {
    fn add(&mut self, gain: f64, distance: f64) {
        self.sum += gain / distance.max(0.05);
        self.number += 1;
    }
}

/// Gains after which history is believed without a trial.
const RELIABLE: u32 = 4;

impl History {
    fn key(open: &Open, up: bool) -> HistoryKey {
        let kind = match open.quantity {
            Quantity::Starts { .. } => 0,
            Quantity::Held { .. } => 1,
        };
        (open.quantity.node(), kind, up)
    }

    fn expect(&self, open: &Open) -> [f64; 2] {
        [false, true].map(|up| {
            let key = Self::key(open, up);
            let known = self.gained.get(&key).or_else(|| self.trials.get(&key));
            match known {
                Some(average) => average.sum / f64::from(average.number) * open.distance(up),
                None => open.score,
            }
        })
    }

    /// What such branchings have gained in truth, where that is known.
    fn expect_gained(&self, open: &Open) -> [Option<f64>; 2] {
        [false, true].map(|up| {
            let average = self.gained.get(&Self::key(open, up))?;
            Some(average.sum / f64::from(average.number) * open.distance(up))
        })
    }

    fn is_reliable(&self, open: &Open) -> bool {
        [false, true].iter().all(|up| {
            let known = self.gained.get(&Self::key(open, *up));
            known.is_some_and(|k| k.number >= RELIABLE)
        })
    }

    fn note_trial(&mut self, open: &Open, gains: [f64; 2]) {
        for (up, gain) in [false, true].into_iter().zip(gains) {
            let average = self.trials.entry(Self::key(open, up)).or_default();
            average.add(gain, open.distance(up));
        }
    }

    fn note(&mut self, open: &Open, up: bool, gain: f64) {
        let average = self.gained.entry(Self::key(open, up)).or_default();
        average.add(gain, open.distance(up));
    }
}

impl<'a> Tree<'a> {
    fn new(root: Root, settings: &'a TreeSettings, exchange: &'a dyn Exchange) -> Self {
        let Root { mut relax, end, .. } = root;
        relax.proof = None;
        let bound = relax.bound;
        let mut tree = Tree {
            root_iterations: relax.master.stats().iterations(),
            lanes: (0..LANES).map(|_| relax.clone()).collect(),
            settings,
            exchange,
            open: BTreeMap::new(),
            plunges: vec![None; LANES],
            closed_bound: u64::MAX,
            bound,
            root_bound: bound,
            created: 0,
            nodes: 0,
            moves: 0,
            history: History::default(),
        };
        if end == RelaxEnd::Converged {
            tree.plunges[0] = Some(Node {
                bound,
                branches: Vec::new(),
                made_at: None,
            });
        } else {
            tree.close(bound);
        }
        tree
    }

    fn run(mut self) -> Result<TreeOutcome, RootError> {
        loop {
            self.update_bound();
            let iterations = self.iterations();
            self.exchange.progress(self.bound, self.nodes, iterations);
            if self.limit_reached() {
                break;
            }
            let round = self.next_round();
            if round.iter().all(Option::is_none) {
                break;
            }
            let retained = self.solve_round(round)?;
            if !retained.is_empty() {
                self.moves += self.exchange.polish(retained);
            }
        }
        Ok(TreeOutcome {
            end: if self.bound > self.lanes[0].costliest {
                TreeEnd::Infeasible
            } else if self.bound >= self.target() {
                TreeEnd::Closed
            } else {
                TreeEnd::Limit
            },
            bound: self.bound,
            root_bound: self.root_bound,
            nodes: self.nodes,
            iterations: self.iterations(),
            cuts: self.lanes.iter().map(|l| l.spent.cuts).sum(),
        })
    }

    fn iterations(&self) -> u64 {
        let all = self.lanes.iter().map(|l| l.iterations()).sum::<u64>();
        all - (LANES as u64 - 1) * self.root_iterations
    }

    fn limit_reached(&self) -> bool {
        self.bound >= self.target()
            || self.nodes >= self.settings.nodes
            || self.iterations() >= self.settings.iterations
            || self.lanes[0].is_late()
    }

    /// The least bound that closes a node.
    fn target(&self) -> u64 {
        self.exchange.best().map_or(u64::MAX, |best| {
            best - (self.settings.gap * best as f64).floor() as u64
        })
    }

    /// The bound of the whole tree: the least of all open and closed nodes'.
    fn update_bound(&mut self) {
        let open = self.open.keys().next().map_or(u64::MAX, |k| k.0);
        let plunges = self.plunges.iter().flatten().map(|n| n.bound).min();
        let all = open.min(plunges.unwrap_or(u64::MAX)).min(self.closed_bound);
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

    /// A node for every lane: the one it plunges into, or the best that is open.
    fn next_round(&mut self) -> Vec<Option<Node>> {
        let target = self.target();
        let mut round = std::mem::replace(&mut self.plunges, vec![None; LANES]);
        for slot in &mut round {
            if let Some(node) = slot.take_if(|n| n.bound >= target) {
                self.close(node.bound);
            }
            while slot.is_none() {
                let Some((_, node)) = self.open.pop_first() else {
                    break;
                };
                if node.bound < target {
                    *slot = Some(node);
                } else {
                    self.close(node.bound);
                }
            }
        }
        round
    }

    /// Solves a node in each lane, side by side; returns what relaxations retain that are worth a look.
    fn solve_round(&mut self, round: Vec<Option<Node>>) -> Result<Vec<BitMatrix>, RootError> {
        let target = self.target();
        let (settings, history) = (self.settings, &self.history);
        let solved: Vec<Option<Result<Solved, RootError>>> = self
            .lanes
            .par_iter_mut()
            .zip(round)
            .map(|(relax, node)| node.map(|n| solve_node(relax, n, target, settings, history)))
            .collect();
        let mut retained = Vec::new();
        for (lane, solved) in solved.into_iter().enumerate() {
            let Some(solved) = solved.transpose()? else {
                continue;
            };
            self.nodes += 1;
            for (open, gains) in &solved.trials {
                self.history.note_trial(open, *gains);
            }
            if let Some((open, up, gain)) = solved.gained {
                self.history.note(&open, up, gain);
            }
            // Schedules always, others as far as time is left for them.
            if solved.integral || self.moves < MOVES_PER_ITERATION * self.iterations() {
                retained.extend(solved.retained);
            }
            let Some([first, second]) = solved.children else {
                self.close(solved.bound);
                continue;
            };
            self.push(second);
            let least = self.open.keys().next().map_or(u64::MAX, |k| k.0);
            let reach = least.saturating_add(target.saturating_sub(least) / 4);
            if first.bound <= reach {
                self.plunges[lane] = Some(first);
            } else {
                self.push(first);
            }
        }
        Ok(retained)
    }
}

fn solve_node(
    relax: &mut Relaxation,
    node: Node,
    target: u64,
    settings: &TreeSettings,
    history: &History,
) -> Result<Solved, RootError> {
    relax.cutoff = target;
    relax.enter(&node.branches, node.bound)?;
    let mut end = relax.converge(false, &|_| ())?;
    if end == RelaxEnd::Converged && settings.node_cut_rounds > 0 {
        let effort = CutEffort {
            rounds: settings.node_cut_rounds,
            least_progress: 2e-5,
            idle_rounds: 1,
            eager: false,
        };
        end = relax.cut_rounds(effort, &|_| ())?;
    }
    let mut solved = Solved {
        bound: relax.bound,
        children: None,
        retained: None,
        integral: false,
        trials: Vec::new(),
        gained: None,
    };
    if let Some((open, up, before)) = node.made_at {
        let gain = (relax.value.min(target as f64) - before).max(0.0);
        solved.gained = Some((open, up, gain));
    }
    // Where the relaxation was not solved to its end, its bound stands.
    if end != RelaxEnd::Converged {
        return Ok(solved);
    }
    solved.retained = Some(relax.point.rounded(relax.graph(), 0.5));
    let open = open_quantities(relax.graph(), &relax.point, 64);
    if open.is_empty() {
        solved.integral = true;
        return Ok(solved);
    }
    let (chosen, gains) = choose(relax, &open, target, settings, history, &mut solved.trials)?;
    let children = chosen.branches().map(|branch| {
        let mut branches = node.branches.clone();
        // A tighter bound on the same quantity takes the place of the old one.
        branches.retain(|b| b.quantity != branch.quantity || b.at_least != branch.at_least);
        branches.push(branch);
        Node {
            bound: relax.bound,
            branches,
            made_at: Some((chosen, branch.at_least, relax.value)),
        }
    });
    let [down, up] = children;
    // Plunge where the bound rises least.
    solved.children = Some(if gains[0] <= gains[1] {
        [down, up]
    } else {
        [up, down]
    });
    Ok(solved)
}

/// The branching whose trial, or history, promises most: candidates in the order of what history expects of them, until
/// some in a row did not do better than the best.
fn choose(
    relax: &Relaxation,
    open: &[Open],
    target: u64,
    settings: &TreeSettings,
    history: &History,
    trials: &mut Vec<(Open, [f64; 2])>,
) -> Result<(Open, [f64; 2]), RootError> {
    let value = relax.value;
    // What goes beyond the target closes the child, however far.
    let enough = match target {
        u64::MAX => 0.1 * value.max(1.0),
        _ => (target as f64 - value).max(1.0) * 1.1,
    };
    let least = 1e-3 * enough;
    let score = |gains: [f64; 2]| {
        let [a, b] = gains.map(|g| g.clamp(least, enough));
        a * b
    };
    let mut order: Vec<(f64, &Open)> = open.iter().map(|o| (score(history.expect(o)), o)).collect();
    order.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut best: Option<(f64, Open, [f64; 2])> = None;
    let mut idle = 0;
    for (_, candidate) in order.into_iter().take(settings.strong_candidates) {
        let gains = if history.is_reliable(candidate) {
            history.expect(candidate)
        } else {
            let mut gains = [0.0; 2];
            for (gain, branch) in gains.iter_mut().zip(candidate.branches()) {
                let after = relax.master.probe(branch, settings.strong_iterations)?;
                *gain = (after - value).clamp(0.0, enough);
            }
            trials.push((*candidate, gains));
            // A trial cannot tell more than what such branchings have gained.
            let truth = history.expect_gained(candidate);
            std::array::from_fn(|k| truth[k].map_or(gains[k], |t| gains[k].min(2.0 * t)))
        };
        idle += 1;
        let score = score(gains);
        if best.as_ref().is_none_or(|b| score > b.0) {
            best = Some((score, *candidate, gains));
            idle = 0;
        } else if idle >= settings.strong_patience {
            break;
        }
    }
    let (_, open, gains) = best.unwrap_or((0.0, open[0], [0.0; 2]));
    Ok((open, gains))
}
