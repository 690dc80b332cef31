//! Raw linear and integer programs: solved by the general search, or as the published program that
//! they state, and edited and solved again.
//!
//! | module | concept |
//! |---|---|
//! | `model` | [`solve_model`]: raw linear and integer programs |
//! | `known` | models with a known bound and point before the general search |
//! | [`quadratic`] | convex quadratic objectives, with and without integers |
//! | `clean` | continuous values of a solution without the noise of the search |
//! | [`program`] | programs that are edited and solved again, for modelling languages |
#![deny(missing_docs)]
#![forbid(unsafe_code)]

mod clean;
mod known;
mod model;
pub mod program;
pub mod quadratic;

pub use model::{
    Answered, Linear, LinearSettings, ModelSettings, RecognisedAs, solve_integer, solve_linear,
    solve_model,
};
pub(crate) use model::{setting, watched};
