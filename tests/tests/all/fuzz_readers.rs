//! No reader panics, overflows or loops on any bytes. A document that is read survives validation,
//! replay and writing.
//!
//! `REMAT_FUZZ_SECONDS=600 cargo test -p remat-tests --test all fuzz_readers::long_run -- --nocapture`
//! runs for that time; without the variable the long run reads a few thousand documents.

use miette::GraphicalReportHandler;
use proptest::prelude::*;
use remat_instances::instance::InstanceError;
use remat_instances::order::{
    OperatorId, OrderPlan, Variant, read_order_graph_bytes, write_order_graph,
};
use remat_instances::plan::PlanFile;
use remat_instances::schedule::{CheckmateSchedule, Schedule, ScheduleFile, write_schedule};
use remat_instances::{Instance, read_bytes, simulate, write_instance};
use std::time::{Duration, Instant};

const SEEDS: [&str; 9] = [
    include_str!("../../corpus/native.json"),
    include_str!("../../corpus/benchmark.json"),
    include_str!("../../corpus/links.json"),
    include_str!("../../corpus/edges.json"),
    include_str!("../../corpus/schedule_a.json"),
    include_str!("../../corpus/schedule_b.json"),
    include_str!("../../corpus/plan.json"),
    include_str!("../../corpus/order.json"),
    include_str!("../../corpus/order_plan.json"),
];

/// Counts of documents by their outcome.
#[derive(Default)]
struct Tally {
    documents: u64,
    instances: u64,
    schedules: u64,
    plans: u64,
    replays: u64,
    orders: u64,
    order_plans: u64,
}

impl Tally {
    /// Shows an error as a user would see it.
    fn show(error: &InstanceError) {
        let message = error.to_string();
        assert!(message.starts_with("fuzz"), "{message}");
        let mut shown = String::new();
        GraphicalReportHandler::new()
            .render_report(&mut shown, error)
            .unwrap();
        assert!(!shown.is_empty());
    }

    fn instance(&mut self, instance: &Instance) {
        self.instances += 1;
        let text = write_instance(instance);
        let again = read_bytes("fuzz", text.as_bytes()).unwrap();
        assert_eq!(again.data(), instance.data());
        if instance.len() <= 200 {
            let schedule = CheckmateSchedule::checkpoint_all(instance);
            let replay = simulate::checkmate(instance, &schedule).unwrap();
            assert!(replay.cost >= replay.base_cost);
            instance.single_implementation();
        }
        if let Some(view) = instance.stated_view() {
            self.instance(view);
        }
    }

    fn plan(&mut self, bytes: &[u8], partners: &[Instance]) {
        let file = match PlanFile::parse("fuzz", bytes) {
            Ok(file) => file,
            Err(error) => return Self::show(&error),
        };
        for instance in partners {
            let document = match file.plan(instance) {
                Ok(document) => document,
                Err(error) => {
                    Self::show(&error);
                    continue;
                }
            };
            self.plans += 1;
            if let Ok(replay) = simulate::plan(instance, &document.plan) {
                self.replays += 1;
                assert!(replay.computations >= instance.len());
                assert!(document.plan.optimised(instance).is_ok());
            }
            let again = PlanFile::parse("fuzz", document.write(instance).as_bytes()).unwrap();
            assert_eq!(again.plan(instance).as_ref(), Ok(&document));
        }
    }

    fn order(&mut self, bytes: &[u8]) {
        match read_order_graph_bytes("fuzz", bytes) {
            Ok(graph) => {
                self.orders += 1;
                let text = write_order_graph(&graph);
                let again = read_order_graph_bytes("fuzz", text.as_bytes()).unwrap();
                assert_eq!(again, graph);
                for variant in Variant::ALL {
                    let Ok(problem) = graph.problem(variant) else {
                        continue;
                    };
                    let order = problem.topological_order().iter();
                    let order: Vec<_> = order.map(|v| OperatorId(*v)).collect();
                    let replay = graph.replay(variant, &order).unwrap();
                    assert!(replay.peak_bytes >= graph.base_bytes());
                }
            }
            Err(error) => Self::show(&error),
        }
        match OrderPlan::parse("fuzz", bytes) {
            Ok(plan) => {
                self.order_plans += 1;
                let again = OrderPlan::parse("fuzz", plan.write().as_bytes());
                assert_eq!(again.as_ref(), Ok(&plan));
            }
            Err(error) => Self::show(&error),
        }
    }

