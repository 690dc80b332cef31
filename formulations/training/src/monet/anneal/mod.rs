//! The primal heuristic of MONeT's program: simulated annealing over the retained sets, as for
//! Checkmate's.
//!
//! The retained sets `S` are the whole state. For given sets each stage can be completed optimally
//! by itself ([`evaluate`]). It has the fewest computations, and the cheapest variant of the
//! backward node, implementations and in-place steps that fit. So a move keeps or drops one tensor
//! over a range of stages, and its effect on each stage is computed exactly.

mod graph;
mod moves;
mod stage;
mod state;
mod walk;

pub use graph::{EventWay, InPlaceWay, MonetLandscape, MonetStage, Variant, Ways};
pub use moves::MonetProposer;
pub use stage::{
    MonetStageScratch, MonetStageValue, StageRecord, evaluate, evaluate_and_note, record,
};
pub use state::MonetState;
pub use walk::MonetWalk;
