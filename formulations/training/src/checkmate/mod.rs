//! Checkmate's integer program (Jain et al., MLSys 2020, section 4): the forms that are solved, and
//! the inequalities that close their gap.
//!
//! | module | concept |
//! |---|---|
//! | [`graph`] | the program's view of an instance: costs, sizes, readers, lifetimes, capacity |
//! | [`CheckmateFormulation`] | the program's interface to the search |
//! | [`Gauge`] | memory: exact, or rounded so that relaxations gain no unusable bytes |
//! | [`original`] | the program as it was published, for comparison with other solvers |
//! | [`recognise`](recognise()) | finds the published program in a model file, by its structure |
//! | [`interval`] | the interval form: columns by pricing, lazy rows and cuts, safe bounds |
//! | [`rounding`] | the relaxation, rounded |
//! | `large` | plans and bounds of graphs that are too large for a search |
//! | `carry` | rows and columns carried over from a few equal layers to many |
//! | [`path_cuts`] | path cuts and path memory cuts, and their separation |
//!
//! Every form here has the integer optima of the published program.

mod carry;
mod formulation;
mod gauge;
pub mod graph;
pub mod interval;
mod large;
pub mod original;
pub mod path_cuts;
mod recognise;
pub mod rounding;
mod starts;

pub(crate) use formulation::start_of;
pub use formulation::{CheckmateFormulation, CheckmateProblem};
pub use gauge::Gauge;
pub use graph::CheckmateGraph;
pub(crate) use graph::last_stages;
pub(crate) use recognise::{Inequality, Reduced, recognise_beside, reduce};
pub use recognise::{RecognisedCheckmate, recognise};
pub(crate) use starts::fitting_baselines;
