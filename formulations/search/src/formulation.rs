//! Formulations: the interface between the search and a program for rematerialization.

use super::{
    ALL_PLANS, BoundProof, Listener, Outcome, STAGE_SCHEDULES, Scope, Settings, SolveError, Watch,
    search,
};
use crate::anneal::{Found, Landscape};
use remat_instances::schedule::BitMatrix;
use remat_instances::simulate::{Replay, ReplayError};
use remat_solver::price::{Columns, Incumbents, Program, RootStart, Separation, TreeProof};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// A program for one instance: from a budget to a [`Problem`].
pub trait Formulation: Sync {
    /// Its schedules.
    type Schedule: Clone + Send + Sync;
    /// The program for a budget.
    type Problem<'a>: Problem<Schedule = Self::Schedule>
    where
        Self: 'a;

    /// The replay without recomputation: percentages of a budget refer to its peak.
    ///
    /// # Errors
    /// [`ReplayError`] for an instance to which the formulation does not apply.
    fn plain(&self) -> Result<Replay, ReplayError>;

    /// The program for a budget in bytes. `starts` are schedules to start from; schedules that do
    /// not execute within the budget are ignored.
    ///
    /// # Errors
    /// [`SolveError`] for an instance to which the formulation does not apply.
    fn problem<'a>(
        &'a self,
        budget_bytes: u64,
        starts: &'a [Self::Schedule],
    ) -> Result<Start<Self::Problem<'a>>, SolveError>;

    /// Results of heuristics and of `starts` that fit, for programs that are [too
    /// large](Start::TooLarge) to be searched; `bound` is the known lower bound.
    ///
    /// # Errors
    /// [`SolveError`] if no threads can be started.
    fn heuristic(
        &self,
        _budget_bytes: u64,
        bound: u64,
        _starts: &[Self::Schedule],
        _settings: &Settings,
        _watch: &Watch<'_>,
    ) -> Result<Heuristic<Self::Schedule>, SolveError> {
        Ok(Heuristic::new(bound))
    }
}

/// Results without a search.
#[derive(Clone, Debug)]
pub struct Heuristic<S> {
    /// The best schedule that fits, with its replay.
    pub best: Option<(S, Replay)>,
    /// Lower bound on the cost of every schedule.
    pub bound: u64,
    /// Moves of an annealing.
    pub moves: u64,
}

impl<S> Heuristic<S> {
    /// A bound alone.
    pub fn new(bound: u64) -> Self {
        Heuristic {
            best: None,
            bound,
            moves: 0,
        }
    }

    /// A bound, and the cheapest of some schedules.
    pub fn cheapest(bound: u64, all: impl IntoIterator<Item = (S, Replay)>) -> Self {
        Heuristic {
            best: all.into_iter().min_by_key(|(_, replay)| replay.cost),
            ..Heuristic::new(bound)
        }
    }
}

/// Status of a problem before it is searched.
pub enum Start<P: Problem> {
    /// Proven: no schedule fits.
    Infeasible {
        /// Reason, in words.
        because: String,
        /// A proof, if the formulation has one.
        proof: Option<BoundProof>,
    },
    /// A schedule whose cost equals the bound.
    Optimal {
        /// The schedule.
        schedule: P::Schedule,
        /// Its replay.
        replay: Replay,
        /// A proof, if the formulation has one.
        proof: Option<BoundProof>,
        /// True if every plan costs as much, in any order.
        over_all_plans: bool,
    },
    /// To be searched, with a lower bound on the cost of every schedule.
    Open(P, u64),
    /// Too large to be searched, with a lower bound: [`Formulation::heuristic`] takes over.
    TooLarge(u64),
}

/// A program for an instance and a budget: a landscape for annealing, a program for bounds, and a
/// simulator.
pub trait Problem: Sync {
    /// Landscape that is annealed.
    type Landscape: Landscape<Sets = BitMatrix>;
    /// Program that is bounded.
    type Program: Program;
    /// Schedule that is found.
    type Schedule;

    /// Shares from which on a relaxation's retained tensor counts as retained, for schedules near
    /// it; the last comes first.
    const THRESHOLDS: &'static [f64];

