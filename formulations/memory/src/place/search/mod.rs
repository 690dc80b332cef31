//! Exact search that decides whether buffers fit into a height.
//!
//! | module | concept |
//! |---|---|
//! | `state` | placed buffers, the floors of the sections, and contradictions |
//! | `run` | one depth-first search |
//! | `rank` | order in which a search tries buffers |
//! | `lanes` | searches of several kinds in turns, on several threads |
//! | `stop` | interrupts and time limits |

mod lanes;
mod rank;
mod run;
mod state;
mod stop;

pub(super) use lanes::{HeightLanes, LaneTuning};
pub(super) use rank::{Measure, Preference};
pub(super) use run::{Branching, HeightSearch, Verdict, WASTE};
pub(super) use state::Ground;
pub(super) use stop::LaneStop;
