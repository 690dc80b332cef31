//! Chains with a link to the host: rotor's recomputation and offloading together (POFO; Beaumont,
//! Eyraud-Dubois, Shilova, "Efficient combination of rematerialization and offloading for training
//! DNNs", NeurIPS 2021). Bytes under way on the link are exact numbers in place of slots.
//!
//! Stages count from 0; the last stage is the loss. The *input* of a stage is the plain output of
//! the stage before, or all its saved tensors. An input may leave for the host during the forward
//! pass and come back during the backward pass; between the two passes is a barrier.
//!
//! | module | concept |
//! |---|---|
//! | `model` | [`LinkedChain`]: durations, peaks and sizes of the stages, the [`Link`] |
//! | `bounds` | lower bound on the time of the rest of a chain |
//! | `fronts` | ways to run a part backwards, summarised by peak, duration and tail |
//! | `labels` | the forward pass as a search over labels |
//! | `search` | [`ChainSearch`]: searches with a growing number of labels |
//! | `recompute` | rotor's sequences for every memory size |
//! | `opportunist`, `capper` | the baselines of POFO's section 5 |
//! | `rows` | [`ChainRows`]: all methods, compared |
//! | `nodes`, `trips` | [`chain_plans`]: rows as plans of the graph, statement by statement |
//! | `sequence` | [`Action`]s, and their walk through memory |
//! | `play` | [`play`](play()): a sequence's timing, memory freed after copies or byte by byte |

mod bounds;
mod capper;
mod fronts;
mod labels;
mod model;
mod nodes;
mod opportunist;
mod play;
mod recompute;
mod rows;
mod search;
mod sequence;
mod trips;

pub use model::{Link, LinkedChain, LinkedStage};
pub(crate) use nodes::chain_plans_tuned;
pub use nodes::{NodePlan, NodePlansError, chain_plans, plans_of_rows};
pub use play::{Played, Release, play};
pub use rows::{ChainMethod, ChainRow, ChainRows};
pub use search::{ChainPlan, ChainSearch, ChainTuning, Choices};
pub use sequence::{Action, SequenceError, memory_range};
