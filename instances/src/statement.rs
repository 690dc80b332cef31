//! Statements of plans, and plans as lists of them.

use crate::instance::NodeId;
use crate::semantics::Semantics;
use std::fmt;

/// A virtual register: a buffer that holds one tensor at a time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Register(pub u32);

impl fmt::Display for Register {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "%{}", self.0)
    }
}

/// A buffer in host memory that holds the copy of one tensor.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct HostBuffer(pub u32);

impl fmt::Display for HostBuffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "@{}", self.0)
    }
}

/// One statement of a plan.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// Allocates a register with room for the output of `node`.
    Allocate {
        /// The register.
        register: Register,
        /// The node of its future output.
        node: NodeId,
    },
    /// Runs a node and writes its output to `register`. If the register holds another tensor, the
    /// node overwrites it in place.
    Compute {
        /// The node.
        node: NodeId,
        /// The register of its output.
        register: Register,
        /// Index into the node's implementations.
        implementation: u16,
    },
    /// Frees a register.
    Deallocate {
        /// The register.
        register: Register,
    },
    /// Takes a host buffer and starts a copy into it.
    Offload {
        /// The source register.
        register: Register,
        /// The buffer.
        buffer: HostBuffer,
    },
    /// Waits until the copy into a host buffer has ended.
    Wait {
        /// The buffer.
        buffer: HostBuffer,
    },
    /// Starts a copy of a host buffer into an allocated empty register.
    Prefetch {
        /// The buffer.
        buffer: HostBuffer,
        /// The register.
        register: Register,
    },
    /// Frees a host buffer.
    Release {
        /// The buffer.
        buffer: HostBuffer,
    },
    /// Starts to gather a weight into a register that is allocated for it and empty.
    Gather {
        /// The register.
        register: Register,
        /// The weight.
        node: NodeId,
    },
    /// Starts to scatter the gradient in a register. Freeing the register waits for the end.
    Scatter {
        /// The register.
        register: Register,
        /// The node that computed the gradient.
        node: NodeId,
    },
}

/// An executable program for one training step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Name of the instance for which it was made.
    pub instance: String,
    /// Memory semantics.
    pub semantics: Semantics,
    /// The statements, in order.
    pub steps: Vec<Step>,
}

impl Plan {
    /// Returns whether the plan uses the link: copies any tensor to the host, gathers a weight or
    /// scatters a gradient.
    pub fn has_copies(&self) -> bool {
        self.first_copy().is_some()
    }

    /// Position of the first statement that copies a tensor to the host, gathers a weight or
    /// scatters a gradient.
    pub fn first_copy(&self) -> Option<usize> {
        let mut steps = self.steps.iter();
        steps.position(|step| {
            matches!(
                step,
                Step::Offload { .. } | Step::Gather { .. } | Step::Scatter { .. }
            )
        })
    }

    /// Counts the computations of each node, by node index; `nodes` is the number of nodes of the
    /// instance.
    ///
    /// Computations of nodes that are not in the instance are not counted;
    /// [`crate::simulate::plan`] reports them.
    pub fn computations(&self, nodes: usize) -> Vec<u32> {
        let mut count = vec![0; nodes];
        for step in &self.steps {
            if let Step::Compute { node, .. } = step
                && let Some(entry) = count.get_mut(node.index())
            {
                *entry += 1;
            }
        }
        count
    }
}
