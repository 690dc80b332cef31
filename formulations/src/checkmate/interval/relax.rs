//! The relaxation of a node: columns and rows until nothing is violated and nothing pays, cuts, and again.

use super::{Branch, Graph, Interval, IntervalPoint, Journal, Master, RootSettings, Row};
use super::{RootError, lagrangian_bound};
use crate::checkmate::path_cuts::separate;
use remat_lp::{Algorithm, LpOutcome, Solution};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// The safe bound is computed at the end of each convergence, and every so many rounds.
const BOUND_EVERY: usize = 25;
/// How often overflow is made dearer, eightfold each time.
const PENALTIES: usize = 8;

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
    /// Rounds at most.
    pub rounds: usize,
    /// A round that lifts the value by less than this share of it is idle.
    pub least_progress: f64,
    /// So many idle rounds in a row are the end.
    pub idle_rounds: usize,
    /// At first a relaxation counts as solved when its value has hardly moved for some rounds.
    pub eager: bool,
}

/// Is shown a relaxation on its way.
pub(super) type Notice<'a> = &'a dyn Fn(&Relaxation);

/// A restricted program, and what is known of the node it stands at.
#[derive(Clone)]
pub(super) struct Relaxation {
    pub settings: RootSettings,
    pub master: Master,
    pub spent: Spent,
    /// Safe lower bound on the schedules below the present branchings.
    pub bound: u64,
    /// Value of the last relaxation, with the base cost.
    pub value: f64,
    /// Its solution.
    pub point: IntervalPoint,
    /// Rows and duals that prove the bound, where somebody wants them: a copy of all rows for every better bound.
    pub proof: Option<Vec<(Row, f64)>>,
    /// Whether that solution meets every row, apart from cuts that were not looked for.
    pub settled: bool,
    /// Bounds from here on end a convergence.
    pub cutoff: u64,
    /// No schedule costs more.
    pub costliest: u64,
    begin: Instant,
    penalties: usize,
}

/// No schedule without useless recomputations costs more: each node runs at most once in each stage of its life.
fn costliest(graph: &Graph) -> u64 {
    let runs = |i: usize| u64::from(graph.last_stage[i]) + 1 - i as u64;
    (0..graph.len()).fold(0u64, |s, i| {
        s.saturating_add(graph.cost[i].saturating_mul(runs(i)))
    })
}

impl Relaxation {
    pub fn new(
        graph: Graph,
        settings: RootSettings,
        journal: Option<Box<dyn Journal>>,
    ) -> Result<Self, RootError> {
        let base = graph.base_cost();
        let costliest = costliest(&graph);
        let mut master = Master::new(graph, settings.lp.clone(), journal)?;
        master.stop_when(settings.stop.clone());
        Ok(Relaxation {
            settings,
            master,
            spent: Spent::default(),
            bound: base,
            value: base as f64,
            point: IntervalPoint::default(),
            proof: Some(Vec::new()),
            settled: false,
            cutoff: u64::MAX,
            costliest,
            begin: Instant::now(),
            penalties: 0,
        })
    }

    /// Simplex iterations so far.
    pub fn iterations(&self) -> u64 {
        self.master.stats().iterations()
    }

    pub fn graph(&self) -> &Graph {
        self.master.graph()
    }

    /// Goes to another node: its branchings, and the bound that is known there.
    pub fn enter(&mut self, branches: &[Branch], bound: u64) -> Result<(), RootError> {
        self.master.set_branches(branches)?;
        self.bound = bound;
        Ok(())
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
                    "cut round {round}: {added} cuts, {:.2}, bound {}, {} rows, {} columns, lp {:.2} s, pricing {:.2} s, separation {:.2} s",
                    self.value,
                    self.bound,
                    self.master.rows().len(),
                    self.master.num_columns(),
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
        let graph = self.master.graph();
        let point = self.point.fractional(graph);
        let found = separate(graph, &point, 0, &self.settings.separation);
        let mut rows: Vec<Row> = found.into_iter().map(|f| Row::Path(f.cut)).collect();
        if self.settings.memory_cuts {
            let memory = self
                .point
                .violated_path_memory(graph, &self.settings.separation);
            rows.extend(memory.into_iter().map(Row::PathMemory));
        }
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
            let rows = self.separate_rows(&solution);
            let mut columns = Vec::new();
            if !self.settings.alternate || rows.is_empty() || enough {
                let (priced, estimate) = self.price(&solution);
                columns = priced;
                let last = late || enough || (rows.is_empty() && columns.is_empty());
                let over = estimate > self.cutoff as f64 - 1.0 + 1e-6;
                if last || over || self.spent.rounds.is_multiple_of(BOUND_EVERY) {
                    self.prove(&solution);
                }
            }
            if self.spent.rounds.is_multiple_of(BOUND_EVERY) {
                notice(self);
            }
            if self.bound >= self.cutoff {
                self.value = self.master.value(&solution);
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
            if self.settings.verbose {
                println!(
                    "  {:.3} (overflow {overflow:.3}): +{added_rows} rows +{added_columns} columns, {} x {}, {} pivots, lp {:.2} s",
                    self.master.value(&solution),
                    self.master.rows().len(),
                    self.master.num_columns(),
                    self.master.stats().iterations(),
                    self.spent.lp.as_secs_f64()
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
            self.value = self.master.value(&solution);
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

    /// The intervals that pay, and the Lagrangian bound up to rounding.
    fn price(&mut self, solution: &Solution) -> (Vec<Interval>, f64) {
        let clock = Instant::now();
        let pricing = self
            .master
            .price(solution, self.settings.columns_per_tensor, 1e-4);
        self.spent.pricing += clock.elapsed();
        let best = pricing
            .candidates
            .iter()
            .take(self.settings.columns_per_round);
        let estimate = self.master.value(solution) + pricing.lagrangian_change;
        (best.map(|c| c.interval).collect(), estimate)
    }

    /// Computes the safe bound of a solution's duals.
    fn prove(&mut self, solution: &Solution) {
        let clock = Instant::now();
        let duals = self.master.duals(solution);
        let bound = lagrangian_bound(self.master.graph(), self.master.rows(), &duals);
        if bound >= self.bound {
            self.bound = bound;
            if let Some(proof) = &mut self.proof {
                let rows = self.master.rows().iter().cloned();
                proof.clear();
                proof.extend(rows.zip(duals).filter(|p| p.1 != 0.0));
            }
        }
        self.spent.pricing += clock.elapsed();
    }

    fn separate_rows(&mut self, solution: &Solution) -> Vec<Row> {
        let clock = Instant::now();
        let point = &self.point;
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
        self.spent.separation += clock.elapsed();
        rows
    }
}
