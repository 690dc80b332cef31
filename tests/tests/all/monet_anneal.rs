//! The annealing of MONeT's program against the simulator, against enumeration, and on published
//! schedules.

use remat_formulations::monet::anneal::{MonetLandscape, MonetProposer, MonetState};
use remat_instances::plan::Plan;
use remat_instances::schedule::{BitMatrix, MonetSchedule, Schedule, ScheduleFile};
use remat_instances::{Instance, Semantics, simulate};
use remat_lp::random::Xoshiro256;
use remat_search::anneal::Flip;
use remat_search::{Outcome, Settings, Status};
use remat_tests::graphs::Numbers;
use remat_tests::{files, monet_optimum, shared_data, whole};
use std::collections::HashSet;

/// Asserts that cost and peak of a state equal its replay's.
fn agrees(instance: &Instance, state: &mut MonetState<'_>, stages: usize, what: &str) {
    let schedule = state.schedule();
    let replay = simulate::monet(instance, &schedule).unwrap_or_else(|e| panic!("{what}: {e}"));
    let peak = (0..stages).map(|t| state.value(t).peak).max();
    assert_eq!(state.cost() as u64, replay.cost, "{what}");
    assert_eq!(peak, Some(replay.peak_bytes as i64), "{what}");
}

/// A flip anywhere, of any range.
fn any_flip(graph: &MonetLandscape, state: &MonetState<'_>, numbers: &mut Numbers) -> Flip {
    let stages = graph.stages as u64;
    let mut to = 1 + numbers.below(stages);
    let mut from = to;
    let tensor = numbers.below(graph.columns as u64) as u32;
    let keep = !state.is_kept(tensor as usize, to as usize);
    let same = |t: u64| state.is_kept(tensor as usize, t as usize) != keep;
    while from > 1 && numbers.below(8) > 0 && same(from - 1) {
        from -= 1;
    }
    while to < stages && numbers.below(4) > 0 && same(to + 1) {
        to += 1;
    }
    Flip {
        tensor,
        from: from as u32,
        to: to as u32,
        keep,
    }
}

/// Tries a few flips one after another, and takes them back.
fn tried_flips_leave_no_trace(
    graph: &MonetLandscape,
    state: &mut MonetState<'_>,
    numbers: &mut Numbers,
    what: &str,
) {
    let before = state.clone();
    let mut tried = Vec::new();
    for _ in 0..numbers.below(4) {
        tried.push(any_flip(graph, state, numbers));
        state.try_out(tried[tried.len() - 1]);
    }
    tried.iter().rev().for_each(|flip| state.take_back(*flip));
    let all = |s: &MonetState<'_>| (s.cost(), s.excess(), s.retained());
    assert_eq!(all(state), all(&before), "{what}");
    for t in 0..graph.stages {
        assert_eq!(state.value(t), before.value(t), "{what}, stage {t}");
        assert_eq!(state.used(t), before.used(t), "{what}, stage {t}");
        let uses = |s: &MonetState<'_>| {
            (0..graph.columns)
                .map(|i| s.next_use(i, t))
                .collect::<Vec<_>>()
        };
        assert_eq!(uses(state), uses(&before), "{what}, stage {t}");
    }
}

/// Flips anywhere, in ranges of any kind, keep the incremental state equal to a replay of the whole
/// schedule.
#[test]
fn incremental_state_equals_the_replay() {
    let mut in_place = 0;
    for seed in 0..400 {
        let mut numbers = Numbers::new(seed);
        let columns = 2 + numbers.below(30) as usize;
        let instance = monet_optimum::random(columns, 1 + numbers.below(70) as usize, &mut numbers);
        let budget = 40 + numbers.below(20 * columns as u64 + 100);
        let graph = MonetLandscape::new(&instance, budget).expect("a loss");
        let stages = graph.stages;
        let mut state = MonetState::new(&graph, &BitMatrix::new(stages + 1, columns));
        for step in 0..60 {
            let what = format!("seed {seed}, step {step}");
            tried_flips_leave_no_trace(&graph, &mut state, &mut numbers, &what);
            let flip = any_flip(&graph, &state, &mut numbers);
            let before = (state.cost() as f64, state.excess() as f64);
            let delta = state.evaluate(flip);
            if step % 2 == 0 {
                state.apply(flip);
            } else {
                state.try_out(flip);
                state.settle();
            }
            let after = (state.cost() as f64, state.excess() as f64);
            assert_eq!(
                after,
                (before.0 + delta.cost, before.1 + delta.excess),
                "{what}"
            );
            let fresh = MonetState::new(&graph, &state.retained());
            assert_eq!(
                (fresh.cost(), fresh.excess()),
                (state.cost(), state.excess()),
                "{what}"
            );
            agrees(&instance, &mut state, stages, &what);
        }
        in_place += (state.schedule().in_place.count_ones() > 0) as usize;
    }
    assert!(in_place > 100, "{in_place}");
}

