//! Settings of the search, and its front door.

use super::{ExactError, ExactOutcome, search};
use crate::offload::CopyPhase;
use remat_instances::instance::Instance;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Settings of a search.
#[derive(Clone, Debug)]
pub struct ExactSettings {
    /// Time at which tensors may leave and come back.
    pub copies: CopyPhase,
    /// True if nodes may run again. Nodes that are marked
    /// [once](remat_instances::instance::Node::once) never do.
    pub recompute: bool,
    /// Makespan above which a plan is of no use, in the instance's cost unit, such as the
    /// incumbent's. Labels that must exceed it are not kept.
    pub most: Option<u64>,
    /// Number of labels after which the search stops. A label takes some 200 bytes.
    pub labels: usize,
    /// Stops the search when it is set.
    pub interrupt: Option<Arc<AtomicBool>>,
    /// Limits of parts of the search.
    pub tuning: ExactTuning,
}

/// Limits of parts of the search. They do not affect the validity of a result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ExactTuning {
    /// Maximum number of choices of tensors tried for the time that memory costs between two first
    /// runs; with more choices, that time counts as 0. Graphs of 20 nodes need some hundreds.
    pub choices_per_span: u64,
    /// Maximum number of such choices in total; 10 million take about 0.1 s.
    pub choices: u64,
    /// States tried between two checks of the interrupt flag; 1,000 take about 1 ms.
    pub states_per_look: u64,
}

impl Default for ExactTuning {
    fn default() -> Self {
        ExactTuning {
            choices_per_span: 20_000,
            choices: 10_000_000,
            states_per_look: 1_000,
        }
    }
}

impl Default for ExactSettings {
    fn default() -> Self {
        ExactSettings {
            copies: CopyPhase::Any,
            recompute: true,
            most: None,
            labels: 2_000_000,
            interrupt: None,
            tuning: ExactTuning::default(),
        }
    }
}

/// A search for the fastest plan of an instance with a link, within a budget.
///
/// # Example
/// ```
/// use remat_formulations::offload::exact::{ExactOutcome, ExactSearch, ExactSettings};
/// use remat_instances::instance::{CostUnit, HostLink, Instance, InstanceData, Node, NodeId};
///
/// let nodes = vec![
///     Node::forward("a", vec![], 10, 6),
///     Node::forward("b", vec![NodeId(0)], 20, 8),
///     Node::forward("c", vec![NodeId(1)], 20, 8),
///     Node::forward("d", vec![NodeId(0), NodeId(2)], 5, 1),
/// ];
/// let instance = Instance::new(InstanceData {
///     name: "skip".into(),
///     cost_unit: CostUnit::nanoseconds(),
///     host_link: Some(HostLink::new(1_000_000_000, 500_000_000)),
///     in_flight: 1,
///     nodes,
/// })?;
/// // Without room for b, c and a, a leaves while b runs, and comes back after c.
/// let search = ExactSearch::new(&instance, 16);
/// let ExactOutcome::Optimal { plan, .. } = search.run()? else {
///     return Err("a plan fits".into());
/// };
/// assert_eq!((plan.replay.makespan, plan.replay.peak_bytes), (65, 16));
/// // The copy takes 12 ns; recomputing a takes 10.
/// let alone = ExactSettings { recompute: false, ..ExactSettings::default() };
/// let ExactOutcome::Optimal { plan, .. } = search.settings(alone).run()? else {
///     return Err("a plan fits".into());
/// };
/// assert_eq!(plan.replay.makespan, 67);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct ExactSearch<'a> {
    instance: &'a Instance,
    budget_bytes: u64,
    settings: ExactSettings,
}

impl<'a> ExactSearch<'a> {
    /// A search in an instance with a [host link](Instance::host_link), within a budget in bytes,
    /// fixed memory included.
    ///
    /// All nodes run, with their first implementations; of an instance with others, pass its
    /// [view](Instance::single_implementation_view).
    pub fn new(instance: &'a Instance, budget_bytes: u64) -> Self {
        ExactSearch {
            instance,
            budget_bytes,
            settings: ExactSettings::default(),
        }
    }

    /// The same with other settings.
    pub fn settings(self, settings: ExactSettings) -> Self {
        ExactSearch { settings, ..self }
    }

    /// Searches.
    ///
    /// A plan respects the memory of the device and, if the link limits it, of the host. Time and
    /// memory of the search are exponential in the number of nodes;
    /// [`labels`](ExactSettings::labels) limits them. The same input and settings give the same
    /// plan.
    ///
    /// # Errors
    /// [`ExactError`] for an instance without a link, with a link and a cost unit that is not a
    /// time, with more than 128 nodes, or without a loss if copies must respect it.
    pub fn run(&self) -> Result<ExactOutcome, ExactError> {
        search::run(self.instance, self.budget_bytes, &self.settings)
    }
}
