//! Annealing of large graphs, stretch by stretch. Memory is linear in the graph, and a move costs
//! no more on a large graph than on a small one.
//!
//! | file | concept |
//! |---|---|
//! | `peaks` | peaks of all stages, in blocks |
//! | `stage` | evaluation of one stage |
//! | `state` | retained sets as runs, with costs and peaks of stages |
//! | `seek` | first sets that fit |
//! | `stretch` | tensors that are annealed while all others stay |
//! | `rounds` | rounds of runs over stretches side by side |

mod peaks;
mod rounds;
mod seek;
mod stage;
mod state;
mod stretch;

pub use rounds::{Stretched, improve};
pub use seek::seek;
