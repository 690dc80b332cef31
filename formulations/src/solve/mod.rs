//! The front door: from an instance and a budget to a plan and a proven bound.
//!
//! | module | concept |
//! |---|---|
//! | `front`, `extras` | [`Solve`]: what is asked for, and the searches that it needs |
//! | `solution`, `written` | [`Solution`]: the one answer, with the plan as it is written |
//! | `frontier` | [`Frontier`]: one budget after another |
//! | `batch` | [`MaxBatch`]: the largest batch within a budget and a bounded cost |
//! | `compare`, `rows` | [`Baselines`]: the known strategies beside ours, and those that copy |
//! | `linkable` | [`AnySolvable`]: formulations with a link and without, as one type |
//! | `model` | [`solve_model`]: raw linear and integer programs |
//! | `known` | models of which a bound and a point are known before the general search |
//! | `clean` | continuous values of a solution without the noise of the search |
//! | `formulation`, `any` | [`Formulation`]: what the search must know of a program; the one that suits an instance |
//! | `settings`, `listener`, `outcome`, `proof` | what goes in and comes out |
//! | `search` | the search itself, the same for every formulation |
//! | `watch` | the time that a solve has, and whoever may end it |
//! | `ticker` | a thread beside a piece of work, and panics that end both |

/// Bytes of stack of the threads on which doors to other languages solve: those of a main thread.
pub const STACK_BYTES: usize = 8 << 20;

mod any;
mod batch;
mod clean;
mod compare;
mod extras;
mod formulation;
mod front;
mod frontier;
mod known;
mod linkable;
mod listener;
mod model;
mod outcome;
mod proof;
mod rows;
mod search;
mod settings;
mod solution;
mod ticker;
mod watch;
mod written;

pub use any::AnyFormulation;
pub use batch::{Answer, Largest, MaxBatch, ask_baseline, ask_compared, cost_cap};
pub use compare::{Baselines, Compared};
pub use formulation::{Formulation, Heuristic, Problem, Solvable, Start};
pub use front::Solve;
pub use frontier::{Frontier, FrontierPoint};
pub use linkable::{AnyPlan, AnySolvable};
pub use listener::{Listener, Progress, Unheard, Watching};
pub(crate) use model::setting;
pub use model::{
    Answered, Linear, LinearSettings, ModelSettings, RecognisedAs, solve_integer, solve_linear,
    solve_model,
};
pub(crate) use ticker::{StopOnPanic, ticking};

pub(crate) use outcome::relative_gap;
pub use outcome::{Outcome, SolveError, Status};
pub use proof::BoundProof;
pub use settings::{Effort, Settings};
pub use solution::{CopyChoice, OrderChoice, Solution};
pub use watch::Watch;
pub use written::{NoPlan, Planned, Written, planned};
