//! Chen et al., "Training deep nets with sublinear memory cost" (2016), on linear forward passes.

use super::training::TrainingGraph;
use super::{NotApplicable, segments};
use remat_instances::instance::Instance;
use remat_instances::schedule::CheckmateSchedule;
use remat_search::Patience;

/// Segments of `sqrt(n)` nodes (section 4.1): memory O(sqrt(n)) for one extra forward pass at most.
/// Ignores the budget.
///
/// # Errors
/// [`NotApplicable`] without a backward pass, and if the forward pass is not a chain.
pub fn square_root(
    instance: &Instance,
    _budget_bytes: u64,
) -> Result<CheckmateSchedule, NotApplicable> {
    let graph = TrainingGraph::new(instance)?;
    graph.require_chain()?;
    let checkpoints = segments::square_root(&graph, graph.activations());
    Ok(segments::schedule(&graph, &checkpoints))
}

/// Segments of about equal memory (algorithm 3), searched over the segment size: the cheapest
/// schedule within the budget, or the one with the least peak if no schedule fits.
///
/// # Errors
/// [`NotApplicable`] without a backward pass, if the forward pass is not a chain, and if the time
/// ends before the first schedule.
pub fn greedy(
    instance: &Instance,
    budget_bytes: u64,
    patience: Patience<'_>,
) -> Result<CheckmateSchedule, NotApplicable> {
    let graph = TrainingGraph::new(instance)?;
    graph.require_chain()?;
    segments::best_greedy(&graph, graph.activations(), budget_bytes, patience)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::baselines::fixtures::{Reads, uniform_chain};
    use remat_instances::simulate;

    #[test]
    fn square_root_of_a_uniform_chain_has_square_root_memory_and_one_extra_forward_pass_at_most() {
        for length in 1..=120usize {
            for reads in [Reads::Input, Reads::Output, Reads::Both] {
                let instance = uniform_chain(length, reads);
                let schedule = square_root(&instance, 0).unwrap();
                let replay = simulate::checkmate(&instance, &schedule).unwrap();
                let root = length.isqrt();
                // Checkpoints, one whole segment, and at the moment of the peak two gradients and
                // the loss.
                let bound = length / root + root + 3;
                assert!(
                    replay.peak_bytes <= bound as u64,
                    "length {length}, {reads:?}: peak {} above {bound}",
                    replay.peak_bytes
                );
                assert!(replay.cost <= instance.base_cost() + length as u64);
                for i in 0..length {
                    let times = (0..instance.len()).filter(|&t| schedule.computed.get(t, i));
                    assert!(times.count() <= 2);
                }
            }
        }
    }

    #[test]
    fn nine_nodes_by_hand() {
        // Segments {0, 1, 2}, {3, 4, 5}, {6, 7, 8}, checkpoints 2 and 5, loss 9, backward of i in
        // stage 18 - i.
        let instance = uniform_chain(9, Reads::Input);
        let schedule = square_root(&instance, 0).unwrap();
        let recomputed: Vec<(usize, usize)> = (0..instance.len())
            .flat_map(|t| schedule.computed.ones(t).map(move |i| (t, i)))
            .filter(|&(t, i)| t != i)
            .collect();
        // Backward of 5 (stage 13) reads 4, so 3 and 4 are made again; backward of 2 (stage 16)
        // reads 1.
        assert_eq!(recomputed, [(13, 3), (13, 4), (16, 0), (16, 1)]);
        let kept_at_loss: Vec<usize> = schedule.retained.ones(10).collect();
        assert_eq!(kept_at_loss, [2, 5, 6, 7, 9]);
        // Checkpoint 2 is read by backward of 3 (stage 15) for the last time.
        assert!(schedule.retained.get(15, 2) && !schedule.retained.get(16, 2));
    }

    #[test]
    fn greedy_trades_cost_for_memory() {
        let instance = uniform_chain(64, Reads::Both);
        let replay = |budget: u64| {
            simulate::checkmate(
                &instance,
                &greedy(&instance, budget, Patience::ENDLESS).unwrap(),
            )
            .unwrap()
        };
        let all = replay(u64::MAX);
        assert_eq!(all.cost, instance.base_cost());
        let mut cost = all.cost;
        for budget in (20..all.peak_bytes).rev() {
            let found = replay(budget);
            assert!(found.peak_bytes <= budget, "budget {budget}");
            assert!(found.cost >= cost);
            cost = found.cost;
        }
        assert!(cost > all.cost);
        // No schedule fits one byte: the result has the least peak over all segment sizes, as for
        // any budget that is too small.
        assert!(replay(1).peak_bytes <= 20);
    }
}
