//! Proofs of bounds (`remat-proof/2`), checked in integers.
//!
//! A proof states that every schedule of an instance within a budget costs at least so much, or
//! that no schedule fits. It consists of rows that hold at every schedule, and of a tree whose
//! nodes have multipliers for rows. `docs/theory/proof.md` states the format. `docs/theory/proof/`
//! has a theorem for each check.
//!
//! This module shares no code with the solver. A module uses only modules above it in this table.
//!
//! | module | concept |
//! |---|---|
//! | `text` | lines and words |
//! | `claim` | the head of a proof: program, instance, budget, claim |
//! | `theory` | the trait of a program: rows, lives of tensors, their reading |
//! | `knapsack` | weights of sets that fit |
//! | `link` | the link to host memory that a proof is about |
//! | `tree` | rows and a tree, checked node by node for any theory |
//! | [`checkmate`] | Checkmate's program: its rows, and the lives of tensors |
//! | [`monet`] | MONeT's program: its rows, the lives of tensors, the choices of stages |
//! | [`trips`] | Checkmate's program with copies to the host: its rows, the trips of tensors |
//! | [`envelope`] | plans with copies as plans without, in more memory |
//! | `document` | a proof as it is in its file |

pub mod checkmate;
mod claim;
mod document;
pub mod envelope;
mod knapsack;
mod link;
pub mod monet;
mod text;
mod theory;
mod tree;
pub mod trips;

pub use claim::{Claim, HEADER, HEADER_WITHOUT_PROGRAM, NAME};
pub use document::{Body, Proof, check, parse};
pub use link::LinkTerms;
pub use theory::QuantityBranch;
pub use tree::{Counts, Evidence, Node, Place};
