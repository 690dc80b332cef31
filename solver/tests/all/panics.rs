//! A panic anywhere in a search ends the call with that panic, soon. Tested in every callback, on
//! the caller's thread and on workers' threads, with and without a clock's thread.

use remat_lp::{Bounds, ColId, Model, ModelBuilder, Sense};
use remat_solver::mip::{
    BranchingRule, Control, CutSink, Decision, Heuristic, Limits, NodeSelector, NodeSummary,
    NodeView, Observer, Progress, Propagator, Separator, Settings, Solution, SolutionSink, Solver,
};
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, mpsc};
use std::thread::ThreadId;
use std::time::Duration;

/// Longest wait for an end. A hang never ends, and a loaded machine may need more than the promised
/// second.
const PATIENCE: Duration = Duration::from_secs(20);

/// A small generator (Knuth's constants).
fn below(state: &mut u64, n: u64) -> u64 {
    *state = state
        .wrapping_mul(6364136223846793005)
        .wrapping_add(1442695040888963407);
    (*state >> 33) % n
}

/// A knapsack of three rows whose profits are correlated with the weights: thousands of nodes
/// without cuts.
fn knapsack() -> Model {
    let mut state = 7;
    let mut b = ModelBuilder::new(Sense::Maximise);
    let weights: Vec<Vec<f64>> = (0..3)
        .map(|_| {
            (0..40)
                .map(|_| 10.0 + below(&mut state, 90) as f64)
                .collect()
        })
        .collect();
    let cols: Vec<ColId> = (0..40)
        .map(|k| {
            let weight: f64 = weights.iter().map(|w| w[k]).sum();
            let c = b.add_col(weight + below(&mut state, 20) as f64, 0.0..=1.0);
            b.set_integer(c, true);
            c
        })
        .collect();
    for w in &weights {
        let half = (w.iter().sum::<f64>() / 2.0).floor();
        b.add_row(..=half, cols.iter().zip(w).map(|(&c, &w)| (c, w)));
    }
    b.build().unwrap()
}

/// Callback that panics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Incumbent,
    Progress,
    Branch,
    Separate,
    IsLazy,
    HeuristicRun,
    HeuristicName,
    Propagate,
    Key,
    BestBoundPeriod,
}

/// All callbacks, and whether workers call them in a tree on several threads.
const PLACES: [(Place, bool); 10] = [
    (Place::Incumbent, false),
    (Place::Progress, false),
    (Place::Branch, true),
    (Place::Separate, true),
    (Place::IsLazy, true),
    (Place::HeuristicRun, true),
    (Place::HeuristicName, true),
    (Place::Propagate, true),
    (Place::Key, false),
    (Place::BestBoundPeriod, false),
];

/// The payload of the panics.
#[derive(Debug, PartialEq)]
struct Injected(Place);

/// All callbacks. One of them panics at the call with a given number, or at the first later call on
/// a thread other than the caller's.
struct Bomb {
    place: Place,
    calls: AtomicU64,
    at: u64,
    /// Thread on which the panic must not happen.
    spared: Option<ThreadId>,
}

impl Bomb {
    fn tick(&self, place: Place) {
        if place != self.place {
            return;
        }
        let calls = self.calls.fetch_add(1, Ordering::Relaxed) + 1;
        if calls >= self.at && Some(std::thread::current().id()) != self.spared {
            panic_any(Injected(place));
        }
    }
}

impl Observer for Bomb {
    fn incumbent(&self, _: &Solution) {
        self.tick(Place::Incumbent);
    }

    fn progress(&self, _: &Progress) -> bool {
        self.tick(Place::Progress);
        true
    }
}

impl BranchingRule for Bomb {
    fn branch(&self, _: &NodeView<'_>) -> Option<Vec<Decision>> {
        self.tick(Place::Branch);
        None
    }
}

impl Separator for Bomb {
    fn separate(&self, _: &NodeView<'_>, _: &mut CutSink) {
        self.tick(Place::Separate);
    }

    fn is_lazy(&self) -> bool {
        self.tick(Place::IsLazy);
        false
    }
}

impl Heuristic for Bomb {
    fn name(&self) -> &'static str {
        self.tick(Place::HeuristicName);
        "bomb"
    }

    fn run(&self, node: &NodeView<'_>, _: u64, sink: &mut SolutionSink) -> u64 {
        self.tick(Place::HeuristicRun);
        // The name is requested only if a point is found.
        sink.add(node.x.iter().map(|v| v.floor()).collect());
        1
    }
}

impl Propagator for Bomb {
    fn propagate(&self, _: &[f64], _: &[f64]) -> Vec<(ColId, Bounds)> {
        self.tick(Place::Propagate);
        Vec::new()
    }
}

impl NodeSelector for Bomb {
    fn key(&self, node: &NodeSummary) -> f64 {
        self.tick(Place::Key);
        node.bound
    }

    fn best_bound_period(&self) -> u64 {
        self.tick(Place::BestBoundPeriod);
        3
    }
}

/// Mode of a search.
#[derive(Clone, Copy, Debug)]
struct Mode {
    threads: usize,
    opportunistic: bool,
    time_limit: bool,
    interrupt: bool,
}

