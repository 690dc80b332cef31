//! The Lagrangian bound in integers.

use super::price::Prices;
use super::{Graph, Row};

/// A lower bound on the cost of every schedule that meets the rows, from any multipliers whatever (per byte for memory rows).
/// Wrong signs count as 0.
///
/// Multipliers are rounded to fixed point, and everything after that is integer arithmetic: the right sides priced, for each
/// tensor the cheapest life, for each backward node the cheapest choice. The lives and choices of a schedule are
/// among those minimised over, and its rows hold, so the sum is at most its cost; costs are integers, so it is rounded up.
/// Equations that say nothing but that (first starts, one choice) may have any multiplier, which cancels.
pub fn lagrangian_bound(graph: &Graph, rows: &[Row], duals: &[f64]) -> u64 {
    let base = graph.base_cost();
    let most = |list: &[super::Start]| {
        let scratch = list.iter().map(|s| s.workspace.unsigned_abs()).max();
        scratch.unwrap_or(0) as f64
    };
    let scratch: f64 = (0..graph.columns)
        .map(|i| most(&graph.first[i]).max(most(&graph.again[i])))
        .sum();
    let steps = (graph.columns * (graph.stages + 2)) as f64;
    // A bound on every number that occurs, so that fixed point does not overflow.
    let mut size = 1.0 + graph.costliest() as f64;
    for (row, y) in rows.iter().zip(duals) {
        let terms: f64 = row
            .terms
            .iter()
            .map(|t| t.size() + if t.has_workspace() { scratch } else { 0.0 })
            .sum();
        size += y.abs() * (terms * steps + row.right.unsigned_abs() as f64);
    }
    let bits = (118.0 - size.log2()).floor().min(60.0);
    if bits.is_nan() || bits < 8.0 {
        return base;
    }
    let one = 1i128 << bits as u32;
    let fixed: Vec<i128> = rows
        .iter()
        .zip(duals)
        .map(|(row, &y)| {
            let y = match (row.is_equation(), row.is_memory()) {
                (true, _) => y,
                (_, true) => y.min(0.0),
                _ => y.max(0.0),
            };
            (y * one as f64) as i128
        })
        .collect();
    let mut total = i128::from(graph.fixed_cost()) * one;
    for (row, y) in rows.iter().zip(&fixed) {
        total += y * i128::from(row.right);
    }
    let prices = Prices::new(graph, one, rows.iter().zip(fixed.iter().copied()));
    for i in 0..graph.columns as u32 {
        total += prices.sweep(graph, i, |_, _| {});
    }
    for t in (0..graph.stages).filter(|&t| graph.choices[t].len() > 1) {
        total += prices.best_choice(graph, t);
    }
    let up = total.div_euclid(one) + i128::from(total.rem_euclid(one) > 0);
    u64::try_from(up).unwrap_or(0).max(base)
}
