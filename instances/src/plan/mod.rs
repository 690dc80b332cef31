//! Plans: a schedule as a program of `allocate`, `compute` and `deallocate` statements over virtual
//! registers, with `offload`, `wait`, `prefetch` and `release` for tensors that are copied to the
//! host.
//!
//! A schedule states which nodes are computed and kept in each stage; a [`Plan`] is the program for
//! an executor (Jain et al., MLSys 2020, section 4.7 and Algorithm 1). [`Plan::from_checkmate`] and
//! [`Plan::from_monet`] scan a schedule row by row and place every `deallocate` as early as
//! possible: right after the last statement that reads the value. [`Plan::optimised`] drops
//! computations whose value is not read. [`crate::simulate::plan`] judges the result.
//! [`PlanAddresses`] has the addresses of all memory in one arena.
//!
//! # Example
//! ```
//! use remat_instances::instance::{CostUnit, Instance, InstanceData, Node, NodeId};
//! use remat_instances::{plan::Plan, schedule::CheckmateSchedule, simulate};
//! let nodes = vec![
//!     Node::forward("a", vec![], 10, 4),
//!     Node::forward("b", vec![NodeId(0)], 20, 8),
//! ];
//! let data = InstanceData { name: "two".into(), cost_unit: CostUnit::arbitrary(), host_link: None, in_flight: 1, nodes };
//! let instance = Instance::new(data)?;
//! let plan = Plan::from_checkmate(&instance, &CheckmateSchedule::checkpoint_all(&instance))?;
//! let text = "%0 = allocate a\ncompute a -> %0\n%1 = allocate b\ncompute b -> %1\ndeallocate %0\ndeallocate %1\n";
//! assert_eq!(plan.display(&instance).to_string(), text);
//! assert_eq!(simulate::plan(&instance, &plan)?.peak_bytes, 12);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod addresses;
mod build;
mod json;
mod runs;
mod spans;
mod stages;
mod text;
mod trace;

pub use crate::document::ReadError as PlanFileError;
pub use crate::statement::{HostBuffer, Plan, Register, Step};
pub use addresses::{ADDRESSES_SCHEMA, AddressesError, PieceAddress, PlanAddresses};
pub use json::{PlanDocument, PlanFile, SCHEMA};
pub use runs::{Computation, Computations, NoStageInOwnOrder};
pub use spans::{NoSchedule, StageSpans};
pub use stages::NoStageSchedule;
pub use text::PlanText;
