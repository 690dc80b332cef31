//! The search: rounds of plunges until no node is open.

use super::bound::Steps;
use super::domain::{Domain, Progress};
use super::pool::Pool;
use super::settings::{PriceError, PriceInfo, PriceResult, PriceSettings};
use super::tree::{Node, NodeOf, Queue};
use super::worker::{DebugSolution, Report, Shared, Worker};
use crate::mip::outcome::SolveStatus;
use rayon::prelude::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// A problem about to be solved by branch-price-and-cut; see the [module](super) for an example.
pub struct BranchAndPrice<'a, D: Domain> {
    domain: &'a D,
    settings: PriceSettings,
    starts: Vec<Vec<(D::Column, f64)>>,
    debug: Option<Vec<(D::Column, f64)>>,
}

impl<'a, D: Domain> BranchAndPrice<'a, D> {
    /// A search over a domain.
    pub fn new(domain: &'a D, settings: PriceSettings) -> Self {
        BranchAndPrice {
            domain,
            settings,
            starts: Vec::new(),
            debug: None,
        }
    }

    /// Starts from a solution; one that the domain refuses is ignored.
    pub fn with_start(mut self, columns: Vec<(D::Column, f64)>) -> Self {
        self.starts.push(columns);
        self
    }

    /// Carries a known solution along: a bound above its objective at a node it is below, a separated row that cuts it
    /// off, or a branching that loses it ends the search with [`PriceError::DebugSolution`]. For tests of a domain.
    pub fn with_debug_solution(mut self, columns: Vec<(D::Column, f64)>) -> Self {
        self.debug = Some(columns);
        self
    }

    /// Solves.
    ///
    /// # Errors
    /// A setting that makes no sense, a row or column the linear programming core refuses, or a contradiction to the
    /// debug solution.
    pub fn run(self) -> Result<PriceResult<D::Column>, PriceError> {
        check(&self.settings)?;
        let start = Instant::now();
        let stop = Arc::new(AtomicBool::new(false));
        let done = AtomicBool::new(false);
        let limits = self.settings.limits.clone();
        std::thread::scope(|scope| {
            if limits.seconds.is_some() || limits.interrupt.is_some() {
                // The clock and the outside world reach the search through one flag.
                scope.spawn(|| {
                    while !done.load(Ordering::Acquire) {
                        let late = limits
                            .seconds
                            .is_some_and(|s| start.elapsed().as_secs_f64() >= s);
                        let flag = limits.interrupt.as_ref();
                        if late || flag.is_some_and(|i| i.load(Ordering::Relaxed)) {
                            stop.store(true, Ordering::Relaxed);
                        }
                        std::thread::sleep(Duration::from_millis(2));
                    }
                });
            }
            let result = Search::new(self, stop.clone(), start).and_then(Search::run);
            done.store(true, Ordering::Release);
            result
        })
    }
}

fn check(s: &PriceSettings) -> Result<(), PriceError> {
    let bad = |name, value: f64, expected| {
        Err(PriceError::Setting {
            name,
            value: value.to_string(),
            expected,
        })
    };
    let gaps = [
        ("relative_gap", s.relative_gap),
        ("absolute_gap", s.absolute_gap),
    ];
    let tolerances = [
        ("reduced_cost_tolerance", s.reduced_cost_tolerance),
        ("integrality_tolerance", s.integrality_tolerance),
    ];
    if let Some((name, v, expected)) = crate::mip::settings::out_of_range(&gaps, &tolerances) {
        return bad(name, v, expected);
    }
    if let Some(bytes) = s.limits.memory_bytes {
        return bad("memory_bytes", bytes as f64, "none: it is not watched here");
    }
    if !(0.0..1.0).contains(&s.smoothing) {
        return bad("smoothing", s.smoothing, "a number from 0 to less than 1");
    }
    for (name, v) in [
        ("columns_per_round", s.columns_per_round),
        ("round_width", s.round_width),
        ("plunge", s.plunge as usize),
    ] {
        if v == 0 {
            return bad(name, 0.0, "a number above 0");
        }
    }
    Ok(())
}

struct Search<'a, D: Domain> {
    shared: Shared<'a, D>,
    queue: Queue<D::Column, D::Row>,
    workers: Vec<Worker<'a, D>>,
    pool: Option<rayon::ThreadPool>,
    info: PriceInfo,
    start: Instant,
    leaf_bound: f64,
    next_id: u64,
    next_restricted: u64,
    last_line: f64,
}

