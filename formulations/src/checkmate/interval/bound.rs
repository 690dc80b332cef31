//! The Lagrangian bound in integers, and what it excludes.

use super::price::IntervalPrices;
use super::sweep::IntervalSweep;
use super::{CheckmateGraph, Row};
use crate::life::{EXCLUSION_PASSES, Exclusions};
use remat_solver::price::{most_below, rounded_up};

/// A lower bound on the cost of every schedule that fits and does nothing but what is permitted,
/// from any duals whatever, per byte for memory rows. Wrong signs count as 0.
///
/// Duals are rounded to fixed point, and everything after that is integer arithmetic: the right
/// sides priced, plus for each tensor the cheapest set of disjoint intervals. All rows hold at
/// every schedule, so the sum is at most its cost; costs are integers, so it is rounded up.
pub fn lagrangian_bound(
    graph: &CheckmateGraph,
    exclusions: &Exclusions,
    rows: &[Row],
    duals: &[f64],
) -> u64 {
    let Some(fixed) = PricedIntervals::new(graph, rows, duals) else {
        return graph.base_cost();
    };
    let mut total = fixed.worth;
    let mut scratch = IntervalSweep::new(fixed.one);
    for i in 0..graph.len() {
        total += fixed
            .prices
            .sweep(graph, exclusions, i, &mut scratch, |_, _| {});
    }
    // Recomputing nothing is the least there can be.
    rounded_up(total, fixed.one).max(graph.base_cost())
}

/// Excludes the starts and retentions that no schedule below `target` has, by the duals of some
/// rows.
///
/// The least cost of a set of disjoint intervals with a start, in place of that of the cheapest
/// set, makes the Lagrangian bound one of the schedules with that start. A recomputation without a
/// permitted way to have its inputs is excluded as well.
pub(super) fn exclude(
    graph: &CheckmateGraph,
    exclusions: &mut Exclusions,
    rows: &[Row],
    duals: &[f64],
    target: u64,
) {
    let Some(fixed) = PricedIntervals::new(graph, rows, duals) else {
        return;
    };
    let mut scratch = IntervalSweep::new(fixed.one);
    for _ in 0..EXCLUSION_PASSES {
        let before = exclusions.excluded();
        let mut least = vec![0; graph.len()];
        let mut total = fixed.worth;
        for (i, least) in least.iter_mut().enumerate() {
            *least = fixed
                .prices
                .sweep(graph, exclusions, i, &mut scratch, |_, _| {});
            total += *least;
        }
        let most = most_below(target, fixed.one);
        for (i, least) in least.iter().enumerate() {
            let node = i as u32;
            fixed
                .prices
                .sweep(graph, exclusions, i, &mut scratch, |_, _| {});
            let is_out = |set: Option<i128>| set.is_none_or(|set| total - least + set > most);
            let mut starts = Vec::new();
            let mut holds = Vec::new();
            scratch.totals(
                |slot| slot > 0 && exclusions.may_hold(node, node + slot as u32),
                |slot, set| starts.extend((slot > 0 && is_out(set)).then_some(slot)),
                |slot, set| holds.extend((slot > 0 && is_out(set)).then_some(slot)),
            );
            for slot in starts {
                exclusions.exclude_start(node, node + slot as u32, 0);
            }
            for slot in holds {
                exclusions.exclude_hold(node, node + slot as u32);
            }
        }
        exclude_without_inputs(graph, exclusions);
        if exclusions.excluded() == before {
            break;
        }
    }
}

/// Excludes recomputations whose inputs can neither be held nor computed in the stage, and those
/// of by-products whose parents cannot be computed there.
fn exclude_without_inputs(graph: &CheckmateGraph, exclusions: &mut Exclusions) {
    for node in 0..graph.len() as u32 {
        // Inputs come before: what they lose is known here.
        for stage in graph.stages_again(node as usize) {
            let may_be = |input: &u32| {
                exclusions.may_hold(*input, stage) || exclusions.may_start(*input, stage, 0)
            };
            let with_parent = |parent: u32| exclusions.may_start(parent, stage, 0);
            let is_possible = graph.needs[node as usize].iter().all(may_be)
                && graph.parent[node as usize].is_none_or(with_parent);
            if !is_possible {
                exclusions.exclude_start(node, stage, 0);
            }
        }
    }
}

/// Rows priced in integers.
struct PricedIntervals {
    /// One unit of cost.
    one: i128,
    /// Cost of computing everything once, and the right sides.
    worth: i128,
    prices: IntervalPrices<i128>,
}

impl PricedIntervals {
    /// `None` where numbers would overflow.
    fn new(graph: &CheckmateGraph, rows: &[Row], duals: &[f64]) -> Option<Self> {
        let (bits, fixed) = multipliers(graph, rows, duals)?;
        let one = 1i128 << bits;
        let mut worth = i128::from(graph.base_cost()) * one;
        for (row, &y) in rows.iter().zip(&fixed) {
            let right = i128::from(row.right_side(graph));
            worth += match row.is_memory() {
                true => -y * right,
                false => y * right,
            };
        }
        let prices = IntervalPrices::new(graph, rows.iter().zip(fixed.iter().copied()));
        Some(PricedIntervals { one, worth, prices })
    }
}

/// Duals in fixed point with so many bits behind the point, at least 0, those of memory rows as
/// prices of a byte; `None` where numbers would overflow.
pub(super) fn multipliers(
    graph: &CheckmateGraph,
    rows: &[Row],
    duals: &[f64],
) -> Option<(u32, Vec<i128>)> {
    let all_bytes: f64 = (0..graph.len())
        .map(|i| (graph.bytes[i] + graph.workspace[i].max(graph.workspace_again[i])) as f64)
        .sum::<f64>()
        + graph.capacity as f64;
    // A bound on every number that occurs, so that fixed point does not overflow.
    let n = graph.len() as f64;
    let mut size = 1.0 + graph.base_cost() as f64;
    for (row, y) in rows.iter().zip(duals) {
        let factor = match row {
            Row::Cover(at) => n * at.total(),
            row if row.is_memory() => n * all_bytes,
            _ => n,
        };
        size += y.abs() * factor;
    }
    let bits = (116.0 - (size * n).log2()).floor().min(60.0);
    if bits.is_nan() || bits < 8.0 {
        return None;
    }
    let bits = bits as u32;
    let one = (1i128 << bits) as f64;
    let fixed = rows.iter().zip(duals).map(|(row, &y)| {
        let price = if row.is_memory() { -y } else { y };
        // At most 2^116 by the choice of bits.
        (price.max(0.0) * one) as i128
    });
    Some((bits, fixed.collect()))
}
