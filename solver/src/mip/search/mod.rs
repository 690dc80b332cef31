//! The search of one presolved problem: root, then rounds of plunges until no node is open.

mod checkpoint;
mod memory;
mod opportunistic;
mod report;
mod root_node;
mod round;
mod sub_mip;
mod symmetry;

use crate::mip::branching::pseudocost::PseudoCosts;
use crate::mip::clock::Stop;
use crate::mip::control::Control;
use crate::mip::debug_solution::DebugSolution;
use crate::mip::extend::{BestBound, BestEstimate, DepthFirst, NodeSelector};
use crate::mip::outcome::{FileProblems, Info, SolveError, SolveResult, SolveStatus};
use crate::mip::presolve;
use crate::mip::problem::Problem;
use crate::mip::root::RootData;
use crate::mip::settings::NodeSelection;
use crate::mip::solver::Solver;
use crate::mip::state::spill::NodeFiles;
use crate::mip::tree::NodeQueue;
use crate::mip::worker::{Incumbent, RoundShared, Worker};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

/// End of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SearchEnd {
    Done,
    /// Presolve and the root should be repeated, because enough columns were fixed.
    Restart,
}

/// The tree, its workers and their shared data.
pub(crate) struct TreeSearch {
    pub shared: RoundShared,
    pub queue: NodeQueue,
    pub workers: Vec<Worker>,
    pub pool: Option<Arc<rayon::ThreadPool>>,
    pub root: Option<Arc<RootData>>,
    pub info: Info,
    pub start: Instant,
    pub status: SolveStatus,
    /// Least bound among the remaining leaves: within the gaps, or numerically unresolved.
    pub left_bound: f64,
    /// [`Problem::unit`].
    pub unit: f64,
    pub base_cutoff: f64,
    /// Time of the last progress event, in seconds of this run.
    pub last_report: f64,
    /// Ticks before a restart or resume.
    pub ticks_before: u64,
    /// Ticks of restricted programs.
    pub side_ticks: u64,
    pub side_iterations: u64,
    pub next_sub_mip: u64,
    pub sub_mip_turn: u64,
    /// Recent successes.
    pub sub_mip_luck: u64,
    /// Largest share of the integer columns that a restricted program fixes.
    pub sub_mip_share: f64,
    /// Recent mean of the ticks of a plunge.
    pub plunge_ticks: u64,
    /// Ticks of the root; restricted programs may always use as many.
    pub root_ticks: u64,
    /// Relaxation of a recent node.
    pub relaxed: Vec<f64>,
    pub may_restart: bool,
    /// True once the search for symmetry has run.
    pub symmetry_done: bool,
    pub restarts: u32,
    pub first_root: Option<f64>,
    pub control: Control,
    /// The best solutions, in order.
    pub best: Vec<Incumbent>,
    /// Workers on their own threads (opportunistic search).
    pub away: Vec<opportunistic::Away>,
    pub files: Option<NodeFiles>,
    /// True once the root is done.
    pub root_done: bool,
    /// True until the root was tried: an empty queue is no proof before that.
    pub root_is_ahead: bool,
    /// Best bound proven so far, including restarts and the runs before a resume.
    pub proven_bound: f64,
    /// Seconds of the earlier runs, if this one resumes them.
    pub seconds_before: f64,
    pub last_checkpoint: f64,
    pub file_problems: FileProblems,
    /// True once writing nodes to a file has failed: when memory is full, the search then ends.
    pub spilling_failed: bool,
    /// True once reading nodes from a file has failed: the rest of the tree is incomplete.
    pub nodes_are_lost: bool,
}

