//! Steps with gathered weights and scattered gradients.
//!
//! A gathered weight is a value that begins at home, so its first gap is given, and each further
//! gap costs one gather. A scattered gradient has a gap that ends with the step. So the choice of
//! gaps and the clock are the ones for copies. Computations come from solves of the graph without
//! weights ([`Instance::computations`]), each with another share of the memory left to weights.

use super::super::reserves::Reserves;
use super::Searching;
use remat_instances::instance::{CopyTimes, Instance, NodeId};
use remat_search::{Outcome, Settings, SolveError};

impl Searching<'_> {
    /// Solves a sharded step.
    pub(super) fn sharded(&mut self) -> Result<(), SolveError> {
        let (asked, tuning) = (self.asked, &self.asked.tuning);
        let instance = self.instance.clone();
        let mut reserves = Reserves::new(&instance, asked.budget_bytes);
        if let Some(because) = super::too_small(&reserves.formulation, asked.budget_bytes) {
            self.answer.outcome.infeasible_because = Some(because);
            return Ok(());
        }
        for plan in asked.starts {
            self.offer(plan.clone());
        }
        if self.exactly() {
            return Ok(());
        }
        self.learn(capacity_bound(&instance, &self.times));
        let more = match copies_tensors(&instance) {
            true => &tuning.reserves[1..],
            false => &[],
        };
        for share in more.iter().map(|share| -share).chain(tuning.reserves) {
            self.try_reserve(&mut reserves, share)?;
        }
        for _ in 0..tuning.reserve_rounds {
            for share in reserves.between() {
                self.try_reserve(&mut reserves, share)?;
            }
        }
        if !self.is_done() {
            self.polish(tuning.polish_share);
        }
        if !self.is_done() {
            self.prove_by_trips(tuning.trip_shares)?;
        }
        if !self.is_done() && asked.proven {
            let settings = Settings {
                gap: self.settings.gap,
                ..self.part(tuning.bound_share, 1)
            };
            self.compute(&mut reserves, asked.budget_bytes, &settings)?;
        }
        if !self.is_done() && self.watch.left().is_some() {
            self.polish(1.0);
        }
        Ok(())
    }

    /// Leaves a share of the reserve to weights, and chooses gathers for the computations.
    fn try_reserve(&mut self, reserves: &mut Reserves, share: f64) -> Result<(), SolveError> {
        let is_known = reserves.tried.iter().any(|(known, _)| *known == share);
        if is_known || self.is_done() || self.answer.outcome.infeasible_because.is_some() {
            return Ok(());
        }
        let time = self.asked.tuning.reserve_time;
        let Some(budget) = reserves.budget(share, self.room) else {
            return Ok(());
        };
        let settings = self.part(time, 4);
        let outcome = self.compute(reserves, budget, &settings)?;
        let mut makespan = u64::MAX;
        if let Some(schedule) = outcome.schedule {
            let plan = reserves.plan(self.instance, &schedule)?;
            if let Some([found, _]) = self.chosen_for(&plan, time)? {
                makespan = found;
            }
            reserves.schedules.push(schedule);
        }
        reserves.tried.push((share, makespan));
        Ok(())
    }

    /// Solves the graph of the computations within a budget. With the whole budget its bound is
    /// valid for the step, unless other tensors are copied to the host.
    fn compute(
        &mut self,
        reserves: &mut Reserves,
        budget_bytes: u64,
        settings: &Settings,
    ) -> Result<Outcome, SolveError> {
        let outcome = reserves.solve(budget_bytes, settings, &self.stages)?;
        self.count(&outcome);
        if budget_bytes == self.asked.budget_bytes && !copies_tensors(self.instance) {
            match &outcome.infeasible_because {
                Some(because) => self.answer.outcome.infeasible_because = Some(because.clone()),
                None => self.learn(outcome.bound),
            }
        }
        Ok(outcome)
    }
}

/// Returns whether any tensor but weights and gradients may be copied to the host.
fn copies_tensors(instance: &Instance) -> bool {
    let may = |id: &NodeId| instance.may_offload(*id) && instance.node(*id).output_bytes > 0;
    instance.ids().any(|id| may(&id))
}

/// Lower bound on the makespan of all plans from the capacity of the link: before a first run, the
/// weights read up to it have come one after the other; after one, the gradients computed from it
/// on leave one after the other.
fn capacity_bound(instance: &Instance, times: &CopyTimes) -> u64 {
    let nodes = instance.nodes();
    let cost: u64 = nodes.iter().map(|node| node.cost()).sum();
    let (mut bound, mut before, mut came) = (cost, 0, 0u64);
    let mut seen = vec![false; instance.gathered()];
    for node in nodes {
        for weight in node.needs().iter().map(|need| need.index()) {
            let gathered = nodes[weight].gather_bytes;
            if let Some(bytes) = gathered.filter(|_| !std::mem::replace(&mut seen[weight], true)) {
                came = came.saturating_add(times.from_host(bytes).unwrap_or(0));
            }
        }
        bound = bound.max((cost - before).saturating_add(came));
        before += node.cost();
    }
    let mut left = 0u64;
    for node in nodes.iter().rev() {
        if let Some(bytes) = node.scatter_bytes {
            left = left.saturating_add(times.to_host(bytes).unwrap_or(0));
        }
        bound = bound.max(before.saturating_add(left));
        before -= node.cost();
    }
    bound
}
