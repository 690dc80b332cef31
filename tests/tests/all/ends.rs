//! Nodes that end the recomputation of others, such as updates in the backward pass, against
//! enumeration.

use remat_check::proof as checker;
use remat_formulations::AnyFormulation;
use remat_formulations::checkmate::original::{Original, Stages};
use remat_formulations::improve::Improve;
use remat_formulations::offload::interval::{LinkGraph, ProofLimits, prove, tree_proof};
use remat_formulations::reorder::{Reorder, ReorderTuning};
use remat_formulations::{Budget, Solve};
use remat_instances::instance::{CostUnit, InstanceData, Node, Precedence};
use remat_instances::plan::{Plan, Register, Step};
use remat_instances::schedule::{CheckmateSchedule, MonetSchedule, StageRuns};
use remat_instances::simulate::{self, ReplayError, StepFault};
use remat_instances::{Instance, NodeId, Semantics};
use remat_search::{Effort, PLANS_IN_THIS_ORDER, Settings, Status};
use remat_solver::mip::{SolveStatus, Solver};
use remat_tests::ends::{with_ends, without_ends};
use remat_tests::graphs::{
    Numbers, general, random_schedule, tight_budget, training, with_unlike_runs,
};
use remat_tests::linked::{LinkedCase, least_makespan};
use remat_tests::reorders::{all_orders, best_plan};
use remat_tests::{brute, monet_optimum, shared_data, whole};

fn settings(prove: bool) -> Settings {
    Settings {
        gap: 0.0,
        rounds: 1,
        threads: 1,
        prove,
        ..Settings::default()
    }
}

fn random_instance(round: usize, numbers: &mut Numbers) -> Instance {
    let graph = match round % 2 {
        0 => general(4 + round / 2 % 4, numbers),
        _ => training(2 + round / 2 % 2, numbers),
    };
    let graph = match round % 3 {
        0 => with_unlike_runs(&graph, numbers),
        _ => graph,
    };
    with_ends(&graph, numbers)
}

#[test]
fn checkmates_optimum_is_that_of_enumeration_and_proven() {
    let mut numbers = Numbers::new(82);
    let (mut feasible, mut bites, mut proofs) = (0, 0, 0);
    for round in 0..160 {
        let instance = random_instance(round, &mut numbers);
        if instance.len() > 8 {
            continue;
        }
        let budget = tight_budget(&instance, 8, &mut numbers);
        let best = brute::optimum(&instance, budget);
        let Ok(found) = whole::checkmate(&instance, budget, &[], &settings(true)) else {
            assert_eq!(best, None, "round {round}");
            continue;
        };
        assert_eq!(found.cost(), best, "round {round}");
        let wanted = match best {
            Some(_) => Status::Optimal,
            None => Status::Infeasible,
        };
        assert_eq!(found.status, wanted, "round {round}");
        if let Some(schedule) = &found.schedule {
            let plan = Plan::from_checkmate(&instance, schedule).unwrap();
            assert_eq!(Some(simulate::plan(&instance, &plan).unwrap().cost), best);
            feasible += 1;
        }
        if let Some(proof) = &found.proof {
            let proof = checker::parse(proof.text()).unwrap();
            checker::check(&proof, &instance).unwrap_or_else(|e| panic!("round {round}: {e}"));
            proofs += 1;
        }
        bites += usize::from(brute::optimum(&without_ends(&instance), budget) != best);
    }
    println!("{feasible} feasible, {bites} other than without ends, {proofs} proofs");
    assert!(feasible > 60 && bites > 1 && proofs > 60);
}

#[test]
fn the_published_program_has_the_optimum() {
    let mut numbers = Numbers::new(83);
    let mut compared = 0;
    for round in 0..30 {
        let graph = with_unlike_runs(&general(4 + round % 2, &mut numbers), &mut numbers);
        let instance = with_ends(&graph, &mut numbers);
        let budget = tight_budget(&instance, 12, &mut numbers);
        let Ok(program) = Original::new(&instance, budget, Stages::FrontierAdvancing, 1.0) else {
            continue;
        };
        let settings = remat_solver::mip::Settings::default();
        let found = Solver::new(program.model().clone(), settings)
            .run()
            .unwrap();
        let best = match found.status {
            SolveStatus::Optimal => Some(found.solution.unwrap().objective.round() as u64),
            SolveStatus::Infeasible => None,
            status => panic!("{status:?}"),
        };
        assert_eq!(best, brute::optimum(&instance, budget), "round {round}");
        compared += usize::from(instance.has_ends());
    }
    assert!(compared > 10, "{compared}");
}

