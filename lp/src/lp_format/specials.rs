//! Parts of an LP file that are neither rows nor columns of a linear model.

use crate::ids::{Bounds, ColId};
use crate::model::Model;

/// A special ordered set.
#[derive(Clone, Debug, PartialEq)]
pub struct OrderedSet {
    /// Members that may differ from 0 at once: 1, or 2 neighbours by weight.
    pub width: u8,
    /// Columns and weights.
    pub members: Vec<(ColId, f64)>,
}

/// A row that holds where a column has a value.
#[derive(Clone, Debug, PartialEq)]
pub struct Implication {
    /// Label; empty without one.
    pub name: String,
    /// The column of values 0 and 1.
    pub col: ColId,
    /// The value at which the row holds.
    pub value: bool,
    /// Entries of the row.
    pub entries: Vec<(ColId, f64)>,
    /// Sides of the row.
    pub sides: Bounds,
}

/// An LP file with all that is in it.
#[derive(Clone, Debug)]
pub struct LpFile {
    /// Columns and rows.
    pub model: Model,
    /// Columns that are 0 or within their bounds.
    pub semicontinuous: Vec<ColId>,
    /// Special ordered sets in the order of the file.
    pub sets: Vec<OrderedSet>,
    /// Implications in the order of the file.
    pub implications: Vec<Implication>,
}
