//! Opportunistic search: workers take nodes as soon as they are idle. This is faster than rounds,
//! but runs are not reproducible.
//!
//! The search itself runs on one thread that sleeps nearly all the time: it sends jobs to the
//! workers over channels and merges their reports. A worker sends solutions at once, and sends open
//! nodes before its plunge is over if other workers are idle. All workers read the cutoff from an
//! atomic.

use super::TreeSearch;
use super::round::PLUNGE;
use crate::mip::clock::StopOnDrop;
use crate::mip::heuristics::neighbourhood::{self, Around, NeighbourhoodVerdict};
use crate::mip::outcome::SolveError;
use crate::mip::tree::TreeNode;
use crate::mip::worker::{Live, Outlet, RoundShared, Worker, WorkerCounters, WorkerReport};
use crossbeam_channel::{Receiver, Sender, unbounded};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

/// Longest sleep between two checks of clocks.
const NAP: Duration = Duration::from_millis(50);

/// Request to a worker.
enum Job {
    Plunge(Arc<RoundShared>, TreeNode, u64),
    Neighbourhood(Arc<RoundShared>, Around),
}

/// Message from a worker.
struct News {
    slot: usize,
    report: WorkerReport,
    /// `Some` at the end of a job.
    end: Option<Result<JobEnd, JobFault>>,
}

struct JobEnd {
    away: Away,
    side_ticks: u64,
    side_iterations: u64,
    /// Verdict on a neighbourhood.
    verdict: Option<NeighbourhoodVerdict>,
}

/// Cause of a job without result.
enum JobFault {
    Error(SolveError),
    /// The waiting thread propagates it.
    Panic(Box<dyn Any + Send>),
}

/// Data on a worker that is busy with a job.
#[derive(Clone, Copy)]
pub(crate) struct Away {
    /// Lower bound on all results of its job; infinite without a job.
    pub bound: f64,
    pub ticks: u64,
    pub iterations: u64,
    /// Counters at its last report; saved states need them, or numbers of nodes would repeat.
    pub counters: WorkerCounters,
}

impl Away {
    fn new(w: &Worker) -> Away {
        Away {
            bound: f64::INFINITY,
            ticks: w.ticks(),
            iterations: w.relax.iterations(),
            counters: w.counters(),
        }
    }
}

/// The channel for results that cannot wait for the end of a worker's plunge.
fn outlet(slot: usize, news: Sender<News>) -> Outlet {
    Box::new(move |report| {
        // The search waits for the end of every plunge, so it still exists.
        let end = None;
        let _ = news.send(News { slot, report, end });
    })
}

/// Processes jobs until the channel closes. The end of every job is reported, even after a panic,
/// because the search waits for it.
fn work(worker: &mut Worker, slot: usize, jobs: &Receiver<Job>, news: &Sender<News>) {
    for job in jobs {
        let done = catch_unwind(AssertUnwindSafe(|| do_job(worker, job)));
        let (report, end) = match done {
            Ok(Ok((report, end))) => (report, Ok(end)),
            Ok(Err(error)) => (WorkerReport::new(), Err(JobFault::Error(error))),
            Err(panic) => (WorkerReport::new(), Err(JobFault::Panic(panic))),
        };
        let end = Some(end);
        if news.send(News { slot, report, end }).is_err() {
            break;
        }
    }
}

fn do_job(worker: &mut Worker, job: Job) -> Result<(WorkerReport, JobEnd), SolveError> {
    let (mut side_ticks, mut side_iterations) = (0, 0);
    let mut verdict = None;
    let report = match job {
        Job::Plunge(shared, node, limit) => worker.run(&shared, vec![node], limit, u64::MAX)?,
        Job::Neighbourhood(shared, around) => {
            worker.begin(&shared);
            worker
                .domain
                .reset(&shared.problem, &shared.lower, &shared.upper);
            let begun = Instant::now();
            let found = neighbourhood::run(&shared, &around)?;
            found.count(&shared, begun);
            verdict = Some(found.verdict);
            (side_ticks, side_iterations) = (found.ticks, found.iterations);
            if let Some(x) = found.x {
                worker.offer(&shared, &x, found.name)?;
            }
            std::mem::replace(&mut worker.report, WorkerReport::new())
        }
    };
    let end = JobEnd {
        away: Away::new(worker),
        side_ticks,
        side_iterations,
        verdict,
    };
    Ok((report, end))
}

