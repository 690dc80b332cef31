//! Faster implementations of computations, if memory is left for their workspaces.

use super::Searching;
use crate::offload::nodes::choose::Chosen;
use crate::offload::nodes::clock::Clock;
use crate::offload::nodes::emit::emit;
use crate::offload::nodes::sequence::Sequence;
use remat_instances::instance::Implementation;
use remat_instances::plan::{Computation, Plan};
use remat_instances::simulate;
use remat_search::SolveError;

impl Searching<'_> {
    pub(super) fn chooses_implementations(&self) -> bool {
        (self.asked.formulation.semantics()).chooses_implementations()
    }

    /// The sequence with the fastest implementations that fit while the same values are away, if
    /// that takes less time.
    pub(super) fn with_faster_ways(
        &self,
        sequence: Sequence,
        chosen: Chosen,
    ) -> (Sequence, Chosen) {
        if !self.chooses_implementations() {
            return (sequence, chosen);
        }
        match self.faster(&sequence, &chosen) {
            Some(faster) => faster,
            None => (sequence, chosen),
        }
    }

    fn faster(&self, sequence: &Sequence, chosen: &Chosen) -> Option<(Sequence, Chosen)> {
        let (instance, budget) = (self.instance, self.asked.budget_bytes);
        let plan = self.plan_with_faster_ways(sequence, chosen, 0)?;
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

    /// The computations of a sequence with the fastest implementations that fit the budget plus
    /// `more_bytes` while the chosen values are away; `None` if no implementation changes.
    fn plan_with_faster_ways(
        &self,
        sequence: &Sequence,
        chosen: &Chosen,
        more_bytes: u64,
    ) -> Option<Plan> {
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
            let cost = |way: &usize| ways[*way].run_cost(again);
            let room = i128::from(budget) + i128::from(more_bytes) - i128::from(point.bytes);
            let workspace = |way: &Implementation| i128::from(way.run_workspace_bytes(again));
            let fits = |way: &usize| {
                // In place, the option sets the workspace.
                let more = match run.in_place {
                    true => 0,
                    false => workspace(&ways[*way]) - workspace(own),
                };
                ways[*way].needs == own.needs && more <= room
            };
            let open = (0..ways.len()).filter(fits);
            let best = open.min_by_key(|way| (cost(way), *way));
            let best = best.filter(|way| cost(way) < own.run_cost(again));
            if let Some(best) = best.filter(|_| node.parent().is_none()) {
                run.implementation = best as u16;
            }
        }
        match runs == sequence.of.runs {
            true => None,
            false => Plan::of_computations(instance, sequence.plan.semantics, &runs).ok(),
        }
    }

    /// Chooses copies again for the best sequences with faster implementations, which need more
    /// values away.
    pub(super) fn widen(&mut self) -> Result<(), SolveError> {
        if !self.chooses_implementations() {
            return Ok(());
        }
        let tuning = self.asked.tuning;
        for share in tuning.way_rooms {
            let bytes = (self.asked.budget_bytes as f64 * share) as u64;
            let plans = self.sequences.iter().filter_map(|candidate| {
                self.plan_with_faster_ways(&candidate.sequence, &candidate.chosen, bytes)
            });
            for plan in plans.collect::<Vec<_>>() {
                if self.is_done() {
                    return Ok(());
                }
                self.choose_for(&plan, tuning.way_share)?;
            }
        }
        Ok(())
    }
}
