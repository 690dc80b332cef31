//! The native module of the Python package `remat_bb`: the front door of `remat-formulations`, as
//! Python's objects and exceptions.
//!
//! | module | concept |
//! |---|---|
//! | [`instance`] | training graphs |
//! | [`arguments`] | budgets, times and links from Python |
//! | [`asked`] | options of a solve from keyword arguments |
//! | [`numbers`] | numbers from arguments, and the errors of invalid ones |
//! | [`relay`] | work beside the interpreter: signals, progress and the end of a solve |
//! | [`solving`] | from an instance and a budget to a plan |
//! | [`plan`], [`prices`] | plans, solved or read; prices of memory |
//! | [`frontier`] | one budget after another |
//! | [`grid`] | grids of solves |
//! | [`comparing`] | the known strategies |
//! | [`batch`] | the largest batch |
//! | [`knapsack`] | exact 0/1 knapsacks, for torch's own budget |
//! | [`judging`] | files and plans against their replay |
//! | [`memory`], [`memory_baselines`] | orders of graphs, and addresses |
//! | [`program`] | linear and integer programs of any kind |
//! | [`modelling`] | expressions in the style of modelling languages |
//! | [`command`] | the command line, run from Python |
//! | [`trouble`] | errors, and the exceptions that they become |
//!
//! Users find the documentation in `remat_bb/*.py` and `remat_bb/_native.pyi`.
#![deny(missing_docs)]
// The macros of pyo3 make unsafe code; this crate writes no unsafe code itself.
#![deny(unsafe_code)]

pub mod arguments;
pub mod asked;
pub mod batch;
pub mod command;
pub mod comparing;
pub mod frontier;
pub mod grid;
pub mod improving;
mod instance;
pub mod judging;
pub mod knapsack;
pub mod memory;
pub mod memory_baselines;
pub mod modelling;
pub mod numbers;
pub mod pickled;
mod pickled_plan;
mod plan;
mod prices;
pub mod program;
pub mod relay;
mod report;
pub mod solving;
pub mod trouble;
mod viewers;

use pyo3::prelude::*;
use remat_bb::allocator::Allocator;

/// The allocator of the command line: searches need it for their speed.
#[global_allocator]
static ALLOCATOR: Allocator = Allocator;

/// The module `remat_bb._native`.
#[pymodule]
mod _native {
    #[pymodule_export]
    use crate::arguments::{host_link, parse_seconds};
    #[pymodule_export]
    use crate::asked::options_table;
    #[pymodule_export]
    use crate::batch::{MaxBatch, max_batch};
    #[pymodule_export]
    use crate::command::run_command;
    #[pymodule_export]
    use crate::comparing::{Baseline, baselines};
    #[pymodule_export]
    use crate::frontier::{Frontier, FrontierPoint, frontier};
    #[pymodule_export]
    use crate::grid::{Grid, GridTable, grid_has, grid_merge, grid_plan, grid_put, grid_work};
    #[pymodule_export]
    use crate::improving::improve;
    #[pymodule_export]
    use crate::instance::{Instance, format_bytes, zoo_models};
    #[pymodule_export]
    use crate::judging::{Verified, verify};
    #[pymodule_export]
    use crate::knapsack::knapsack;
    #[pymodule_export]
    use crate::memory::{MemoryPlan, Order, Placement, order, place, plan_memory};
    #[pymodule_export]
    use crate::memory_baselines::{OrderBaseline, PlaceBaseline, order_baselines, place_baselines};
    #[pymodule_export]
    use crate::modelling::constr::Constr;
    #[pymodule_export]
    use crate::modelling::linear::LinExpr;
    #[pymodule_export]
    use crate::modelling::model::Core;
    #[pymodule_export]
    use crate::modelling::quadratic::QuadExpr;
    #[pymodule_export]
    use crate::modelling::relation::TempConstr;
    #[pymodule_export]
    use crate::modelling::sum::quicksum;
    #[pymodule_export]
    use crate::modelling::var::Var;
    #[pymodule_export]
    use crate::plan::Plan;
    #[pymodule_export]
    use crate::program::Program;
    #[pymodule_export]
    use crate::program::answer::{Answer, ProgramProgress};
    #[pymodule_export]
    use crate::program::iis::Iis;
    #[pymodule_export]
    use crate::program::log::SearchLog;
    #[pymodule_export]
    use crate::program::solving::Stop;
    #[pymodule_export]
    use crate::relay::Progress;
    #[pymodule_export]
    use crate::solving::solve;

    /// Adds the version of the package.
    #[pymodule_init]
    fn init(module: &pyo3::Bound<'_, pyo3::types::PyModule>) -> pyo3::PyResult<()> {
        use pyo3::prelude::PyModuleMethods;
        module.add("__version__", remat_report::results::VERSION)
    }
}
