//! Gathered weights and scattered gradients: exact values, all runs of the machine, search, bounds.

use remat_formulations::offload::exact::{ExactOutcome, ExactSearch, ExactSettings};
use remat_instances::instance::{CostUnit, HostLink, Instance, InstanceData, Node, NodeId};
use remat_instances::simulate;
use remat_tests::linked::{LinkedCase, least_makespan};

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
    for seed in 0..400 {
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
    assert!(judged > 150 && feasible > 80 && waits > 40);
}
