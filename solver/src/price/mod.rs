//! Branch, price and cut: for programs that have far more columns and rows than can be written
//! down.
//!
//! A [`Program`] says what its columns and rows are. A restricted master ([`Master`]) holds some of
//! both; a relaxation adds violated rows and columns that pay until there are none, then cuts, and
//! again ([`Root`]); a tree branches on integer quantities that are linear in the columns
//! ([`search`]). Every bound is a Lagrangian bound over *all* columns, in integers
//! ([`Pricing::lagrangian_bound`]), so it is safe before convergence and whatever the LP solver
//! rounds.
//!
//! | module | concept |
//! |---|---|
//! | `program` | what a program gives, in traits split by reader |
//! | `branching` | integer quantities to branch on |
//! | `master` | some columns, some rows, and the LP solver that holds them |
//! | `relaxation` | rows, columns and cuts at one node |
//! | `root`, `tree` | the first node, and the search below it |
//! | `incumbents` | best cost, best bound, and what those who search hand each other |
//! | `rounding`, `solve` | solutions near points, and one call from a program to its best solution |
//! | `priced`, `fixed_point` | what pricing finds, and the numbers that it and proofs are computed in |
//! | [`cover`] | lifted cover inequalities of a knapsack |

mod branching;
pub mod cover;
mod fixed_point;
mod incumbents;
mod master;
mod priced;
mod program;
mod relaxation;
mod root;
mod rounding;
mod solve;
#[cfg(test)]
mod tests;
mod tree;
mod work;

pub use branching::{Branch, INTEGRALITY_TOLERANCE, Open, fraction, most_promising};
pub use fixed_point::{FIXED_ONE, Number, fixed_duals, most_below, rounded_up, worth};
pub use incumbents::{Incumbents, PrimalHeuristic};
pub use master::Master;
pub use priced::{Candidate, Priced};
pub use program::{
    Branching, Columns, Pricing, Program, RowLimits, RowTraits, Rows, Sense, Separation,
    SeparationSettings,
};
pub use relaxation::{ApproachSettings, RelaxEnd, Tail};
pub use root::{Root, RootBound, RootSettings, RootStart, RootStatus};
pub use rounding::Rounding;
pub use solve::{PriceError, SolveSettings, Solved, solve};
pub use tree::{
    ProvenNode, TreeEnd, TreeOutcome, TreeProof, TreeSettings, Visited, is_far, search,
};
pub use work::Work;
