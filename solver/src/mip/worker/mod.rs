//! A worker takes a node and plunges: it solves the node, splits it, continues with one child and
//! returns the others, until no child remains. Data of other workers is frozen during a round.

mod candidate;
mod extensions;
mod heuristics;
mod learn;
mod local_cuts;
mod node;
mod reliability;
mod shared;
mod symmetry;
mod tally;

pub(crate) use candidate::Attempt;
pub(crate) use node::{Child, reduced_cost_fixing};
pub(crate) use shared::{Incumbent, Live, RoundShared, WorkerReport};

use crate::mip::branching::pseudocost::PseudoCosts;
use crate::mip::control::{NodeChange, NodeEvent};
use crate::mip::domain::Domain;
use crate::mip::extend::Decision;
use crate::mip::extend::NodeView;
use crate::mip::relaxation::{ExtraRow, Relaxation};
use crate::mip::tree::{PathLink, TreeNode};
use local_cuts::{LocalCuts, Yield};
use node::Processed;
use remat_lp::{Bounds, ColId, ModelError, Solution};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Channel for results that cannot wait for the end of a plunge.
pub(crate) type Outlet = Box<dyn Fn(WorkerReport) + Send + Sync>;

pub(crate) struct Worker {
    pub relax: Relaxation,
    pub domain: Domain,
    pub pseudo: PseudoCosts,
    pub cutoff: f64,
    /// Bound at which nodes are left unexplored; at most the cutoff.
    pub limit: f64,
    pub best: Option<Incumbent>,
    pub report: WorkerReport,
    pub slot: u64,
    serial: u64,
    /// Iterations spent in strong branching, dives, and node relaxations.
    pub strong_iterations: u64,
    pub dive_iterations: u64,
    pub node_iterations: u64,
    pub node_solves: u64,
    pub dive_turn: u64,
    /// Ticks of walks by exchanges; the most if the program is no partition.
    pub exchange_ticks: u64,
    pub processed: u64,
    polished: u64,
    /// Relaxation of the root, if this worker has solved it.
    pub root_x: Vec<f64>,
    /// Bounds of the present node's subtree from reduced costs and strong branching: propagation
    /// would not find them again.
    pub extra_bounds: Vec<(ColId, Bounds)>,
    /// Rows of branchings in the relaxation: proofs that use them hold below these branchings only.
    local: Vec<u64>,
    local_cuts: LocalCuts,
    /// Set in an opportunistic search.
    pub outlet: Option<Outlet>,
}

/// Branchings on the path to a node that count as its work. A longer path counts separately; such
/// paths arise if a column without bounds is branched on unit by unit.
const WALK_STEPS: usize = 200;

/// Ticks of a branching on a longer path.
const STEP_TICKS: u64 = 8;

/// Counters of a worker over the whole search; budgets and schedules depend on them.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(crate) struct WorkerCounters {
    /// Makes the numbers of nodes and rows unique, together with the serial number.
    slot: u64,
    serial: u64,
    strong_iterations: u64,
    dive_iterations: u64,
    node_iterations: u64,
    node_solves: u64,
    dive_turn: u64,
    exchange_ticks: u64,
    processed: u64,
    polished: u64,
    cut_tries: u64,
    cuts: Yield,
    branching: Yield,
}

impl Worker {
    pub fn counters(&self) -> WorkerCounters {
        WorkerCounters {
            slot: self.slot,
            serial: self.serial,
            strong_iterations: self.strong_iterations,
            dive_iterations: self.dive_iterations,
            node_iterations: self.node_iterations,
            node_solves: self.node_solves,
            dive_turn: self.dive_turn,
            exchange_ticks: self.exchange_ticks,
            processed: self.processed,
            polished: self.polished,
            cut_tries: self.local_cuts.tries,
            cuts: self.local_cuts.cuts,
            branching: self.local_cuts.branching,
        }
    }

    pub fn set_counters(&mut self, c: WorkerCounters) {
        self.slot = c.slot;
        self.serial = c.serial;
        self.strong_iterations = c.strong_iterations;
        self.dive_iterations = c.dive_iterations;
        self.node_iterations = c.node_iterations;
        self.node_solves = c.node_solves;
        self.dive_turn = c.dive_turn;
        self.exchange_ticks = c.exchange_ticks;
        self.processed = c.processed;
        self.polished = c.polished;
        self.local_cuts.tries = c.cut_tries;
        self.local_cuts.cuts = c.cuts;
        self.local_cuts.branching = c.branching;
    }

