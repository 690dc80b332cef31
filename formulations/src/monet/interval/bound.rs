//! The Lagrangian bound in integers, and what it excludes.

use super::price::{AtomPrices, AtomSweep};
use super::{MonetGraph, Row};
use crate::life::{EXCLUSION_PASSES, Exclusions};
use remat_solver::price::{most_below, rounded_up};

/// A lower bound on the cost of every schedule that meets the rows and does nothing but what is
/// permitted, from any multipliers whatever (per byte for memory rows). Wrong signs count as 0.
///
/// Multipliers are rounded to fixed point, and everything after that is integer arithmetic: the
/// right sides priced, for each tensor the cheapest life, for each backward node the cheapest
/// choice. The lives and choices of a schedule are among those minimised over, and its rows hold,
/// so the sum is at most its cost; costs are integers, so it is rounded up. Equations that say
/// nothing but that (first starts, one choice) may have any multiplier, which cancels.
pub fn lagrangian_bound(
    graph: &MonetGraph,
    exclusions: &Exclusions,
    rows: &[Row],
    duals: &[f64],
) -> u64 {
    let Some(fixed) = PricedAtoms::new(graph, rows, duals) else {
        return graph.base_cost();
    };
    let mut total = fixed.worth;
    let mut scratch = AtomSweep::new();
    for i in 0..graph.columns as u32 {
        total += fixed
            .prices
            .sweep(graph, exclusions, i, &mut scratch, |_, _| {});
    }
    for t in several(graph) {
        total += fixed.prices.best_choice(graph, exclusions, t);
    }
    rounded_up(total, fixed.one).max(graph.base_cost())
}

/// Stages with several choices.
fn several(graph: &MonetGraph) -> impl Iterator<Item = usize> {
    (0..graph.stages).filter(|&t| graph.choices[t].len() > 1)
}

/// Excludes the starts, by their ways, the retentions and the choices that no schedule below
/// `target` has, by the duals of some rows: the least cost of a life with one of them, in place of
/// that of the cheapest life, makes the Lagrangian bound one of the schedules that have it. A
/// recomputation without a permitted way to have its inputs is excluded as well.
pub(super) fn exclude(
    graph: &MonetGraph,
    exclusions: &mut Exclusions,
    rows: &[Row],
    duals: &[f64],
    target: u64,
) {
    let Some(fixed) = PricedAtoms::new(graph, rows, duals) else {
        return;
    };
    let prices = &fixed.prices;
    let most = most_below(target, fixed.one);
    let mut scratch = AtomSweep::new();
    for _ in 0..EXCLUSION_PASSES {
        let before = exclusions.excluded();
        let mut least = vec![0; graph.columns];
        let mut total = fixed.worth;
        for (i, least) in least.iter_mut().enumerate() {
            *least = prices.sweep(graph, exclusions, i as u32, &mut scratch, |_, _| {});
            total += *least;
        }
        for t in several(graph) {
            total += prices.best_choice(graph, exclusions, t);
        }
        for t in several(graph) {
            let rest = total - prices.best_choice(graph, exclusions, t);
            let all: Vec<_> = prices.choices(graph, exclusions, t).collect();
            for (price, way) in all {
                if rest + price > most {
                    exclusions.exclude_choice(t, way);
                }
            }
        }
        for (i, least) in least.iter().enumerate() {
            let node = i as u32;
            prices.sweep(graph, exclusions, node, &mut scratch, |_, _| {});
            let rest = total - least;
            let mut starts = Vec::new();
            let mut stored = Vec::new();
            scratch.totals(
                graph.is_forced(node),
                |stage, life| {
                    let ways = prices.starts(graph, exclusions, node, stage);
                    let out = ways.filter(|w| life.is_none_or(|life| rest + life + w.0 > most));
                    starts.extend(out.map(|w| (stage, w.1)));
                },
                |stage, life| {
                    let out = life.is_none_or(|life| rest + life > most);
                    stored.extend(out.then_some(stage));
                },
            );
            for (stage, way) in starts {
                exclusions.exclude_start(node, stage, usize::from(way));
            }
            for stage in stored {
                exclusions.exclude_hold(node, stage);
            }
        }
        exclude_without_inputs(graph, exclusions);
        if exclusions.excluded() == before {
            break;
        }
    }
}

/// Excludes recomputations whose inputs can neither be stored nor computed in the stage.
fn exclude_without_inputs(graph: &MonetGraph, exclusions: &mut Exclusions) {
    for node in 0..graph.columns as u32 {
        // Inputs come before: what they lose is known here.
        for stage in 1..graph.last_stored(node) {
            let may_be = |input: &u32| {
                let mut ways = 0..graph.starts(*input, stage).len();
                exclusions.may_hold(*input, stage)
                    || ways.any(|way| exclusions.may_start(*input, stage, way))
            };
            if graph.needs[node as usize].iter().all(may_be) {
                continue;
            }
            for way in 0..graph.starts(node, stage).len() {
                exclusions.exclude_start(node, stage, way);
            }
        }
    }
}

/// Rows priced in integers.
struct PricedAtoms {
    /// One unit of cost.
    one: i128,
    /// Fixed cost and right sides.
    worth: i128,
    prices: AtomPrices<i128>,
}

impl PricedAtoms {
    /// `None` where numbers would overflow.
    fn new(graph: &MonetGraph, rows: &[Row], duals: &[f64]) -> Option<Self> {
        let most = |list: &[super::StartWay]| {
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
            return None;
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
        let mut worth = i128::from(graph.fixed_cost()) * one;
        for (row, y) in rows.iter().zip(&fixed) {
            worth += y * i128::from(row.right);
        }
        let prices = AtomPrices::new(graph, one, rows.iter().zip(fixed.iter().copied()));
        Some(PricedAtoms { one, worth, prices })
    }
}
