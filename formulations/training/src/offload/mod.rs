//! Recomputation and offloading together: activations may leave for the host and come back.
//!
//! | module | concept |
//! |---|---|
//! | [`chain`] | chains of stages by dynamic programming (POFO), and what is compared with it |
//! | [`nodes`] | any graph: plans, and a bound from what a link can carry |
//! | [`interval`] | any graph: the bound of a program whose columns are trips |
//! | [`exact`] | small graphs by a search over states of the machine, proven |

pub mod chain;
pub mod exact;
pub mod interval;
pub mod nodes;
mod phase;

pub use chain::Release;
pub use phase::CopyPhase;
