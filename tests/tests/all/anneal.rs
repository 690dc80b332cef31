//! The annealing against the simulator and against enumeration.

use remat_formulations::anneal::{CheckmateLandscape, CheckmateState};
use remat_formulations::bound;
use remat_instances::schedule::{CheckmateSchedule, StageRuns};
use remat_instances::simulate;
use remat_search::anneal::Flip;
use remat_search::{Outcome, Settings, Status};
use remat_tests::graphs::{self, Numbers};
use remat_tests::{brute, whole};

fn run(
    instance: &remat_instances::Instance,
    budget_bytes: u64,
    starts: &[CheckmateSchedule],
    settings: &Settings,
) -> Outcome<CheckmateSchedule> {
    whole::checkmate(instance, budget_bytes, starts, settings).expect("solve")
}

/// A flip anywhere, of any range.
fn any_flip(graph: &CheckmateLandscape, state: &CheckmateState<'_>, numbers: &mut Numbers) -> Flip {
    let to = 1 + numbers.below(graph.n as u64 - 1);
    let tensor = numbers.below(to);
    let keep = !state.is_kept(tensor as usize, to as usize);
    let same = |t: u64| state.is_kept(tensor as usize, t as usize) != keep;
    let mut from = to;
    while from > tensor + 1 && numbers.below(8) > 0 && same(from - 1) {
        from -= 1;
    }
    Flip {
        tensor: tensor as u32,
        from: from as u32,
        to: to as u32,
        keep,
    }
}

/// Tries a few flips one after another, and takes them back.
fn tried_flips_leave_no_trace(
    graph: &CheckmateLandscape,
    state: &mut CheckmateState<'_>,
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
    let all = |s: &CheckmateState<'_>| (s.cost(), s.excess(), s.retained());
    assert_eq!(all(state), all(&before), "{what}");
    for t in 0..graph.n {
        assert_eq!(state.peak(t), before.peak(t), "{what}, stage {t}");
        assert_eq!(state.touched(t), before.touched(t), "{what}, stage {t}");
        let touches =
            |s: &CheckmateState<'_>| (0..graph.n).map(|i| s.next_touch(i, t)).collect::<Vec<_>>();
        assert_eq!(touches(state), touches(&before), "{what}, stage {t}");
    }
}

/// Flips anywhere, in ranges of any kind, keep the incremental state equal to a replay of the whole
/// schedule.
#[test]
fn incremental_state_equals_the_replay() {
    for seed in 0..60 {
        let mut numbers = Numbers::new(seed);
        let instance = if seed % 2 == 0 {
            graphs::training(3 + (seed as usize % 30), &mut numbers)
        } else {
            graphs::general(5 + (seed as usize * 7 % 90), &mut numbers)
        };
        let graph = CheckmateLandscape::new(&instance, 40 + numbers.below(100));
        let mut state = CheckmateState::new(
            &graph,
            &CheckmateSchedule::checkpoint_all(&instance)
                .retained
                .to_bits(),
        );
        for step in 0..150 {
            let what = format!("seed {seed}, step {step}");
            tried_flips_leave_no_trace(&graph, &mut state, &mut numbers, &what);
            let flip = any_flip(&graph, &state, &mut numbers);
            let before = (state.cost(), state.excess());
            let delta = state.evaluate(flip);
            if step % 2 == 0 {
                state.apply(flip);
            } else {
                state.try_out(flip);
                state.settle();
            }
            assert_eq!(
                (state.cost(), state.excess()),
                (before.0 + delta.cost, before.1 + delta.excess),
                "seed {seed}"
            );
            let schedule = CheckmateSchedule::cheapest(&instance, state.retained());
            let replay = simulate::checkmate(&instance, &schedule).expect("executable");
            assert_eq!(state.cost() as u64, replay.cost, "seed {seed}");
            let peak = (0..instance.len())
                .map(|t| state.peak(t))
                .fold(0.0, f64::max);
            assert_eq!(
                peak as u64 + instance.static_bytes(),
                replay.peak_bytes,
                "seed {seed}"
            );
        }
    }
}

