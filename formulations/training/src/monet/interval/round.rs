//! Rounded memory rows: they remove room that a relaxation could use and no schedule can.
//!
//! Mixed-integer rounding, as in [`Gauge`](crate::checkmate::Gauge). Its function of sizes is
//! superadditive and increasing, negative sizes included, so it may be applied to each term of a
//! row. If several terms count a column, the sum of their rounded values is at most the rounded
//! sum.

use super::{Derivation, MonetGraph, Point, Row, RowKind};
use crate::life::{Atom, Term, Which};

/// Divisors that are tried: the sizes that most tensors have.
const UNITS: usize = 16;
/// The least divisor and the least gain of rounding, as parts of the room: one in so many.
const LEAST_UNIT: i64 = 500;
const LEAST_GAIN: i64 = 1000;
/// Violation below which a row is left alone, as a share of the room.
const VIOLATION: f64 = 5e-4;
/// Share of the room that must be in use for a row to be rounded.
const FULL: f64 = 0.97;

impl Row {
    /// The row rounded by a unit; `None` if the gain is negligible or the row is no memory row.
    pub fn rounded(&self, graph: &MonetGraph, unit: i64) -> Option<Row> {
        if !self.is_memory() || unit <= 0 || self.right < unit {
            return None;
        }
        let rest = self.right % unit;
        if rest <= self.right / LEAST_GAIN {
            return None;
        }
        let round = |size: i64| {
            let over = i128::from((size.rem_euclid(unit) - rest).max(0));
            // Less than the unit: the quotient fits.
            let over = over * i128::from(unit) / i128::from(unit - rest);
            size.div_euclid(unit) * unit + over as i64
        };
        let mut terms = Vec::new();
        let mut push = |term: Term| {
            if term.coefficient != 0 {
                terms.push(term);
            }
        };
        for term in &self.terms {
            if let Atom::Start {
                node,
                first,
                last,
                which: Which::WithWorkspace,
            } = term.atom
            {
                // One size after the other: the increase by the next larger workspace.
                let starts = graph.starts(node, first).iter();
                let mut sizes: Vec<i64> = starts.map(|s| s.workspace).collect();
                sizes.sort_unstable();
                sizes.dedup();
                let mut before = 0;
                for (k, size) in sizes.into_iter().enumerate() {
                    let all = round(term.coefficient + size);
                    let which = match k {
                        0 => Which::All,
                        _ => Which::AtLeast(size),
                    };
                    push(Term::start(node, first, last, which, all - before));
                    before = all;
                }
                continue;
            }
            push(Term {
                coefficient: round(term.coefficient),
                ..*term
            });
        }
        let of = self.derivation.clone();
        let derivation = Derivation::Rounded { of, unit };
        Some(Row::new(
            RowKind::Rounded,
            self.right - rest,
            terms,
            derivation,
        ))
    }
}

/// Sizes to round by.
pub(super) fn units(graph: &MonetGraph) -> Vec<i64> {
    let room = graph.room[0].max(1);
    let mut sizes = graph.bytes.clone();
    sizes.sort_unstable();
    let mut units: Vec<(usize, i64)> = sizes
        .chunk_by(|a, b| a == b)
        .map(|same| (same.len(), same[0]))
        .filter(|&(_, unit)| unit > room / LEAST_UNIT && unit <= room)
        .collect();
    units.sort_by_key(|&(tensors, unit)| std::cmp::Reverse((tensors, unit)));
    units.truncate(UNITS);
    units.into_iter().map(|u| u.1).collect()
}

/// Violated memory rows, rounded by one of some units, with their violations as shares of the room.
/// Only the fullest moments of each stage are tried.
pub(super) fn separate(graph: &MonetGraph, point: &Point, units: &[i64]) -> Vec<(f64, Row)> {
    if units.is_empty() {
        return Vec::new();
    }
    let spare = (1.0 - FULL) * graph.room[0].max(0) as f64;
    let full = point.violated_memory(graph, -spare, 2, |_| false);
    let mut found = Vec::new();
    for row in full {
        let rounded = units.iter().filter_map(|&unit| row.rounded(graph, unit));
        let best = rounded
            .map(|r| {
                let over = point.activity(graph, &r) - r.right as f64;
                (over / r.right as f64, r)
            })
            .filter(|r| r.0 > VIOLATION);
        found.extend(best.max_by(|a, b| a.0.total_cmp(&b.0)));
    }
    found
}
