//! The interface between the search and programs for rematerialization, and the search itself,
//! which is the same for all of them.
//!
//! | module | concept |
//! |---|---|
//! | `formulation` | [`Formulation`]: from an instance and a budget to a [`Problem`] |
//! | `settings`, `listener`, `outcome`, `proof` | input and output of a solve |
//! | `search` | the root beside the annealing, then the tree |
//! | [`anneal`] | annealing over retained sets, for any landscape |
//! | `watch`, `patience` | the time of a solve, and its interrupts |
//! | `ticker` | a thread beside a piece of work, and panics that end both |
//! | [`recognise`] | common parts of published programs recognised in models of unknown origin |
//! | [`random`] | pseudorandom numbers, the same on every machine |
#![deny(missing_docs)]
#![forbid(unsafe_code)]

pub mod anneal;
mod formulation;
mod listener;
mod outcome;
mod patience;
mod proof;
pub mod random;
pub mod recognise;
mod search;
mod settings;
mod ticker;
mod watch;

pub use formulation::{Formulation, Heuristic, Problem, Solvable, Start};
pub use listener::{Listener, Progress, Unheard, Watching};
pub use outcome::{
    ALL_PLANS, Outcome, PLANS_IN_THIS_ORDER, STAGE_SCHEDULES, SolveError, Status, WiderBound,
    relative_gap,
};
pub use patience::Patience;
pub use proof::{BoundProof, BytePrice};
pub use settings::{Effort, Scope, Settings};
pub use ticker::{StopOnPanic, ticking};
pub use watch::Watch;

/// Bytes of stack of the threads on which bindings to other languages solve: the size of a main
/// thread's stack.
pub const STACK_BYTES: usize = 8 << 20;
