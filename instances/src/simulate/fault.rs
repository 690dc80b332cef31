//! Faults of the statements of a plan.

use crate::instance::NodeId;
use crate::name::Name;
use crate::statement::{HostBuffer, Register};

/// Fault of one statement of a plan.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StepFault {
    /// A node that is not in the instance.
    #[error("node {node} does not exist, the instance has {nodes} nodes")]
    UnknownNode {
        /// The node.
        node: NodeId,
        /// Number of nodes of the instance.
        nodes: usize,
    },
    /// An implementation that the node does not have, or that the semantics do not allow.
    #[error("{node_name} has no implementation {implementation} here, only 0 to {last}", last = implementations - 1)]
    UnknownImplementation {
        /// Name of the node.
        node_name: Name,
        /// The implementation.
        implementation: u16,
        /// Number of implementations that may be chosen.
        implementations: usize,
    },
    /// A register that is allocated again without being freed.
    #[error("{register} is allocated, but is in use for {node_name}: free it first")]
    AllocatedTwice {
        /// The register.
        register: Register,
        /// Name of the node it was allocated for.
        node_name: Name,
    },
    /// A register that is used or freed but not allocated.
    #[error("{register} is not allocated here")]
    NotAllocated {
        /// The register.
        register: Register,
    },
    /// A register that was allocated for another node.
    #[error("{node_name} is computed into {register}, which was allocated for {other_name}")]
    WrongRegister {
        /// The register.
        register: Register,
        /// Name of the node that runs.
        node_name: Name,
        /// Name of the node it was allocated for.
        other_name: Name,
    },
    /// A computation into a register with a tensor that the node must not overwrite.
    #[error(
        "{node_name} is computed into {register}, which holds {held_name}: it cannot overwrite that in place"
    )]
    CannotOverwrite {
        /// The register.
        register: Register,
        /// Name of the node that runs.
        node_name: Name,
        /// Name of the node with its output in the register.
        held_name: Name,
    },
    /// An input that is in no register.
    #[error("{node_name} runs, but its input {missing} ({missing_name}) is in no register")]
    MissingInput {
        /// Name of the node that runs.
        node_name: Name,
        /// The input.
        missing: NodeId,
        /// Name of the input.
        missing_name: Name,
    },
    /// A by-product computed without its parent.
    #[error(
        "{node_name} is a by-product of {parent_name}, which has not run since it was made last: it comes only with a run of its parent"
    )]
    ParentDidNotRun {
        /// Name of the by-product.
        node_name: Name,
        /// Name of its parent.
        parent_name: Name,
    },
    /// A node that is recomputed although the instance declares it as computed once.
    #[error(
        "{node_name} is computed again, but the instance says that it never is (\"recompute\": false, on it or on its parent)"
    )]
    NeverAgain {
        /// Name of the node.
        node_name: Name,
    },
    /// A node that is computed after a node that ends it.
    #[error(
        "{node_name} is computed, but {end_name} has run, which overwrites what it reads (\"ends\")"
    )]
    Ended {
        /// Name of the node.
        node_name: Name,
        /// Name of the node that ends it.
        end_name: Name,
    },
    /// A register that is freed before any computation into it.
    #[error(
        "{register} is freed, but nothing was computed into it since it was allocated for {node_name}"
    )]
    NeverFilled {
        /// The register.
        register: Register,
        /// Name of the node it was allocated for.
        node_name: Name,
    },
    /// A copy in a plan of an instance without a link.
    #[error("copies to the host need a link, and the instance has none (\"host_link\")")]
    NoLink,
    /// A copy in a plan of an instance whose costs are not times.
    #[error("copies take time, and the instance's cost unit {unit:?} is no time")]
    NoTime {
        /// The unit.
        unit: Name,
    },
    /// A copy over a link without bandwidth in this direction.
    #[error("the link has no bandwidth {direction} the host")]
    NoBandwidth {
        /// `to` or `from`.
        direction: &'static str,
    },
    /// A copy of a tensor that stays on the device.
    #[error(
        "{node_name} is copied to the host, but the instance says that it never is (\"offload\": false)"
    )]
    Stays {
        /// Name of the node.
        node_name: Name,
    },
    /// A copy from an empty register.
    #[error(
        "{register} is copied to the host, but nothing was put into it since it was allocated for {node_name}"
    )]
    NothingToCopy {
        /// The register.
        register: Register,
        /// Name of the node it was allocated for.
        node_name: Name,
    },
    /// A host buffer that is taken again without being released.
    #[error("{buffer} is taken, but holds {node_name}: release it first")]
    TakenTwice {
        /// The buffer.
        buffer: HostBuffer,
        /// Name of the node with its output in the buffer.
        node_name: Name,
    },
    /// A host buffer that is used but not taken.
    #[error("{buffer} holds nothing here")]
    NotTaken {
        /// The buffer.
        buffer: HostBuffer,
    },
    /// A copy back into a register that is allocated for another node or not empty.
    #[error("{buffer} is copied back into {register}, which {problem}")]
    CannotFetchInto {
        /// The buffer.
        buffer: HostBuffer,
        /// The register.
        register: Register,
        /// The problem, in words.
        problem: String,
    },
    /// A register that is freed or overwritten before a wait for the copy from it.
    #[error(
        "{register} is {verb} while a copy from it to {buffer} may still run: wait for it first"
    )]
    StillLeaving {
        /// The register.
        register: Register,
        /// The buffer.
        buffer: HostBuffer,
        /// `freed` or `overwritten`.
        verb: &'static str,
    },
    /// A register that is freed although no computation has read the copy in it.
    #[error("{register} is freed, but nothing has read what came from {buffer}")]
    NeverRead {
        /// The register.
        register: Register,
        /// The buffer.
        buffer: HostBuffer,
    },
    /// A register that is freed although no computation has read the weight gathered into it.
    #[error("{register} is freed, but no computation has read {node_name}, which was gathered")]
    GatheredInVain {
        /// The register.
        register: Register,
        /// Name of the weight.
        node_name: Name,
    },
    /// A computation of a gathered weight.
    #[error("{node_name} is a gathered weight (\"gather_bytes\"): gather it, do not compute it")]
    NotComputed {
        /// Name of the weight.
        node_name: Name,
    },
    /// A gather of a node that is computed.
    #[error("{node_name} is gathered, but the instance gives it no \"gather_bytes\": compute it")]
    NotGathered {
        /// Name of the node.
        node_name: Name,
    },
    /// A gather into a register that is allocated for another node or not empty.
    #[error("{node_name} is gathered into {register}, which {problem}")]
    CannotGatherInto {
        /// Name of the weight.
        node_name: Name,
        /// The register.
        register: Register,
        /// The problem, in words.
        problem: String,
    },
    /// A scatter of a node whose output stays.
    #[error("{node_name} is scattered, but the instance gives it no \"scatter_bytes\"")]
    NotScattered {
        /// Name of the node.
        node_name: Name,
    },
    /// A scatter from a register that does not hold the gradient.
    #[error("{node_name} is scattered from {register}, which does not hold it")]
    NothingToScatter {
        /// Name of the node.
        node_name: Name,
        /// The register.
        register: Register,
    },
    /// A gradient that is scattered again.
    #[error("{node_name} is scattered twice: its shards would count it twice")]
    ScatteredTwice {
        /// Name of the node.
        node_name: Name,
    },
    /// A host buffer that is released before a wait for the copy to it.
    #[error("{buffer} is released while the copy to it may still run: wait for it first")]
    StillFilling {
        /// The buffer.
        buffer: HostBuffer,
    },
    /// A host buffer that is released before a computation has read the copy from it.
    #[error("{buffer} is released while a copy from it may still run: nothing has read {register}")]
    StillComing {
        /// The buffer.
        buffer: HostBuffer,
        /// The destination register of the copy.
        register: Register,
    },
}
