//! Checkpoint sets of least peak memory for linear networks: Hong, Tsai, Wang, Liu, Wu, "GPU memory
//! usage optimization for backward propagation in deep network training".
//!
//! | function | minimises | time |
//! |---|---|---|
//! | [`checkpoint_selection`] | equation 6: checkpoints and largest segment (Algorithm 3) | O(n^3) |
//! | [`dynamic_selection_quadratic`] | equation 9: PyTorch's memory (Algorithm 5) | O(n^2) |
//! | [`dynamic_selection`] | the same (Algorithm 6) | O(n) |
//!
//! Conventions: sizes are `d_0` (the input) to `d_n` (the output); both are checkpoints in every
//! set. Where text and algorithms of the paper disagree, the equations stand; [`selection`] and
//! [`dynamic`] list the decisions and their reasons.
//!
//! [`schedule`] turns a checkpoint set into a schedule; [`run`] is the heuristic for a training
//! graph.

pub mod dynamic;
pub mod selection;
mod sizes;

pub use dynamic::{dynamic_selection, dynamic_selection_quadratic};
pub use selection::checkpoint_selection;
pub use sizes::{CheckpointError, LayerSizes, Selection, SizesError};

use super::chain::{self, HeldTensors, TrainingChain};
use super::{NotApplicable, best};
use remat_instances::instance::Instance;
use remat_instances::schedule::CheckmateSchedule;

/// Size that represents a stage of a chain that saves more than its output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StageSize {
    /// The output, `a_l`: the size of a checkpoint.
    Output,
    /// All data that the backward step needs, `abar_l`: the size of a stage in a segment.
    Saved,
}

/// The layer sizes of a training graph's chain: `d_l` is stage `l - 1`, the input is part of the
/// fixed memory (0), and the last stage, which holds the loss and has no output, is not counted.
///
/// On a linear network ([`TrainingChain::is_linear`]) both kinds of size agree.
///
/// # Errors
/// [`SizesError::TooLarge`] if the sizes add up to more than 2^62 bytes.
pub fn layer_sizes(
    training: &TrainingChain<'_>,
    size: StageSize,
) -> Result<LayerSizes, SizesError> {
    let stages = &training.chain().stages;
    let sizes = stages[..stages.len() - 1].iter().map(|s| match size {
        StageSize::Output => s.output_bytes,
        StageSize::Saved => s.saved_bytes,
    });
    LayerSizes::new([0].into_iter().chain(sizes).collect())
}

/// The schedule of a checkpoint set (Algorithm 4). The forward pass keeps the checkpoints. When the
/// backward pass reaches checkpoint `i`, all layers between it and the checkpoint before are
/// recomputed, and freed layer by layer.
///
/// `checkpoints` index layers as in [`layer_sizes`]: `i >= 1` is the output of stage `i - 1`. The
/// segment before the last layer is kept from the forward pass: recomputing it at once would take
/// the same memory and cost more. If a stage saves more than its output, the rest is recomputed
/// even if the output is a checkpoint.
///
/// # Errors
/// [`CheckpointError`] if the list is no checkpoint set of the chain.
pub fn schedule(
    training: &TrainingChain<'_>,
    checkpoints: &[usize],
) -> Result<CheckmateSchedule, CheckpointError> {
    let stages = training.chain().len();
    let last = stages - 1;
    sizes::check(checkpoints, last)?;
    let mut held = HeldTensors::new(training);
    // Stages between two checkpoints h < i are h .. i, in the order of the backward pass: the last
    // segment first.
    let kept_from = checkpoints[checkpoints.len().saturating_sub(2)];
    for &i in checkpoints.iter().filter(|&&i| i < last) {
        held.keep_input(i);
    }
    for l in kept_from..stages {
        held.save(l);
        held.keep_input(l);
    }
    for pair in checkpoints.windows(2).rev().skip(1) {
        let (h, i) = (pair[0], pair[1]);
        // The checkpoint at the end of the segment stays for its own stage's backward step, if that
        // reads it.
        held.keep_output(i - 1);
        for l in h..i {
            held.run_forward(l, false, i - 1);
            if l + 1 < i {
                held.save(l);
            } else {
                held.save_inner(l);
            }
            if l > h {
                held.keep_input(l);
            }
        }
    }
    Ok(held.finish())
}

/// The schedule of the checkpoint set with the least peak under PyTorch's model
/// ([`dynamic_selection`]), for any budget. On a chain that is not linear, both kinds of
/// [`StageSize`] are tried, and the schedule with the smaller peak in the replay wins.
///
/// # Errors
/// [`NotApplicable`] if the graph has no chain.
pub fn run(instance: &Instance, _budget_bytes: u64) -> Result<CheckmateSchedule, NotApplicable> {
    let training = chain::extract(instance)?;
    let kinds: &[StageSize] = if training.is_linear() {
        &[StageSize::Output]
    } else {
        &[StageSize::Output, StageSize::Saved]
    };
    let of_kind = |&kind: &StageSize| {
        // Both calls succeed: an instance's sizes stay below 2^62 together, and a selection is a
        // checkpoint set.
        let found = dynamic_selection(&layer_sizes(&training, kind).ok()?);
        schedule(&training, &found.checkpoints).ok()
    };
    // A budget of 0 asks for the least peak.
    Ok(best(instance, 0, kinds.iter().filter_map(of_kind))
        .unwrap_or_else(|| CheckmateSchedule::checkpoint_all(instance)))
}

#[cfg(test)]
mod tests;
