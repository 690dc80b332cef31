//! Outcomes of a search for an order.

use super::greedy::Rule;
use remat_instances::order::{OperatorId, OrderPlan, OrderReplay, Variant};
use remat_search::Status;

/// Kind of the bound that was proven last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BoundKind {
    /// Resident memory.
    Base,
    /// The inputs, outputs and workspace of this operator.
    WorkingSet(OperatorId),
    /// Storages that are in memory with this operator in every order.
    ForcedLives(OperatorId),
    /// A minimum cut at this operator.
    NodeCut(OperatorId),
    /// The precedence that a level implies leaves no set for some operator.
    Precedence,
    /// All sets within a level were searched.
    Level,
}

impl BoundKind {
    /// The kind as the command line prints it.
    pub fn as_str(self) -> &'static str {
        match self {
            BoundKind::Base => "resident memory",
            BoundKind::WorkingSet(_) => "working set",
            BoundKind::ForcedLives(_) => "forced lives",
            BoundKind::NodeCut(_) => "node cut",
            BoundKind::Precedence => "implied precedence",
            BoundKind::Level => "level search",
        }
    }
}

/// Origin of the best order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FoundBy {
    /// A rule.
    Rule(Rule),
    /// The level search.
    Level,
    /// Windows of another order, searched on their own.
    Windows,
    /// A beam of executed sets.
    Beam,
}

impl FoundBy {
    /// The origin as the command line prints it.
    pub fn as_str(self) -> &'static str {
        match self {
            FoundBy::Rule(rule) => rule.as_str(),
            FoundBy::Level => "level search",
            FoundBy::Windows => "windows",
            FoundBy::Beam => "beam",
        }
    }
}

/// The outcome of a search: an order, its peak, and a lower bound on every order.
#[derive(Clone, Debug)]
pub struct OrderOutcome {
    /// `Optimal` if peak and bound are equal; `Infeasible` if no order fits into the budget;
    /// `Feasible` if the search ended before, or the budget is met.
    pub status: Status,
    /// The variant that was solved.
    pub variant: Variant,
    /// The best order.
    pub order: Vec<OperatorId>,
    /// Its replay by the independent simulator.
    pub replay: OrderReplay,
    /// Lower bound in bytes on the peak of every order of the variant.
    pub bound_bytes: u64,
    /// Kind of that bound.
    pub bound_by: BoundKind,
    /// Origin of the order.
    pub found_by: FoundBy,
    /// Executed sets visited by all searches.
    pub states: u64,
    /// Minimum cuts at operators of the whole graph, including those for implied precedence.
    pub cuts: usize,
    /// Time taken, in seconds.
    pub seconds: f64,
}

impl OrderOutcome {
    /// Peak of the order in bytes, resident memory included.
    pub fn peak_bytes(&self) -> u64 {
        self.replay.peak_bytes
    }

    /// `(peak - bound) / peak`.
    pub fn gap(&self) -> f64 {
        let peak = self.peak_bytes();
        match peak {
            0 => 0.0,
            _ => (peak - self.bound_bytes.min(peak)) as f64 / peak as f64,
        }
    }

    /// The order as a document, with its claims.
    pub fn plan(&self, graph: &remat_instances::order::OrderGraph) -> OrderPlan {
        OrderPlan {
            graph: graph.name().into(),
            graph_sha256: graph.digest(),
            variant: self.variant,
            alignment_bytes: graph.data().alignment_bytes,
            budget_bytes: None,
            peak_bytes: self.peak_bytes(),
            bound_bytes: Some(self.bound_bytes),
            order: self.order.clone(),
            step_bytes: self.replay.step_bytes(),
        }
    }
}