/// On small graphs the search finds the optimum, or has no plan if there is none, and its bound
/// holds.
#[test]
fn small_graphs_are_solved_to_the_optimum() {
    let (mut feasible, mut tight) = (0, 0);
    for seed in 0..160 {
        let mut numbers = Numbers::new(1000 + seed);
        let instance = if seed % 2 == 0 {
            graphs::training(2 + numbers.below(3) as usize, &mut numbers)
        } else {
            graphs::general(3 + numbers.below(6) as usize, &mut numbers)
        };
        let all = CheckmateSchedule::checkpoint_all(&instance);
        let peak = simulate::checkmate(&instance, &all)
            .expect("executable")
            .peak_bytes;
        let smallest = bound::smallest_budget(&instance).needed_bytes;
        let budget = smallest.saturating_sub(1) + numbers.below(peak - smallest.min(peak) + 2);
        let best = brute::optimum(&instance, budget);
        let settings = Settings {
            threads: 1,
            rounds: 2,
            seed,
            ..Settings::default()
        };
        let outcome = run(&instance, budget, &[], &settings);
        assert_eq!(
            outcome.cost(),
            best,
            "seed {seed}, budget {budget} of {peak}"
        );
        match best {
            Some(cost) => {
                assert!(
                    outcome.bound <= cost,
                    "seed {seed}: bound {} above the optimum {cost}",
                    outcome.bound
                );
                feasible += 1;
                tight += (cost > instance.base_cost()) as u32;
            }
            None => assert!(
                matches!(outcome.status, Status::Infeasible | Status::Limit),
                "seed {seed}"
            ),
        }
    }
    assert!(
        feasible > 80 && tight > 30,
        "the cases are too easy: {feasible} feasible, {tight} with recomputation"
    );
}

/// The same seed gives the same schedule on any number of threads.
#[test]
fn threads_do_not_change_the_answer() {
    let instance = graphs::training(24, &mut Numbers::new(5));
    let all = CheckmateSchedule::checkpoint_all(&instance);
    let peak = simulate::checkmate(&instance, &all)
        .expect("executable")
        .peak_bytes;
    let outcomes: Vec<(Option<u64>, StageRuns, u64)> = [1, 2, 8]
        .into_iter()
        .map(|threads| {
            let outcome = run(
                &instance,
                peak * 6 / 10,
                &[],
                &Settings {
                    threads,
                    rounds: 3,
                    seed: 3,
                    ..Settings::default()
                },
            );
            (
                outcome.cost(),
                outcome.schedule.expect("a schedule").retained,
                outcome.moves,
            )
        })
        .collect();
    assert!(outcomes[0].0 > Some(instance.base_cost()));
    assert_eq!(outcomes[0], outcomes[1]);
    assert_eq!(outcomes[0], outcomes[2]);
}

#[test]
fn schedules_that_fit_are_started_from_and_others_are_left_aside() {
    let mut numbers = Numbers::new(11);
    let instance = graphs::training(12, &mut numbers);
    let all = CheckmateSchedule::checkpoint_all(&instance);
    let peak = simulate::checkmate(&instance, &all).unwrap().peak_bytes;
    let run = |starts: &[CheckmateSchedule], rounds| {
        let settings = Settings {
            rounds,
            iterations: 0,
            threads: 1,
            ..Settings::default()
        };
        run(&instance, peak * 3 / 4, starts, &settings)
    };
    let best = run(&[], 3);
    let schedule = best.schedule.clone().expect("a plan");
    // The only work left is to evaluate the given schedules.
    let again = run(&[all.clone(), schedule], 0);
    assert_eq!(again.cost(), best.cost());
    assert!(run(&[all], 0).cost() >= again.cost());
}
