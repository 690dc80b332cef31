//! Faster implementations of computations, where memory is left for their workspaces.

use super::Searching;
use crate::offload::nodes::choose::Chosen;
use crate::offload::nodes::clock::Clock;
use crate::offload::nodes::emit::emit;
use crate::offload::nodes::sequence::Sequence;
use remat_instances::plan::{Computation, Plan};
use remat_instances::schedule::Semantics;
use remat_instances::simulate;

impl Searching<'_> {
    /// The sequence with the fastest implementations that fit while the same values are away, if
    /// that takes less time.
    pub(super) fn with_faster_ways(
        &self,
        sequence: Sequence,
        chosen: Chosen,
    ) -> (Sequence, Chosen) {
        if self.asked.formulation.semantics() != Semantics::Monet {
            return (sequence, chosen);
        }
        match self.faster(&sequence, &chosen) {
            Some(faster) => faster,
            None => (sequence, chosen),
        }
    }

    fn faster(&self, sequence: &Sequence, chosen: &Chosen) -> Option<(Sequence, Chosen)> {
        let (instance, budget) = (self.instance, self.asked.budget_bytes);
        let mut clock = Clock::new(sequence, budget);
        let placed = clock.place(&chosen.gaps);
        let replay = simulate::plan(instance, &emit(sequence, &chosen.gaps, placed)).ok()?;
        let mut seen = vec![false; instance.len()];
        let mut runs: Vec<Computation> = sequence.of.runs.clone();
        for (run, point) in runs.iter_mut().zip(&replay.timeline) {
            let node = instance.node(run.node);
            let again = std::mem::replace(&mut seen[run.node.index()], true);
            let ways = &node.implementations;
            let own = &ways[usize::from(run.implementation)];
            let room = i128::from(budget) - i128::from(point.bytes);
            // In place the workspace is that of the option.
            let more = |way: usize| match run.in_place {
                true => 0,
                false => {
                    let bytes = |way: usize| i128::from(ways[way].run_workspace_bytes(again));
                    bytes(way) - bytes(usize::from(run.implementation))
                }
            };
            let fits = |way: &usize| ways[*way].needs == own.needs && more(*way) <= room;
            let open = (0..ways.len()).filter(fits);
            let best = open.min_by_key(|way| (ways[*way].run_cost(again), *way));
            let cost = |way: usize| ways[way].run_cost(again);
            let best = best.filter(|way| cost(*way) < own.run_cost(again));
            if let Some(best) = best.filter(|_| node.parent().is_none()) {
                run.implementation = best as u16;
            }
        }
        if runs == sequence.of.runs {
            return None;
        }
        let plan = Plan::of_computations(instance, sequence.plan.semantics, &runs).ok()?;
        let faster = Sequence::of(instance, &plan, &self.times, self.asked.phase).ok()?;
        if faster.gaps != sequence.gaps {
            return None;
        }
        let placed = Clock::new(&faster, budget).place(&chosen.gaps).clone();
        let host = instance.host_link().and_then(|link| link.host_memory_bytes);
        let fits = placed.excess == 0 && host.is_none_or(|host| placed.host_bytes <= host);
        let better = Chosen {
            makespan: placed.makespan,
            ..chosen.clone()
        };
        (fits && better.makespan < chosen.makespan).then_some((faster, better))
    }
}
