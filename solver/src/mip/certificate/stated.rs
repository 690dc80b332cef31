//! Stated rows in the relaxations of a proof's tree.

use super::tree::{ActiveBound, CertifiedTree, RelaxationRow};
use crate::mip::exact::{Rational, double};
use crate::mip::extend::StatedRow;
use num_traits::Signed;
use remat_lp::{Bounds, ColId, LpOutcome, ModelError, NewRow};

/// A stated row, and its line in the proof.
pub(super) struct StatedLine {
    row: StatedRow,
    line: usize,
}

/// Limit on the rounds of stated rows at one node.
const ROUNDS: usize = 30;

/// Violation of a known row, relative to 1 and its side, from which on it returns.
const VIOLATION: f64 = 1e-9;

impl CertifiedTree<'_> {
    /// Adds the first stated rows, and those that the relaxation needs with them.
    pub(super) fn begin_with_stated(&mut self) -> Result<(), ModelError> {
        let Some(source) = self.stated else {
            return Ok(());
        };
        for k in self.with_lines(source.first()) {
            self.install_stated(k)?;
        }
        self.limit_to_cutoff();
        self.solve_with_stated().map(|_| ())
    }

    /// Solves the relaxation with the stated rows that its points violate. They stay until the end
    /// of the node.
    pub(super) fn solve_with_stated(&mut self) -> Result<LpOutcome, ModelError> {
        let mut outcome = self.lp.solve();
        let (Some(source), Some(_)) = (self.stated, self.goal) else {
            return Ok(outcome);
        };
        for _ in 0..ROUNDS {
            let LpOutcome::Optimal(s) = &outcome else {
                break;
            };
            if s.objective >= self.cutoff {
                break;
            }
            let x = s.x.clone();
            let mut rows = self.violated_stated(&x);
            if rows.is_empty() {
                let (lower, upper) = self.bounds_in_doubles();
                rows = self.with_lines(source.rows(&x, &lower, &upper));
            }
            if rows.is_empty() {
                break;
            }
            for k in rows {
                self.install_stated(k)?;
            }
            outcome = self.lp.solve();
        }
        Ok(outcome)
    }

    /// Positions of known stated rows that a point violates.
    fn violated_stated(&self, x: &[f64]) -> Vec<usize> {
        let is_violated = |known: &StatedLine| {
            let terms = known.row.entries.iter().map(|(j, a)| double(a) * x[*j]);
            let side = double(&known.row.side);
            side - terms.sum::<f64>() > VIOLATION * (1.0 + side.abs())
        };
        let all = self.stated_lines.iter().enumerate();
        all.filter(|(_, known)| is_violated(known))
            .map(|(k, _)| k)
            .collect()
    }

    /// States the rows that are new. Returns their positions.
    fn with_lines(&mut self, rows: Vec<StatedRow>) -> Vec<usize> {
        let mut added = Vec::new();
        for row in rows {
            if self.stated_lines.iter().any(|known| known.row == row) {
                continue;
            }
            let line = self.proof.state(&row);
            added.push(self.stated_lines.len());
            self.stated_lines.push(StatedLine { row, line });
        }
        added
    }

    fn install_stated(&mut self, k: usize) -> Result<(), ModelError> {
        let StatedLine { row, line } = &self.stated_lines[k];
        let entries = row.entries.iter();
        self.lp.add_rows(&[NewRow::new(
            Bounds::new(double(&row.side), f64::INFINITY),
            entries.map(|(j, a)| (ColId(*j as u32), double(a))),
        )])?;
        self.rows.push(RelaxationRow {
            entries: row.entries.clone(),
            lower: Some(ActiveBound {
                value: row.side.clone(),
                line: *line,
            }),
            upper: None,
        });
        Ok(())
    }

    /// The bounds in force of all columns, in doubles.
    fn bounds_in_doubles(&self) -> (Vec<f64>, Vec<f64>) {
        let number = |bound: &Option<ActiveBound>, none: f64| {
            bound.as_ref().map_or(none, |bound| double(&bound.value))
        };
        let lower = self.lower.iter().map(|b| number(b, f64::NEG_INFINITY));
        let upper = self.upper.iter().map(|b| number(b, f64::INFINITY));
        (lower.collect(), upper.collect())
    }
}

/// Returns whether a number is at most this far from another, relative to 1 and the latter.
pub(super) fn is_near(v: &Rational, at: &Rational, distance: f64) -> bool {
    double(&(v - at).abs()) <= distance * (1.0 + double(at).abs())
}
