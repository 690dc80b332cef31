//! Plans as trace events in JSON, which Perfetto and Chrome's `chrome://tracing` open.
//!
//! | module | concept |
//! |---|---|
//! | `events` | the file format |
//! | `plan` | [`of_plan`]: plans of a training step |
//! | `lives` | [`of_order`], [`of_lives`]: orders, memory plans and tables of lives |
//! | `pipeline` | [`of_pipeline`]: pipelines |

mod events;
mod lives;
mod pipeline;
mod plan;

pub use lives::{of_lives, of_order};
pub use pipeline::of_pipeline;
pub use plan::of_plan;
