//! The judge: replays a schedule or a plan step by step, allocating and freeing, and reports cost
//! and memory.
//!
//! The replays share no code with integer programs: they have no big-M rows and no solver, only a
//! set of resident tensors. Every number shown to users comes from one of the four replays:
//! - [`checkmate`]: Checkmate's semantics (U and FREE, MLSys 2020 section 4.4) for a
//!   [`crate::schedule::CheckmateSchedule`];
//! - [`monet`]: MONeT's semantics (ICLR 2021, section 4) for a [`crate::schedule::MonetSchedule`];
//! - [`poet()`]: POET's semantics (ICML 2022) for a [`crate::schedule::PoetSchedule`];
//! - [`plan`]: a [`crate::plan::Plan`], register by register.
//!
//! [`PlanLives`] has the lives of all memory that the replay of a plan counts.

mod checkmate;
mod copies;
mod fault;
mod in_flight;
mod lives;
mod monet;
mod plain;
mod plan;
mod poet;

pub use checkmate::checkmate;
pub use copies::{CopyMoment, CopySpan, Transfers};
pub use fault::StepFault;
pub use lives::{CACHE_LINE, LARGEST_ALIGNMENT, LifeStretch, PieceOf, PlanLife, PlanLives};
pub use monet::monet;
pub use plan::plan;
pub use poet::poet;

use crate::instance::{Instance, NodeId};
use crate::name::Name;
use crate::statement::{HostBuffer, Register};
use in_flight::Boundary;

/// Result of a replay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replay {
    /// Total cost of all computations in the instance's cost unit.
    pub cost: u64,
    /// Time from the first computation to the end in the same unit: the cost, plus, in a plan with
    /// copies to the host, the time that computations wait.
    pub makespan: u64,
    /// Copies to the host and back.
    pub transfers: Transfers,
    /// Cost of the step without recomputation ([`crate::plain`]).
    pub base_cost: u64,
    /// Largest memory at any moment in bytes, fixed memory and waiting micro-batches included.
    pub peak_bytes: u64,
    /// Bytes that a micro-batch holds between its two passes; 0 if only one is in flight.
    pub saved_bytes: u64,
    /// Bytes that the other micro-batches in flight hold; part of every memory of the timeline.
    pub waiting_bytes: u64,
    /// The moment of the peak.
    pub peak_at: Moment,
    /// Number of node computations.
    pub computations: usize,
    /// Memory at each computation, in order.
    pub timeline: Vec<TimelinePoint>,
}

impl Replay {
    /// Time that computations wait for copies, in the instance's cost unit.
    pub fn idle(&self) -> u64 {
        self.makespan - self.cost
    }

    /// Overhead: makespan beyond the base cost, in percent (0 for a base cost of 0).
    pub fn overhead_percent(&self) -> f64 {
        if self.base_cost == 0 {
            0.0
        } else {
            (self.makespan as f64 / self.base_cost as f64 - 1.0) * 100.0
        }
    }
}

/// A moment of a replay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// Stage; for a plan the number of nodes computed at least once before.
    pub stage: usize,
    /// The running node, or `None` at the start of a stage.
    pub node: Option<NodeId>,
}

/// Memory at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimelinePoint {
    /// The moment.
    pub at: Moment,
    /// Bytes in use, fixed memory included.
    pub bytes: u64,
    /// Total cost of all computations up to and including this moment.
    pub cost: u64,
    /// Time at its end; equal to the cost without copies.
    pub clock: u64,
}

