//! The rule that selects the barrier method when the caller has not chosen a method.

use super::normal::NormalEquations;
use super::program::BarrierProgram;
use super::settings::BarrierTuning;
use crate::model::Model;

/// Rows below which the simplex method is fast in any case.
const LEAST_ROWS: usize = 600;
/// Work of the simplex method, in entries touched, below which it is fast enough.
const LEAST_WORK: f64 = 1e8;
/// Largest sum of squared column lengths; programs above it are left to the simplex method.
const PRODUCTS_LIMIT: u64 = 200_000_000;
/// Assumed number of iterations of the barrier method.
const ITERATIONS: u64 = 30;
/// Entries per row above which simplex pivots are expensive: bases of sparser rows are nearly
/// triangular.
const ENTRIES_PER_ROW: f64 = 12.0;
/// The estimated work of the simplex method is the squared number of entries over this, in entries
/// touched, at [`ENTRIES_PER_ROW`].
const SQUARES_PER_ENTRY: f64 = 3.0;
/// Factor by which the estimate must be better.
const MARGIN: f64 = 1.2;

/// Returns whether the barrier method with crossover is expected to be faster than the simplex
/// method. Compares the work of the factorisations, known from their symbolic part, with an
/// estimate of the pivots from size and density alone. Fitted to Netlib
/// (`bench/results/lp-barrier.csv`).
pub(crate) fn pays(model: &Model) -> bool {
    let (m, nonzeros) = (model.num_rows() as u64, model.num_nonzeros() as u64);
    if model.num_rows() < LEAST_ROWS {
        return false;
    }
    let density = nonzeros as f64 / m as f64 / ENTRIES_PER_ROW;
    let simplex = (nonzeros as f64).powi(2) / SQUARES_PER_ENTRY * density.clamp(0.2, 2.0).powi(2);
    if simplex < LEAST_WORK {
        return false;
    }
    let squares = (0..model.num_cols()).map(|j| (model.col_slices(j).0.len() as u64).pow(2));
    if squares.sum::<u64>() > PRODUCTS_LIMIT {
        return false;
    }
    let program = BarrierProgram::new(model, false);
    let Some(normal) = NormalEquations::new(&program, &BarrierTuning::default()) else {
        return false;
    };
    let solves = 8 * (2 * normal.entries() as u64 + 4 * nonzeros);
    let barrier = ITERATIONS * (normal.factor_ticks + solves);
    simplex > MARGIN * barrier as f64
}
