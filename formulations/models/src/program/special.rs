//! Constraints of a program that are no rows, and products of columns.

use super::numbers::{finite, gone, sides};
use super::{Col, Kind, Program, ProgramError};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Handle of a special constraint: it stays valid when others are added or removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SpecialId(pub u32);

impl SpecialId {
    /// The handle as an index.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The product of two columns, times a coefficient.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Product {
    /// One factor.
    pub first: Col,
    /// The other, which may be the same.
    pub second: Col,
    /// The coefficient.
    pub factor: f64,
}

/// Norm of several columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Norm {
    /// Number of columns that are not 0. A column that is not integer counts from 1e-5 on, and
    /// takes no values between 0 and that.
    Zero,
    /// Sum of absolute values.
    One,
    /// The largest absolute value.
    Infinity,
}

/// Type of a special ordered set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SosType {
    /// At most one member differs from 0.
    One,
    /// At most two members differ from 0, neighbours by weight.
    Two,
}

/// A constraint that is no row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Special {
    /// `col == value` implies `lower <= entries . x <= upper`.
    Indicator {
        /// A column of values 0 and 1.
        col: Col,
        /// Value at which the row holds.
        value: bool,
        /// Entries of the row.
        entries: Vec<(Col, f64)>,
        /// Lower side.
        lower: f64,
        /// Upper side.
        upper: f64,
    },
    /// `result` is the largest of columns and a constant.
    Maximum {
        /// The result.
        result: Col,
        /// Arguments.
        of: Vec<Col>,
        /// A further argument.
        constant: Option<f64>,
    },
    /// `result` is the smallest of columns and a constant.
    Minimum {
        /// The result.
        result: Col,
        /// Arguments.
        of: Vec<Col>,
        /// A further argument.
        constant: Option<f64>,
    },
    /// `result` is the absolute value of a column.
    Abs {
        /// The result.
        result: Col,
        /// The argument.
        of: Col,
    },
    /// `result` is 1 if all others are 1, else 0; all are binary.
    And {
        /// The result.
        result: Col,
        /// Arguments.
        of: Vec<Col>,
    },
    /// `result` is 1 if any other is 1, else 0; all are binary.
    Or {
        /// The result.
        result: Col,
        /// Arguments.
        of: Vec<Col>,
    },
    /// `result` is a norm of columns.
    Norm {
        /// The result.
        result: Col,
        /// Arguments.
        of: Vec<Col>,
        /// The norm.
        norm: Norm,
    },
    /// `y` is a function of `x`, linear between points; the first and the last slope continue
    /// beyond the ends. Between two points of the same `x`, `y` takes any value between theirs.
    Pieces {
        /// The argument.
        x: Col,
        /// The result.
        y: Col,
        /// Points, by `x` not decreasing: at least two, and no jump at either end.
        points: Vec<(f64, f64)>,
    },
    /// A special ordered set.
    Sos {
        /// Its type.
        kind: SosType,
        /// Members and weights, which give their order.
        members: Vec<(Col, f64)>,
    },
    /// `lower <= entries . x + products <= upper`.
    ProductRow {
        /// Linear entries.
        entries: Vec<(Col, f64)>,
        /// Products.
        products: Vec<Product>,
        /// Lower side.
        lower: f64,
        /// Upper side.
        upper: f64,
    },
}

impl Special {
    /// Columns that it needs, and columns that it may lose.
    fn members(&mut self) -> (Vec<Col>, Members<'_>) {
        match self {
            Special::Indicator { col, entries, .. } => (vec![*col], Members::Weighted(entries)),
            Special::Maximum { result, of, .. }
            | Special::Minimum { result, of, .. }
            | Special::And { result, of }
            | Special::Or { result, of }
            | Special::Norm { result, of, .. } => (vec![*result], Members::Plain(of)),
            Special::Abs { result, of } => (vec![*result, *of], Members::None),
            Special::Pieces { x, y, .. } => (vec![*x, *y], Members::None),
            Special::Sos { members, .. } => (Vec::new(), Members::Weighted(members)),
            Special::ProductRow {
                entries, products, ..
            } => (Vec::new(), Members::Products(entries, products)),
        }
    }

    /// All columns in it, some more than once.
    pub fn cols(&self) -> Vec<Col> {
        let mut copy = self.clone();
        let (mut cols, others) = copy.members();
        match others {
            Members::None => {}
            Members::Plain(of) => cols.extend_from_slice(of),
            Members::Weighted(of) => cols.extend(of.iter().map(|m| m.0)),
            Members::Products(entries, products) => {
                cols.extend(entries.iter().map(|e| e.0));
                cols.extend(products.iter().flat_map(|p| [p.first, p.second]));
            }
        }
        cols
    }
}

