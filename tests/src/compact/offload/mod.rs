//! Compact program of plans with copies, to compare solvers with. It states the place of every
//! tensor in each slot of time, and the share of a copy that each slot carries.
//!
//! With `n` nodes in execution order there are `n` stages. In stage `t` nodes before `t` may run
//! again, in node order, and then node `t` runs for the first time. Each of these *runs* is a slot,
//! and before each there are slots of *pauses*, in which no node runs and copies go on. Columns of
//! slot `s` and of tensors `i` that exist by then and may still be read:
//!
//! | column | meaning |
//! |---|---|
//! | `R[t,k]`, binary | node `k` runs in stage `t` |
//! | `W[s]` | duration of a pause, in the instance's cost unit |
//! | `V[s,i]`, binary | `i` is on the device, complete |
//! | `B[s,i]`, binary | a copy back fills a buffer of `i` on the device |
//! | `F[s,i]`, binary | such a copy is complete when `s` starts |
//! | `G[s,i]`, binary | `i` is on the host, complete |
//! | `out[s,i]`, `back[s,i]` | shares of `i` that go and come in `s` |
//! | `sent[s,i]`, `come[s,i]` | shares of a copy under way when `s` starts |
//! | `A[s,i]`, `E[s,i]`, binary | with a limit of host memory: a buffer there is filled, is full when `s` starts |
//! | `Y[s,i]` | with that limit: `i` came back, and has not been read |
//!
//! Minimise `sum cost[t,k] R[t,k] + sum W[s]` subject to the rows below. `R[s]` is the run of slot
//! `s` (of node `k`), and `length[s]` its duration, `cost R[s]` or `W[s]`:
//!
//! ```text
//! (1) R[s] <= V[s,i]                                   for inputs i of k;  R[t,k] <= R[t,p] for t > k where p is the parent of k
//! (2) V[s,i] <= V[s-1,i] + F[s,i] + R[s-1] (if it makes i)
//! (3) sum_i m_i (V[s,i] + B[s,i]) + (m_k + w_k) R[s] <= capacity
//! (4) sum_i out_i out[s,i] <= length[s],  sum_i back_i back[s,i] <= length[s]       (half duplex: one row, both sums)
//! (5) out[s,i] <= V[s,i],  sent[s,i] = sent[s-1,i] + out[s-1,i],  G[s,i] <= sent[s,i] <= 1
//! (6) back[s,i] <= B[s,i],  back[s,i] <= G[s,i],  V[s,i] + B[s,i] <= 1
//! (7) come[s,i] = come[s-1,i] + back[s-1,i] - F[s,i],  F[s,i] <= B[s-1,i],  come[s,i] <= B[s,i]
//! (8) with a limit, in place of (5):  out[s,i] <= V[s,i], A[s,i];  sent[s,i] = sent[s-1,i] + out[s-1,i] - E[s,i] <= A[s,i];
//!     E[s,i] <= A[s-1,i];  G[s,i] <= G[s-1,i] + E[s,i];  A[s,i] + G[s,i] <= 1;  sum_i m_i (A[s,i] + G[s,i]) <= host memory;
//!     Y[s,i] >= Y[s-1,i] + F[s,i] - R[s-1] (if it reads i),  Y[s,i] <= G[s,i]
//! ```
//!
//! By [`CopyPhase::Loss`] shares to the host are 0 from the loss on, and shares back are 0 up to
//! it. A tensor comes (and with a limit goes) at most once. By row (7) a copy's surplus share does
//! not count for the next copy.
//!
//! Copies are shares, as if each could be interrupted. A plan whose copies go one after the other
//! is a point of the program. [`Pauses`] states which memory counts in a pause.

mod build;
mod rows;

use remat_formulations::bound::TooSmall;
use remat_formulations::offload::CopyPhase;
use remat_instances::instance::Instance;
use remat_instances::name::Name;
use remat_lp::Model;

/// Pauses before each run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pauses {
    /// One, in which memory is not counted. No plan is faster than the program's optimum, whose
    /// memory in a pause may exceed the budget.
    Uncounted,
    /// This many, each within memory. The optimum is the least over plans with interruptible copies
    /// that drop tensors or begin to fetch some at most this many times between two runs. Two were
    /// enough in all graphs tried.
    Counted(u32),
}

/// Reason why there is no program.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OffloadProgramError {
    /// The budget is below the fixed memory.
    #[error(transparent)]
    TooSmall(#[from] TooSmall),
    /// The instance has no link.
    #[error("instance {name:?} has no \"host_link\": give it one, or name a link")]
    NoLink {
        /// Its name.
        name: Name,
    },
    /// The unit of cost is not a unit of time.
    #[error("the cost unit {unit:?} is no time, and copies take time")]
    NoTime {
        /// The unit.
        unit: Name,
    },
    /// Copies are bounded by the loss, but the instance has no loss.
    #[error("instance {name:?} has no loss for copies to go by")]
    NoLoss {
        /// Its name.
        name: Name,
    },
}

/// The compact program of an instance with a link, under a budget.
///
/// # Example
/// ```
/// use remat_formulations::offload::CopyPhase;
/// use remat_instances::instance::{CostUnit, HostLink, Instance, InstanceData, Node, NodeId};
/// use remat_solver::mip::{Settings, Solver};
/// use remat_tests::compact::offload::{OffloadProgram, Pauses};
///
/// let nodes = vec![
///     Node::forward("a", vec![], 10, 6),
///     Node::forward("b", vec![NodeId(0)], 20, 8),
///     Node::forward("c", vec![NodeId(1)], 20, 8),
///     Node::forward("d", vec![NodeId(0), NodeId(2)], 5, 1),
/// ];
/// let instance = Instance::new(InstanceData {
///     name: "skip".into(),
///     cost_unit: CostUnit::nanoseconds(),
///     host_link: Some(HostLink::new(1_000_000_000, 1_000_000_000)),
///     in_flight: 1,
///     nodes,
/// })?;
/// // a leaves while b runs, and comes back behind c within 6 ns.
/// let program = OffloadProgram::new(&instance, 16, CopyPhase::Any, Pauses::Counted(1), 1.0)?;
/// let outcome = Solver::new(program.model().clone(), Settings::default()).run()?;
/// assert_eq!(outcome.solution.ok_or("a plan fits")?.objective.round(), 61.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct OffloadProgram {
    model: Model,
    unit_bytes: f64,
}

impl OffloadProgram {
    /// Builds the program. Memory is counted in units of `unit_bytes`, as in
    /// [`Original`](remat_formulations::checkmate::original::Original::new), times in the
    /// instance's cost unit.
    ///
    /// A budget below a node's own need makes an infeasible program, not an error.
    ///
    /// # Errors
    /// [`OffloadProgramError`] if the budget is below the fixed memory, the instance has no link or
    /// no costs in time, or copies are bounded by a loss that the instance lacks.
    pub fn new(
        instance: &Instance,
        budget_bytes: u64,
        copies: CopyPhase,
        pauses: Pauses,
        unit_bytes: f64,
    ) -> Result<OffloadProgram, OffloadProgramError> {
        let parts = build::Parts::new(instance, budget_bytes, copies)?;
        Ok(OffloadProgram {
            model: rows::build(&parts, pauses, unit_bytes),
            unit_bytes,
        })
    }

    /// The program: binary columns are marked as integer, shares and pauses are continuous.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// Bytes that one unit of memory in the program stands for.
    pub fn unit_bytes(&self) -> f64 {
        self.unit_bytes
    }
}
