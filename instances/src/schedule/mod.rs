//! Schedules: which node is computed, and which tensor is kept, in which stage.

mod bits;
mod json;
mod monet;

pub use bits::BitMatrix;
pub use json::{Schedule, ScheduleDocument, ScheduleFile, write_schedule};
pub use monet::MonetSchedule;

use crate::instance::{Implementation, Instance, NodeId};

/// The program whose memory and cost semantics a schedule or plan was made for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Semantics {
    /// Fixed memory is that of the whole run ([`crate::Instance::static_bytes`]) throughout; every
    /// computation is the node's first implementation; every node runs, by-products too.
    Checkmate,
    /// Fixed memory grows with the frontier: `fixed_bytes` of the node computed last for the first
    /// time. By-products run only where wanted.
    Monet,
}

impl Semantics {
    /// The name as in files and on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Semantics::Checkmate => "checkmate",
            Semantics::Monet => "monet",
        }
    }
}

/// A name that no semantics have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} names no semantics: write checkmate or monet")]
pub struct UnknownSemantics(pub String);

impl std::str::FromStr for Semantics {
    type Err = UnknownSemantics;

    fn from_str(name: &str) -> Result<Self, UnknownSemantics> {
        let all = [Semantics::Checkmate, Semantics::Monet];
        let named = all.into_iter().find(|s| s.as_str() == name);
        named.ok_or_else(|| UnknownSemantics(name.into()))
    }
}

/// Prefix of the names of convolution algorithms in published instances; the published number
/// follows.
pub(crate) const ALGORITHM_PREFIX: &str = "algo";

/// The published number of a convolution algorithm: 3 for an implementation named `algo3`.
pub fn algorithm_number(implementation: &Implementation) -> Option<u64> {
    let number = implementation.name.strip_prefix(ALGORITHM_PREFIX)?;
    number.parse().ok()
}

/// A schedule of Checkmate's program (Jain et al., MLSys 2020, section 4): `n` stages over `n`
/// nodes.
///
/// Stage `t` is the stretch that computes node `t` for the first time (frontier-advancing).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckmateSchedule {
    /// `R[t, i]`: node `i` is computed in stage `t`. Shape `n x n`.
    pub computed: BitMatrix,
    /// `S[t, i]`: the output of node `i` is in memory when stage `t` starts. Shape `n x n`.
    pub retained: BitMatrix,
}

impl CheckmateSchedule {
    /// The schedule that computes each node once and keeps each tensor until its last use.
    pub fn checkpoint_all(instance: &Instance) -> Self {
        let n = instance.len();
        let mut retained = BitMatrix::new(n, n);
        for i in instance.ids() {
            if let Some(last) = instance.users(i).last() {
                for t in i.index() + 1..=last.index() {
                    retained.set(t, i.index(), true);
                }
            }
        }
        Self::cheapest(instance, retained)
    }

    /// The cheapest computations for given retained sets: per stage, the node of the stage, what
    /// the next stage retains and this one does not hold, and, backwards, every input that is not
    /// held.
    ///
    /// This is "min-R" (Checkmate section 5.1.1): optimal for the given `retained`, in O(n) bit
    /// operations a stage. `retained[t, i]` with `i >= t` is dropped first: such a tensor does not
    /// exist yet.
    pub fn cheapest(instance: &Instance, mut retained: BitMatrix) -> Self {
        let n = instance.len();
        let mut computed = BitMatrix::new(n, n);
        for t in 0..n {
            retained.clear_from(t, t);
        }
        for t in 0..n {
            computed.set(t, t, true);
            if t + 1 < n {
                for w in 0..computed.words_per_row() {
                    let missing = retained.row(t + 1)[w] & !retained.row(t)[w];
                    computed.row_mut(t)[w] |= missing;
                }
            }
            for k in (0..=t).rev() {
                if computed.get(t, k) {
                    for need in instance.needs(NodeId::from(k)) {
                        if !retained.get(t, need.index()) {
                            computed.set(t, need.index(), true);
                        }
                    }
                }
            }
        }
        CheckmateSchedule { computed, retained }
    }

    /// Number of computations beyond the first of each node.
    pub fn recomputations(&self) -> usize {
        self.computed.count_ones() - self.computed.rows()
    }
}
