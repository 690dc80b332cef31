//! Rows: terms with a number on the right, on the left, or on both sides.

use super::expression::Expression;
use super::{LpPlace, LpReader, RelationSides, is_relation};
use crate::ids::{Bounds, ColId, RowId};
use crate::lp_format::LpFormatError;
use crate::lp_format::lex::{Token, WordKind};
use crate::text_file::{clip, shown};

impl<'a> LpReader<'a> {
    pub(super) fn rows(&mut self) -> Result<(), LpFormatError> {
        while self.section().is_none() {
            let label = self.label();
            self.row(label)?;
        }
        Ok(())
    }

    /// Reads a row or an implication.
    pub(super) fn row(&mut self, label: Option<Token<'a>>) -> Result<(), LpFormatError> {
        let next = RowId(self.builder.num_rows() as u32);
        self.place = LpPlace::Row(label.map(|l| l.text), next);
        let here = self.peek();
        let first = self.expression(false)?;
        // Some programs write a row that has lost all its columns as `name: = 0`.
        let empty = !first.any && label.is_some() && is_relation(self.peek().kind);
        let (terms, bounds) = self.behind(here, first, empty)?;
        if self.peek().text == "->" {
            return self.implication(label, &terms, bounds);
        }
        let row = self.builder.add_row(bounds, terms);
        if let Some(label) = label {
            self.name_of_row(label);
            self.builder.set_row_name(row, label.text);
        }
        Ok(())
    }

    /// Terms and sides of a row.
    pub(super) fn relation_of_terms(
        &mut self,
    ) -> Result<(Vec<(ColId, f64)>, Bounds), LpFormatError> {
        let here = self.peek();
        let first = self.expression(false)?;
        self.behind(here, first, false)
    }

    /// Terms and sides of a row whose first side has been read.
    fn behind(
        &mut self,
        here: Token<'a>,
        first: Expression,
        empty: bool,
    ) -> Result<(Vec<(ColId, f64)>, Bounds), LpFormatError> {
        if !first.any && !empty {
            return self.error(
                self.peek(),
                "a row was expected: terms, a relation and a number",
            );
        }
        let relation = self.relation()?;
        let (sides, terms) = if first.terms.is_empty() && !empty {
            self.right_of(first.constant, relation)?
        } else {
            let right = self.right_side()?;
            let sides = RelationSides::left_of(relation, self.sum(right, -first.constant));
            (sides, first.terms)
        };
        let bounds = Bounds::new(
            sides.lower.map_or(f64::NEG_INFINITY, clip),
            sides.upper.map_or(f64::INFINITY, clip),
        );
        if bounds.lower == f64::INFINITY || bounds.upper == f64::NEG_INFINITY {
            return self.error(here, "no value is within infinity on this side of a row");
        }
        Ok((terms, bounds))
    }

    /// Limits and terms of `number relation terms`, optionally followed by a second relation and
    /// number.
    fn right_of(
        &mut self,
        number: f64,
        relation: WordKind,
    ) -> Result<(RelationSides, Vec<(ColId, f64)>), LpFormatError> {
        let Expression {
            terms,
            constant,
            any,
        } = self.expression(true)?;
        if !any {
            return self.error(
                self.peek(),
                "terms or a number were expected behind the relation",
            );
        }
        let side = self.sum(clip(number), -constant);
        let mut sides = RelationSides::right_of(side, relation);
        if is_relation(self.peek().kind) {
            let sign = self.peek();
            let second = self.relation()?;
            if second != relation || second == WordKind::Equal {
                return self.error(
                    sign,
                    "both relations of a ranged row must be `<=`, or both `>=`",
                );
            }
            let right = self.right_side()?;
            let other = RelationSides::left_of(second, self.sum(right, -constant));
            sides = RelationSides {
                lower: sides.lower.or(other.lower),
                upper: sides.upper.or(other.upper),
            };
        }
        Ok((sides, terms))
    }

    /// Reads the number on the right of a row. On its line, only a row with a label may follow.
    fn right_side(&mut self) -> Result<f64, LpFormatError> {
        let number = self.constant()?;
        let behind = self.peek();
        let goes_on = matches!(
            behind.kind,
            WordKind::Name
                | WordKind::Number(_)
                | WordKind::Plus
                | WordKind::Minus
                | WordKind::Times
        );
        if goes_on && !behind.first && !self.is_label() {
            return self.error(
                behind,
                "one number stands on the right of a row, columns on the left; a row behind it begins on a new line, or \
                 with a label",
            );
        }
        if behind.text != "->" {
            self.unsupported_here(behind)?;
        }
        Ok(number)
    }

    /// Emits a remark on the first label that repeats an earlier row's.
    fn name_of_row(&mut self, label: Token<'a>) {
        let known = self.rows.len();
        let line = *self.rows.entry(label.text).or_insert(label.line);
        if self.rows.len() == known && !self.told_of_names {
            self.told_of_names = true;
            let name = shown(label.text);
            self.remark(
                label,
                format!("a row on line {line} is called `{name}`, too: both are kept"),
            );
        }
    }
}
