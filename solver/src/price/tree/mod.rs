//! Branch, price and cut.
//!
//! A node of the tree is a list of branchings ([`Branch`](super::Branch)). One restricted program
//! serves all nodes: moving to another node replaces its branching rows. Columns, rows and cuts
//! stay, because they hold everywhere. A few such programs work in parallel, in rounds. Nodes are
//! taken by least bound, with short plunges to the better child. Every bound is a Lagrangian bound
//! in integers.

mod dive;
mod node;
mod probe;
pub(super) mod proof;
mod pseudocost;
mod share;
pub(super) mod warm;

pub use node::Visited;
pub use proof::{ProvenNode, TreeProof};
pub use share::is_far;

use super::relaxation::{Proof, RelaxEnd, Relaxation};
use super::{Incumbents, PrimalHeuristic, Program, Root, Work};
use node::{Node, SolvedNode, solve_node};
use probe::{Effort, FIRST_TRIALS_WORK, Length};
use proof::Recorder;
use pseudocost::PseudoCosts;
use rayon::prelude::*;
use remat_lp::ModelError;
use share::Share;
use std::collections::BTreeMap;
use std::sync::Arc;
use warm::RowPool;

/// Settings of the tree search.
#[derive(Clone, Debug)]
pub struct TreeSettings {
    /// A node whose bound is within this share of the best cost is closed.
    pub gap: f64,
    /// True if the search goes on from there towards a gap of 0, until a limit or the flag ends it.
    /// Nodes within the gap are then set aside, not closed. Incompatible with `prove`.
    pub beyond: bool,
    /// Limit on nodes.
    pub nodes: u64,
    /// Limit on simplex iterations, including those at the root.
    pub iterations: u64,
    /// Rounds of cuts at a node below the root.
    pub node_cut_rounds: usize,
    /// Nodes solved in parallel. The answer depends on this number, not on the number of threads.
    pub lanes: usize,
    /// Limit on the branchings tried before one is chosen.
    pub strong_candidates: usize,
    /// Branchings tried in parallel. The answer depends on this number, not on the number of
    /// threads.
    pub strong_batch: usize,
    /// Consecutive trials without improvement that end the choice, unless the best branching gains
    /// little on one side.
    pub strong_patience: usize,
    /// Work on trials for each unit of work on relaxations. Above it, candidates with reliable
    /// pseudo-costs are not tried.
    pub strong_share: u64,
    /// Simplex iterations of the first trials, while most of them end within these.
    pub strong_first_iterations: u64,
    /// Simplex iterations of later trials; doubled while most trials do not end within them.
    pub strong_iterations: u64,
    /// Nodes between two dives to a solution; the first dive starts at the first node below the
    /// root. 0 disables dives.
    pub dive_every: u64,
    /// True if a proof is collected.
    pub prove: bool,
    /// True if the search ends once the bound can rise no more: a closed node, whose point leaves
    /// no quantity open but is no solution, has the least bound. For relaxations of problems.
    pub ends_stuck: bool,
}

impl Default for TreeSettings {
    fn default() -> Self {
        TreeSettings {
            gap: 1e-4,
            beyond: false,
            nodes: u64::MAX,
            iterations: u64::MAX,
            node_cut_rounds: 20,
            lanes: 4,
            strong_candidates: 64,
            strong_batch: 4,
            strong_patience: 8,
            strong_share: 2,
            strong_first_iterations: 500,
            strong_iterations: 100,
            dive_every: 0,
            prove: false,
            ends_stuck: false,
        }
    }
}

/// Status at the end of the search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TreeEnd {
    /// No node is open: the bound is within the gap of the best cost.
    Closed,
    /// No solution fits: the program is proven infeasible.
    Infeasible,
    /// A node whose point leaves no quantity open, but is no solution, has the least bound
    /// ([`TreeSettings::ends_stuck`]).
    Stuck,
    /// A limit, the flag or the LP solver stopped the search.
    Limit,
}

/// The outcome of a search.
#[derive(Clone, Debug)]
pub struct TreeOutcome<P: Program> {
    /// Status at the end.
    pub end: TreeEnd,
    /// Safe lower bound on the cost of every solution that fits. If no solution fits, it is above
    /// the program's `cost_upper_bound`.
    pub bound: u64,
    /// Bound at the root.
    pub root_bound: u64,
    /// Nodes solved.
    pub nodes: u64,
    /// Simplex iterations.
    pub iterations: u64,
    /// Work of the tree, without the work of the root.
    pub work: Work,
    /// Ticks of the critical path: the sum over rounds of their longest lanes, and over batches of
    /// their longest trials. It is the time of the tree if every lane and every trial of a batch
    /// has a thread.
    pub span: u64,
    /// Cuts added.
    pub cuts: usize,
    /// Proof of the bound, if requested. It leaves out bounds from other sources
    /// ([`Root::learn_bound`]).
    pub proof: Option<TreeProof<P>>,
}