impl TreeSearch {
    pub(super) fn opportunistic_is_due(&self) -> bool {
        let s = &self.shared.settings;
        s.opportunistic && s.threads > 1 && !self.may_restart && self.root_done
    }

    /// Runs the rest of the search. Returns false without any work if the system cannot start a
    /// thread.
    pub(super) fn run_opportunistically(&mut self) -> Result<bool, SolveError> {
        let count = self.shared.settings.threads;
        while self.workers.len() < count {
            let slot = self.workers.len() as u64;
            self.workers.push(Worker::new(&self.shared, slot)?);
        }
        let live = Arc::new(Live::new(self.shared.cutoff));
        self.shared.live = Some(live.clone());
        let (news, heard) = unbounded();
        let mut workers = std::mem::take(&mut self.workers);
        let idle: Vec<Worker> = workers.split_off(count);
        self.away = workers.iter().chain(&idle).map(Away::new).collect();
        let stop = self.shared.stop.clone();
        let end = thread::scope(|scope| {
            let mut jobs = Vec::new();
            for (slot, worker) in workers.iter_mut().enumerate() {
                let (job, jobs_of_worker) = unbounded();
                let news = news.clone();
                worker.outlet = Some(outlet(slot, news.clone()));
                let work = move || work(worker, slot, &jobs_of_worker, &news);
                // Fewer workers suffice if the system has no more threads.
                if thread::Builder::new().spawn_scoped(scope, work).is_err() {
                    break;
                }
                jobs.push(job);
            }
            if jobs.is_empty() {
                return Ok(false);
            }
            // Dropping `jobs` at the end of this closure ends the workers. After an error or a
            // panic, here or in a worker, the others stop at their next node.
            let stop = StopOnDrop::new(&stop);
            self.direct(&jobs, &heard, &live)?;
            stop.call_off();
            Ok(true)
        });
        for w in &mut workers {
            w.outlet = None;
        }
        self.shared.live = None;
        workers.extend(idle);
        self.workers = workers;
        self.away.clear();
        end
    }

    /// Sends jobs and merges reports, until no work is left or a limit is reached.
    fn direct(
        &mut self,
        jobs: &[Sender<Job>],
        heard: &Receiver<News>,
        live: &Live,
    ) -> Result<(), SolveError> {
        let mut busy = vec![false; jobs.len()];
        // At least one report must arrive between two saved states, however short their interval.
        let mut news_since_saving = false;
        loop {
            let saving = news_since_saving && self.checkpoint_is_due();
            let ending = self.limit_reached();
            live.pause
                .store(saving || ending.is_some(), Ordering::Relaxed);
            if !saving && ending.is_none() {
                self.hand_out(jobs, &mut busy);
            }
            let hungry = busy.iter().filter(|b| !**b).count();
            live.hungry.store(hungry, Ordering::Relaxed);
            if hungry == busy.len() {
                if let Some(status) = ending {
                    self.status = status;
                    return Ok(());
                }
                if self.queue.is_empty() {
                    // A new solution may have closed all nodes in memory while nodes in files
                    // remain.
                    self.balance_memory();
                    if self.queue.is_empty() && !self.nodes_are_lost {
                        return Ok(());
                    }
                    continue;
                }
                if saving {
                    self.write_checkpoint();
                    news_since_saving = false;
                    continue;
                }
            }
            // A timeout is an occasion to check the clocks.
            if let Ok(news) = heard.recv_timeout(NAP) {
                self.hear(news, &mut busy)?;
                self.balance_memory();
                news_since_saving = true;
                live.lower_cutoff(self.shared.cutoff);
            }
            self.report_if_due();
        }
    }

    fn hear(&mut self, news: News, busy: &mut [bool]) -> Result<(), SolveError> {
        self.merge(vec![news.report]);
        let Some(end) = news.end else { return Ok(()) };
        let end = match end {
            Ok(end) => end,
            Err(JobFault::Error(error)) => return Err(error),
            Err(JobFault::Panic(panic)) => resume_unwind(panic),
        };
        busy[news.slot] = false;
        self.away[news.slot] = end.away;
        self.side_ticks += end.side_ticks;
        self.side_iterations += end.side_iterations;
        if let Some(verdict) = end.verdict {
            self.learn_from(verdict);
        }
        Ok(())
    }

