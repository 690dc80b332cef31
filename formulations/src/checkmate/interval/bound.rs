//! The Lagrangian bound in integers.

use super::price::{Prices, SweepScratch};
use super::{Graph, Row};

/// A lower bound on the cost of every schedule that fits, from any duals whatever, per byte for memory rows. Wrong signs
/// count as 0.
///
/// Duals are rounded to fixed point, and everything after that is integer arithmetic: the right sides priced, plus for
/// each tensor the cheapest set of disjoint intervals. All rows hold at every schedule, so the sum is at most its cost;
/// costs are integers, so it is rounded up.
pub fn lagrangian_bound(graph: &Graph, rows: &[Row], duals: &[f64]) -> u64 {
    let base = graph.base_cost();
    let all_bytes: f64 = (0..graph.len())
        .map(|i| (graph.bytes[i] + graph.workspace[i]) as f64)
        .sum::<f64>()
        + graph.capacity as f64;
    // A bound on every number that occurs, so that fixed point does not overflow.
    let n = graph.len() as f64;
    let mut size = 1.0 + base as f64;
    for (row, y) in rows.iter().zip(duals) {
        let factor = if row.is_memory() { n * all_bytes } else { n };
        size += y.abs() * factor;
    }
    let bits = (116.0 - (size * n).log2()).floor().min(60.0);
    if bits.is_nan() || bits < 8.0 {
        return base;
    }
    let one = 1i128 << bits as u32;
    let mut total: i128 = i128::from(base) * one;
    let fixed: Vec<i128> = rows
        .iter()
        .zip(duals)
        .map(|(row, &y)| {
            let price = if row.is_memory() { -y } else { y };
            // At most 2^116 by the choice of bits.
            (price.max(0.0) * one as f64) as i128
        })
        .collect();
    for (row, &y) in rows.iter().zip(&fixed) {
        let right = i128::from(row.right_side(graph));
        total += if row.is_memory() {
            -y * right
        } else {
            y * right
        };
    }
    let prices = Prices::new(graph, rows.iter().zip(fixed.iter().copied()));
    let mut scratch = SweepScratch::new(one);
    for i in 0..graph.len() {
        total += prices.sweep(graph, i, &mut scratch, |_, _| {});
    }
    let up = total.div_euclid(one) + i128::from(total.rem_euclid(one) > 0);
    // Recomputing nothing is the least there can be.
    u64::try_from(up).unwrap_or(0).max(base)
}
