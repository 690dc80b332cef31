//! Sums of terms.

use super::{LpReader, is_relation};
use crate::ids::ColId;
use crate::lp_format::LpFormatError;
use crate::lp_format::lex::{Token, WordKind};

/// Terms by column in order of appearance, and a constant.
#[derive(Default)]
pub(super) struct Expression {
    pub terms: Vec<(ColId, f64)>,
    pub constant: f64,
    /// True if the expression has any word.
    pub any: bool,
}

impl LpReader<'_> {
    /// Reads a sum of terms, up to the first word that cannot continue it. If it is the `last` part
    /// of its row, a new row may follow.
    pub(super) fn expression(&mut self, last: bool) -> Result<Expression, LpFormatError> {
        let mut e = Expression::default();
        self.scratch.clear();
        loop {
            if self.section().is_some() || (last && e.any && self.row_begins()) {
                return Ok(e);
            }
            let start = self.peek();
            let mut sign = 1.0;
            let mut signed = false;
            while matches!(self.peek().kind, WordKind::Plus | WordKind::Minus) {
                signed = true;
                if self.next().kind == WordKind::Minus {
                    sign = -sign;
                }
            }
            if !signed && e.any {
                return match start.kind {
                    WordKind::Name | WordKind::Number(_) => self.error(
                        start,
                        "`+`, `-` or a relation was expected before this term",
                    ),
                    _ => self.unsupported_here(start).map(|()| e),
                };
            }
            if self.products_begin() {
                self.products(sign)?;
                e.any = true;
                continue;
            }
            let mut value = None;
            if let WordKind::Number(v) = self.peek().kind {
                let number = self.next();
                self.held(number, v);
                value = Some(v);
                if self.peek().kind == WordKind::Times {
                    self.at += 1;
                    if self.peek().kind != WordKind::Name {
                        return self.error(self.peek(), "a column name was expected after `*`");
                    }
                }
            }
            let t = self.peek();
            if t.kind == WordKind::Name && self.section().is_none() && !self.is_label() {
                if last && t.first && value.is_some() {
                    let message = "a row may begin here, or a number on the line before be the coefficient of this \
                                   column: write them on one line, or give the row a label";
                    return self.error(t, message);
                }
                self.at += 1;
                let col = self.col(t.text);
                let terms = &mut e.terms;
                let k = *self.scratch.entry(col).or_insert_with(|| {
                    terms.push((col, 0.0));
                    terms.len() - 1
                });
                let sum = self.sum(e.terms[k].1, sign * value.unwrap_or(1.0));
                e.terms[k].1 = sum;
                if !sum.is_finite() {
                    let message = format!(
                        "the coefficient of this column is {sum}; a finite number is needed"
                    );
                    return self.error(t, message);
                }
            } else if let Some(v) = value {
                e.constant = self.sum(e.constant, sign * v);
            } else if signed {
                self.unsupported_here(t)?;
                return self.error(t, "a number or a column name was expected after the sign");
            } else {
                self.unsupported_here(t)?;
                return Ok(e);
            }
            e.any = true;
            // An infinite number may stand alone, on a side of a row.
            let alone = e.terms.is_empty() && is_relation(self.peek().kind);
            if e.constant.is_infinite() && !alone {
                return self.error(start, "a sum has finite terms; this one is not");
            }
        }
    }

    /// Returns whether a row begins here, after a complete one. A row begins with a label, or on a
    /// new line with an unsigned term or with a number that is compared with a column.
    fn row_begins(&self) -> bool {
        if self.is_label() {
            return true;
        }
        let signs = |mut by: usize| {
            while matches!(self.ahead(by).kind, WordKind::Plus | WordKind::Minus) {
                by += 1;
            }
            by
        };
        let unsigned = matches!(self.peek().kind, WordKind::Name | WordKind::Number(_));
        let number = signs(0);
        let beyond = signs(number + 2);
        let of_column = self.ahead(beyond).kind == WordKind::Name
            || matches!(self.ahead(beyond).kind, WordKind::Number(_))
                && matches!(
                    self.ahead(beyond + 1).kind,
                    WordKind::Name | WordKind::Times
                )
                && !self.ahead(beyond + 1).first;
        let compared = matches!(self.ahead(number).kind, WordKind::Number(_))
            && is_relation(self.ahead(number + 1).kind)
            && of_column;
        self.peek().first && (unsigned || compared)
    }

    /// Returns an error if the word belongs to an unsupported feature, and names the feature.
    pub(super) fn unsupported_here(&self, t: Token<'_>) -> Result<(), LpFormatError> {
        match t.text {
            "[" | "]" | "^" => self.error(
                t,
                "quadratic terms are supported in the objective alone, as `[ 2 x ^ 2 ] / 2`",
            ),
            "->" => self.error(
                t,
                "`x = 0` or `x = 1` of a binary column was expected before it",
            ),
            "*" => self.error(
                t,
                "products of columns are not supported: a term is a number and a column",
            ),
            _ if t.kind == WordKind::Other => self.error(t, "this character has no meaning here"),
            _ => Ok(()),
        }
    }
}
