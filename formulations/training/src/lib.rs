//! Rematerialization: from a training graph and a memory budget to a plan and a proof of how good
//! it is.
//!
//! [`remat_instances`] defines instances, schedules and plans; the engine is
//! [`remat_solver::price`].
//!
//! ```
//! use remat_formulations::{Budget, Solve};
//! use std::time::Duration;
//!
//! # let folder = tempfile::tempdir()?;
//! # let file = folder.path().join("graph.json");
//! # std::fs::write(&file, remat_instances::write_instance(&remat_formulations::zoo::build(&"zoo:chain?n=9".parse()?)?))?;
//! # let path = &file;
//! let instance = remat_formulations::read(path)?;
//! let limit = Duration::from_secs(30);
//! let solution = Solve::new(&instance, Budget::Percent(70.0)).time_limit(limit).run()?;
//! println!("{} >= {}", solution.objective()?, solution.bound);
//! solution.plan()?.write(path.with_extension("plan"))?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | module | concept |
//! |---|---|
//! | [`solve`] | the front door: [`Solve`], [`Frontier`], [`MaxBatch`], [`Baselines`] |
//! | `any` | [`AnyFormulation`]: the formulation that suits an instance |
//! | `written` | [`Written`]: plans as they are written, replayed |
//! | [`checkmate`] | Checkmate's integer program: the forms that are solved, and their cuts |
//! | [`class`] | the best plan of a class that a training stack can execute |
//! | [`anneal`] | annealing of its schedules |
//! | [`monet`] | MONeT's integer program: as it was published, its interval form, its annealing |
//! | [`life`] | lives of tensors: the common part of all interval forms |
//! | [`baselines`], [`strategies`] | the known ways to get a schedule; all of them in one table |
//! | [`offload`] | recomputation and offloading together |
//! | [`options`] | options of a solve, each declared once for all interfaces |
//! | [`poet`] | POET's integer program: recomputation and pages, costs added up |
//! | [`reorder`] | the order of first computations, searched for a budget |
//! | [`improve`] | the steps of a plan in a better order |
//! | [`bound`] | combinatorial dual bounds that need no linear program |
//! | `inserted` | graphs with nodes that only mark a moment |
//! | [`in_flight`], [`waiting`] | several micro-batches in flight, and the memory of those that wait |
//!
//! [`remat_memory`] finds execution orders and addresses; `remat_models` solves raw programs.
#![deny(missing_docs)]
#![forbid(unsafe_code)]

pub mod anneal;
mod any;
pub mod baselines;
pub mod bound;
pub mod checkmate;
pub mod class;
pub mod improve;
pub mod in_flight;
mod inserted;
pub mod life;
pub mod monet;
pub mod offload;
pub mod options;
pub mod poet;
pub mod reorder;
pub mod solve;
pub mod strategies;
pub mod waiting;
mod written;

pub use any::AnyFormulation;
pub use remat_instances::{Budget, Instance, read, zoo};
pub use remat_search::{
    Effort, Formulation, Listener, Outcome, Settings, Solvable, SolveError, Status,
};
pub use solve::{Baselines, Frontier, MaxBatch, Solve};
pub use written::{NoPlan, Planned, Written, planned};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