impl<'a, D: Domain> Search<'a, D> {
    fn new(
        problem: BranchAndPrice<'a, D>,
        stop: Arc<AtomicBool>,
        start: Instant,
    ) -> Result<Self, PriceError> {
        let settings = problem.settings;
        let domain = problem.domain;
        let pool = crate::mip::settings::thread_pool(settings.threads);
        let debug = problem.debug.and_then(|columns| {
            let objective = domain.check(&columns)?;
            let columns = columns.into_iter().map(|(c, v)| (Arc::new(c), v)).collect();
            Some(DebugSolution { columns, objective })
        });
        let shared = Shared {
            domain,
            steps: Steps {
                step: domain.objective_step(),
                absolute_gap: settings.absolute_gap,
                relative_gap: settings.relative_gap,
            },
            columns: Pool::new(settings.pool_limit),
            rows: Pool::new(settings.pool_limit),
            incumbent: None,
            stop,
            debug,
            settings,
        };
        let worker = Worker::new(&shared)?;
        let mut search = Search {
            shared,
            queue: Queue::new(),
            workers: vec![worker],
            pool,
            info: PriceInfo {
                root_bound: f64::NEG_INFINITY,
                ..PriceInfo::default()
            },
            start,
            leaf_bound: f64::INFINITY,
            next_id: 0,
            next_restricted: 1,
            last_line: 0.0,
        };
        search.take_solutions(problem.starts, "start");
        search.push(Node {
            id: 0,
            depth: 0,
            bound: f64::NEG_INFINITY,
            branchings: Vec::new(),
            basis: None,
        });
        Ok(search)
    }

    /// The ladder.
    fn run(mut self) -> Result<PriceResult<D::Column>, PriceError> {
        let status = loop {
            if let Some(status) = self.limit_reached() {
                break status;
            }
            let round = self.next_round();
            if round.is_empty() {
                break SolveStatus::Optimal;
            }
            self.solve_round(round)?;
            if self.restricted_is_due() {
                self.run_restricted()?;
            }
            let incoming = self.shared.domain.incoming();
            self.take_solutions(incoming, "incoming");
            self.shared.domain.progress(&self.progress());
            self.line_if_due();
        };
        Ok(self.result(status))
    }

    fn push(&mut self, mut node: NodeOf<D>) {
        node.id = self.next_id;
        self.next_id += 1;
        self.queue.push(node);
    }

    fn cutoff(&self) -> f64 {
        self.shared.steps.cutoff(self.shared.best())
    }

    fn limit_reached(&self) -> Option<SolveStatus> {
        let l = &self.shared.settings.limits;
        if self.queue.is_empty() {
            None
        } else if l.nodes.is_some_and(|n| self.info.nodes >= n) {
            Some(SolveStatus::NodeLimit)
        } else if l.ticks.is_some_and(|t| self.ticks() >= t) {
            Some(SolveStatus::TickLimit)
        } else if self.shared.stopped() {
            let elapsed = self.start.elapsed().as_secs_f64();
            let late = l.seconds.is_some_and(|s| elapsed >= s);
            Some(if late {
                SolveStatus::TimeLimit
            } else {
                SolveStatus::Interrupted
            })
        } else {
            None
        }
    }

    fn ticks(&self) -> u64 {
        self.workers.iter().map(|w| w.master.ticks()).sum()
    }

    /// The nodes with the smallest bounds: one while the tree is small, then more.
    fn next_round(&mut self) -> Vec<NodeOf<D>> {
        self.queue.prune(self.cutoff());
        let width = (self.queue.len() / 4).clamp(1, self.shared.settings.round_width);
        (0..width).map_while(|_| self.queue.pop()).collect()
    }

    /// Every node to a worker of its own; reports are merged in order, so the number of threads does not matter.
    fn solve_round(&mut self, round: Vec<NodeOf<D>>) -> Result<(), PriceError> {
        while self.workers.len() < round.len() {
            self.workers.push(self.workers[0].another(&self.shared));
        }
        let settings = &self.shared.settings;
        // The root alone first: the restricted master may close the tree.
        let most = if self.info.nodes == 0 {
            1
        } else {
            settings.plunge
        };
        let limit = settings.limits.nodes.map_or(most, |n| {
            most.min((n.saturating_sub(self.info.nodes) / round.len() as u64).max(1))
        });
        let shared = &self.shared;
        let jobs = self.workers.iter_mut().zip(round);
        let reports: Vec<Result<Report<D>, PriceError>> = match &self.pool {
            Some(pool) => {
                let jobs: Vec<_> = jobs.collect();
                pool.install(|| {
                    jobs.into_par_iter()
                        .map(|(w, n)| w.plunge(shared, n, limit))
                        .collect()
                })
            }
            None => jobs.map(|(w, n)| w.plunge(shared, n, limit)).collect(),
        };
        for report in reports {
            self.merge(report?);
        }
        Ok(())
    }

