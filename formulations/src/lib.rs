//! Rematerialization: from a training graph and a memory budget to a plan and a proof of how good
//! it is.
//!
//! Instances, schedules and plans are those of [`remat_instances`]; the engine is
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
//! | [`solve`] | the front door: [`Solve`], [`Frontier`], [`MaxBatch`], [`Baselines`], [`solve_model`] |
//! | [`checkmate`] | Checkmate's integer program: the forms that are solved, and their cuts |
//! | [`monet`] | MONeT's integer program: as it was published, its interval form, its annealing |
//! | [`life`] | lives of tensors: what interval forms share |
//! | [`anneal`] | our own primal heuristic: annealing over the retained sets |
//! | [`baselines`] | the known ways to get a schedule without an integer program |
//! | [`recognise`] | published programs recognised in models of unknown origin |
//! | [`order`] | the order of a training graph with least peak memory, proven |
//! | [`olla`] | OLLA's integer programs of orders and addresses: as published, and recognised |
//! | [`memory_plan`] | order and addresses together |
//! | [`offload`] | recomputation and offloading together |
//! | [`poet`] | POET's integer program: recomputation and pages, costs added up |
//! | [`place`](mod@place) | addresses of buffers with given lives, proven |
//! | [`reduce`] | instances that lose nodes and digits, for a delta debugger |
//! | [`reorder`] | the order of first computations, searched for a budget |
//! | [`improve`] | the steps of a plan in a better order |
//! | [`program`] | programs that are edited and solved again, for modelling languages |
//! | [`bound`] | combinatorial dual bounds that need no linear program |
#![deny(missing_docs)]
#![forbid(unsafe_code)]

pub mod anneal;
pub mod baselines;
pub mod bound;
pub mod checkmate;
pub mod improve;
pub mod life;
pub mod memory_plan;
pub mod monet;
pub mod offload;
pub mod olla;
pub mod order;
pub mod place;
pub mod poet;
pub mod program;
mod random;
pub mod recognise;
pub mod reduce;
pub mod reorder;
pub mod solve;

pub use remat_instances::{Budget, Instance, read, zoo};
pub use solve::{Baselines, Formulation, Frontier, MaxBatch, Solve, solve_model};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