    pub fn new(shared: &RoundShared, slot: u64) -> Result<Worker, ModelError> {
        let mut settings = shared.settings.clone();
        settings.limits.interrupt = Some(shared.stop.flag().clone());
        Ok(Worker {
            relax: Relaxation::new(shared.problem.clone(), &settings)?,
            domain: Domain::new(&shared.problem),
            pseudo: PseudoCosts::new(shared.problem.num_cols()),
            cutoff: f64::INFINITY,
            limit: f64::INFINITY,
            best: None,
            report: WorkerReport::new(),
            slot,
            serial: 0,
            strong_iterations: 0,
            dive_iterations: 0,
            node_iterations: 0,
            node_solves: 0,
            dive_turn: 0,
            exchange_ticks: 0,
            processed: 0,
            polished: 0,
            root_x: Vec::new(),
            extra_bounds: Vec::new(),
            local: Vec::new(),
            local_cuts: LocalCuts::default(),
            outlet: None,
        })
    }

    pub fn ticks(&self) -> u64 {
        self.relax.ticks() + self.domain.ticks
    }

    /// True if no further work may start.
    pub fn is_spent(&self, shared: &RoundShared) -> bool {
        let limit = shared.settings.hard_ticks();
        shared.stopped() || limit.is_some_and(|t| self.ticks() >= t)
    }

    /// A number that no other node or row of the search has.
    pub fn fresh_id(&mut self) -> u64 {
        self.serial += 1;
        (self.serial << 8) | (self.slot & 0xff)
    }

    /// Takes over the knowledge of the other workers.
    pub fn begin(&mut self, shared: &RoundShared) {
        self.cutoff = shared.cutoff;
        self.limit = shared.limit();
        self.best = shared.incumbent.clone();
        self.pseudo.copy_from(&shared.pseudo);
        self.report = WorkerReport::new();
    }

    /// Plunges from nodes one after another until `ticks` are used, for at most `max_nodes` nodes.
    /// The last plunge may take half as many ticks more. Unprocessed nodes are returned.
    pub fn run(
        &mut self,
        shared: &RoundShared,
        nodes: Vec<TreeNode>,
        max_nodes: u64,
        ticks: u64,
    ) -> Result<WorkerReport, ModelError> {
        self.begin(shared);
        let start = self.ticks();
        let mut left = max_nodes;
        for node in nodes {
            let none_yet = self.report.plunges == 0;
            let more = left > 0 && self.ticks() - start < ticks && !shared.paused();
            if !none_yet && (!more || node.bound >= self.cutoff) {
                self.report.open.push(node);
                continue;
            }
            let end = start.saturating_add(ticks).saturating_add(ticks / 2);
            left -= self.plunge(shared, node, left, end)?.min(left);
            self.report_used_clauses();
            self.report.plunges += 1;
        }
        Ok(std::mem::replace(&mut self.report, WorkerReport::new()))
    }

