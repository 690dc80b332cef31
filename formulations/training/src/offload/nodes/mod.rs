//! Plans that copy to the host, on the nodes of any graph.
//!
//! A plan with copies is a plan without copies under a larger budget, in which some values are away
//! in the gaps between their readers. The search therefore finds three things in turn. A solve
//! without copies finds a schedule for the budget plus a share of the bytes that a link can carry
//! ([`Envelope`]). Annealing chooses the gaps in which values are away. A clock places every copy,
//! forwards in time for copies to the host and backwards for copies back. The whole envelope gives
//! a lower bound on the makespan of every plan.
//!
//! | module | concept |
//! |---|---|
//! | `envelope` | bytes that only the host may hold, built into an instance: the bound |
//! | `sequence` | computations in their order, and gaps between readers |
//! | `clock` | placement of the copies for chosen gaps |
//! | `choose` | the choice of gaps |
//! | `emit` | the statements |
//! | `reserves` | computations of a sharded step, with memory left to weights |
//! | `rules` | rules for gathers, as training stacks follow them |
//! | `fractions` | the published strategy that splits layers into shares |
//! | `front`, `linked` | the front door, and the same as a formulation |

mod choose;
mod clock;
mod emit;
mod envelope;
mod fractions;
mod front;
mod linked;
mod outcome;
mod reserves;
mod rules;
mod sequence;
mod settings;
mod stages;

pub use envelope::Envelope;
pub use fractions::{FractionsError, layer_fractions};
pub use front::Offload;
pub use linked::Linked;
pub use outcome::{
    Offloaded, STAGE_SCHEDULES_WITH_CONTINUOUS_COPIES, STAGE_SCHEDULES_WITH_COPIES,
    STAGE_SCHEDULES_WITH_GATHERS,
};
pub use rules::{GATHER_RULES, GatherRule, gather_rules};
pub use settings::OffloadTuning;
