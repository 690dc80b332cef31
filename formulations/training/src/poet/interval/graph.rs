//! An instance under a budget.

use crate::bound::check_budget;
use crate::checkmate::CheckmateGraph;
use crate::poet::PoetInstance;
use remat_instances::schedule::PageCosts;

/// Checkmate's graph, and costs of pages.
#[derive(Clone, Debug)]
pub struct PoetGraph {
    /// The graph without pages.
    pub graph: CheckmateGraph,
    /// Costs of pages by tensor; `None` where there are none.
    pub pages: Vec<Option<PageCosts>>,
    /// Readers with inputs that they list more than once, and the bytes that these free beyond
    /// their own.
    pub freed_again: Vec<(u32, u64)>,
}

impl PoetGraph {
    /// The graph of an instance under a budget in bytes (fixed memory included). `None` where a
    /// node does not fit with its inputs.
    pub fn new(instance: &PoetInstance, budget_bytes: u64) -> Option<PoetGraph> {
        let graph = instance.graph();
        check_budget(graph, budget_bytes).ok()?;
        let graph = CheckmateGraph::new(graph, budget_bytes).ok()?;
        // A page-in is of use from the third stage behind the tensor's own on.
        let of = |(i, costs): (usize, &Option<PageCosts>)| {
            costs.filter(|_| graph.last_stage[i] as usize >= i + 3)
        };
        let pages = instance.pages().iter().enumerate().map(of).collect();
        let again = instance.terms().freed_again.iter();
        Some(PoetGraph {
            freed_again: again.map(|one| (one.reader.0, one.bytes)).collect(),
            graph,
            pages,
        })
    }

    /// Number of nodes, which is also the number of stages.
    pub fn len(&self) -> usize {
        self.graph.len()
    }

    /// Returns whether there is no node.
    pub fn is_empty(&self) -> bool {
        self.graph.is_empty()
    }

    /// Costs of pages of all tensors, each stage with one.
    pub(super) fn pages_upper_bound(&self) -> u64 {
        let stages = self.len() as u64;
        let of = |costs: &PageCosts| costs.out.saturating_add(costs.back.saturating_mul(stages));
        let all = self.pages.iter().flatten().map(of);
        all.fold(0, u64::saturating_add)
    }
}
