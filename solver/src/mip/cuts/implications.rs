//! Implications of one binary, found by probing (Savelsbergh 1994): bounds of other columns that no
//! row with only these two columns states. They feed the clique table and the variable bounds of
//! mixed-integer rounding, and are cuts themselves.

use crate::mip::cliques::{Literal, literal};
use crate::mip::domain::{Change, Domain, NONE, Reason};
use crate::mip::problem::Problem;
use std::sync::atomic::{AtomicBool, Ordering};

/// `x[col] <= constant + factor * x[binary]`, or `>=` for a lower bound.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Implication {
    pub binary: u32,
    pub col: u32,
    pub upper: bool,
    pub factor: f64,
    pub constant: f64,
}

/// Limit on implications: more of them bring no gain.
const IMPLICATION_LIMIT: usize = 200_000;

/// Smallest useful improvement of a bound, relative to the old bound.
const LEAST_GAIN: f64 = 1e-3;

/// Largest improvement of a bound: larger ones give numerically poor cuts.
const WIDEST: f64 = 1e6;

/// Fixes every binary both ways, columns in the most rows first, within a limit of ticks.
pub(crate) fn probe(
    p: &Problem,
    (lower, upper): (&[f64], &[f64]),
    stop: &AtomicBool,
) -> Vec<Implication> {
    let mut d = Domain::new(p);
    d.reset(p, lower, upper);
    let limit = 5_000_000 + 10 * p.rows.index.len() as u64;
    let mut found = Vec::new();
    for j in p.binaries_by_rows(lower, upper) {
        if d.ticks > limit || found.len() > IMPLICATION_LIMIT || stop.load(Ordering::Relaxed) {
            break;
        }
        for value in [0.0, 1.0] {
            d.fix(p, j, value);
            // Infeasible sides are left to presolve.
            if d.propagate(p) {
                read(p, &d, (j, value), &mut found);
            }
            d.undo(p, 0);
        }
    }
    found
}

/// Reads the bounds on the trail as implications, except those that a row states directly. The
/// whole trail belongs to this probe.
fn read(p: &Problem, d: &Domain, (j, value): (usize, f64), found: &mut Vec<Implication>) {
    for change in &d.trail {
        let col = change.col as usize;
        let first = change.previous == NONE;
        if col == j || !first || plain(p, change, j) {
            continue;
        }
        let old = change.old;
        let new = if change.upper {
            d.upper[col]
        } else {
            d.lower[col]
        };
        let gain = (old - new).abs();
        if !old.is_finite() || gain > WIDEST || gain < LEAST_GAIN * old.abs().max(1.0) {
            continue;
        }
        // Allowance for rounding in the propagation of continuous columns.
        let slack = match (p.integer[col], change.upper) {
            (true, _) => 0.0,
            (false, true) => 1e-8 * new.abs().max(1.0),
            (false, false) => -1e-8 * new.abs().max(1.0),
        };
        let new = new + slack;
        let (factor, constant) = if value == 1.0 {
            (new - old, old)
        } else {
            (old - new, new)
        };
        found.push(Implication {
            binary: j as u32,
            col: change.col,
            upper: change.upper,
            factor,
            constant,
        });
    }
}

/// Returns whether cliques or variable bounds cover the row in which the bound was found.
fn plain(p: &Problem, change: &Change, j: usize) -> bool {
    let Reason::Row { row, .. } = change.reason else {
        return false;
    };
    let columns = p.rows.vector(row as usize).0;
    let binary = p.integer[change.col as usize] && change.old.abs() <= 1.0;
    columns.contains(&(j as u32)) && (binary || columns.len() == 2)
}

impl Implication {
    /// The row `entries . x <= rhs`.
    pub fn row(&self) -> ([(u32, f64); 2], f64) {
        let sign = if self.upper { 1.0 } else { -1.0 };
        (
            [(self.col, sign), (self.binary, -sign * self.factor)],
            sign * self.constant,
        )
    }

    /// The two literals that exclude each other, if both columns are binary.
    pub fn pair(&self, p: &Problem, lower: &[f64], upper: &[f64]) -> Option<[Literal; 2]> {
        let k = self.col as usize;
        let binary = p.integer[k] && lower[k] == 0.0 && upper[k] == 1.0;
        // x <= 1 - y; x <= y; x >= y; x >= 1 - y.
        binary.then(|| {
            [
                literal(self.col, !self.upper),
                literal(self.binary, (self.factor > 0.0) == self.upper),
            ]
        })
    }
}
