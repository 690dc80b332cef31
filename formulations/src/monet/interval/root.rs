//! The root: columns and rows until nothing is violated and nothing pays, cuts, and again.

use super::master::Master;
use super::{Branch, CutSettings, Graph, Point, Row, lagrangian_bound, separate_cuts};
use crate::instance::Instance;
use crate::monet::original::MonetError;
use crate::schedule::MonetSchedule;
use remat_lp::{Algorithm, LpOutcome, ModelError, Settings, Solution};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How the root is worked on.
#[derive(Clone, Debug)]
pub struct RootSettings {
    /// Settings of the linear programming solver.
    pub lp: Settings,
    /// Rounds of cuts; 0 for the plain relaxation.
    pub cut_rounds: usize,
    /// What cut separation looks for in a round.
    pub separation: CutSettings,
    /// Whether path memory cuts are separated beside path cuts.
    pub memory_cuts: bool,
    /// Intervals added at most in a round.
    pub columns_per_round: usize,
    /// Intervals of one tensor added at most in a round.
    pub columns_per_tensor: usize,
    /// Memory rows added at most for one stage in a round.
    pub memory_rows_per_stage: usize,
    /// Memory rows added at most in a round.
    pub memory_rows_per_round: usize,
    /// Rows slack and columns dear for so many solves are dropped; 0 for never.
    pub purge_age: u32,
    /// A cut round that lifts the value by less than this share of it counts as idle.
    pub least_progress: f64,
    /// So many idle cut rounds in a row end the loop.
    pub idle_rounds: usize,
    /// Cuts are separated as soon as the value has moved by less than this share of it in each of three rounds; 0 to wait
    /// until nothing is violated and nothing pays. The last rounds always wait.
    pub eager_cuts: f64,
    /// Stop soon after this much time. The answer then depends on the machine; the bound is valid.
    pub time_limit: Option<Duration>,
    /// Stop soon after this is set, in the middle of a linear program too. The bound reached so far is valid.
    pub stop: Option<Arc<AtomicBool>>,
    /// Print a line for every round of cuts.
    pub verbose: bool,
}

impl Default for RootSettings {
    fn default() -> Self {
        RootSettings {
            lp: Settings::default(),
            cut_rounds: 60,
            separation: CutSettings::default(),
            memory_cuts: true,
            columns_per_round: 800,
            columns_per_tensor: 3,
            memory_rows_per_stage: 2,
            memory_rows_per_round: 200,
            purge_age: 10,
            least_progress: 1e-6,
            idle_rounds: 10,
            eager_cuts: 1e-4,
            time_limit: None,
            stop: None,
            verbose: false,
        }
    }
}

/// How the root ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RootStatus {
    /// Nothing is violated, nothing pays, and cut rounds ended by themselves or by their limit.
    Converged,
    /// No schedule fits: the bound is above what any schedule costs.
    Infeasible,
    /// The time limit or the flag came first. The bound is valid.
    TimeLimit,
    /// The LP solver gave up. The bound is valid.
    Trouble,
}

/// What the root found.
#[derive(Clone, Debug)]
pub struct RootBound {
    /// How it ended.
    pub status: RootStatus,
    /// Value of the last relaxation.
    pub lp_value: f64,
    /// A lower bound on the cost of every schedule that fits, in safe arithmetic.
    pub safe_bound: u64,
    /// Bound before the first cut.
    pub plain_bound: u64,
    /// Solves.
    pub rounds: usize,
    /// Rows at the end.
    pub rows: usize,
    /// Columns at the end.
    pub cols: usize,
    /// Cuts that were added.
    pub cuts: usize,
    /// Simplex iterations.
    pub iterations: u64,
    /// Time in the LP solver, changes of the program included.
    pub lp_seconds: f64,
    /// Time in pricing.
    pub pricing_seconds: f64,
    /// Time in the separation of rows and cuts.
    pub separation_seconds: f64,
    /// The last fractional solution.
    pub point: Point,
    /// Rows and multipliers that prove the bound: [`lagrangian_bound`] computes it from them and the graph alone.
    pub proof: Vec<(Row, f64)>,
}

/// Why there is no root bound.
#[derive(Debug, thiserror::Error)]
pub enum RootError {
    /// The instance has no such program.
    #[error(transparent)]
    Instance(#[from] MonetError),
    /// The LP solver refused a change: a defect.
    #[error(transparent)]
    Model(#[from] ModelError),
}

/// A relaxation on the way.
pub struct Relaxed<'a>(pub(super) &'a Relaxation);

impl Relaxed<'_> {
    /// A lower bound on the cost of every schedule that fits, in safe arithmetic.
    pub fn bound(&self) -> u64 {
        self.0.bound
    }