/// Columns that a special constraint may lose.
enum Members<'a> {
    None,
    Plain(&'a mut Vec<Col>),
    Weighted(&'a mut Vec<(Col, f64)>),
    Products(&'a mut Vec<(Col, f64)>, &'a mut Vec<Product>),
}

impl Program {
    /// Adds a special constraint. Sides beyond [`INFINITE`](super::INFINITE) are infinite.
    ///
    /// # Errors
    /// [`ProgramError::Gone`], [`ProgramError::NotFinite`], [`ProgramError::Pieces`].
    pub fn add_special(&mut self, mut special: Special) -> Result<SpecialId, ProgramError> {
        let k = self.specials.len();
        for col in special.cols() {
            if !self.has_col(col) {
                return Err(gone("column", col.index()));
            }
        }
        let checked = |value: f64| finite(value, || format!("a number of special constraint {k}"));
        match &mut special {
            Special::Indicator {
                entries,
                lower,
                upper,
                ..
            }
            | Special::ProductRow {
                entries,
                lower,
                upper,
                ..
            } => {
                (*lower, *upper) = sides(*lower, *upper, || format!("special constraint {k}"))?;
                for entry in entries {
                    checked(entry.1)?;
                }
            }
            Special::Maximum { constant, .. } | Special::Minimum { constant, .. } => {
                constant.map_or(Ok(0.0), checked)?;
            }
            Special::Sos { members, .. } => {
                for member in members.iter() {
                    checked(member.1)?;
                }
                // Members of equal weight keep their order.
                members.sort_by(|a, b| a.1.total_cmp(&b.1));
            }
            Special::Pieces { points, .. } => check_points(points)?,
            _ => {}
        }
        if let Special::ProductRow { products, .. } = &special {
            products
                .iter()
                .try_for_each(|p| checked(p.factor).map(drop))?;
        }
        self.specials.push(Some(special));
        self.edits += 1;
        Ok(SpecialId(k as u32))
    }

    /// Removes a special constraint.
    ///
    /// # Errors
    /// [`ProgramError::Gone`].
    pub fn remove_special(&mut self, id: SpecialId) -> Result<(), ProgramError> {
        self.special(id)?;
        self.specials[id.index()] = None;
        self.edits += 1;
        Ok(())
    }

    /// A special constraint.
    ///
    /// # Errors
    /// [`ProgramError::Gone`].
    pub fn special(&self, id: SpecialId) -> Result<&Special, ProgramError> {
        let found = self.specials.get(id.index()).and_then(Option::as_ref);
        found.ok_or_else(|| gone("special constraint", id.index()))
    }

    /// Special constraints in order of creation.
    pub fn specials(&self) -> impl Iterator<Item = (SpecialId, &Special)> + '_ {
        let all = self.specials.iter().enumerate();
        all.filter_map(|(k, s)| Some((SpecialId(k as u32), s.as_ref()?)))
    }

    /// Sets the products of the objective, apart from costs and constant.
    ///
    /// # Errors
    /// [`ProgramError::Gone`], [`ProgramError::NotFinite`].
    pub fn set_products(&mut self, products: Vec<Product>) -> Result<(), ProgramError> {
        for product in &products {
            for col in [product.first, product.second] {
                if !self.has_col(col) {
                    return Err(gone("column", col.index()));
                }
            }
            finite(product.factor, || "a product of the objective".into())?;
        }
        self.products = products;
        self.edits += 1;
        Ok(())
    }

    /// Products of the objective.
    pub fn products(&self) -> &[Product] {
        &self.products
    }

    /// Sets a part of the objective: a function of a column that is linear between points, as in
    /// [`Special::Pieces`]; no points remove it. At a jump the better value counts. The cost of the
    /// column stays beside it.
    ///
    /// # Errors
    /// [`ProgramError::Gone`], [`ProgramError::Pieces`].
    pub fn set_pieces(&mut self, col: Col, points: Vec<(f64, f64)>) -> Result<(), ProgramError> {
        if !self.has_col(col) {
            return Err(gone("column", col.index()));
        }
        self.edits += 1;
        if points.is_empty() {
            self.pieces.remove(&col);
            return Ok(());
        }
        check_points(&points)?;
        self.pieces.insert(col, points);
        Ok(())
    }

    /// Parts of the objective that are linear between points, by column.
    pub fn pieces(&self) -> &BTreeMap<Col, Vec<(f64, f64)>> {
        &self.pieces
    }

    /// Removes all parts of the objective except costs and constant.
    pub fn clear_parts(&mut self) {
        self.products.clear();
        self.pieces.clear();
        self.edits += 1;
    }

    /// Returns whether the program has more than columns, rows and costs of a linear or integer
    /// program.
    pub fn has_specials(&self) -> bool {
        self.specials().next().is_some()
            || !self.products.is_empty()
            || !self.pieces.is_empty()
            || self
                .cols()
                .any(|col| self.kind(col).is_ok_and(Kind::is_semi))
    }

    /// Removes removed columns from special constraints and products, and deletes those that lose a
    /// column they need.
    pub(super) fn leave_specials(&mut self) {
        let mut specials = std::mem::take(&mut self.specials);
        for place in &mut specials {
            let Some(special) = place else { continue };
            let (needed, others) = special.members();
            match others {
                Members::None => {}
                Members::Plain(of) => of.retain(|&c| self.has_col(c)),
                Members::Weighted(of) => of.retain(|&(c, _)| self.has_col(c)),
                Members::Products(entries, products) => {
                    entries.retain(|&(c, _)| self.has_col(c));
                    products.retain(|p| self.has_col(p.first) && self.has_col(p.second));
                }
            }
            if needed.iter().any(|&col| !self.has_col(col)) {
                *place = None;
            }
        }
        self.specials = specials;
        let mut products = std::mem::take(&mut self.products);
        products.retain(|p| self.has_col(p.first) && self.has_col(p.second));
        self.products = products;
        let mut pieces = std::mem::take(&mut self.pieces);
        pieces.retain(|&col, _| self.has_col(col));
        self.pieces = pieces;
    }
}

fn check_points(points: &[(f64, f64)]) -> Result<(), ProgramError> {
    let wrong = |problem| Err(ProgramError::Pieces { problem });
    let n = points.len();
    if points.iter().any(|p| !(p.0.is_finite() && p.1.is_finite())) {
        return wrong("a point is not finite");
    }
    if n < 2 {
        return wrong("two points at least are needed");
    }
    if points.windows(2).any(|w| w[0].0 > w[1].0) {
        return wrong("points must not go back");
    }
    if points[0].0 == points[1].0 || points[n - 2].0 == points[n - 1].0 {
        return wrong("the first and the last piece must not be upright");
    }
    Ok(())
}