/// Searches the tree over the whole space of solutions, with safe bounds. Nodes are solved in
/// rounds of [`TreeSettings::lanes`], in the current rayon pool; the answer does not depend on its
/// size. Between rounds `heuristic` looks for solutions. The limits of the root's settings end the
/// search too.
///
/// # Errors
/// [`ModelError`] where the LP solver refuses a change: a defect.
pub fn search<P: Program>(
    root: Root<P>,
    settings: &TreeSettings,
    incumbents: &Incumbents<P>,
    heuristic: &dyn PrimalHeuristic<P>,
) -> Result<TreeOutcome<P>, ModelError> {
    Tree::new(root, settings, incumbents, heuristic).run()
}

/// Divisor of the distance between least bound and target: a lane plunges into the better child
/// within that reach.
const PLUNGE_REACH: u64 = 4;
/// Bound first, then the younger node.
type QueueKey = (u64, std::cmp::Reverse<u64>);

struct Tree<'a, P: Program> {
    lanes: Vec<Relaxation<P>>,
    settings: &'a TreeSettings,
    incumbents: &'a Incumbents<P>,
    heuristic: &'a dyn PrimalHeuristic<P>,
    /// The gap at which nodes are closed: at first the settings' gap, then 0 if the search goes
    /// beyond it.
    gap: f64,
    open: BTreeMap<QueueKey, Node<P>>,
    /// The node that each lane continues with.
    plunges: Vec<Option<Node<P>>>,
    /// Least bound of the nodes that were closed.
    closed_bound: u64,
    bound: u64,
    root_bound: u64,
    created: u64,
    nodes: u64,
    /// The node count at which the next dive is due.
    next_dive: u64,
    /// Time owed to the primal heuristic for relaxations and trials.
    share: Share,
    pseudocosts: PseudoCosts,
    /// Proof of the root's bound.
    proof: Proof<P>,
    /// Recorder of the proofs of all nodes' bounds.
    recorder: Option<Recorder<P>>,
    /// Exclusions that hold for all solutions below the cost to beat, and that cost.
    exclusions: (Arc<P::Exclusions>, u64),
    /// Work of the root, which every lane inherits.
    root_work: Work,
    /// Work of trials.
    trial_work: Work,
    /// Ticks of the longest lane of each round.
    span: u64,
    trial_length: Length,
    /// Rows of the open nodes' warm starts.
    pool: RowPool<P>,
}

impl<'a, P: Program> Tree<'a, P> {
    fn new(
        root: Root<P>,
        settings: &'a TreeSettings,
        incumbents: &'a Incumbents<P>,
        heuristic: &'a dyn PrimalHeuristic<P>,
    ) -> Self {
        let Root { mut relax, end, .. } = root;
        let lanes = settings.lanes.max(1);
        let proof = std::mem::take(&mut relax.proof);
        let exclusions = relax.master.exclusions().clone();
        let bound = relax.bound;
        let mut tree = Tree {
            root_work: relax.master.work(),
            trial_work: Work::default(),
            span: 0,
            trial_length: Length::default(),
            lanes: (0..lanes).map(|_| relax.clone()).collect(),
            settings,
            incumbents,
            heuristic,
            gap: settings.gap,
            open: BTreeMap::new(),
            plunges: (0..lanes).map(|_| None).collect(),
            closed_bound: u64::MAX,
            bound,
            root_bound: bound,
            created: 0,
            nodes: 0,
            next_dive: 1,
            share: Share::default(),
            pseudocosts: PseudoCosts::default(),
            proof,
            exclusions: (exclusions.clone(), u64::MAX),
            recorder: None,
            pool: RowPool::default(),
        };
        if settings.prove {
            tree.recorder = Some(Recorder::new(&tree.proof));
        }
        if end == RelaxEnd::Converged {
            // A second proof of the root, with the exclusions found by then.
            let recorder = tree.recorder.as_mut();
            tree.plunges[0] = Some(Node {
                number: recorder.map_or(0, |r| r.add(Some((0, None)))),
                bound,
                branches: Vec::new(),
                exclusions,
                made_at: None,
                warm: None,
            });
        } else {
            tree.close(bound);
        }
        tree
    }

