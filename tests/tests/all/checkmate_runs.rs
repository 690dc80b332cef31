//! Unequal runs in every form of Checkmate's program, against enumeration: costs and workspaces of
//! recomputations, by-products that are computed with their parents, nodes that are never
//! recomputed.

use remat_check::proof as checker;
use remat_formulations::anneal::{CheckmateLandscape, CheckmateState};
use remat_formulations::bound::{knapsack_bound, smallest_budget};
use remat_formulations::checkmate::original::{Original, OriginalError, Stages};
use remat_formulations::checkmate::{CheckmateGraph, recognise};
use remat_formulations::{AnyFormulation, strategies};
use remat_instances::instance::{InstanceData, NodeId};
use remat_instances::plan::Plan;
use remat_instances::schedule::CheckmateSchedule;
use remat_instances::simulate::{self, ReplayError};
use remat_instances::{Instance, Semantics};
use remat_lp::Model;
use remat_search::recognise::Recognised;
use remat_search::{Outcome, Status};
use remat_solver::mip::{Settings, SolveStatus, Solver};
use remat_tests::compact::checkmate::{Compact, Space};
use remat_tests::graphs::{self, Numbers, random_schedule};
use remat_tests::{brute, shared_data, whole};

/// A small graph with unequal runs.
fn random_instance(round: u64, numbers: &mut Numbers) -> Instance {
    let plain = match round % 3 {
        0 => graphs::training(2, numbers),
        _ => graphs::general(4 + numbers.below(3) as usize, numbers),
    };
    graphs::with_unlike_runs(&plain, numbers)
}

/// Budgets that make a difference: from one byte below the smallest budget to the peak of keeping
/// everything.
fn budgets(instance: &Instance) -> std::ops::RangeInclusive<u64> {
    let kept = CheckmateSchedule::checkpoint_all(instance);
    let most = simulate::checkmate(instance, &kept).unwrap().peak_bytes;
    smallest_budget(instance).needed_bytes.saturating_sub(1)..=most
}

fn optimum(model: &Model) -> Option<u64> {
    let found = Solver::new(model.clone(), Settings::default()).run();
    let found = found.unwrap();
    match found.status {
        SolveStatus::Optimal => Some(found.solution.unwrap().objective.round() as u64),
        SolveStatus::Infeasible => None,
        status => panic!("{status:?}"),
    }
}

/// Answer of the search, with a proof.
fn proven(instance: &Instance, budget_bytes: u64) -> Outcome<CheckmateSchedule> {
    let settings = remat_search::Settings {
        gap: 0.0,
        rounds: 1,
        threads: 1,
        prove: true,
        ..remat_search::Settings::default()
    };
    whole::checkmate(instance, budget_bytes, &[], &settings).unwrap()
}

/// The plan under MONeT's label.
fn relabelled(plan: &Plan) -> Plan {
    Plan {
        semantics: Semantics::Monet,
        ..plan.clone()
    }
}

#[test]
fn every_budget_has_the_optimum_of_enumeration_and_a_proof_of_it() {
    let mut numbers = Numbers::new(41);
    let (mut dearer, mut infeasible) = (0, 0);
    for round in 0..150 {
        let instance = random_instance(round, &mut numbers);
        for budget in budgets(&instance) {
            let at = format!("round {round}, {budget} B");
            let best = brute::optimum(&instance, budget);
            let found = proven(&instance, budget);
            assert_eq!(found.cost(), best, "{at}");
            let status = match best {
                Some(_) => Status::Optimal,
                None => Status::Infeasible,
            };
            assert_eq!(found.status, status, "{at}");
            assert!(best.is_none_or(|best| found.bound == best), "{at}");
            let combinatorial = knapsack_bound(&instance, budget);
            let below = |best| combinatorial.as_ref().is_ok_and(|b| b.cost <= best);
            assert!(best.is_none_or(below), "{at}");
            let proof = found.proof.as_ref().unwrap();
            let parsed = checker::parse(proof.text()).unwrap();
            checker::check(&parsed, &instance).unwrap_or_else(|e| panic!("{at}: {e}"));
            assert!(
                proof
                    .bound()
                    .is_none_or(|b| best.is_some_and(|best| b <= best))
            );
            if let Some(schedule) = &found.schedule {
                let plan = Plan::from_checkmate(&instance, schedule).unwrap();
                let replay = simulate::plan(&instance, &plan).unwrap();
                assert!(replay.peak_bytes <= budget, "{at}");
                assert_eq!(Some(replay.cost), best, "{at}");
                let short = plan.optimised(&instance).unwrap();
                let replay = simulate::plan(&instance, &short).unwrap();
                assert_eq!(Some(replay.cost), best, "{at}");
                simulate::plan(&instance, &relabelled(&short)).unwrap();
            }
            dearer += usize::from(best > Some(instance.base_cost()));
            infeasible += usize::from(best.is_none());
        }
    }
    assert!(dearer > 100 && infeasible > 60, "{dearer} {infeasible}");
}