    fn merge(&mut self, report: Report<D>) {
        self.info.add(&report.info);
        self.leaf_bound = self.leaf_bound.min(report.leaf_bound);
        if let Some(bound) = report.root_bound {
            self.info.root_bound = bound;
        }
        for c in report.columns {
            self.shared.columns.add(c);
        }
        for r in report.rows {
            self.shared.rows.add(r);
        }
        for s in report.solutions {
            if s.objective < self.shared.best() {
                self.shared.incumbent = Some(s);
                self.line();
            }
        }
        for node in report.open {
            self.push(node);
        }
    }

    fn take_solutions(&mut self, solutions: Vec<Vec<(D::Column, f64)>>, by: &'static str) {
        if solutions.is_empty() {
            return;
        }
        let worker = &mut self.workers[0];
        worker.begin(&self.shared);
        for columns in solutions {
            worker.offer(&self.shared, columns, by);
        }
        let report = worker.report();
        self.merge(report);
    }

    fn restricted_is_due(&self) -> bool {
        self.shared.settings.heuristics
            && self.info.nodes >= self.next_restricted
            && self.queue.lowest_bound().is_some_and(|b| b < self.cutoff())
            && !self.shared.stopped()
    }

    fn run_restricted(&mut self) -> Result<(), PriceError> {
        self.next_restricted = self.info.nodes + self.shared.settings.restricted_every;
        // A quarter of what the tree took so far, and enough to be of use on small ones.
        let ticks = 200_000 + self.ticks() / 4;
        let worker = &mut self.workers[0];
        worker.restricted_master(&self.shared, ticks)?;
        let report = worker.report();
        self.merge(report);
        Ok(())
    }

    /// The proven bound of the whole.
    fn bound(&self) -> f64 {
        let open = self.queue.lowest_bound().unwrap_or(f64::INFINITY);
        open.min(self.leaf_bound).min(self.closed())
    }

    /// What the nodes that were closed prove: nothing is better than the best solution by more than the gap.
    fn closed(&self) -> f64 {
        let best = self.shared.best();
        let s = &self.shared.steps;
        s.round_up(s.cutoff(best)).min(best)
    }

    fn progress(&self) -> Progress {
        Progress {
            bound: self.bound(),
            incumbent: self.best_found(),
            nodes: self.info.nodes,
            open: self.queue.len() as u64,
            seconds: self.start.elapsed().as_secs_f64(),
        }
    }

    fn best_found(&self) -> f64 {
        let found = self.shared.incumbent.as_ref();
        found.map_or(f64::INFINITY, |i| i.objective)
    }

    fn line_if_due(&mut self) {
        if self.start.elapsed().as_secs_f64() > self.last_line + 5.0 {
            self.line();
        }
    }

    fn line(&mut self) {
        if !self.shared.settings.log {
            return;
        }
        self.last_line = self.start.elapsed().as_secs_f64();
        let incumbent = self.shared.incumbent.as_ref();
        eprintln!(
            "{:>8.1}s {:>8} nodes {:>7} open {:>7} columns {:>6} rows  bound {:<16.6} best {:<16.6} {}",
            self.last_line,
            self.info.nodes,
            self.queue.len(),
            self.workers[0].master.columns().len(),
            self.workers[0].master.rows().len(),
            self.bound(),
            self.best_found(),
            incumbent.map_or("-", |i| i.found_by),
        );
    }

    fn result(mut self, status: SolveStatus) -> PriceResult<D::Column> {
        self.line();
        self.shared.domain.progress(&self.progress());
        self.info.ticks = self.ticks();
        self.info.lp_iterations = self.workers.iter().map(|w| w.master.iterations()).sum();
        self.info.seconds = self.start.elapsed().as_secs_f64();
        let bound = self.bound();
        let status = match (status, &self.shared.incumbent) {
            (SolveStatus::Optimal, _) if self.leaf_bound < self.cutoff() => SolveStatus::Unresolved,
            (SolveStatus::Optimal, None) => SolveStatus::Infeasible,
            (status, _) => status,
        };
        PriceResult {
            status,
            incumbent: self.shared.incumbent,
            bound,
            info: self.info,
        }
    }
}
