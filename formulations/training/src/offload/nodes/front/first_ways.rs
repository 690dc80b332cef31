//! Plans of the first implementation of each node, as Checkmate's program has them.

use super::{Offload, Searching};
use crate::any::AnyFormulation;
use remat_instances::Semantics;
use remat_instances::instance::NodeId;
use remat_instances::plan::{Plan, Step};
use remat_search::SolveError;

impl Searching<'_> {
    /// Searches among plans that run the first implementation of each node, if they may beat the
    /// incumbent: they recompute in the forward pass as well.
    pub(super) fn first_ways(&mut self, share: f64) -> Result<(), SolveError> {
        let asked = self.asked;
        let Some((graph, ids)) = asked.formulation.single_implementation() else {
            return Ok(());
        };
        if self.cost().is_some_and(|cost| cost <= graph.base_cost()) {
            return Ok(());
        }
        let formulation = AnyFormulation::checkmate(graph);
        let settings = self.part(share, 4);
        let offload = Offload::new(formulation, asked.budget_bytes)
            .phase(asked.phase)
            .tuning(asked.tuning)
            .settings(settings)
            .listener(&self.stages)
            .uncompared()
            .unproven();
        let semantics = asked.formulation.semantics();
        let found = offload.run()?;
        self.count(&found.outcome);
        if let Some(document) = found.plan {
            self.offer(of_view(document.plan, ids, semantics));
        }
        Ok(())
    }
}

/// Converts a plan of a view into a plan of the instance under given semantics; `ids` maps the
/// view's nodes to the instance's.
fn of_view(plan: Plan, ids: &[NodeId], semantics: Semantics) -> Plan {
    let of = |node: NodeId| ids.get(node.index()).copied().unwrap_or(node);
    let step = |step: Step| match step {
        Step::Allocate { register, node } => Step::Allocate {
            register,
            node: of(node),
        },
        Step::Compute {
            node,
            register,
            implementation,
        } => Step::Compute {
            node: of(node),
            register,
            implementation,
        },
        same => same,
    };
    Plan {
        instance: plan.instance,
        semantics,
        steps: plan.steps.into_iter().map(step).collect(),
    }
}
