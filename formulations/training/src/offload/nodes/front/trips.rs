//! The bound of the interval form with copies, and plans near its relaxation.

use super::Searching;
use crate::monet;
use crate::offload::interval::{self, LinkGraph, ProofLimits};
use remat_instances::Semantics;
use remat_instances::plan::Plan;
use remat_instances::schedule::{BitMatrix, CheckmateSchedule, MonetSchedule, Schedule};
use remat_search::SolveError;

impl Searching<'_> {
    /// Proves a bound by the interval form; `shares` of the time left are for the root alone and
    /// for the root with the tree.
    pub(super) fn prove_by_trips(&mut self, shares: [f64; 2]) -> Result<(), SolveError> {
        let (asked, instance) = (self.asked, self.instance);
        if !asked.proven || !self.is_at_once() {
            return Ok(());
        }
        let semantics = asked.formulation.semantics();
        let (phase, budget) = (asked.phase, asked.budget_bytes);
        let semantics = match instance.is_sharded() {
            true => Semantics::Checkmate,
            false => semantics,
        };
        let link = LinkGraph::with_semantics(instance, semantics, phase, budget);
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
        // After an error the known bound stays.
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
            let kept = match instance.is_sharded() {
                true => first(instance.len(), &point.kept(&link, threshold)),
                false => point.kept(&link, threshold),
            };
            for plan in self.plans_of(kept)? {
                self.choose_for(&plan, asked.tuning.probe_share)?;
            }
        }
        Ok(())
    }

    /// Plans without copies that keep the same tensors as a relaxation; they generally exceed the
    /// budget.
    fn plans_of(&self, kept: BitMatrix) -> Result<Vec<Plan>, SolveError> {
        let unsharded = self
            .instance
            .is_sharded()
            .then(|| self.instance.unsharded());
        let instance = unsharded.as_ref().unwrap_or(self.instance);
        let schedules = match self.chooses_implementations() {
            false => vec![CheckmateSchedule::tightest(instance, kept).into()],
            true => self.stored_of(kept).map_or(Vec::new(), |stored| {
                // Implementations that fit the budget, and implementations that fit the memory of
                // the step without recomputation.
                let budget = self.asked.budget_bytes;
                let budgets = [budget, budget.saturating_add(self.room)];
                let whole = budgets.map(|budget| monet::complete(instance, budget, &stored));
                whole.into_iter().flatten().map(Schedule::from).collect()
            }),
        };
        let plan = |schedule: Schedule| Ok(schedule.plan(instance)?.optimised(instance)?);
        schedules.into_iter().map(plan).collect()
    }

    /// Tensors stored at the start of each stage of a MONeT schedule, given the tensors kept at
    /// each node; `None` if the graph has no such stages.
    fn stored_of(&self, kept: BitMatrix) -> Option<BitMatrix> {
        let instance = self.instance;
        let (stages, columns) = MonetSchedule::shape(instance)?;
        let mut stored = BitMatrix::new(stages + 1, columns);
        for stage in 1..stages {
            let node = &instance.nodes()[columns - 1 + stage];
            for i in kept.ones(columns - 1 + stage).filter(|i| *i < columns) {
                stored.set(stage, i, true);
                // A tensor that a backward node reads is also stored after it.
                let mut ways = node.implementations.iter();
                let is_read = ways.any(|way| way.needs.iter().any(|u| u.index() == i));
                if is_read {
                    stored.set(stage + 1, i, true);
                }
            }
        }
        Some(stored)
    }
}

/// The first stages and tensors of a matrix.
fn first(nodes: usize, all: &BitMatrix) -> BitMatrix {
    let mut part = BitMatrix::new(nodes, nodes);
    for stage in 0..nodes {
        for tensor in all.ones(stage).filter(|tensor| *tensor < nodes) {
            part.set(stage, tensor, true);
        }
    }
    part
}
