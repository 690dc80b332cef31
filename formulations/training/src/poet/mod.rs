//! POET's program (Patil et al., ICML 2022): Checkmate's, with pages to secondary storage, and with
//! energy or any other cost as its objective.
//!
//! Beside `R`, `SRam`, `FREE` and `U` of Checkmate's program it has, for all stages `t` and tensors
//! `i`, binary `SSd[t,i]` (in secondary storage when the stage starts), `MOut[t,i]` (paged out in
//! it) and `MIn[t,i]` (paged in). Minimise `sum c_i R[t,i] + out_i MOut[t,i] + back_i MIn[t,i]`
//! subject to
//!
//! ```text
//! SRam[t+1,i] <= SRam[t,i] + R[t,i] + MIn[t,i]          SSd[t+1,i] <= SSd[t,i] + MOut[t,i]
//! MIn[t,i]    <= SSd[t,i]                               MOut[t,i]  <= SRam[t,i]
//! ```
//!
//! in place of Checkmate's `S[t+1,i] <= S[t,i] + R[t,i]`, and all its other rows. So
//!
//! - a tensor in secondary storage stays there for good, and takes no room that counts;
//! - it is paged out where it is in memory at the start of a stage, and may be paged in from the
//!   next but one stage on;
//! - what is paged in in a stage takes memory from the start of the next one on, and cannot be read
//!   before;
//! - `FREE` knows nothing of pages: what the next stage retains is not freed in this one, so a page
//!   in of what is still there is of no use.
//!
//! Its row `sum time_i R[t,i] <= limit` is a further row ([`recognise()`]).
//!
//! With `R`, `SRam` and the tensors that are paged out at all, page-ins follow: what is retained,
//! and neither held nor computed in the stage before, is paged in.
//!
//! | module | concept |
//! |---|---|
//! | `instance` | a training graph with costs of pages |
//! | `schedule` | schedules from what they retain and store |
//! | `landscape` | what is annealed |
//! | `trips` | schedules as columns of the interval form ([`interval`](crate::offload::interval)) |
//! | `formulation` | the program as the search sees it |
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