fn modes() -> Vec<Mode> {
    let mut modes = Vec::new();
    for (threads, opportunistic) in [(1, false), (4, false), (4, true)] {
        for (time_limit, interrupt) in [(false, false), (true, false), (false, true), (true, true)]
        {
            modes.push(Mode {
                threads,
                opportunistic,
                time_limit,
                interrupt,
            });
        }
    }
    modes
}

/// Runs a search with a panic on a separate thread, and checks that the panic is propagated.
fn explode(place: Place, at: u64, on_worker: bool, mode: Mode) {
    let (tell, told) = mpsc::channel();
    std::thread::spawn(move || {
        let settings = Settings {
            threads: mode.threads,
            opportunistic: mode.opportunistic,
            cuts: false,
            local_cuts: false,
            heuristics: false,
            limits: Limits {
                seconds: mode.time_limit.then_some(1e6),
                interrupt: mode.interrupt.then(|| Arc::new(AtomicBool::new(false))),
                ..Limits::default()
            },
            ..Settings::default()
        };
        let bomb = Arc::new(Bomb {
            place,
            calls: AtomicU64::new(0),
            at,
            spared: on_worker.then(|| std::thread::current().id()),
        });
        let solver = Solver::new(knapsack(), settings)
            .with_branching(bomb.clone())
            .with_separator(bomb.clone())
            .with_heuristic(bomb.clone())
            .with_propagator(bomb.clone())
            .with_selector(bomb.clone())
            .with_control(Control {
                observers: vec![bomb],
                ..Control::default()
            });
        let end = catch_unwind(AssertUnwindSafe(|| solver.run().map(|r| r.status)));
        let _ = tell.send(end);
    });
    let what = format!("{place:?}, call {at}, {mode:?}");
    let end = told.recv_timeout(PATIENCE);
    let end = end.unwrap_or_else(|_| panic!("a hang: {what}"));
    let Err(payload) = end else {
        panic!("{end:?} in spite of a panic: {what}");
    };
    assert_eq!(
        payload.downcast_ref(),
        Some(&Injected(place)),
        "another panic: {what}"
    );
}

#[test]
fn a_panic_at_the_first_call_ends_the_solve() {
    for mode in modes() {
        for (place, _) in PLACES {
            explode(place, 1, false, mode);
        }
    }
}

#[test]
fn a_panic_deep_in_the_tree_ends_the_solve() {
    for mode in modes() {
        for (place, _) in PLACES {
            // Few solutions are reported.
            let at = if place == Place::Incumbent { 3 } else { 60 };
            explode(place, at, false, mode);
        }
    }
}

#[test]
fn a_panic_on_a_workers_thread_ends_the_solve() {
    for mode in modes().into_iter().filter(|m| m.threads > 1) {
        for (place, on_worker) in PLACES {
            if on_worker {
                explode(place, 1, true, mode);
                explode(place, 300, true, mode);
            }
        }
    }
}

/// After a panic every propagation is so slow that the rest of a plunge exceeds the patience.
const SLOW: Duration = Duration::from_secs(1);
const PATIENCE_WITH_SLOW: Duration = Duration::from_secs(8);

/// Panics once two workers are busy: on the second one, or in the caller's next progress report.
struct Late {
    caller: ThreadId,
    first: OnceLock<ThreadId>,
    on_caller: bool,
    both_at_work: AtomicBool,
}

impl Propagator for Late {
    fn propagate(&self, _: &[f64], _: &[f64]) -> Vec<(ColId, Bounds)> {
        let here = std::thread::current().id();
        if here == self.caller {
            return Vec::new();
        }
        if *self.first.get_or_init(|| here) != here {
            let both = self.both_at_work.swap(true, Ordering::Relaxed);
            if !both && !self.on_caller {
                panic_any(Injected(Place::Propagate));
            }
        }
        if self.both_at_work.load(Ordering::Relaxed) {
            std::thread::sleep(SLOW);
        }
        Vec::new()
    }
}

impl Observer for Late {
    fn progress(&self, _: &Progress) -> bool {
        if self.on_caller && self.both_at_work.load(Ordering::Relaxed) {
            panic_any(Injected(Place::Progress));
        }
        true
    }
}

/// Busy workers do not delay a panic of the caller or of another worker.
#[test]
fn nobody_waits_for_plunges_beside_a_panic() {
    for (opportunistic, on_caller) in [(false, false), (true, false), (true, true)] {
        let (tell, told) = mpsc::channel();
        std::thread::spawn(move || {
            let settings = Settings {
                threads: 2,
                opportunistic,
                round_width: 2,
                cuts: false,
                local_cuts: false,
                heuristics: false,
                ..Settings::default()
            };
            let late = Arc::new(Late {
                caller: std::thread::current().id(),
                first: OnceLock::new(),
                on_caller,
                both_at_work: AtomicBool::new(false),
            });
            let solver = Solver::new(knapsack(), settings)
                .with_propagator(late.clone())
                .with_control(Control {
                    observers: vec![late],
                    ..Control::default()
                });
            let end = catch_unwind(AssertUnwindSafe(|| solver.run().map(|r| r.status)));
            let _ = tell.send(end);
        });
        let what = format!("opportunistic {opportunistic}, on the caller {on_caller}");
        let end = told.recv_timeout(PATIENCE_WITH_SLOW);
        let payload = end.unwrap_or_else(|_| panic!("a long wait: {what}"));
        assert!(payload.unwrap_err().is::<Injected>(), "{what}");
    }
}
