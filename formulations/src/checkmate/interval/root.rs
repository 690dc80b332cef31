//! The root: columns and rows until nothing is violated and nothing pays, cuts, and again.

use super::{Graph, Interval, IntervalPoint, Journal, Master, Row, lagrangian_bound};
use crate::bound::TooSmall;
use crate::checkmate::path_cuts::{SeparationSettings, separate};
use crate::instance::Instance;
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
    pub separation: SeparationSettings,
    /// Whether path memory cuts are separated beside path cuts.
    pub memory_cuts: bool,
    /// Intervals added at most in a round.
    pub columns_per_round: usize,
    /// Recomputed intervals of one tensor added at most in a round.
    pub columns_per_tensor: usize,
    /// Memory rows added at most for one stage in a round.
    pub memory_rows_per_stage: usize,
    /// Memory rows added at most in a round.
    pub memory_rows_per_round: usize,
    /// Rows slack and columns dear for so many solves are dropped; 0 for never.
    pub purge_age: u32,
    /// Rows are added before columns are priced, so that every solve is either dual or primal feasible at the start.
    pub alternate: bool,
    /// A cut round that lifts the bound by less than this share of it counts as idle.
    pub least_progress: f64,
    /// So many idle cut rounds in a row end the loop.
    pub idle_rounds: usize,
    /// Stop soon after this much time: for benchmarks. The answer then depends on the machine.
    pub time_limit: Option<Duration>,
    /// Stop soon after this is set, in the middle of a linear program too. The bound reached so far is valid.
    pub stop: Option<Arc<AtomicBool>>,
    /// Cuts are separated as soon as the value has moved by less than this share of it in each of three rounds; 0 to wait
    /// until nothing is violated and nothing pays. The last rounds always wait.
    pub eager_cuts: f64,
    /// Print a line for every round.
    pub verbose: bool,
}

impl Default for RootSettings {
    fn default() -> Self {
        RootSettings {
            lp: Settings::default(),
            cut_rounds: 40,
            separation: SeparationSettings::default(),
            memory_cuts: true,
            columns_per_round: 800,
            columns_per_tensor: 2,
            memory_rows_per_stage: 2,
            memory_rows_per_round: 200,
            purge_age: 10,
            alternate: false,
            least_progress: 1e-6,
            idle_rounds: 10,
            time_limit: None,
            stop: None,
            eager_cuts: 1e-4,
            verbose: false,
        }
    }
}

/// How the root ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RootStatus {
    /// Nothing is violated, nothing pays, and cut rounds ended by themselves or by their limit.
    Converged,
    /// Memory overflows however dear it is: no schedule fits.
    Infeasible,
    /// The time limit came first. The bound is valid.
    TimeLimit,
    /// The LP solver gave up. The bound is valid.
    Trouble,
}

/// What the root found.
#[derive(Clone, Debug)]
pub struct RootBound {
    /// How it ended.
    pub status: RootStatus,
    /// Value of the last relaxation, with the base cost.
    pub lp_value: f64,
    /// A lower bound on the cost of every schedule that fits, in safe arithmetic.
    pub safe_bound: u64,
    /// Bound before the first cut.
    pub plain_bound: u64,
    /// Solves.
    pub rounds: usize,
    /// Rows at the end.
    pub rows: usize,
    /// Intervals at the end.
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
    pub point: IntervalPoint,
    /// Rows and duals that prove the bound: [`lagrangian_bound`] computes it from them and the graph alone.
    pub proof: Vec<(Row, f64)>,
}

