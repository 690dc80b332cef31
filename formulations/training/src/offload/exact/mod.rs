//! Graphs with a link to the host, exactly: a search over states of the machine.
//!
//! A state is what stands on the device and on the host between two statements of a plan, with the
//! clock of computations and the ends of the copies under way. Of two labels of one state the one
//! with clocks no later dominates. Labels are taken by the least time at which a plan through them
//! may end, so that the first one at the end is optimal, and the next one in the queue is a bound
//! at any time. `docs/theory/offload.md` explains it.
//!
//! Plans are those in which nodes run first in the order of the instance, and nodes that run again
//! between two of these do so in node order, each at most once (Checkmate's stages); copies at any
//! time.
//!
//! | module | concept |
//! |---|---|
//! | `settings`, `outcome` | what goes in and comes out |
//! | `set`, `subsets` | sets of nodes, and smallest ones that free enough memory |
//! | `problem` | the instance as the search reads it |
//! | `label`, `store` | states with clocks, and those that none dominates |
//! | `moves` | what may come after a state |
//! | `bound`, `floors` | least time from a state to the end; time that memory costs in any plan |
//! | `search` | the queue |
//! | `emit` | a plan from the labels on its way |

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
