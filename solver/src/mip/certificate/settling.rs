//! Exact confirmation of a search's claim in rational numbers: its point, and the proof that no
//! point is better.

use super::ExactModel;
use super::equations;
use super::proof::Derivation;
use super::solution::{exact_point, point_near};
use super::tree::{self, Goal};
use crate::beside::joined;
use crate::mip::exact::Rational;
use crate::mip::extend::StatedRows;
use crate::mip::outcome::{SolveResult, SolveStatus};
use crate::mip::settings::Settings;
use remat_lp::Model;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// Limits of a tree, and whether it looks for better points.
pub(super) struct TreeLimits<'a> {
    pub searches: bool,
    /// Limit on nodes; afterwards, the number of remaining nodes.
    pub nodes: u64,
    /// Ticks of the relaxations of a tree.
    pub ticks: u64,
    pub stop: &'a Arc<AtomicBool>,
}

/// A claim, and the limits for its confirmation.
pub(crate) struct Settling<'a> {
    model: &'a Model,
    result: &'a SolveResult,
    /// Relative and absolute.
    gaps: (f64, f64),
    /// True if better points are wanted where the claim does not hold exactly.
    searches: bool,
    /// Limits on the nodes of a tree, and on the ticks of its relaxations.
    nodes: u64,
    ticks: u64,
    /// Rows that the proof may state beside the model's.
    stated: Option<&'a dyn StatedRows>,
    stop: Arc<AtomicBool>,
}

/// A confirmed claim: a point that is optimal within the gaps, or infeasibility.
pub(crate) struct Settled {
    pub exact: ExactModel,
    pub point: Option<Vec<Rational>>,
    /// `Some` if there is a point.
    pub goal: Option<Goal>,
    pub(super) proof: Derivation,
    /// Number of the proof's lines that belong to the model.
    pub(super) constraints: usize,
}

/// End of one attempt to prove a claim.
pub(super) enum Attempt {
    Proven,
    /// A feasible point that is better than the claimed one.
    Better(Vec<Rational>),
}

/// Bytes of stack for the tree of a proof, which recurses: some kilobytes a level.
const STACK_BYTES: usize = 64 << 20;

/// Error of a tree that exceeds its limits on nodes or ticks.
pub(crate) const OUT_OF_WORK: &str = "the limit on the work of the proof came first";

/// Limit on the consecutive better points of one confirmation.
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
            stated: None,
            stop: stop.clone(),
        }
    }

    /// The claim of a finished search, with a search for better points, in trees within the limits
    /// of a confirmation.
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

    /// The same with rows that the proof may state beside the model's.
    pub fn with_stated(self, stated: Option<&'a dyn StatedRows>) -> Self {
        Settling { stated, ..self }
    }

    /// Confirms the claim.
    ///
    /// # Errors
    /// The reason in words: an unfinished search, a proof beyond the duals, or a limit.
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
            Some(s) => match self.exact_point(&exact, &s.x) {
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

    fn exact_point(&self, exact: &ExactModel, x: &[f64]) -> Option<Vec<Rational>> {
        match self.stated {
            Some(stated) => point_near(exact, x, stated),
            None => exact_point(self.model, exact, x),
        }
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
        let end = tree::prove(self.model, exact, goal, proof, self.stated, &mut search);
        end.map_err(|problem| match search.nodes {
            0 => OUT_OF_WORK.into(),
            _ => format!("no proof: {problem}"),
        })
    }
}
