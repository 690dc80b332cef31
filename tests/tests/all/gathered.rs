//! Gathered weights and scattered gradients: exact values, all runs of the machine, search, bounds.

use remat_formulations::AnyFormulation;
use remat_formulations::offload::exact::{ExactOutcome, ExactSearch, ExactSettings};
use remat_formulations::offload::nodes::{
    GATHER_RULES, Offload, OffloadTuning, Offloaded, gather_rules,
};
use remat_instances::instance::{CostUnit, HostLink, Instance, InstanceData, Node, NodeId};
use remat_instances::plan::{Plan, PlanDocument, PlanFile, Register, Step};
use remat_instances::simulate::{self, ReplayError, StepFault};
use remat_instances::zoo;
use remat_search::{Effort, Settings, Solvable};
use remat_tests::linked::{LinkedCase, least_makespan};
use std::sync::atomic::AtomicBool;

/// Two layers with a weight of four bytes each; a gather takes `time`.
fn two_layers(time: u64) -> Instance {
    let weight = |name: &str| Node {
        gather_bytes: Some(time),
        ..Node::forward(name, Vec::new(), 0, 4)
    };
    let ids = |list: &[u32]| list.iter().map(|i| NodeId(*i)).collect::<Vec<_>>();
    let nodes = vec![
        weight("W1"),
        weight("W2"),
        Node::forward("f1", ids(&[0]), 3, 3),
        Node::forward("f2", ids(&[1, 2]), 3, 3),
        Node::loss("loss", ids(&[3]), 1, 1),
        Node::backward("b2", Some(NodeId(3)), ids(&[1, 2, 4]), 6, 3),
        Node::backward("b1", Some(NodeId(2)), ids(&[0, 5]), 6, 0),
    ];
    Instance::new(InstanceData {
        name: "two layers".into(),
        cost_unit: CostUnit::nanoseconds(),
        host_link: Some(HostLink::new(1_000_000_000, 1_000_000_000)),
        in_flight: 1,
        nodes,
    })
    .unwrap()
}

/// The optimum of the exact search, with its plan replayed.
fn exact(instance: &Instance, budget_bytes: u64, settings: ExactSettings) -> Option<u64> {
    let search = ExactSearch::new(instance, budget_bytes).settings(settings);
    let found = match search.run().unwrap() {
        ExactOutcome::Optimal { plan, .. } => plan,
        ExactOutcome::Infeasible { .. } => return None,
        other => panic!("{other:?}"),
    };
    let replay = simulate::plan(instance, &found.plan).unwrap();
    assert_eq!(replay.makespan, found.replay.makespan);
    assert!(replay.peak_bytes <= budget_bytes);
    Some(replay.makespan)
}

fn optimum(case: &LinkedCase) -> Option<u64> {
    let settings = ExactSettings {
        recompute: case.recompute,
        copies: case.copies(),
        ..ExactSettings::default()
    };
    exact(&case.instance, case.budget_bytes, settings)
}

#[test]
fn two_layers_have_their_least_makespans() {
    for (time, tight, wide) in [(2, 23, 21), (4, 28, 24)] {
        let instance = two_layers(time);
        for budget in 9..20 {
            let found = exact(&instance, budget, ExactSettings::default());
            let wanted = match budget {
                ..11 => None,
                11..15 => Some(tight),
                _ => Some(wide),
            };
            assert_eq!(found, wanted, "gather time {time}, budget {budget}");
        }
    }
}

/// Every configuration of the machine with its clocks is a separate state.
#[test]
fn no_run_of_the_machine_ends_earlier() {
    let (mut judged, mut feasible, mut waits) = (0, 0, 0);
    for seed in 0..120 {
        let case = LinkedCase::random_sharded(seed, 3 + seed as usize % 2);
        let found = optimum(&case);
        let Ok(least) = least_makespan(&case, 30_000) else {
            continue;
        };
        assert_eq!(found, least, "seed {seed}");
        judged += 1;
        feasible += u64::from(found.is_some());
        waits += u64::from(found.is_some_and(|m| m > case.instance.base_cost()));
    }
    println!("{judged} judged, {feasible} feasible, {waits} above the costs");
    assert!(judged > 80 && feasible > 60 && waits > 40);
}

