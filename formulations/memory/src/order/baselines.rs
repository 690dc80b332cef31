//! Orders by rules, each replayed, and lower bounds by rules.

use super::bounds::{forced_lives, largest_cut, working_sets};
use super::ends::Ends;
use super::greedy::{self, Rule};
use super::search::OrderSearchError;
use super::side::Side;
use remat_instances::order::{OperatorId, OrderGraph, OrderReplay, Variant};

/// A rule's order.
#[derive(Clone, Debug)]
pub struct OrderBaseline {
    /// The rule.
    pub rule: Rule,
    /// Its order.
    pub order: Vec<OperatorId>,
    /// The order's replay.
    pub replay: OrderReplay,
}

/// Orders by every rule, for one variant of a graph.
///
/// ```
/// use remat_memory::order::{OrderBaselines, Rule};
/// use remat_instances::zoo;
/// use remat_instances::order::{OrderGraph, Variant};
///
/// let graph = OrderGraph::of_instance(&zoo::build(&"zoo:chain?n=6".parse()?)?)?;
/// let baselines = OrderBaselines::of(&graph, Variant::Sound)?;
/// assert_eq!(baselines.all().len(), Rule::ALL.len());
/// let program = baselines.rule(Rule::Program).replay.peak_bytes;
/// assert!(baselines.best().replay.peak_bytes <= program);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct OrderBaselines {
    all: Vec<OrderBaseline>,
}

impl OrderBaselines {
    /// Computes the orders.
    ///
    /// # Errors
    /// [`OrderSearchError`] for a variant whose edges form a cycle.
    pub fn of(graph: &OrderGraph, variant: Variant) -> Result<Self, OrderSearchError> {
        let problem = graph.problem(variant)?;
        let (forward, backward) = (Side::forward(&problem), Side::backward(&problem));
        let of_rule = |rule: Rule| {
            let order = greedy::order(rule, &forward, &backward, &|| false).unwrap_or_default();
            let order: Vec<_> = order.into_iter().map(OperatorId).collect();
            let replay = graph.replay(variant, &order)?;
            Ok(OrderBaseline {
                rule,
                order,
                replay,
            })
        };
        let all = Rule::ALL.into_iter().map(of_rule);
        let all = all.collect::<Result<_, OrderSearchError>>()?;
        Ok(OrderBaselines { all })
    }

    /// The orders of all rules, in the order of [`Rule::ALL`].
    pub fn all(&self) -> &[OrderBaseline] {
        &self.all
    }

    /// The order of a rule.
    pub fn rule(&self, rule: Rule) -> &OrderBaseline {
        let found = self.all.iter().find(|b| b.rule == rule);
        found.unwrap_or(&self.all[0])
    }

    /// The order with the least peak; the first of equals.
    pub fn best(&self) -> &OrderBaseline {
        let all = self.all.iter();
        all.min_by_key(|b| b.replay.peak_bytes)
            .unwrap_or(&self.all[0])
    }
}

/// Lower bounds on the peak of every order, without a search, in bytes.
///
/// ```
/// use remat_memory::order::{OrderBounds, OrderSearch};
/// use remat_instances::zoo;
/// use remat_instances::order::{OrderGraph, Variant};
///
/// let graph = OrderGraph::of_instance(&zoo::build(&"zoo:chain?n=6".parse()?)?)?;
/// let bounds = OrderBounds::of(&graph, Variant::Sound)?;
/// assert!(bounds.working_set_bytes <= bounds.forced_lives_bytes);
/// assert!(bounds.forced_lives_bytes <= bounds.node_cut_bytes);
/// let outcome = OrderSearch::new(&graph).variant(Variant::Sound).run()?;
/// assert!(bounds.node_cut_bytes <= outcome.peak_bytes());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OrderBounds {
    /// The largest working set of an operator: inputs, outputs, workspace.
    pub working_set_bytes: u64,
    /// The largest sum of storages that are in memory with an operator in every order.
    pub forced_lives_bytes: u64,
    /// The largest minimum cut at an operator.
    pub node_cut_bytes: u64,
}

impl OrderBounds {
    /// Computes the bounds: a minimum cut for each operator whose cut may be the largest.
    ///
    /// # Errors
    /// [`OrderSearchError`] for a variant whose edges form a cycle.
    pub fn of(graph: &OrderGraph, variant: Variant) -> Result<Self, OrderSearchError> {
        let ends = Ends::of(&graph.problem(variant)?);
        let most = |needs: super::bounds::Needs| needs.most().map_or(0, |(bytes, _)| bytes);
        let base = ends.forward.base_bytes;
        let forced = most(forced_lives(&ends.forward, &ends.reach)).max(base);
        let upper = vec![u64::MAX; graph.len()];
        let cut = largest_cut(&ends.forward, &ends.reach, forced, &upper, &|| false);
        Ok(OrderBounds {
            working_set_bytes: most(working_sets(&ends.forward)).max(base),
            forced_lives_bytes: forced,
            node_cut_bytes: cut.bytes,
        })
    }
}
