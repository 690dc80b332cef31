//! A link on the CPU: threads that copy at its speed, one for each lane.

use super::{Carrier, Direction, Pair, Ticket};
use crate::error::ExecError;
use crate::shim;
use crate::training::bytes_of;
use remat_instances::instance::{Duplex, HostLink};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tch::Tensor;

/// Numbers that tune the threads.
#[derive(Clone, Copy, Debug)]
pub(super) struct LaneTuning {
    /// Bytes copied at once, between looks at the clock: a core copies them in about a tenth of a
    /// millisecond.
    pub piece_bytes: u64,
    /// Longest sleep before a thread checks whether the step was given up. It is far longer than a
    /// wake-up takes, and too short to delay an error noticeably.
    pub nap: Duration,
}

impl Default for LaneTuning {
    fn default() -> Self {
        LaneTuning {
            piece_bytes: 1 << 20,
            nap: Duration::from_millis(20),
        }
    }
}

/// Copies bytes of one tensor on the CPU to another, both at the same offset.
pub(super) type CopyPart = fn(&Tensor, &Tensor, u64, u64) -> Result<(), ExecError>;

/// Latency and speed of one direction.
#[derive(Clone, Copy, Debug)]
struct Rate {
    latency: Duration,
    bytes_per_second: u64,
}

impl Rate {
    /// Time from the start of a copy until `bytes` bytes have arrived.
    fn time(&self, bytes: u64) -> Duration {
        let ns = u128::from(bytes) * 1_000_000_000 / u128::from(self.bytes_per_second.max(1));
        self.latency + Duration::from_nanos(u64::try_from(ns).unwrap_or(u64::MAX))
    }
}

/// Outcome of a copy: the time of its end, once it has ended.
#[derive(Default)]
struct Done {
    outcome: Mutex<Option<Result<Instant, String>>>,
    changed: Condvar,
}