    /// Sends a node, or a neighbourhood if one is due, to every idle worker.
    fn hand_out(&mut self, jobs: &[Sender<Job>], busy: &mut [bool]) {
        self.prune();
        for slot in 0..jobs.len() {
            if busy[slot] {
                continue;
            }
            if self.sub_mip_is_due()
                && let Some(around) = self.next_neighbourhood()
            {
                let shared = Arc::new(self.shared.clone());
                let job = Job::Neighbourhood(shared, around);
                busy[slot] = jobs[slot].send(job).is_ok();
                continue;
            }
            let Some(node) = self.queue.pop() else { return };
            self.shared.lower_bound = (self.queue.lowest_bound())
                .unwrap_or(node.bound)
                .min(node.bound);
            let limit = self.shared.settings.limits.nodes.map_or(PLUNGE, |n| {
                PLUNGE.min((n.saturating_sub(self.info.nodes) / jobs.len() as u64).max(1))
            });
            self.away[slot].bound = node.bound;
            let shared = Arc::new(self.shared.clone());
            busy[slot] = jobs[slot].send(Job::Plunge(shared, node, limit)).is_ok();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mip::clock::Stop;
    use crate::mip::outcome::Info;
    use crate::mip::presolve::{self, PresolveEnd};
    use crate::mip::problem::Problem;
    use crate::mip::root::RootData;
    use crate::mip::settings::Settings;
    use crate::mip::solver::Solver;
    use remat_lp::{ModelBuilder, Sense};
    use std::sync::mpsc;
    use std::time::Instant;

    /// A search of a program with a tree, after its root.
    fn at_its_root() -> TreeSearch {
        let mut b = ModelBuilder::new(Sense::Maximise);
        let weights: Vec<f64> = (0..30).map(|k| f64::from(20 + (k * k * 7) % 61)).collect();
        let cols: Vec<_> = weights
            .iter()
            .map(|&w| b.add_col(w + 9.0, 0.0..=1.0))
            .collect();
        for &c in &cols {
            b.set_integer(c, true);
        }
        b.add_row(..=501.5, cols.iter().copied().zip(weights.iter().copied()));
        b.add_row(..=11.0, cols.iter().map(|&c| (c, 1.5)));
        let settings = Settings {
            threads: 3,
            opportunistic: true,
            presolve: false,
            cuts: false,
            ..Settings::default()
        };
        let solver = Solver::new(b.build().unwrap(), settings);
        let stop = Stop::default();
        let problem = Problem::from_model(&solver.model);
        let reduced = presolve::run(
            problem,
            &solver.settings,
            false,
            f64::INFINITY,
            stop.flag(),
            presolve::PresolveContext::default(),
        );
        let PresolveEnd::Reduced(problem, postsolve) = reduced else {
            panic!("nothing is wrong with the program");
        };
        let (now, info) = (Instant::now(), Info::default());
        let search = TreeSearch::new(&solver, *problem, postsolve, stop, now, info);
        let mut search = search.unwrap();
        assert!(search.solve_root().unwrap());
        search
    }

    #[test]
    fn a_panic_in_a_restricted_program_ends_the_search() {
        let mut search = at_its_root();
        search.next_sub_mip = 0;
        assert!(search.opportunistic_is_due() && search.sub_mip_is_due());
        // Neighbourhoods of a root without columns cannot be built.
        let root = search.root.take().unwrap();
        let mut solution = root.solution.clone();
        solution.x.clear();
        search.root = Some(Arc::new(RootData {
            solution,
            lp_bound: root.lp_bound,
            bound: root.bound,
            first_objective: root.first_objective,
            iterations: root.iterations,
        }));
        let (tell, told) = mpsc::channel();
        thread::spawn(move || {
            let run = AssertUnwindSafe(|| search.run_opportunistically());
            let _ = tell.send(catch_unwind(run).map(|_| ()));
        });
        let end = told.recv_timeout(Duration::from_secs(20));
        let payload = end.expect("a hang").expect_err("no panic");
        let text = payload.downcast_ref::<String>().expect("a text");
        assert!(text.starts_with("index out of bounds"), "{text}");
    }
}