    /// Whether the relaxation is solved, before or between cuts; otherwise rows are still missing.
    pub fn is_settled(&self) -> bool {
        self.0.settled
    }

    /// A schedule near the relaxation that executes, in general not within the budget. The instance is that of the root;
    /// what is stored by more than the threshold is stored.
    pub fn proposal(&self, instance: &Instance, threshold: f64) -> MonetSchedule {
        let graph = self.0.master.graph();
        self.0.point.proposal(instance, graph, threshold)
    }
}

/// The bound of the interval form at the root, over the whole space of schedules. `notice` is shown every relaxation on the
/// way.
///
/// # Errors
/// [`RootError::Instance`] where the instance has no loss.
pub fn root_bound(
    instance: &Instance,
    budget_bytes: u64,
    settings: &RootSettings,
    notice: &dyn Fn(&Relaxed<'_>),
) -> Result<RootBound, RootError> {
    let graph = Arc::new(Graph::new(instance, budget_bytes)?);
    let mut relax = Relaxation::new(graph, settings.clone())?;
    let (end, plain) = relax.root(&|r| notice(&Relaxed(r)))?;
    Ok(RootBound {
        status: match end {
            RelaxEnd::Converged | RelaxEnd::Cutoff => RootStatus::Converged,
            RelaxEnd::Infeasible => RootStatus::Infeasible,
            RelaxEnd::Late => RootStatus::TimeLimit,
            RelaxEnd::Trouble => RootStatus::Trouble,
        },
        lp_value: relax.value,
        safe_bound: relax.bound,
        plain_bound: plain,
        rounds: relax.spent.rounds,
        rows: relax.master.rows().len(),
        cols: relax.master.num_columns(),
        cuts: relax.spent.cuts,
        iterations: relax.master.iterations(),
        lp_seconds: relax.spent.lp.as_secs_f64(),
        pricing_seconds: relax.spent.pricing.as_secs_f64(),
        separation_seconds: relax.spent.separation.as_secs_f64(),
        point: relax.point,
        proof: relax.proof,
    })
}

/// The safe bound is computed at the end of each convergence, and every so many rounds.
const BOUND_EVERY: usize = 25;
/// How often overflow is made dearer, eightfold each time.
const PENALTIES: usize = 8;
/// How often the LP solver is given another try from the slack basis.
const FRESH_STARTS: usize = 20;

/// How a convergence ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RelaxEnd {
    /// Nothing is violated and nothing pays (or little moved, where that was asked for).
    Converged,
    /// The bound has reached the cutoff.
    Cutoff,
    /// Memory overflows however dear it is, or a branching cannot be met.
    Infeasible,
    /// Time is over or the flag is set.
    Late,
    /// The LP solver gave up.
    Trouble,
}

/// Where the work went.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Spent {
    pub rounds: usize,
    pub cuts: usize,
    pub lp: Duration,
    pub pricing: Duration,
    pub separation: Duration,
}

/// How long cuts are added.
#[derive(Clone, Copy, Debug)]
pub(super) struct CutEffort {
    pub rounds: usize,
    pub least_progress: f64,
    pub idle_rounds: usize,
    /// At first a relaxation counts as solved when its value has hardly moved for some rounds.
    pub eager: bool,
}

type Notice<'a> = &'a dyn Fn(&Relaxation);

/// A restricted program, and what is known of the node it stands at.
#[derive(Clone)]
pub(super) struct Relaxation {
    pub settings: RootSettings,
    pub master: Master,
    pub spent: Spent,
    /// Safe lower bound on the schedules below the present branchings.
    pub bound: u64,
    /// Value of the last relaxation.
    pub value: f64,
    /// Its solution.
    pub point: Point,
    proof: Vec<(Row, f64)>,
    keep_proof: bool,
    /// Whether that solution meets every row, apart from cuts that were not looked for.
    pub settled: bool,
    /// Bounds from here on end a convergence.
    pub cutoff: u64,
    /// No schedule costs more.
    pub costliest: u64,
    begin: Instant,
    penalties: usize,
    fresh_starts: usize,
}

