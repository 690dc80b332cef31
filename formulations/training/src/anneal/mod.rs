//! Annealing of Checkmate's schedules: moves of retained sets, with incremental evaluation of stages.

mod graph;
mod landscape;
mod moves;
mod sparse;
mod stage;
mod state;
#[cfg(test)]
mod tests;

pub use graph::CheckmateLandscape;
pub use landscape::CheckmateWalk;
pub use sparse::{Stretched, improve, seek};
pub(crate) use stage::{CheckmateStageScratch, evaluate};
pub use state::CheckmateState;