#[test]
fn programs_for_other_solvers_have_the_optimum_of_enumeration() {
    let mut numbers = Numbers::new(43);
    let mut recognised = 0;
    for round in 0..60 {
        let instance = random_instance(round, &mut numbers);
        for budget in budgets(&instance).skip(1).step_by(5) {
            let at = format!("round {round}, {budget} B");
            let best = brute::optimum(&instance, budget);
            let original = Original::new(&instance, budget, Stages::FrontierAdvancing, 1.0);
            let original = original.unwrap();
            assert_eq!(optimum(original.model()), best, "{at}");
            let compact = CheckmateGraph::new(&instance, budget)
                .map(|graph| Compact::new(graph, Space::Full).with_memory_rows());
            assert_eq!(compact.ok().and_then(|c| optimum(&c)), best, "{at}");
            if let Some(again) = recognise(original.model()) {
                let found = whole::solved(&again.instance, again.budget_bytes, 1).unwrap();
                let cost = found
                    .cost()
                    .map(|cost| again.objective(cost).round() as u64);
                assert_eq!(cost, best, "{at}");
                recognised += 1;
            }
        }
    }
    assert!(recognised > 8, "{recognised}");
}

#[test]
fn unpartitioned_stages_are_refused_where_first_runs_make_a_difference() {
    let mut numbers = Numbers::new(47);
    let plain = graphs::general(5, &mut numbers);
    let peak = *budgets(&plain).end();
    let program = |i: &Instance| Original::new(i, peak, Stages::Unpartitioned, 1.0);
    assert!(program(&plain).is_ok());
    let mut nodes = plain.nodes().to_vec();
    nodes[2].implementations[0].recompute_cost += 1;
    let data = InstanceData {
        nodes,
        ..plain.data().clone()
    };
    let refused = program(&Instance::new(data).unwrap()).unwrap_err();
    assert!(
        matches!(&refused, OriginalError::FirstRunUnknown { name, .. } if name == "v2"),
        "{refused}"
    );
}

#[test]
fn annealing_and_baselines_charge_what_the_replay_charges() {
    let mut numbers = Numbers::new(53);
    let mut ran = 0;
    for round in 0..60 {
        let instance = random_instance(round, &mut numbers);
        let landscape = CheckmateLandscape::new(&instance, 1 << 20);
        for _ in 0..20 {
            let schedule = random_schedule(&instance, &mut numbers);
            let replay = simulate::checkmate(&instance, &schedule).unwrap();
            let state = CheckmateState::new(&landscape, &schedule.retained.to_bits());
            assert_eq!(state.cost() as u64, replay.cost, "round {round}");
            let peak = (0..instance.len()).map(|t| state.peak(t) as u64).max();
            assert_eq!(peak.unwrap(), replay.peak_bytes, "round {round}");
        }
        for budget in budgets(&instance).step_by(7) {
            for baseline in strategies::all() {
                if let Ok(schedule) = baseline.run(&instance, budget) {
                    let replay = simulate::checkmate(&instance, &schedule);
                    replay.unwrap_or_else(|e| panic!("round {round}, {}: {e}", baseline.name));
                    ran += 1;
                }
            }
        }
    }
    assert!(ran > 400, "{ran}");
}

