//! The way in: a model, settings and extensions, then presolve, search and restarts.

use crate::mip::certificate::{Settling, claim};
use crate::mip::clock::{self, Stop};
use crate::mip::control::Control;
use crate::mip::extend::{
    BranchingRule, Heuristic, NodeSelector, PresolveStep, Propagator, Separator,
};
use crate::mip::outcome::{FileProblems, Info, SolveError, SolveResult, SolveStatus};
use crate::mip::presolve::{self, PresolveContext, PresolveEnd};
use crate::mip::problem::Problem;
use crate::mip::race;
use crate::mip::search::{SearchEnd, TreeSearch};
use crate::mip::settings::Settings;
use crate::mip::steps;
use remat_lp::Model;
use std::sync::Arc;
use std::time::Instant;

/// Extensions that a domain plugged in.
#[derive(Clone, Default)]
pub(crate) struct Extensions {
    pub branching: Vec<Arc<dyn BranchingRule>>,
    pub separators: Vec<Arc<dyn Separator>>,
    pub heuristics: Vec<Arc<dyn Heuristic>>,
    pub propagators: Vec<Arc<dyn Propagator>>,
    pub selector: Option<Arc<dyn NodeSelector>>,
    pub steps: Vec<Arc<dyn PresolveStep>>,
    /// True if they are at work on what presolve left, whose columns they all see.
    pub is_mapped: bool,
}

/// A mixed-integer program about to be solved.
///
/// ```
/// use remat_lp::{ModelBuilder, Sense};
/// use remat_solver::mip::{Settings, SolveStatus, Solver};
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
    pub(crate) model: Arc<Model>,
    pub(crate) settings: Settings,
    pub(crate) extensions: Extensions,
    pub(crate) control: Control,
    /// Off in a search inside a search, which is told of by that one.
    pub(crate) emits_events: bool,
}

impl Solver {
    /// A solver for a model; integer columns are those marked as such.
    pub fn new(model: impl Into<Arc<Model>>, settings: Settings) -> Solver {
        Solver {
            model: model.into(),
            settings,
            extensions: Extensions::default(),
            control: Control::default(),
            emits_events: true,
        }
    }