impl Relaxation {
    pub fn new(graph: Arc<Graph>, settings: RootSettings) -> Result<Self, RootError> {
        let base = graph.base_cost();
        let costliest = graph.costliest();
        let mut master = Master::new(graph, settings.lp.clone())?;
        master.stop_when(settings.stop.clone());
        Ok(Relaxation {
            settings,
            master,
            spent: Spent::default(),
            bound: base,
            value: base as f64,
            point: Point::default(),
            proof: Vec::new(),
            keep_proof: true,
            settled: false,
            cutoff: u64::MAX,
            costliest,
            begin: Instant::now(),
            penalties: 0,
            fresh_starts: 0,
        })
    }

    /// Keeps no more proofs: each is a copy of all rows.
    pub fn forget_proofs(&mut self) {
        self.keep_proof = false;
        self.proof.clear();
    }

    /// Goes to another node: its branchings, and the bound that is known there.
    pub fn enter(&mut self, branches: &[Branch], bound: u64) -> Result<(), RootError> {
        self.master
            .set_branches(branches.iter().map(Branch::row).collect())?;
        self.bound = bound;
        Ok(())
    }

    /// The plain relaxation, and again with cuts; returns how it ended and the bound before the first cut.
    pub fn root(&mut self, notice: Notice<'_>) -> Result<(RelaxEnd, u64), RootError> {
        let eager = self.settings.cut_rounds > 0 && self.settings.eager_cuts > 0.0;
        let mut end = self.converge(eager, notice)?;
        let plain = self.bound;
        notice(self);
        if end == RelaxEnd::Converged {
            let effort = CutEffort {
                rounds: self.settings.cut_rounds,
                least_progress: self.settings.least_progress,
                idle_rounds: self.settings.idle_rounds,
                eager,
            };
            end = self.cut_rounds(effort, notice)?;
        }
        Ok((end, plain))
    }

    pub fn is_late(&self) -> bool {
        let s = &self.settings;
        let over = s.time_limit.is_some_and(|l| self.begin.elapsed() > l);
        over || s.stop.as_ref().is_some_and(|s| s.load(Ordering::Relaxed))
    }

    /// Cut rounds at the present node until they are idle; `notice` is called after each.
    pub fn cut_rounds(
        &mut self,
        effort: CutEffort,
        notice: Notice<'_>,
    ) -> Result<RelaxEnd, RootError> {
        let mut eager = effort.eager;
        let mut end = RelaxEnd::Converged;
        let mut idle = 0;
        for round in 0..effort.rounds {
            let before = self.value;
            let added = self.add_cuts()?;
            if added == 0 && !eager {
                return Ok(end);
            }
            end = self.converge(eager, notice)?;
            notice(self);
            if self.settings.verbose {
                println!(
                    "cut round {round}: {added} cuts, {:.2}, bound {}, {} rows, {} columns, {} pivots, lp {:.2} s, pricing {:.2} s, separation {:.2} s",
                    self.value,
                    self.bound,
                    self.master.rows().len(),
                    self.master.num_columns(),
                    self.master.iterations(),
                    self.spent.lp.as_secs_f64(),
                    self.spent.pricing.as_secs_f64(),
                    self.spent.separation.as_secs_f64()
                );
            }
            if end != RelaxEnd::Converged {
                return Ok(end);
            }
            let progress = (self.value - before) / before.max(1.0);
            idle = if progress < effort.least_progress {
                idle + 1
            } else {
                0
            };
            if eager && (added == 0 || idle >= 3) {
                // What is left is in the tail: from here on every relaxation is solved to its end.
                eager = false;
                idle = 0;
            } else if idle >= effort.idle_rounds {
                break;
            }
        }
        if eager {
            end = self.converge(false, notice)?;
        }
        Ok(end)
    }

    fn add_cuts(&mut self) -> Result<usize, RootError> {
        let clock = Instant::now();
        let s = &self.settings;
        let rows = separate_cuts(
            self.master.graph(),
            &self.point,
            &s.separation,
            s.memory_cuts,
        );
        self.spent.separation += clock.elapsed();
        let clock = Instant::now();
        let added = self.master.add_rows(rows)?;
        self.spent.lp += clock.elapsed();
        self.spent.cuts += added;
        Ok(added)
    }

