//! A program from outside: *keep or recompute*, solved by the front door through public interfaces.
//!
//! Each tensor of the forward pass is kept until the backward pass, which takes its bytes all the
//! time, or computed once more, which takes its cost. What has no inputs is kept in any case. So
//! the program is a knapsack: simple enough for brute force, and a start for one's own.
//!
//! | module | concept |
//! |---|---|
//! | `formulation` | [`KeepOrRecompute`]: from a budget to a problem, the judge, the proof |
//! | `knapsack` | [`Knapsack`]: the tensors and the room for them |
//! | `program` | what is bounded: columns, rows, prices, branchings |
//! | `landscape` | what is annealed |
#![deny(missing_docs)]
#![forbid(unsafe_code)]

mod formulation;
mod knapsack;
mod landscape;
mod program;

pub use formulation::{KeepOrRecompute, KnapsackProblem};
pub use knapsack::Knapsack;
pub use landscape::KnapsackWalk;
pub use program::KnapsackRow;
