//! Order and addresses together: the least arena in which a training graph runs, proven.
//!
//! No placement is below the load of its order, and no load is below the bound of all orders. So an
//! arena as high as that bound is optimal among all orders and addresses (the joint program (9) of
//! OLLA, arXiv 2210.12924). If the best order does not reach that height, other orders within the
//! same peak are placed as well.

use crate::order::{OrderOutcome, OrderSearch, OrderSearchError, OrderSettings};
use crate::place::{PlaceError, PlaceOutcome, PlaceSettings, place};
use remat_instances::order::{MemoryPlan, OperatorId, OrderFault, OrderGraph, Variant};
use remat_instances::place::LivesError;
use remat_search::{Listener, Status, ticking};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Limit on other orders that are placed if the first one lies higher than its load.
const ORDERS: usize = 8;
/// Nodes of the search for addresses of each other order, without a time limit.
const NODES_FOR_EACH: u64 = 200_000;
/// Share of the time limit for the order, for the addresses at its load, and for each other order.
const ORDER_SHARE: f64 = 0.4;
const FIRST_SHARE: f64 = 0.2;

/// Reason why there is no memory plan.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MemoryPlanSearchError {
    /// The order has no answer.
    #[error(transparent)]
    Order(#[from] OrderSearchError),
    /// The addresses have no answer.
    #[error(transparent)]
    Place(#[from] PlaceError),
    /// The sizes are too large to be addressed.
    #[error(transparent)]
    Lives(#[from] LivesError),
}

impl From<OrderFault> for MemoryPlanSearchError {
    fn from(fault: OrderFault) -> Self {
        MemoryPlanSearchError::Order(fault.into())
    }
}

/// An order with addresses, and the proven bound.
#[derive(Clone, Debug)]
pub struct MemoryPlanOutcome {
    /// `Optimal` if resident memory and arena together equal the bound.
    pub status: Status,
    /// The search for the order; the plan has another order if that one lies lower.
    pub order: OrderOutcome,
    /// The plan: order and addresses.
    pub plan: MemoryPlan,
    /// The search for the addresses of the plan's order.
    pub placement: PlaceOutcome,
    /// Resident memory and arena in bytes.
    pub total_bytes: u64,
    /// Lower bound in bytes on every order with any addresses.
    pub bound_bytes: u64,
    /// Orders that were placed.
    pub orders: usize,
    /// Seconds taken.
    pub seconds: f64,
}

/// A search for order and addresses.
///
/// ```
/// use remat_memory::memory_plan::MemoryPlanSearch;
/// use remat_instances::zoo;
/// use remat_instances::order::OrderGraph;
///
/// let graph = OrderGraph::of_instance(&zoo::build(&"zoo:unet?batch=2".parse()?)?)?;
/// let outcome = MemoryPlanSearch::new(&graph).run()?;
/// assert_eq!(outcome.total_bytes, outcome.bound_bytes);
/// assert_eq!(outcome.plan.replay(&graph)?.total_bytes, outcome.total_bytes);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct MemoryPlanSearch<'a> {
    graph: &'a OrderGraph,
    variant: Variant,
    settings: OrderSettings,
    listener: &'a dyn Listener,
}

/// An order that was placed.
struct PlacedOrder {
    order: Vec<OperatorId>,
    outcome: PlaceOutcome,
}

impl<'a> MemoryPlanSearch<'a> {
    /// A search under the default variant, `sound+rng`, with default settings.
    pub fn new(graph: &'a OrderGraph) -> Self {
        MemoryPlanSearch {
            graph,
            variant: Variant::default(),
            settings: OrderSettings::default(),
            listener: &(),
        }
    }

    /// The same under a variant.
    pub fn variant(self, variant: Variant) -> Self {
        MemoryPlanSearch { variant, ..self }
    }

    /// The same with settings; the time limit covers both searches.
    pub fn settings(self, settings: OrderSettings) -> Self {
        MemoryPlanSearch { settings, ..self }
    }

    /// The same with a listener, which may end the search.
    pub fn listener(self, listener: &'a dyn Listener) -> Self {
        MemoryPlanSearch { listener, ..self }
    }

    /// Searches.
    ///
    /// # Errors
    /// [`MemoryPlanSearchError`] for a variant whose edges form a cycle, and for sizes beyond all
    /// addresses.
    pub fn run(&self) -> Result<MemoryPlanOutcome, MemoryPlanSearchError> {
        let begun = self.settings.begun.unwrap_or_else(Instant::now);
        let limit = self.settings.time_limit;
        let search = OrderSearch::new(self.graph)
            .variant(self.variant)
            .settings(OrderSettings {
                time_limit: limit.map(|limit| limit.mul_f64(ORDER_SHARE)),
                begun: Some(begun),
                ..self.settings.clone()
            })
            .listener(self.listener);
        let order = search.run()?;
        let base = self.graph.base_bytes();
        let load = order.peak_bytes() - base;
        let left = || limit.map(|limit| limit.saturating_sub(begun.elapsed()));
        let first = left().map(|left| left.mul_f64(FIRST_SHARE / (1.0 - ORDER_SHARE)));
        let mut best = self.placed(&order.order, Some(load), first, None)?;
        let mut orders = 1;
        if best.outcome.height > load {
            for other in search.alternatives(&order.order, order.peak_bytes(), ORDERS)? {
                if self.is_over(left()) || best.outcome.height <= load {
                    break;
                }
                let turn = left().map(|left| left / (ORDERS + 2 - orders) as u32);
                let placed = self.placed(&other, Some(load), turn, Some(NODES_FOR_EACH))?;
                orders += 1;
                if placed.outcome.height < best.outcome.height {
                    best = placed;
                }
            }
            // The lowest placement within the rest of the time.
            if best.outcome.height > load && !self.is_over(left()) {
                let lowest = self.placed(&best.order, None, left(), None)?;
                if lowest.outcome.height <= best.outcome.height {
                    best = lowest;
                }
            }
        }
        let replay = self.graph.replay(self.variant, &best.order)?;
        let plan = remat_instances::order::OrderPlan {
            order: best.order,
            peak_bytes: replay.peak_bytes,
            step_bytes: replay.step_bytes(),
            ..order.plan(self.graph)
        };
        let total_bytes = base + best.outcome.height;
        let bound_bytes = order.bound_bytes.max(base);
        Ok(MemoryPlanOutcome {
            status: match total_bytes == bound_bytes {
                true => Status::Optimal,
                false => Status::Feasible,
            },
            plan: MemoryPlan::new(plan, &replay, &best.outcome.placement),
            placement: best.outcome,
            order,
            total_bytes,
            bound_bytes,
            orders,
            seconds: begun.elapsed().as_secs_f64(),
        })
    }

    fn is_over(&self, left: Option<Duration>) -> bool {
        self.listener.is_interrupted() || left.is_some_and(|left| left.is_zero())
    }

    fn placed(
        &self,
        order: &[OperatorId],
        capacity: Option<u64>,
        time_limit: Option<Duration>,
        nodes: Option<u64>,
    ) -> Result<PlacedOrder, MemoryPlanSearchError> {
        let replay = self.graph.replay(self.variant, order)?;
        let lives = replay.buffers()?;
        let stop = Arc::new(AtomicBool::new(false));
        let settings = PlaceSettings {
            capacity,
            time_limit,
            nodes: nodes.filter(|_| time_limit.is_none()),
            threads: self.settings.threads,
            seed: self.settings.seed,
            interrupt: Some(stop.clone()),
        };
        let watch = || {
            if self.listener.is_interrupted() {
                stop.store(true, Ordering::Relaxed);
            }
        };
        let outcome = ticking(watch, &stop, || place(&lives, &settings));
        let outcome = outcome.map_err(|e| PlaceError::Threads {
            threads: self.settings.threads,
            problem: e.to_string(),
        })??;
        Ok(PlacedOrder {
            order: order.to_vec(),
            outcome,
        })
    }
}
