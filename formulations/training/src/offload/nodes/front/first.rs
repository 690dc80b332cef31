//! Searches that may settle a solve with a link at once.

use super::super::envelope::Envelope;
use super::super::sequence::Sequence;
use super::Searching;
use crate::any::AnyFormulation;
use crate::bound::largest_working_set;
use crate::offload::chain::{ChainTuning, chain_plans_tuned};
use crate::offload::exact::{ExactOutcome, ExactSearch, ExactSettings};
use remat_instances::instance::{Implementation, Instance, NodeId};
use remat_instances::plan::Plan;
use remat_search::{Settings, Solvable, SolveError};

impl Searching<'_> {
    /// Searches a small graph exactly; returns whether this settles the solve.
    pub(super) fn exactly(&mut self) -> bool {
        let (asked, tuning) = (self.asked, &self.asked.tuning);
        if self.chooses_implementations() || self.instance.len() > tuning.exact_nodes {
            return false;
        }
        let settings = ExactSettings {
            copies: asked.phase,
            labels: tuning.exact_labels,
            ..ExactSettings::default()
        };
        let search = ExactSearch::new(self.instance, asked.budget_bytes).settings(settings);
        let Ok(outcome) = search.run() else {
            return false;
        };
        if let Some(found) = outcome.plan() {
            self.offer(found.plan.clone());
        }
        if !self.is_at_once() {
            return false;
        }
        let Some(bound) = outcome.bound() else {
            let because = "no stage schedule with copies fits the budget".into();
            self.answer.outcome.infeasible_because = Some(because);
            return true;
        };
        self.learn(bound);
        matches!(outcome, ExactOutcome::Optimal { .. })
    }

    /// Solves without a link if no tensor can leave and come back within twice the time of the
    /// step; returns whether this settles the solve.
    pub(super) fn uncopied(&mut self) -> Result<bool, SolveError> {
        let Some(extra) = self.longest_without_copies() else {
            return Ok(false);
        };
        let (asked, instance) = (self.asked, self.instance);
        let settings = Settings {
            prove: self.is_certified(),
            ..self.settings.clone()
        };
        let outcome = asked.formulation.solve(
            asked.budget_bytes,
            &[],
            &settings,
            // Its plans and bounds are valid for the whole solve.
            asked.listener,
        )?;
        self.count(&outcome);
        self.answer.without_cost = outcome.cost();
        if !self.is_stage_bound() {
            let Some(schedule) = &outcome.schedule else {
                return Ok(false);
            };
            self.offer(schedule.plan(instance)?.optimised(instance)?);
            self.prove_by_trips(asked.tuning.trip_shares)?;
            return Ok(true);
        }
        // A plan with copies takes longer than `beyond`.
        let beyond = self.base.saturating_add(extra);
        if let Some(within) = &outcome.proof {
            self.certify_without_copies(beyond, within);
        }
        if extra == u64::MAX && outcome.infeasible_because.is_some() {
            self.answer.outcome.infeasible_because = outcome.infeasible_because;
            return Ok(true);
        }
        self.learn(match outcome.infeasible_because {
            Some(_) => beyond,
            None => outcome.bound.min(beyond),
        });
        let Some(schedule) = &outcome.schedule else {
            return Ok(false);
        };
        self.offer(schedule.plan(instance)?.optimised(instance)?);
        Ok(true)
    }

    /// Longest time tried, above the cost of all first computations, within which no tensor can
    /// leave and come back: `u64::MAX` if no tensor ever can, `None` if it is below that cost.
    fn longest_without_copies(&self) -> Option<u64> {
        let instance = self.instance;
        let host = instance.host_link().and_then(|link| link.host_memory_bytes);
        let may_leave = |id: &NodeId| instance.may_offload(*id);
        let sizes = instance.ids().filter(may_leave);
        let sizes = sizes.map(|id| instance.node(id).output_bytes);
        let least = sizes.filter(|bytes| *bytes > 0).min().unwrap_or(u64::MAX);
        let carries = |extra: u64| {
            let envelope = Envelope::of(instance, &self.times, self.asked.phase, host, extra);
            envelope.bytes.iter().any(|bytes| *bytes >= least)
        };
        let doubled = std::iter::successors(Some(self.base.max(1)), |time| time.checked_mul(2));
        let mut last = None;
        for extra in doubled.chain([u64::MAX]) {
            if carries(extra) {
                break;
            }
            last = Some(extra);
        }
        last
    }

    /// Plans of a graph that is a chain, POFO's among them: the answer is never worse.
    pub(super) fn chains(&self) -> Vec<Plan> {
        let asked = self.asked;
        if self.chooses_implementations() {
            return Vec::new();
        }
        let (budget, phase) = (asked.budget_bytes, asked.phase);
        let plans = chain_plans_tuned(self.instance, budget, phase, ChainTuning::for_sweep);
        // A graph that is not a chain has no such plans.
        let plans = plans.into_iter().flatten();
        plans.map(|found| found.plan).collect()
    }

    /// Chooses copies for the step without recomputation, if the link can carry the excess memory
    /// within the step's time plus the relative gap.
    pub(super) fn copies_alone(&mut self) -> Result<(), SolveError> {
        let asked = self.asked;
        let instance = self.instance;
        let host = instance.host_link().and_then(|link| link.host_memory_bytes);
        let extra = (self.base as f64 * self.settings.gap).ceil() as u64;
        let envelope = Envelope::of(instance, &self.times, asked.phase, host, extra);
        let plain = instance.without_recomputation(asked.formulation.semantics())?;
        let plan = plain.plan(instance)?;
        let sequence = Sequence::of(instance, &plan, &self.times, asked.phase)?;
        let runs = sequence.of.runs.iter().zip(&sequence.bytes);
        let mut excess = runs.map(|(run, bytes)| {
            let room = asked
                .budget_bytes
                .saturating_add(envelope.bytes[run.node.index()]);
            bytes.saturating_sub(room)
        });
        if excess.all(|bytes| bytes == 0) {
            self.choose_for(&plan, asked.tuning.probe_share)?;
        }
        Ok(())
    }
}

