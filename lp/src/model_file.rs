//! Contents of a model's file: a linear model, and special parts that are neither rows nor columns.
//! LP and MPS files can hold both.

use crate::ids::{Bounds, ColId};
use crate::model::Model;
use crate::quadratic::Quadratic;
use crate::text_file::shown;

/// A special ordered set.
#[derive(Clone, Debug, PartialEq)]
pub struct OrderedSet {
    /// Members that may differ from 0 at once: 1, or 2 neighbours by weight.
    pub width: u8,
    /// Columns and weights.
    pub members: Vec<(ColId, f64)>,
}

/// A row that must hold if a column has a given value.
#[derive(Clone, Debug, PartialEq)]
pub struct Implication {
    /// Label; empty without one.
    pub name: String,
    /// The binary column.
    pub col: ColId,
    /// The value at which the row holds.
    pub value: bool,
    /// Entries of the row, all nonzero.
    pub entries: Vec<(ColId, f64)>,
    /// Sides of the row.
    pub sides: Bounds,
}

/// Parts of a file that are neither rows nor columns of a linear model.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Specials {
    /// Columns that are 0 or within their bounds.
    pub semicontinuous: Vec<ColId>,
    /// Special ordered sets in the order of the file.
    pub sets: Vec<OrderedSet>,
    /// Implications in the order of the file.
    pub implications: Vec<Implication>,
    /// The quadratic part of the objective; `None` if it has no products.
    pub quadratic: Option<Quadratic>,
}

impl Specials {
    /// Returns whether the quadratic part of the objective is the only special part, if any.
    pub fn are_only_quadratic(&self) -> bool {
        self.semicontinuous.is_empty() && self.sets.is_empty() && self.implications.is_empty()
    }

    /// Returns whether the file has no special parts.
    pub fn is_empty(&self) -> bool {
        self.are_only_quadratic() && self.quadratic.is_none()
    }
}

/// A model with all parts of its file.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelFile {
    /// Columns and rows.
    pub model: Model,
    /// All other parts.
    pub specials: Specials,
}

/// The first part of a file that is not linear.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{what}; a linear program with integers has rows and columns alone")]
pub struct NotLinear {
    /// Description of the part.
    pub what: String,
}

impl From<Model> for ModelFile {
    fn from(model: Model) -> Self {
        let specials = Specials::default();
        ModelFile { model, specials }
    }
}

impl ModelFile {
    /// Returns the model if the file has no other parts.
    ///
    /// ```
    /// let text = "Minimize\n x\nBounds\n 2 <= x <= 5\nSemi-Continuous\n x\nEnd\n";
    /// let error = remat_lp::lp_format::parse_all(text, "a.lp")?.linear().unwrap_err();
    /// assert!(error.to_string().contains("column x is semi-continuous"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`NotLinear`] names the first of the other parts.
    pub fn linear(self) -> Result<Model, NotLinear> {
        let ModelFile { model, specials } = self;
        let name = |col: ColId| shown(&model.col_name(col));
        let what = if let Some(&col) = specials.semicontinuous.first() {
            format!("column {} is semi-continuous", name(col))
        } else if let Some(set) = specials.sets.first() {
            let members: Vec<String> = set.members.iter().take(2).map(|m| name(m.0)).collect();
            let members = members.join(", ");
            format!("{members}, ... are a special ordered set (SOS)")
        } else if let Some(implication) = specials.implications.first() {
            let label = match implication.name.as_str() {
                "" => String::new(),
                label => format!("{}: ", shown(label)),
            };
            let value = u8::from(implication.value);
            let col = name(implication.col);
            format!("{label}{col} = {value} -> ... is an indicator constraint")
        } else if let Some((a, b, _)) =
            (specials.quadratic.iter()).find_map(|q| q.products().next())
        {
            let (a, b) = (name(a), name(b));
            format!("the objective is quadratic: it has the product {a} * {b}")
        } else {
            return Ok(model);
        };
        Err(NotLinear { what })
    }
}