/// The search without the exact one beside it.
fn searched(instance: &Instance, budget_bytes: u64) -> Offloaded {
    let tuning = OffloadTuning {
        exact_nodes: 0,
        ..OffloadTuning::default()
    };
    let offload = Offload::new(AnyFormulation::checkmate(instance), budget_bytes);
    let settings = Settings {
        effort: Effort::Quick,
        ..Settings::default()
    };
    offload.tuning(tuning).settings(settings).run().unwrap()
}

#[test]
fn the_search_finds_the_least_makespans_of_two_layers() {
    for (time, tight, wide) in [(2, 23, 21), (4, 28, 24)] {
        let instance = two_layers(time);
        for budget in 9..18 {
            let answer = searched(&instance, budget);
            let wanted = match budget {
                ..11 => None,
                11..15 => Some(tight),
                _ => Some(wide),
            };
            assert_eq!(answer.outcome.cost(), wanted, "{time}, {budget}");
            assert_eq!(answer.outcome.bound_scope, "stage-schedules-with-gathers");
            if budget == 11 || budget > 14 {
                assert_eq!(Some(answer.outcome.bound), wanted, "{time}, {budget}");
            }
        }
        assert!(searched(&instance, 9).outcome.infeasible_because.is_some());
    }
}

/// Random graphs: the search is never below the exact search, the bound never above it.
#[test]
fn searches_and_bounds_are_on_their_sides_of_the_optimum() {
    let (mut feasible, mut equal, mut proven) = (0, 0, 0);
    for seed in 0..24 {
        let case = LinkedCase::random_sharded(seed, 4 + seed as usize % 3);
        let instance = case.instance.single_implementation_view();
        let optimum = exact(&instance, case.budget_bytes, ExactSettings::default());
        let answer = searched(&instance, case.budget_bytes);
        let cost = answer.outcome.cost();
        if let Some(found) = &answer.plan {
            let replay = simulate::plan(&instance, &found.plan).unwrap();
            assert_eq!(Some(replay.makespan), cost);
            assert!(replay.peak_bytes <= case.budget_bytes);
        }
        let Some(optimum) = optimum else {
            assert_eq!(cost, None, "seed {seed}");
            continue;
        };
        assert!(answer.outcome.infeasible_because.is_none(), "seed {seed}");
        assert!(cost.is_none_or(|cost| cost >= optimum), "seed {seed}");
        assert!(answer.outcome.bound <= optimum, "seed {seed}");
        feasible += 1;
        equal += u64::from(cost == Some(optimum));
        proven += u64::from(answer.outcome.bound == optimum);
    }
    println!("{feasible} feasible, {equal} optimal, {proven} bounds equal");
    assert!(feasible > 15 && equal * 10 >= feasible * 6 && proven * 5 >= feasible * 2);
}

