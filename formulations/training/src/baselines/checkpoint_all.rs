//! Checkpoint all: no recomputation, the default of deep learning frameworks (Checkmate, table 1).

use super::NotApplicable;
use remat_instances::instance::Instance;
use remat_instances::schedule::CheckmateSchedule;

/// Computes each node once and keeps each tensor until its last use, for any budget. Applicable to
/// every graph.
///
/// # Errors
/// Never fails; the result type is shared by all heuristics.
pub fn run(instance: &Instance, _budget_bytes: u64) -> Result<CheckmateSchedule, NotApplicable> {
    Ok(CheckmateSchedule::checkpoint_all(instance))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::baselines::fixtures;
    use proptest::prelude::*;
    use remat_instances::instance::NodeId;
    use remat_instances::simulate;

    proptest! {
        #[test]
        fn peak_is_that_of_the_plain_order(instance in fixtures::training_dag()) {
            let schedule = run(&instance, 0).unwrap();
            let replay = simulate::checkmate(&instance, &schedule).unwrap();
            // Alive while k runs: k itself and every earlier tensor that k or a later node reads.
            let peak = (0..instance.len())
                .map(|k| {
                    let alive = |i: &NodeId| {
                        i.index() < k && instance.users(*i).iter().any(|u| u.index() >= k)
                    };
                    let node = instance.node(NodeId::from(k));
                    instance.ids().filter(alive).map(|i| instance.node(i).output_bytes).sum::<u64>()
                        + node.output_bytes
                        + node.workspace_bytes()
                })
                .max()
                .unwrap();
            prop_assert_eq!(replay.peak_bytes, peak + instance.static_bytes());
            prop_assert_eq!(replay.cost, instance.base_cost());
        }
    }
}
