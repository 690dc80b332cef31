//! An instance under a budget, with the times or the costs of copies.

use super::ways::{self, Ways};
use crate::bound::{check_budget, largest_working_set};
use crate::checkmate::CheckmateGraph;
use crate::offload::CopyPhase;
use remat_instances::Semantics;
use remat_instances::instance::{Duplex, Instance, Node, NodeId};
use remat_instances::schedule::{PageCosts, PoetTerms};
use std::ops::Range;

/// Tensor of a sharded step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharded {
    /// A gathered weight: at home from the begin on, never computed.
    Gathered,
    /// A scattered gradient: it leaves before the last stage ends, and never comes back.
    Scattered,
}

/// Checkmate's graph, and the copies of its tensors: over a link with a clock, or pages with costs.
/// Times are in units of time; times of copies are rounded down, times of computations up.
#[derive(Clone, Debug)]
pub struct LinkGraph {
    /// The graph without the link.
    pub graph: CheckmateGraph,
    /// Ways to run nodes, beyond the parts that the graph counts.
    pub ways: Ways,
    /// Times of the copies to the host and back, by tensor; `None` if it may not leave.
    pub copies: Vec<Option<[i64; 2]>>,
    /// Form in which weights and gradients of a sharded step travel, by tensor. Copies of a weight
    /// are its gathers, copies of a gradient its scatter.
    pub sharded: Vec<Option<Sharded>>,
    /// Costs of pages by tensor, in the instance's cost unit; `None` if it has no pages.
    pub pages: Vec<Option<PageCosts>>,
    /// Readers that list an input more than once, and the bytes that they free in excess.
    pub freed_again: Vec<(u32, u64)>,
    /// Time of a recomputation, by tensor.
    pub again: Vec<i64>,
    /// Time of all first computations before each node, and of all.
    pub before: Vec<u64>,
    /// Cost of a unit of time.
    pub unit: u64,
    /// True if both lanes share one clock.
    pub half_duplex: bool,
    /// Host memory in bytes, if it is limited.
    pub host_bytes: Option<u64>,
    /// The stage of the loss, if copies to the host must end before it and copies back start after
    /// it.
    pub loss: Option<u32>,
}

