//! Bounds from duals, and duals between those of a linear program and the best so far.

use super::Relaxation;
use crate::price::Program;
use remat_lp::Solution;
use std::collections::BTreeMap;
use std::time::Instant;

/// Share of the value by which a bound may lag behind it before duals between two proofs are tried.
const LAG_SHARE: f64 = 2e-3;

/// Rows and duals, and the bound they prove.
#[derive(Clone)]
pub(in crate::price) struct Proof<P: Program> {
    pub bound: u64,
    pub rows: Vec<P::Row>,
    pub duals: Vec<f64>,
}

impl<P: Program> Default for Proof<P> {
    /// Nothing.
    fn default() -> Self {
        Proof {
            bound: 0,
            rows: Vec::new(),
            duals: Vec::new(),
        }
    }
}

impl<P: Program> Proof<P> {
    /// Computes what the duals of some rows prove.
    pub fn of(program: &P, exclusions: &P::Exclusions, rows: &[P::Row], duals: &[f64]) -> Self {
        let priced = rows.iter().zip(duals).filter(|p| *p.1 != 0.0);
        Proof {
            bound: program.lagrangian_bound(exclusions, rows, duals),
            rows: priced.clone().map(|p| p.0.clone()).collect(),
            duals: priced.map(|p| *p.1).collect(),
        }
    }

    /// Computes what the duals half-way to another proof's prove. The bound is concave in the
    /// duals, those of a linear program jump from solve to solve as long as rows and columns are
    /// missing, and what is between two of them is often better than both.
    pub fn between(&self, other: &Self, program: &P, exclusions: &P::Exclusions) -> Self {
        let mut duals: BTreeMap<&P::Row, f64> = BTreeMap::new();
        for proof in [self, other] {
            for (row, dual) in proof.rows.iter().zip(&proof.duals) {
                *duals.entry(row).or_insert(0.0) += 0.5 * dual;
            }
        }
        let rows: Vec<P::Row> = duals.keys().map(|row| (*row).clone()).collect();
        let duals: Vec<f64> = duals.into_values().collect();
        Proof {
            bound: program.lagrangian_bound(exclusions, &rows, &duals),
            rows,
            duals,
        }
    }
}

impl<P: Program> Relaxation<P> {
    /// Takes over the bound of some rows and duals.
    pub fn adopt(&mut self, rows: &[P::Row], duals: &[f64]) {
        let master = &self.master;
        self.proof = Proof::of(master.program(), master.exclusions(), rows, duals);
        self.bound = self.bound.max(self.proof.bound);
    }

    /// Computes the safe bound of a solution's duals, and of some that are nearer the best so far
    /// where it lags behind the value.
    pub(super) fn prove(&mut self, solution: &Solution) {
        let clock = Instant::now();
        let master = &self.master;
        let (program, exclusions) = (master.program(), master.exclusions());
        let mut proof = Proof::of(program, exclusions, master.rows(), &master.duals(solution));
        let best = proof.bound.max(self.proof.bound) as f64;
        if self.proof.bound > 0 && best < (1.0 - LAG_SHARE) * master.value(solution) {
            let between = self.proof.between(&proof, program, exclusions);
            if between.bound > proof.bound {
                proof = between;
            }
        }
        self.take(proof);
        self.spent.pricing += clock.elapsed();
    }

    /// Takes over a bound, and its proof where none is better.
    pub(super) fn take(&mut self, mut proof: Proof<P>) {
        // Exclusions hold below the cutoff, so no bound is above it.
        proof.bound = proof.bound.min(self.cutoff);
        self.bound = self.bound.max(proof.bound);
        if proof.bound >= self.proof.bound {
            self.proof = proof;
        }
    }
}
