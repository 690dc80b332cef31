//! MONeT's integer program (Shah et al., ICLR 2021): when to recompute, and which implementation to
//! run.
//!
//! | module | concept |
//! |---|---|
//! | [`anneal`] | the primal heuristic: annealing over the retained sets |
//! | [`bound`] | a lower bound that needs no linear program |
//! | [`original`] | the program as it was published, for comparison with other solvers |
//! | [`interval`] | the interval form: columns priced over the whole space, rows and cuts lazily, safe bounds |
//! | `carry` | rows and intervals carried over from a few equal layers to many |
//! | [`recognise`](recognise()) | the published program in a model from any file, by its structure |
//! | [`MonetFormulation`] | what the search must know of it |

pub mod anneal;
pub mod bound;
mod carry;
mod formulation;
pub mod interval;
pub mod original;
mod recognise;

pub use formulation::{MonetFormulation, MonetProblem, complete};
pub use recognise::{RecognisedMonet, recognise};
