//! MONeT's integer program (Shah et al., ICLR 2021): when to recompute, and which implementation to run.
//!
//! | module | concept |
//! |---|---|
//! | [`original`] | the program as it was published, for comparison with other solvers |
//! | [`interval`] | the interval form: columns priced over the whole space, rows and cuts lazily, safe bounds |

pub mod interval;
pub mod original;
