//! Plans: a schedule as a program of `allocate`, `compute` and `deallocate` statements over virtual registers.

use crate::instance::NodeId;

/// A virtual register: a buffer that holds one tensor at a time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Register(pub u32);

/// One statement of a plan.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// Reserves a register with room for the output of `node`.
    Allocate {
        /// The register.
        register: Register,
        /// The node whose output it will hold.
        node: NodeId,
    },
    /// Runs a node and puts its output into `register`. Where the register holds another tensor, the node overwrites
    /// it in place.
    Compute {
        /// The node.
        node: NodeId,
        /// Where its output goes.
        register: Register,
        /// Index into the node's implementations.
        implementation: u16,
    },
    /// Frees a register.
    Deallocate {
        /// The register.
        register: Register,
    },
}

/// Which program's memory semantics a plan was made for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Semantics {
    /// Fixed memory is that of the whole run ([`crate::Instance::static_bytes`]) throughout.
    Checkmate,
    /// Fixed memory grows with the frontier: `fixed_bytes` of the node computed last for the first time.
    Monet,
}

/// An executable program for one training step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Name of the instance it was made for.
    pub instance: String,
    /// Memory semantics.
    pub semantics: Semantics,
    /// The statements, in order.
    pub steps: Vec<Step>,
}
