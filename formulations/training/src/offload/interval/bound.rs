//! Pricing, and Lagrangian bounds in integers.
//!
//! Idle time is unbounded, so its reduced cost must not be negative. The duals of the windows over
//! a stage must therefore add up to at most the cost of idle time. If they exceed it in some stage,
//! the duals of all windows are scaled down.

use super::prices::LinkPrices;
use super::walk::Walk;
use super::{LinkGraph, LinkRow, Trip};
use crate::checkmate::interval::Row;
use crate::life::{Exclusions, clamped, fixed_bits};
use remat_solver::price::{Candidate, Columns, Priced, rounded_up};

/// A dual with the sign that its row allows, 0 in place of a wrong one.
fn signed(row: &LinkRow, y: f64) -> f64 {
    clamped(row.sense(), y)
}

/// Prices all trips at duals in units of cost, per byte for memory rows. Each tensor gets at most
/// `per_block` trips, and the trip from the first computation if its reduced cost is negative.
pub(super) fn price(
    link: &LinkGraph,
    exclusions: &Exclusions,
    rows: &[LinkRow],
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
        .map(|(row, y)| y * row.right_side(link) as f64);
    let mut out = Priced::new(link.offset() as f64 + worth.sum::<f64>());
    let prices = LinkPrices::new(link, 1.0, priced);
    let mut walk = Walk::new();
    let mut own = Vec::new();
    for node in 0..link.len() as u32 {
        walk.go(link, &prices, exclusions, node);
        out.bound += walk.least;
        walk.trips.retain(|trip| trip.price < -tolerance);
        walk.trips
            .sort_by(|a, b| a.price.total_cmp(&b.price).then(a.stage.cmp(&b.stage)));
        own.clear();
        let best = walk.trips.iter().enumerate();
        let best = best.filter(|(k, trip)| *k < per_block || trip.stage == node);
        own.extend(best.map(|(_, trip)| Candidate {
            reduced_cost: trip.price,
            column: walk.trip(link, node, trip),
        }));
        out.add_best(&mut own, per_block, |trip| !trip.is_recomputed());
    }
    out.bound += prices.of_ways(link);
    out.sorted()
}

/// A lower bound on the makespan of every plan that respects the exclusions, from any duals.
pub(super) fn lagrangian_bound(
    link: &LinkGraph,
    exclusions: &Exclusions,
    rows: &[LinkRow],
    duals: &[f64],
) -> u64 {
    let Some((bits, fixed)) = fixed(link, rows, duals) else {
        return link.base_cost();
    };
    let one = 1i128 << bits;
    let mut worth = i128::from(link.offset()) * one;
    for (row, y) in rows.iter().zip(&fixed) {
        worth += y * i128::from(row.right_side(link));
    }
    let prices = LinkPrices::new(link, one, rows.iter().zip(fixed.iter().copied()));
    let mut walk = Walk::new();
    for node in 0..link.len() as u32 {
        walk.go(link, &prices, exclusions, node);
        worth += walk.least;
    }
    worth += prices.of_ways(link);
    rounded_up(worth, one).max(link.base_cost())
}

/// Duals in fixed point, with their number of fractional bits. Duals of windows are scaled so that
/// the reduced cost of idle time is not negative. `None` if numbers would overflow.
pub(super) fn fixed(link: &LinkGraph, rows: &[LinkRow], duals: &[f64]) -> Option<(u32, Vec<i128>)> {
    let base = rows.iter().zip(duals).filter_map(|(row, y)| match row {
        LinkRow::Base(row) => Some((row, *y)),
        _ => None,
    });
    let bits = fixed_bits(&link.graph, base, size(link, rows, duals))?;
    let load = load(link, rows, duals);
    let unit = link.unit as f64;
    let most = load.iter().copied().fold(0.0, f64::max);
    // Slightly below the limit, because of rounding errors.
    let share = match most > unit * (1.0 - 1e-12) {
        true => unit / most * (1.0 - 1e-9),
        false => 1.0,
    };
    let one = (1i128 << bits) as f64;
    let fixed: Vec<i128> = rows
        .iter()
        .zip(duals)
        .map(|(row, y)| {
            let share = match row {
                LinkRow::Window { .. } => share,
                _ => 1.0,
            };
            (signed(row, *y) * share * one) as i128
        })
        .collect();
    // The load in integers must not exceed the cost of idle time.
    let mut loads = vec![0i128; link.len()];
    for (row, y) in rows.iter().zip(&fixed) {
        for (stage, load) in (0..).zip(&mut loads) {
            *load += y * i128::from(row.of_idle(stage));
        }
    }
    let most = i128::from(link.unit) << bits;
    loads
        .iter()
        .all(|load| *load <= most)
        .then_some((bits, fixed))
}

/// Sum of the duals of windows by stage.
fn load(link: &LinkGraph, rows: &[LinkRow], duals: &[f64]) -> Vec<f64> {
    let mut load = vec![0.0; link.len()];
    for (row, y) in rows.iter().zip(duals) {
        if matches!(row, LinkRow::Window { .. }) {
            for (stage, load) in (0..).zip(&mut load) {
                *load += signed(row, *y) * row.of_idle(stage) as f64;
            }
        }
    }
    load
}

/// An upper bound on the numbers that the link adds.
fn size(link: &LinkGraph, rows: &[LinkRow], duals: &[f64]) -> f64 {
    let copies = link.copies.iter().flatten().flatten();
    let copies: f64 = copies.map(|time| *time as f64).sum();
    let n = link.len() as f64;
    let again: f64 = link.again.iter().map(|time| *time as f64).sum();
    let bytes: f64 = link.graph.bytes.iter().map(|b| *b as f64).sum();
    // In every row a way counts for at most its excess over the least values, or once.
    let ways = n * link.ways.size();
    let mut size = 1.0 + n * link.cost_of_all_pages() as f64;
    let freed: f64 = link
        .freed_again
        .iter()
        .map(|f| n * (f.1 as f64 + bytes))
        .sum();
    for (row, y) in rows.iter().zip(duals) {
        size += y.abs() * ways;
        size += y.abs()
            * match row {
                LinkRow::Base(row) => match row {
                    // Copies back that are read within the window.
                    Row::Path(cut) => cut.path.len() as f64 * n,
                    Row::Memory { .. } => freed,
                    _ => 0.0,
                },
                LinkRow::Choose { .. } | LinkRow::Way { .. } | LinkRow::Scatters { .. } => 1.0,
                LinkRow::Reads { .. } => n + 1.0,
                LinkRow::Leaves { count, .. } => n + f64::from(*count),
                LinkRow::Window { .. } => {
                    n * (copies + again) + row.right_side(link).unsigned_abs() as f64
                }
                LinkRow::Host { .. } => n * bytes + row.right_side(link).unsigned_abs() as f64,
            };
    }
    size + n * n * link.unit as f64
}
