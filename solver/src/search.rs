//! The search: presolve, root, then rounds of plunges until no node is open.

use crate::branching::pseudocost::PseudoCosts;
use crate::extend::{
    BestBound, BestEstimate, BranchingRule, DepthFirst, Heuristic, NodeSelector, Propagator,
    Separator,
};
use crate::outcome::{Info, Solution, SolveError, SolveResult, SolveStatus};
use crate::presolve::{self, Presolved};
use crate::problem::Problem;
use crate::root::{self, RootData, RootEnd};
use crate::settings::{NodeSelection, Settings};
use crate::tree::{Node, NodeQueue};
use crate::worker::{Incumbent, Report, Shared, Worker};
use rayon::prelude::*;
use remat_lp::{Model, Sense};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// What a domain plugged in.
#[derive(Clone, Default)]
pub(crate) struct Extensions {
    pub branching: Vec<Arc<dyn BranchingRule>>,
    pub separators: Vec<Arc<dyn Separator>>,
    pub heuristics: Vec<Arc<dyn Heuristic>>,
    pub propagators: Vec<Arc<dyn Propagator>>,
    pub selector: Option<Arc<dyn NodeSelector>>,
}

impl Extensions {
    fn need_columns(&self) -> bool {
        !(self.branching.is_empty()
            && self.separators.is_empty()
            && self.heuristics.is_empty()
            && self.propagators.is_empty())
    }
}

/// A mixed-integer program about to be solved.
///
/// ```
/// use remat_lp::{ModelBuilder, Sense};
/// use remat_solver::{Settings, SolveStatus, Solver};
/// // max 5x + 4y, 6x + 4y <= 24, x + 2y <= 6, integers
/// let mut b = ModelBuilder::new(Sense::Maximise);
/// let x = b.add_col(5.0, 0.0..);
/// let y = b.add_col(4.0, 0.0..);
/// b.set_integer(x, true);
/// b.set_integer(y, true);
/// b.add_row(..=24.0, [(x, 6.0), (y, 4.0)]);
/// b.add_row(..=6.0, [(x, 1.0), (y, 2.0)]);
/// let result = Solver::new(b.build().unwrap(), Settings::default()).run().unwrap();
/// assert_eq!(result.status, SolveStatus::Optimal);
/// assert_eq!(result.solution.unwrap().objective, 20.0);
/// ```
pub struct Solver {
    model: Arc<Model>,
    settings: Settings,
    extensions: Extensions,
}

impl Solver {
    /// A solver for a model; integer columns are those marked as such.
    pub fn new(model: impl Into<Arc<Model>>, settings: Settings) -> Solver {
        Solver {
            model: model.into(),
            settings,
            extensions: Extensions::default(),
        }
    }

    /// Asks this rule before the built-in branching; earlier ones first.
    pub fn with_branching(mut self, rule: Arc<dyn BranchingRule>) -> Self {
        self.extensions.branching.push(rule);
        self
    }

    /// Separates at every node.
    pub fn with_separator(mut self, separator: Arc<dyn Separator>) -> Self {
        self.extensions.separators.push(separator);
        self
    }

    /// Runs at every node.
    pub fn with_heuristic(mut self, heuristic: Arc<dyn Heuristic>) -> Self {
        self.extensions.heuristics.push(heuristic);
        self
    }

    /// Propagates at every node.
    pub fn with_propagator(mut self, propagator: Arc<dyn Propagator>) -> Self {
        self.extensions.propagators.push(propagator);
        self
    }

    /// Orders the open nodes, in place of the selection of the settings.
    pub fn with_selector(mut self, selector: Arc<dyn NodeSelector>) -> Self {
        self.extensions.selector = Some(selector);
        self
    }