/// Reason why no plan fits a budget in bytes, with a link or without: one computation alone is too
/// large with every implementation.
pub fn too_small(formulation: &AnyFormulation, budget_bytes: u64) -> Option<String> {
    let instance = formulation.instance();
    let (bytes, id, what) = match formulation.semantics().chooses_implementations() {
        false => {
            let (bytes, id) = largest_working_set(instance)?;
            let bytes = instance.static_bytes() + bytes;
            (bytes, id, "inputs, output, workspace and fixed memory")
        }
        true => {
            let proper = instance
                .ids()
                .filter(|id| instance.node(*id).parent().is_none());
            let all = proper.map(|id| (least_working_set(instance, id), id));
            let (bytes, id) = all.max()?;
            let what = "inputs, output, workspace and fixed memory by its smallest implementation";
            (bytes, id, what)
        }
    };
    (bytes > budget_bytes).then(|| {
        format!(
            "{} needs {bytes} bytes with its {what}, the budget is {budget_bytes}",
            instance.node(id).name
        )
    })
}

/// Fewest bytes in use during a node's first run, over its implementations, in place or not.
fn least_working_set(instance: &Instance, id: NodeId) -> u64 {
    let node = instance.node(id);
    let option = node.in_place.as_ref().map(|option| option.workspace_bytes);
    let of = |way: &Implementation| {
        let inputs = way.needs.iter().map(|u| instance.node(*u).output_bytes);
        let inputs: u64 = inputs.sum();
        let workspace = way.workspace_bytes.min(option.unwrap_or(i64::MAX));
        inputs.saturating_add_signed(workspace)
    };
    let least = node.implementations.iter().map(of).min();
    least.unwrap_or(0) + node.output_bytes + node.fixed_bytes
}
