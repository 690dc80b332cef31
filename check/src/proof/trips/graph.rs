//! Checkmate's graph, with the copies that a link can make of its tensors.

use crate::proof::checkmate::Graph;
use crate::proof::link::{LinkTerms, may_leave};
use remat_instances::Instance;
use remat_instances::instance::Duplex;

/// A graph with a link.
pub struct LinkedGraph {
    /// The graph without the link.
    pub graph: Graph,
    /// Times of the copies to the host and back, by tensor, in units and rounded down; `None` for
    /// tensors that may not leave.
    pub copies: Vec<Option<[u64; 2]>>,
    /// Time of a recomputation, by tensor, in units and rounded up.
    pub again: Vec<u64>,
    /// Cost of all first computations before each node, and of all.
    before: Vec<u64>,
    /// Units of cost that make a unit of time.
    pub unit: u64,
    /// True if copies both ways share one clock.
    pub half_duplex: bool,
    /// Host memory in bytes; `None` if it is not limited.
    pub host_bytes: Option<u64>,
    /// The stage of the loss, if copies are made around it.
    loss: Option<usize>,
    /// Time of the copies of all tensors, one each way, in units of cost.
    round_trips: u64,
}

impl LinkedGraph {
    /// The graph of an instance; `None` if the static memory exceeds the budget.
    ///
    /// # Errors
    /// A link that does not suit the instance, or a unit that is 0.
    pub fn new(
        instance: &Instance,
        budget_bytes: u64,
        terms: &LinkTerms,
        unit: u64,
    ) -> Result<Option<LinkedGraph>, String> {
        if unit == 0 {
            return Err("a unit of time has some length, not 0".into());
        }
        let times = terms.times(instance)?;
        let Some(graph) = Graph::new(instance, budget_bytes) else {
            return Ok(None);
        };
        let mut round_trips = 0u64;
        let copies = instance.ids().map(|id| {
            let bytes = instance.node(id).output_bytes;
            let [out, back] = [times.to_host(bytes)?, times.from_host(bytes)?];
            may_leave(instance, id).then_some([out, back])
        });
        let copies: Vec<Option<[u64; 2]>> = copies.collect();
        for time in copies.iter().flatten().flatten() {
            round_trips = round_trips.saturating_add(*time);
        }
        let mut before = vec![0u64];
        for cost in &graph.cost {
            let sum = before.last().copied().unwrap_or(0).checked_add(*cost);
            before.push(sum.ok_or("the costs add up to more than 64 bits")?);
        }
        let in_units = |times: Option<[u64; 2]>| Some(times?.map(|time| time / unit));
        Ok(Some(LinkedGraph {
            copies: copies.into_iter().map(in_units).collect(),
            again: graph.cost_again.iter().map(|c| c.div_ceil(unit)).collect(),
            before,
            unit,
            half_duplex: terms.link.duplex == Duplex::Half,
            host_bytes: terms.link.host_memory_bytes,
            loss: terms.loss(instance),
            round_trips,
            graph,
        }))
    }

    /// Number of nodes and of stages.
    pub fn len(&self) -> usize {
        self.graph.len()
    }

    /// Cost of computing everything once.
    pub fn base(&self) -> i128 {
        self.before.last().copied().unwrap_or(0).into()
    }

    /// Time of the first computations of some stages, in units and rounded up.
    pub fn first_time(&self, from: usize, to: usize) -> u64 {
        (self.before[to.max(from)] - self.before[from]).div_ceil(self.unit)
    }

    /// Returns whether computations may wait in a stage for a copy to the host. (To wait later for
    /// a complete copy takes no time, so the wait is placed before the loss.)
    pub fn may_leave_in(&self, stage: usize) -> bool {
        self.loss.is_none_or(|loss| stage <= loss)
    }

    /// The first stage in which a copy back may be issued.
    pub fn first_return(&self) -> usize {
        self.loss.map_or(0, |loss| loss + 1)
    }

    /// Returns whether a run of a reader in a stage may be of use.
    pub fn runs(&self, reader: u32, stage: usize) -> bool {
        let q = reader as usize;
        let again = self.graph.may_recompute_in(q, stage) && stage <= self.graph.last_stage[q];
        q == stage || q < stage && again
    }

    /// More than the time of some plan, if any fits. Between two computations each tensor goes and
    /// comes at most once, and at every time a node is computed or a tensor is copied.
    pub fn beyond(&self) -> u64 {
        let n = self.len() as u64;
        let pauses = n.saturating_mul(n).saturating_add(1);
        let copies = self.round_trips.saturating_mul(pauses);
        self.graph.beyond().saturating_add(copies)
    }
}