/// Reason for a schedule or plan not to be executable.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReplayError {
    /// The schedule has the wrong shape for the instance.
    #[error(
        "{what} is {found_rows} x {found_columns}, the instance needs {rows} x {columns} (stages x nodes)"
    )]
    Shape {
        /// Name of the matrix.
        what: &'static str,
        /// Rows found.
        found_rows: usize,
        /// Columns found.
        found_columns: usize,
        /// Rows needed.
        rows: usize,
        /// Columns needed.
        columns: usize,
    },
    /// A node runs without an input in memory.
    #[error(
        "stage {stage}: node {node} ({node_name}) runs, but its input {missing} ({missing_name}) is not in memory"
    )]
    MissingInput {
        /// Stage.
        stage: usize,
        /// Node that runs.
        node: NodeId,
        /// Its name.
        node_name: Name,
        /// Input that is missing.
        missing: NodeId,
        /// Its name.
        missing_name: Name,
    },
    /// A tensor is marked as retained into a stage, but was neither held nor computed in the stage
    /// before.
    #[error("stage {stage} starts with node {node} ({node_name}) retained, but stage {before} neither held nor computed it", before = stage.wrapping_sub(1))]
    NotThere {
        /// Stage that should start with it.
        stage: usize,
        /// The node.
        node: NodeId,
        /// Its name.
        node_name: Name,
    },
    /// The node of a stage is not computed in it.
    #[error(
        "stage {stage}: node {node} ({node_name}) must be computed for the first time here and is not"
    )]
    NotComputed {
        /// Stage.
        stage: usize,
        /// The node.
        node: NodeId,
        /// Its name.
        node_name: Name,
    },
    /// A node is computed, or retained, before the stage in which it is first computed.
    #[error(
        "stage {stage}: node {node} ({node_name}) is {verb} before the stage that computes it for the first time"
    )]
    TooEarly {
        /// Stage.
        stage: usize,
        /// The node.
        node: NodeId,
        /// Its name.
        node_name: Name,
        /// `computed` or `retained`.
        verb: &'static str,
    },
    /// A node is recomputed although the instance declares it as computed once.
    #[error(
        "stage {stage}: node {node} ({node_name}) is recomputed, but the instance says that it never is (\"recompute\": false, on it or on its parent)"
    )]
    NeverAgain {
        /// Stage.
        stage: usize,
        /// The node.
        node: NodeId,
        /// Its name.
        node_name: Name,
    },
    /// A node that is recomputed after a node that ends it.
    #[error(
        "stage {stage}: node {node} ({node_name}) is recomputed, but node {end} ({end_name}) has run, which overwrites what it reads (\"ends\")"
    )]
    Ended {
        /// Stage.
        stage: usize,
        /// The node.
        node: NodeId,
        /// Its name.
        node_name: Name,
        /// The node that ends it.
        end: NodeId,
        /// Its name.
        end_name: Name,
    },
    /// A page of a tensor that cannot be paged.
    #[error(
        "stage {stage}: the output of node {node} ({node_name}) is paged {verb}, but {because}"
    )]
    NoPage {
        /// Stage.
        stage: usize,
        /// The node.
        node: NodeId,
        /// Its name.
        node_name: Name,
        /// `in` or `out`.
        verb: &'static str,
        /// Reason, in words.
        because: &'static str,
    },
    /// MONeT's program needs a loss to locate the end of the forward pass.
    #[error(
        "the instance has no loss: MONeT's program needs a forward pass, a loss and a backward pass"
    )]
    NoLoss,
    /// The chosen implementation does not exist.
    #[error(
        "stage {stage}: node {node} ({node_name}) runs implementation {choice}, but it has only {available} (from 0)"
    )]
    NoChoice {
        /// Stage.
        stage: usize,
        /// The node.
        node: NodeId,
        /// Its name.
        node_name: Name,
        /// The implementation that does not exist.
        choice: usize,
        /// Number of implementations.
        available: usize,
    },
    /// A node without an in-place option, or without a computation, is marked as computed in place.
    #[error(
        "stage {stage}: node {node} ({node_name}) is marked in place, but is not computed or cannot be in place"
    )]
    NotInPlace {
        /// Stage.
        stage: usize,
        /// The node.
        node: NodeId,
        /// Its name.
        node_name: Name,
    },
    /// A by-product is computed without its parent, or not in the parent's mode.
    #[error(
        "stage {stage}: by-product {node} ({node_name}) is computed, but its parent {parent} ({parent_name}) is not {how}"
    )]
    ByProductAlone {
        /// Stage.
        stage: usize,
        /// The by-product.
        node: NodeId,
        /// Its name.
        node_name: Name,
        /// Its parent.
        parent: NodeId,
        /// The parent's name.
        parent_name: Name,
        /// The condition that the parent violates, in words.
        how: &'static str,
    },
    /// A tensor is used after another node was computed into its buffer.
    #[error(
        "stage {stage}: node {node} ({node_name}) is overwritten in place by node {writer} ({writer_name}), but {use_of}"
    )]
    Overwritten {
        /// Stage.
        stage: usize,
        /// The overwritten node.
        node: NodeId,
        /// Its name.
        node_name: Name,
        /// The node in its buffer.
        writer: NodeId,
        /// That node's name.
        writer_name: Name,
        /// Later use of the overwritten tensor, in words.
        use_of: String,
    },
    /// A backward node reads a tensor that is stored only up to the stage before.
    #[error(
        "stage {stage}: node {node} ({node_name}) reads node {missing} ({missing_name}), which is neither computed in this stage nor stored beyond it"
    )]
    NotHeld {
        /// Stage.
        stage: usize,
        /// The backward node.
        node: NodeId,
        /// Its name.
        node_name: Name,
        /// The tensor.
        missing: NodeId,
        /// Its name.
        missing_name: Name,
    },
    /// A statement of a plan cannot be executed.
    #[error("statement {step}: {fault}")]
    Step {
        /// Position of the statement in the plan, from 0.
        step: usize,
        /// Fault of the statement.
        fault: Box<StepFault>,
    },
    /// A plan that never computes a node.
    #[error("node {node} ({node_name}) is never computed")]
    NeverComputed {
        /// The node.
        node: NodeId,
        /// Its name.
        node_name: Name,
    },
    /// A plan ends with an allocated register that holds no output of the step.
    #[error(
        "{register} with node {node} ({node_name}) is never freed; only outputs that no node reads may stay"
    )]
    NeverFreed {
        /// The register.
        register: Register,
        /// The node.
        node: NodeId,
        /// Its name.
        node_name: Name,
    },
    /// A gradient that a plan never scatters.
    #[error("node {node} ({node_name}) is never scattered (\"scatter_bytes\")")]
    NeverScattered {
        /// The node.
        node: NodeId,
        /// Its name.
        node_name: Name,
    },
    /// A plan ends with a host buffer in use.
    #[error("{buffer} with node {node} ({node_name}) is never released")]
    NeverReleased {
        /// The buffer.
        buffer: HostBuffer,
        /// The node.
        node: NodeId,
        /// Its name.
        node_name: Name,
    },
}

