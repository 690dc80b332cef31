//! MONeT's integer program (Shah et al., ICLR 2021): when to recompute, and which implementation to run.
//!
//! | module | concept |
//! |---|---|
//! | [`original`] | the program as it was published, for comparison with other solvers |

pub mod original;
