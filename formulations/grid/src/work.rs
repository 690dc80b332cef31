//! Work on chains: results that hold are kept, all others are solved and stored.

use crate::error::GridError;
use crate::folder::{Folder, Store};
use crate::grid::Grid;
use crate::record::{FAILED, Record};
use crate::solve::{Job, Known};
use crate::subject::{Sources, Subject};
use crate::survey::{Survey, Visit};
use remat_search::Listener;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Count of jobs by their fate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Results that were there and hold.
    pub kept: usize,
    /// Jobs that were solved.
    pub solved: usize,
    /// Jobs that their neighbours settled.
    pub settled: usize,
    /// Jobs that failed.
    pub failed: usize,
    /// Result files that were incomplete or wrong, and were replaced.
    pub replaced: usize,
    /// Jobs without a result, because the work was interrupted.
    pub missing: usize,
}

impl Tally {
    /// The sum of two.
    #[must_use]
    pub fn and(self, other: Tally) -> Tally {
        Tally {
            kept: self.kept + other.kept,
            solved: self.solved + other.solved,
            settled: self.settled + other.settled,
            failed: self.failed + other.failed,
            replaced: self.replaced + other.replaced,
            missing: self.missing + other.missing,
        }
    }

    /// Jobs with a result.
    pub fn done(&self) -> usize {
        self.kept + self.solved + self.settled
    }
}

/// Called with the number of jobs that have a result, and of those that failed.
type Look<'a> = &'a (dyn Fn(Tally) + Sync);

/// Chains to be worked on.
pub struct Work<'a> {
    grid: &'a Grid,
    sources: &'a Sources,
    store: &'a dyn Store,
    workers: usize,
    listener: &'a dyn Listener,
    look: Look<'a>,
}

impl<'a> Work<'a> {
    /// Work on the grid of a folder, with one worker.
    pub fn of(grid: &'a Grid, folder: &'a Folder) -> Self {
        Work::on(grid, &folder.sources, folder)
    }

    /// Work on a grid with its instance files and any place for results.
    pub fn on(grid: &'a Grid, sources: &'a Sources, store: &'a dyn Store) -> Self {
        Work {
            grid,
            sources,
            store,
            workers: 1,
            listener: &(),
            look: &|_| (),
        }
    }

    /// Number of workers, each with a chain at a time.
    #[must_use]
    pub fn workers(mut self, workers: usize) -> Self {
        self.workers = workers.max(1);
        self
    }

    /// Sets the listener that may end the work, and a function that is called after each job.
    #[must_use]
    pub fn listener(mut self, listener: &'a dyn Listener, look: Look<'a>) -> Self {
        (self.listener, self.look) = (listener, look);
        self
    }

    /// Works on chains until each job has a result.
    ///
    /// # Errors
    /// [`GridError`] for a result that cannot be written, and instances that do not work. A job
    /// whose solve fails is counted; its record has the reason.
    pub fn run(&self, chains: impl IntoIterator<Item = usize>) -> Result<Tally, GridError> {
        let chains: Vec<usize> = chains.into_iter().collect();
        let (next, total) = (AtomicUsize::new(0), Mutex::new(Tally::default()));
        let worker = || -> Result<(), GridError> {
            let mut survey = Survey::of(self.grid, self.sources);
            loop {
                let Some(chain) = chains.get(next.fetch_add(1, Ordering::Relaxed)) else {
                    return Ok(());
                };
                let worked = self.chain(&mut survey, *chain, &total);
                if worked.is_err() {
                    next.store(chains.len(), Ordering::Relaxed);
                }
                worked?;
            }
        };
        let workers = self.workers.min(chains.len());
        match workers {
            0 | 1 => worker()?,
            _ => std::thread::scope(|scope| {
                let threads: Vec<_> = (0..workers).map(|_| scope.spawn(worker)).collect();
                let ends = threads.into_iter().map(|thread| match thread.join() {
                    Ok(end) => end,
                    Err(panic) => std::panic::resume_unwind(panic),
                });
                ends.collect::<Result<(), _>>()
            })?,
        }
        let total = total.into_inner();
        Ok(total.unwrap_or_else(std::sync::PoisonError::into_inner))
    }

    fn chain(
        &self,
        survey: &mut Survey<'_>,
        chain: usize,
        total: &Mutex<Tally>,
    ) -> Result<(), GridError> {
        let visits = survey.chain(chain)?;
        let mut records: Vec<Record> = Vec::new();
        let mut known: Vec<Known> = Vec::new();
        let mut subject: Option<(usize, Subject)> = None;
        // A result after a failed job did not start from its plan.
        let mut is_stale = false;
        for (k, visit) in visits.iter().enumerate() {
            let row = visit.job / self.grid.budget_count();
            if subject.as_ref().is_none_or(|(of, _)| *of != row) {
                subject = Some((row, survey.subject(visit.job)?));
            }
            let Some((_, subject)) = &subject else {
                continue;
            };
            let stored = self.store.get(&visit.key);
            let had_failed = stored
                .as_ref()
                .is_some_and(|record| record.status == FAILED);
            let holds = |record: &Record| {
                !is_stale && record.status != FAILED && record.holds(subject, visit)
            };
            let was_there = self.store.has(&visit.key) && !had_failed;
            let mut one = Tally::default();
            let record = match stored.filter(holds) {
                Some(record) => {
                    one.kept = 1;
                    record
                }
                None => {
                    let job = Job {
                        grid: self.grid,
                        subject,
                        visit,
                    };
                    let settled = visit.between.filter(|_| self.grid.starts);
                    let settled =
                        settled.and_then(|(low, high)| job.settled(&records[low], &records[high]));
                    let is_interrupted = self.listener.is_interrupted();
                    let record = match settled {
                        Some(record) => Some(record),
                        None if is_interrupted => None,
                        None => job.solve(&known, self.listener),
                    };
                    let Some(record) = record else {
                        // The rest of the chain starts from this result.
                        one.missing = visits.len() - k;
                        self.count(total, one);
                        return Ok(());
                    };
                    self.store.put(&record)?;
                    match (record.status == FAILED, record.settled) {
                        (true, _) => one.failed = 1,
                        (false, true) => one.settled = 1,
                        (false, false) => one.solved = 1,
                    }
                    one.replaced = usize::from(was_there);
                    is_stale |= had_failed && record.status != FAILED;
                    record
                }
            };
            if self.grid.starts && !record.settled && subject.solvable.is_some() {
                let planned = record.planned(subject);
                known.extend(planned.map(|(plan, _)| Known {
                    key: visit.key.clone(),
                    plan,
                }));
            }
            self.count(total, one);
            records.push(record);
        }
        Ok(())
    }

    fn count(&self, total: &Mutex<Tally>, one: Tally) {
        let mut total = total
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        *total = total.and(one);
        (self.look)(*total);
    }
}

/// Jobs of chains that have no result file of their key in a folder; the files are not read.
///
/// # Errors
/// [`GridError`] for instances that do not work.
pub fn missing(
    folder: &Folder,
    chains: impl IntoIterator<Item = usize>,
) -> Result<Vec<Visit>, GridError> {
    let keys = folder.keys();
    let mut jobs = Survey::of(&folder.grid, &folder.sources).jobs(chains)?;
    jobs.retain(|visit| !keys.contains(&visit.key));
    Ok(jobs)
}
