//! A solve from the model to the answer: presolve, the search with its restarts, confirmation of
//! the claim, and its proof.

mod confirm;
mod steps;

use crate::mip::certificate::{Settling, claim};
use crate::mip::clock::{self, Stop};
use crate::mip::outcome::{FileProblems, Info, SolveError, SolveResult, SolveStatus};
use crate::mip::presolve::{self, PresolveContext, PresolveEnd};
use crate::mip::problem::Problem;
use crate::mip::search::{SearchEnd, TreeSearch};
use crate::mip::solver::Solver;
use std::time::Instant;

impl Solver {
    /// Solves.
    ///
    /// # Errors
    /// If a setting is invalid, or the linear programming core refuses the model.
    ///
    /// # Panics
    /// With the panic of an extension or observer, on whichever thread it was raised. The other
    /// threads stop at their next node, and the results of the search are lost.
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

    /// Returns whether presolve steps of extensions run first. Proofs refer to the original model.
    fn takes_steps(&self) -> bool {
        let needed = || self.extensions.needed(self.model.num_cols());
        let proves = self.settings.exact || self.control.certificate.is_some();
        self.settings.presolve
            && !self.extensions.steps.is_empty()
            && !proves
            && !needed().contains(&true)
    }

    /// Solves inside another search, whose flag stops it. No further thread watches a clock.
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

    /// Confirms the claim in rational numbers and writes the certificate, if requested.
    fn prove(&self, result: &mut SolveResult, stop: &Stop) {
        let path = self.control.certificate.as_ref();
        if self.settings.nesting > 0 || (path.is_none() && !self.settings.exact) {
            return;
        }
        let stated = self.extensions.stated.as_deref();
        let model = stated.map_or(&*self.model, |stated| stated.model());
        let lazy = stated.is_none() && self.extensions.separators.iter().any(|s| s.is_lazy());
        let settled = if lazy || self.settings.cutoff.is_some() {
            Err("lazy rows and cutoffs are no part of the model".into())
        } else if let Some(rounded) = model.rounded() {
            Err(rounded.to_string())
        } else {
            Settling::of(model, result, &self.settings, stop.flag())
                .with_stated(stated)
                .run()
        };
        if let Some(path) = path {
            match &settled {
                Ok(settled) => {
                    let written = settled.write(path, model);
                    result.file_problems.certificate = written.err().map(|e| e.to_string());
                }
                Err(problem) => {
                    result.certificate_problem = Some(format!("{}: {problem}", path.display()));
                }
            }
        }
        if self.settings.exact {
            claim::tell(result, model, settled, stop.status());
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
        // Writes the file at once, so that a failure shows early.
        search.write_checkpoint();
        search = self.advance(search, stop, start)?;
        search.write_checkpoint();
        Ok(search.result())
    }

    /// Searches to the end, repeating presolve and root when many columns are fixed.
    fn advance(
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
                // No solution better than the incumbent is left.
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
                    // Bounds proven by the tree remain valid if the time ends before the new root.
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

    /// Environment for the presolve of a problem that has these columns of the model.
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

    /// A search of the presolved problem, or the result if presolve solves it.
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
        // In restricted programs only better solutions matter; a complete program needs a correct
        // status.
        let cutoff = match (self.settings.nesting, self.settings.cutoff) {
            (1.., Some(c)) => problem.unit * c,
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
