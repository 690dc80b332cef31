//! The order of a training graph with least peak memory, proven.
//!
//! [`OrderSearch`] is the entry point: greedy orders, bounds by minimum cuts, and a level search
//! over executed sets that has a proven bound at all times. `docs/theory/order.md` has semantics,
//! theory and figures.
//!
//! | module | concept |
//! |---|---|
//! | `search` | [`OrderSearch`]: the ladder from rules and bounds to proofs |
//! | `alternatives` | other orders within the same peak, for the search for addresses |
//! | `settings`, `outcome` | inputs and outputs of a search |
//! | `baselines` | [`OrderBaselines`]: every rule's order, replayed; [`OrderBounds`] |
//! | `greedy` | [`Rule`]: the orders that frameworks use |
//! | `side`, `reach`, `bits` | the problem read from either end; transitive precedence |
//! | `bounds`, `cut`, `valley` | forced lives, node cuts, least memory between two sets |
//! | `precedence`, `refutations` | bounds by the precedence that a level implies |
//! | `lazy`, `block` | operators that can wait, and the operators that wait for them |
//! | `level`, `states` | the level search |
//! | `ends`, `lanes`, `windows`, `beam` | searches from both ends and of parts, side by side |
//! | `olla` | [`Olla`]: levels, control edges and overlaps as OLLA's program has them |
//! | `proof` | [`OrderProof`]: certificates for `remat_check::order` |

mod alternatives;
mod baselines;
mod beam;
mod bits;
mod block;
mod bounds;
mod cut;
mod ends;
mod greedy;
mod lanes;
mod lazy;
mod level;
mod olla;
mod outcome;
mod precedence;
mod proof;
mod reach;
mod refutations;
mod search;
mod settings;
mod side;
mod states;
#[cfg(test)]
mod tests;
mod valley;
mod windows;

pub use baselines::{OrderBaseline, OrderBaselines, OrderBounds};
pub use greedy::Rule;
pub use olla::Olla;
pub use outcome::{BoundKind, FoundBy, OrderOutcome};
pub use proof::OrderProof;
pub use search::{OrderSearch, OrderSearchError};
pub use settings::{OrderSettings, OrderTuning};
