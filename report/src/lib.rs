//! Plans and searches for readers: text, tables and pictures.
//!
//! | module | concept |
//! |---|---|
//! | `text`, `table` | costs, sizes and numbers as text; tables |
//! | `replay` | [`ReplayJson`]: findings of a replay in results |
//! | [`results`], `solve` | objects that commands print as JSON; [`SolveJson`]: the answer of a solve |
//! | [`pipeline`] | objects of pipelines |
//! | [`grid`] | merged results of a grid, and their pictures |
//! | [`search_log`] | the log of a search over a linear or integer program |
//! | [`transfers`] | copies to the host and their link |
//! | [`spans`], [`pieces`] | work and memory of a replayed plan over time |
//! | [`trace`], [`snapshot`], [`steps_csv`] | plans for viewers: trace events, PyTorch memory snapshots, CSV |
//! | [`draw`] | pictures: memory over time, schedules, pipelines, addresses, trade-offs, progress |
//! | [`html`] | reports: plans as one HTML file to look at |
#![deny(missing_docs)]
#![forbid(unsafe_code)]

mod clock;
pub mod draw;
pub mod grid;
pub mod html;
pub mod pieces;
pub mod pipeline;
mod replay;
pub mod results;
pub mod search_log;
pub mod snapshot;
mod solve;
pub mod spans;
pub mod steps_csv;
mod table;
mod text;
pub mod trace;
pub mod transfers;

pub use replay::ReplayJson;
pub use solve::{LeastBudgetJson, SolveJson};
pub use table::Table;
pub use text::{cost, counted, gib, micro_batches, moment, number, time_unit, waiting};
