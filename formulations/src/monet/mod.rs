//! MONeT's integer program (Shah et al., ICLR 2021): when to recompute, and which implementation to run.
//!
//! | module | concept |
//! |---|---|
//! | [`anneal`] | the primal heuristic: annealing over the retained sets |
//! | [`original`] | the program as it was published, for comparison with other solvers |

pub mod anneal;
pub mod original;
