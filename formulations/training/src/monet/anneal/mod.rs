//! The primal heuristic of MONeT's program: simulated annealing over the retained sets, as for
//! Checkmate's.
//!
//! The retained sets `S` are the whole state. For given sets each stage can be completed on its
//! own, and at its best: the computations are the fewest, the variant of the backward node, the
//! implementations and the in-place steps are the cheapest that fit ([`evaluate`]). So a move keeps
//! or drops one tensor over a range of stages, and what it changes in each stage is found exactly.

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
