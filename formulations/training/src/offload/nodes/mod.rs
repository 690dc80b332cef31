//! Plans that copy to the host, on the nodes of any graph.
//!
//! A plan with copies is a plan without them under a larger budget, some of whose values are away
//! in the gaps between their readers. So three things are found one after the other: a schedule for
//! the budget and a share of what a link can carry ([`Envelope`]), the gaps in which its values are
//! away (annealing), and the place of every copy (a clock, forwards for copies to the host and
//! backwards for those back). The whole envelope gives a bound on the makespan of every plan.
//!
//! | module | concept |
//! |---|---|
//! | `envelope` | what only the host may have at each moment, built into an instance: the bound |
//! | `sequence` | computations in their order, and gaps between readers |
//! | `clock` | copies put into place for a choice of gaps |
//! | `choose` | the choice of gaps |
//! | `emit` | the statements |
//! | `fractions` | the known strategy of shares of layers |
//! | `front`, `linked` | the front door, and the same as a formulation |

mod choose;
mod clock;
mod emit;
mod envelope;
mod fractions;
mod front;
mod linked;
mod outcome;
mod sequence;
mod settings;
mod stages;

pub use envelope::Envelope;
pub use fractions::{FractionsError, layer_fractions};
pub use front::Offload;
pub use linked::Linked;
pub use outcome::{Offloaded, STAGE_SCHEDULES_WITH_CONTINUOUS_COPIES, STAGE_SCHEDULES_WITH_COPIES};
pub use settings::OffloadTuning;
