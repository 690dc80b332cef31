//! Limits of pipelines: what is known without a search.

use crate::case::Case;
use crate::draw::Draw;
use crate::{exact, solved};
use remat_formulations::solve::Solve;
use remat_formulations::{Budget, Settings};
use remat_instances::instance::Instance;
use remat_instances::pipeline::arrangement::Arrangement;
use remat_instances::pipeline::schedule::{Schedule, ScheduleKind};
use remat_instances::pipeline::split::Split;
use remat_instances::pipeline::timeline::{PassTimes, SendTimes, formula, timeline};
use remat_pipeline::PipelineSolution;

/// Cost and bound of the plain solve.
fn plain(instance: &Instance, budget_bytes: u64) -> Option<(u64, u64)> {
    let settings = Settings {
        gap: 0.0,
        threads: 1,
        ..Settings::default()
    };
    let solve = Solve::new(instance, Budget::Bytes(budget_bytes)).settings(settings);
    let solution = solve.run().expect("an answer");
    Some((solution.objective().ok()?, solution.bound))
}

/// A random pipeline of a graph of at most twelve nodes, if the seed gives one that is suitable.
fn drawn(seed: u64, suits: impl Fn(&Case) -> bool) -> Option<Case> {
    let case = Case::draw(&mut Draw::new(seed))?;
    (case.instance.len() <= 12 && suits(&case)).then_some(case)
}

#[test]
fn one_stage_and_one_micro_batch_are_the_plain_solve() {
    let (mut seed, mut compared) = (1_000, 0);
    while compared < 20 {
        seed += 1;
        let Some(mut case) = drawn(seed, |case| case.stages() == 1) else {
            continue;
        };
        (case.microbatches, case.devices[0].1) = (1, 1000);
        let solution = solved(&case);
        let own = solution.objective().map(|cost| (cost, solution.bound));
        assert_eq!(own, plain(&case.instance, case.devices[0].0), "seed {seed}");
        compared += 1;
    }
}

#[test]
fn one_in_flight_everywhere_is_the_plain_solve_of_every_stage() {
    let (mut seed, mut compared) = (2_000, 0);
    while compared < 10 {
        seed += 1;
        let Some(mut case) = drawn(seed, |case| case.stages() > 1) else {
            continue;
        };
        case.microbatches = 1;
        let draw = &mut Draw::new(seed);
        let all = crate::case::choices(&case.offered().expect("positions"), case.stages() - 1);
        let cuts = all[draw.below(all.len() as u64) as usize].clone();
        case.positions = Some(cuts.clone());
        case.link = None;
        case.devices.iter_mut().for_each(|device| device.1 = 1000);
        let split = Split::of(&case.instance).expect("a training graph");
        let cuts = cuts.iter().map(|cut| *cut as u32).collect();
        let arrangement = Arrangement::new(&split, case.schedule(), cuts);
        let stages = (0..case.stages()).map(|stage| {
            let instance = arrangement.instance(stage, true).expect("a stage");
            assert_eq!(instance.in_flight(), 1);
            plain(&instance, case.devices[stage].0)
        });
        let expected: Option<Vec<_>> = stages.collect();
        let cost = expected.map(|list| list.iter().map(|own| own.0).sum());
        assert_eq!(solved(&case).objective(), cost, "seed {seed}");
        compared += 1;
    }
}

/// Objectives of a row of pipelines, each at least as hard as the one before.
fn never_falls(seed: u64, row: &[Case]) {
    let mut last: Option<PipelineSolution> = None;
    for case in row {
        let own = solved(case);
        if let Some(last) = last {
            match (last.objective(), own.objective()) {
                (None, found) => assert_eq!(found, None, "seed {seed}"),
                (Some(before), Some(found)) => {
                    assert!(before <= found, "seed {seed}: {before} to {found}, {row:?}");
                }
                (Some(_), None) => {}
            }
        }
        last = Some(own);
    }
}

