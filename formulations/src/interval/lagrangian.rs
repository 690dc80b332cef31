//! Bounds from duals, and duals between those of a linear program and the best so far.

use super::{Permits, Program};
use std::collections::BTreeMap;

/// Rows and duals, and the bound they prove.
#[derive(Clone)]
pub(super) struct Proof<P: Program> {
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
    /// What the duals of some rows prove.
    pub fn of(program: &P, permits: &Permits, rows: &[P::Row], duals: &[f64]) -> Self {
        let priced = rows.iter().zip(duals).filter(|p| *p.1 != 0.0);
        Proof {
            bound: program.lagrangian_bound(permits, rows, duals),
            rows: priced.clone().map(|p| p.0.clone()).collect(),
            duals: priced.map(|p| *p.1).collect(),
        }
    }

    /// What the duals half-way to another proof's prove. The bound is concave in the duals, those of a linear program jump from
    /// solve to solve as long as rows and columns are missing, and what is between two of them is often better than both.
    pub fn between(&self, other: &Self, program: &P, permits: &Permits) -> Self {
        let mut duals: BTreeMap<&P::Row, f64> = BTreeMap::new();
        for proof in [self, other] {
            for (row, dual) in proof.rows.iter().zip(&proof.duals) {
                *duals.entry(row).or_insert(0.0) += 0.5 * dual;
            }
        }
        let rows: Vec<P::Row> = duals.keys().map(|row| (*row).clone()).collect();
        let duals: Vec<f64> = duals.into_values().collect();
        Proof {
            bound: program.lagrangian_bound(permits, &rows, &duals),
            rows,
            duals,
        }
    }
}
