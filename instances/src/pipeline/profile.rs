//! Time and memory of the passes of a stage.

use crate::instance::{Instance, StructureError};
use crate::plan::Plan;
use crate::simulate::{self, ReplayError};

/// Time and memory of the two passes of a stage under a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StageProfile {
    /// Cost of the forward pass.
    pub forward: u64,
    /// Cost of the backward pass and of recomputations.
    pub backward: u64,
    /// Bytes that a micro-batch holds between its passes.
    pub saved_bytes: u64,
    /// Largest memory of the forward pass in bytes, without fixed memory.
    pub forward_bytes: u64,
    /// Largest memory of the backward pass in bytes, without fixed memory.
    pub backward_bytes: u64,
}

/// Reason why a plan of a stage has no profile.
#[derive(Debug, thiserror::Error)]
pub enum ProfileError {
    /// The plan cannot be executed.
    #[error(transparent)]
    Replay(#[from] ReplayError),
    /// The graph has no several micro-batches.
    #[error(transparent)]
    Structure(#[from] StructureError),
}

impl StageProfile {
    /// Cost of both passes.
    pub fn cost(&self) -> u64 {
        self.forward + self.backward
    }

    /// The profile of a plan of a stage. The forward pass ends with the last first computation of a
    /// forward node.
    ///
    /// # Errors
    /// [`ProfileError`] for a plan that cannot be executed.
    pub fn of(stage: &Instance, plan: &Plan) -> Result<Self, ProfileError> {
        let start = stage.backward_start().map_or(stage.len(), |id| id.index());
        // Saved bytes are counted where another micro-batch waits.
        let several = match start < stage.len() {
            true => stage.with_in_flight(stage.in_flight().max(2))?,
            false => stage.clone(),
        };
        let replay = simulate::plan(&several, plan)?;
        let beside = stage.static_bytes() + replay.waiting_bytes;
        let ahead = replay.timeline.iter().take_while(|p| p.at.stage < start);
        let count = ahead.count();
        let (forward, backward) = replay.timeline.split_at(count);
        let most = |points: &[simulate::TimelinePoint]| {
            let bytes = points.iter().map(|point| point.bytes);
            bytes.max().map_or(0, |bytes| bytes - beside)
        };
        let cost = forward.last().map_or(0, |point| point.cost);
        Ok(StageProfile {
            forward: cost,
            backward: replay.cost - cost,
            saved_bytes: replay.saved_bytes,
            forward_bytes: most(forward),
            backward_bytes: most(backward),
        })
    }
}
