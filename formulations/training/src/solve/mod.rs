//! Front door: from an instance and a budget to a plan and a proven bound.
//!
//! | module | concept |
//! |---|---|
//! | `front`, `extras` | [`Solve`]: the request, and the searches that it needs |
//! | `near` | short runs for slightly less memory, near the least budget |
//! | `solution` | [`Solution`]: the one answer |
//! | `frontier` | [`Frontier`]: one budget after another |
//! | `batch` | [`MaxBatch`]: the largest batch within a budget and a bounded cost |
//! | `least` | [`LeastBudget`]: the least budget for which a plan is known |
//! | `idle` | idle stages near the least budget |
//! | `compare`, `rows` | [`Baselines`]: known strategies for comparison, with and without copies |
//! | `linkable` | [`AnySolvable`]: formulations with and without a link, as one type |

mod batch;
mod compare;
mod extras;
mod front;
mod frontier;
mod idle;
mod least;
mod linkable;
mod near;
mod prices;
mod rows;
mod solution;

pub use batch::{Answer, Largest, MaxBatch, ask_baseline, ask_compared, cost_cap};
pub use compare::{Baselines, Compared};
pub use front::Solve;
pub use frontier::{Frontier, FrontierPoint};
pub use least::LeastBudget;
pub use linkable::{AnyPlan, AnySolvable};
pub use prices::{MomentPrice, PRICE_LIMIT, Priced, byte_prices, byte_prices_of};
pub use solution::{CopyChoice, FreePlans, Solution};
