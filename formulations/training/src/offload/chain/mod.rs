//! Chains with a link to the host: rotor's recomputation and offloading together (POFO; Beaumont,
//! Eyraud-Dubois, Shilova, "Efficient combination of rematerialization and offloading for training
//! DNNs", NeurIPS 2021), exact without slots for what is under way on the link.
//!
//! Stages count from 0, the last one is the loss. The *input* of a stage is what the one before
//! left: its plain output, or all that it saved. An input may leave for the host while the forward
//! pass goes on, and come back during the backward pass; between the two is a barrier.
//!
//! | module | concept |
//! |---|---|
//! | `model` | [`LinkedChain`]: durations, peaks and sizes of the stages, the [`Link`] |
//! | `bounds` | the least time of the rest of a chain |
//! | `fronts` | ways to run a part backwards, summed up by peak, duration and tail |
//! | `labels` | the forward pass as a search over labels |
//! | `search` | [`ChainSearch`]: searches with more and more labels |
//! | `recompute` | rotor for any memory of a chain |
//! | `opportunist`, `capper` | the baselines of POFO's section 5 |
//! | `rows` | [`ChainRows`]: all of them beside each other |
//! | `nodes`, `trips` | [`chain_plans`]: rows as plans of the graph, statement by statement |
//! | `sequence` | [`Action`]s, and their walk through memory |
//! | `play` | [`play`](play()): a sequence against the clocks, each copy at once or byte by byte |

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
