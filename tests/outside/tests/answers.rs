//! Answers of the front door for a program from outside, against all subsets.

use remat_formulations::{Budget, Frontier, Instance, Solve, zoo};
use remat_instances::schedule::BitMatrix;
use remat_outside::KeepOrRecompute;
use remat_search::{Outcome, Settings, SolveError, Status};
use remat_tests::graphs::{Numbers, training};

fn settings(threads: usize) -> Settings {
    Settings {
        rounds: 2,
        gap: 0.0,
        threads,
        ..Settings::default()
    }
}

fn solved(program: &KeepOrRecompute, budget: u64, threads: usize) -> Outcome<BitMatrix> {
    let solve = Solve::of(program.clone(), Budget::Bytes(budget)).settings(settings(threads));
    solve.outcome().unwrap().0
}

/// Every set of kept tensors: its peak and its cost.
fn all_sets(instance: &Instance) -> Vec<(u64, u64)> {
    let forward = &instance.nodes()[..instance.loss().unwrap().index()];
    let mut sets = vec![(instance.static_bytes(), instance.base_cost())];
    for node in forward {
        let kept = sets.iter().map(|s| (s.0 + node.output_bytes, s.1));
        let again = sets.iter().map(|s| (s.0, s.1 + node.cost()));
        sets = match node.needs().is_empty() {
            true => kept.collect(),
            false => kept.chain(again).collect(),
        };
    }
    sets
}

fn least(sets: &[(u64, u64)], budget: u64) -> Option<u64> {
    sets.iter().filter(|s| s.0 <= budget).map(|s| s.1).min()
}

#[test]
fn answers_are_those_of_all_subsets_on_any_number_of_threads() {
    let (mut none, mut searched) = (0, 0);
    for seed in 0..24 {
        let mut numbers = Numbers::new(seed);
        let instance = training(3 + numbers.below(10) as usize, &mut numbers);
        let program = KeepOrRecompute::new(&instance).unwrap();
        let sets = all_sets(&instance);
        let most = sets.iter().map(|s| s.0).max().unwrap();
        for budget in [0, 15, 40, 60, 80, 100].map(|percent| most * percent / 100) {
            let outcome = solved(&program, budget, 1);
            let best = least(&sets, budget);
            let context = format!("seed {seed} budget {budget}");
            assert_eq!(outcome.cost(), best, "{context}");
            let Some(best) = best else {
                assert_eq!(outcome.status, Status::Infeasible, "{context}");
                none += 1;
                continue;
            };
            assert_eq!(
                (outcome.status, outcome.bound),
                (Status::Optimal, best),
                "{context}"
            );
            searched += u64::from(outcome.lp_iterations > 0);
            let kept = outcome.schedule.clone().unwrap();
            assert_eq!(Some(program.replay(&kept)), outcome.replay, "{context}");
            assert!(program.replay(&kept).peak_bytes <= budget, "{context}");
            let two = solved(&program, budget, 2);
            let answer = |o: &Outcome<_>| (o.cost(), o.bound, o.nodes, o.moves, o.lp_iterations);
            assert_eq!(answer(&two), answer(&outcome), "{context}");
            assert_eq!(two.schedule, outcome.schedule, "{context}");
        }
    }
    assert!(none > 12 && searched > 36, "{none} {searched}");
}

#[test]
fn the_frontier_never_rises_and_each_of_its_points_is_best() {
    for seed in 100..110 {
        let instance = training(9, &mut Numbers::new(seed));
        let program = KeepOrRecompute::new(&instance).unwrap();
        let sets = all_sets(&instance);
        let budgets: Vec<Budget> = (0..=20)
            .map(|k| Budget::Percent(5.0 * f64::from(k)))
            .collect();
        let frontier = Frontier::of(program, &budgets).unwrap();
        let points = frontier.settings(settings(2)).run().unwrap();
        for point in &points {
            assert_eq!(
                point.cost(),
                least(&sets, point.budget_bytes),
                "seed {seed}"
            );
            let open = point.schedule.is_none();
            let status = if open {
                Status::Infeasible
            } else {
                Status::Optimal
            };
            assert_eq!(point.status, status, "seed {seed}");
        }
        let costs: Vec<u64> = points
            .iter()
            .map(|p| p.cost().unwrap_or(u64::MAX))
            .collect();
        assert!(costs.is_sorted_by(|a, b| a >= b), "seed {seed}: {costs:?}");
        assert_eq!(costs.last(), Some(&instance.base_cost()));
    }
}

#[test]
fn with_a_time_limit_the_answer_is_the_same() {
    for seed in 200..205 {
        let instance = training(12, &mut Numbers::new(seed));
        let program = KeepOrRecompute::new(&instance).unwrap();
        let solve = Solve::of(program, Budget::Percent(60.0)).gap(0.0);
        let limit = std::time::Duration::from_secs(30);
        let (outcome, budget) = solve.threads(2).time_limit(limit).outcome().unwrap();
        assert_eq!(
            outcome.cost(),
            least(&all_sets(&instance), budget),
            "seed {seed}"
        );
        assert_eq!(outcome.status, Status::Optimal, "seed {seed}");
    }
}

#[test]
fn a_network_is_solved_within_the_gap_and_a_start_is_taken() {
    let instance = zoo::build(&"zoo:resnet18?batch=8".parse().unwrap()).unwrap();
    let program = KeepOrRecompute::new(&instance).unwrap();
    let half = || Solve::of(program.clone(), Budget::Percent(50.0));
    let (outcome, budget) = half().outcome().unwrap();
    assert_eq!(outcome.status, Status::Optimal);
    assert!(outcome.replay.as_ref().unwrap().peak_bytes <= budget);
    let none = Settings {
        rounds: 0,
        nodes: 0,
        ..Settings::default()
    };
    let start = outcome.schedule.clone().unwrap();
    let (again, _) = half().settings(none).start(start).outcome().unwrap();
    assert!(again.cost() <= outcome.cost());
}

#[test]
fn an_instance_without_a_loss_is_refused_in_words() {
    let instance = remat_tests::graphs::general(5, &mut Numbers::new(1));
    let refused = KeepOrRecompute::new(&instance);
    assert!(matches!(&refused, Err(SolveError::Inapplicable { .. })));
    let words = refused.unwrap_err().to_string();
    assert_eq!(
        words,
        "the formulation keep or recompute does not apply to random: it has no loss"
    );
}
