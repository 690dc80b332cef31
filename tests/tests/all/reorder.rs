//! Orders of first computations, searched for a budget, against enumeration; plans whose steps were
//! put in a better order.

use remat_formulations::AnyFormulation;
use remat_formulations::bound::any_plan_bound;
use remat_formulations::improve::Improve;
use remat_formulations::reorder::{
    Reorder, ReorderTuning, Reordered, STAGE_SCHEDULES_IN_THIS_ORDER,
};
use remat_instances::instance::{InstanceData, Precedence};
use remat_instances::plan::Plan;
use remat_instances::schedule::Schedule;
use remat_instances::{Instance, NodeId, Semantics, simulate, zoo};
use remat_search::{ALL_PLANS, Settings, Status};
use remat_tests::graphs::{Numbers, general, random_schedule, training, with_unlike_runs};
use remat_tests::reorders::{all_orders, best_plan};
use remat_tests::{brute, monet};

fn settings(threads: usize) -> Settings {
    Settings {
        rounds: 2,
        gap: 0.0,
        threads,
        ..Settings::default()
    }
}

fn tuning() -> ReorderTuning {
    ReorderTuning {
        rounds: 40,
        idle_rounds: 4,
        idle_shakes: 4,
        ..ReorderTuning::default()
    }
}

fn answer(instance: &Instance, budget: u64, threads: usize) -> Reordered {
    let reorder = Reorder::new(AnyFormulation::suiting(instance), budget);
    let reorder = reorder.settings(settings(threads)).tuning(tuning());
    reorder.run().unwrap()
}

/// Asserts that the answer's claims about itself hold.
fn holds(answer: &Reordered, budget: u64) {
    let (given, outcome) = (&answer.given, &answer.outcome);
    let rules = Precedence::of(given, Semantics::Checkmate);
    assert!(rules.allows(&answer.choice.order));
    assert_eq!(
        given.reordered(&answer.choice.order).unwrap(),
        *answer.choice.instance
    );
    let Some(document) = answer.plan.as_ref().map(|plan| &plan.document) else {
        assert!(matches!(outcome.status, Status::Infeasible | Status::Limit));
        return;
    };
    let replay = simulate::plan(given, &document.plan).unwrap();
    assert_eq!(
        (replay.cost, replay.peak_bytes),
        (document.objective, document.peak_bytes)
    );
    assert!(replay.peak_bytes <= budget);
    assert!(answer.choice.any_order_bound <= outcome.bound && outcome.bound <= document.objective);
    assert!(
        answer
            .choice
            .given_cost
            .is_none_or(|given| document.objective <= given)
    );
    if outcome.bound_scope == STAGE_SCHEDULES_IN_THIS_ORDER {
        assert!(!answer.choice.is_given());
        let own = document.plan.stage_schedule_in_own_order(given);
        assert_eq!(own, Ok(()));
    }
}

#[test]
fn orders_are_found_and_bounds_hold_of_what_they_are_over() {
    let mut numbers = Numbers::new(11);
    let (mut cheaper, mut best_found, mut pairs) = (0, 0, 0);
    for _ in 0..40 {
        let instance = general(4 + numbers.below(3) as usize, &mut numbers);
        let peak = instance
            .plain_replay(Semantics::Checkmate)
            .unwrap()
            .peak_bytes;
        let orders = all_orders(&instance);
        let budget = peak - 1 - numbers.below(peak / 3);
        let given = brute::optimum(&instance, budget);
        let of = |order: &Vec<NodeId>| brute::optimum(&instance.reordered(order).unwrap(), budget);
        let stages = orders.iter().filter_map(of).min();
        let plans = best_plan(&instance, budget);
        let answer = answer(&instance, budget, 1);
        holds(&answer, budget);
        let found = answer.objective().ok();
        match (found, plans) {
            (Some(found), Some(plans)) => {
                assert!(plans <= found, "{plans} {found}");
                assert!(answer.choice.any_order_bound <= plans);
                pairs += 1;
                best_found += usize::from(stages.is_some_and(|best| found <= best));
                cheaper += usize::from(given.is_none_or(|given| found < given));
            }
            (Some(found), None) => panic!("a plan of {found} where there is none"),
            (None, _) => assert_eq!(given, None),
        }
        let outcome = &answer.outcome;
        match outcome.bound_scope {
            ALL_PLANS => assert!(plans.is_none_or(|plans| outcome.bound <= plans)),
            _ if found.is_some() => {
                let here = brute::optimum(&answer.choice.instance, budget);
                assert!(outcome.bound <= here.unwrap());
            }
            _ => {}
        }
        if outcome.status == Status::Infeasible {
            assert_eq!(stages, None);
        }
    }
    // The search proves no optimum; here it always finds the best stage schedule.
    assert_eq!(best_found, pairs);
    assert!(cheaper * 2 > pairs, "{cheaper} of {pairs}");
}