    /// Plunges from a node, for at most `max_nodes` nodes and until about `last_tick`. Returns the
    /// number of nodes.
    fn plunge(
        &mut self,
        shared: &RoundShared,
        mut node: TreeNode,
        max_nodes: u64,
        last_tick: u64,
    ) -> Result<u64, ModelError> {
        self.activate(shared, &node)?;
        let mut count = 0;
        loop {
            count += 1;
            let solutions = self.report.solutions.len();
            match self.process(shared, &node)? {
                Processed::Closed => {
                    if let Some(d) = &shared.debug {
                        d.check_closed(&node, self.limit);
                    }
                    let change = match self.report.solutions.len() > solutions {
                        true => NodeChange::Solved,
                        false => NodeChange::Closed,
                    };
                    self.tell(shared, node.id, change);
                    break;
                }
                Processed::Again(bound) => {
                    self.report.nodes -= 1;
                    count -= 1;
                    node.bound = bound;
                    node.branched = None;
                }
                Processed::Stopped => {
                    self.report.open.push(node);
                    break;
                }
                Processed::Split(children) => {
                    let basis = Some(Arc::new(self.relax.snapshot()));
                    let mut nodes: Vec<TreeNode> = Vec::with_capacity(children.len());
                    for mut c in children {
                        c.decision
                            .bounds
                            .splice(0..0, self.extra_bounds.iter().copied());
                        let cuts = self.local_cuts.rows.clone();
                        let split = c.decision.rows.iter().map(|(entries, b)| {
                            Arc::new(ExtraRow {
                                tag: self.fresh_id(),
                                entries: entries.iter().map(|(j, v)| (j.0, *v)).collect(),
                                lower: b.lower,
                                upper: b.upper,
                            })
                        });
                        let rows = cuts.into_iter().chain(split).collect();
                        nodes.push(TreeNode {
                            id: self.fresh_id(),
                            depth: node.depth + 1,
                            bound: c.bound,
                            estimate: c.estimate,
                            path: Some(Arc::new(PathLink {
                                parent: node.path.clone(),
                                decision: c.decision,
                                rows,
                            })),
                            basis: basis.clone(),
                            branched: c.branched,
                        });
                    }
                    nodes.retain(|n| n.bound < self.cutoff);
                    self.tell(shared, node.id, NodeChange::Split);
                    for child in &nodes {
                        let change = NodeChange::Created {
                            parent: Some(node.id),
                            depth: child.depth,
                            bound: child.bound,
                        };
                        self.tell(shared, child.id, change);
                    }
                    if nodes.is_empty() {
                        break;
                    }
                    let next = nodes.remove(0);
                    self.report.open.append(&mut nodes);
                    let far = self.cutoff.is_finite()
                        && next.bound
                            > shared.lower_bound + 0.7 * (self.cutoff - shared.lower_bound);
                    let late = self.ticks() >= last_tick;
                    if count >= max_nodes || far || late || shared.paused() {
                        self.report.open.push(next);
                        break;
                    }
                    self.send_early(shared);
                    node = next;
                    self.descend(shared, &node)?;
                }
            }
        }
        Ok(count)
    }

    /// Notes a change of a node for observers.
    fn tell(&mut self, shared: &RoundShared, id: u64, change: NodeChange) {
        if shared.watches_nodes {
            self.report.events.push(NodeEvent { id, change });
        }
    }

    /// In an opportunistic search: sends solutions at once, and open nodes if another worker waits
    /// for them.
    fn send_early(&mut self, shared: &RoundShared) {
        let (Some(outlet), Some(live)) = (&self.outlet, &shared.live) else {
            return;
        };
        let asked = live.hungry.load(Ordering::Relaxed) > 0 && !self.report.open.is_empty();
        if asked || !self.report.solutions.is_empty() {
            outlet(std::mem::replace(&mut self.report, WorkerReport::new()));
        }
    }

    /// Moves to a node from any other one.
    fn activate(&mut self, shared: &RoundShared, node: &TreeNode) -> Result<(), ModelError> {
        self.extra_bounds.clear();
        self.local.clear();
        self.local_cuts.rows.clear();
        self.domain
            .reset(&shared.problem, &shared.lower, &shared.upper);
        let learning = shared.settings.clauses && shared.settings.propagation;
        if learning {
            let clauses = shared.clauses.iter().map(|c| c.clause.clone());
            self.domain.set_clauses(&shared.problem, clauses);
        }
        let mut rows = shared.rows.clone();
        let steps = node.steps();
        let uncounted = steps.len().min(WALK_STEPS);
        self.domain.ticks += STEP_TICKS * (steps.len() - uncounted) as u64;
        for step in steps {
            if !self.domain.infeasible {
                self.impose(shared, &step.decision);
            }
            // Branchings are applied one after another, so that the reasons of a bound include only
            // earlier branchings.
            if learning && !self.domain.infeasible {
                self.domain.propagate(&shared.problem);
            }
            rows.extend(step.rows.iter().cloned());
            self.local.extend(step.rows.iter().map(|r| r.tag));
        }
        self.relax.sync_rows(&rows)?;
        if let Some(b) = &node.basis {
            self.relax.restore(b)?;
        }
        Ok(())
    }

