//! Implications, ordered sets, columns that may be 0.

use super::Lowering;
use super::affine::Affine;
use crate::program::special::SosType;
use crate::program::{Col, ProgramError};

impl Lowering<'_> {
    /// A row that holds if a binary column has a value.
    pub(super) fn indicator(
        &mut self,
        col: Col,
        value: bool,
        entries: &[(Col, f64)],
        (lower, upper): (f64, f64),
    ) -> Result<(), ProgramError> {
        const WHAT: &str = "an implication";
        let binary = self.binary(col, WHAT)?;
        // 1 if the row need not hold.
        let idle = match value {
            true => Affine::of([(binary, -1.0)], 1.0),
            false => Affine::column(binary),
        };
        let row = self.sum(entries);
        if upper < f64::INFINITY {
            self.at_most_unless(WHAT, &idle, &row, &Affine::constant(upper))?;
        }
        if lower > f64::NEG_INFINITY {
            self.at_most_unless(WHAT, &idle, &Affine::constant(lower), &row)?;
        }
        Ok(())
    }

    /// `x` is 0 if a sum that is 0 or 1 is 0.
    fn only_where(
        &mut self,
        what: &'static str,
        x: usize,
        on: &Affine,
    ) -> Result<(), ProgramError> {
        let x = Affine::column(x);
        self.at_most_unless(what, on, &x, &Affine::default())?;
        self.at_most_unless(what, on, &Affine::default(), &x)?;
        Ok(())
    }

    /// An ordered set.
    pub(super) fn sos(
        &mut self,
        kind: SosType,
        members: &[(Col, f64)],
    ) -> Result<(), ProgramError> {
        const WHAT: &str = "an ordered set";
        let members: Vec<usize> = members.iter().map(|m| self.at(m.0)).collect();
        match kind {
            SosType::One if members.len() > 1 => {
                let mut chosen = Affine::default();
                for &x in &members {
                    if self.is_binary(x) {
                        chosen = chosen.and(x, 1.0);
                        continue;
                    }
                    let on = self.choice(move |point| point[x] != 0.0);
                    self.only_where(WHAT, x, &Affine::column(on))?;
                    chosen = chosen.and(on, 1.0);
                }
                self.row(&chosen, f64::NEG_INFINITY, 1.0);
            }
            SosType::Two if members.len() > 2 => {
                // Pairs of neighbours, one of which is chosen: the first with a member that is not
                // 0, or the last.
                let pairs = members.len() - 1;
                let mut choices = Vec::with_capacity(pairs);
                for pair in 0..pairs {
                    let all = members.clone();
                    choices.push(self.choice(move |point| {
                        let first = all.iter().position(|&x| point[x] != 0.0);
                        first.unwrap_or(0).min(pairs - 1) == pair
                    }));
                }
                let one = Affine::of(choices.iter().map(|&c| (c, 1.0)), 0.0);
                self.row(&one, 1.0, 1.0);
                for (k, &x) in members.iter().enumerate() {
                    let beside = k.saturating_sub(1)..(k + 1).min(pairs);
                    let on = Affine::of(choices[beside].iter().map(|&c| (c, 1.0)), 0.0);
                    self.only_where(WHAT, x, &on)?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// The values of a column that is 0 or within its bounds.
    pub(super) fn semi(&mut self, position: usize) -> Result<(), ProgramError> {
        const WHAT: &str = "a semi-continuous column";
        let col = self.own[position];
        let (lower, upper) = self.program.col_bounds(col)?;
        if !self.program.kind(col)?.is_semi() || (lower <= 0.0 && upper >= 0.0) {
            return Ok(());
        }
        let x = Affine::column(position);
        let on = self.choice(move |point| point[position] != 0.0);
        let on = Affine::column(on);
        self.only_where(WHAT, position, &on)?;
        match lower > 0.0 {
            true => self.at_most(&on.times(lower), &x),
            false => self.at_most(&x, &on.times(upper)),
        }
        Ok(())
    }
}
