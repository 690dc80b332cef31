//! Branching at a node.

mod history;
pub(crate) mod pseudocost;
pub(crate) mod split;
