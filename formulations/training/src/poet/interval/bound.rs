//! Pricing, and Lagrangian bounds in integers.

use super::prices::PoetPrices;
use super::rows::{freed_terms, page_terms};
use super::walk::Walk;
use super::{PoetGraph, PoetRow, Trip};
use crate::life::{Exclusions, clamped, fixed_bits};
use remat_solver::price::{Candidate, Columns, Priced, rounded_up};

/// A dual with the sign that its row allows, 0 in place of a wrong one.
fn signed(row: &PoetRow, y: f64) -> f64 {
    clamped(row.sense(), y)
}

/// Prices all trips at duals in units of cost, per byte for memory rows: for each tensor at most
/// `per_block`, and the one from the first computation wherever it pays.
pub(super) fn price(
    poet: &PoetGraph,
    exclusions: &Exclusions,
    rows: &[PoetRow],
    duals: &[f64],
    per_block: usize,
    tolerance: f64,
) -> Priced<Trip> {
    let priced = rows
        .iter()
        .zip(duals)
        .map(|(row, y)| (row, signed(row, *y)));
    let worth = priced
        .clone()
        .map(|(row, y)| y * row.right_side(poet) as f64);
    let mut out = Priced::new(poet.offset() as f64 + worth.sum::<f64>());
    let prices = PoetPrices::new(poet, 1.0, priced);
    let mut walk = Walk::new();
    let mut own = Vec::new();
    for node in 0..poet.len() as u32 {
        walk.go(poet, &prices, exclusions, node);
        out.bound += walk.least;
        walk.trips.retain(|trip| trip.price < -tolerance);
        walk.trips
            .sort_by(|a, b| a.price.total_cmp(&b.price).then(a.stage.cmp(&b.stage)));
        own.clear();
        let best = walk.trips.iter().enumerate();
        let best = best.filter(|(k, trip)| *k < per_block || trip.stage == node);
        own.extend(best.map(|(_, trip)| Candidate {
            reduced_cost: trip.price,
            column: walk.trip(node, trip),
        }));
        out.add_best(&mut own, per_block, |trip| trip.start() == trip.node);
    }
    out.sorted()
}

/// A lower bound on the cost of every schedule that does what is permitted, from any duals
/// whatever.
pub(super) fn lagrangian_bound(
    poet: &PoetGraph,
    exclusions: &Exclusions,
    rows: &[PoetRow],
    duals: &[f64],
) -> u64 {
    let base = rows.iter().zip(duals).filter_map(|(row, y)| match row {
        PoetRow::Base(row) => Some((row, *y)),
        _ => None,
    });
    let Some(bits) = fixed_bits(&poet.graph, base, size(poet, rows, duals)) else {
        return poet.base_cost();
    };
    let one = 1i128 << bits;
    let fixed: Vec<i128> = rows
        .iter()
        .zip(duals)
        .map(|(row, y)| (signed(row, *y) * one as f64) as i128)
        .collect();
    let mut worth = i128::from(poet.offset()) * one;
    for (row, y) in rows.iter().zip(&fixed) {
        worth += y * i128::from(row.right_side(poet));
    }
    let prices = PoetPrices::new(poet, one, rows.iter().zip(fixed.iter().copied()));
    let mut walk = Walk::new();
    for node in 0..poet.len() as u32 {
        walk.go(poet, &prices, exclusions, node);
        worth += walk.least;
    }
    rounded_up(worth, one).max(poet.base_cost())
}

/// A bound on the numbers that pages bring.
fn size(poet: &PoetGraph, rows: &[PoetRow], duals: &[f64]) -> f64 {
    let n = poet.len() as f64;
    let mut size = 1.0 + poet.pages_upper_bound() as f64;
    for (row, y) in rows.iter().zip(duals) {
        let mut terms = 0.0;
        match row {
            PoetRow::Base(row) => {
                page_terms(poet, row, None, |term| {
                    terms += term.coefficient.unsigned_abs() as f64;
                });
                freed_terms(poet, row, |_, _, worth| {
                    terms += worth.unsigned_abs() as f64
                });
            }
            PoetRow::Once { .. } => terms = 3.0,
            PoetRow::Ends { .. } => terms = 2.0,
            PoetRow::Pages { count, .. } => terms = 1.0 + f64::from(*count),
        }
        size += y.abs() * (terms * n + 1.0);
    }
    size
}