#[test]
fn statements_read_back_and_faults_are_named() {
    let instance = two_layers(2);
    let search = ExactSearch::new(&instance, 11);
    let ExactOutcome::Optimal { plan, .. } = search.run().unwrap() else {
        panic!("a plan fits");
    };
    let document = PlanDocument::of(&instance, plan.plan.clone(), &plan.replay, Some(11));
    let text = document.write(&instance);
    assert!(text.contains(r#"["gather","#), "{text}");
    let again = PlanFile::parse("plan.json", text.as_bytes()).unwrap();
    assert_eq!(again.plan(&instance).unwrap(), document);
    // Two bytes a gather, and at least one weight is gathered twice.
    assert!(plan.replay.transfers.gathered_bytes >= 6);
    let mut compute = plan.plan.clone();
    for step in &mut compute.steps {
        if let Step::Gather { register, node } = *step {
            let implementation = 0;
            *step = Step::Compute {
                node,
                register,
                implementation,
            };
        }
    }
    let fault = simulate::plan(&instance, &compute).unwrap_err();
    assert!(matches!(
        fault,
        ReplayError::Step { fault, .. } if matches!(*fault, StepFault::NotComputed { .. })
    ));
    let mut lost = plan.plan.clone();
    lost.steps
        .retain(|step| !matches!(step, Step::Gather { .. }));
    assert!(simulate::plan(&instance, &lost).is_err());
}

/// A gradient leaves once, its register and the end wait for it.
#[test]
fn scatters_are_waited_for() {
    let gradient = Node {
        scatter_bytes: Some(6),
        ..Node::forward("g", Vec::new(), 2, 8)
    };
    let nodes = vec![gradient, Node::forward("f", Vec::new(), 3, 1)];
    let instance = Instance::new(InstanceData {
        name: "one".into(),
        cost_unit: CostUnit::nanoseconds(),
        host_link: Some(HostLink::new(1_000_000_000, 1_000_000_000)),
        in_flight: 1,
        nodes,
    })
    .unwrap();
    let [r, s] = [0, 1].map(Register);
    let [g, f] = [0, 1].map(NodeId);
    let compute = |node, register| Step::Compute {
        node,
        register,
        implementation: 0,
    };
    let allocate = |register, node| Step::Allocate { register, node };
    let scatter = Step::Scatter {
        register: r,
        node: g,
    };
    let free = Step::Deallocate { register: r };
    let replay = |steps: Vec<Step>| {
        let plan = Plan::of_first_implementations(&instance, steps);
        simulate::plan(&instance, &plan)
    };
    let begin = [allocate(r, g), compute(g, r)];
    let end = [allocate(s, f), compute(f, s)];
    let with = |middle: &[Step], last: &[Step]| [&begin[..], middle, &end[..], last].concat();
    // The gradient leaves from 2 to 8, f runs from 2 to 5.
    let late = replay(with(&[scatter], &[])).unwrap();
    assert_eq!((late.makespan, late.peak_bytes), (8, 9));
    let early = replay(with(&[scatter, free], &[])).unwrap();
    assert_eq!((early.makespan, early.peak_bytes), (11, 8));
    assert_eq!(early.transfers.scattered_bytes, 6);
    let never = replay(with(&[], &[])).unwrap_err();
    assert!(matches!(never, ReplayError::NeverScattered { .. }));
    let twice = replay(with(&[scatter, scatter], &[])).unwrap_err();
    assert!(twice.to_string().contains("step") || twice.to_string().contains("twice"));
    for (budget, wanted) in [(8, Some(11)), (9, Some(8))] {
        let found = exact(&instance, budget, ExactSettings::default());
        assert_eq!(found, wanted);
        let outcome = searched(&instance, budget).outcome;
        assert_eq!(outcome.cost(), wanted);
        assert!(wanted.is_some_and(|wanted| outcome.bound <= wanted && outcome.bound >= 8));
    }
}

#[test]
fn zoo_networks_have_shards() {
    let whole = zoo::build(&"llama?layers=2&seq=64&optimizer=adamw".parse().unwrap()).unwrap();
    let text = "llama?layers=2&seq=64&optimizer=adamw&shards=8&interconnect=50";
    let sharded = zoo::build(&text.parse().unwrap()).unwrap();
    assert_eq!(sharded.gathered(), 4);
    let scattered = sharded.nodes().iter().filter(|node| node.is_scattered());
    assert_eq!(scattered.count(), 4);
    assert_eq!(sharded.base_cost(), whole.base_cost());
    assert!(sharded.static_bytes() < whole.static_bytes() / 7);
    let weights: u64 = sharded.nodes()[..4].iter().map(|v| v.output_bytes).sum();
    let network = zoo::network(&text.parse().unwrap()).unwrap().unwrap();
    assert_eq!(weights, 2 * network.parameter_count());
    let one = zoo::build(&"llama?layers=2&seq=64&shards=1".parse().unwrap()).unwrap();
    assert!(!one.is_sharded());
}

/// The rules of training stacks on a small network: no rule beats the search.
#[test]
fn rules_for_gathers_fit_and_are_no_faster_than_the_search() {
    let text = "llama?layers=2&seq=128&d_model=256&heads=4&ffn=704&vocab=500&shards=8";
    let instance = zoo::build(&text.parse().unwrap()).unwrap();
    let plain = AnyFormulation::checkmate(&instance).plain().unwrap();
    let budget = plain.peak_bytes;
    let rules = gather_rules(&instance, budget, &AtomicBool::new(false)).unwrap();
    let answer = searched(&instance, budget);
    let cost = answer.outcome.cost().unwrap();
    assert!(answer.outcome.bound <= cost);
    for (rule, found) in GATHER_RULES.iter().zip(&rules) {
        if let Some((_, replay)) = found {
            assert!(replay.peak_bytes <= budget, "{}", rule.name);
            assert!(replay.makespan >= cost, "{}", rule.name);
        }
    }
    assert!(rules.iter().any(Option::is_some));
}
