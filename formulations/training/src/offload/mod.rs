//! Recomputation and offloading together: activations may leave for the host and come back.
//!
//! | module | concept |
//! |---|---|
//! | [`chain`] | chains of stages by dynamic programming (POFO), and its baselines |
//! | [`nodes`] | any graph: plans, and a bound from the link's capacity |
//! | [`interval`] | any graph: the bound of a program whose columns are trips |
//! | [`exact`] | small graphs, solved to proven optimality by a search over states of the machine |

pub mod chain;
pub mod exact;
pub mod interval;
pub mod nodes;
mod phase;

pub use chain::Release;
pub use phase::CopyPhase;
