//! Nodes and the queue of open ones.

mod node;
mod queue;

pub(crate) use node::{Branched, PathLink, TreeNode};
pub(crate) use queue::NodeQueue;
