//! Better orders for the steps of a plan.
//!
//! A plan is a list of computations, some of which recompute a node. Each computation is an
//! operator and each value a tensor; finding the order with the least peak is a problem of
//! [`remat_memory::order`]. The memory that a better order frees can hold values that were
//! recomputed: recomputations are removed, the most expensive first, as long as the rest fits. The
//! simulator checks every step, so the resulting plan is never worse than the given one.
//!
//! | module | concept |
//! |---|---|
//! | `front` | [`Improve`] and [`Improved`] |
//! | `graph` | the computations of a plan as operators |
//! | `copies` | plans that copy to the host, statement by statement |

mod copies;
mod front;
mod graph;

pub use front::{Improve, ImproveError, ImproveTuning, Improved};
pub(crate) use graph::RunGraph;
