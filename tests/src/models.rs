//! Helpers for models: random orders, and violations of points.

use crate::graphs::Numbers;
use remat_lp::{Bounds, ColId, Model, RowId};

/// The numbers below `len` in random order.
pub fn shuffled(len: usize, numbers: &mut Numbers) -> Vec<usize> {
    let mut order: Vec<usize> = (0..len).collect();
    for k in (1..len).rev() {
        order.swap(k, numbers.below(k as u64 + 1) as usize);
    }
    order
}

/// Largest violation of a row or a bound at a point; 0 for a point of the model.
pub fn violation(model: &Model, x: &[f64]) -> f64 {
    let over = |bounds: Bounds, value: f64| (bounds.lower - value).max(value - bounds.upper);
    let rows = (0..model.num_rows() as u32).map(RowId).map(|row| {
        let activity: f64 = model.row(row).map(|(c, v)| v * x[c.index()]).sum();
        over(model.row_bounds(row), activity)
    });
    let columns = (0..model.num_cols() as u32).map(ColId);
    let columns = columns.map(|c| over(model.col_bounds(c), x[c.index()]));
    rows.chain(columns).fold(0.0, f64::max)
}
