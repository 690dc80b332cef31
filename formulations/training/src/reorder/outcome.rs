//! Outcomes of a solve that chose the order.

use crate::written::{NoPlan, Written};
use remat_instances::instance::{Instance, NodeId};
use remat_search::{Outcome, STAGE_SCHEDULES, Status};
use std::sync::Arc;

/// Scope of a bound of a reordered instance: stage schedules in the order that was found.
pub const STAGE_SCHEDULES_IN_THIS_ORDER: &str = "stage-schedules-in-this-order";

/// The order of first computations that a solve has chosen.
#[derive(Clone, Debug)]
pub struct OrderChoice {
    /// The instance in that order; the schedule belongs to it.
    pub instance: Arc<Instance>,
    /// Node `k` of `instance` is node `order[k]` of the given instance.
    pub order: Vec<NodeId>,
    /// Lower bound on the cost of all plans, in any order.
    pub any_order_bound: u64,
    /// Cost of the best schedule found in the given order.
    pub given_cost: Option<u64>,
    /// Number of orders evaluated.
    pub orders: u64,
    /// True if the order is the given one with updates right behind what they read, without a
    /// search of orders.
    pub is_early: bool,
    /// True if the graph allows no other order.
    pub is_forced: bool,
}

impl OrderChoice {
    /// Returns whether it is the given order.
    pub fn is_given(&self) -> bool {
        self.order.is_sorted()
    }
}

/// The outcome of a solve that chose the order of first computations.
#[derive(Clone, Debug)]
pub struct Reordered {
    /// The instance as the program sees it, in the given order.
    pub given: Arc<Instance>,
    /// The order of the answer.
    pub choice: OrderChoice,
    /// The solve in that order; the schedule belongs to its instance. Status, bound and gap refer
    /// to the plan.
    pub outcome: Outcome,
    /// The best plan, of `given`. It may cost less than the schedule if its steps have an order
    /// that is not possible for stage schedules.
    pub plan: Option<Written>,
}

impl Reordered {
    /// Cost of the best plan, as replayed.
    ///
    /// # Errors
    /// [`NoPlan`].
    pub fn objective(&self) -> Result<u64, NoPlan> {
        match &self.plan {
            Some(plan) => Ok(plan.document.objective),
            None => Err(NoPlan {
                because: self.outcome.infeasible_because.clone(),
            }),
        }
    }

    /// The best plan as a `remat-plan/1` document for the given instance.
    ///
    /// # Errors
    /// [`NoPlan`].
    pub fn text(&self) -> Result<String, NoPlan> {
        self.objective()?;
        let plan = self.plan.as_ref();
        Ok(plan.map_or(String::new(), |plan| plan.document.write(&self.given)))
    }

    /// Sets status, bound and gap of the plan. `in_order` is true if it is a stage schedule in the
    /// order of the answer.
    pub(super) fn settle(&mut self, in_order: bool, gap: f64, interrupted: bool) {
        let any = self.choice.any_order_bound;
        let is_given = self.choice.is_given();
        let outcome = &mut self.outcome;
        let Some(objective) = self.plan.as_ref().map(|plan| plan.document.objective) else {
            // Other orders were not ruled out.
            if outcome.status == Status::Infeasible && self.choice.orders > 1 {
                outcome.infeasible_because = None;
                outcome.proof = None;
            }
            if outcome.infeasible_because.is_none() {
                outcome.cover_all_plans(any);
                outcome.settle(gap, interrupted);
            }
            return;
        };
        let holds = in_order && outcome.bound <= objective;
        match holds {
            _ if any >= objective => outcome.cover_all_plans(objective),
            true if is_given => outcome.bound = outcome.bound.max(any),
            true => {
                outcome.bound = outcome.bound.max(any);
                if outcome.bound_scope == STAGE_SCHEDULES {
                    outcome.bound_scope = STAGE_SCHEDULES_IN_THIS_ORDER;
                }
            }
            false => {
                outcome.cover_all_plans(any);
                outcome.proof = None;
            }
        }
        outcome.gap = Some(remat_search::relative_gap(objective, outcome.bound));
        outcome.settle(gap, interrupted);
    }
}
