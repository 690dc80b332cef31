//! The events of a search: complete, from the caller's thread, and without events of searches
//! inside the search.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{RngCore, SeedableRng};
use remat_lp::{ColId, Model, ModelBuilder, Sense};
use remat_solver::mip::{Limits, Settings, SolveStatus, Solver};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex};
use std::thread::ThreadId;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

/// The fields of an event as text.
#[derive(Clone, Debug, Default)]
struct Fields(BTreeMap<&'static str, String>);

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.0.insert(field.name(), format!("{value:?}"));
    }
}

impl Fields {
    fn number(&self, name: &str) -> f64 {
        self.0[name].parse().unwrap()
    }
}

/// Name, thread and fields of each event.
type Seen = Arc<Mutex<Vec<(&'static str, ThreadId, Fields)>>>;

struct Recorder(Seen);

impl Subscriber for Recorder {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "remat_solver::mip"
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut fields = Fields::default();
        event.record(&mut fields);
        let here = std::thread::current().id();
        let mut seen = self.0.lock().unwrap();
        seen.push((event.metadata().name(), here, fields));
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// Fewest points that meet every line of the affine space of 3 dimensions over 3 elements: 18
/// (`stein27`). The search needs a tree and restricted programs.
fn points_on_every_line() -> Model {
    let mut b = ModelBuilder::new(Sense::Minimise);
    let points: Vec<ColId> = (0..27).map(|_| b.add_col(1.0, 0.0..=1.0)).collect();
    for &c in &points {
        b.set_integer(c, true);
    }
    let digits = |p: usize| [p % 3, p / 3 % 3, p / 9];
    for i in 0..27 {
        for j in i + 1..27 {
            for k in j + 1..27 {
                let (p, q, r) = (digits(i), digits(j), digits(k));
                if (0..3).all(|d| (p[d] + q[d] + r[d]) % 3 == 0) {
                    b.add_row(1.0.., [i, j, k].map(|p| (points[p], 1.0)));
                }
            }
        }
    }
    b.build().unwrap()
}

/// A subscriber for the whole process sees events of every thread: all of these come from one
/// thread.
#[test]
fn events_tell_the_whole_story_from_the_callers_thread() {
    let seen = Seen::default();
    tracing::subscriber::set_global_default(Recorder(seen.clone())).unwrap();
    for (threads, opportunistic) in [(1, false), (3, false), (3, true)] {
        let settings = Settings {
            threads,
            opportunistic,
            // With symmetry, the whole tree has only some 30 nodes.
            symmetry: false,
            limits: Limits {
                nodes: Some(300),
                ..Limits::default()
            },
            ..Settings::default()
        };
        let result = Solver::new(points_on_every_line(), settings).run().unwrap();
        let seen = std::mem::take(&mut *seen.lock().unwrap());
        let here = std::thread::current().id();
        assert!(seen.iter().all(|(_, thread, _)| *thread == here));
        let named = |name| -> Vec<&Fields> {
            let events = seen.iter().filter(|(n, ..)| *n == name);
            events.map(|(_, _, fields)| fields).collect()
        };
        let progress = named("progress");
        for pair in progress.windows(2) {
            assert!(pair[0].number("nodes") <= pair[1].number("nodes"));
            assert!(pair[0].number("bound") <= pair[1].number("bound"));
        }
        let last = progress[progress.len() - 1];
        let best = result.solution.unwrap();
        assert_eq!(last.number("nodes") as u64, result.info.nodes);
        assert!(last.number("open") > 0.0);
        assert_eq!(
            last.number("lp_iterations") as u64,
            result.info.lp_iterations
        );
        assert_eq!(last.number("objective"), best.objective);
        assert_eq!(last.number("bound"), result.dual_bound);
        let gap = (best.objective - result.dual_bound) / best.objective;
        assert!((last.number("gap") - gap).abs() < 1e-12 && gap > 0.0);
        let mut finders = progress.iter().filter_map(|p| p.0.get("found_by"));
        assert_eq!(finders.next_back(), Some(&format!("{:?}", best.found_by)));
        assert!(!named("cuts").is_empty());
        assert!(opportunistic || !named("restricted").is_empty());
        assert!(!named("worker").is_empty());
    }
}

#[test]
fn solutions_of_a_root_under_way_are_told_of_at_once() {
    let settings = Settings {
        presolve: false,
        symmetry: false,
        limits: Limits {
            nodes: Some(1),
            ..Limits::default()
        },
        ..Settings::default()
    };
    for threads in [1, 2] {
        let settings = Settings {
            threads,
            ..settings.clone()
        };
        let seen = Seen::default();
        let recorder = Recorder(seen.clone());
        let solver = Solver::new(points_on_every_line(), settings);
        tracing::subscriber::with_default(recorder, || solver.run()).unwrap();
        let seen = seen.lock().unwrap();
        let first = |name| seen.iter().position(|(n, ..)| *n == name).unwrap();
        let (_, _, fields) = &seen[first("progress")];
        assert!(fields.0.contains_key("found_by"), "{fields:?}");
        assert!(fields.number("objective") >= 18.0);
        assert_eq!(fields.number("nodes"), 0.0);
        // The relaxation was not solved: its iterations are unknown, and the bound is from the
        // columns.
        assert!(!fields.0.contains_key("lp_iterations"));
        assert_eq!(fields.number("bound"), 0.0);
        assert!(first("progress") < first("cuts"));
        // Each solution is reported once, and each is better than the one before.
        let found: Vec<f64> = (seen.iter())
            .filter(|(.., fields)| fields.0.contains_key("found_by"))
            .map(|(.., fields)| fields.number("objective"))
            .collect();
        assert!(found.is_sorted_by(|a, b| a > b), "{found:?}");
    }
}

/// A covering program with expensive and cheap columns, many of which the root fixes: a restart is
/// due.
fn dear_and_cheap(
    sense: Sense,
    cost: fn(f64) -> f64,
    (seed, columns, rows): (u64, u32, u32),
) -> Model {
    let mut dice = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut number = |low: u64, high: u64| (low + dice.next_u64() % (high - low + 1)) as f64;
    let mut b = ModelBuilder::new(sense);
    let costs: Vec<f64> = (0..columns).map(|_| cost(number(20, 400))).collect();
    let cols: Vec<ColId> = (costs.iter())
        .map(|cost| b.add_col(sense.sign() * cost, 0.0..=1.0))
        .collect();
    for &c in &cols {
        b.set_integer(c, true);
    }
    for _ in 0..rows {
        let weights: Vec<f64> = cols.iter().map(|_| number(5, 99)).collect();
        let need = (weights.iter().sum::<f64>() / 3.0).floor();
        b.add_row(need.., cols.iter().copied().zip(weights));
    }
    b.build().unwrap()
}

#[test]
fn bounds_are_right_and_never_fall() {
    let sizes = [(1, 25, 3), (11, 25, 3), (1, 60, 4), (6, 60, 4)];
    let costs: [fn(f64) -> f64; 2] = [|cost| cost, f64::sqrt];
    let senses = [Sense::Minimise, Sense::Maximise];
    let mut restarts = 0;
    for (size, sense) in sizes.iter().flat_map(|z| senses.map(|s| (*z, s))) {
        for cost in costs {
            let model = dear_and_cheap(sense, cost, size);
            // The point of all ones is a solution, which is reported before the root is solved.
            let settings = Settings {
                starts: vec![vec![1.0; model.num_cols()]],
                relative_gap: 0.0,
                absolute_gap: 0.0,
                ..Settings::default()
            };
            let solver = Solver::new(model, settings);
            let seen = Seen::default();
            let recorder = Recorder(seen.clone());
            let result = tracing::subscriber::with_default(recorder, || solver.run()).unwrap();
            let best = result.solution.unwrap().objective;
            let seen = seen.lock().unwrap();
            let told = seen.iter().filter(|(name, ..)| *name == "progress");
            // Bounds must rise in minimised form.
            let told: Vec<f64> = told
                .map(|(_, _, fields)| sense.sign() * fields.number("bound"))
                .collect();
            assert!(told.is_sorted(), "{size:?}: {told:?}");
            // Before the root, the column bounds give a weak bound.
            assert!(told.first() < told.last(), "{told:?}");
            assert_eq!(told.last(), Some(&(sense.sign() * best)));
            // No node is open, and the gaps are 0.
            assert_eq!(result.status, SolveStatus::Optimal);
            assert_eq!(result.dual_bound, best);
            restarts += result.info.restarts;
        }
    }
    assert!(restarts > 0);
}