/// Why there is no root bound.
#[derive(Debug, thiserror::Error)]
pub enum RootError {
    /// A node does not fit alone.
    #[error(transparent)]
    TooSmall(#[from] TooSmall),
    /// The LP solver refused a change: a defect.
    #[error(transparent)]
    Model(#[from] ModelError),
}

/// The bound of the interval form at the root, over the whole space of schedules.
///
/// # Errors
/// [`RootError::TooSmall`] where a node cannot run within the budget (in bytes, fixed memory included) at all.
pub fn root_bound(
    instance: &Instance,
    budget_bytes: u64,
    settings: &RootSettings,
) -> Result<RootBound, RootError> {
    root_bound_recorded(instance, budget_bytes, settings, None)
}

/// As [`root_bound`], with a journal of the changes of the program and of its solves.
///
/// # Errors
/// As [`root_bound`].
pub fn root_bound_recorded(
    instance: &Instance,
    budget_bytes: u64,
    settings: &RootSettings,
    journal: Option<Box<dyn Journal>>,
) -> Result<RootBound, RootError> {
    let graph = Graph::new(instance, budget_bytes)?;
    let mut root = Root::new(graph, settings, journal)?;
    root.master.stop_when(settings.stop.clone());
    root.run()?;
    Ok(root.finish())
}

/// The safe bound is computed at the end of each convergence, and every so many rounds.
const BOUND_EVERY: usize = 25;
/// How often overflow is made dearer, eightfold each time.
const PENALTIES: usize = 8;

/// No schedule without useless recomputations costs more: each node runs at most once in each stage of its life.
fn costliest(graph: &Graph) -> u64 {
    let runs = |i: usize| u64::from(graph.last_stage[i]) + 1 - i as u64;
    (0..graph.len()).fold(0u64, |s, i| {
        s.saturating_add(graph.cost[i].saturating_mul(runs(i)))
    })
}

struct Root<'a> {
    settings: &'a RootSettings,
    master: Master,
    out: RootBound,
    begin: Instant,
    penalties: usize,
}

impl<'a> Root<'a> {
    fn new(
        graph: Graph,
        settings: &'a RootSettings,
        journal: Option<Box<dyn Journal>>,
    ) -> Result<Self, RootError> {
        let base = graph.base_cost();
        Ok(Root {
            settings,
            master: Master::new(graph, settings.lp.clone(), journal)?,
            out: RootBound {
                status: RootStatus::Converged,
                lp_value: base as f64,
                safe_bound: base,
                plain_bound: base,
                rounds: 0,
                rows: 0,
                cols: 0,
                cuts: 0,
                iterations: 0,
                lp_seconds: 0.0,
                pricing_seconds: 0.0,
                separation_seconds: 0.0,
                point: IntervalPoint::default(),
                proof: Vec::new(),
            },
            begin: Instant::now(),
            penalties: 0,
        })
    }

    fn finish(mut self) -> RootBound {
        self.out.rows = self.master.rows().len();
        self.out.cols = self.master.num_columns();
        self.out.iterations = self.master.stats().iterations();
        self.out
    }

    fn run(&mut self) -> Result<(), RootError> {
        let mut eager = self.settings.cut_rounds > 0 && self.settings.eager_cuts > 0.0;
        self.converge(eager)?;
        self.out.plain_bound = self.out.safe_bound;
        let mut idle = 0;
        for round in 0..self.settings.cut_rounds {
            if self.out.status != RootStatus::Converged {
                return Ok(());
            }
            let before = self.out.lp_value;
            let added = self.cut_round()?;
            if added == 0 && !eager {
                return Ok(());
            }
            self.converge(eager)?;
            if self.settings.verbose {
                println!(
                    "cut round {round}: {added} cuts, {:.2}, bound {}, {} rows, {} columns, lp {:.2} s, pricing {:.2} s, separation {:.2} s",
                    self.out.lp_value,
                    self.out.safe_bound,
                    self.master.rows().len(),
                    self.master.num_columns(),
                    self.out.lp_seconds,
                    self.out.pricing_seconds,
                    self.out.separation_seconds
                );
            }
            let progress = (self.out.lp_value - before) / before.max(1.0);
            idle = if progress < self.settings.least_progress {
                idle + 1
            } else {
                0
            };
            if eager && (added == 0 || idle >= 3) {
                // What is left is in the tail: from here on every relaxation is solved to its end.
                eager = false;
                idle = 0;
            } else if idle >= self.settings.idle_rounds {
                break;
            }
        }
        if eager && self.out.status == RootStatus::Converged {
            self.converge(false)?;
        }
        Ok(())
    }

    fn cut_round(&mut self) -> Result<usize, RootError> {
        let clock = Instant::now();
        let graph = self.master.graph();
        let point = self.out.point.fractional(graph);
        let found = separate(graph, &point, 0, &self.settings.separation);
        let mut rows: Vec<Row> = found.into_iter().map(|f| Row::Path(f.cut)).collect();
        if self.settings.memory_cuts {
            let memory = self
                .out
                .point
                .violated_path_memory(graph, &self.settings.separation);
            rows.extend(memory.into_iter().map(Row::PathMemory));
        }
        self.out.separation_seconds += clock.elapsed().as_secs_f64();
        let clock = Instant::now();
        let added = self.master.add_rows(rows)?;
        self.out.lp_seconds += clock.elapsed().as_secs_f64();
        self.out.cuts += added;
        Ok(added)
    }

