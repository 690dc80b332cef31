//! Orders of first computations, searched for a budget.
//!
//! Stage schedules compute nodes for the first time in the order of the instance. On graphs that
//! allow several orders, another order may be much cheaper within a budget. The order of the least
//! peak without recomputation need not be the best one. [`Reorder`] searches orders and evaluates
//! them by schedules. The resulting plan is a plan of the given instance: `docs/theory/search.md`.
//!
//! | module | concept |
//! |---|---|
//! | `front`, `outcome` | [`Reorder`] and [`Reordered`] |
//! | `early` | updates right behind what they read |
//! | `copies` | [`ReorderCopies`]: the order together with copies to the host |
//! | `all` | all orders of a small graph |
//! | `walk` | the walk from order to order |
//! | `moves` | neighbours of an order |
//! | `peak` | initial orders |
//! | `judge` | the cost of an order, by annealing |
//! | `carry` | retained sets of one order for another |
//! | `stages` | one listener for all solves |
//! | `settings` | [`ReorderTuning`] |

mod all;
mod carry;
mod copies;
mod early;
mod front;
mod judge;
mod moves;
mod outcome;
mod peak;
mod settings;
mod stages;
mod walk;

pub use copies::{CopiesReordered, ReorderCopies};
pub(crate) use early::early_updates;
pub use front::Reorder;
pub(crate) use front::inverse;
pub use outcome::{OrderChoice, Reordered, STAGE_SCHEDULES_IN_THIS_ORDER};
pub use settings::ReorderTuning;
