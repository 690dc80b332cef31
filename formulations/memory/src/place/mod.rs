//! Addresses of buffers with given lives: dynamic storage allocation, with proven bounds.
//!
//! [`place`](place()) finds a placement of least height, or one within a capacity. Its outcome has
//! the offsets, their replayed height, a lower bound on the height of every placement, and a
//! certificate of the bound, which `remat_check::place` checks. `docs/theory/place.md` describes
//! the method.
//!
//! | module | concept |
//! |---|---|
//! | `front` | [`place`](place()): parts one after another, the replay, the status |
//! | `settings`, `outcome` | [`PlaceSettings`], [`PlaceOutcome`] |
//! | `plan` | [`place_plan`]: all memory of a plan |
//! | `baselines` | [`PlaceBaseline`]: known ways without a bound |
//! | `parts` | lives split in time, buffers on the floor |
//! | `problem` | buffers in units, over sections |
//! | `bound` | bounds without a search, heights that are sums of sizes |
//! | `least` | the least height of a part |
//! | `fit`, `orders`, `local` | first fit and best fit, orders, local search over orders |
//! | `sweep` | very many buffers, valley by valley |
//! | `forest` | first fit of very many buffers |
//! | `evict` | lower placements of many buffers by evictions |
//! | `search` | whether buffers fit into a height: the exact search |
//! | `windows` | the same for buffers with parts that stay in use in gaps |
//! | `proof` | refutations that are written down |

mod baselines;
mod bound;
mod evict;
mod fit;
mod forest;
mod front;
mod least;
mod local;
mod orders;
mod outcome;
mod parts;
mod plan;
mod problem;
mod proof;
mod search;
mod settings;
mod sweep;
mod windows;

pub use baselines::PlaceBaseline;
pub use front::place;
pub use outcome::{PlaceError, PlaceOutcome, PlaceStatus};
pub use plan::check_alignment;
pub use plan::{ALIGNMENT_LIMIT, PlacePlanError, PlacedPlan, place_plan, place_plan_within};
pub use settings::PlaceSettings;
