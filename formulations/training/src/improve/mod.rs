//! Better orders for the steps of a plan.
//!
//! A plan is a list of computations, some of a node that ran before. Each is an operator, each
//! value a tensor, and the order with the least peak is a problem of [`remat_memory::order`]. Memory that
//! a better order leaves free takes values that were computed again: recomputations go, the dearest
//! first, as long as the rest fits. The simulator judges every step, and what comes out is never
//! worse than what went in.
//!
//! | module | concept |
//! |---|---|
//! | `front` | [`Improve`] and [`Improved`] |
//! | `graph` | the computations of a plan as operators |

mod front;
mod graph;

pub use front::{Improve, ImproveError, ImproveTuning, Improved};
pub(crate) use graph::RunGraph;
