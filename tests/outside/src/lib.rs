//! A program from outside: *keep or recompute*, solved by the front door through public interfaces.
//!
//! Each tensor of the forward pass is either kept until the backward pass, which takes its bytes
//! all the time, or recomputed, which takes its cost. Tensors without inputs are always kept. The
//! program is therefore a knapsack: simple enough for brute force, and a template for other
//! programs.
//!
//! | module | concept |
//! |---|---|
//! | `formulation` | [`KeepOrRecompute`]: from a budget to a problem, the judge, the proof |
//! | `knapsack` | [`Knapsack`]: the tensors and the room for them |
//! | `program` | columns, rows, prices and branchings of the bound |
//! | `landscape` | the landscape of the annealing |
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
