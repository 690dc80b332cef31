//! The proof: root and tree.

use super::{LinkGraph, TripPoint};
use remat_lp::ModelError;
use remat_search::ticking;
use remat_solver::price::{Incumbents, Root, RootSettings, TreeProof, TreeSettings, search};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Limits of a proof.
#[derive(Clone, Copy, Debug)]
pub struct ProofLimits {
    /// Time for the root, and for root and tree together. With a limit, the bound depends on the
    /// machine.
    pub time: Option<[Duration; 2]>,
    /// Simplex iterations of the root, and of root and tree together.
    pub iterations: [u64; 2],
    /// Nodes of the tree.
    pub nodes: u64,
    /// Relative gap to the best plan at which the tree ends.
    pub gap: f64,
    /// True if a proof of the bound is collected ([`Proven::proof`]).
    pub prove: bool,
}

/// The bound that is proven, and the work it took.
#[derive(Clone, Debug)]
pub struct Proven {
    /// Lower bound on the makespan of plans in stages with copies, in the instance's cost unit.
    pub bound: u64,
    /// The lower bound of the root alone.
    pub root_bound: u64,
    /// Fractional solution of the root, if it converged.
    pub point: Option<TripPoint>,
    /// Nodes of the tree.
    pub nodes: u64,
    /// Simplex iterations.
    pub iterations: u64,
    /// Evidence for the bound, if requested: for the bounds of the tree's nodes if a tree was
    /// searched, else for the root.
    pub proof: Option<TreeProof<LinkGraph>>,
}

/// Proves a bound on the makespan of all plans, by the root and the tree of the form. `best` is the
/// makespan of the incumbent, `is_over` ends the work, and `known` is a bound that is already
/// proven.
///
/// Work is done in the current rayon pool; without a time limit the answer does not depend on its
/// size.
///
/// # Errors
/// [`ModelError`] if the LP solver refuses a change: a defect.
pub fn prove(
    link: LinkGraph,
    known: u64,
    best: Option<u64>,
    limits: &ProofLimits,
    is_over: &(dyn Fn() -> bool + Sync),
) -> Result<Proven, ModelError> {
    let stop = Arc::new(AtomicBool::new(false));
    let tick = || {
        if is_over() {
            stop.store(true, Ordering::Relaxed);
        }
    };
    let work = || {
        let incumbents = Incumbents::new(known, false);
        best.into_iter().for_each(|best| incumbents.found(best));
        let settings = RootSettings {
            stop: Some(stop.clone()),
            time_limit: limits.time.map(|time| time[0]),
            pivots: limits.iterations[0],
            ..RootSettings::default()
        };
        let program = Arc::new(link);
        let upper = remat_solver::price::Columns::cost_upper_bound(&*program);
        let mut root = Root::solve(program, &settings, &incumbents)?;
        let root_bound = root.safe_bound();
        let mut proven = Proven {
            bound: root_bound,
            root_bound,
            point: root.is_converged().then(|| root.point().clone()),
            nodes: 0,
            iterations: root.iterations(),
            proof: limits.prove.then(|| root.proof()),
        };
        let goes_on = root.is_converged() && root_bound <= upper && limits.nodes > 0;
        // From a root below the known bound, a tree would take too long.
        if goes_on && best.is_some() && root_bound > known {
            root.limit(limits.time.map(|time| time[1]), limits.iterations[1]);
            root.learn_bound(known);
            let tree = TreeSettings {
                gap: limits.gap,
                nodes: limits.nodes,
                iterations: limits.iterations[1],
                prove: limits.prove,
                ..TreeSettings::default()
            };
            let outcome = search(root, &tree, &incumbents, &())?;
            proven.bound = proven.bound.max(outcome.bound);
            proven.nodes = outcome.nodes;
            proven.iterations = outcome.iterations;
            // The root's own evidence is part of the tree's.
            proven.proof = outcome.proof.or(proven.proof);
        }
        Ok(proven)
    };
    // Without a further thread no work is done, and the known bound stays.
    match ticking(tick, &stop, work) {
        Ok(proven) => proven,
        Err(_) => Ok(Proven {
            bound: known,
            root_bound: known,
            point: None,
            nodes: 0,
            iterations: 0,
            proof: None,
        }),
    }
}
