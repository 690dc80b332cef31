//! Pipelines against all cuts and all schedules of small graphs.
//!
//! `REMAT_ROUNDS=2000` takes more graphs, and `REMAT_FIRST=10000` others.

#[path = "brute/case.rs"]
mod case;
#[path = "brute/draw.rs"]
mod draw;
#[path = "brute/interleaved.rs"]
mod interleaved;
#[path = "brute/limits.rs"]
mod limits;
#[path = "brute/stage.rs"]
mod stage;

use case::Case;
use draw::{Draw, training};
use remat_instances::instance::Instance;
use remat_instances::pipeline::arrangement::Arrangement;
use remat_instances::pipeline::document::PipelineFile;
use remat_instances::pipeline::split::Split;
use remat_instances::pipeline::stage::Stage;
use remat_instances::schedule::{BitMatrix, CheckmateSchedule};
use remat_instances::simulate;
use remat_pipeline::{PipelineSettings, PipelineSolution};
use remat_search::Status;
use stage::Graph;

/// Rounds of a test.
fn rounds(usual: u64) -> u64 {
    let text = std::env::var("REMAT_ROUNDS").ok();
    text.map_or(usual, |text| text.parse().expect("a number of rounds"))
}

fn exact() -> PipelineSettings {
    PipelineSettings {
        gap: 0.0,
        threads: 1,
        ..PipelineSettings::default()
    }
}

fn solved(case: &Case) -> PipelineSolution {
    let split = Split::of(&case.instance).expect("a training graph");
    let pipeline = case.pipeline(&split).expect("enough positions");
    pipeline.solve(&exact(), &()).expect("an answer")
}

/// The written document states what its replay gives, within all budgets.
fn replays_as_written(case: &Case, solution: &PipelineSolution) {
    let split = Split::of(&case.instance).expect("a training graph");
    let document = solution.document().expect("a pipeline");
    let text = document.write(&split).expect("a text");
    let file = PipelineFile::parse("small.json", text.as_bytes()).expect("a pipeline");
    let read = file.pipeline(&split).expect("the pipeline of the graph");
    assert_eq!(read, document);
    let arrangement = Arrangement::new(&split, read.schedule, read.cuts.clone());
    let graphs: Vec<Instance> = (0..case.stages())
        .map(|stage| arrangement.instance(stage, true).expect("a stage"))
        .collect();
    let plans = read.plans.iter().map(|plan| &plan.plan);
    let pairs: Vec<_> = graphs.iter().zip(plans).collect();
    let replay = arrangement.replay(&read.devices, read.link.as_ref(), &pairs);
    let replay = replay.expect("a replay");
    assert_eq!(Some(replay.objective), solution.objective());
    assert_eq!(replay.objective, read.objective);
    assert_eq!(replay.timeline.makespan, read.makespan);
    for (peak, (budget, _)) in replay.peaks.iter().zip(&case.devices) {
        assert!(peak <= budget, "{:?} {:?}", replay.peaks, case.devices);
    }
    // Each pass of each micro-batch runs once.
    let passes: usize = replay.timeline.devices.iter().map(Vec::len).sum();
    assert_eq!(passes, 2 * case.stages() * case.microbatches as usize);
    let slowest = replay.times.iter().max().expect("a stage");
    assert!(replay.timeline.makespan >= slowest * u64::from(case.microbatches));
}

/// Outcomes of a run.
#[derive(Debug, Default)]
struct Count {
    solved: usize,
    infeasible: usize,
    /// Plans fit where no schedule of the program does, because a plan frees sooner.
    beyond: usize,
    /// The search ended with plan and bound equal.
    optimal: usize,
    /// Objectives at the optimum over schedules, below it, and above it.
    equal: usize,
    cheaper: usize,
    above: usize,
    /// Bounds below the optimum.
    loose: usize,
    recomputing: usize,
    /// Graphs whose schedules are too many for the search of this test.
    too_long: usize,
}

impl Count {
    fn take(&mut self, case: &Case, at: &str) {
        let Ok(optimum) = case.optimum() else {
            self.too_long += 1;
            return;
        };
        let solution = solved(case);
        let Some(found) = solution.objective() else {
            assert_eq!(optimum, None, "{at}: {:?}", solution.status);
            assert_eq!(solution.status, Status::Infeasible, "{at}");
            self.infeasible += 1;
            return;
        };
        replays_as_written(case, &solution);
        let best = solution.best.as_ref().expect("a pipeline");
        let costs = best.replay.profiles.iter().map(|own| own.cost());
        self.recomputing += usize::from(costs.sum::<u64>() > case.instance.base_cost());
        let Some(optimum) = optimum else {
            self.beyond += 1;
            return;
        };
        self.solved += 1;
        let bound = solution.bound;
        assert!(
            bound <= optimum.min(found),
            "{at}: bound {bound}, objective {found}, optimum {optimum}"
        );
        if solution.status == Status::Optimal {
            assert!(found <= optimum, "{at}: {found}, optimum {optimum}");
            self.optimal += 1;
        }
        self.equal += usize::from(found == optimum);
        self.cheaper += usize::from(found < optimum);
        self.above += usize::from(found > optimum);
        if bound < optimum.min(found) || found > optimum {
            self.loose += 1;
            let (status, solves) = (solution.status, solution.solves);
            eprintln!(
                "{at}: bound {bound}, objective {found}, optimum {optimum}, {status:?} after \
                 {solves} solves, {} stages, {} micro-batches, gpipe {}",
                case.stages(),
                case.microbatches,
                case.gpipe
            );
        }
    }
}

