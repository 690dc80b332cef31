//! Branching at a node.

pub(crate) mod pseudocost;
pub(crate) mod split;