    fn run(mut self) -> Result<TreeOutcome<P>, ModelError> {
        if self.is_far() {
            // During the root, the primal heuristic had the rest of the machine.
            let best = self.incumbents.best();
            self.share.owe(self.root_work.ticks, best, self.bound);
            self.run_heuristic(Vec::new());
        }
        loop {
            self.update_bound();
            let work = self.work();
            self.incumbents
                .note_tree(self.bound, self.nodes, work.iterations);
            self.go_beyond();
            if self.limit_reached() {
                break;
            }
            let round = self.next_round();
            if round.iter().all(Option::is_none) {
                break;
            }
            let best = self.incumbents.best();
            let visited = self.solve_round(round)?;
            let ticks = self.work().ticks - work.ticks;
            self.share.owe(ticks, best, self.bound);
            self.run_heuristic(visited);
        }
        Ok(TreeOutcome {
            end: if self.bound > self.lanes[0].program().cost_upper_bound() {
                TreeEnd::Infeasible
            } else if self.is_stuck() && self.bound < self.target() {
                TreeEnd::Stuck
            } else if self.bound >= self.target_within(self.settings.gap) {
                TreeEnd::Closed
            } else {
                TreeEnd::Limit
            },
            bound: self.bound,
            root_bound: self.root_bound,
            nodes: self.nodes,
            iterations: self.work().iterations,
            work: self.work() - self.root_work,
            span: self.span,
            cuts: self.lanes.iter().map(|l| l.spent.cuts).sum(),
            proof: self.recorder.map(Recorder::finish),
        })
    }

    /// Runs the heuristic from relaxations. Where the gap is wide, it continues as long as it is
    /// due. Elsewhere relaxations guide it better than good solutions do, and the tree alone
    /// supplies more of them.
    fn run_heuristic(&mut self, mut visited: Vec<Visited<P>>) {
        let goes_on = |tree: &Self| tree.is_far() && tree.share.is_due() && !tree.limit_reached();
        // The results of a round are examined even at the end of the search: they may be solutions.
        while !visited.is_empty() || goes_on(self) {
            let best = self.incumbents.best();
            let taken = std::mem::take(&mut visited);
            let moves = self.heuristic.run(taken, self.incumbents);
            let found = self.incumbents.best();
            self.share.pay(moves, found.is_some() && found != best);
            if moves == 0 {
                break;
            }
        }
    }

    fn is_far(&self) -> bool {
        let best = self.incumbents.best();
        best.is_none_or(|best| is_far(best, self.bound))
    }

    fn work(&self) -> Work {
        let own = |l: &Relaxation<P>| l.master.work() - self.root_work;
        let known = self.root_work + self.trial_work;
        self.lanes.iter().map(own).fold(known, |all, own| all + own)
    }

    /// Continues with the nodes set aside towards a gap of 0, if the settings say so.
    fn go_beyond(&mut self) {
        if self.settings.beyond && self.bound >= self.target() {
            self.gap = 0.0;
        }
    }

    fn limit_reached(&self) -> bool {
        self.bound >= self.target()
            || self.is_stuck()
            || self.nodes >= self.settings.nodes
            || self.work().iterations >= self.settings.iterations
            || self.lanes[0].is_late()
    }

    /// Returns whether the bound can rise no more, and the settings end the search then.
    fn is_stuck(&self) -> bool {
        self.settings.ends_stuck && self.bound >= self.closed_bound
    }

    /// The least bound that closes a node.
    fn target(&self) -> u64 {
        self.target_within(self.gap)
    }

    /// The cost below which no choice may be excluded.
    fn cutoff(&self) -> u64 {
        match self.settings.beyond {
            true => self.target_within(0.0),
            false => self.target(),
        }
    }

    fn target_within(&self, gap: f64) -> u64 {
        let best = self.incumbents.best();
        best.map_or(u64::MAX, |best| best - (gap * best as f64).floor() as u64)
    }

    /// The bound of the whole tree: the least bound of all open and closed nodes.
    fn update_bound(&mut self) {
        let open = self.open.keys().next().map_or(u64::MAX, |k| k.0);
        let plunges = self.plunges.iter().flatten().map(|n| n.bound).min();
        let all = open.min(plunges.unwrap_or(u64::MAX)).min(self.closed_bound);
        self.bound = self.bound.max(all);
    }

    fn close(&mut self, bound: u64) {
        self.closed_bound = self.closed_bound.min(bound);
    }

    fn push(&mut self, node: Node<P>) {
        self.created += 1;
        self.open
            .insert((node.bound, std::cmp::Reverse(self.created)), node);
    }