#[test]
fn monets_optimum_is_that_of_enumeration() {
    let mut numbers = Numbers::new(84);
    let (mut feasible, mut bites, mut proofs) = (0, 0, 0);
    for round in 0..140 {
        let (columns, backward) = (3 + numbers.below(3), 2 + numbers.below(3));
        let plain = monet_optimum::random(columns as usize, backward as usize, &mut numbers);
        let instance = with_ends(&plain, &mut numbers);
        let stored = MonetSchedule::checkpoint_all(&instance).unwrap();
        let peak = simulate::monet(&instance, &stored).unwrap().peak_bytes;
        let budget = peak / 2 + numbers.below(peak / 2 + 8);
        let best = monet_optimum::optimum(&instance, budget);
        let found = whole::monet(&instance, budget, &[], &settings(true)).unwrap();
        assert_eq!(found.cost(), best, "round {round}");
        assert!(best.is_none_or(|best| found.bound <= best), "round {round}");
        if let Some(schedule) = &found.schedule {
            let plan = Plan::from_monet(&instance, schedule).unwrap();
            simulate::plan(&instance, &plan).unwrap();
            feasible += 1;
        }
        if let Some(proof) = &found.proof {
            let proof = checker::parse(proof.text()).unwrap();
            checker::check(&proof, &instance).unwrap_or_else(|e| panic!("round {round}: {e}"));
            proofs += 1;
        }
        bites += usize::from(monet_optimum::optimum(&without_ends(&instance), budget) != best);
    }
    println!("{feasible} feasible, {bites} other than without ends, {proofs} proofs");
    assert!(feasible > 40 && bites > 0 && proofs > 40);
}

#[test]
fn copies_to_the_host_keep_the_ends() {
    let (mut judged, mut bites, mut bounds) = (0, 0, 0);
    for seed in 0..120 {
        let case = LinkedCase::random(seed, 3 + seed as usize % 3);
        let mut numbers = Numbers::new(seed);
        let instance = case.instance.single_implementation_view();
        let case = LinkedCase {
            instance: with_ends(&instance, &mut numbers),
            recompute: true,
            ..case
        };
        let best = case.optimum();
        let free = LinkedCase {
            instance: without_ends(&case.instance),
            ..case.clone()
        };
        bites += u64::from(free.optimum() != best);
        if let Ok(least) = least_makespan(&case, 20_000) {
            assert_eq!(best, least, "seed {seed}");
            judged += 1;
        }
        let Some(link) = LinkGraph::new(&case.instance, case.copies(), case.budget_bytes) else {
            continue;
        };
        let limits = ProofLimits {
            time: None,
            iterations: [20_000, 40_000],
            nodes: [0, 40][seed as usize % 2],
            gap: 0.0,
            prove: true,
        };
        let known = case.instance.base_cost();
        let found = prove(link.clone(), known, best, &limits, &|| false).unwrap();
        let tree = found.proof.as_ref().unwrap();
        let proof = tree_proof(&case.instance, case.budget_bytes, &link, tree);
        let parsed = checker::parse(proof.text()).unwrap();
        checker::check(&parsed, &case.instance).unwrap_or_else(|e| panic!("seed {seed}: {e}"));
        assert!(best.is_none_or(|best| found.bound <= best), "seed {seed}");
        bounds += u64::from(best == Some(found.bound));
    }
    println!("{judged} judged, {bites} other than without ends, {bounds} equal bounds");
    assert!(judged > 60 && bounds > 40);
}

#[test]
fn orders_put_readers_before_what_ends_them() {
    let mut numbers = Numbers::new(85);
    let tuning = ReorderTuning {
        rounds: 20,
        idle_rounds: 3,
        idle_shakes: 3,
        ..ReorderTuning::default()
    };
    let (mut pairs, mut best_found) = (0, 0);
    for round in 0..50 {
        let instance = with_ends(&general(4 + round % 3, &mut numbers), &mut numbers);
        let plain = instance.plain_replay(Semantics::Checkmate).unwrap();
        let budget = plain.peak_bytes - 1 - numbers.below(plain.peak_bytes / 6);
        let reorder = Reorder::new(AnyFormulation::suiting(&instance), budget);
        let answer = reorder
            .settings(settings(false))
            .tuning(tuning.clone())
            .run()
            .unwrap();
        let rules = Precedence::of(&instance, Semantics::Checkmate);
        for order in all_orders(&instance) {
            assert!(instance.reordered(&order).is_ok());
        }
        assert!(rules.allows(&answer.choice.order));
        let plans = best_plan(&instance, budget);
        let Some(document) = answer.plan.as_ref().map(|plan| &plan.document) else {
            continue;
        };
        let replay = simulate::plan(&instance, &document.plan).unwrap();
        assert!(replay.peak_bytes <= budget && plans.is_some_and(|best| best <= replay.cost));
        pairs += 1;
        best_found += usize::from(plans == Some(replay.cost));
    }
    println!("{best_found} of {pairs} are best of all plans in any order");
    assert!(pairs > 3 && best_found * 2 > pairs);
}

