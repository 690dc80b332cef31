//! Addresses of buffers with given lives: dynamic storage allocation, with proven bounds.
//!
//! [`place`](place()) finds a placement of least height, or one within a capacity.

mod bound;
mod fit;
mod front;
mod least;
mod local;
mod orders;
mod outcome;
mod parts;
mod problem;
mod proof;
mod search;
mod settings;
mod sweep;

pub use front::place;
pub use outcome::{PlaceError, PlaceOutcome, PlaceStatus};
pub use settings::PlaceSettings;