#[test]
fn the_answer_is_the_same_on_any_number_of_threads() {
    let mut numbers = Numbers::new(5);
    let mut searched = 0;
    for percent in [65, 75, 85, 92] {
        let instance = general(15, &mut numbers);
        let peak = instance
            .plain_replay(Semantics::Checkmate)
            .unwrap()
            .peak_bytes;
        let [one, four] = [1, 4].map(|threads| answer(&instance, peak * percent / 100, threads));
        searched += usize::from(one.choice.orders > 30 && one.plan.is_some());
        assert_eq!(one.choice.order, four.choice.order);
        assert_eq!(one.plan, four.plan);
        assert_eq!(one.choice.orders, four.choice.orders);
        assert_eq!(one.outcome.bound, four.outcome.bound);
        assert_eq!(one.outcome.status, four.outcome.status);
    }
    assert!(searched > 0);
}

#[test]
fn no_plan_of_any_order_is_below_the_bound() {
    let mut numbers = Numbers::new(3);
    let (mut raised, mut refuted) = (0, 0);
    for _ in 0..250 {
        let unlike = with_unlike_runs(&general(8, &mut numbers), &mut numbers);
        let nodes = unlike.nodes().iter().cloned().map(|mut node| {
            node.kind = Default::default();
            node.once &= numbers.below(4) == 0;
            node
        });
        let instance = Instance::new(InstanceData {
            nodes: nodes.collect(),
            ..unlike.data().clone()
        })
        .unwrap();
        let peak = instance
            .plain_replay(Semantics::Checkmate)
            .unwrap()
            .peak_bytes;
        let budget = peak - 1 - numbers.below(peak / 3);
        let best = best_plan(&instance, budget);
        match any_plan_bound(&instance, Semantics::Checkmate, budget) {
            Ok(bound) => {
                assert!(best.is_none_or(|best| bound.cost <= best));
                raised += usize::from(bound.cost > instance.base_cost());
            }
            Err(_) => {
                assert_eq!(best, None);
                refuted += 1;
            }
        }
    }
    assert!(raised > 10 && refuted > 10, "{raised} {refuted}");
}

#[test]
fn a_graph_with_one_order_is_solved_as_ever() {
    let instance = training(5, &mut Numbers::new(2));
    let data = InstanceData {
        nodes: instance.nodes()[..6].to_vec(),
        ..instance.data().clone()
    };
    let chain = Instance::new(data).unwrap();
    assert!(Precedence::of(&chain, Semantics::Checkmate).is_total());
    let peak = chain.plain_replay(Semantics::Checkmate).unwrap().peak_bytes;
    let answer = answer(&chain, peak, 1);
    assert!(answer.choice.is_given() && answer.choice.orders == 1);
    assert_eq!(answer.objective(), Ok(chain.base_cost()));
    let nothing = Reorder::new(AnyFormulation::suiting(&chain), 1)
        .run()
        .unwrap();
    assert_eq!(nothing.outcome.status, Status::Infeasible);
    assert!(
        nothing
            .objective()
            .unwrap_err()
            .to_string()
            .contains("needs")
    );
}

