//! MONeT's integer program (Shah et al., ICLR 2021): when to recompute, and which implementation to
//! run.
//!
//! | module | concept |
//! |---|---|
//! | [`anneal`] | the primal heuristic: annealing over the retained sets |
//! | [`bound`] | a lower bound that needs no linear program |
//! | [`original`] | the program as it was published, for comparison with other solvers |
//! | [`interval`] | the interval form: columns by pricing, lazy rows and cuts, safe bounds |
//! | `carry` | rows and intervals carried over from a few equal layers to many |
//! | [`recognise`](recognise()) | finds the published program in a model file, by its structure |
//! | [`MonetFormulation`] | the program's interface to the search |

pub mod anneal;
pub mod bound;
mod carry;
mod formulation;
pub mod interval;
pub mod original;
mod recognise;

pub use formulation::{MonetFormulation, MonetProblem, complete};
pub use recognise::{RecognisedMonet, recognise};