impl TreeSearch {
    pub fn new(
        solver: &Solver,
        problem: Problem,
        postsolve: presolve::Postsolve,
        stop: Stop,
        start: Instant,
        info: Info,
    ) -> Result<TreeSearch, SolveError> {
        let settings = solver.settings.clone();
        let selector: Arc<dyn NodeSelector> =
            match (&solver.extensions.selector, settings.node_selection) {
                (Some(s), _) => s.clone(),
                (None, NodeSelection::BestBound) => Arc::new(BestBound),
                (None, NodeSelection::BestEstimate) => Arc::new(BestEstimate),
                (None, NodeSelection::DepthFirst) => Arc::new(DepthFirst),
            };
        let n = problem.num_cols();
        let unit = problem.unit;
        let base_cutoff = settings.cutoff.map_or(f64::INFINITY, |c| unit * c);
        let pool = crate::mip::settings::thread_pool(settings.threads);
        let debug = settings
            .debug_solution
            .as_ref()
            .and_then(|x| DebugSolution::new(&solver.model, &problem, &postsolve, x));
        let postsolve = Arc::new(postsolve);
        let shared = RoundShared {
            debug,
            locks: Arc::new((0..n).map(|j| problem.locks(j)).collect()),
            tables: Arc::new(OnceLock::new()),
            lower: problem.lower.clone(),
            upper: problem.upper.clone(),
            problem: Arc::new(problem),
            original: solver.model.clone(),
            postsolve: postsolve.clone(),
            settings,
            extensions: solver.extensions.after(&postsolve, &solver.model),
            watches_nodes: solver.control.observers.iter().any(|o| o.watches_nodes()),
            statistics: solver.control.statistics.clone(),
            emits_events: solver.emits_events,
            rows: Vec::new(),
            conflicts: Vec::new(),
            clauses: Vec::new(),
            symmetry: None,
            pseudo: PseudoCosts::new(n),
            incumbent: None,
            cutoff: base_cutoff,
            lower_bound: f64::NEG_INFINITY,
            stop,
            root_iterations: 0,
            live: None,
            audience: Vec::new(),
            idle: None,
        };
        let first = Worker::new(&shared, 0)?;
        // Until the root is solved, the column bounds give the bound on the objective.
        let floor = shared.problem.round_bound(first.domain.floor());
        Ok(TreeSearch {
            shared,
            queue: NodeQueue::new(selector, unit.abs()),
            workers: vec![first],
            pool,
            root: None,
            info,
            start,
            status: SolveStatus::Optimal,
            left_bound: f64::INFINITY,
            unit,
            base_cutoff,
            last_report: 0.0,
            ticks_before: 0,
            side_ticks: 0,
            side_iterations: 0,
            next_sub_mip: 1,
            sub_mip_turn: 0,
            sub_mip_luck: 0,
            sub_mip_share: 0.9,
            plunge_ticks: 0,
            root_ticks: 0,
            relaxed: Vec::new(),
            may_restart: false,
            symmetry_done: false,
            restarts: 0,
            first_root: None,
            control: solver.control.clone(),
            best: Vec::new(),
            away: Vec::new(),
            files: None,
            root_done: false,
            root_is_ahead: true,
            proven_bound: floor,
            seconds_before: 0.0,
            last_checkpoint: start.elapsed().as_secs_f64(),
            file_problems: FileProblems::default(),
            spilling_failed: false,
            nodes_are_lost: false,
        })
    }

    /// The main loop: a ladder of due steps.
    pub fn run(&mut self) -> Result<SearchEnd, SolveError> {
        self.use_starts()?;
        if !self.root_done && !self.solve_root()? {
            return Ok(SearchEnd::Done);
        }
        self.report(None);
        loop {
            if let Some(status) = self.limit_reached() {
                self.status = status;
                return Ok(SearchEnd::Done);
            }
            if self.symmetry_is_due() {
                self.find_symmetry();
            }
            if self.opportunistic_is_due() {
                if self.run_opportunistically()? {
                    return Ok(SearchEnd::Done);
                }
                self.shared.settings.opportunistic = false;
            }
            let round = self.next_round();
            if round.is_empty() {
                debug_assert!(self.queue.is_empty());
                // A new solution may have closed all nodes in memory while nodes in files remain.
                self.balance_memory();
                if self.queue.is_empty() && !self.nodes_are_lost {
                    return Ok(SearchEnd::Done);
                }
                continue;
            }
            self.solve_round(round)?;
            self.balance_memory();
            if self.restart_is_due() {
                return Ok(SearchEnd::Restart);
            }
            while self.sub_mip_is_due() {
                self.run_sub_mips()?;
            }
            if self.checkpoint_is_due() {
                self.write_checkpoint();
            }
            self.report_if_due();
        }
    }

    /// Returns whether a restart is due: the root node has fixed a fifth of the integer columns
    /// since presolve.
    pub fn restart_is_due(&mut self) -> bool {
        if !std::mem::take(&mut self.may_restart) || self.queue.is_empty() || self.shared.stopped()
        {
            return false;
        }
        let p = &self.shared.problem;
        let open = |l: &[f64], u: &[f64]| {
            (0..p.num_cols())
                .filter(|&j| p.integer[j] && l[j] < u[j])
                .count()
        };
        let before = open(&p.lower, &p.upper);
        let now = open(&self.shared.lower, &self.shared.upper);
        now * 5 <= before * 4
    }

    pub fn limit_reached(&mut self) -> Option<SolveStatus> {
        let l = &self.shared.settings.limits;
        let ticks: u64 = self.ticks();
        if self.nodes_are_lost {
            Some(SolveStatus::MemoryLimit)
        } else if self.queue.is_empty() {
            None
        } else if l.nodes.is_some_and(|n| self.info.nodes >= n) {
            Some(SolveStatus::NodeLimit)
        } else if l.ticks.is_some_and(|t| ticks >= t) {
            Some(SolveStatus::TickLimit)
        } else if self.memory_is_full() {
            Some(SolveStatus::MemoryLimit)
        } else {
            self.shared.stop.status()
        }
    }

    /// Wall-clock seconds of this run.
    pub fn seconds(&self) -> f64 {
        self.start.elapsed().as_secs_f64()
    }

