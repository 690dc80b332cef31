//! POET's program (Patil et al., ICML 2022): Checkmate's program with pages to secondary storage,
//! and with energy or any other cost as its objective.
//!
//! It has the columns `R`, `SRam`, `FREE` and `U` of Checkmate's program. For all stages `t` and
//! tensors `i` it adds binary `SSd[t,i]` (in secondary storage when the stage starts), `MOut[t,i]`
//! (paged out in the stage) and `MIn[t,i]` (paged in). Minimise
//! `sum c_i R[t,i] + out_i MOut[t,i] + back_i MIn[t,i]` subject to
//!
//! ```text
//! SRam[t+1,i] <= SRam[t,i] + R[t,i] + MIn[t,i]          SSd[t+1,i] <= SSd[t,i] + MOut[t,i]
//! MIn[t,i]    <= SSd[t,i]                               MOut[t,i]  <= SRam[t,i]
//! ```
//!
//! in place of Checkmate's `S[t+1,i] <= S[t,i] + R[t,i]`, and all its other rows. So
//!
//! - a tensor in secondary storage stays there for ever, and its size there does not count;
//! - a tensor in memory at the start of a stage may be paged out in that stage, and paged in from
//!   the next stage on;
//! - a tensor that is paged in during a stage takes memory, and may be read, from the start of the
//!   next stage on;
//! - `FREE` ignores pages: a tensor that the next stage retains is not freed in this stage. So
//!   paging in a tensor that is still in memory is of no use.
//!
//! Its row `sum time_i R[t,i] <= limit` is a further row ([`recognise()`]).
//!
//! `R`, `SRam` and the set of paged-out tensors determine the page-ins: a tensor that is retained,
//! and neither held nor computed in the stage before, is paged in.
//!
//! | module | concept |
//! |---|---|
//! | `instance` | a training graph with costs of pages |
//! | `schedule` | schedules from their retained and stored tensors |
//! | `landscape` | annealing of the retained and stored tensors |
//! | `trips` | schedules as columns of the interval form ([`interval`](crate::offload::interval)) |
//! | `formulation` | the program for the search |
//! | `recognise` | the program recognised in models of unknown origin |

mod formulation;
mod instance;
mod landscape;
mod recognise;
mod schedule;
mod trips;

pub use formulation::{PoetFormulation, PoetProblem};
pub use instance::{PoetInstance, PoetInstanceError};
pub use landscape::{PoetLandscape, PoetWalk};
pub use recognise::{RecognisedPoet, recognise};
pub use trips::trips;
