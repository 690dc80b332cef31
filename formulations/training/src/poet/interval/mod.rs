//! The interval form of POET's program: one column for each trip of a tensor.
//!
//! A *trip* begins where a tensor is computed. One without pages is a stretch of time in memory, as
//! in Checkmate's interval form ([`checkmate::interval`](crate::checkmate::interval)). One that is
//! paged out in one of the stages that its first stretch crosses goes on for as long as the copy in
//! secondary storage is of use: with stretches that begin with a page-in, or with another
//! computation. It costs its recomputations and its pages, so a fraction of it pays for a fraction
//! of the page-out. Rows are those of Checkmate's form, over trips, and
//!
//! ```text
//! once (t,i)      page-ins and computations of i in t
//!                 + stretches of i that cross the start of t                  <=  1, lazily
//! ends (t,i,u)    stretches of i that end in stage t with reader u
//!                 - recomputations of u in t                                  <=  0, lazily
//! path cuts       + page-ins of the path's tensors in [a, b-1]                >=  1
//! path memory     - m_k (page-ins of staying tensors k in [a, b-1])
//!                 - need_j (page-ins of the path's tensors in [a, b-1])       <=  ..
//! memory (t,k)    - bytes that recomputations of nodes before k in t
//!                   free beyond those of their inputs                         <=  ..
//! ```
//!
//! The last is a relaxation: it counts what inputs that are listed more than once would free if
//! nobody read or retained them any more. The first says that nothing is paged in which is there
//! already, which would be of no use; without it a tensor could give way between its last reader
//! and the next stage. The second says that memory is freed by readers that run: a tensor that is
//! paged out in the last stage of its stretch, and read by nobody there, stays to the end of it. A
//! page-in within a window makes a tensor of a path be there without its inputs, and one of those
//! that stay be away before.
//!
//! Every schedule without useless parts is a set of trips that meets the rows, and if
//! recomputations, retentions and page-outs are integers, so are page-ins: what the tree branches
//! on is linear in the trips.
//!
//! | module | concept |
//! |---|---|
//! | `graph` | the instance under a budget |
//! | `trip` | columns |
//! | `rows` | rows |
//! | `prices` | payments of duals |
//! | `walk` | the lives of a tensor, and the cheapest trips |
//! | `bound` | pricing, and bounds in integers |
//! | `point` | fractional solutions, and rows they violate |
//! | `program` | the program as branch, price and cut sees it |

mod bound;
mod graph;
mod point;
mod prices;
mod program;
mod rows;
mod trip;
mod walk;

pub use graph::PoetGraph;
pub use point::TripPoint;
pub use program::{PoetBranch, PoetQuantity};
pub use rows::PoetRow;
pub use trip::{Stretch, Trip, trips};