    /// The landscape of the annealing.
    fn landscape(&self) -> &Self::Landscape;
    /// The priced program; `None` if there is none, or it is too large to be worth it.
    fn program(&self) -> Option<Arc<Self::Program>>;
    /// A place to start the root from, if similar programs provide one. `stop` ends the search for
    /// it; bounds are reported on the way.
    fn root_start(
        &self,
        _: &Self::Program,
        _stop: &Arc<AtomicBool>,
        _: &Incumbents<Self::Program>,
    ) -> Option<RootStart<Self::Program>> {
        None
    }
    /// Reason why no schedule fits, if it is known without a search.
    fn refuted(&self) -> Option<String> {
        None
    }
    /// The retained sets of the plan that keeps everything.
    fn everything(&self) -> &BitMatrix;
    /// The plans that a program's bounds cover.
    fn scope(&self, _: &Self::Program) -> &'static str {
        STAGE_SCHEDULES
    }
    /// The program of fewer plans, with higher bounds, to which a search goes on once the bound of
    /// a program can rise no more.
    fn narrower(&self, _: &Self::Program) -> Option<Arc<Self::Program>> {
        None
    }
    /// The state of a wider program's root, for the narrower program.
    fn narrowed(&self, start: RootStart<Self::Program>) -> RootStart<Self::Program> {
        start
    }
    /// Known schedules that fit; heuristics take a part of the time left.
    fn known(&self, watch: &Watch<'_>) -> Vec<Found>;
    /// Retained sets near a relaxation. In general no schedule with them fits; if the point is a
    /// schedule, they are its retained sets.
    fn near(
        &self,
        program: &Self::Program,
        point: &<Self::Program as Separation>::Point,
        threshold: f64,
    ) -> BitMatrix;
    /// The columns of the schedule of retained sets.
    fn columns(
        &self,
        program: &Self::Program,
        found: &Found,
    ) -> Vec<<Self::Program as Columns>::Column>;
    /// The schedule of retained sets, and its replay by the simulator.
    ///
    /// # Errors
    /// [`ReplayError`] if the search's schedule cannot be executed, which is a defect.
    fn judge(&self, found: Found) -> Result<(Self::Schedule, Replay), ReplayError>;
    /// The plan of a schedule as a `remat-plan/1` document, if the formulation has such plans.
    fn plan(&self, _: Self::Schedule) -> Option<String> {
        None
    }
    /// Returns whether [`Problem::proof`] shows the reported bound if a proof is requested; else
    /// the reported bound may be better.
    fn is_bound_proven(&self) -> bool {
        false
    }
    /// The text that proves a tree's bound, if the formulation has such proofs.
    fn proof(&self, _: &Self::Program, _: &TreeProof<Self::Program>) -> Option<BoundProof> {
        None
    }
}

/// Input of a solve, of a frontier and of a search for the largest batch: any [`Formulation`], or
/// one that is selected for an instance.
pub trait Solvable: Sync {
    /// Its schedules.
    type Schedule: Clone + Send + Sync;

    /// The replay without recomputation.
    ///
    /// # Errors
    /// As [`Formulation::plain`].
    fn plain(&self) -> Result<Replay, ReplayError>;

    /// Finds a schedule of least cost within a budget in bytes, and a proven lower bound.
    ///
    /// # Errors
    /// [`SolveError`]; if no schedule fits into the budget, that is an [`Outcome`], not an error.
    fn solve(
        &self,
        budget_bytes: u64,
        starts: &[Self::Schedule],
        settings: &Settings,
        listener: &dyn Listener,
    ) -> Result<Outcome<Self::Schedule>, SolveError>;
}

impl<F: Formulation> Solvable for F {
    type Schedule = F::Schedule;

    fn plain(&self) -> Result<Replay, ReplayError> {
        Formulation::plain(self)
    }

    fn solve(
        &self,
        budget_bytes: u64,
        starts: &[F::Schedule],
        settings: &Settings,
        listener: &dyn Listener,
    ) -> Result<Outcome<F::Schedule>, SolveError> {
        let watch = Watch::new(settings, listener);
        let start = match watch.is_over() {
            // Reading took all the time; no cost is below 0.
            true => Start::TooLarge(0),
            false => self.problem(budget_bytes, starts)?,
        };
        let mut outcome = match start {
            Start::Infeasible { because, proof } => Outcome {
                infeasible_because: Some(because),
                proof: proof.filter(|_| settings.prove),
                ..Outcome::new(0)
            },
            Start::Optimal {
                schedule,
                replay,
                proof,
                over_all_plans,
            } => {
                let mut outcome = Outcome::new(replay.cost);
                if over_all_plans && settings.scope == Scope::Widest {
                    outcome.bound_scope = ALL_PLANS;
                }
                outcome.take(schedule, replay);
                outcome.proof = proof.filter(|_| settings.prove);
                outcome
            }
            Start::Open(problem, bound) => {
                let refuted = problem.refuted();
                // A search may find a proof that can be written down.
                let mut outcome = match refuted.is_some() && !settings.prove {
                    true => Outcome::new(0),
                    false => search::run(&problem, budget_bytes, bound, settings, &watch)?,
                };
                outcome.infeasible_because = outcome.infeasible_because.or(refuted);
                outcome
            }
            Start::TooLarge(bound) => {
                let found = match watch.is_over() {
                    true => Heuristic::new(bound),
                    false => self.heuristic(budget_bytes, bound, starts, settings, &watch)?,
                };
                let mut outcome = Outcome::new(found.bound);
                outcome.moves = found.moves;
                if let Some((schedule, replay)) = found.best {
                    outcome.take(schedule, replay);
                }
                outcome
            }
        };
        outcome.settle(settings.gap, listener.is_interrupted());
        outcome.seconds = watch.elapsed().as_secs_f64();
        Ok(outcome)
    }
}