/// A backward node reads tensors that are stored beyond its stage. Keeping a tensor for one stage
/// more is proposed if it pays, with and without a later use.
#[test]
fn a_stage_more_for_a_backward_node_is_proposed() {
    let mut last = 0;
    for seed in 0..150 {
        let mut numbers = Numbers::new(seed);
        let columns = 3 + numbers.below(8) as usize;
        let instance = monet_optimum::random(columns, 1 + numbers.below(70) as usize, &mut numbers);
        let budget = 40 + numbers.below(20 * columns as u64 + 100);
        let graph = MonetLandscape::new(&instance, budget).expect("a loss");
        let mut state = MonetState::new(&graph, &BitMatrix::new(graph.stages + 1, columns));
        for _ in 0..20 {
            let flip = any_flip(&graph, &state, &mut numbers);
            state.apply(flip);
        }
        let proposer = MonetProposer::new(&graph);
        let mut random = Xoshiro256::new(seed, 0);
        let proposed: HashSet<Flip> = (0..400_000)
            .filter_map(|_| proposer.anywhere(&state, &mut random))
            .collect();
        for (stage, tensor) in (1..=graph.stages).flat_map(|t| (0..columns).map(move |i| (t, i))) {
            let flip = Flip {
                tensor: tensor as u32,
                from: stage as u32,
                to: stage as u32,
                keep: true,
            };
            let readers = &graph.readers[tensor];
            if state.is_kept(tensor, stage) || !readers.contains(&(stage as u32 - 1)) {
                continue;
            }
            let delta = state.evaluate(flip);
            if delta.cost < 0.0 && delta.excess <= 0.0 {
                assert!(proposed.contains(&flip), "seed {seed}: {flip:?}");
                last += state.next_use(tensor, stage).is_none() as usize;
            }
        }
    }
    assert!(last > 10, "{last}");
}

/// Published schedules with a folder's instances: name, budget in bytes, instance and schedule.
fn published() -> Option<Vec<(String, u64, Instance, MonetSchedule)>> {
    let folder = shared_data("zoo")?;
    let mut list = Vec::new();
    for path in files(&folder.join("solutions"), "json") {
        let file = ScheduleFile::open(&path).unwrap();
        if file.semantics() != Semantics::Monet {
            continue;
        }
        let graph = folder
            .join("graphs")
            .join(format!("{}.json", file.instance()));
        let instance = remat_instances::read(graph).unwrap();
        let document = file.schedule(&instance).unwrap();
        let Schedule::Monet(schedule) = document.schedule else {
            panic!("{}", path.display());
        };
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        list.push((name, document.budget_bytes.unwrap(), instance, schedule));
    }
    Some(list)
}

/// A schedule completed from the stored sets of a published one fits, and costs at most the
/// published cost.
#[test]
fn stored_sets_of_published_schedules_cost_no_more_than_published() {
    let Some(list) = published() else {
        return;
    };
    let mut better = 0;
    for (name, budget, instance, schedule) in &list {
        let replay = simulate::monet(instance, schedule).unwrap();
        let graph = MonetLandscape::new(instance, *budget).unwrap();
        let mut state = MonetState::new(&graph, &schedule.retained);
        agrees(instance, &mut state, graph.stages, name);
        assert_eq!(state.excess(), 0, "{name}");
        assert!(
            state.cost() as u64 <= replay.cost,
            "{name}: {} above {}",
            state.cost(),
            replay.cost
        );
        better += (replay.cost > state.cost() as u64) as usize;
    }
    println!(
        "{} schedules, {better} of them made cheaper at once",
        list.len()
    );
    assert!(!list.is_empty());
}

fn settings(seed: u64) -> Settings {
    Settings {
        rounds: 2,
        threads: 1,
        seed,
        ..Settings::default()
    }
}