    /// Solves with rows and columns coming in until nothing is violated and nothing pays; if `eager`, until the value has
    /// hardly moved for some rounds.
    fn converge(&mut self, eager: bool) -> Result<(), RootError> {
        let mut algorithm = Algorithm::Auto;
        let mut last_value = f64::INFINITY;
        let mut calm = 0;
        loop {
            let clock = Instant::now();
            let outcome = self.master.solve(algorithm);
            self.out.lp_seconds += clock.elapsed().as_secs_f64();
            self.out.rounds += 1;
            let LpOutcome::Optimal(solution) = outcome else {
                self.out.status = RootStatus::Trouble;
                return Ok(());
            };
            let late = self
                .settings
                .time_limit
                .is_some_and(|l| self.begin.elapsed() > l)
                || self
                    .settings
                    .stop
                    .as_ref()
                    .is_some_and(|s| s.load(Ordering::Relaxed));
            let moved = (solution.objective - last_value).abs() / solution.objective.abs().max(1.0);
            last_value = solution.objective;
            calm = if moved < self.settings.eager_cuts {
                calm + 1
            } else {
                0
            };
            let enough = eager && calm >= 3 && self.master.overflow(&solution) <= 1e-6;
            let rows = self.separate_rows(&solution);
            let mut columns = Vec::new();
            if !self.settings.alternate || rows.is_empty() || enough {
                columns = self.price(&solution);
                let last = late || enough || (rows.is_empty() && columns.is_empty());
                if last || self.out.rounds.is_multiple_of(BOUND_EVERY) {
                    self.prove(&solution);
                }
            }
            let clock = Instant::now();
            if self.settings.purge_age > 0 {
                let dear = 1e-3 * solution.objective.abs();
                self.master
                    .purge(&solution, self.settings.purge_age, dear)?;
            }
            let added_columns = self.master.add_columns(columns)?;
            let added_rows = self.master.add_rows(rows)?;
            self.out.lp_seconds += clock.elapsed().as_secs_f64();
            let overflow = self.master.overflow(&solution);
            if self.settings.verbose {
                println!(
                    "  {:.3} (overflow {overflow:.3}): +{added_rows} rows +{added_columns} columns, {} x {}, {} pivots, lp {:.2} s",
                    self.master.value(&solution),
                    self.master.rows().len(),
                    self.master.num_columns(),
                    self.master.stats().iterations(),
                    self.out.lp_seconds
                );
            }
            algorithm = match (added_rows > 0, added_columns > 0) {
                (true, false) => Algorithm::Dual,
                (false, true) => Algorithm::Primal,
                _ => Algorithm::Auto,
            };
            if added_rows + added_columns > 0 && !late && !enough {
                continue;
            }
            self.out.lp_value = self.master.value(&solution);
            self.out.point = self.master.point(&solution);
            self.out.status = if self.out.safe_bound > costliest(self.master.graph()) {
                RootStatus::Infeasible
            } else if late {
                RootStatus::TimeLimit
            } else if overflow <= 1e-6 {
                RootStatus::Converged
            } else if self.penalties < PENALTIES {
                self.penalties += 1;
                self.master.raise_penalty(8.0)?;
                continue;
            } else {
                RootStatus::Trouble
            };
            return Ok(());
        }
    }

    /// The intervals that pay.
    fn price(&mut self, solution: &Solution) -> Vec<Interval> {
        let clock = Instant::now();
        let pricing = self
            .master
            .price(solution, self.settings.columns_per_tensor, 1e-4);
        self.out.pricing_seconds += clock.elapsed().as_secs_f64();
        let best = pricing
            .candidates
            .iter()
            .take(self.settings.columns_per_round);
        best.map(|c| c.interval).collect()
    }

    /// Computes the safe bound of a solution's duals.
    fn prove(&mut self, solution: &Solution) {
        let clock = Instant::now();
        let duals = self.master.duals(solution);
        let bound = lagrangian_bound(self.master.graph(), self.master.rows(), &duals);
        if bound >= self.out.safe_bound {
            self.out.safe_bound = bound;
            let rows = self.master.rows().iter().cloned();
            self.out.proof.clear();
            self.out
                .proof
                .extend(rows.zip(duals).filter(|p| p.1 != 0.0));
        }
        self.out.pricing_seconds += clock.elapsed().as_secs_f64();
    }

    fn separate_rows(&mut self, solution: &Solution) -> Vec<Row> {
        let clock = Instant::now();
        let point = self.master.point(solution);
        let graph = self.master.graph();
        let known = |row: &Row| self.master.contains(row);
        let mut rows = point.violated_inputs(graph, 1e-6);
        rows.retain(|r| !known(r));
        let per_stage = self.settings.memory_rows_per_stage;
        // Overflow is as good as capacity: only what exceeds both is news.
        let overflow = self.master.overflow(solution) * graph.memory_unit();
        let limit = (graph.capacity as f64 + overflow) * (1.0 + 1e-6);
        let memory = point.violated_memory(graph, limit, per_stage, known);
        rows.extend(memory.into_iter().take(self.settings.memory_rows_per_round));
        self.out.separation_seconds += clock.elapsed().as_secs_f64();
        rows
    }
}
