//! Checkmate's integer program (Jain et al., MLSys 2020, section 4): the forms that are solved, and
//! the inequalities that close their gap.
//!
//! | module | concept |
//! |---|---|
//! | [`graph`] | what the program sees of an instance: costs, sizes, readers, lifetimes, capacity |
//! | [`CheckmateFormulation`] | what the search must know of it |
//! | [`Gauge`] | memory as it is, and rounded so that relaxations cannot use what no schedule can |
//! | [`original`] | the program as it was published, for comparison with other solvers |
//! | [`recognise`](recognise()) | the published program in a model from any file, by its structure |
//! | [`interval`] | the interval form: columns priced over the whole space, rows and cuts lazily, safe bounds |
//! | [`rounding`] | the relaxation, rounded |
//! | `large` | plans and bounds of graphs that are too large to be searched |
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

pub use formulation::{CheckmateFormulation, CheckmateProblem};
pub use gauge::Gauge;
pub use graph::CheckmateGraph;
pub(crate) use recognise::{Inequality, Reduced, recognise_beside, reduce};
pub use recognise::{RecognisedCheckmate, recognise};
pub(crate) use starts::fitting_baselines;
