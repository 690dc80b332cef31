//! The events of a search: the whole story, from the thread of the caller, without those of
//! searches inside the search.

use remat_lp::{ColId, Model, ModelBuilder, Sense};
use remat_solver::mip::{Limits, Settings, Solver};
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
/// (`stein27`). It needs a tree and restricted programs.
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

/// A subscriber for the whole process sees events of every thread: these come from one.
#[test]
fn events_tell_the_whole_story_from_the_callers_thread() {
    let seen = Seen::default();
    tracing::subscriber::set_global_default(Recorder(seen.clone())).unwrap();
    for (threads, opportunistic) in [(1, false), (3, false), (3, true)] {
        let settings = Settings {
            threads,
            opportunistic,
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
