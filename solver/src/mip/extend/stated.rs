//! Rows that a proof states beside those of the model, such as tangents below a convex objective.
//!
//! The certificate lists them among its constraints. Its reader must know the problem behind the
//! model to see that every solution satisfies them.

use crate::mip::exact::Rational;
use remat_lp::Model;

/// The row `entries . x >= side`, which every solution of a problem satisfies.
#[derive(Clone, Debug, PartialEq)]
pub struct StatedRow {
    /// Right-hand side.
    pub side: Rational,
    /// Columns in increasing order with their coefficients, none of them zero.
    pub entries: Vec<(usize, Rational)>,
}

/// A source of rows that hold at every solution of a problem and are no rows of its model.
pub trait StatedRows: Send + Sync {
    /// The model of the proof, over the columns of the search's model. It may leave out rows that
    /// the stated ones replace.
    fn model(&self) -> &Model;

    /// Rows for the proof's first relaxation.
    fn first(&self) -> Vec<StatedRow>;

    /// Rows that raise the relaxation at the point `x` of a node. `lower` and `upper` are the
    /// node's bounds, one for each column. An empty list ends the rows for this node.
    fn rows(&self, x: &[f64], lower: &[f64], upper: &[f64]) -> Vec<StatedRow>;

    /// Sets the columns of a point that the others determine.
    fn complete(&self, point: &mut [Rational]);
}