    /// Solves.
    ///
    /// # Errors
    /// A setting that makes no sense, or a model the linear programming core refuses.
    pub fn run(&self) -> Result<SolveResult, SolveError> {
        self.check_settings()?;
        let start = Instant::now();
        let stop = Arc::new(AtomicBool::new(false));
        let done = AtomicBool::new(false);
        let limits = &self.settings.limits;
        std::thread::scope(|scope| {
            if limits.seconds.is_some() || limits.interrupt.is_some() {
                // The clock and the outside world reach the search through one flag.
                scope.spawn(|| {
                    let mut nap = Duration::from_micros(200);
                    while !done.load(Ordering::Acquire) {
                        let late = limits
                            .seconds
                            .is_some_and(|s| start.elapsed().as_secs_f64() >= s);
                        let asked = limits
                            .interrupt
                            .as_ref()
                            .is_some_and(|i| i.load(Ordering::Relaxed));
                        if late || asked {
                            stop.store(true, Ordering::Relaxed);
                        }
                        std::thread::sleep(nap);
                        nap = (nap * 2).min(Duration::from_millis(10));
                    }
                });
            }
            let result = self.run_until(&stop, start);
            done.store(true, Ordering::Release);
            result
        })
    }

    fn check_settings(&self) -> Result<(), SolveError> {
        let s = &self.settings;
        let bad = |name, value: f64, expected| {
            Err(SolveError::Setting {
                name,
                value: value.to_string(),
                expected,
            })
        };
        for (name, v) in [
            ("relative_gap", s.relative_gap),
            ("absolute_gap", s.absolute_gap),
        ] {
            if v.is_nan() || v < 0.0 {
                return bad(name, v, "a number not below 0");
            }
        }
        for (name, v) in [
            ("feasibility_tolerance", s.feasibility_tolerance),
            ("integrality_tolerance", s.integrality_tolerance),
        ] {
            if !(1e-10..=1e-3).contains(&v) {
                return bad(name, v, "a number between 1e-10 and 1e-3");
            }
        }
        if s.round_width == 0 || s.round_width > 255 {
            return bad(
                "round_width",
                s.round_width as f64,
                "a number between 1 and 255",
            );
        }
        Ok(())
    }