/// Accumulates cost and memory during a replay.
struct Meter {
    cost: u64,
    /// Time that computations have waited for copies.
    idle: u64,
    peak_bytes: u64,
    peak_at: Moment,
    computations: usize,
    timeline: Vec<TimelinePoint>,
}

impl Meter {
    fn new() -> Self {
        let at = Moment {
            stage: 0,
            node: None,
        };
        Meter {
            cost: 0,
            idle: 0,
            peak_bytes: 0,
            peak_at: at,
            computations: 0,
            timeline: Vec::new(),
        }
    }

    /// Updates only the peak with the memory in use.
    fn glance(&mut self, stage: usize, node: Option<NodeId>, bytes: u64) -> Moment {
        let at = Moment { stage, node };
        if bytes > self.peak_bytes {
            self.peak_bytes = bytes;
            self.peak_at = at;
        }
        at
    }

    /// Records the memory in use at a moment.
    fn sample(&mut self, stage: usize, node: Option<NodeId>, bytes: u64) {
        let at = self.glance(stage, node, bytes);
        self.timeline.push(TimelinePoint {
            at,
            bytes,
            cost: self.cost,
            clock: self.cost.saturating_add(self.idle),
        });
    }

    fn finish(mut self, base_cost: u64, boundary: &Boundary) -> Replay {
        let waiting_bytes = boundary.waiting_bytes();
        if waiting_bytes > 0 {
            self.peak_bytes = self.peak_bytes.saturating_add(waiting_bytes);
            for point in &mut self.timeline {
                point.bytes = point.bytes.saturating_add(waiting_bytes);
            }
        }
        Replay {
            saved_bytes: boundary.saved_bytes(),
            waiting_bytes,
            cost: self.cost,
            makespan: self.cost.saturating_add(self.idle),
            transfers: Transfers::default(),
            base_cost,
            peak_bytes: self.peak_bytes,
            peak_at: self.peak_at,
            computations: self.computations,
            timeline: self.timeline,
        }
    }
}

impl ReplayError {
    /// The error of a stage that recomputes a node although it no longer may be.
    fn never_again(instance: &Instance, stage: usize, node: NodeId) -> Self {
        let node_name = instance.node(node).name.clone();
        if !instance.may_recompute(node) {
            return ReplayError::NeverAgain {
                stage,
                node,
                node_name,
            };
        }
        let end = instance.last_stage_again(node);
        ReplayError::Ended {
            stage,
            node,
            node_name,
            end,
            end_name: instance.node(end).name.clone(),
        }
    }
}
