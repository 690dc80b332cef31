//! Exact search for graphs with a link to the host, over states of the machine.
//!
//! A state is the tensors on the device and on the host between two statements of a plan. A label
//! adds the clock of computations and the ends of the copies under way. Of two labels of one state,
//! the label with clocks no later dominates. Labels are expanded by the least time at which a plan
//! through them may end. So the first label that reaches the end is optimal, and the next label in
//! the queue gives a lower bound at any time. `docs/theory/offload.md` explains it.
//!
//! The search covers plans whose first runs follow the order of the instance. Between two first
//! runs, nodes may run again in node order, each at most once (Checkmate's stages). Copies may be
//! made at any time.
//!
//! | module | concept |
//! |---|---|
//! | `settings`, `outcome` | input and output |
//! | `set`, `subsets` | sets of nodes, and minimal sets that free enough memory |
//! | `problem` | the instance as the search reads it |
//! | `label`, `store` | states with clocks, and the undominated ones |
//! | `moves` | the actions that may follow a state |
//! | `bound`, `floors` | least time from a state to the end; time that memory costs in any plan |
//! | `search` | the queue |
//! | `emit` | a plan from the labels on its path |

mod bound;
mod emit;
mod floors;
mod label;
mod moves;
mod outcome;
mod problem;
mod search;
mod set;
mod settings;
mod store;
mod subsets;

pub use outcome::{ExactError, ExactOutcome, ExactPlan, Unfinished};
pub use settings::{ExactSearch, ExactSettings, ExactTuning};