    pub(crate) fn without_events(mut self) -> Self {
        self.emits_events = false;
        self
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

    /// Takes this step before presolve, earlier ones first. They are left out where presolve is off,
    /// where an extension needs columns of the model given, and where a proof is wanted.
    pub fn with_presolve_step(mut self, step: Arc<dyn PresolveStep>) -> Self {
        self.extensions.steps.push(step);
        self
    }

    /// Observers and files of the search.
    pub fn with_control(mut self, control: Control) -> Self {
        self.control = control;
        self
    }

    /// Solves.
    ///
    /// # Errors
    /// A setting that makes no sense, or a model the linear programming core refuses.
    ///
    /// # Panics
    /// With the panic of an extension or observer, on whichever thread it was raised: the other
    /// threads stop at their next node, and the search is lost.
    pub fn run(&self) -> Result<SolveResult, SolveError> {
        self.settings.validate()?;
        if self.takes_steps() {
            return steps::run(self);
        }
        let start = Instant::now();
        let stop = Stop::default();
        clock::watched(&self.settings.limits, start, &stop, || {
            self.run_until(&stop, start)
        })
        .map_err(|e| SolveError::Thread {
            problem: e.to_string(),
        })?
    }

    /// Returns whether presolve steps of a domain come first. Proofs are of the model given.
    fn takes_steps(&self) -> bool {
        let needed = || self.extensions.needed(self.model.num_cols());
        let proves = self.settings.exact || self.control.certificate.is_some();
        self.settings.presolve
            && !self.extensions.steps.is_empty()
            && !proves
            && !needed().contains(&true)
    }

    /// Solves inside another search, which is told to stop by this flag: no further thread watches
    /// a clock.
    pub(crate) fn run_inside(&self, stop: &Stop) -> Result<SolveResult, SolveError> {
        self.settings.validate()?;
        self.run_until(stop, Instant::now())
    }

    fn run_until(&self, stop: &Stop, start: Instant) -> Result<SolveResult, SolveError> {
        let mut result = self.searched(stop, start)?;
        self.confirm(&mut result, stop)?;
        self.prove(&mut result, stop);
        Ok(result)
    }

    /// Settles the claim in rational numbers and writes the certificate, if they are wanted.
    fn prove(&self, result: &mut SolveResult, stop: &Stop) {
        let path = self.control.certificate.as_ref();
        if self.settings.nesting > 0 || (path.is_none() && !self.settings.exact) {
            return;
        }
        let lazy = self.extensions.separators.iter().any(|s| s.is_lazy());
        let settled = if lazy || self.settings.cutoff.is_some() {
            Err("lazy rows and cutoffs are no part of the model".into())
        } else if let Some(rounded) = self.model.rounded() {
            Err(rounded.to_string())
        } else {
            Settling::of(&self.model, result, &self.settings, stop.flag()).run()
        };
        if let Some(path) = path {
            match &settled {
                Ok(settled) => {
                    let written = settled.write(path, &self.model);
                    result.file_problems.certificate = written.err().map(|e| e.to_string());
                }
                Err(problem) => {
                    result.certificate_problem = Some(format!("{}: {problem}", path.display()));
                }
            }
        }
        if self.settings.exact {
            claim::tell(result, &self.model, settled, stop.status());
        }
    }

    pub(crate) fn searched(&self, stop: &Stop, start: Instant) -> Result<SolveResult, SolveError> {
        let reduce = self.settings.presolve && !self.extensions.need_every_column();
        let mut search = match &self.control.resume {
            Some(path) => TreeSearch::resume(self, path, stop.clone(), start)?,
            None => match self.presolved(reduce, stop, start)? {
                Ok(search) => search,
                Err(result) => return Ok(*result),
            },
        };
        // A file that cannot be written is better noticed now than in an hour.
        search.write_checkpoint();
        search = match self.races() {
            true => race::run(self, search, stop, start)?,
            false => self.advance(search, stop, start)?,
        };
        search.write_checkpoint();
        Ok(search.result())
    }

    /// Returns whether searches under several settings come first.
    fn races(&self) -> bool {
        let s = &self.settings;
        s.race > 1
            && s.nesting == 0
            && self.control.resume.is_none()
            && !self.control.observers.iter().any(|o| o.watches_nodes())
    }

    /// Searches to the end, with presolve and root anew where much got fixed.
    pub(crate) fn advance(
        &self,
        mut search: TreeSearch,
        stop: &Stop,
        start: Instant,
    ) -> Result<TreeSearch, SolveError> {
        while search.run()? == SearchEnd::Restart {
            let mut p = (*search.shared.problem).clone();
            for j in 0..p.num_cols() {
                if p.integer[j] {
                    p.lower[j] = search.shared.lower[j];
                    p.upper[j] = search.shared.upper[j];
                }
            }
            match presolve::run(
                p,
                &self.settings,
                true,
                search.shared.cutoff,
                stop.flag(),
                self.presolve_context(&search.shared.postsolve.kept),
            ) {
                // Nothing better than the best solution is left.
                PresolveEnd::Infeasible => {
                    search.queue.prune(f64::NEG_INFINITY);
                    break;
                }
                PresolveEnd::Reduced(p, post) => {
                    let post = search.shared.postsolve.then(&post);
                    let mut next =
                        TreeSearch::new(self, *p, post, stop.clone(), start, search.info)?;
                    next.ticks_before = search.ticks() - search.side_ticks;
                    next.side_ticks = search.side_ticks;
                    next.side_iterations = search.iterations();
                    next.info.unproven_bounds +=
                        search.workers.iter().map(|w| w.relax.unproven).sum::<u64>();
                    next.left_bound = search.left_bound;
                    next.proven_bound = search.bound();
                    // What the tree has proven remains so if the time ends before the new root.
                    next.shared.lower_bound =
                        search.queue.lowest_bound().unwrap_or(f64::NEG_INFINITY);
                    next.restarts = search.restarts + 1;
                    next.may_restart = next.restarts < 4;
                    next.first_root = search.first_root;
                    next.best = std::mem::take(&mut search.best);
                    next.seconds_before = search.seconds_before;
                    next.last_checkpoint = search.last_checkpoint;
                    next.file_problems = search.file_problems;
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
        Ok(search)
    }

    /// Surroundings of the presolve of a problem that has these columns of the model.
    fn presolve_context(&self, kept: &[u32]) -> PresolveContext {
        let needed = self.extensions.needed(self.model.num_cols());
        let needed = match needed.contains(&true) {
            true => (kept.iter())
                .map(|&j| needed.get(j as usize).copied().unwrap_or(false))
                .collect(),
            false => Vec::new(),
        };
        PresolveContext {
            needed,
            statistics: self.control.statistics.clone(),
        }
    }

    /// A search of the presolved problem, or the result where presolve has found it.
    fn presolved(
        &self,
        reduce: bool,
        stop: &Stop,
        start: Instant,
    ) -> Result<Result<TreeSearch, Box<SolveResult>>, SolveError> {
        let problem = Problem::from_model(&self.model);
        let all: Vec<u32> = (0..problem.num_cols() as u32).collect();
        let sign = self.model.sense().sign();
        let mut info = Info::default();
        // Of restricted programs only what is better counts; a program of its own has a status.
        let cutoff = match (self.settings.nesting, self.settings.cutoff) {
            (1.., Some(c)) => sign * c,
            _ => f64::INFINITY,
        };
        let (problem, postsolve) = match presolve::run(
            problem,
            &self.settings,
            reduce,
            cutoff,
            stop.flag(),
            self.presolve_context(&all),
        ) {
            PresolveEnd::Infeasible => {
                info.seconds = start.elapsed().as_secs_f64();
                return Ok(Err(Box::new(SolveResult {
                    status: SolveStatus::Infeasible,
                    solution: None,
                    pool: Vec::new(),
                    certificate_problem: None,
                    file_problems: FileProblems::default(),
                    exact: None,
                    dual_bound: sign * f64::INFINITY,
                    info,
                })));
            }
            PresolveEnd::Reduced(p, post) => (*p, post),
        };
        info.presolved_rows = problem.num_rows() as u64;
        info.presolved_cols = problem.num_cols() as u64;
        let mut search = TreeSearch::new(self, problem, postsolve, stop.clone(), start, info)?;
        search.may_restart = reduce && self.settings.restarts;
        Ok(Ok(search))
    }
}