    fn run_until(&self, stop: &Arc<AtomicBool>, start: Instant) -> Result<SolveResult, SolveError> {
        let problem = Problem::from_model(&self.model);
        let reduce = self.settings.presolve && !self.extensions.need_columns();
        let sign = self.model.sense().sign();
        let mut info = Info::default();
        let (problem, postsolve) = match presolve::run(problem, &self.settings, reduce, stop) {
            Presolved::Infeasible => {
                info.seconds = start.elapsed().as_secs_f64();
                return Ok(SolveResult {
                    status: SolveStatus::Infeasible,
                    solution: None,
                    dual_bound: sign * self.settings.cutoff.map_or(f64::INFINITY, |c| sign * c),
                    info,
                });
            }
            Presolved::Reduced(p, post) => (*p, post),
        };
        info.presolved_rows = problem.num_rows() as u64;
        info.presolved_cols = problem.num_cols() as u64;
        let mut search = Search::new(self, problem, postsolve, stop.clone(), start, info)?;
        search.may_restart = reduce && self.settings.restarts;
        while search.run()? == RunEnd::Restart {
            let mut p = (*search.shared.problem).clone();
            for j in 0..p.num_cols() {
                if p.integer[j] {
                    p.lower[j] = search.shared.lower[j];
                    p.upper[j] = search.shared.upper[j];
                }
            }
            match presolve::run(p, &self.settings, true, stop) {
                // Nothing better than the best solution is left.
                Presolved::Infeasible => {
                    search.queue.prune(f64::NEG_INFINITY);
                    break;
                }
                Presolved::Reduced(p, post) => {
                    let post = search.shared.postsolve.then(&post);
                    let mut next = Search::new(self, *p, post, stop.clone(), start, search.info)?;
                    next.side_ticks = search.ticks();
                    next.side_iterations = search.iterations();
                    next.info.unproven_bounds +=
                        search.workers.iter().map(|w| w.relax.unproven).sum::<u64>();
                    next.unresolved_bound = search.unresolved_bound;
                    next.restarts = search.restarts + 1;
                    next.may_restart = next.restarts < 4;
                    next.first_root = search.first_root;
                    next.step = search.step.max(search.shared.problem.objective_step);
                    next.shared.settings.starts.clear();
                    if let Some(mut best) = search.shared.incumbent.take() {
                        best.x = next.shared.postsolve.project(&best.original);
                        next.shared.cutoff = next.shared.cutoff.min(search.shared.cutoff);
                        next.shared.incumbent = Some(best);
                    }
                    search = next;
                }
            }
        }
        Ok(search.result())
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RunEnd {
    Done,
    /// So much got fixed that presolve and the root are worth another turn.
    Restart,
}

/// Most nodes of one plunge.
const PLUNGE: u64 = 100;

struct Search {
    shared: Shared,
    queue: NodeQueue,
    workers: Vec<Worker>,
    pool: Option<rayon::ThreadPool>,
    root: Option<RootData>,
    info: Info,
    start: Instant,
    status: SolveStatus,
    unresolved_bound: f64,
    sense: Sense,
    base_cutoff: f64,
    last_line: f64,
    side_ticks: u64,
    side_iterations: u64,
    next_sub_mip: u64,
    sub_mip_turn: u64,
    may_restart: bool,
    restarts: u32,
    first_root: Option<f64>,
    /// Largest step of the objective before restarts.
    step: f64,
}

impl Search {
    fn new(
        solver: &Solver,
        problem: Problem,
        postsolve: presolve::Postsolve,
        stop: Arc<AtomicBool>,
        start: Instant,
        info: Info,
    ) -> Result<Search, SolveError> {
        let settings = solver.settings.clone();
        let selector: Arc<dyn NodeSelector> =
            match (&solver.extensions.selector, settings.node_selection) {
                (Some(s), _) => s.clone(),
                (None, NodeSelection::BestBound) => Arc::new(BestBound),
                (None, NodeSelection::BestEstimate) => Arc::new(BestEstimate),
                (None, NodeSelection::DepthFirst) => Arc::new(DepthFirst),
            };
        let n = problem.num_cols();
        let sense = solver.model.sense();
        let base_cutoff = settings.cutoff.map_or(f64::INFINITY, |c| sense.sign() * c);
        let pool = if settings.threads > 1 {
            rayon::ThreadPoolBuilder::new()
                .num_threads(settings.threads)
                .build()
                .ok()
        } else {
            None
        };
        let shared = Shared {
            locks: (0..n).map(|j| problem.locks(j)).collect(),
            lower: problem.lower.clone(),
            upper: problem.upper.clone(),
            problem: Arc::new(problem),
            original: solver.model.clone(),
            postsolve,
            settings,
            extensions: solver.extensions.clone(),
            rows: Vec::new(),
            pseudo: PseudoCosts::new(n),
            incumbent: None,
            cutoff: base_cutoff,
            lower_bound: f64::NEG_INFINITY,
            stop,
            root_iterations: 0,
        };
        let first = Worker::new(&shared, 0)?;
        Ok(Search {
            shared,
            queue: NodeQueue::new(selector),
            workers: vec![first],
            pool,
            root: None,
            info,
            start,
            status: SolveStatus::Optimal,
            unresolved_bound: f64::INFINITY,
            sense,
            base_cutoff,
            last_line: 0.0,
            side_ticks: 0,
            side_iterations: 0,
            next_sub_mip: 20,
            sub_mip_turn: 0,
            may_restart: false,
            restarts: 0,
            first_root: None,
            step: 0.0,
        })
    }

    /// The ladder.
    fn run(&mut self) -> Result<RunEnd, SolveError> {
        self.use_starts()?;
        if !self.solve_root()? {
            return Ok(RunEnd::Done);
        }
        loop {
            if let Some(status) = self.limit_reached() {
                self.status = status;
                return Ok(RunEnd::Done);
            }
            let round = self.next_round();
            if round.is_empty() {
                return Ok(RunEnd::Done);
            }
            self.solve_round(round)?;
            if self.restart_is_due() {
                return Ok(RunEnd::Restart);
            }
            if self.sub_mip_is_due() {
                self.run_sub_mip()?;
            }
            self.line_if_due();
        }
    }

    /// After the root node: whether a fifth of the integer columns got fixed since presolve.
    fn restart_is_due(&mut self) -> bool {
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

    fn use_starts(&mut self) -> Result<(), SolveError> {
        let starts = std::mem::take(&mut self.shared.settings.starts);
        let mut worker = self.workers.remove(0);
        worker.begin(&self.shared);
        for x in &starts {
            if x.len() == self.shared.original.num_cols() {
                worker.start(&self.shared, x)?;
            }
        }
        let report = std::mem::replace(&mut worker.report, Report::new());
        self.workers.push(worker);
        self.merge(vec![report]);
        Ok(())
    }

    /// Relaxation, cuts and first heuristics; whether there is a tree to search.
    fn solve_root(&mut self) -> Result<bool, SolveError> {
        let mut worker = self.workers.remove(0);
        worker.begin(&self.shared);
        let end = root::solve(&mut self.shared, &mut worker)?;
        let report = std::mem::replace(&mut worker.report, Report::new());
        self.workers.push(worker);
        let end = match end {
            RootEnd::Open(data) => {
                self.shared.lower_bound = data.bound;
                self.shared.root_iterations = data.iterations;
                let first = *self.first_root.get_or_insert(data.first_objective);
                self.info.root_lp = self.sense.sign() * first;
                self.info.root_bound = self.sense.sign() * data.bound;
                self.info.cuts = self.shared.rows.len() as u64;
                let node = Node {
                    id: 0,
                    depth: 0,
                    bound: data.bound,
                    estimate: data.bound,
                    path: None,
                    basis: None,
                    branched: None,
                };
                self.root = Some(data);
                self.queue.push(node);
                true
            }
            RootEnd::Closed => false,
            RootEnd::Stopped => {
                // Nothing is known.
                self.queue.push(Node {
                    id: 0,
                    depth: 0,
                    bound: f64::NEG_INFINITY,
                    estimate: f64::NEG_INFINITY,
                    path: None,
                    basis: None,
                    branched: None,
                });
                true
            }
            RootEnd::Unbounded => {
                self.find_any_point()?;
                false
            }
        };
        self.merge(vec![report]);
        Ok(end)
    }

    /// The relaxation is unbounded. With rational data the program is unbounded exactly if it has a feasible point
    /// (Meyer 1974).
    fn find_any_point(&mut self) -> Result<(), SolveError> {
        let mut p = (*self.shared.problem).clone();
        p.cost.fill(0.0);
        p.offset = 0.0;
        let mut settings = self.shared.settings.clone();
        settings.cutoff = None;
        settings.limits.interrupt = Some(self.shared.stop.clone());
        settings.log = false;
        let inner = Solver {
            model: Arc::new(p.to_model()?),
            settings,
            extensions: self.shared.extensions.clone(),
        };
        let result = inner.run()?;
        self.info.nodes += result.info.nodes;
        self.status = match result.status {
            SolveStatus::Optimal => SolveStatus::Unbounded,
            other => other,
        };
        self.unresolved_bound = f64::NEG_INFINITY;
        if self.status == SolveStatus::Infeasible {
            self.unresolved_bound = f64::INFINITY;
        }
        if let Some(s) = result.solution {
            let mut worker = self.workers.remove(0);
            worker.begin(&self.shared);
            worker.offer(&self.shared, &s.x, "feasibility")?;
            let report = std::mem::replace(&mut worker.report, Report::new());
            self.workers.push(worker);
            self.merge(vec![report]);
        }
        Ok(())
    }

    fn limit_reached(&mut self) -> Option<SolveStatus> {
        let l = &self.shared.settings.limits;
        let ticks: u64 = self.ticks();
        if self.queue.is_empty() {
            None
        } else if l.nodes.is_some_and(|n| self.info.nodes >= n) {
            Some(SolveStatus::NodeLimit)
        } else if l.ticks.is_some_and(|t| ticks >= t) {
            Some(SolveStatus::TickLimit)
        } else if self.shared.stopped() {
            let late = l
                .seconds
                .is_some_and(|s| self.start.elapsed().as_secs_f64() >= s);
            Some(if late {
                SolveStatus::TimeLimit
            } else {
                SolveStatus::Interrupted
            })
        } else {
            None
        }
    }

    fn iterations(&self) -> u64 {
        self.side_iterations
            + self
                .workers
                .iter()
                .map(|w| w.relax.iterations())
                .sum::<u64>()
    }

    fn ticks(&self) -> u64 {
        self.side_ticks + self.workers.iter().map(|w| w.ticks()).sum::<u64>()
    }

    /// The nodes of the next round: one while the tree is small, then more.
    fn next_round(&mut self) -> Vec<Node> {
        self.queue.prune(self.shared.cutoff);
        let width = (self.queue.len() / 8).clamp(1, self.shared.settings.round_width);
        self.shared.lower_bound = self.queue.lowest_bound().unwrap_or(self.shared.cutoff);
        (0..width).map_while(|_| self.queue.pop()).collect()
    }

    /// Every node to a worker of its own; results are merged in order, so the number of threads does not matter.
    fn solve_round(&mut self, round: Vec<Node>) -> Result<(), SolveError> {
        while self.workers.len() < round.len() {
            self.workers
                .push(Worker::new(&self.shared, self.workers.len() as u64)?);
        }
        // The root alone first: what it fixes may be worth a restart.
        let most = if self.may_restart { 1 } else { PLUNGE };
        let limit = self.shared.settings.limits.nodes.map_or(most, |n| {
            most.min((n.saturating_sub(self.info.nodes) / round.len() as u64).max(1))
        });
        let shared = &self.shared;
        let jobs = self.workers.iter_mut().zip(round);
        let reports: Vec<Result<Report, remat_lp::ModelError>> = match &self.pool {
            Some(pool) => {
                let jobs: Vec<_> = jobs.collect();
                pool.install(|| {
                    jobs.into_par_iter()
                        .map(|(w, n)| w.run(shared, n, limit))
                        .collect()
                })
            }
            None => jobs.map(|(w, n)| w.run(shared, n, limit)).collect(),
        };
        let reports = reports.into_iter().collect::<Result<Vec<_>, _>>()?;
        self.merge(reports);
        Ok(())
    }

    fn merge(&mut self, reports: Vec<Report>) {
        let mut improved = false;
        for r in reports {
            self.info.nodes += r.nodes;
            self.info.strong_branchings += r.strong;
            self.info.refused += r.refused;
            self.unresolved_bound = self.unresolved_bound.min(r.unresolved_bound);
            for o in r.observations {
                self.shared.pseudo.observe(o);
            }
            self.shared.rows.extend(r.rows);
            if let Some((lower, upper)) = r.root_bounds {
                for j in 0..lower.len() {
                    self.shared.lower[j] = self.shared.lower[j].max(lower[j]);
                    self.shared.upper[j] = self.shared.upper[j].min(upper[j]);
                }
            }
            for s in r.solutions {
                improved |= self.accept(s);
            }
            for n in r.open {
                self.queue.push(n);
            }
        }
        if improved {
            self.queue.prune(self.shared.cutoff);
            if self.shared.settings.reduced_cost_fixing
                && let Some(root) = &self.root
            {
                root.tighten(&mut self.shared);
            }
        }
    }

    fn accept(&mut self, s: Incumbent) -> bool {
        if self
            .shared
            .incumbent
            .as_ref()
            .is_some_and(|i| i.objective <= s.objective)
        {
            return false;
        }
        self.shared.cutoff = self.shared.cutoff.min(self.shared.cutoff_for(s.objective));
        self.shared.incumbent = Some(s);
        self.line();
        true
    }

    fn sub_mip_is_due(&self) -> bool {
        let s = &self.shared.settings;
        s.heuristics
            && s.sub_mips
            && self.info.nodes >= self.next_sub_mip
            && !self.queue.is_empty()
            && !self.shared.stopped()
            && !self.shared.extensions.need_columns()
    }

    fn run_sub_mip(&mut self) -> Result<(), SolveError> {
        self.next_sub_mip = self.info.nodes + 100 + self.info.nodes / 4;
        let Some(root) = &self.root else {
            return Ok(());
        };
        let turn = self.sub_mip_turn;
        self.sub_mip_turn += 1;
        let main = self.ticks() - self.side_ticks;
        if self.side_ticks > main / 4 {
            return Ok(());
        }
        let found = crate::heuristics::neighbourhood::run(&self.shared, root, turn, main / 10)?;
        self.side_ticks += found.ticks;
        self.side_iterations += found.iterations;
        if let Some(x) = found.x {
            let mut worker = self.workers.remove(0);
            worker.begin(&self.shared);
            worker.offer(&self.shared, &x, found.name)?;
            let report = std::mem::replace(&mut worker.report, Report::new());
            self.workers.insert(0, worker);
            self.merge(vec![report]);
        }
        Ok(())
    }

    fn bound(&self) -> f64 {
        let open = self.queue.lowest_bound().unwrap_or(f64::INFINITY);
        let bound = open.min(self.unresolved_bound);
        let Some(s) = &self.shared.incumbent else {
            return bound.min(self.base_cutoff);
        };
        // A restart may leave a problem with another step; the one that proved the cutoff counts.
        let step = self.shared.problem.objective_step.max(self.step);
        let closed = if step > 0.0 && self.shared.cutoff > s.objective - step {
            // The objective has no value between the cutoff and this.
            s.objective
        } else {
            self.shared.cutoff
        };
        bound.min(closed)
    }

    fn line_if_due(&mut self) {
        if self.shared.settings.log && self.start.elapsed().as_secs_f64() > self.last_line + 5.0 {
            self.line();
        }
    }

    fn line(&mut self) {
        if !self.shared.settings.log {
            return;
        }
        self.last_line = self.start.elapsed().as_secs_f64();
        let (best, by) = self
            .shared
            .incumbent
            .as_ref()
            .map_or((f64::INFINITY, "-"), |i| (i.objective, i.found_by));
        eprintln!(
            "{:>8.1}s {:>8} nodes {:>7} open {:>9} LP it  bound {:<18.9} best {:<18.9} {by}",
            self.last_line,
            self.info.nodes,
            self.queue.len(),
            self.workers
                .iter()
                .map(|w| w.relax.iterations())
                .sum::<u64>(),
            self.sense.sign() * self.bound(),
            self.sense.sign() * best,
        );
    }

    fn result(mut self) -> SolveResult {
        let sign = self.sense.sign();
        self.info.ticks = self.ticks();
        self.info.lp_iterations = self.iterations();
        self.info.unproven_bounds += self.workers.iter().map(|w| w.relax.unproven).sum::<u64>();
        self.info.seconds = self.start.elapsed().as_secs_f64();
        if self.shared.settings.log {
            for (k, w) in self.workers.iter().enumerate() {
                eprintln!(
                    "  worker {k}: LP iterations {} in {} nodes, {} strong branching, {} dives, {} in all",
                    w.node_iterations,
                    w.node_solves,
                    w.strong_iterations,
                    w.dive_iterations,
                    w.relax.iterations()
                );
            }
        }
        let bound = self.bound();
        let status = match (self.status, &self.shared.incumbent) {
            (SolveStatus::Optimal, _) if self.unresolved_bound < self.shared.cutoff => {
                SolveStatus::Unresolved
            }
            (SolveStatus::Optimal, None) => SolveStatus::Infeasible,
            (status, _) => status,
        };
        SolveResult {
            status,
            solution: self.shared.incumbent.map(|i| Solution {
                objective: self.shared.original.objective(&i.original),
                x: i.original,
                found_by: i.found_by,
            }),
            dual_bound: sign * bound,
            info: self.info,
        }
    }
}
