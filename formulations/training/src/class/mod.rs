//! The best plan of a class ([`PlanClass`](remat_instances::PlanClass)), with its own bound.
//!
//! A plan of a class is a list of decisions, each of which saves or drops some values; the rest
//! follows. So the landscape of a class has one move for each decision, and evaluates a plan event
//! by event. The bound comes from Checkmate's interval form with fewer columns and with the rows of
//! the class ([`ClassRow`](crate::checkmate::interval::ClassRow)).
//!
//! | module | concept |
//! |---|---|
//! | `graph` | an instance and the rules of a class, in arrays |
//! | `replay` | memory and cost of decisions |
//! | `landscape` | decisions that are annealed |
//! | `formulation` | the interface to the search |

mod formulation;
mod graph;
mod landscape;
mod replay;

pub use formulation::{ClassFormulation, class_scope};
