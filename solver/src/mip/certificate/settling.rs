//! A claim of a search, settled in rational numbers: the point that it rests on, and the proof that
//! none is better.

use super::ExactModel;
use super::equations;
use super::proof::Derivation;
use super::solution::exact_point;
use super::tree::{self, Goal};
use crate::beside::joined;
use crate::mip::exact::Rational;
use crate::mip::outcome::{SolveResult, SolveStatus};
use crate::mip::settings::Settings;
use remat_lp::Model;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// Limits of a tree, and whether it looks for better points.
pub(super) struct TreeLimits<'a> {
    pub searches: bool,
    /// Most nodes; then those that are left.
    pub nodes: u64,
    /// Ticks of the relaxations of a tree.
    pub ticks: u64,
    pub stop: &'a Arc<AtomicBool>,
}

/// A claim, and how it is settled.
pub(crate) struct Settling<'a> {
    model: &'a Model,
    result: &'a SolveResult,
    /// Relative and absolute.
    gaps: (f64, f64),
    /// True if better points are looked for where the claim does not hold to the last digit.
    searches: bool,
    /// Most nodes of a tree, and ticks of its relaxations.
    nodes: u64,
    ticks: u64,
    stop: Arc<AtomicBool>,
}

/// A settled claim: a point that nothing is better than by more than the gaps, or that there is none.
pub(crate) struct Settled {
    pub exact: ExactModel,
    pub point: Option<Vec<Rational>>,
    /// There where there is a point.
    pub goal: Option<Goal>,
    pub(super) proof: Derivation,
    /// Number of lines of the proof that are the model's.
    pub(super) constraints: usize,
}

/// End of one try to prove a claim.
pub(super) enum Attempt {
    Proven,
    /// A point that is feasible, and better than the one claimed.
    Better(Vec<Rational>),
}

/// Bytes of stack for the tree of a proof, which goes down by calls: some kilobytes a level.
const STACK_BYTES: usize = 64 << 20;

/// Problem of a tree that has more nodes than were granted.
pub(crate) const OUT_OF_WORK: &str = "the limit on the work of the proof came first";

/// A search ends that found so many better points one after the other.
const MOST_POINTS: usize = 10_000;

impl<'a> Settling<'a> {
    /// The claim of a finished search.
    pub fn of(
        model: &'a Model,
        result: &'a SolveResult,
        settings: &Settings,
        stop: &Arc<AtomicBool>,
    ) -> Self {
        Settling {
            model,
            result,
            gaps: (settings.relative_gap, settings.absolute_gap),
            searches: settings.exact,
            nodes: u64::MAX,
            ticks: u64::MAX,
            stop: stop.clone(),
        }
    }

    /// The claim of a finished search, of which better points are looked for, in trees that keep to
    /// the limits of a second look.
    pub fn within(
        model: &'a Model,
        result: &'a SolveResult,
        settings: &Settings,
        stop: &Arc<AtomicBool>,
    ) -> Self {
        Settling {
            searches: true,
            nodes: settings.confirmation.nodes,
            ticks: settings.confirmation.ticks,
            ..Settling::of(model, result, settings, stop)
        }
    }

    /// Settles it.
    ///
    /// # Errors
    /// The reason, in words: a search that did not end, a proof that needs more than the duals give,
    /// a limit.
    pub fn run(self) -> Result<Settled, String> {
        thread::scope(|scope| {
            let roomy = thread::Builder::new().stack_size(STACK_BYTES);
            let thread = roomy.spawn_scoped(scope, || self.settled());
            joined(thread.map_err(|e| format!("no thread can be started: {e}"))?)
        })
    }

    fn settled(&self) -> Result<Settled, String> {
        let claimed = match (self.result.status, &self.result.solution) {
            (SolveStatus::Infeasible, None) => None,
            (SolveStatus::Optimal, Some(s)) => Some(s),
            (SolveStatus::Unresolved, s) if self.searches => s.as_ref(),
            _ => return Err("the search has no complete result to prove".into()),
        };
        let exact = ExactModel::new(self.model).ok_or("numbers that are not finite")?;
        let mut point = match claimed {
            None => None,
            Some(s) => match exact_point(self.model, &exact, &s.x) {
                None if !self.searches => {
                    return Err("the solution is feasible within tolerances only".into());
                }
                point => point,
            },
        };
        for _ in 0..MOST_POINTS {
            let goal = point.as_ref();
            let goal = goal.map(|x| Goal::new(&exact, exact.value(x), self.gaps));
            let mut proof = Derivation::new(&exact);
            let constraints = proof.constraints();
            match self.attempt(&exact, goal.as_ref(), &mut proof)? {
                Attempt::Better(found) => point = Some(found),
                Attempt::Proven => {
                    return Ok(Settled {
                        exact,
                        point,
                        goal,
                        proof,
                        constraints,
                    });
                }
            }
        }
        Err(format!(
            "no proof: {MOST_POINTS} points, each better than the one before"
        ))
    }

    fn attempt(
        &self,
        exact: &ExactModel,
        goal: Option<&Goal>,
        proof: &mut Derivation,
    ) -> Result<Attempt, String> {
        if self.stop.load(Ordering::Relaxed) {
            return Err("a limit or an interrupt came first".into());
        }
        if goal.is_none() && equations::contradiction(exact, proof).is_some() {
            return Ok(Attempt::Proven);
        }
        let mut search = TreeLimits {
            searches: self.searches,
            nodes: self.nodes,
            ticks: self.ticks,
            stop: &self.stop,
        };
        let end = tree::prove(self.model, exact, goal, proof, &mut search);
        end.map_err(|problem| match search.nodes {
            0 => OUT_OF_WORK.into(),
            _ => format!("no proof: {problem}"),
        })
    }
}
