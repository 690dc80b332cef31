//! The order of first computations together with copies, against an exact search over all orders,
//! recomputations and copies of small graphs.
//!
//! `REMAT_ROUNDS=200` takes more graphs, and `REMAT_FIRST=1000` others.

#[path = "joint/draw.rs"]
mod draw;
#[path = "joint/exact.rs"]
mod exact;

use draw::{Case, Draw};
use exact::{Beaten, is_beaten};
use remat_formulations::AnyFormulation;
use remat_formulations::improve::Improve;
use remat_formulations::offload::CopyPhase;
use remat_formulations::offload::nodes::Offload;
use remat_formulations::reorder::{Reorder, ReorderCopies};
use remat_formulations::solve::{AnySolvable, Frontier};
use remat_instances::Budget;
use remat_instances::instance::Precedence;
use remat_instances::simulate;
use remat_search::Settings;

/// A number from the environment.
fn number(name: &str, usual: u64) -> u64 {
    let text = std::env::var(name).ok();
    text.map_or(usual, |text| text.parse().expect("a whole number"))
}

fn settings(threads: usize) -> Settings {
    Settings {
        rounds: 2,
        gap: 0.0,
        threads,
        ..Settings::default()
    }
}

/// Makespans of the plans with copies in the given order, without copies, and with both choices.
fn makespans(case: &Case) -> [Option<u64>; 3] {
    let formulation = AnyFormulation::suiting(&case.instance);
    let budget = case.budget_bytes;
    let copied = Offload::new(formulation.clone(), budget).settings(settings(1));
    let copied = copied.run().expect("an answer").outcome.cost();
    let reordered = Reorder::new(formulation.clone(), budget).settings(settings(1));
    let reordered = reordered.run().expect("an answer").objective().ok();
    let both = ReorderCopies::new(formulation, budget, CopyPhase::Any).settings(settings(1));
    let both = both.run().expect("an answer");
    if let Some(document) = &both.plan {
        let replay = simulate::plan(&case.instance, &document.plan).expect("a plan");
        assert_eq!(replay.makespan, document.objective);
        assert!(replay.peak_bytes <= budget);
        let order = document.plan.first_computations(&case.instance);
        assert_eq!(both.choice.order, order);
        let rules = Precedence::of(&case.instance, document.plan.semantics);
        assert!(rules.allows(&order));
        assert!(both.outcome.bound <= replay.makespan);
    }
    [copied, reordered, both.outcome.cost()]
}

#[test]
fn the_joint_answer_is_never_worse_and_nearly_always_exact() {
    let first = number("REMAT_FIRST", 0);
    let [mut judged, mut equal, mut better, mut open] = [0u64; 4];
    for round in 0..number("REMAT_ROUNDS", 24) {
        let case = Case::of(&mut Draw::new(first + round));
        let [copied, reordered, both] = makespans(&case);
        let alone = copied.into_iter().chain(reordered).min();
        assert!(
            alone.is_none_or(|alone| both.is_some_and(|both| both <= alone)),
            "round {round}: {both:?} against {copied:?} and {reordered:?}"
        );
        better += u64::from(both < alone);
        match is_beaten(&case, both.unwrap_or(u64::MAX)) {
            Beaten::No => (judged, equal) = (judged + 1, equal + 1),
            Beaten::By(makespan) => {
                judged += 1;
                println!("round {round}: {both:?}, a plan takes {makespan}");
            }
            Beaten::Unknown => open += 1,
        }
    }
    println!(
        "{equal} of {judged} exact, {better} below the better of both alone, {open} undecided"
    );
    assert!(
        10 * equal >= 9 * judged && judged > 0,
        "{equal} of {judged}"
    );
}

#[test]
fn plans_with_copies_are_improved_and_never_worse() {
    let mut better = 0;
    for round in 0..12 {
        let case = Case::of(&mut Draw::new(700 + round));
        let formulation = AnyFormulation::suiting(&case.instance);
        let found = Offload::new(formulation, case.budget_bytes).settings(settings(1));
        let Some(document) = found.run().expect("an answer").plan else {
            continue;
        };
        let plan = &document.plan;
        let improve = Improve::new(&case.instance, plan).budget(case.budget_bytes);
        let found = improve.run().expect("a plan");
        let replay = simulate::plan(&case.instance, &found.plan).expect("a plan");
        assert_eq!(replay, found.replay);
        assert!(replay.makespan <= document.objective);
        assert!(replay.peak_bytes <= case.budget_bytes);
        // More memory: values may stay.
        let plain = case.plain_bytes();
        let improve = Improve::new(&case.instance, plan).budget(plain);
        let roomy = improve.run().expect("a plan");
        assert!(roomy.replay.makespan <= replay.makespan);
        assert!(roomy.replay.peak_bytes <= plain);
        better += u64::from(roomy.replay.makespan < document.objective);
    }
    assert!(better > 0);
}

#[test]
fn frontiers_in_any_order_do_not_rise() {
    for round in 0..3 {
        let case = Case::of(&mut Draw::new(40 + round));
        let formulation = AnyFormulation::suiting(&case.instance);
        for copies in [None, Some(CopyPhase::Any)] {
            let given = AnySolvable::of(formulation.clone(), copies);
            let budgets = [60.0, 75.0, 90.0].map(Budget::Percent);
            let points = |solvable| {
                let frontier = Frontier::of(solvable, &budgets).expect("a plan");
                frontier.settings(settings(1)).run().expect("points")
            };
            let any = points(given.clone().reordered());
            for (own, any) in points(given).iter().zip(&any) {
                let cost = |cost: Option<u64>| cost.unwrap_or(u64::MAX);
                assert!(cost(any.cost()) <= cost(own.cost()));
            }
            let costs = any.iter().map(|p| p.cost().unwrap_or(u64::MAX));
            assert!(costs.is_sorted_by(|a, b| a >= b));
        }
    }
}

#[test]
fn the_answer_is_the_same_on_any_number_of_threads() {
    let case = Case::of(&mut Draw::new(3));
    let [one, two] = [1, 2].map(|threads| {
        let formulation = AnyFormulation::suiting(&case.instance);
        let both = ReorderCopies::new(formulation, case.budget_bytes, CopyPhase::Any);
        both.settings(settings(threads)).run().expect("an answer")
    });
    assert_eq!(one.plan, two.plan);
    assert_eq!(one.outcome.bound, two.outcome.bound);
    assert_eq!(one.choice.orders, two.choice.orders);
}
