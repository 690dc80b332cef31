//! Properties of every heuristic in the table.

use super::fixtures::{any_chain, mirrored, small_dag, training_dag};
use super::{NotApplicable, all, by_name};
use proptest::prelude::*;
use remat_instances::instance::{Instance, NodeId};
use remat_instances::simulate;

fn peak_without_recomputation(instance: &Instance) -> u64 {
    let schedule = by_name("checkpoint-all").unwrap().run(instance, 0).unwrap();
    simulate::checkmate(instance, &schedule).unwrap().peak_bytes
}

/// Every applicable heuristic replays, costs no less than the base cost, and repeats itself.
fn check(instance: &Instance, budget_bytes: u64, is_chain: bool) -> Result<(), TestCaseError> {
    for baseline in all() {
        let needs_chain = ["chen-sqrt", "chen-greedy", "revolve"].contains(&baseline.name);
        let needs_blocks = ["rotor", "hong"].contains(&baseline.name);
        let schedule = match baseline.run(instance, budget_bytes) {
            Ok(schedule) => schedule,
            Err(NotApplicable::NotAChain { .. }) if needs_chain && !is_chain => continue,
            Err(NotApplicable::NotAChainOfBlocks(_)) if needs_blocks && !is_chain => continue,
            Err(problem) => {
                return Err(TestCaseError::fail(format!("{}: {problem}", baseline.name)));
            }
        };
        let replay = simulate::checkmate(instance, &schedule)
            .map_err(|problem| TestCaseError::fail(format!("{}: {problem}", baseline.name)))?;
        prop_assert!(replay.cost >= instance.base_cost(), "{}", baseline.name);
        prop_assert_eq!(&baseline.run(instance, budget_bytes).unwrap(), &schedule);
        // If all tensors fit, the searches find schedules without recomputation.
        let searches = ["chen-greedy", "ap-greedy", "linearised-greedy", "revolve"];
        if searches.contains(&baseline.name) && budget_bytes >= peak_without_recomputation(instance)
        {
            prop_assert_eq!(replay.cost, instance.base_cost(), "{}", baseline.name);
        }
    }
    Ok(())
}

proptest! {
    #[test]
    fn all_replay_on_random_training_graphs(instance in training_dag(), percent in 20u64..120) {
        check(&instance, peak_without_recomputation(&instance) * percent / 100, false)?;
    }

    #[test]
    fn all_replay_on_random_chains(instance in any_chain(), percent in 20u64..120) {
        check(&instance, peak_without_recomputation(&instance) * percent / 100, true)?;
    }

    #[test]
    fn graphs_without_a_backward_pass_are_refused_where_it_matters(instance in small_dag(9)) {
        for baseline in all() {
            let found = baseline.run(&instance, 0);
            if matches!(baseline.name, "checkpoint-all" | "dtr" | "gap-greedy") || baseline.solves_program {
                prop_assert!(found.is_ok());
            } else {
                prop_assert_eq!(found, Err(NotApplicable::NoBackwardPass));
            }
        }
    }
}

#[test]
fn names_are_unique_and_found() {
    for (k, baseline) in all().iter().enumerate() {
        assert!(all()[..k].iter().all(|b| b.name != baseline.name));
        assert_eq!(by_name(baseline.name).unwrap().source, baseline.source);
    }
    assert!(by_name("nonsense").is_none());
}

#[test]
fn a_skip_connection_is_named_as_what_breaks_the_chain() {
    let instance = mirrored(&[vec![], vec![0], vec![0, 1]]);
    assert_eq!(
        by_name("revolve").unwrap().run(&instance, 0),
        Err(NotApplicable::NotAChain {
            node: NodeId(2),
            name: "f2".into(),
            inputs: 2
        })
    );
}
