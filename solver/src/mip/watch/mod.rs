//! Observers that record a search: bounds over time, the tree.

mod curve;
mod vbc;

pub use curve::Curve;
pub use vbc::VbcTree;