    pub fn iterations(&self) -> u64 {
        self.side_iterations
            + self.away.iter().map(|w| w.iterations).sum::<u64>()
            + self
                .workers
                .iter()
                .map(|w| w.relax.iterations())
                .sum::<u64>()
    }

    pub fn ticks(&self) -> u64 {
        self.ticks_before
            + self.side_ticks
            + self.away.iter().map(|w| w.ticks).sum::<u64>()
            + self.workers.iter().map(|w| w.ticks()).sum::<u64>()
    }

    /// Bound on the objective of every solution: the best of all proven ones.
    ///
    /// The open nodes' bound may be worse than the bound of the root before a restart, because its
    /// cuts are gone.
    pub fn bound(&self) -> f64 {
        let bound = self.open_bound().max(self.proven_bound);
        // A solution may be better than the proven bound within tolerances.
        let best = self.shared.incumbent.as_ref();
        best.map_or(bound, |s| bound.min(s.objective))
    }

    /// Bound of the open nodes, and of the nodes closed because of the incumbent.
    fn open_bound(&self) -> f64 {
        if self.root_is_ahead {
            return f64::NEG_INFINITY;
        }
        let open = self.queue.lowest_bound().unwrap_or(f64::INFINITY);
        let open = self.away.iter().fold(open, |a, w| a.min(w.bound));
        let filed = self
            .files
            .as_ref()
            .map_or(f64::INFINITY, NodeFiles::lowest_bound);
        let bound = open.min(filed).min(self.left_bound);
        // Closed nodes are no better than the incumbent, rounding aside.
        let best = self.shared.incumbent.as_ref();
        bound.min(best.map_or(self.base_cutoff, |s| s.objective))
    }

    pub fn result(mut self) -> SolveResult {
        self.info.ticks = self.ticks();
        self.info.lp_iterations = self.iterations();
        self.info.unproven_bounds += self.workers.iter().map(|w| w.relax.unproven).sum::<u64>();
        self.info.seconds = self.seconds_before + self.seconds();
        self.info.restarts = u64::from(self.restarts);
        self.report_end();
        let bound = self.bound();
        let status = match (self.status, &self.shared.incumbent) {
            (SolveStatus::Optimal, _) if self.left_bound < self.shared.limit() => {
                SolveStatus::Unresolved
            }
            (SolveStatus::Optimal, None) if self.shared.settings.cutoff.is_some() => {
                SolveStatus::Cutoff
            }
            (SolveStatus::Optimal, None) => SolveStatus::Infeasible,
            (status, _) => status,
        };
        let model = &self.shared.original;
        SolveResult {
            status,
            solution: (self.shared.incumbent.as_ref()).map(|i| i.solution(model)),
            pool: (self.best.iter())
                .take(self.shared.settings.pool_size.max(1))
                .map(|i| i.solution(model))
                .collect(),
            certificate_problem: None,
            file_problems: self.file_problems,
            exact: None,
            dual_bound: bound / self.unit,
            info: self.info,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::TreeSearch;
    use crate::mip::clock::{Stop, StopReason};
    use crate::mip::outcome::Info;
    use crate::mip::presolve::{self, PresolveContext, PresolveEnd};
    use crate::mip::problem::Problem;
    use crate::mip::{Settings, Solver};
    use remat_lp::{Bounds, ModelBuilder, Sense};
    use std::time::Instant;

    #[test]
    fn rounding_stops_propagating_when_the_search_is_stopped() {
        let mut b = ModelBuilder::new(Sense::Maximise);
        let cols: Vec<_> = (0..3)
            .map(|_| b.add_col(1.0, Bounds::new(0.0, 1.0)))
            .collect();
        cols.iter().for_each(|&c| b.set_integer(c, true));
        let row = cols.iter().map(|&c| (c, 1.0));
        b.add_row(Bounds::new(f64::NEG_INFINITY, 1.0), row);
        let settings = Settings {
            presolve: false,
            ..Settings::default()
        };
        let solver = Solver::new(b.build().unwrap(), settings);
        let stop = Stop::default();
        let problem = Problem::from_model(&solver.model);
        let context = PresolveContext::default();
        let settings = &solver.settings;
        let reduced = presolve::run(
            problem,
            settings,
            false,
            f64::INFINITY,
            stop.flag(),
            context,
        );
        let PresolveEnd::Reduced(problem, postsolve) = reduced else {
            panic!("nothing is wrong with the program");
        };
        let (now, info) = (Instant::now(), Info::default());
        let search = TreeSearch::new(&solver, *problem, postsolve, stop.clone(), now, info);
        let mut search = search.unwrap();
        let x = [0.6, 0.6, 0.6];
        let worker = &mut search.workers[0];
        let rounded = worker.round_with_propagation(&search.shared, &x);
        assert_eq!(rounded, [1.0, 0.0, 0.0]);
        stop.raise(StopReason::Interrupt);
        let rounded = worker.round_with_propagation(&search.shared, &x);
        assert_eq!(rounded, [1.0, 1.0, 1.0]);
    }
}
