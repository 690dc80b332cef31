//! The two phases of a solve.

use super::annealing::{BesideRoot, FIRST_MOVES_PER_NODE};
use super::state::{SearchShared, locked};
use crate::anneal::{Landscape, PortfolioSettings};
use crate::ticker::StopOnPanic;
use crate::{Problem, SolveError};
use rayon::ThreadPool;
use remat_instances::schedule::BitMatrix;
use remat_solver::beside::joined;
use remat_solver::price::{
    self, ApproachSettings, Program, Root, RootSettings, RootStart, TreeEnd, TreeProof,
    TreeSettings,
};
use remat_solver::threads;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;

/// Rounds without a better schedule after which the annealing ends, when no time limit is given.
const IDLE_ROUNDS: u32 = 6;
/// Limit on the share of the time limit for a round beside the root.
const ROUND_SHARE: f64 = 0.1;

/// Root, if there is a tree to search below it, and the threads that annealed.
type FirstPhase<P> = (Option<Root<P>>, ThreadPool);

/// The first phase.
pub(super) fn root_and_annealing<P: Problem>(
    shared: &SearchShared<'_, P>,
) -> Result<FirstPhase<P::Program>, SolveError> {
    let settings = shared.settings;
    let timed = shared.is_timed();
    let [rounds, idle_rounds] = match timed {
        true => [u32::MAX, u32::MAX],
        false => settings.fixed_rounds(IDLE_ROUNDS),
    };
    let portfolio = PortfolioSettings {
        seed: settings.seed,
        moves_per_node: shared.moves_per_node(FIRST_MOVES_PER_NODE),
        rounds,
        idle_rounds,
        time_limit: None,
        round_share: ROUND_SHARE,
        target: shared.incumbents.bound(),
    };
    let root_done = AtomicBool::new(false);
    thread::scope(|scope| {
        let _stop = StopOnPanic(&shared.stop);
        // The pool takes the threads that the root's start leaves.
        let (begin, begun) = mpsc::channel();
        let root = shared.program.clone().map(|program| {
            let root_done = &root_done;
            thread::Builder::new().spawn_scoped(scope, move || {
                let _stop = StopOnPanic(&shared.stop);
                // No message comes if the other side fails.
                let root = begun.recv().ok().and_then(|()| root(program, shared));
                root_done.store(true, Ordering::Relaxed);
                root
            })
        });
        let root = root.transpose().map_err(SolveError::Thread)?;
        let threads = settings.threads;
        let pool = threads::pool(threads);
        let pool = pool.map_err(|source| SolveError::Threads { threads, source })?;
        // The root can use schedules that are known before it begins even without a time limit: the
        // answer is the same each time.
        let first = (!timed).then(|| pool.install(|| shared.problem.known(shared.watch)));
        if let Some(best) = first.iter().flatten().min_by_key(|found| found.cost) {
            shared.offer(best);
        }
        // Without a program there is no receiver.
        let _ = begin.send(());
        pool.install(|| {
            let mut generations = locked(&shared.generations);
            let known = first.unwrap_or_else(|| shared.problem.known(shared.watch));
            known.iter().for_each(|found| shared.keep(found));
            generations.begin(known);
            let beside = BesideRoot {
                shared,
                root_done: &root_done,
            };
            let portfolio = PortfolioSettings {
                time_limit: shared.watch.left(),
                ..portfolio
            };
            shared.anneal(&mut generations, &portfolio, &beside);
            // A schedule that reaches the bound is optimal.
            if generations
                .best()
                .is_some_and(|best| best.cost <= portfolio.target)
            {
                shared.stop.store(true, Ordering::Relaxed);
            }
        });
        if timed && shared.is_closed() {
            shared.stop.store(true, Ordering::Relaxed);
        }
        Ok((root.and_then(joined), pool))
    })
}

/// Solves the root. If it fails, the combinatorial bound stands.
fn root<P: Problem>(
    program: Arc<P::Program>,
    shared: &SearchShared<'_, P>,
) -> Option<Root<P::Program>> {
    let nodes = shared.problem.landscape().nodes();
    let mut settings = RootSettings {
        stop: Some(shared.stop.clone()),
        pivots: shared.settings.root_iterations(nodes),
        ..RootSettings::default()
    };
    let incumbents = &shared.incumbents;
    let start = (shared.problem).root_start(&program, &shared.stop, &shared.incumbents);
    // A start from fewer equal layers replaces the approach.
    if start.is_none() {
        settings.approach = Some(ApproachSettings::default());
    }
    let root = match start {
        // Its bound was reported already, and no proof is requested.
        Some(_) if shared.is_stopped() && !shared.settings.prove => return None,
        Some(start) => Root::solve_from(program, &settings, incumbents, start),
        None => Root::solve(program, &settings, incumbents),
    };
    let root = root.ok()?;
    let known = incumbents.bound();
    let bound = if root.is_infeasible() {
        known
    } else {
        root.safe_bound()
    };
    incumbents.note_tree(bound, 0, root.iterations());
    if root.is_infeasible() {
        incumbents.prove_infeasible();
    }
    Some(root)
}

