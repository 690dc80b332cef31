//! Search for whether buffers fit into a height, exact.
//!
//! | module | concept |
//! |---|---|
//! | `state` | what is placed, the floors of the sections, and contradictions |
//! | `run` | one depth-first search |
//! | `rank` | which buffer a search tries first |
//! | `lanes` | searches of several kinds in turns, on several threads |
//! | `stop` | ends that come from outside |

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