    /// Reads a document by every reader.
    fn document(&mut self, bytes: &[u8], partners: &[Instance]) {
        self.documents += 1;
        match read_bytes("fuzz", bytes) {
            Ok(instance) => self.instance(&instance),
            Err(error) => Self::show(&error),
        }
        self.plan(bytes, partners);
        self.order(bytes);
        let file = match ScheduleFile::parse("fuzz", bytes) {
            Ok(file) => file,
            Err(error) => return Self::show(&error),
        };
        for instance in partners {
            let document = match file.schedule(instance) {
                Ok(document) => document,
                Err(error) => {
                    Self::show(&error);
                    continue;
                }
            };
            self.schedules += 1;
            let replay = match &document.schedule {
                Schedule::Checkmate(schedule) => simulate::checkmate(instance, schedule),
                Schedule::Monet(schedule) => simulate::monet(instance, schedule),
            };
            self.replays += replay.is_ok() as u64;
            // Triples may repeat or name the first implementation, so texts may differ; their
            // meaning may not.
            let text = write_schedule(&document, instance);
            let again = ScheduleFile::parse("fuzz", text.as_bytes()).unwrap();
            assert_eq!(again.schedule(instance).as_ref(), Ok(&document));
        }
    }
}

fn partners() -> Vec<Instance> {
    let read = |seed: &&str| read_bytes("fuzz", seed.as_bytes()).unwrap();
    let instances = SEEDS[..4].iter().map(read);
    let with_views = instances.flat_map(|i| [i.single_implementation_view(), i]);
    with_views.collect()
}

/// Tokens that are hard for readers.
const TOKENS: [&str; 32] = [
    "0",
    "-1",
    "1",
    "2",
    "3",
    "9007199254740991",
    "9007199254740992",
    "1000000000000000000",
    "18446744073709551616",
    "1e400",
    "-1e300",
    "0.5",
    "1.0",
    "NaN",
    "null",
    "true",
    "\"\"",
    "\"a\"",
    "\"loss\"",
    "\"backward\"",
    "\"remat-instance/1\"",
    "[]",
    "{}",
    "[0]",
    "[[]]",
    "\"\\ud800\"",
    "\"é\"",
    ",",
    ":",
    "]",
    "}",
    "\"5 GiB\"",
];

/// A change of a text: its kind, its place, its length, and the index of its token.
type Change = (u8, u32, u32, usize);

/// Places where a value, a key or a bracket begins.
fn places(bytes: &[u8]) -> Vec<usize> {
    let begins = |i: usize| {
        let before = i.checked_sub(1).map_or(b' ', |k| bytes[k]);
        matches!(bytes[i], b'"' | b'[' | b'{' | b'}' | b']' | b',' | b':')
            || bytes[i].is_ascii_alphanumeric() && !before.is_ascii_alphanumeric()
            || bytes[i] == b'-'
    };
    (0..bytes.len()).filter(|i| begins(*i)).collect()
}

fn change(bytes: &mut Vec<u8>, (what, at, length, token): Change) {
    let places = places(bytes);
    if places.is_empty() {
        return;
    }
    let k = at as usize % places.len();
    let from = places[k];
    let next = |steps: usize| places.get(k + steps).copied().unwrap_or(bytes.len());
    match what % 16 {
        // Another small number: the structure stays, so that such documents get far.
        8.. => {
            let digits: Vec<_> = places
                .into_iter()
                .filter(|i| bytes[*i].is_ascii_digit())
                .collect();
            if !digits.is_empty() {
                let from = digits[at as usize % digits.len()];
                let count = bytes[from..]
                    .iter()
                    .take_while(|b| b.is_ascii_digit())
                    .count();
                bytes.splice(from..from + count, (length % 9).to_string().into_bytes());
            }
        }
        // Replace the word or the string that begins here, by a token or by another word of the
        // document.
        0..=2 => {
            let quoted = bytes[from] == b'"';
            let inside = |b: &u8| {
                if quoted {
                    *b != b'"'
                } else {
                    b.is_ascii_alphanumeric() || b".-+".contains(b)
                }
            };
            let rest = bytes[from + 1..].iter().take_while(|b| inside(b)).count();
            let to = (from + 1 + rest + quoted as usize).min(bytes.len());
            let word = if what % 16 == 2 {
                let other = places[length as usize % places.len()];
                let word = bytes[other..].iter().take_while(|b| !b",]}\n".contains(b));
                word.copied().collect()
            } else {
                TOKENS[token % TOKENS.len()].as_bytes().to_vec()
            };
            bytes.splice(from..to, word);
        }
        // Remove a stretch, repeat a stretch, move it elsewhere.
        3 => {
            bytes.drain(from..next(1 + length as usize % 12));
        }
        4 => {
            let stretch = bytes[from..next(1 + length as usize % 40)].to_vec();
            bytes.splice(from..from, stretch);
        }
        5 => {
            let stretch: Vec<u8> = bytes.drain(from..next(1 + length as usize % 12)).collect();
            let to = length as usize % (bytes.len() + 1);
            bytes.splice(to..to, stretch);
        }
        // Any byte, and the end.
        6 => bytes[from] = length as u8,
        _ if length.is_multiple_of(8) => bytes.truncate(from),
        _ => {
            bytes.splice(from..from, TOKENS[token % TOKENS.len()].bytes());
        }
    }
}

