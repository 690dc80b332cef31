//! Bounds and integer markers of columns.

use super::{LpPlace, LpReader, RelationSides, is_relation};
use crate::ids::{Bounds, ColId};
use crate::lp_format::LpFormatError;
use crate::lp_format::lex::{Token, WordKind};

impl<'a> LpReader<'a> {
    pub(super) fn bounds(&mut self) -> Result<(), LpFormatError> {
        while self.section().is_none() {
            let here = self.peek();
            if here.kind == WordKind::Name {
                self.at += 1;
                let col = self.col(here.text);
                self.place = LpPlace::Bounds(here.text);
                if self.peek().text.eq_ignore_ascii_case("free") {
                    self.at += 1;
                    self.builder.set_col_bounds(col, Bounds::FREE);
                    continue;
                }
                let relation = self.relation()?;
                let value = self.constant()?;
                self.tighten(here, col, RelationSides::left_of(relation, value))?;
                if is_relation(self.peek().kind) {
                    return self.error(
                        self.peek(),
                        "two bounds on a line are written `lower <= x <= upper`",
                    );
                }
            } else {
                self.place = LpPlace::Bounds(self.ahead_name());
                let left = self.constant()?;
                let relation = self.relation()?;
                let t = self.next();
                if t.kind != WordKind::Name {
                    return self.error(t, "a column name was expected");
                }
                let col = self.col(t.text);
                self.tighten(t, col, RelationSides::right_of(left, relation))?;
                if is_relation(self.peek().kind) {
                    let sign = self.peek();
                    let second = self.relation()?;
                    if second != relation || second == WordKind::Equal {
                        return self
                            .error(sign, "both relations of a bound must be `<=`, or both `>=`");
                    }
                    let right = self.constant()?;
                    self.tighten(t, col, RelationSides::left_of(second, right))?;
                }
            }
        }
        Ok(())
    }

    /// The column name after a number and a relation.
    fn ahead_name(&self) -> &'a str {
        let words = (0..6).map(|by| self.ahead(by));
        let name = words.into_iter().find(|t| t.kind == WordKind::Name);
        name.map_or("", |t| t.text)
    }

    /// Replaces the stated sides of a column's bounds; an infinite number removes the bound of its
    /// side.
    fn tighten(
        &mut self,
        at: Token<'_>,
        col: ColId,
        stated: RelationSides,
    ) -> Result<(), LpFormatError> {
        let mut b = self.builder.col_bounds(col);
        b.lower = stated.lower.unwrap_or(b.lower);
        b.upper = stated.upper.unwrap_or(b.upper);
        if b.lower == f64::INFINITY || b.upper == f64::NEG_INFINITY {
            return self.error(
                at,
                format!("the bounds [{}, {}] leave no value", b.lower, b.upper),
            );
        }
        self.builder.set_col_bounds(col, b);
        Ok(())
    }

    pub(super) fn integers(&mut self, binary: bool) -> Result<(), LpFormatError> {
        while self.section().is_none() {
            let t = self.next();
            if t.kind != WordKind::Name {
                return self.error(t, "a column name was expected");
            }
            let col = self.col(t.text);
            self.builder.set_integer(col, true);
            if binary {
                self.binaries.push(col);
            }
        }
        Ok(())
    }
}
