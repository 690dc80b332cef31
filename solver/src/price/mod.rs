//! Branch, price and cut for programs with too many columns and rows to list.
//!
//! A [`Program`] defines its columns and rows. A restricted master ([`Master`]) holds some of both.
//! A relaxation adds violated rows and columns that pay until there are no more, then cuts, and
//! repeats ([`Root`]). A tree branches on integer quantities that are linear in the columns
//! ([`search`]). Every bound is a Lagrangian bound over *all* columns, in integers
//! ([`Pricing::lagrangian_bound`]), so it is safe before convergence and in spite of the LP
//! solver's rounding.
//!
//! | module | concept |
//! |---|---|
//! | `program` | interface of a program, in traits split by reader |
//! | `branching` | integer quantities to branch on |
//! | `master` | some columns, some rows, and the LP solver that holds them |
//! | `relaxation` | rows, columns and cuts at one node |
//! | `root`, `tree` | the first node, and the search below it |
//! | `incumbents` | best cost, best bound, and data shared by the searches |
//! | `rounding`, `solve` | solutions near points, and one call to solve a program |
//! | `priced`, `fixed_point` | the outcome of pricing, and the numbers used by pricing and proofs |
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
