//! Sections and rows beyond a linear model: semi-continuous columns, ordered sets, implications.

use super::LpReader;
use crate::ids::{Bounds, ColId};
use crate::lp_format::LpFormatError;
use crate::lp_format::lex::{Token, WordKind};
use crate::model_file::{Implication, OrderedSet};

impl<'a> LpReader<'a> {
    pub(super) fn semicontinuous(&mut self) -> Result<(), LpFormatError> {
        while self.section().is_none() {
            let t = self.next();
            if t.kind != WordKind::Name {
                return self.error(t, "a column name was expected");
            }
            let col = self.col(t.text);
            self.specials.semicontinuous.push(col);
        }
        Ok(())
    }

    /// Reads sets: `name: S1 :: x:1 y:2`, or `name: x:1 y:2` below a heading with the width.
    pub(super) fn sets(&mut self, mut width: Option<u8>) -> Result<(), LpFormatError> {
        while self.section().is_none() {
            let named = self.ahead(1).kind == WordKind::Colon
                && !matches!(self.ahead(2).kind, WordKind::Number(_) | WordKind::Minus);
            if named {
                self.at += 2;
            }
            let t = self.peek();
            let stated = match t.text.to_ascii_lowercase().as_str() {
                "s1" => Some(1),
                "s2" => Some(2),
                _ => None,
            };
            if let Some(stated) = stated.filter(|_| self.ahead(1).text == "::") {
                self.at += 2;
                width = Some(stated);
            }
            let Some(width) = width else {
                return self.error(t, "`S1 ::` or `S2 ::` was expected before the members");
            };
            let mut members = Vec::new();
            while self.peek().kind == WordKind::Name
                && self.ahead(1).kind == WordKind::Colon
                && matches!(self.ahead(2).kind, WordKind::Number(_) | WordKind::Minus)
            {
                let col = self.next();
                let col = self.col(col.text);
                self.at += 1;
                let weight = self.constant()?;
                members.push((col, weight));
            }
            if members.is_empty() {
                return self.error(
                    self.peek(),
                    "a member was expected: a column, a colon and its weight",
                );
            }
            self.specials.sets.push(OrderedSet { width, members });
        }
        Ok(())
    }

    /// Reads general constraints that are implications, as Gurobi writes them.
    pub(super) fn general_constraints(&mut self) -> Result<(), LpFormatError> {
        while self.section().is_none() {
            let label = self.label();
            if self.ahead(3).text != "->" {
                let words = "general constraints other than `x = 1 -> row` are not supported";
                return self.error(self.peek(), words);
            }
            self.row(label)?;
        }
        Ok(())
    }

    /// Reads the row after `->`, which holds if the relation before it does.
    pub(super) fn implication(
        &mut self,
        label: Option<Token<'a>>,
        terms: &[(ColId, f64)],
        bounds: Bounds,
    ) -> Result<(), LpFormatError> {
        let arrow = self.next();
        let (col, value) = match *terms {
            [(col, 1.0)] if bounds.lower == bounds.upper && [0.0, 1.0].contains(&bounds.lower) => {
                (col, bounds.lower == 1.0)
            }
            _ => {
                return self.error(
                    arrow,
                    "`x = 0` or `x = 1` of a binary column was expected before it",
                );
            }
        };
        let (mut entries, sides) = self.relation_of_terms()?;
        entries.retain(|entry| entry.1 != 0.0);
        let name = label.map_or("", |label| label.text).to_owned();
        self.specials.implications.push(Implication {
            name,
            col,
            value,
            entries,
            sides,
        });
        Ok(())
    }
}
