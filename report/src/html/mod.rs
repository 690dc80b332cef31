//! Reports: plans as one HTML file that needs no network.
//!
//! | module | concept |
//! |---|---|
//! | `classes` | classes of memory, with the colours of the pictures |
//! | `document` | [`Document`]: the data that a page carries |
//! | `moments` | moments of a plan's replay: computations, copies, waits |
//! | `pieces` | pieces of memory over these moments, by class |
//! | `plan`, `order`, `pipeline` | parts of the document from plans, orders and pipelines |
//! | `findings` | bounds and progress that other commands have printed |
//! | `page` | the page: document, style and script in one text |
//!
//! The simulator has the last word: the classes of a moment add up to the memory of the replay.

mod classes;
mod document;
mod findings;
mod moments;
mod order;
mod page;
mod pieces;
mod pipeline;
mod plan;

pub use document::Document;
pub use findings::{Findings, UnknownFindings};
pub use order::{OrderSource, lives, order};
pub use page::page;
pub use pipeline::PipelineSource;
pub use plan::{PlanBound, PlanSource, Price};

#[cfg(test)]
mod tests;