#[test]
fn what_is_never_recomputed_is_refused_where_it_is_and_no_run_of_the_annealing_takes_it() {
    let mut numbers = Numbers::new(61);
    let mut refused = 0;
    for round in 0..60 {
        let instance = random_instance(round, &mut numbers);
        let free = graphs::with_like_runs(&instance);
        let landscape = CheckmateLandscape::new(&instance, 1 << 20);
        for _ in 0..10 {
            let schedule = random_schedule(&free, &mut numbers);
            let again = |i: &NodeId| {
                let t = i.index() + 1..free.len();
                t.into_iter().any(|t| schedule.computed.get(t, i.index()))
            };
            let wrong = instance
                .ids()
                .any(|i| again(&i) && !instance.may_recompute(i));
            let replay = simulate::checkmate(&instance, &schedule);
            let named = matches!(replay, Err(ReplayError::NeverAgain { .. }));
            assert!(wrong || !named, "round {round}");
            let plan = Plan::from_checkmate(&free, &schedule).unwrap();
            assert!(!wrong || simulate::plan(&instance, &plan).is_err());
            let state = CheckmateState::new(&landscape, &schedule.retained.to_bits());
            let min = CheckmateSchedule::cheapest(&free, schedule.retained.clone());
            assert_eq!(min, schedule);
            assert!(!wrong || state.excess() > 0.0, "round {round}");
            refused += usize::from(named);
        }
    }
    assert!(refused > 50, "{refused}");
}

#[test]
fn a_proof_holds_for_the_instance_with_its_fields_alone() {
    let mut numbers = Numbers::new(59);
    let (mut refused, mut still_true) = (0, 0);
    for round in 0..100 {
        let instance = random_instance(round, &mut numbers);
        let stripped = graphs::with_like_runs(&instance);
        for budget in budgets(&instance).step_by(3) {
            let proof = proven(&instance, budget).proof.unwrap();
            let parsed = checker::parse(proof.text()).unwrap();
            let other = brute::optimum(&stripped, budget);
            let accepted = checker::check(&parsed, &stripped).is_ok();
            let holds = match proof.bound() {
                Some(bound) => other.is_none_or(|other| bound <= other),
                None => other.is_none(),
            };
            assert!(holds || !accepted, "round {round}, {budget} B");
            refused += usize::from(!accepted);
            still_true += usize::from(holds);
        }
    }
    assert!(refused > 10 && still_true > 20, "{refused} {still_true}");
}

#[test]
fn reported_instances_have_their_right_answers() {
    let Some(folder) = shared_data("reports") else {
        return;
    };
    let instance = remat_instances::read(folder.join("recompute-cost.json")).unwrap();
    let found = whole::solved(&instance, 320, 1).unwrap();
    assert_eq!(
        (found.cost(), found.status),
        (Some(200_261), Status::Optimal)
    );
    let instance = remat_instances::read(folder.join("by-product.json")).unwrap();
    let formulation = AnyFormulation::suiting(&instance);
    assert_eq!(formulation.semantics(), Semantics::Checkmate);
    for budget in [1100, 904] {
        let best = brute::optimum(&instance, budget);
        assert!(best.is_some_and(|best| best <= 236), "{best:?}");
        let found = whole::solved(&instance, budget, 1).unwrap();
        assert_eq!((found.cost(), found.status), (best, Status::Optimal));
        let plan = Plan::from_checkmate(&instance, &found.schedule.unwrap()).unwrap();
        for plan in [relabelled(&plan), plan] {
            let replay = simulate::plan(&instance, &plan).unwrap();
            assert_eq!(Some(replay.cost), best);
            assert!(replay.peak_bytes <= budget);
        }
    }
}
