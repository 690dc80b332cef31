//! The quadratic part of an objective: `[ 2 x ^ 2 + 4 x * y ] / 2`.

use super::{LpPlace, LpReader};
use crate::ids::ColId;
use crate::lp_format::LpFormatError;
use crate::lp_format::lex::WordKind;

impl LpReader<'_> {
    /// Returns whether a quadratic part of the objective begins here.
    pub(super) fn products_begin(&self) -> bool {
        matches!(self.place, LpPlace::Objective) && self.peek().text == "["
    }

    /// Reads products in brackets, with the sign before them, and the half behind.
    pub(super) fn products(&mut self, sign: f64) -> Result<(), LpFormatError> {
        self.at += 1;
        let mut is_first = true;
        while self.peek().text != "]" {
            let here = self.peek();
            let mut factor = sign;
            let mut signed = false;
            while matches!(self.peek().kind, WordKind::Plus | WordKind::Minus) {
                signed = true;
                if self.next().kind == WordKind::Minus {
                    factor = -factor;
                }
            }
            if !signed && !is_first {
                return self.error(here, "`+`, `-` or `]` was expected after a product");
            }
            is_first = false;
            if let WordKind::Number(v) = self.peek().kind {
                let number = self.next();
                self.held(number, v);
                factor *= v;
                if self.peek().kind == WordKind::Times {
                    self.at += 1;
                }
            }
            let (first, second) = (self.factor()?, self.peek());
            let second = match (second.kind, second.text) {
                (WordKind::Times, _) => {
                    self.at += 1;
                    self.factor()?
                }
                (_, "^") if self.ahead(1).kind == WordKind::Number(2.0) => {
                    self.at += 2;
                    first
                }
                _ => {
                    let words = "`^ 2` or `*` and a column was expected: in brackets all terms are \
                                 products of two columns";
                    return self.error(second, words);
                }
            };
            if !factor.is_finite() {
                return self.error(here, "the factor of this product is not finite");
            }
            self.products.push((first, second, 0.5 * factor));
        }
        self.at += 1;
        self.half()
    }

    /// Reads a column in a product.
    fn factor(&mut self) -> Result<ColId, LpFormatError> {
        let t = self.next();
        match t.kind {
            WordKind::Name => Ok(self.col(t.text)),
            _ => self.error(t, "a column name was expected in a product"),
        }
    }

    /// Reads `/ 2`.
    fn half(&mut self) -> Result<(), LpFormatError> {
        let t = self.next();
        if t.text == "/2" {
            return Ok(());
        }
        if t.text == "/" && self.peek().kind == WordKind::Number(2.0) {
            self.at += 1;
            return Ok(());
        }
        self.error(t, "`/ 2` was expected after the products of an objective")
    }
}
