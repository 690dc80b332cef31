//! Bounds from duals: the duals of a linear program, and their mean with the best duals so far.

use super::Relaxation;
use crate::price::Program;
use remat_lp::Solution;
use std::collections::BTreeMap;
use std::time::Instant;

/// Relative lag of a bound behind the value above which duals between two proofs are tried.
const LAG_SHARE: f64 = 2e-3;

/// Rows and duals, and the bound they prove.
#[derive(Clone)]
pub(in crate::price) struct Proof<P: Program> {
    pub bound: u64,
    pub rows: Vec<P::Row>,
    pub duals: Vec<f64>,
}

impl<P: Program> Default for Proof<P> {
    /// A proof of the bound 0, without rows.
    fn default() -> Self {
        Proof {
            bound: 0,
            rows: Vec::new(),
            duals: Vec::new(),
        }
    }
}

impl<P: Program> Proof<P> {
    /// Computes the bound that the duals of some rows prove.
    pub fn of(program: &P, exclusions: &P::Exclusions, rows: &[P::Row], duals: &[f64]) -> Self {
        let priced = rows.iter().zip(duals).filter(|p| *p.1 != 0.0);
        Proof {
            bound: program.lagrangian_bound(exclusions, rows, duals),
            rows: priced.clone().map(|p| p.0.clone()).collect(),
            duals: priced.map(|p| *p.1).collect(),
        }
    }

    /// Computes the bound of the duals half-way to another proof's. The bound is concave in the
    /// duals. While rows and columns are missing, the duals of the linear program jump from solve
    /// to solve, and their midpoint often proves more than either of them.
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
    /// Adopts the bound of some rows and duals.
    pub fn adopt(&mut self, rows: &[P::Row], duals: &[f64]) {
        let master = &self.master;
        self.proof = Proof::of(master.program(), master.exclusions(), rows, duals);
        self.bound = self.bound.max(self.proof.bound);
    }

    /// Computes the safe bound of a solution's duals. If the best bound lags behind the value, it
    /// also tries duals nearer to the best ones so far.
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

    /// Adopts a bound, and also its proof unless the present one is better.
    pub(super) fn take(&mut self, mut proof: Proof<P>) {
        // Exclusions hold below the cutoff only, so the bound is capped there.
        proof.bound = proof.bound.min(self.cutoff);
        self.bound = self.bound.max(proof.bound);
        if proof.bound >= self.proof.bound {
            self.proof = proof;
        }
    }
}
