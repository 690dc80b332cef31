//! Extensions of a domain: small traits. All of them see the program in minimised form with the
//! columns of the original model. Presolve keeps the columns that they [need](Needs): by default
//! every column.
//!
//! Implementations are shared by the workers of a round and must be deterministic.

mod decision;
mod extensions;
mod mapped;
mod stated;

pub use decision::Decision;
pub(crate) use extensions::Extensions;
pub use stated::{StatedRow, StatedRows};

use remat_lp::{Bounds, ColId, Model};
use std::sync::Arc;

/// Columns that an extension needs. Presolve keeps them, or fixes them if the rows do. It makes no
/// use of their costs, as if they were also in rows that it cannot see.
///
/// Every [`NodeView`] has the values of all columns, but bounds and reduced costs only of needed
/// columns (others have the model's bounds and reduced costs of 0).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Needs {
    /// All columns: presolve only tightens bounds. Restricted programs are not searched.
    EveryColumn,
    /// These columns. Bounds, rows and branchings may contain only these: any other column ends the
    /// search with a panic. Points have all columns in any case.
    Columns(Vec<ColId>),
}

impl Needs {
    /// No column: for extensions that only read values and offer complete points.
    pub fn nothing() -> Self {
        Needs::Columns(Vec::new())
    }
}

/// An extension's view of a node whose linear program is solved.
#[derive(Clone, Copy, Debug)]
pub struct NodeView<'a> {
    /// Value of every column in the relaxation.
    pub x: &'a [f64],
    /// Reduced cost of every column (minimised form).
    pub reduced_costs: &'a [f64],
    /// Lower bound of every column at this node.
    pub lower: &'a [f64],
    /// Upper bound of every column at this node.
    pub upper: &'a [f64],
    /// Integrality of every column.
    pub integer: &'a [bool],
    /// Lower bound on the minimised objective at this node.
    pub bound: f64,
    /// Upper limit on the objective of new solutions (minimised form).
    pub cutoff: f64,
    /// Number of branchings above this node.
    pub depth: u32,
    /// The incumbent.
    pub incumbent: Option<&'a [f64]>,
}

/// Decides the branching of a node.
pub trait BranchingRule: Send + Sync {
    /// The children. Together they must contain every solution of the node. `None` passes the
    /// decision to the next rule.
    fn branch(&self, node: &NodeView<'_>) -> Option<Vec<Decision>>;

    /// Columns that the rule needs.
    fn needs(&self) -> Needs {
        Needs::EveryColumn
    }
}

/// A row found by a separator: `lower <= entries . x <= upper`.
#[derive(Clone, Debug, PartialEq)]
pub struct CutRow {
    /// Bounds of the activity.
    pub bounds: Bounds,
    /// Columns and coefficients, each column at most once.
    pub entries: Vec<(ColId, f64)>,
}

/// Takes rows that hold for every solution of the whole problem.
#[derive(Clone, Debug, Default)]
pub struct CutSink {
    pub(crate) rows: Vec<CutRow>,
}

impl CutSink {
    /// Adds a row.
    pub fn add(
        &mut self,
        bounds: impl Into<Bounds>,
        entries: impl IntoIterator<Item = (ColId, f64)>,
    ) {
        self.rows.push(CutRow {
            bounds: bounds.into(),
            entries: entries.into_iter().collect(),
        });
    }
}

/// Finds rows violated by the relaxation's solution.
pub trait Separator: Send + Sync {
    /// Adds violated, globally valid rows to the sink.
    fn separate(&self, node: &NodeView<'_>, sink: &mut CutSink);

    /// Returns whether the rows are part of the problem. Integral points are then separated too,
    /// and a point that violates such a row is never accepted as a solution.
    fn is_lazy(&self) -> bool {
        false
    }

    /// Columns that the separator needs.
    fn needs(&self) -> Needs {
        Needs::EveryColumn
    }
}

/// Takes candidates for solutions; each is checked before it is accepted.
#[derive(Clone, Debug, Default)]
pub struct SolutionSink {
    pub(crate) points: Vec<Vec<f64>>,
    /// Points in the columns of the original model, from a heuristic on the presolved problem.
    pub(crate) restored: Vec<Vec<f64>>,
}

impl SolutionSink {
    /// Adds a point, one value per column.
    pub fn add(&mut self, x: Vec<f64>) {
        self.points.push(x);
    }
}

/// Finds solutions.
pub trait Heuristic: Send + Sync {
    /// Name for logs.
    fn name(&self) -> &'static str;

    /// Looks for solutions from a node's relaxation, with at most `budget` ticks (one per matrix
    /// entry touched); returns the ticks used.
    fn run(&self, node: &NodeView<'_>, budget: u64, sink: &mut SolutionSink) -> u64;

    /// Columns that the heuristic needs.
    fn needs(&self) -> Needs {
        Needs::EveryColumn
    }
}

/// Tightens bounds at a node.
pub trait Propagator: Send + Sync {
    /// Bounds implied by the given ones: (column, new bounds). An empty interval closes the node.
    fn propagate(&self, lower: &[f64], upper: &[f64]) -> Vec<(ColId, Bounds)>;

    /// Columns that the propagator needs.
    fn needs(&self) -> Needs {
        Needs::EveryColumn
    }
}

/// A map from a point of a reduced model, one value per column, to a point of the model before it.
pub type WayBack = Arc<dyn Fn(&[f64]) -> Vec<f64> + Send + Sync>;

/// Result of a presolve step.
#[derive(Clone)]
pub enum PresolveEffect {
    /// No reduction was found.
    Nothing,
    /// The model has no solution.
    Infeasible,
    /// Another model with the same optimum.
    Reduced {
        /// The model: same sense, and same objective at corresponding points.
        model: Arc<Model>,
        /// Map from a point of that model, one value per column, to a point of the given model.
        way: WayBack,
    },
}

/// Reduces a model before all other steps.
pub trait PresolveStep: Send + Sync {
    /// Name for errors.
    fn name(&self) -> &'static str;

    /// Looks for reductions.
    fn reduce(&self, model: &Arc<Model>) -> PresolveEffect;
}

/// A selector's view of an open node.
#[derive(Clone, Copy, Debug)]
pub struct NodeSummary {
    /// Lower bound (minimised form).
    pub bound: f64,
    /// Estimated objective of the best solution below.
    pub estimate: f64,
    /// Number of branchings above.
    pub depth: u32,
    /// Unique number; larger for younger nodes.
    pub id: u64,
}

/// Orders open nodes.
pub trait NodeSelector: Send + Sync {
    /// Nodes with smaller keys come first.
    fn key(&self, node: &NodeSummary) -> f64;

    /// Every this many picks, the node with the smallest bound is taken instead; 0 means never.
    fn best_bound_period(&self) -> u64 {
        0
    }
}

/// Smallest bound first.
#[derive(Clone, Copy, Debug, Default)]
pub struct BestBound;

impl NodeSelector for BestBound {
    fn key(&self, node: &NodeSummary) -> f64 {
        node.bound
    }
}

/// Smallest estimate first, every fourth time the smallest bound.
#[derive(Clone, Copy, Debug, Default)]
pub struct BestEstimate;

impl NodeSelector for BestEstimate {
    fn key(&self, node: &NodeSummary) -> f64 {
        node.estimate
    }

    fn best_bound_period(&self) -> u64 {
        4
    }
}

/// Deepest first.
#[derive(Clone, Copy, Debug, Default)]
pub struct DepthFirst;

impl NodeSelector for DepthFirst {
    fn key(&self, node: &NodeSummary) -> f64 {
        -f64::from(node.depth)
    }
}
