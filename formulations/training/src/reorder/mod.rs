//! Orders of first computations, searched for a budget.
//!
//! Stage schedules compute nodes for the first time in the order of the instance. On graphs that
//! leave a choice another order may make a budget much cheaper, and that of the least peak without
//! recomputation need not be the best one. [`Reorder`] searches orders with the solver as the
//! judge. The plan that comes out is one of the instance that was given: `docs/theory/search.md`.
//!
//! | module | concept |
//! |---|---|
//! | `front`, `outcome` | [`Reorder`] and [`Reordered`] |
//! | `walk` | the walk from order to order |
//! | `moves` | neighbours of an order |
//! | `peak` | orders to begin with |
//! | `judge` | the cost of an order, by annealing |
//! | `carry` | retained sets of one order for another |
//! | `stages` | one listener for all solves |
//! | `settings` | [`ReorderTuning`] |

mod carry;
mod front;
mod judge;
mod moves;
mod outcome;
mod peak;
mod settings;
mod stages;
mod walk;

pub use front::Reorder;
pub use outcome::{ALL_PLANS, OrderChoice, Reordered, STAGE_SCHEDULES_IN_THIS_ORDER};
pub use settings::ReorderTuning;