fn solve(
    instance: &Instance,
    budget_bytes: u64,
    settings: &Settings,
    starts: &[MonetSchedule],
) -> Outcome<MonetSchedule> {
    whole::monet(instance, budget_bytes, starts, settings).expect("solve")
}

/// Small instances are solved to the optimum that enumeration finds, and most answers are proven,
/// infeasibility included; every schedule is a plan. (These random graphs have features that no
/// training graph has, and the replay is stricter than the program, see `docs/theory/monet.md`:
/// some bounds stay below the optimum.)
#[test]
fn small_instances_are_solved_to_the_optimum() {
    let (mut feasible, mut infeasible, mut unproven) = (0, 0, Vec::new());
    for seed in 0..150 {
        let mut numbers = Numbers::new(5000 + seed);
        let columns = 3 + numbers.below(3) as usize;
        let instance = monet_optimum::random(columns, 1 + numbers.below(3) as usize, &mut numbers);
        let plain = MonetSchedule::checkpoint_all(&instance).unwrap();
        let peak = simulate::monet(&instance, &plain).unwrap().peak_bytes;
        let budget = peak * (60 + numbers.below(60)) / 100;
        let outcome = solve(&instance, budget, &settings(seed), &[]);
        let best = monet_optimum::optimum(&instance, budget);
        let Some(best) = best else {
            infeasible += 1;
            assert_eq!(outcome.cost(), None, "seed {seed}");
            if outcome.status != Status::Infeasible {
                unproven.push(seed);
            }
            continue;
        };
        feasible += 1;
        assert!(outcome.bound <= best, "seed {seed}: {}", outcome.bound);
        if outcome.status != Status::Optimal {
            unproven.push(seed);
        }
        let schedule = outcome.schedule.as_ref().unwrap();
        let replay = simulate::monet(&instance, schedule).unwrap();
        assert_eq!(Some(replay.cost), outcome.cost(), "seed {seed}");
        assert_eq!(replay.cost, best, "seed {seed}");
        assert!(replay.peak_bytes <= budget, "seed {seed}");
        let plan = Plan::from_monet(&instance, schedule).unwrap();
        let plan = simulate::plan(&instance, &plan.optimised(&instance).unwrap()).unwrap();
        assert!(plan.cost <= replay.cost, "seed {seed}");
    }
    assert!(feasible > 60 && infeasible > 10);
    println!("{feasible} with a schedule, {infeasible} without, {unproven:?} unproven");
    assert!(unproven.len() * 5 < feasible + infeasible, "{unproven:?}");
}

/// The answer depends on the seed, not on the number of threads.
#[test]
fn answers_are_the_same_on_any_number_of_threads() {
    for seed in 0..3 {
        let mut numbers = Numbers::new(9000 + seed);
        let instance = monet_optimum::random(9, 8, &mut numbers);
        let plain = MonetSchedule::checkpoint_all(&instance).unwrap();
        let peak = simulate::monet(&instance, &plain).unwrap().peak_bytes;
        let one = solve(&instance, peak * 8 / 10, &settings(seed), &[]);
        let again = solve(&instance, peak * 8 / 10, &settings(seed), &[]);
        let two = Settings {
            threads: 2,
            ..settings(seed)
        };
        let two = solve(&instance, peak * 8 / 10, &two, &[]);
        assert!(one.schedule.is_some(), "seed {seed}");
        assert_eq!(one.schedule, again.schedule, "seed {seed}");
        assert_eq!(one.schedule, two.schedule, "seed {seed}");
    }
}

/// A published schedule as a start is never replaced by a worse one.
#[test]
fn published_schedules_as_starts_are_not_lost() {
    let Some(list) = published() else {
        return;
    };
    // Each takes seconds: only every sixth schedule of VGG-16.
    let some = list.iter().filter(|p| p.0.contains("vgg16")).step_by(6);
    for (name, budget, instance, schedule) in some {
        let short = Settings {
            rounds: 0,
            nodes: 2,
            ..settings(0)
        };
        let outcome = solve(instance, *budget, &short, std::slice::from_ref(schedule));
        let published = simulate::monet(instance, schedule).unwrap();
        assert!(outcome.cost().unwrap() <= published.cost, "{name}");
        assert!(outcome.bound <= published.cost, "{name}");
    }
}
