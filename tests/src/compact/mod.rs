//! Integer programs with every row and column written out: alternative formulations of the problems
//! that the product solves. Tests compare the product with them, and `remat-bench export` writes
//! them for other solvers.
//!
//! | module | program |
//! |---|---|
//! | [`checkmate`] | the retention-edge form of Checkmate's program, memory rows at once or lazily |
//! | [`offload`] | copies to host memory as shares in slots of time |

pub mod checkmate;
pub mod offload;
