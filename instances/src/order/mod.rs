//! Training graphs whose operators may run in another order: the possible orders and the memory use
//! of each. This module does not optimise.
//!
//! Memory starts with the resident tensors. An operator allocates its outputs and its workspace.
//! Then the memory is measured (the peak is the largest measurement). Then the workspace is freed,
//! and so is every storage whose last reader was this operator. Views and outputs computed in place
//! share the storage of another tensor; a storage lives from its producer to the last reader of any
//! of its tensors. An output without a reader takes no memory, unless it is a result, which stays.
//! `docs/theory/order.md` describes the full semantics.
//!
//! | module | concept |
//! |---|---|
//! | `graph` | [`OrderGraph`]: operators, tensors, and edges that order operators |
//! | `variant` | [`Variant`]: which of these edges count |
//! | `validate` | conditions for a valid graph |
//! | `text` | `remat-order/1` documents: reader and writer |
//! | `problem` | [`OrderProblem`]: precedence and storages of one variant, for searches |
//! | `convert` | a graph of an [`Instance`](crate::Instance), without recomputation |
//! | `replay` | [`OrderReplay`]: the judge of an order |
//! | `memory_plan` | `remat-memory-plan/1` documents: an order with addresses |
//! | `plan` | `remat-order-plan/1` documents: an order and claims about it |
//!
//! ```
//! use remat_instances::order::{self, Variant};
//!
//! let text = r#"{"schema": "remat-order/1", "operators": [
//!     {"outputs": [0, 1]}, {"inputs": [0], "outputs": [2]}, {"inputs": [1]}, {"inputs": [2]}],
//!     "tensors": [{"bytes": 4}, {"bytes": 6}, {"bytes": 9}]}"#;
//! let graph = order::read_order_graph_bytes("four.json", text.as_bytes())?;
//! let program = graph.replay(Variant::Free, graph.program_order())?;
//! assert_eq!((program.peak_bytes, program.step_bytes()), (19, vec![10, 19, 15, 9]));
//! let better = [0, 2, 1, 3].map(remat_instances::order::OperatorId);
//! assert_eq!(graph.replay(Variant::Free, &better)?.peak_bytes, 13);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod convert;
mod graph;
mod memory_plan;
mod plan;
mod problem;
mod replay;
mod text;
mod validate;
mod variant;

pub use graph::{Operator, OperatorId, OrderGraph, OrderGraphData, Tensor, TensorId};
pub use memory_plan::{Address, MEMORY_PLAN_SCHEMA, MemoryPlan, MemoryPlanError, MemoryReplay};
pub use plan::{ORDER_PLAN_SCHEMA, OrderPlan, OrderPlanError};
pub use problem::{OrderCycle, OrderProblem, Storage};
pub use replay::{Life, LifeOf, OrderFault, OrderReplay, OrderStep};
pub use text::{ORDER_SCHEMA, read_order_graph, read_order_graph_bytes, write_order_graph};
pub use variant::{UnknownVariant, Variant};