impl Done {
    fn lock(&self) -> MutexGuard<'_, Option<Result<Instant, String>>> {
        self.outcome.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait(&self) -> Result<Instant, String> {
        let mut outcome = self.lock();
        loop {
            if let Some(outcome) = &*outcome {
                return outcome.clone();
            }
            let woken = self.changed.wait(outcome);
            outcome = woken.unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// The obligation to report a copy's outcome; if it is dropped without one, the copy has failed.
struct Promise(Arc<Done>);

impl Promise {
    fn keep(self, outcome: Result<Instant, String>) {
        *self.0.lock() = Some(outcome);
    }
}

impl Drop for Promise {
    fn drop(&mut self) {
        let mut outcome = self.0.lock();
        outcome.get_or_insert_with(|| Err("the thread of the link has ended".into()));
        self.0.changed.notify_all();
    }
}

/// One copy.
struct Job {
    pairs: Vec<Pair>,
    rate: Rate,
    asked: Instant,
    after: Option<Arc<Done>>,
    promise: Promise,
}

/// A thread, and the channel to it.
struct Lane {
    jobs: Option<Sender<Job>>,
    thread: Option<JoinHandle<()>>,
}

impl Lane {
    /// Ends the thread. Its panic is resumed here, unless this thread panics already.
    fn end(&mut self) {
        self.jobs = None;
        if let Some(Err(panic)) = self.thread.take().map(JoinHandle::join)
            && !std::thread::panicking()
        {
            std::panic::resume_unwind(panic);
        }
    }
}

/// A link whose copies take the time that its speeds predict.
pub(super) struct Lanes {
    /// One for each direction, or one for both.
    lanes: Vec<Lane>,
    rates: [Rate; 2],
    started: Vec<Arc<Done>>,
    abandoned: Arc<AtomicBool>,
}

impl Lanes {
    /// Starts the threads of a link.
    ///
    /// # Errors
    /// [`ExecError::Host`] where a thread cannot be started.
    pub fn new(link: &HostLink, tuning: LaneTuning, copy: CopyPart) -> Result<Self, ExecError> {
        let abandoned = Arc::new(AtomicBool::new(false));
        let lane = |_| {
            let (jobs, todo) = channel();
            let abandoned = abandoned.clone();
            let thread = std::thread::Builder::new().name("remat-link".into());
            let thread = thread.spawn(move || work(&todo, tuning, copy, &abandoned));
            Ok(Lane {
                jobs: Some(jobs),
                thread: Some(thread.map_err(|e| {
                    ExecError::Host(format!("no thread for the link can be started: {e}"))
                })?),
            })
        };
        let count = match link.duplex {
            Duplex::Full => 2,
            Duplex::Half => 1,
        };
        let speeds = [
            link.to_host_bytes_per_second,
            link.from_host_bytes_per_second,
        ];
        Ok(Lanes {
            lanes: (0..count).map(lane).collect::<Result<_, ExecError>>()?,
            rates: speeds.map(|bytes_per_second| Rate {
                latency: Duration::from_nanos(link.latency_ns),
                bytes_per_second,
            }),
            started: Vec::new(),
            abandoned,
        })
    }

    /// A link on this machine.
    ///
    /// # Errors
    /// As [`Lanes::new`].
    pub fn throttled(link: &HostLink) -> Result<Self, ExecError> {
        Lanes::new(link, LaneTuning::default(), shim::copy_part)
    }
}

impl Carrier for Lanes {
    fn start(
        &mut self,
        direction: Direction,
        pairs: Vec<Pair>,
        after: Option<Ticket>,
    ) -> Result<Ticket, ExecError> {
        let done = Arc::new(Done::default());
        let number = match direction {
            Direction::ToHost => 0,
            Direction::FromHost => 1,
        };
        let job = Job {
            pairs,
            rate: self.rates[number],
            asked: Instant::now(),
            after: after.map(|ticket| self.started[ticket.0].clone()),
            promise: Promise(done.clone()),
        };
        let lane = number.min(self.lanes.len() - 1);
        if let Some(jobs) = &self.lanes[lane].jobs {
            // If the thread has ended, the promise is broken, and the waiting step gets an error.
            let _ = jobs.send(job);
        }
        self.started.push(done);
        Ok(Ticket(self.started.len() - 1))
    }

    fn wait(&mut self, ticket: Ticket) -> Result<(), String> {
        let outcome = self.started[ticket.0].wait().map(|_| ());
        if outcome.is_err() {
            let mut lanes = self.lanes.iter_mut();
            let ended = |lane: &&mut Lane| lane.thread.as_ref().is_some_and(|t| t.is_finished());
            if let Some(lane) = lanes.find(ended) {
                lane.end();
            }
        }
        outcome
    }

    fn settle(&mut self, abandon: bool) {
        self.abandoned.store(abandon, Ordering::Relaxed);
        for done in self.started.drain(..) {
            // `wait` has reported the errors, or they follow another one.
            let _ = done.wait();
        }
        self.abandoned.store(false, Ordering::Relaxed);
    }
}

impl Drop for Lanes {
    fn drop(&mut self) {
        self.abandoned.store(true, Ordering::Relaxed);
        self.lanes.iter_mut().for_each(Lane::end);
    }
}

/// Makes the requested copies, in order.
fn work(todo: &Receiver<Job>, tuning: LaneTuning, copy: CopyPart, abandoned: &AtomicBool) {
    let mut free = None;
    while let Ok(job) = todo.recv() {
        let outcome = carry(&job, &mut free, (tuning, copy), abandoned);
        let Job { pairs, promise, .. } = job;
        // The waiting step may free the tensors at once.
        drop(pairs);
        promise.keep(outcome);
    }
}

/// Makes a copy; returns the time at which the link would have ended it. The lane is free from
/// `free` on.
fn carry(
    job: &Job,
    free: &mut Option<Instant>,
    (tuning, copy): (LaneTuning, CopyPart),
    abandoned: &AtomicBool,
) -> Result<Instant, String> {
    let there = match &job.after {
        Some(done) => done.wait()?,
        None => job.asked,
    };
    let begin = job.asked.max(there).max(free.unwrap_or(job.asked));
    let mut sent = 0;
    for Pair { to, from } in &job.pairs {
        let bytes = bytes_of(from);
        let mut at = 0;
        while at < bytes {
            sleep_until(begin + job.rate.time(sent), tuning.nap, abandoned)?;
            let part = tuning.piece_bytes.min(bytes - at);
            copy(to, from, at, part).map_err(|e| e.to_string())?;
            (at, sent) = (at + part, sent + part);
        }
    }
    // A machine that copies more slowly than the link ends later; a late wake-up does not count.
    let end = (begin + job.rate.time(sent)).max(Instant::now());
    sleep_until(begin + job.rate.time(sent), tuning.nap, abandoned)?;
    *free = Some(end);
    Ok(end)
}

fn sleep_until(time: Instant, nap: Duration, abandoned: &AtomicBool) -> Result<(), String> {
    loop {
        if abandoned.load(Ordering::Relaxed) {
            return Err("the step was given up".into());
        }
        let left = time.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(());
        }
        std::thread::sleep(left.min(nap));
    }
}