#[test]
fn improved_plans_keep_the_ends() {
    let mut numbers = Numbers::new(86);
    let mut improved = 0;
    for _ in 0..60 {
        let graph = with_unlike_runs(&general(7, &mut numbers), &mut numbers);
        let instance = with_ends(&graph, &mut numbers);
        let schedule = random_schedule(&instance, &mut numbers);
        let plan = Plan::from_checkmate(&instance, &schedule).unwrap();
        let before = simulate::plan(&instance, &plan).unwrap();
        let budget = before.peak_bytes;
        let found = Improve::new(&instance, &plan).budget(budget).run().unwrap();
        let after = simulate::plan(&instance, &found.plan).unwrap();
        assert!(after.peak_bytes <= budget && after.cost <= before.cost);
        improved += usize::from(after.cost < before.cost);
    }
    println!("{improved} improved");
}

/// A traced MLP of 8 layers whose updates come at the end (`docs/every-plan.md` of the shared data).
#[test]
fn updates_at_the_end_of_a_step_come_early_by_default() {
    let Some(folder) = shared_data("every-plan") else {
        return;
    };
    let late = remat_instances::read(folder.join("mlp_b256_end.json")).unwrap();
    let quick = Settings {
        effort: Effort::Quick,
        threads: 1,
        ..Settings::default()
    };
    // 65% of the peak.
    let budget = Budget::Bytes(45_027_847);
    let solve = || Solve::new(&late, budget).settings(quick.clone());
    let solution = solve().run().unwrap();
    let document = solution.document().unwrap();
    let replay = simulate::plan(&late, &document.plan).unwrap();
    assert!(replay.peak_bytes <= solution.budget_bytes());
    let overhead = replay.cost as f64 / late.base_cost() as f64 - 1.0;
    assert!(overhead <= 0.12, "{overhead}");
    assert_eq!(solution.bound_scope, PLANS_IN_THIS_ORDER);
    assert!(solution.order().is_some_and(|order| order.is_early));
    let given = solve().given_order().run().unwrap();
    assert!(given.order().is_none() && given.cost() > solution.cost());
}

/// A weight is read by `fc`, whose output `head` and `late` read, and updated between these.
fn step() -> Instance {
    let update = Node {
        once: true,
        ends: vec![NodeId(0)],
        ..Node::forward("update", vec![NodeId(1)], 1, 0)
    };
    let nodes = vec![
        Node::forward("fc", vec![], 3, 4),
        Node::forward("head", vec![NodeId(0)], 2, 4),
        update,
        Node::forward("late", vec![NodeId(0)], 2, 4),
    ];
    Instance::new(InstanceData {
        name: "step".into(),
        cost_unit: CostUnit::arbitrary(),
        host_link: None,
        in_flight: 1,
        nodes,
    })
    .unwrap()
}

#[test]
fn a_recomputation_behind_an_update_is_a_fault() {
    let instance = step();
    let mut schedule = CheckmateSchedule::checkpoint_all(&instance);
    schedule.computed.set(3, 0, true);
    schedule.retained = StageRuns::new(4, 4);
    schedule.retained.set(1, 0, true);
    schedule.retained.set(2, 1, true);
    let fault = simulate::checkmate(&instance, &schedule).unwrap_err();
    let ReplayError::Ended {
        stage, node, end, ..
    } = &fault
    else {
        panic!("{fault}");
    };
    assert_eq!((*stage, *node, *end), (3, NodeId(0), NodeId(2)));
    assert!(fault.to_string().contains("(update) has run"), "{fault}");
    let compute = |node: u32, register: u32| {
        let (node, register) = (NodeId(node), Register(register));
        [
            Step::Allocate { register, node },
            Step::Compute {
                node,
                register,
                implementation: 0,
            },
        ]
    };
    let free = |register: u32| Step::Deallocate {
        register: Register(register),
    };
    let mut steps = [compute(0, 0), compute(1, 1)].concat();
    steps.push(free(0));
    steps.extend(compute(2, 2));
    steps.push(free(1));
    steps.extend(compute(0, 3));
    steps.extend(compute(3, 4));
    let plan = Plan::of_first_implementations(&instance, steps);
    let fault = simulate::plan(&instance, &plan).unwrap_err();
    let ReplayError::Step { step: 9, fault } = fault else {
        panic!("{fault}");
    };
    assert!(matches!(*fault, StepFault::Ended { .. }), "{fault}");
    // It is held instead, and there is no other way within the budget.
    let cheapest = CheckmateSchedule::cheapest(&instance, StageRuns::new(4, 4));
    assert!(cheapest.retained.get(3, 0) && !cheapest.computed.get(3, 0));
    assert_eq!(brute::optimum(&instance, 12), Some(8));
}