    /// Moves from a node to a child of it.
    fn descend(&mut self, shared: &RoundShared, child: &TreeNode) -> Result<(), ModelError> {
        self.extra_bounds.clear();
        if let Some(link) = child.path.clone() {
            self.impose(shared, &link.decision);
            // The parent's cuts are already in the relaxation.
            let cuts = std::mem::take(&mut self.local_cuts.rows);
            let new: Vec<Arc<ExtraRow>> = (link.rows.iter())
                .filter(|r| !cuts.iter().any(|c| c.tag == r.tag))
                .cloned()
                .collect();
            self.relax.add_rows(&new)?;
            self.local.extend(new.iter().map(|r| r.tag));
        }
        Ok(())
    }

    fn impose(&mut self, shared: &RoundShared, decision: &Decision) {
        self.domain.begin_level();
        for (c, b) in &decision.bounds {
            let (p, j) = (&shared.problem, c.index());
            if b.lower > b.upper {
                self.domain.close();
                return;
            }
            self.domain.tighten_lower(p, j, b.lower);
            if !self.domain.infeasible {
                self.domain.tighten_upper(p, j, b.upper);
            }
            if self.domain.infeasible {
                return;
            }
        }
    }

    /// Passes bounds to the linear program: bounds of integer columns from the domain, and bounds
    /// of continuous columns from the problem.
    pub fn sync_bounds(&mut self, shared: &RoundShared) -> Result<(), ModelError> {
        let p = &shared.problem;
        for j in 0..p.num_cols() {
            let (l, u) = if p.integer[j] {
                (self.domain.lower[j], self.domain.upper[j])
            } else {
                (p.lower[j], p.upper[j])
            };
            let m = self.relax.model();
            if m.col_lower()[j] != l || m.col_upper()[j] != u {
                self.relax.set_col(j, l, u)?;
            }
        }
        self.domain.ticks += p.num_cols() as u64 / 4;
        Ok(())
    }

    pub fn propagate(&mut self, shared: &RoundShared) -> bool {
        if self.domain.infeasible {
            return false;
        }
        self.domain.set_cutoff(self.cutoff);
        if shared.settings.propagation && !self.domain.propagate(&shared.problem) {
            return false;
        }
        if !self.propagate_conflicts(shared) {
            return false;
        }
        for p in &shared.extensions.propagators {
            for (c, b) in p.propagate(&self.domain.lower, &self.domain.upper) {
                let j = c.index();
                if b.lower > b.upper {
                    self.domain.close();
                    return false;
                }
                self.domain.tighten_lower(&shared.problem, j, b.lower);
                if self.domain.infeasible {
                    return false;
                }
                self.domain.tighten_upper(&shared.problem, j, b.upper);
                if self.domain.infeasible {
                    return false;
                }
            }
        }
        true
    }

    /// Integer columns with a fractional value.
    pub fn fractional(&self, shared: &RoundShared, x: &[f64]) -> Vec<usize> {
        let tol = shared.settings.integrality_tolerance;
        (0..x.len())
            .filter(|&j| {
                // A value outside its bounds is at the bound: branching there has no effect.
                shared.problem.integer[j]
                    && (x[j] - x[j].round()).abs() > tol
                    && x[j] > self.domain.lower[j]
                    && x[j] < self.domain.upper[j]
            })
            .collect()
    }

    /// Runs an extension on its view of a node, in which costs have the model's units.
    fn with_view<T>(
        &self,
        shared: &RoundShared,
        s: &Solution,
        bound: f64,
        depth: u32,
        run: impl FnOnce(&NodeView<'_>) -> T,
    ) -> T {
        let p = &shared.problem;
        let reduced_costs: Cow<'_, [f64]> = match p.scale() == 1.0 {
            true => Cow::Borrowed(&s.reduced_costs),
            false => s
                .reduced_costs
                .iter()
                .map(|d| p.in_model_units(*d))
                .collect(),
        };
        run(&NodeView {
            x: &s.x,
            reduced_costs: &reduced_costs,
            lower: &self.domain.lower,
            upper: &self.domain.upper,
            integer: &shared.problem.integer,
            bound: p.in_model_units(bound),
            cutoff: p.in_model_units(self.cutoff),
            depth,
            incumbent: self.best.as_ref().map(|b| b.x.as_slice()),
        })
    }
}
