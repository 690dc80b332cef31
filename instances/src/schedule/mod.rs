//! Schedules: the nodes computed and the tensors kept in each stage.

mod any;
mod bits;
mod choices;
mod demand;
mod json;
mod monet;
mod poet;
mod runs;

pub use any::Schedule;
pub use bits::BitMatrix;
pub use choices::Choices;
pub use demand::Demands;
pub use json::{ScheduleDocument, ScheduleFile, write_schedule};
pub use monet::MonetSchedule;
pub use poet::{FreedAgain, PageCosts, PoetSchedule, PoetTerms};
pub use runs::{Changes, RowLists, StageRuns};

use crate::instance::{Implementation, Instance};

/// Prefix of the names of convolution algorithms in published instances, followed by the published
/// number.
pub const ALGORITHM_PREFIX: &str = "algo";

/// The published number of a convolution algorithm: 3 for an implementation named `algo3`.
pub fn algorithm_number(implementation: &Implementation) -> Option<u64> {
    let number = implementation.name.strip_prefix(ALGORITHM_PREFIX)?;
    number.parse().ok()
}

/// A schedule of Checkmate's program (Jain et al., MLSys 2020, section 4): `n` stages over `n`
/// nodes.
///
/// Stage `t` ends with the first computation of node `t` (frontier-advancing).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckmateSchedule {
    /// `R[t, i]`: node `i` is computed in stage `t`. Shape `n x n`.
    pub computed: StageRuns,
    /// `S[t, i]`: the output of node `i` is in memory when stage `t` starts. Shape `n x n`.
    pub retained: StageRuns,
}

impl CheckmateSchedule {
    /// The schedule that computes each node once and keeps each tensor until its last use.
    pub fn checkpoint_all(instance: &Instance) -> Self {
        let n = instance.len();
        let mut retained = StageRuns::new(n, n);
        for i in instance.ids() {
            if let Some(last) = instance.users(i).last() {
                retained.fill(i.index(), i.index() + 1, last.index());
            }
        }
        Self::cheapest(instance, retained)
    }

    /// Number of computations beyond the first of each node.
    pub fn recomputations(&self) -> usize {
        self.computed.count_ones() - self.computed.rows()
    }
}
