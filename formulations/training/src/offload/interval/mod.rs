//! The interval form of programs with copies: one column for each trip of a tensor.
//!
//! A *trip* begins when a tensor is computed and ends when neither the device nor the host has it
//! any more. It consists of stretches on the device: the first begins with the computation, each
//! later one with a copy back. The rows are the rows of Checkmate's interval form
//! ([`checkmate::interval`](crate::checkmate::interval)), over trips, and *windows* of the link:
//!
//! ```text
//! out (a,b)   sum p_i over trips of i >= a whose copy to the host is complete in stage b or before
//!             -  sum c_k over recomputations in a+1..=b  -  idle time in a+1..=b   <=  T(a+1, b-1)
//! back (a,b)  sum q_i over copies back issued in stage a or later and read in stage b or before
//!             -  sum c_k over recomputations in a..=b    -  idle time in a..=b     <=  T(a, b-1)
//! host (t)    sum m_i over trips whose tensor is on the host when stage t begins   <=  host memory
//! ```
//!
//! `p` and `q` are times of copies, `c` times of computations, and `T(a,b)` is the time of the
//! first computations of stages `a..=b`. A stage begins when the stage before has ended; a copy is
//! complete in the stage in which the computations wait for it. Half duplex has one family of
//! windows, with both sums. Idle time costs its duration. A tensor that comes back need not be
//! computed, so path cuts count copies that come within their window:
//!
//! ```text
//! path cut    trips of tensors of the path that cross the start of a, or are away then and read in
//!             [a, b] after a copy back,  + recomputations of j in [a, b]            >=  1
//! ```
//!
//! A trip counts once, however often it comes back. If it was on the device earlier in the window,
//! it came from a copy that already counts, or was computed there, which needs the path as well.
//! (If every copy counted, a hundredth of a tensor that comes a hundred times would satisfy the
//! cut.)
//!
//! Under MONeT's semantics a node has several *ways* to run: implementations, in place or not. The
//! graph counts the parts common to all ways: the inputs that all read, the least cost, the least
//! workspace. The way of a first run is a column `x` of its own, which counts the excess over these
//! parts; a trip that begins with a further run includes its way. By-products need not be made, so
//! their first runs are trips like others.
//!
//! ```text
//! choose (k)     sum x_kw                                                               =   1
//! reads (k,i)    trips of i that are readable when k runs first
//!                -  sum x_kw over ways w that read i   (-  first trips of k, a by-product)  >=  0
//! memory (k,k)   as ever  +  sum (workspace of w - least) x_kw
//! windows        as ever  -  sum (time of w - least) x_kw over k in a+1..b, or a..b
//! ```
//!
//! A run in place is charged as in the replay, with both tensors and the workspace of the option.
//! The end of the overwritten tensor is ignored.
//!
//! *Pages* (POET's program, [`poet`](crate::poet)) are copies with a cost and no clock. A tensor is
//! paged out when a stage begins, and dropped after a reader in the stage, or at the end of the
//! stage. A page that comes in a stage takes memory, and may be read, from the next stage on; so a
//! path cut counts the pages that come in `[a, b-1]`. The rows are the rows above, except for
//!
//! ```text
//! memory (t,k)  as ever  -  bytes that further runs of nodes before k in t free
//!               beyond those of their inputs
//! ```
//!
//! Three relaxations favour schedules. An input that is listed more than once is freed as often,
//! even if it is read or retained afterwards. A tensor may be dropped after a reader that does not
//! run in the stage. A page may come in a stage in which another trip of the tensor ends.
//!
//! Every plan in stages satisfies these rows, because events within a stage are rounded in its
//! favour. So the value of the relaxation, and the Lagrangian bound of any duals, are lower bounds
//! on the makespan of all plans. A trip's price is a walk through an automaton of four states
//! (`walk`): absent, on the device, on the host, on both.
//!
//! | module | concept |
//! |---|---|
//! | `graph` | the instance, with the times or costs of copies |
//! | `ways` | implementations, in place or not, and by-products that need not be made |
//! | `trip` | columns |
//! | `rows` | rows |
//! | `prices` | payments of duals |
//! | `walk`, `ahead` | the lives of a tensor, and the cheapest |
//! | `bound` | pricing, and bounds in integers |
//! | `point` | fractional solutions, and rows they violate |
//! | `branch` | the quantities on which a tree branches |
//! | `program` | the program for branch, price and cut, and its root |
//! | `search` | root and tree |
//! | `proof` | proofs of bounds, as text |

mod ahead;
mod bound;
mod branch;
mod graph;
mod point;
mod prices;
mod program;
mod proof;
mod rows;
mod search;
mod trip;
mod walk;
mod ways;

pub use branch::{LinkBranch, LinkQuantity};
pub use graph::{LinkGraph, Sharded};
pub use point::TripPoint;
pub use program::root_bound;
pub use proof::tree_proof;
pub(crate) use proof::{cost_alone, too_small, write_link};
pub use rows::{Lane, LinkRow};
pub use search::{ProofLimits, Proven, prove};
pub use trip::{Begin, Stretch, Trip};
pub use ways::{Optional, Way, Ways};