impl LinkGraph {
    /// The graph of an instance with a link, under a budget in bytes (fixed memory included).
    /// `None` for an instance without a link or whose costs are not times, and if a node does not
    /// fit with its inputs.
    ///
    /// ```
    /// use remat_formulations::offload::CopyPhase;
    /// use remat_formulations::offload::interval::{LinkGraph, root_bound};
    /// use remat_formulations::{bound, zoo};
    /// use remat_solver::price::{Incumbents, RootSettings};
    ///
    /// let instance = zoo::build(&"zoo:chain?n=6".parse()?)?;
    /// let instance = instance.with_host_link(Some("gh200".parse()?))?;
    /// let least = bound::smallest_budget(&instance).needed_bytes;
    /// let link = LinkGraph::new(&instance, CopyPhase::Any, least).ok_or("no link")?;
    /// let root = root_bound(link, &RootSettings::default(), &Incumbents::default())?;
    /// assert!(root.safe_bound >= instance.base_cost());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn new(instance: &Instance, phase: CopyPhase, budget_bytes: u64) -> Option<LinkGraph> {
        // Tensors that are never computed again may leave, so each node must fit only by itself.
        let capacity = budget_bytes.checked_sub(instance.static_bytes())?;
        if largest_working_set(instance).is_some_and(|(bytes, _)| bytes > capacity) {
            return None;
        }
        let ended = instance.nodes().iter().any(Node::is_scattered);
        let ended = ended.then(|| with_end(instance));
        let instance = ended.as_ref().unwrap_or(instance);
        let mut graph = CheckmateGraph::with_capacity(instance, capacity);
        for gauge in &mut graph.gauges {
            gauge.working[..instance.gathered()].fill(0);
        }
        let last = graph.len() as u32 - 1;
        for id in instance
            .ids()
            .filter(|id| instance.node(*id).is_scattered())
        {
            graph.last_stage[id.index()] = last;
        }
        LinkGraph::of(instance, phase, graph, Ways::single(instance.len()))
    }

    /// The graph of an instance with a link under given semantics. MONeT's semantics add all ways
    /// to run each node, and by-products that need not be made; the graph then counts the parts
    /// common to all ways. `None` as in [`LinkGraph::new`].
    pub fn with_semantics(
        instance: &Instance,
        semantics: Semantics,
        phase: CopyPhase,
        budget_bytes: u64,
    ) -> Option<LinkGraph> {
        match semantics {
            Semantics::Checkmate => LinkGraph::new(instance, phase, budget_bytes),
            Semantics::Monet => {
                let (graph, ways) = ways::of_monet(instance, budget_bytes)?;
                LinkGraph::of(instance, phase, graph, ways)
            }
        }
    }

    /// The graph of an instance whose tensors have pages (POET's program), under a budget in bytes
    /// (fixed memory included). `None` if a node does not fit with its inputs.
    pub fn with_pages(
        instance: &Instance,
        terms: &PoetTerms,
        budget_bytes: u64,
    ) -> Option<LinkGraph> {
        check_budget(instance, budget_bytes).ok()?;
        let graph = CheckmateGraph::new(instance, budget_bytes).ok()?;
        // A page-in is of use from the third stage after the tensor's own on.
        let of = |(i, costs): (usize, &Option<PageCosts>)| {
            costs.filter(|_| graph.last_stage[i] as usize >= i + 3)
        };
        let pages: Vec<_> = terms.pages.iter().enumerate().map(of).collect();
        // If costs are energies, the cost of having all tensors again is a small part of the total.
        let again =
            graph.cost_again.iter().zip(&pages).map(|(cost, pages)| {
                pages.map_or(*cost, |costs| (costs.out + costs.back).min(*cost))
            });
        let again = again.fold(0, u64::saturating_add);
        let freed = terms.freed_again.iter();
        Some(LinkGraph {
            pages,
            freed_again: freed.map(|one| (one.reader.0, one.bytes)).collect(),
            ..LinkGraph::without_copies(
                graph,
                Ways::single(instance.len()),
                (again >> 18).max(1).next_power_of_two(),
            )
        })
    }

    fn without_copies(graph: CheckmateGraph, ways: Ways, unit: u64) -> LinkGraph {
        let mut sum = 0;
        let mut before = vec![0];
        before.extend(graph.cost.iter().map(|cost| {
            sum += cost;
            sum
        }));
        let again = graph.cost_again.iter();
        LinkGraph {
            copies: vec![None; graph.len()],
            sharded: vec![None; graph.len()],
            pages: vec![None; graph.len()],
            freed_again: Vec::new(),
            again: again.map(|cost| count(cost.div_ceil(unit))).collect(),
            before,
            unit,
            half_duplex: false,
            host_bytes: None,
            loss: None,
            ways,
            graph,
        }
    }

    fn of(
        instance: &Instance,
        phase: CopyPhase,
        graph: CheckmateGraph,
        ways: Ways,
    ) -> Option<LinkGraph> {
        let link = instance.host_link()?;
        let times = link.times(instance.cost_unit())?;
        let unit = graph.cost_unit() as u64;
        let sharded = instance.ids().map(|id| Sharded::of(instance.node(id)));
        let sharded: Vec<Option<Sharded>> = sharded.collect();
        let has_sharded = sharded.iter().any(Option::is_some);
        if has_sharded && phase == CopyPhase::Loss {
            return None;
        }
        let copy = |id: NodeId| {
            let node = instance.node(id);
            let gather = node
                .gather_bytes
                .map(|bytes| [Some(0), times.from_host(bytes)]);
            let scatter = node
                .scatter_bytes
                .map(|bytes| [times.to_host(bytes), Some(0)]);
            if let Some([out, back]) = gather.or(scatter) {
                return Some([out?, back?].map(|time| count(time / unit)));
            }
            let bytes = instance.node(id).output_bytes;
            let may = instance.may_offload(id) && bytes > 0;
            let [out, back] = [times.to_host(bytes), times.from_host(bytes)];
            let [out, back] = [out.filter(|_| may)?, back?];
            Some([out, back].map(|time| count(time / unit)))
        };
        let loss = instance.loss().filter(|_| phase == CopyPhase::Loss);
        let copies: Vec<_> = instance.ids().map(copy).collect();
        let is_closed = |(s, c): (&Option<_>, &Option<_>)| s.is_some() && c.is_none();
        if sharded.iter().zip(&copies).any(is_closed) {
            return None;
        }
        Some(LinkGraph {
            copies,
            sharded,
            half_duplex: link.duplex == Duplex::Half,
            host_bytes: link.host_memory_bytes,
            loss: loss.map(|id| id.0),
            ..LinkGraph::without_copies(graph, ways, unit)
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

    /// Time of the first computations of `stages`, rounded up.
    pub fn first_time(&self, stages: Range<u32>) -> i64 {
        let [from, to] = [stages.start, stages.end.max(stages.start)].map(|t| t as usize);
        let cost = self.before[to] - self.before[from];
        i64::try_from(cost.div_ceil(self.unit)).unwrap_or(i64::MAX)
    }

    /// Time of a further run of a node in a way.
    pub fn time_again(&self, node: u32, way: u16) -> i64 {
        let ways = &self.ways.again[node as usize];
        let beyond = ways.get(usize::from(way)).map_or(0, |way| way.time);
        self.again[node as usize].saturating_add(beyond)
    }

    /// Workspace of a further run in bytes, beyond the workspace that the graph counts.
    pub fn bytes_again(&self, node: u32, way: u16) -> i64 {
        let ways = &self.ways.again[node as usize];
        ways.get(usize::from(way)).map_or(0, |way| way.bytes)
    }

    /// The first event at which a tensor computed in a stage takes memory of its own. The working
    /// set of a first run already counts it, except for a by-product that need not be made.
    pub fn first_event(&self, node: u32, stage: u32) -> u32 {
        let counted = stage == node && !self.ways.is_optional(node);
        stage * self.len() as u32 + node + u32::from(counted)
    }

    /// Returns whether a tensor is a gathered weight.
    pub fn is_gathered(&self, node: u32) -> bool {
        self.sharded[node as usize] == Some(Sharded::Gathered)
    }

    /// Returns whether a tensor is a scattered gradient.
    pub fn is_scattered(&self, node: u32) -> bool {
        self.sharded[node as usize] == Some(Sharded::Scattered)
    }

    /// Bytes that the host holds of a tensor.
    pub fn host_bytes_of(&self, node: u32) -> i64 {
        match self.sharded[node as usize] {
            None => self.graph.bytes[node as usize] as i64,
            Some(_) => 0,
        }
    }

    /// Returns whether a copy to the host may be complete in a stage.
    pub fn may_leave_in(&self, stage: u32) -> bool {
        self.loss.is_none_or(|loss| stage <= loss)
    }

    /// The first stage in which copies back may be issued.
    pub fn first_return(&self) -> u32 {
        self.loss.map_or(0, |loss| loss + 1)
    }

    /// The first event, as a stage and a node, at which a copy back takes memory that is issued in
    /// a stage and read in a later one. A gather whose statement stands before the first run of
    /// the stage is in memory during that run; behind it, the gather belongs to the next stage.
    pub fn arrives(&self, node: u32, issued: u32) -> [u32; 2] {
        match self.is_gathered(node) {
            true => [issued, issued],
            false => [issued + 1, 0],
        }
    }

    /// Stages from the stage in which a copy back of a tensor counts to its first reader.
    pub fn delay(&self, node: u32) -> u32 {
        u32::from(self.pages[node as usize].is_some())
    }

    /// Cost of `out` page-outs and `back` page-ins of a tensor; 0 without pages.
    pub fn cost_of_pages(&self, node: usize, [out, back]: [u64; 2]) -> u64 {
        self.pages[node].map_or(0, |costs| costs.out * out + costs.back * back)
    }

    /// Cost of a page-out and a page-in of each tensor.
    pub(super) fn cost_of_all_pages(&self) -> u64 {
        let all = (0..self.len()).map(|i| self.cost_of_pages(i, [1, 1]));
        all.fold(0, u64::saturating_add)
    }
}

fn count(time: u64) -> i64 {
    i64::try_from(time).unwrap_or(i64::MAX)
}

impl Sharded {
    fn of(node: &Node) -> Option<Sharded> {
        match (node.is_gathered(), node.is_scattered()) {
            (true, _) => Some(Sharded::Gathered),
            (_, true) => Some(Sharded::Scattered),
            _ => None,
        }
    }
}

/// The instance with a node at its end that costs nothing, so that scatters may be complete in a
/// stage after the last computation.
fn with_end(instance: &Instance) -> Instance {
    let mut data = instance.data().clone();
    let is_backward = instance.backward_start().is_some();
    let names: Vec<_> = data.nodes.iter().map(|node| node.name.clone()).collect();
    let mut name = String::from("end");
    while names.iter().any(|known| known.as_str() == name) {
        name.push('\'');
    }
    let end = match is_backward {
        true => Node::backward(name, None, Vec::new(), 0, 0),
        false => Node::forward(name, Vec::new(), 0, 0),
    };
    data.nodes.push(end);
    Instance::new(data).expect("a node without inputs may come last")
}
