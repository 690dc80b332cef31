//! OLLA's programs (arXiv 2210.12924; MODeL, ICML 2023): orders of operators, addresses of tensors,
//! and both together, as published.
//!
//! [`crate::order`] and [`crate::place`](mod@crate::place) solve the same problems without these
//! programs. This module writes the programs for other solvers, and recognises them in models of
//! unknown origin. `docs/theory/olla.md` has columns and rows.
//!
//! | module | concept |
//! |---|---|
//! | `flow` | the graph as the programs see it; time steps and windows of operators |
//! | `lives` | columns and rows for the tensors in memory at each step: (1) to (5), (10) to (12) |
//! | `addresses` | columns and rows of addresses: (7), (8) |
//! | `order_program` | [`OrderProgram`]: (14) |
//! | `place_program` | [`PlaceProgram`]: (15) |
//! | `joint_program` | [`JointProgram`]: (9) |
//! | `pack` | steps for operators if several share one |
//! | `recognise` | the programs in models of unknown origin |

mod addresses;
mod flow;
mod joint_program;
mod lives;
mod order_program;
mod pack;
mod place_program;
pub mod recognise;

pub use flow::Steps;
pub use joint_program::JointProgram;
pub use order_program::OrderProgram;
pub use place_program::PlaceProgram;

use remat_instances::order::OrderCycle;
use remat_instances::place::LivesError;

/// Largest sum of sizes: coefficients and sums of them are exact numbers.
const TOTAL_LIMIT: u64 = 1 << 53;

/// Reason why there is no program.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProgramError {
    /// The edges of the variant form a cycle.
    #[error(transparent)]
    Cycle(#[from] OrderCycle),
    /// A path has more operators than there are steps.
    #[error("{steps} time steps: the longest path has {longest} operators; give at least as many")]
    Steps {
        /// Requested steps.
        steps: u32,
        /// Operators on the longest path.
        longest: u32,
    },
    /// The program has too many columns to be built.
    #[error(
        "the program has {columns} columns or more, too many to be built; give fewer time steps"
    )]
    TooLarge {
        /// Number of columns.
        columns: usize,
    },
    /// Sizes add up to more than exact numbers hold.
    #[error("sizes add up to {bytes} bytes; {TOTAL_LIMIT} is the most that a program can state")]
    Bytes {
        /// Sum of the sizes in bytes.
        bytes: u64,
    },
    /// A buffer stays in use in part in a gap of its life.
    #[error(
        "buffer {buffer:?} stays in use in part in a gap; the program states whole buffers only"
    )]
    Window {
        /// Its name.
        buffer: String,
    },
    /// Sizes are beyond all addresses.
    #[error(transparent)]
    Lives(#[from] LivesError),
    /// The model is invalid, which is a defect of this program.
    #[error("the program is no model: {0}; please report this")]
    Model(String),
}

/// The sum of all sizes in bytes, if exact numbers hold it.
fn exact_total(flow: &flow::Flow) -> Result<u64, ProgramError> {
    let bytes = flow.sizes().fold(0, u64::saturating_add);
    match bytes.saturating_add(flow.base_bytes) <= TOTAL_LIMIT {
        true => Ok(bytes),
        false => Err(ProgramError::Bytes { bytes }),
    }
}