/// Evidence of a bound, with its program.
type Evidence<P> = (Arc<P>, TreeProof<P>);

/// Bounds of the second phase.
pub(super) struct Bounded<P: Program> {
    /// The narrower program of the bound, and the bound of the wider one, if they differ.
    pub wider: Option<(Arc<P>, u64)>,
    /// Evidence of the bound, if it is requested.
    pub proof: Option<Evidence<P>>,
}

/// The second phase: a tree, and once its bound can rise no more, a tree of the narrower program.
///
/// Without a schedule the narrower program comes at once: a wider relaxation seldom shows that
/// nothing fits.
pub(super) fn tree<P: Problem>(
    root: Root<P::Program>,
    shared: &SearchShared<'_, P>,
) -> Bounded<P::Program> {
    let program = shared.program.clone();
    let narrower = program.as_ref().and_then(|p| shared.problem.narrower(p));
    let narrower = narrower.map(|narrower| (narrower, root.start()));
    let has_schedule = shared.incumbents.best().is_some();
    let goes_on = !root.is_infeasible() && !shared.is_stopped() && !has_schedule;
    let (proof, is_stuck) = match goes_on && narrower.is_some() {
        true => (shared.settings.prove.then(|| root.proof()), true),
        false => tree_of(root, shared, narrower.is_some()),
    };
    let wide = Bounded {
        wider: None,
        proof: program.zip(proof),
    };
    let goes_on = is_stuck && !shared.is_stopped() && !shared.is_closed();
    match narrower.filter(|_| goes_on) {
        Some((program, start)) => narrowed(wide, program, start, shared),
        None => wide,
    }
}

/// Goes on to a narrower program, from a state of the wider one's root.
fn narrowed<P: Problem>(
    wide: Bounded<P::Program>,
    program: Arc<P::Program>,
    start: RootStart<P::Program>,
    shared: &SearchShared<'_, P>,
) -> Bounded<P::Program> {
    let settings = RootSettings {
        stop: Some(shared.stop.clone()),
        ..RootSettings::default()
    };
    let incumbents = &shared.incumbents;
    let bound = incumbents.bound();
    incumbents.begin_tree();
    let start = shared.problem.narrowed(start);
    let Ok(root) = Root::solve_from(program.clone(), &settings, incumbents, start) else {
        return wide;
    };
    if root.is_infeasible() {
        incumbents.prove_infeasible();
    }
    let (proof, _) = tree_of(root, shared, false);
    match incumbents.is_infeasible() || incumbents.bound() > bound {
        true => Bounded {
            wider: Some((program.clone(), bound)),
            proof: Some(program).zip(proof),
        },
        false => wide,
    }
}

/// The tree below a root. Returns the evidence of the bound, if it is requested, and whether the
/// bound can rise no more although the best schedule costs more. `may_stick` ends the tree then.
fn tree_of<P: Problem>(
    mut root: Root<P::Program>,
    shared: &SearchShared<'_, P>,
    may_stick: bool,
) -> (Option<TreeProof<P::Program>>, bool) {
    let settings = shared.settings;
    let of_root = settings.prove.then(|| root.proof());
    if root.is_infeasible() || shared.is_stopped() || shared.is_closed() {
        return (of_root, false);
    }
    // The combinatorial bound may be above the root's.
    root.learn_bound(shared.incumbents.bound());
    if let Some(program) = &shared.program {
        let near = |t: &f64| shared.problem.near(program, root.point(), *t);
        let near: Vec<BitMatrix> = P::THRESHOLDS.iter().rev().map(near).collect();
        shared.polish(&near);
    }
    let tree = TreeSettings {
        gap: settings.gap,
        beyond: shared.has_overtime(),
        nodes: settings.tree_nodes(),
        iterations: match shared.is_timed() {
            true => u64::MAX,
            false => settings.iterations,
        },
        lanes: settings.tree_lanes(),
        prove: settings.prove,
        ends_stuck: may_stick,
        ..TreeSettings::default()
    };
    // If the tree fails, the bound so far stands.
    let Ok(outcome) = price::search(root, &tree, &shared.incumbents, shared) else {
        return (of_root, false);
    };
    if outcome.end == TreeEnd::Infeasible {
        shared.incumbents.prove_infeasible();
    }
    (outcome.proof, outcome.end == TreeEnd::Stuck)
}