#[test]
fn the_objective_never_rises_with_budget_or_link() {
    for seed in 3_000..3_008 {
        let Some(case) = drawn(seed, |_| true) else {
            continue;
        };
        let more = |bytes: u64| {
            let mut other = case.clone();
            let budgets = other.devices.iter_mut().map(|device| &mut device.0);
            budgets.for_each(|budget| *budget += bytes);
            other
        };
        never_falls(seed, &[30, 12, 6, 3, 1, 0].map(more));
        let linked = |speed: Option<u64>| Case {
            link: speed.map(|speed| [speed, speed, 0]),
            ..more(4)
        };
        let speeds = [
            None,
            Some(4_000_000_000),
            Some(700_000_000),
            Some(90_000_000),
        ];
        never_falls(seed, &speeds.map(linked));
    }
}

#[test]
fn the_objective_never_falls_with_micro_batches() {
    for seed in 4_000..4_012 {
        let Some(case) = drawn(seed, |_| true) else {
            continue;
        };
        let row = [1, 2, 3, 4, 6].map(|microbatches| Case {
            microbatches,
            ..case.clone()
        });
        never_falls(seed, &row);
    }
}

#[test]
fn equal_stages_take_the_time_of_the_formula() {
    let draw = &mut Draw::new(5);
    for _ in 0..500 {
        let kind = [ScheduleKind::Gpipe, ScheduleKind::OneForwardOneBackward];
        let kind = kind[draw.below(2) as usize];
        let (devices, microbatches) = (1 + draw.below(7) as u32, 1 + draw.below(12) as u32);
        let schedule = Schedule::new(kind, devices, microbatches).expect("a schedule");
        let (forward, backward) = (draw.below(9), draw.below(20));
        let times = vec![PassTimes { forward, backward }; devices as usize];
        let sends = vec![SendTimes::default(); devices as usize - 1];
        let found = timeline(&schedule, &times, &sends).makespan;
        let steps = u64::from(devices + microbatches - 1);
        assert_eq!(found, steps * (forward + backward), "{schedule:?}");
        let sums = vec![forward + backward; devices as usize];
        assert_eq!(found, formula(&schedule, &sums, &sends), "{schedule:?}");
    }
}

#[test]
fn interleaved_schedules_run_every_pass() {
    let draw = &mut Draw::new(6);
    for _ in 0..300 {
        let (chunks, devices) = (1 + draw.below(4) as u32, 1 + draw.below(5) as u32);
        let microbatches = devices * (1 + draw.below(4) as u32);
        let kind = ScheduleKind::Interleaved(chunks);
        let schedule = Schedule::new(kind, devices, microbatches).expect("a schedule");
        let stages = schedule.stages();
        let mut time = || draw.below(9);
        let times: Vec<PassTimes> = (0..stages)
            .map(|_| PassTimes {
                forward: time(),
                backward: time(),
            })
            .collect();
        let sends: Vec<SendTimes> = (1..stages)
            .map(|_| SendTimes {
                forward: time(),
                backward: time(),
            })
            .collect();
        let found = timeline(&schedule, &times, &sends);
        let passes: usize = found.devices.iter().map(Vec::len).sum();
        assert_eq!(passes, 2 * stages * microbatches as usize, "{schedule:?}");
        // A micro-batch passes all stages, and a device runs all its passes.
        let own = |stage: usize| times[stage].forward + times[stage].backward;
        let sent: u64 = sends.iter().map(|send| send.forward + send.backward).sum();
        assert!(found.makespan >= (0..stages).map(own).sum::<u64>() + sent);
        for device in 0..schedule.devices() {
            let busy: u64 = schedule.stages_of(device).map(own).sum();
            assert!(found.makespan >= busy * u64::from(microbatches));
        }
    }
}

#[test]
fn answers_are_the_same_on_two_threads() {
    for seed in 5_000..5_010 {
        let Some(case) = drawn(seed, |_| true) else {
            continue;
        };
        let split = Split::of(&case.instance).expect("a training graph");
        let pipeline = case.pipeline(&split).expect("enough positions");
        let [one, two] = [1, 2].map(|threads| {
            let settings = remat_pipeline::PipelineSettings { threads, ..exact() };
            pipeline.solve(&settings, &()).expect("an answer")
        });
        assert_eq!(one.document(), two.document(), "seed {seed}");
        assert_eq!((one.bound, one.status), (two.bound, two.status));
    }
}
