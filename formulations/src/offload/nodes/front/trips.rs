//! The bound of the interval form with copies, and plans near its relaxation.

use super::Searching;
use crate::offload::interval::{self, LinkGraph, ProofLimits};
use crate::solve::SolveError;
use remat_instances::schedule::{CheckmateSchedule, Schedule, Semantics};

impl Searching<'_> {
    /// Proves by the interval form: shares of the time left for the root, and with the tree.
    pub(super) fn prove_by_trips(&mut self, shares: [f64; 2]) -> Result<(), SolveError> {
        let (asked, instance) = (self.asked, self.instance);
        if asked.formulation.semantics() != Semantics::Checkmate {
            return Ok(());
        }
        let link = LinkGraph::new(instance, asked.phase, asked.budget_bytes);
        let Some(link) = link else {
            return Ok(());
        };
        self.has_trips = true;
        let left = self.watch.left();
        let limits = ProofLimits {
            time: left.map(|left| shares.map(|share| left.mul_f64(share))),
            iterations: [4, 2].map(|part| self.settings.iterations / part),
            nodes: self.settings.nodes,
            gap: self.settings.gap,
            prove: self.is_certified(),
        };
        let (bound, cost) = (self.answer.outcome.bound, self.cost());
        let is_over = || self.watch.is_over();
        let work = || interval::prove(link.clone(), bound, cost, &limits, &is_over);
        // What it cannot do leaves the bound that is known.
        let Ok(proven) = self.pool.install(work) else {
            return Ok(());
        };
        self.learn(proven.bound);
        if let Some(tree) = &proven.proof {
            let proof = interval::tree_proof(instance, asked.budget_bytes, &link, tree);
            self.certify_by(proof);
        }
        self.answer.outcome.nodes += proven.nodes;
        self.answer.outcome.lp_iterations += proven.iterations;
        for threshold in asked.tuning.trip_thresholds {
            let Some(point) = proven.point.as_ref().filter(|_| !self.is_done()) else {
                break;
            };
            let kept = point.kept(&link, threshold);
            let schedule = Schedule::Checkmate(CheckmateSchedule::tightest(instance, kept));
            let plan = schedule.plan(instance)?.optimised(instance)?;
            self.choose_for(&plan, asked.tuning.probe_share)?;
        }
        Ok(())
    }
}
