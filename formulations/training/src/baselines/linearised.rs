//! Chen's heuristics on any graph, by treating the topological order as a chain (Checkmate, section
//! 5.1.2).
//!
//! Every forward node is a candidate; inputs over an edge past a checkpoint are recomputed (min-R).

use super::training::TrainingGraph;
use super::{NotApplicable, segments};
use remat_instances::instance::Instance;
use remat_instances::schedule::CheckmateSchedule;
use remat_search::Patience;

/// Linearised sqrt(n): every `sqrt(n)`-th forward node is a checkpoint. Ignores the budget.
///
/// # Errors
/// [`NotApplicable`] without a backward pass.
pub fn square_root(
    instance: &Instance,
    _budget_bytes: u64,
) -> Result<CheckmateSchedule, NotApplicable> {
    let graph = TrainingGraph::new(instance)?;
    let checkpoints = segments::square_root(&graph, graph.activations());
    Ok(segments::schedule(&graph, &checkpoints))
}

/// Linearised greedy: segments of about equal memory in topological order, searched over the
/// segment size.
///
/// # Errors
/// [`NotApplicable`] without a backward pass, or if the time ends before the first schedule.
pub fn greedy(
    instance: &Instance,
    budget_bytes: u64,
    patience: Patience<'_>,
) -> Result<CheckmateSchedule, NotApplicable> {
    let graph = TrainingGraph::new(instance)?;
    segments::best_greedy(&graph, graph.activations(), budget_bytes, patience)
}
