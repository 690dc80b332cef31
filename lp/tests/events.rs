//! The events of a solve: complete, without repetition, and only about the program being solved.

#[path = "all/support/mod.rs"]
mod support;

use remat_lp::{Algorithm, Settings, Solver};
use std::collections::BTreeMap;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};
use support::{FAMILIES, Rng, scaled_over_decades};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber, subscriber::with_default};

/// The fields of an event as text.
#[derive(Debug, Default)]
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

/// Keeps the events named `simplex`, and panics at one of them if asked to.
#[derive(Clone, Default)]
struct Recorder {
    seen: Arc<Mutex<Vec<Fields>>>,
    panics_at: Option<usize>,
}

impl Subscriber for Recorder {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "remat_lp"
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        if event.metadata().name() != "simplex" {
            return;
        }
        let mut fields = Fields::default();
        event.record(&mut fields);
        let mut seen = self.seen.lock().unwrap();
        seen.push(fields);
        if self.panics_at == Some(seen.len()) {
            drop(seen);
            std::panic::panic_any("of the subscriber");
        }
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

#[test]
fn events_tell_the_whole_story_once() {
    let (model, _) = FAMILIES[4].1(&mut Rng::new(3), 60);
    for (algorithm, name) in [
        (Algorithm::Dual, "\"dual\""),
        (Algorithm::Primal, "\"primal\""),
    ] {
        let settings = Settings {
            algorithm,
            ..Default::default()
        };
        let mut s = Solver::new(model.clone(), settings);
        let recorder = Recorder::default();
        let outcome = with_default(recorder.clone(), || s.solve());
        let solution = outcome.optimal().unwrap();
        let seen = recorder.seen.lock().unwrap();
        let ends = seen.iter().filter(|e| e.0["last"] == "true").count();
        assert_eq!(ends, 1);
        let last = seen.last().unwrap();
        assert_eq!(last.0["last"], "true");
        assert_eq!(last.number("iterations") as u64, s.stats().iterations());
        let off = (last.number("objective") - solution.objective).abs();
        assert!(off <= 1e-6 * (1.0 + solution.objective.abs()));
        let counts = (last.number("primal_count"), last.number("dual_count"));
        assert_eq!(counts, (0.0, 0.0));
        let growing = |w: &[Fields]| w[0].number("iterations") <= w[1].number("iterations");
        assert!(seen.len() >= 2 && seen.windows(2).all(growing));
        assert_eq!(seen[0].0["algorithm"], name);
    }
}

#[test]
fn corrections_of_a_refined_solution_are_not_told() {
    let mut rng = Rng::new(5);
    let mut refined = 0;
    for _ in 0..20 {
        let model = scaled_over_decades(&mut rng, 4);
        let tell = |refine| {
            let settings = Settings {
                refine,
                ..Default::default()
            };
            let recorder = Recorder::default();
            let mut s = Solver::new(model.clone(), settings);
            let outcome = with_default(recorder.clone(), || s.solve());
            let told = recorder.seen.lock().unwrap().len();
            (outcome.optimal().unwrap().x.clone(), told)
        };
        let (plain, after) = (tell(false), tell(true));
        refined += usize::from(plain.0 != after.0);
        assert_eq!(plain.1, after.1);
    }
    assert!(refined > 3, "{refined} refined");
}

#[test]
fn a_panic_of_the_subscriber_ends_the_solve() {
    let (model, _) = FAMILIES[4].1(&mut Rng::new(3), 60);
    let mut s = Solver::new(model, Settings::default());
    let recorder = Recorder {
        panics_at: Some(2),
        ..Recorder::default()
    };
    let solve = || with_default(recorder.clone(), || s.solve());
    let payload = catch_unwind(AssertUnwindSafe(solve)).unwrap_err();
    assert_eq!(payload.downcast_ref(), Some(&"of the subscriber"));
    assert_eq!(recorder.seen.lock().unwrap().len(), 2);
}