    /// A node for every lane: the one that it plunges into, or the best open one.
    fn next_round(&mut self) -> Vec<Option<Node<P>>> {
        let target = self.target();
        let none = self.plunges.iter().map(|_| None).collect();
        let mut round = std::mem::replace(&mut self.plunges, none);
        for slot in &mut round {
            if let Some(node) = slot.take_if(|n| n.bound >= target) {
                self.push(node);
            }
            // Nodes at or above the target stay in the queue.
            if slot.is_none()
                && let Some(first) = self.open.first_entry().filter(|e| e.key().0 < target)
            {
                *slot = Some(first.remove());
            }
        }
        round
    }

    /// Returns whether this round includes a dive.
    fn dive_is_due(&mut self) -> bool {
        let every = self.settings.dive_every;
        let due = every > 0 && self.nodes >= self.next_dive;
        if due {
            self.next_dive = self.nodes + every;
        }
        due
    }

    /// Excludes choices of no solution below the cost to beat, whenever that cost has fallen.
    fn exclude(&mut self, cutoff: u64) {
        let (exclusions, last) = &mut self.exclusions;
        if cutoff >= *last {
            return;
        }
        *last = cutoff;
        let Proof { rows, duals, .. } = &self.proof;
        let program = self.lanes[0].program();
        program.exclude(Arc::make_mut(exclusions), rows, duals, cutoff);
    }

    /// Solves a node in each lane, in parallel; returns the relaxations worth rounding.
    fn solve_round(&mut self, round: Vec<Option<Node<P>>>) -> Result<Vec<Visited<P>>, ModelError> {
        let (target, cutoff) = (self.target(), self.cutoff());
        self.exclude(cutoff);
        let dives = self.dive_is_due();
        let trials = self.trial_work.ticks;
        let relaxing = self.work().ticks - self.root_work.ticks - trials;
        let round_of = Effort {
            target,
            cutoff,
            settings: self.settings,
            pseudocosts: &self.pseudocosts,
            thrifty: trials > self.settings.strong_share * relaxing + self.root_work.ticks,
            length: self.trial_length,
            dives,
        };
        let exclusions = &self.exclusions.0;
        let ticks = |l: &Relaxation<P>| l.master.work().ticks;
        let before: Vec<u64> = self.lanes.iter().map(ticks).collect();
        let solved: Vec<Option<Result<SolvedNode<P>, ModelError>>> = self
            .lanes
            .par_iter_mut()
            .zip(round)
            .enumerate()
            .map(|(lane, (relax, node))| {
                let effort = Effort {
                    dives: round_of.dives && lane == 0,
                    ..round_of
                };
                node.map(|n| solve_node(relax, n, exclusions, &effort))
            })
            .collect();
        let mut visited = Vec::new();
        let (mut solves, mut limited) = (0, 0);
        let time = self.share.is_due();
        let mut longest = 0;
        for (lane, solved) in solved.into_iter().enumerate() {
            let Some(mut solved) = solved.transpose()? else {
                continue;
            };
            self.nodes += 1;
            self.trial_work = self.trial_work + solved.trials.work;
            let alone = ticks(&self.lanes[lane]) - before[lane];
            longest = longest.max(alone + solved.trials.span);
            solves += 2 * solved.trials.made.len() as u64;
            limited += solved.trials.limited;
            for (open, gains) in &solved.trials.made {
                self.pseudocosts.note_trial::<P>(open, *gains);
            }
            if let Some((open, up, gain)) = solved.gained {
                self.pseudocosts.note::<P>(&open, up, gain);
            }
            // Solutions always, other points as long as the heuristic has time for them.
            visited.extend(solved.visited.filter(|v| v.integral || time));
            visited.extend(solved.dived);
            if let Some(recorder) = &mut self.recorder {
                recorder.prove(solved.number, &self.lanes[lane].proof);
                for child in solved.children.iter_mut().flatten() {
                    let branch = child.branches.last().cloned();
                    child.number = recorder.add(Some((solved.number, branch)));
                }
            }
            let warm = solved.warm.map(|warm| Arc::new(self.pool.share(warm)));
            if let Some(node) = solved.aside {
                self.push(Node { warm, ..node });
                continue;
            }
            let Some(mut children) = solved.children else {
                self.close(solved.bound);
                continue;
            };
            for child in &mut children {
                child.warm = warm.clone();
            }
            let [first, second] = children;
            self.push(second);
            let least = self.open.keys().next().map_or(u64::MAX, |k| k.0);
            let reach = least.saturating_add(target.saturating_sub(least) / PLUNGE_REACH);
            if first.bound <= reach {
                self.plunges[lane] = Some(first);
            } else {
                self.push(first);
            }
        }
        self.span += longest;
        let over = self.trial_work.ticks > FIRST_TRIALS_WORK * self.root_work.ticks;
        self.trial_length.note(solves, limited, over);
        self.pool.forget();
        Ok(visited)
    }
}
