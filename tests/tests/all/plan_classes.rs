//! Classes of plans against enumeration, and the checker on the proofs of their bounds.

use crate::forged::Verdicts;
use remat_check::proof::{self as checker};
use remat_formulations::class::ClassFormulation;
use remat_instances::instance::{Instance, NodeId};
use remat_instances::schedule::CheckmateSchedule;
use remat_instances::{ClassRules, PlanClass};
use remat_search::{Outcome, Settings, Solvable, Status};
use remat_tests::graphs::{Numbers, tight_budget, training, with_unlike_runs};
use remat_tests::{class, traced};

/// A graph whose forward nodes are in two or three blocks, with alike labels.
fn in_blocks(instance: &Instance, numbers: &mut Numbers) -> Instance {
    let mut data = instance.data().clone();
    let forward = instance.backward_start().unwrap().index();
    let size = 2 + numbers.below(2) as usize;
    for (i, node) in data.nodes.iter_mut().take(forward).enumerate() {
        if i > 0 || numbers.below(2) == 0 {
            node.module = format!("layers.{}.part{}", i / size, i % size).into();
        }
    }
    Instance::new(data).unwrap()
}

fn random(round: usize, numbers: &mut Numbers) -> (Instance, u64) {
    loop {
        let plain = training(3 + round / 4 % 3, numbers);
        let graph = match round % 3 {
            0 => with_unlike_runs(&plain, numbers),
            _ => plain,
        };
        if graph.len() <= 12 {
            let graph = in_blocks(&graph, numbers);
            let budget = tight_budget(&graph, 8, numbers);
            return (graph, budget);
        }
    }
}

fn solved(instance: &Instance, class: PlanClass, budget_bytes: u64) -> Outcome<CheckmateSchedule> {
    let settings = Settings {
        gap: 0.0,
        rounds: 1,
        threads: 1,
        prove: true,
        ..Settings::default()
    };
    let formulation = ClassFormulation::new(instance.clone(), class).unwrap();
    formulation
        .solve(budget_bytes, &[], &settings, &())
        .unwrap()
}

#[test]
fn every_class_is_solved_as_enumeration_does_and_its_proofs_hold() {
    let mut numbers = Numbers::new(79);
    let (mut open, mut infeasible, mut dearer) = (0, 0, 0);
    for round in 0..160 {
        let (instance, budget) = random(round, &mut numbers);
        let class = PlanClass::ALL[round % 4];
        let optimum = class::optimum(&instance, class, budget);
        let outcome = solved(&instance, class, budget);
        let what = format!("round {round}, {class}, {} within {budget}", instance.len());
        assert_eq!(outcome.cost(), optimum, "{what}");
        let expected = match optimum {
            Some(_) => Status::Optimal,
            None => Status::Infeasible,
        };
        assert_eq!(outcome.status, expected, "{what}");
        if let Some(proof) = &outcome.proof {
            let parsed = checker::parse(proof.text()).expect(&what);
            let counts = checker::check(&parsed, &instance).expect(&what);
            open += usize::from(counts.nodes > 1);
        }
        let free = remat_tests::whole::solved(&instance, budget, 1)
            .unwrap()
            .cost();
        assert!(free <= optimum || optimum.is_none(), "{what}");
        infeasible += usize::from(optimum.is_none());
        dearer += usize::from(optimum.is_some() && free < optimum);
    }
    println!("{open} trees, {infeasible} without a plan, {dearer} dearer than free plans");
    assert!(infeasible > 5 && dearer > 5, "{open} {infeasible} {dearer}");
}

#[test]
fn forged_proofs_of_classes_claim_nothing_that_is_wrong() {
    let mut numbers = Numbers::new(80);
    let mut verdicts = Verdicts::default();
    for round in 0..40 {
        let (instance, budget) = random(round, &mut numbers);
        let class = PlanClass::ALL[round % 4];
        let outcome = solved(&instance, class, budget);
        let Some(proof) = outcome.proof else { continue };
        // A proof without rows is about all plans, and its bound holds for the class, too.
        let optimum = |claimed: &checker::Proof| {
            let class = claimed.body.class().unwrap_or(class);
            class::optimum(&instance, class, claimed.budget_bytes)
        };
        let what = format!("round {round}, {class}");
        verdicts.forge(proof.text(), &instance, 40, &mut numbers, optimum, &what);
    }
    assert!(verdicts.accepted > 50 && verdicts.refused > 50);
}

#[test]
fn the_plan_of_a_class_follows_its_rules_on_a_traced_step() {
    let instance = traced::layers(3);
    let plain = Solvable::plain(&ClassFormulation::new(instance.clone(), PlanClass::Tags).unwrap());
    let plain = plain.unwrap();
    let rules = ClassRules::of(&instance, PlanClass::Tags).unwrap();
    let mut dropped = 0;
    for percent in [95, 85, 75, 65] {
        let budget = plain.peak_bytes * percent / 100;
        let outcome = solved(&instance, PlanClass::Tags, budget);
        let Some(schedule) = &outcome.schedule else {
            continue;
        };
        for node in 0..instance.len() {
            let runs = (0..instance.len()).filter(|t| schedule.computed.get(*t, node));
            let runs: Vec<usize> = runs.collect();
            assert!(runs.len() <= 2, "node {node} runs in {runs:?}");
            if let [_, again] = runs[..] {
                assert!(again >= rules.first_backward() as usize);
                let from = rules.saved_from(node as u32) as usize;
                assert!(
                    !schedule.retained.get(from, node),
                    "node {node} is saved, too"
                );
                let parent = instance.node(NodeId::from(node)).parent();
                let together = parent.is_none_or(|p| schedule.computed.get(again, p.index()));
                assert!(together, "by-product {node} runs without its parent");
                dropped += 1;
            }
        }
    }
    assert!(dropped > 10, "{dropped}");
}
