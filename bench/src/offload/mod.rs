//! Plans with copies to the host, over memory and bandwidth.
//!
//! | module | comparison |
//! |---|---|
//! | [`chains`] | POFO on chains beside recomputation, offloading alone and the baselines of the paper |
//! | [`nodes`] | plans of graphs beside the best known strategy, with their bounds |
//! | [`compact`] | small graphs beside the compact program in other solvers |

pub mod chains;
mod chart;
pub mod compact;
pub mod nodes;

use remat_formulations::baselines::chain::NoChain;
use remat_formulations::offload::chain::{NodePlansError, SequenceError};
use remat_formulations::offload::exact::ExactError;
use remat_instances::instance::{InstanceError, StructureError};
use remat_instances::simulate::ReplayError;
use remat_instances::zoo::ZooError;
use remat_search::SolveError;
use remat_tests::compact::offload::OffloadProgramError;
use std::path::PathBuf;

pub use chart::{draw, markdown};

/// Part of the comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum OffloadPart {
    /// Chains of the paper's networks
    Chains,
    /// Graphs of networks and of a directory
    Nodes,
    /// Small graphs, beside the compact program in HiGHS, SCIP and CP-SAT if they are installed
    Compact,
}

/// Reason why the comparison ended.
#[derive(Debug, thiserror::Error)]
pub enum OffloadBenchError {
    /// A model of the zoo cannot be built.
    #[error(transparent)]
    Zoo(#[from] ZooError),
    /// A directory cannot be listed.
    #[error("{0}: {1}; name a directory of graphs")]
    Files(PathBuf, std::io::Error),
    /// A graph cannot be read.
    #[error(transparent)]
    Read(#[from] InstanceError),
    /// A graph makes no chain.
    #[error(transparent)]
    Chain(#[from] NoChain),
    /// A sequence cannot be played.
    #[error(transparent)]
    Sequence(#[from] SequenceError),
    /// A bandwidth is out of range.
    #[error(transparent)]
    Link(#[from] StructureError),
    /// A row makes no plan.
    #[error(transparent)]
    Plans(#[from] NodePlansError),
    /// A solve failed.
    #[error(transparent)]
    Solve(#[from] SolveError),
    /// A graph cannot be run.
    #[error(transparent)]
    Replay(#[from] ReplayError),
    /// A graph has no compact program.
    #[error(transparent)]
    Program(#[from] OffloadProgramError),
    /// A small graph cannot be searched.
    #[error(transparent)]
    Exact(#[from] ExactError),
    /// There is no folder to write a program to.
    #[error("the program for other solvers: {0}")]
    Folder(#[from] std::io::Error),
    /// A program cannot be written.
    #[error(transparent)]
    Written(#[from] remat_lp::mps::MpsError),
}

/// Returns whether a name contains one of these texts; true for every name if there are no texts.
fn wanted(only: &[String], name: &str) -> bool {
    only.is_empty() || only.iter().any(|part| name.contains(part.as_str()))
}
