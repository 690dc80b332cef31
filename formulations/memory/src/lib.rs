//! Execution orders of training graphs with the least peak memory, and addresses of buffers in the
//! smallest arena, both proven optimal.
//!
//! | module | concept |
//! |---|---|
//! | [`order`] | the order of a training graph with least peak memory, proven |
//! | [`place`](mod@place) | addresses of buffers with given lives, proven |
//! | [`memory_plan`] | order and addresses together |
//! | [`olla`] | OLLA's integer programs of orders and addresses: as published, and recognised |
//! | [`max_flow`] | maximum flow and minimum cut |
#![deny(missing_docs)]
#![forbid(unsafe_code)]

pub mod max_flow;
pub mod memory_plan;
pub mod olla;
pub mod order;
pub mod place;
