//! The answer of a solve, of one type for every program and option.

use crate::any::AnyFormulation;
use crate::reorder::OrderChoice;
use crate::written::{NoPlan, Planned, Written};
use remat_instances::instance::Instance;
use remat_instances::plan::PlanDocument;
use remat_instances::schedule::Schedule;
use remat_instances::simulate::Replay;
use remat_memory::place::{PlacePlanError, PlacedPlan};
use remat_search::Outcome;
use std::ops::Deref;
use std::sync::Arc;

/// The answer of a solve: its [`Outcome`], and the plan as it is written, replayed and within the
/// budget.
///
/// Status, bound and gap refer to the plan. A plan whose addresses need more than the budget has
/// the status [`Limit`](remat_search::Status::Limit).
#[derive(Clone, Debug)]
pub struct Solution {
    pub(super) formulation: AnyFormulation,
    pub(super) budget_bytes: u64,
    pub(super) plain: Replay,
    pub(super) outcome: Outcome,
    pub(super) plan: Option<Written>,
    pub(super) order: Option<OrderChoice>,
    pub(super) copies: Option<CopyChoice>,
    pub(super) free: Option<FreePlans>,
    pub(super) addresses: Option<Result<PlacedPlan, PlacePlanError>>,
}

/// Plans outside of the class of a solve, to which the class is compared.
#[derive(Clone, Copy, Debug)]
pub struct FreePlans {
    /// Cost of the best plan found, of the class or not.
    pub cost: Option<u64>,
    /// Proven lower bound on the cost of every stage schedule.
    pub bound: u64,
}

/// Comparison of a plan with copies with plans without copies.
#[derive(Clone, Copy, Debug)]
pub struct CopyChoice {
    /// Cost of the best plan without copies, if one was found.
    pub without_cost: Option<u64>,
}

impl Deref for Solution {
    type Target = Outcome;

    fn deref(&self) -> &Outcome {
        &self.outcome
    }
}

impl Solution {
    /// The formulation that was solved.
    pub fn formulation(&self) -> &AnyFormulation {
        &self.formulation
    }

    /// The instance as the program sees it, in the given order; the plan belongs to it.
    pub fn instance(&self) -> &Arc<Instance> {
        self.formulation.instance()
    }

    /// The instance of the schedule and the proof: with a chosen order, the instance in that order.
    pub fn scheduled_instance(&self) -> &Instance {
        let chosen = self.order.as_ref().map(|order| &order.instance);
        chosen.unwrap_or_else(|| self.instance())
    }

    /// The budget in bytes.
    pub fn budget_bytes(&self) -> u64 {
        self.budget_bytes
    }

    /// The replay without recomputation.
    pub fn plain(&self) -> &Replay {
        &self.plain
    }

    /// The plan as it is written, with its addresses if requested.
    pub fn document(&self) -> Option<&PlanDocument> {
        self.plan.as_ref().map(|plan| &plan.document)
    }

    /// The replay of the plan as it is written.
    pub fn replay(&self) -> Option<&Replay> {
        self.plan.as_ref().map(|plan| &plan.replay)
    }

    /// Cost of the plan; of a plan that copies to the host, its makespan.
    pub fn cost(&self) -> Option<u64> {
        self.replay().map(|replay| replay.makespan)
    }

    /// Cost of the [`schedule`](Outcome::schedule), which may exceed the cost of a plan with
    /// another order of steps.
    pub fn schedule_cost(&self) -> Option<u64> {
        self.outcome.cost()
    }

    /// Cost of the plan, as replayed.
    ///
    /// # Errors
    /// [`NoPlan`].
    pub fn objective(&self) -> Result<u64, NoPlan> {
        self.cost().ok_or_else(|| self.no_plan())
    }

    /// The best plan.
    ///
    /// # Errors
    /// [`NoPlan`].
    pub fn plan(&self) -> Result<Planned<'_>, NoPlan> {
        let document = self.document().ok_or_else(|| self.no_plan())?;
        Ok(Planned::of(self.instance(), document.clone()))
    }

    /// The schedule of the plan, if it is in the given order; another solve may start from it.
    pub fn start(&self) -> Option<&Schedule> {
        let is_of_plan = match &self.order {
            Some(order) => order.is_given() && self.outcome.cost() == self.cost(),
            None => true,
        };
        self.outcome.schedule.as_ref().filter(|_| is_of_plan)
    }

    /// The choice of the order, if requested.
    pub fn order(&self) -> Option<&OrderChoice> {
        self.order.as_ref()
    }

    /// The choice of copies, if requested.
    pub fn copies(&self) -> Option<&CopyChoice> {
        self.copies.as_ref()
    }

    /// Plans outside of the class, if the solve was about a class of plans.
    pub fn free(&self) -> Option<&FreePlans> {
        self.free.as_ref()
    }

    /// Price of the class: its cost above the best plan found, of the class or not, as a fraction
    /// of that plan's cost.
    pub fn class_price(&self) -> Option<f64> {
        let (cost, free) = (self.cost()?, self.free?.cost?);
        Some(cost as f64 / free.max(1) as f64 - 1.0)
    }

    /// The plan's addresses with the bound on their arena, or the reason why it has no addresses;
    /// `None` if they were not requested or there is no plan.
    pub fn addresses(&self) -> Option<Result<&PlacedPlan, &PlacePlanError>> {
        self.addresses.as_ref().map(Result::as_ref)
    }

    /// Bytes of the arena above the budget.
    pub fn excess_bytes(&self) -> u64 {
        let arena_bytes = match self.addresses() {
            Some(Ok(placed)) => placed.arena_bytes(),
            _ => 0,
        };
        arena_bytes.saturating_sub(self.budget_bytes)
    }

    fn no_plan(&self) -> NoPlan {
        NoPlan {
            because: self.infeasible_because.clone(),
        }
    }
}
