//! Extensions that a domain plugs in. Small traits; all see the program in minimised form with the
//! columns of the model given. Presolve leaves them what they [need](Needs): every column, unless
//! they say less.
//!
//! Implementations are shared by the workers of a round and must be deterministic.

mod decision;
mod extensions;
mod mapped;

pub use decision::Decision;
pub(crate) use extensions::Extensions;

use remat_lp::{Bounds, ColId, Model};
use std::sync::Arc;

/// Columns that an extension needs: presolve leaves them as they are, or fixes them where the rows
/// do, and makes no use of their costs, as if they were in rows that it cannot see.
///
/// Values of all columns are in every [`NodeView`], bounds and reduced costs of those that some
/// extension needs (of others the bounds are the model's, reduced costs are 0).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Needs {
    /// All of them: presolve tightens bounds and nothing else. Restricted programs are not searched.
    EveryColumn,
    /// These. Bounds, rows and branchings are of these columns alone: any other one is a mistake,
    /// which ends the search with a panic. Points are of all columns in any case.
    Columns(Vec<ColId>),
}

impl Needs {
    /// No column: for what reads values and hands in whole points.
    pub fn nothing() -> Self {
        Needs::Columns(Vec::new())
    }
}

/// View that an extension has of a node whose linear program is solved.
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
    /// Solutions have to be below this (minimised form).
    pub cutoff: f64,
    /// Branchings above this node.
    pub depth: u32,
    /// The best solution known.
    pub incumbent: Option<&'a [f64]>,
}

/// Decides how a node is split.
pub trait BranchingRule: Send + Sync {
    /// The children; together they must contain every solution below the node. `None` leaves it to
    /// the next rule.
    fn branch(&self, node: &NodeView<'_>) -> Option<Vec<Decision>>;

    /// Columns that it needs.
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
    /// Hands in a row.
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
    /// Hands violated, globally valid rows to the sink.
    fn separate(&self, node: &NodeView<'_>, sink: &mut CutSink);

    /// Returns whether the rows are part of the problem: then integral points are separated too,
    /// and no point becomes a solution that this separator cuts off.
    fn is_lazy(&self) -> bool {
        false
    }

    /// Columns that it needs.
    fn needs(&self) -> Needs {
        Needs::EveryColumn
    }
}

/// Takes points that may be solutions; each is checked before it is believed.
#[derive(Clone, Debug, Default)]
pub struct SolutionSink {
    pub(crate) points: Vec<Vec<f64>>,
    /// Points in the columns of the model given, of a heuristic that works on what presolve left.
    pub(crate) restored: Vec<Vec<f64>>,
}

impl SolutionSink {
    /// Hands in a point, one value per column.
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

    /// Columns that it needs.
    fn needs(&self) -> Needs {
        Needs::EveryColumn
    }
}

/// Tightens bounds at a node.
pub trait Propagator: Send + Sync {
    /// Bounds that follow from those given: (column, new bounds). An empty interval closes the
    /// node.
    fn propagate(&self, lower: &[f64], upper: &[f64]) -> Vec<(ColId, Bounds)>;

    /// Columns that it needs.
    fn needs(&self) -> Needs {
        Needs::EveryColumn
    }
}

/// The way from a point of a reduced model, one value per column, to one of the model before.
pub type WayBack = Arc<dyn Fn(&[f64]) -> Vec<f64> + Send + Sync>;

/// Result of a presolve step.
#[derive(Clone)]
pub enum PresolveEffect {
    /// It has nothing to do.
    Nothing,
    /// The model has no solution.
    Infeasible,
    /// Another model whose optimum is that of the model given.
    Reduced {
        /// The model: same sense, and same objective at points that belong together.
        model: Arc<Model>,
        /// From a point of that model, one value per column, to one of the model given.
        way: WayBack,
    },
}

/// Makes a smaller model of a model before all else.
pub trait PresolveStep: Send + Sync {
    /// Name for errors.
    fn name(&self) -> &'static str;

    /// Looks for something to reduce.
    fn reduce(&self, model: &Arc<Model>) -> PresolveEffect;
}

/// View that a selector has of an open node.
#[derive(Clone, Copy, Debug)]
pub struct NodeSummary {
    /// Lower bound (minimised form).
    pub bound: f64,
    /// Estimated objective of the best solution below.
    pub estimate: f64,
    /// Branchings above.
    pub depth: u32,
    /// Unique number; larger for younger nodes.
    pub id: u64,
}

/// Orders open nodes.
pub trait NodeSelector: Send + Sync {
    /// Nodes with smaller keys come first.
    fn key(&self, node: &NodeSummary) -> f64;

    /// Every so many picks the node with the smallest bound is taken instead; 0 means never.
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