#[test]
fn plans_of_monets_program_keep_its_structure() {
    let mode = monet::Mode::all().last().unwrap();
    let instance = monet::training(5, mode, &mut Numbers::new(8));
    let formulation = AnyFormulation::of(&instance, Semantics::Monet).unwrap();
    let peak = instance.plain_replay(Semantics::Monet).unwrap().peak_bytes;
    for budget in [peak * 9 / 10, peak * 7 / 10] {
        let reorder = Reorder::new(formulation.clone(), budget);
        let answer = reorder
            .settings(settings(1))
            .tuning(tuning())
            .run()
            .unwrap();
        let Some(document) = answer.plan.as_ref().map(|plan| &plan.document) else {
            continue;
        };
        let replay = simulate::plan(&answer.given, &document.plan).unwrap();
        assert!(replay.peak_bytes <= budget && replay.cost == document.objective);
        assert!(
            answer
                .choice
                .given_cost
                .is_none_or(|given| replay.cost <= given)
        );
        assert!(Precedence::of(&instance, Semantics::Monet).allows(&answer.choice.order));
    }
}

/// The plan of a random schedule, in the order of the instance.
fn random_plan(instance: &Instance, numbers: &mut Numbers) -> Plan {
    let schedule = random_schedule(instance, numbers);
    Schedule::Checkmate(schedule).plan(instance).unwrap()
}

#[test]
fn plans_with_steps_in_order_are_never_worse() {
    let mut numbers = Numbers::new(21);
    let (mut lower, mut fewer, mut fit) = (0, 0, 0);
    for k in 0..60 {
        let instance = match k % 3 {
            0 => training(4, &mut numbers),
            1 => general(9, &mut numbers),
            _ => with_unlike_runs(&general(8, &mut numbers), &mut numbers),
        };
        let plan = random_plan(&instance, &mut numbers);
        let before = simulate::plan(&instance, &plan).unwrap();
        let free = Improve::new(&instance, &plan).threads(1).run().unwrap();
        assert_eq!(simulate::plan(&instance, &free.plan).unwrap(), free.replay);
        assert!(free.replay.cost <= before.cost && free.replay.peak_bytes <= before.peak_bytes);
        lower += usize::from(free.replay.peak_bytes < before.peak_bytes);
        let budget = before.peak_bytes - numbers.below(before.peak_bytes / 4 + 1);
        let kept = Improve::new(&instance, &plan).threads(1).budget(budget);
        let kept = kept.run().unwrap();
        assert_eq!(simulate::plan(&instance, &kept.plan).unwrap(), kept.replay);
        assert!(kept.replay.cost <= before.cost);
        assert!(kept.replay.peak_bytes <= before.peak_bytes.max(budget));
        fewer += usize::from(kept.dropped > 0);
        fit += usize::from(before.peak_bytes > budget && kept.replay.peak_bytes <= budget);
        let rules = Precedence::of(&instance, Semantics::Checkmate);
        assert!(rules.allows(&kept.plan.first_computations(&instance)));
    }
    assert!(
        lower > 20 && fewer > 10 && fit > 10,
        "{lower} {fewer} {fit}"
    );
}

#[test]
fn the_order_of_a_model_is_one_of_its_own() {
    let instance = zoo::build(&"zoo:googlenet?batch=1".parse().unwrap()).unwrap();
    let plain = instance
        .without_recomputation(Semantics::Checkmate)
        .unwrap();
    let plan = plain.plan(&instance).unwrap();
    let better = Improve::new(&instance, &plan).threads(1).run().unwrap();
    assert!(better.replay.peak_bytes <= better.before.peak_bytes);
    assert_eq!(better.replay.cost, better.before.cost);
    assert_eq!(better.plan.stage_schedule_in_own_order(&instance), Ok(()));
}
