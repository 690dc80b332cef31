//! Checkmate's program as it was published (Jain et al., MLSys 2020, section 4), row by row, so
//! that any solver can be compared.
//!
//! With `n` nodes in execution order there are `n` stages. Columns, all for stages `t` and nodes
//! `i`, `k` in `0..n`:
//!
//! | column | meaning |
//! |---|---|
//! | `R[t,i]`, binary | node `i` is computed in stage `t` |
//! | `S[t,i]`, binary | tensor `i` is in memory when stage `t` starts |
//! | `F[t,i,k]`, binary, `i -> k` | published `FREE`: `i` is freed in stage `t` right after `k` |
//! | `U[t,k]`, continuous | memory while `k` runs in stage `t`, at most the capacity |
//!
//! `FREE` on the diagonal (`i = k`) is left out: it would be 1 only for a computation without a use
//! (section 4.6). Minimise `sum cost[t,i] R[t,i]` subject to
//!
//! ```text
//! (1) sum_{t<i} R[t,i] = 0,  sum_{t<=i} S[t,i] = 0,  sum_t R[t,t] = n  frontier-advancing stages
//! (2) S[t+1,i] <= S[t,i] + R[t,i]
//! (3) R[t,k] <= R[t,i] + S[t,i]                 for each edge i -> k
//!     R[t,k] <= R[t,i]                          in its place for t > k where i is the parent of k
//! (4) 1 - F <= hazards <= most * (1 - F)        for each edge i -> k and stage
//!     hazards = (1 - R[t,k]) + S[t+1,i] + sum of R[t,j] over readers j > k of i
//!     most: the number of its terms
//! (5) U[t,0] = m_0 R[t,0] + sum_i m_i S[t,i]
//! (6) U[t,k+1] = U[t,k] + m_{k+1} R[t,k+1] - sum of m_i F[t,i,k] over edges i -> k
//! (7) U[t,k] + w[t,k] R[t,k] <= capacity        only for nodes with a workspace
//! ```
//!
//! In a node's own stage, its cost and workspace are the values of the first computation, in later
//! stages the values of a recomputation. A node that is never recomputed has a row
//! `sum_{t>i} R[t,i] = 0`. The published program has one cost, and no by-products.
//!
//! Rows (4) are the linear form of `F = (hazards == 0)`. The published program has no workspaces.
//! Without them there is no row (7), and the rows are exactly the rows of the published runs. These
//! runs also had the bounds of `U` as rows ([`Original::published_rows`]).
//!
//! [`Stages::Unpartitioned`] is the form that the paper compares with. In place of (1), memory is
//! empty at first, and every node without readers is computed in some stage. Its stages need not
//! advance the frontier, so its optimum can be lower.

mod build;
mod point;

use crate::bound::TooSmall;
use remat_instances::instance::{Instance, Node, NodeId};
use remat_instances::name::Name;
use remat_lp::{ColId, Model};

/// The kind of stages: with or without an advancing frontier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stages {
    /// Stage `t` computes node `t` for the first time.
    FrontierAdvancing,
    /// Any node may be computed first in any stage.
    Unpartitioned,
}

/// The published program of an instance under a budget.
///
/// # Example
/// ```
/// use remat_formulations::checkmate::original::{Original, Stages};
/// use remat_instances::instance::{CostUnit, Instance, InstanceData, Node, NodeId};
/// use remat_instances::schedule::CheckmateSchedule;
/// let nodes = vec![
///     Node::forward("a", vec![], 10, 4),
///     Node::forward("b", vec![NodeId(0)], 20, 8),
/// ];
/// let data = InstanceData { name: "two".into(), cost_unit: CostUnit::arbitrary(), host_link: None, in_flight: 1, nodes };
/// let instance = Instance::new(data)?;
/// let program = Original::new(&instance, 12, Stages::FrontierAdvancing, 1.0)?;
/// let x = program.point(&CheckmateSchedule::checkpoint_all(&instance));
/// assert_eq!(program.model().objective(&x), 30.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Original {
    stages: Stages,
    unit_bytes: f64,
    parts: CheckmateParts,
    model: Model,
}

/// View of an instance for the program.
#[derive(Clone, Debug)]
struct CheckmateParts {
    /// Cost and workspace of the first computation of each node, and of a recomputation.
    cost: [Vec<u64>; 2],
    bytes: Vec<u64>,
    workspace: [Vec<u64>; 2],
    users: Vec<Vec<u32>>,
    /// `(i, k)`: `k` reads `i`; by `k`, then by `i`.
    edges: Vec<(u32, u32)>,
    /// The parents of by-products.
    parent: Vec<Option<u32>>,
    /// The last stage in which the node may be computed again; its own stage if it never is.
    again_until: Vec<usize>,
    capacity: u64,
}

