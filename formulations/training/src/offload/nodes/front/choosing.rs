//! Copies for computations: choice in parallel lanes, offer to the answer, polishing.

use super::super::choose::{Choose, ChooseSettings, Chosen};
use super::super::clock::Clock;
use super::super::emit::emit;
use super::super::sequence::Sequence;
use super::{Probe, Searching};
use rayon::prelude::*;
use remat_instances::plan::Plan;
use remat_search::SolveError;
use std::time::Instant;

/// A sequence with the best copies that were found for it.
pub(super) struct CopyCandidate {
    pub sequence: Sequence,
    pub chosen: Chosen,
}

impl Searching<'_> {
    /// Chooses copies for the computations of a plan.
    pub(super) fn choose_for(&mut self, plan: &Plan, time: f64) -> Result<Probe, SolveError> {
        Ok(match self.chosen_for(plan, time)? {
            Some([makespan, costs]) if makespan <= costs => Probe::Smooth,
            _ => Probe::Waits,
        })
    }

    /// Chooses copies for the computations of a plan; returns the makespan and the costs, or `None`
    /// if no copies were found with which the plan fits.
    pub(super) fn chosen_for(
        &mut self,
        plan: &Plan,
        time: f64,
    ) -> Result<Option<[u64; 2]>, SolveError> {
        let sequence = Sequence::of(self.instance, plan, &self.times, self.asked.phase)?;
        let costs: u64 = sequence.costs.iter().sum();
        let moves = self.asked.tuning.probe_moves;
        let left = self.watch.left();
        let deadline = left.map(|left| Instant::now() + left.mul_f64(time));
        let chosen = self.choose(&sequence, None, moves, deadline);
        Ok(chosen.map(|chosen| {
            let makespan = chosen.makespan;
            self.take(sequence, chosen);
            [makespan, costs]
        }))
    }

    /// Chooses copies for a sequence, in lanes with seeds of their own.
    pub(super) fn choose(
        &self,
        sequence: &Sequence,
        start: Option<&[bool]>,
        moves: u64,
        deadline: Option<Instant>,
    ) -> Option<Chosen> {
        let link = self.instance.host_link()?;
        let lane = |lane: u64| {
            let settings = ChooseSettings {
                seed: remat_search::random::mix(self.settings.seed ^ lane.wrapping_mul(0x51_7cc1)),
                moves,
                deadline,
                host_bytes: link.host_memory_bytes.unwrap_or(u64::MAX),
            };
            let is_over = || self.watch.is_over();
            Choose::new(sequence, self.asked.budget_bytes, settings).run(start, &is_over)
        };
        let lanes = 0..self.asked.tuning.lanes;
        let found: Vec<Option<Chosen>> = self
            .pool
            .install(|| lanes.into_par_iter().map(lane).collect());
        found
            .into_iter()
            .flatten()
            .min_by_key(|chosen| chosen.makespan)
    }

    /// Offers the plan of a sequence with its copies, and keeps the sequence for polishing.
    pub(super) fn take(&mut self, sequence: Sequence, chosen: Chosen) {
        let (sequence, chosen) = self.with_faster_ways(sequence, chosen);
        let budget = self.asked.budget_bytes;
        let mut clock = Clock::new(&sequence, budget);
        let placed = clock.place(&chosen.gaps);
        let plan = emit(&sequence, &chosen.gaps, placed);
        self.offer(plan);
        let costs: u64 = sequence.costs.iter().sum();
        // If nodes have several implementations, faster ones may be worth the waiting time.
        if chosen.makespan > costs || !self.is_stage_bound() {
            self.sequences.push(CopyCandidate { sequence, chosen });
            self.sequences.sort_by_key(|c| c.chosen.makespan);
            self.sequences.truncate(self.asked.tuning.candidates);
        }
    }

    /// Continues the choice of copies for the sequences in which computations wait.
    pub(super) fn polish(&mut self, share: f64) {
        let candidates = std::mem::take(&mut self.sequences);
        let parts = candidates.len().max(1) as f64;
        let time = self.watch.left().map(|left| left.mul_f64(share / parts));
        for CopyCandidate { sequence, chosen } in candidates {
            if self.is_done() {
                return;
            }
            let costs: u64 = sequence.costs.iter().sum();
            if self.cost().is_some_and(|cost| cost <= costs) {
                continue;
            }
            let deadline = time.map(|time| Instant::now() + time);
            let moves = match time {
                Some(_) => u64::MAX,
                None => self.asked.tuning.polish_moves,
            };
            if let Some(better) = self.choose(&sequence, Some(&chosen.gaps), moves, deadline) {
                self.take(sequence, better);
            }
        }
    }
}