fn changed(seed: usize, changes: &[Change]) -> Vec<u8> {
    let mut bytes = SEEDS[seed % SEEDS.len()].as_bytes().to_vec();
    for step in changes {
        change(&mut bytes, *step);
    }
    bytes
}

#[test]
fn seeds_are_valid() {
    let partners = partners();
    let mut tally = Tally::default();
    for seed in SEEDS {
        tally.document(seed.as_bytes(), &partners);
    }
    // The benchmark file states a view in addition to its instance.
    assert_eq!(tally.instances, 5);
    assert!(tally.schedules >= 2 && tally.plans >= 1 && tally.replays >= 3);
    assert!(tally.orders >= 1 && tally.order_plans >= 1);
}

proptest! {
    #[test]
    fn any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        Tally::default().document(&bytes, &[]);
        let gzipped = [&[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0][..], &bytes].concat();
        Tally::default().document(&gzipped, &[]);
    }

    #[test]
    fn changed_documents(seed in 0..9usize, changes in prop::collection::vec(any::<Change>(), 0..5)) {
        Tally::default().document(&changed(seed, &changes), &partners());
    }
}

/// A small generator of numbers, the same everywhere.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u32 {
        self.0 = self
            .0
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (self.0 >> 32) as u32
    }
}

#[test]
fn long_run() {
    let seconds: Option<u64> = std::env::var("REMAT_FUZZ_SECONDS")
        .ok()
        .and_then(|s| s.parse().ok());
    let end = seconds.map(|s| Instant::now() + Duration::from_secs(s));
    let partners = partners();
    let mut tally = Tally::default();
    // Documents that have a new outcome are worth changing further: a small pool in addition to the
    // seeds.
    let mut pool: Vec<Vec<u8>> = Vec::new();
    let start = std::env::var("REMAT_FUZZ_SEED")
        .ok()
        .and_then(|s| s.parse().ok());
    let mut random = Random(start.unwrap_or(1));
    while end.map_or(tally.documents < 4_000, |end| Instant::now() < end) {
        let mut bytes = if !pool.is_empty() && random.next().is_multiple_of(2) {
            pool[random.next() as usize % pool.len()].clone()
        } else {
            SEEDS[random.next() as usize % SEEDS.len()]
                .as_bytes()
                .to_vec()
        };
        for _ in 0..1 + random.next() % 3 {
            let step = (
                random.next() as u8,
                random.next(),
                random.next(),
                random.next() as usize,
            );
            change(&mut bytes, step);
        }
        let before = (tally.instances, tally.schedules, tally.orders);
        let copy = bytes.clone();
        let shown = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            tally.document(&bytes, &partners)
        }));
        if let Err(panic) = shown {
            println!("the document:\n{}", String::from_utf8_lossy(&copy));
            std::panic::resume_unwind(panic);
        }
        if (tally.instances, tally.schedules, tally.orders) != before && copy.len() < 20_000 {
            if pool.len() < 500 {
                pool.push(copy);
            } else {
                let k = random.next() as usize % pool.len();
                pool[k] = copy;
            }
        }
    }
    println!(
        "{} documents: {} read as instances, {} as schedules, {} as plans, {} of these replayed; no panic",
        tally.documents, tally.instances, tally.schedules, tally.plans, tally.replays
    );
    assert!(tally.instances > 0 && tally.schedules > 0);
}
