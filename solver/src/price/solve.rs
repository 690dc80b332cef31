//! One call from a program to its best solution and the proof.

use super::rounding::{Rounded, Rounding};
use super::{Incumbents, Program, Root, RootSettings, TreeOutcome, TreeSettings, search};
use crate::threads::pool;
use remat_lp::ModelError;
use std::sync::Arc;

/// Settings for solving a program.
#[derive(Clone, Debug)]
pub struct SolveSettings {
    /// Settings of the root; their time limit and flag hold for the whole search.
    pub root: RootSettings,
    /// Settings of the tree search.
    pub tree: TreeSettings,
    /// Threads; 0 for one per core. The answer does not depend on the number.
    pub threads: usize,
}

impl Default for SolveSettings {
    /// Settings for programs whose integral points are solutions. Measured on random textbook
    /// problems (`docs/inside/decisions/058-one-engine.md`).
    fn default() -> Self {
        SolveSettings {
            root: RootSettings {
                eager_cuts: false,
                columns_per_block: 1,
                ..RootSettings::default()
            },
            tree: TreeSettings {
                node_cut_rounds: 0,
                strong_candidates: 8,
                strong_first_iterations: 100,
                dive_every: 50,
                ..TreeSettings::default()
            },
            threads: 1,
        }
    }
}

/// Result of solving a program.
#[derive(Clone, Debug)]
pub struct Solved<P: Program> {
    /// The best solution, preceded by its cost from [`Rounding::cost_if_feasible`].
    pub best: Option<(u64, Vec<P::Column>)>,
    /// Outcome of the tree search: its end and its bound.
    pub tree: TreeOutcome<P>,
}

/// Error that makes solving impossible.
#[derive(Debug, thiserror::Error)]
pub enum PriceError {
    /// The LP solver refused a row or column: the program gave a coefficient that is not finite, or
    /// bounds that cross.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The operating system refused to start threads.
    #[error("{threads} threads cannot be started")]
    Threads {
        /// Number of threads asked for.
        threads: usize,
        /// Reason why they cannot be started.
        source: rayon::ThreadPoolBuildError,
    },
}

/// Solves a program by branch, price and cut. `starts` are initial solutions; infeasible ones are
/// ignored.
///
/// # Errors
/// [`PriceError`] if the LP solver refuses the program, or no thread can be started.
///
/// # Panics
/// If the program panics: its panic ends the call.
pub fn solve<P: Rounding>(
    program: Arc<P>,
    settings: &SolveSettings,
    starts: Vec<Vec<P::Column>>,
) -> Result<Solved<P>, PriceError> {
    let threads = settings.threads;
    let pool = pool(threads).map_err(|source| PriceError::Threads { threads, source })?;
    let incumbents = Incumbents::default();
    let rounded = Rounded::new(&*program);
    for start in starts {
        rounded.offer(start, &incumbents);
    }
    let tree = pool.install(|| {
        let root = Root::solve(program.clone(), &settings.root, &incumbents)?;
        search(root, &settings.tree, &incumbents, &rounded)
    })?;
    Ok(Solved {
        best: rounded.into_best(),
        tree,
    })
}