impl CheckmateParts {
    fn new(instance: &Instance, capacity: u64) -> CheckmateParts {
        let users = |i: NodeId| instance.users(i).iter().map(|q| q.0).collect();
        let reads = |k: NodeId| instance.needs(k).iter().map(move |i| (i.0, k.0));
        let of = |value: &dyn Fn(&Node) -> u64| -> Vec<u64> {
            instance.nodes().iter().map(value).collect()
        };
        CheckmateParts {
            cost: [false, true].map(|again| of(&|v| v.run_cost(again))),
            bytes: of(&|v| v.output_bytes),
            workspace: [false, true].map(|again| of(&|v| v.run_workspace_bytes(again))),
            users: instance.ids().map(users).collect(),
            edges: instance.ids().flat_map(reads).collect(),
            again_until: instance
                .ids()
                .map(|i| instance.last_stage_again(i).index())
                .collect(),
            parent: instance
                .nodes()
                .iter()
                .map(|v| Some(v.parent()?.0))
                .collect(),
            capacity,
        }
    }

    fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Cost of node `i` in stage `t`.
    fn cost(&self, t: usize, i: usize) -> u64 {
        self.cost[usize::from(i < t)][i]
    }

    /// Workspace of node `i` in stage `t`, in bytes.
    fn workspace(&self, t: usize, i: usize) -> u64 {
        self.workspace[usize::from(i < t)][i]
    }

    /// Readers of `i` behind `k`.
    fn later_users(&self, i: usize, k: usize) -> &[u32] {
        let users = &self.users[i];
        &users[users.partition_point(|&j| j as usize <= k)..]
    }

    fn r(&self, t: usize, i: usize) -> ColId {
        ColId((t * self.len() + i) as u32)
    }

    fn s(&self, t: usize, i: usize) -> ColId {
        ColId((self.len() * self.len() + t * self.len() + i) as u32)
    }

    fn f(&self, t: usize, edge: usize) -> ColId {
        ColId((2 * self.len() * self.len() + t * self.edges.len() + edge) as u32)
    }

    fn u(&self, t: usize, k: usize) -> ColId {
        let before = 2 * self.len() * self.len() + self.len() * self.edges.len();
        ColId((before + t * self.len() + k) as u32)
    }
}

/// Reason why the program cannot be built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OriginalError {
    /// The budget is below the fixed memory.
    #[error(transparent)]
    TooSmall(#[from] TooSmall),
    /// A node's first run differs from its other ones. Only stages that advance the frontier can
    /// tell them apart.
    #[error(
        "node {node} ({name}) has {what}: without stages that advance the frontier no run is known to be its first"
    )]
    FirstRunUnknown {
        /// The node.
        node: NodeId,
        /// Its name.
        name: Name,
        /// Difference between the first run and others, in words.
        what: &'static str,
    },
}

/// The first node whose first run differs from its other ones.
fn first_run_differs(instance: &Instance) -> Option<OriginalError> {
    instance.ids().find_map(|id| {
        let node = instance.node(id);
        let what = match node {
            v if v.run_cost(true) != v.run_cost(false) => "another cost when recomputed",
            v if v.run_workspace_bytes(true) != v.run_workspace_bytes(false) => {
                "another workspace when recomputed"
            }
            v if v.once => "a first run and no other",
            _ if instance.last_stage_again(id).index() + 1 < instance.len() => {
                "a node that ends it"
            }
            v if v.parent().is_some() => "a parent with which it is recomputed",
            _ => return None,
        };
        Some(OriginalError::FirstRunUnknown {
            node: id,
            name: node.name.clone(),
            what,
        })
    })
}

/// Decision of a column of the published program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Decision {
    /// `R[stage, node]`.
    Computed {
        /// The stage.
        stage: u32,
        /// The node.
        node: u32,
    },
    /// `S[stage, node]`.
    Retained {
        /// The stage.
        stage: u32,
        /// The node.
        node: u32,
    },
    /// `F[stage, input, reader]`.
    Freed {
        /// The stage.
        stage: u32,
        /// The tensor.
        input: u32,
        /// The node that read it.
        reader: u32,
    },
    /// `U[stage, node]`.
    Memory {
        /// The stage.
        stage: u32,
        /// The node.
        node: u32,
    },
}