#[test]
fn pipelines_are_the_best_of_all_cuts_and_plans() {
    let mut count = Count::default();
    let first = std::env::var("REMAT_FIRST").ok();
    let mut seed = first.map_or(0, |text| text.parse().expect("a number"));
    let rounds = rounds(60) as usize;
    let mut taken = 0;
    while taken < rounds {
        seed += 1;
        let Some(case) = Case::draw(&mut Draw::new(seed)) else {
            continue;
        };
        count.take(&case, &format!("seed {seed}"));
        taken += 1;
        if taken % 100 == 0 {
            eprintln!("{taken}: {count:?}");
        }
    }
    eprintln!("{count:?}");
    // A plan may be a little cheaper than its schedule; fixed work may end before the proof.
    assert!(count.equal * 10 >= count.solved * 9, "{count:?}");
    assert!(count.optimal * 10 >= count.solved * 9, "{count:?}");
    assert!(
        count.solved * 3 >= rounds && count.infeasible * 8 >= rounds,
        "{count:?}"
    );
    assert!(
        count.recomputing * 5 >= rounds
            && count.too_long * 20 <= rounds
            && count.beyond * 50 <= rounds,
        "{count:?}"
    );
}

#[test]
fn stages_and_crossings_are_those_of_the_naive_definition() {
    for seed in 0..300 {
        let draw = &mut Draw::new(seed);
        let forward = 2 + draw.below(7) as usize;
        let instance = training(draw, forward);
        let split = Split::of(&instance).expect("a training graph");
        let end = split.end() as usize;
        let legal = stage::legal(&instance);
        for p in 0..=end {
            let own = split.crossing(p as u32);
            assert_eq!(own.is_some(), legal.contains(&p), "seed {seed}, {p}");
            if let Some(own) = own {
                let bytes = [own.forward_bytes, own.backward_bytes];
                assert_eq!(bytes, stage::crossing(&instance, p), "seed {seed}, {p}");
            }
        }
        let ends: Vec<usize> = [&[0], &legal[..], &[end]].concat();
        for (k, &begin) in ends.iter().enumerate() {
            for &end in &ends[k + 1..] {
                let graph = Graph::stage(&instance, begin..end);
                let stage = Stage::of(&split, begin as u32..end as u32);
                let own = stage.instance(0, 2, true).expect("a stage");
                assert!(graph.is_like(&own), "seed {seed}, {begin}..{end}");
                assert_eq!(own.in_flight(), if graph.trains() { 2 } else { 1 });
            }
        }
        for p in split.narrow(20) {
            assert!(legal.contains(&(p as usize)), "seed {seed}, {p}");
        }
    }
}

/// Cost and peak of every schedule of a tiny graph, also of those with needless runs.
fn every(instance: &Instance, needless: bool) -> Vec<(u64, u64)> {
    let n = instance.len();
    let pairs = (1..n).flat_map(|t| (0..t).map(move |i| (t, i)));
    let graph = Graph::whole(instance);
    let useful = |&(t, i): &(usize, usize)| needless || graph.useful(t) >> i & 1 != 0;
    let retained: Vec<(usize, usize)> = pairs.clone().filter(useful).collect();
    let computed: Vec<(usize, usize)> = pairs.filter(|_| needless).collect();
    let bits = retained.len() + computed.len();
    assert!(bits <= 20, "{bits} bits");
    let mut found = Vec::new();
    for mask in 0u32..1 << bits {
        let mut matrices = [BitMatrix::new(n, n), BitMatrix::new(n, n)];
        let entries = retained.iter().zip([0].into_iter().cycle());
        let entries = entries.chain(computed.iter().zip([1].into_iter().cycle()));
        for (k, (&(t, i), which)) in entries.enumerate() {
            matrices[which].set(t, i, mask >> k & 1 != 0);
        }
        let [retained, mut computed] = matrices;
        let schedule = match needless {
            false => CheckmateSchedule::cheapest(instance, retained),
            true => {
                (0..n).for_each(|t| computed.set(t, t, true));
                CheckmateSchedule {
                    computed: computed.into(),
                    retained: retained.into(),
                }
            }
        };
        if let Ok(replay) = simulate::checkmate(instance, &schedule) {
            found.push((replay.cost, replay.peak_bytes));
        }
    }
    found
}

#[test]
fn the_table_of_schedules_has_the_best_of_all_replays() {
    let (mut seed, mut compared) = (0, 0);
    while compared < 40 {
        seed += 1;
        let draw = &mut Draw::new(seed);
        let needless = draw.one_in(3);
        let forward = 2 + draw.below(2) as usize;
        let instance = training(draw, forward);
        let most = if needless { 4 } else { 6 };
        let graph = Graph::whole(&instance);
        let useful = (1..instance.len()).map(|t| graph.useful(t).count_ones());
        let pairs: u32 = useful.sum();
        if instance.len() > most || pairs > 13 {
            continue;
        }
        compared += 1;
        for k in 1..5 {
            let several = instance.with_in_flight(k).expect("an instance");
            let fixed = instance.static_bytes();
            let all = every(&several, needless);
            let peaks: Vec<u64> = all.iter().map(|(_, peak)| *peak).collect();
            for budget in peaks.iter().flat_map(|peak| [peak - 1, *peak]) {
                let best = all.iter().filter(|(_, peak)| *peak <= budget);
                let best = best.map(|(cost, _)| *cost).min();
                let room = budget.checked_sub(fixed);
                let own = room.and_then(|room| graph.least(k, room).expect("a tiny graph"));
                assert_eq!(own, best, "seed {seed}, {k} in flight, {budget} bytes");
            }
        }
    }
}
