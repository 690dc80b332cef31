//! Training graphs and the costs of plans for them; this crate does not optimise.
//!
//! | module | concept |
//! |---|---|
//! | [`document`] | JSON files, and errors that point into them |
//! | [`instance`] | a training graph with costs and sizes |
//! | [`name`] | names from files, which never break the line on which they are shown |
//! | [`formats`] | files of instances: readers and the writer |
//! | [`zoo`] | training graphs of well-known networks, from shapes and a roofline model |
//! | [`place`] | buffers with given lives, their addresses, and the replay of addresses |
//! | [`order`] | graphs whose operators may run in another order, and the judge of orders |
//! | [`budget`], [`budgets`] | memory budgets and their units; lists and ranges of them |
//! | [`schedule`] | the nodes computed and the tensors kept in each stage |
//! | [`simulate`] | the judge: replays a schedule or a plan, step by step |
//! | [`plain`] | the step without recomputation, the reference of percentages |
//! | [`plan`] | a schedule as a program of `allocate`, `compute`, `deallocate` |
//! | [`plan_class`] | classes of plans that training stacks can execute |
//! | [`replayed`](mod@replayed) | plan and schedule files, read and replayed |
//! | [`explain`] | a plan explained: recomputed tensors, times and savings |
//!
//! Dependencies point one way: [`simulate`] judges the output of solvers and shares no code with
//! them.
//!
//! ```
//! use remat_instances::schedule::CheckmateSchedule;
//! use remat_instances::{simulate, zoo};
//!
//! let instance = zoo::build(&"zoo:resnet18?batch=8".parse()?)?;
//! let everything = CheckmateSchedule::checkpoint_all(&instance);
//! let replay = simulate::checkmate(&instance, &everything)?;
//! assert_eq!(replay.cost, instance.base_cost());
//! assert!(replay.peak_bytes > instance.nodes()[0].output_bytes);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![deny(missing_docs)]
#![forbid(unsafe_code)]

pub mod budget;
pub mod budgets;
pub mod document;
pub mod explain;
pub mod formats;
pub mod instance;
pub mod name;
pub mod nearest;
pub mod number;
pub mod order;
pub mod pipeline;
pub mod place;
pub mod plain;
pub mod plan;
pub mod plan_class;
pub mod replayed;
pub mod schedule;
mod semantics;
pub mod simulate;
mod statement;
pub mod zoo;

pub use budget::Budget;
pub use formats::{read, read_bytes, write_instance};
pub use instance::{Instance, NodeId};
pub use plan_class::{ClassRules, PlanClass};
pub use replayed::{Replayed, replayed};
pub use semantics::{Semantics, UnknownSemantics};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
