//! The graph of a step with a wait node between its two passes.

use crate::inserted::InsertedNodes;
use remat_instances::Semantics;
use remat_instances::instance::{Instance, InstanceData, StructureError};
use remat_instances::plan::Plan;
use remat_instances::schedule::CheckmateSchedule;

/// Name of the node between the two passes.
const NAME: &str = "wait between the passes";

/// A graph with a node between forward and backward pass that costs nothing and runs once: other
/// micro-batches wait there ([`Waiting`](crate::waiting::Waiting)). So recomputations before the
/// wait are told from those behind it.
#[derive(Clone, Debug)]
pub(super) struct WaitGraph {
    graph: InsertedNodes,
    /// Position of the node.
    at: usize,
    /// Fixed memory of that position in bytes, and what the node itself reads.
    beside_bytes: u64,
}

impl WaitGraph {
    /// The graph of an instance; `None` without a backward pass.
    pub fn of(instance: &Instance, semantics: Semantics) -> Option<Self> {
        let start = instance.backward_start()?;
        let graph = InsertedNodes::before(instance, semantics, &[start], NAME);
        let at = start.index();
        let node = &graph.data.nodes[at];
        let fixed = match semantics.fixed_memory_follows_frontier() {
            true => node.fixed_bytes,
            false => instance.static_bytes(),
        };
        let needs = node.needs().iter();
        let read: u64 = needs.map(|id| instance.node(*id).output_bytes).sum();
        Some(WaitGraph {
            beside_bytes: fixed + read,
            graph,
            at,
        })
    }

    /// The graph with all micro-batches in flight.
    ///
    /// # Errors
    /// [`StructureError`] for sizes beyond those of an instance.
    pub fn instance(&self) -> Result<Instance, StructureError> {
        Instance::new(self.graph.data.clone())
    }

    /// The graph with one micro-batch in flight and at most `saved_bytes` between the passes, under
    /// a budget in bytes: the wait node takes the other memory.
    ///
    /// # Errors
    /// [`StructureError`] for sizes beyond those of an instance.
    pub fn bounded(&self, budget_bytes: u64, saved_bytes: u64) -> Result<Instance, StructureError> {
        let mut data = InstanceData {
            in_flight: 1,
            ..self.graph.data.clone()
        };
        let rest = budget_bytes.saturating_sub(self.beside_bytes);
        let taken = rest.saturating_sub(saved_bytes) as i64;
        let way = &mut data.nodes[self.at].implementations[0];
        (way.workspace_bytes, way.recompute_workspace_bytes) = (taken, taken);
        Instance::new(data)
    }

    /// The schedule of the graph that waits as soon as the backward pass of a schedule of the step
    /// begins; recomputations of that stage come behind the wait.
    pub fn schedule(&self, schedule: &CheckmateSchedule) -> CheckmateSchedule {
        self.graph.schedule(schedule)
    }

    /// The plan of the step itself, from a plan of the graph.
    pub fn plan(&self, plan: &Plan, name: &str) -> Plan {
        self.graph.plan(plan, name)
    }
}