    /// Solves with rows and columns coming in until nothing is violated and nothing pays; if `eager`, until the value has
    /// hardly moved for some rounds. `notice` is called every so many rounds.
    pub fn converge(&mut self, eager: bool, notice: Notice<'_>) -> Result<RelaxEnd, RootError> {
        self.settled = false;
        let mut algorithm = Algorithm::Auto;
        let mut last_value = f64::INFINITY;
        let mut calm = 0;
        loop {
            let clock = Instant::now();
            let outcome = self.master.solve(algorithm);
            self.spent.lp += clock.elapsed();
            self.spent.rounds += 1;
            let LpOutcome::Optimal(solution) = outcome else {
                if self.settings.verbose {
                    println!("the LP solver says {outcome:?}");
                }
                if !self.is_late() && self.fresh_starts < FRESH_STARTS {
                    // The program is feasible and bounded: another way to the optimum may find it.
                    self.fresh_starts += 1;
                    self.master.forget_basis();
                    algorithm = Algorithm::Auto;
                    continue;
                }
                return Ok(match self.is_late() {
                    true => RelaxEnd::Late,
                    false => RelaxEnd::Trouble,
                });
            };
            let late = self.is_late();
            let moved = (solution.objective - last_value).abs() / solution.objective.abs().max(1.0);
            last_value = solution.objective;
            calm = if moved < self.settings.eager_cuts {
                calm + 1
            } else {
                0
            };
            let overflow = self.master.overflow(&solution);
            let enough = eager && calm >= 3 && overflow <= 1e-6;
            // Before the purge: afterwards the solution's columns are others than the program's.
            self.point = self.master.point(&solution);
            let rows = self.separate_rows(overflow);
            let clock = Instant::now();
            let pricing = self
                .master
                .price(&solution, self.settings.columns_per_tensor, 1e-4);
            self.spent.pricing += clock.elapsed();
            let best = pricing
                .candidates
                .iter()
                .take(self.settings.columns_per_round);
            let columns: Vec<_> = best.map(|c| c.interval).collect();
            let last = late || enough || (rows.is_empty() && columns.is_empty());
            let over = pricing.bound > self.cutoff as f64 - 1.0 + 1e-6;
            if last || over || self.spent.rounds.is_multiple_of(BOUND_EVERY) {
                self.prove(&solution);
            }
            if self.spent.rounds.is_multiple_of(BOUND_EVERY) {
                notice(self);
            }
            self.value = self.master.value(&solution);
            if self.bound >= self.cutoff {
                return Ok(RelaxEnd::Cutoff);
            }
            let clock = Instant::now();
            if self.settings.purge_age > 0 {
                let dear = 1e-3 * solution.objective.abs();
                self.master
                    .purge(&solution, self.settings.purge_age, dear)?;
            }
            let added_columns = self.master.add_columns(columns)?;
            let added_rows = self.master.add_rows(rows)?;
            self.spent.lp += clock.elapsed();
            algorithm = match (added_rows > 0, added_columns > 0) {
                (true, false) => Algorithm::Dual,
                (false, true) => Algorithm::Primal,
                _ => Algorithm::Auto,
            };
            if added_rows + added_columns > 0 && !late && !enough {
                continue;
            }
            self.settled = overflow <= 1e-6 && !late;
            return Ok(if self.bound > self.costliest {
                RelaxEnd::Infeasible
            } else if late {
                RelaxEnd::Late
            } else if overflow <= 1e-6 {
                RelaxEnd::Converged
            } else if self.penalties < PENALTIES {
                self.penalties += 1;
                self.master.raise_penalty(8.0)?;
                continue;
            } else {
                RelaxEnd::Trouble
            });
        }
    }

    /// Computes the safe bound of a solution's duals.
    fn prove(&mut self, solution: &Solution) {
        let clock = Instant::now();
        let duals = self.master.duals(solution);
        let bound = lagrangian_bound(self.master.graph(), self.master.rows(), &duals);
        if bound >= self.bound {
            self.bound = bound;
            if !self.keep_proof {
                return;
            }
            let rows = self.master.rows().iter().cloned();
            self.proof.clear();
            self.proof.extend(rows.zip(duals).filter(|p| p.1 != 0.0));
        }
        self.spent.pricing += clock.elapsed();
    }

    fn separate_rows(&mut self, overflow: f64) -> Vec<Row> {
        let clock = Instant::now();
        let graph = self.master.graph();
        let known = |row: &Row| self.master.contains(row);
        let mut rows = self.point.violated_links(graph, 1e-6);
        rows.retain(|r| !known(r));
        // Overflow is as good as room: only what exceeds both is news.
        let overflow = overflow * graph.memory_unit();
        let per_stage = self.settings.memory_rows_per_stage;
        let memory = self
            .point
            .violated_memory(graph, overflow, per_stage, known);
        rows.extend(memory.into_iter().take(self.settings.memory_rows_per_round));
        self.spent.separation += clock.elapsed();
        rows
    }
}