impl Original {
    /// Builds the program. Memory is counted in units of `unit_bytes`. A power of two keeps every
    /// coefficient exact, and one near a thousandth of the capacity keeps solvers out of numerical
    /// trouble ([`Original::unit_for`]).
    ///
    /// A budget that is too small for some node makes an infeasible program, not an error.
    ///
    /// # Errors
    /// [`OriginalError`] if the budget is below the fixed memory, or if stages are unpartitioned
    /// and a node's first run differs from its other ones.
    pub fn new(
        instance: &Instance,
        budget_bytes: u64,
        stages: Stages,
        unit_bytes: f64,
    ) -> Result<Original, OriginalError> {
        let Some(capacity) = budget_bytes.checked_sub(instance.static_bytes()) else {
            let smallest = crate::bound::smallest_budget(instance);
            return Err(OriginalError::TooSmall(TooSmall {
                budget_bytes,
                ..smallest
            }));
        };
        if stages == Stages::Unpartitioned
            && let Some(error) = first_run_differs(instance)
        {
            return Err(error);
        }
        let parts = CheckmateParts::new(instance, capacity);
        let model = build::build(&parts, stages, unit_bytes);
        Ok(Original {
            stages,
            unit_bytes,
            parts,
            model,
        })
    }

    /// The unit that suits a budget: a power of two near a thousandth of the budget less the fixed
    /// memory.
    pub fn unit_for(instance: &Instance, budget_bytes: u64) -> f64 {
        let capacity = budget_bytes.saturating_sub(instance.static_bytes());
        (capacity / 1000).max(1).next_power_of_two() as f64
    }

    /// Returns whether stages advance the frontier.
    pub fn stages(&self) -> Stages {
        self.stages
    }

    /// The program: binary columns are marked as integer, memory is continuous.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// Bytes that one unit of memory in the program stands for.
    pub fn unit_bytes(&self) -> f64 {
        self.unit_bytes
    }

    /// Rows as the published runs count them: with the two bounds of every `U` as rows.
    pub fn published_rows(&self) -> usize {
        self.model.num_rows() + 2 * self.parts.len() * self.parts.len()
    }

    /// Entries as the published runs count them: one more for each bound that is a row.
    pub fn published_nonzeros(&self) -> usize {
        self.model.num_nonzeros() + 2 * self.parts.len() * self.parts.len()
    }

    /// Decision of a column.
    ///
    /// # Panics
    /// If the program has no such column.
    pub fn decision(&self, column: ColId) -> Decision {
        let (n, e) = (self.parts.len(), self.parts.edges.len());
        let at = column.index();
        let place = |at: usize, width: usize| ((at / width) as u32, at % width);
        if at < n * n {
            let (stage, node) = place(at, n);
            Decision::Computed {
                stage,
                node: node as u32,
            }
        } else if at < 2 * n * n {
            let (stage, node) = place(at - n * n, n);
            Decision::Retained {
                stage,
                node: node as u32,
            }
        } else if at < 2 * n * n + n * e {
            let (stage, edge) = place(at - 2 * n * n, e);
            let (input, reader) = self.parts.edges[edge];
            Decision::Freed {
                stage,
                input,
                reader,
            }
        } else {
            let (stage, node) = place(at - 2 * n * n - n * e, n);
            assert!((stage as usize) < n, "column {at} of {}", 3 * n * n + n * e);
            Decision::Memory {
                stage,
                node: node as u32,
            }
        }
    }

    /// The column of a decision. `None` if the program has no such column: the stage or node is
    /// beyond its size, or the edge does not exist.
    pub fn column(&self, decision: Decision) -> Option<ColId> {
        let n = self.parts.len();
        let inside = |stage: u32, node: u32| (stage as usize) < n && (node as usize) < n;
        match decision {
            Decision::Computed { stage, node } => {
                inside(stage, node).then(|| self.parts.r(stage as usize, node as usize))
            }
            Decision::Retained { stage, node } => {
                inside(stage, node).then(|| self.parts.s(stage as usize, node as usize))
            }
            Decision::Memory { stage, node } => {
                inside(stage, node).then(|| self.parts.u(stage as usize, node as usize))
            }
            Decision::Freed {
                stage,
                input,
                reader,
            } => {
                let by_reader = |e: &(u32, u32)| (e.1, e.0).cmp(&(reader, input));
                let edge = self.parts.edges.binary_search_by(by_reader).ok()?;
                ((stage as usize) < n).then(|| self.parts.f(stage as usize, edge))
            }
        }
    }
}
