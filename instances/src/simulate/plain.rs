//! Replay of the step without recomputation.

use super::{Replay, ReplayError};
use crate::instance::Instance;
use crate::plain::Plain;
use crate::schedule::{CheckmateSchedule, Schedule};
use crate::semantics::Semantics;

impl Plain<'_> {
    /// The step as a schedule.
    ///
    /// # Errors
    /// [`ReplayError::NoLoss`] for an instance without a loss under MONeT's semantics.
    pub fn schedule(&self) -> Result<Schedule, ReplayError> {
        match self.semantics.has_stage_for_each_node() {
            true => Ok(CheckmateSchedule::checkpoint_all(self.instance).into()),
            false => Ok(self.monet_schedule().ok_or(ReplayError::NoLoss)?.into()),
        }
    }
}

impl Instance {
    /// The schedule without recomputation ([`Plain`]).
    ///
    /// # Errors
    /// [`ReplayError::NoLoss`] for an instance without a loss under MONeT's semantics.
    pub fn without_recomputation(&self, semantics: Semantics) -> Result<Schedule, ReplayError> {
        Plain::of(self, semantics).schedule()
    }

    /// Replays that schedule; budgets in percent refer to its peak.
    ///
    /// # Errors
    /// The errors of [`Instance::without_recomputation`].
    pub fn plain_replay(&self, semantics: Semantics) -> Result<Replay, ReplayError> {
        self.without_recomputation(semantics)?.replay(self)
    }
}
