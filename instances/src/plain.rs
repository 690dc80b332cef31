//! The step without recomputation, the reference for percentages of cost and of memory.
//!
//! Under Checkmate's semantics, every node runs once, by its first implementation, and is kept
//! until its last reader. Under MONeT's semantics, it runs once in its cheapest way. This is the
//! cheapest implementation (the first among equals), including the masks made for it. The node runs
//! in place if that is cheaper and the overwritten tensor has no later reader.

use crate::Semantics;
use crate::instance::{Instance, InstanceData, NodeId, NodeKind};
use crate::schedule::MonetSchedule;

/// The only computation of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct PlainWay {
    implementation: usize,
    in_place: bool,
}

/// The step without recomputation of an instance.
///
/// ```
/// use remat_instances::plain::Plain;
/// use remat_instances::{Semantics, zoo};
///
/// let instance = zoo::build(&"zoo:vgg16?batch=2&device=p100&implementations=monet".parse()?)?;
/// for semantics in Semantics::ALL {
///     let seen = instance.seen_by(semantics);
///     let plain = Plain::of(&seen, semantics);
///     assert_eq!(plain.schedule()?.replay(&seen)?.cost, plain.cost());
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Plain<'a> {
    pub(crate) instance: &'a Instance,
    pub(crate) semantics: Semantics,
    /// Way of each node; `None` for a by-product without a reader.
    ways: Vec<Option<PlainWay>>,
}

impl<'a> Plain<'a> {
    /// The step without recomputation of an instance under given semantics.
    pub fn of(instance: &'a Instance, semantics: Semantics) -> Self {
        let ways = match semantics.chooses_implementations() {
            true => Chooser::new(instance).ways(),
            false => first_ways(instance),
        };
        Plain {
            instance,
            semantics,
            ways,
        }
    }

    /// Cost of a node's only computation; 0 if it is omitted.
    pub fn node_cost(&self, id: NodeId) -> u64 {
        let node = self.instance.node(id);
        let Some(way) = self.ways[id.index()] else {
            return 0;
        };
        let cost = node.implementations[way.implementation].cost;
        match &node.in_place {
            Some(option) if way.in_place => cost.saturating_add_signed(option.cost_delta),
            _ => cost,
        }
    }

    /// Cost of the step.
    pub fn cost(&self) -> u64 {
        let ids = self.instance.ids();
        ids.map(|id| self.node_cost(id)).sum()
    }

    /// The step as a schedule of MONeT's program, with the ways of these semantics. `None` for an
    /// instance without a loss.
    pub fn monet_schedule(&self) -> Option<MonetSchedule> {
        let implementation = |i: usize| self.ways[i].map_or(0, |way| way.implementation);
        let mut data = self.instance.data().clone();
        for (i, node) in data.nodes.iter_mut().enumerate() {
            node.implementations = vec![node.implementations.swap_remove(implementation(i))];
        }
        let narrowed = narrowed(data);
        let mut schedule = MonetSchedule::checkpoint_all(&narrowed)?;
        let columns = schedule.computed.columns();
        for i in 0..columns {
            schedule.forward_choice.set(0, i, implementation(i) as u16);
            let in_place = self.ways[i].is_some_and(|way| way.in_place);
            schedule.in_place.set(0, i, in_place);
        }
        for t in 1..schedule.backward_choice.len() {
            schedule.backward_choice[t] = implementation(columns - 1 + t) as u16;
        }
        Some(schedule)
    }
}

/// The instance with one implementation of each node.
fn narrowed(data: InstanceData) -> Instance {
    // All checks also hold for each implementation alone.
    Instance::new(data).expect("a part of a valid instance is valid")
}

fn first_ways(instance: &Instance) -> Vec<Option<PlainWay>> {
    let first = PlainWay {
        implementation: 0,
        in_place: false,
    };
    let ids = instance.ids();
    ids.map(|id| instance.is_made(id).then_some(first))
        .collect()
}

fn is_by_product(instance: &Instance, id: NodeId) -> bool {
    matches!(instance.node(id).kind, NodeKind::ByProduct { .. })
}

/// Chooses the cheapest way of each node.
struct Chooser<'a> {
    instance: &'a Instance,
    ways: Vec<Option<PlainWay>>,
    /// For each node, the node that would be cheaper in its buffer.
    overwriter: Vec<Option<NodeId>>,
    /// True for a tensor that is read after its possible overwriting.
    read_later: Vec<bool>,
}

impl<'a> Chooser<'a> {
    fn new(instance: &'a Instance) -> Self {
        let n = instance.len();
        let mut chooser = Chooser {
            instance,
            ways: vec![None; n],
            overwriter: vec![None; n],
            read_later: vec![false; n],
        };
        for id in instance.ids().filter(|id| !is_by_product(instance, *id)) {
            // Backward nodes have no in-place steps in MONeT's program.
            if instance.loss().is_none_or(|loss| id <= loss)
                && let Some(option) = &instance.node(id).in_place
                && option.cost_delta < 0
            {
                chooser.overwriter[option.on.index()] = Some(id);
            }
        }
        chooser
    }

    fn ways(mut self) -> Vec<Option<PlainWay>> {
        let instance = self.instance;
        let proper = || instance.ids().filter(|id| !is_by_product(instance, *id));
        for id in proper() {
            let ways = &instance.node(id).implementations;
            for need in &ways[0].needs {
                if ways.iter().all(|way| way.needs.binary_search(need).is_ok()) {
                    self.read(id, *need);
                }
            }
        }
        for id in proper() {
            self.choose(id);
        }
        for v in instance.ids() {
            self.overwrite(v);
        }
        self.ways
    }

    /// Records that a node reads a tensor.
    fn read(&mut self, reader: NodeId, tensor: NodeId) {
        if self.overwriter[tensor.index()].is_some_and(|v| v < reader) {
            self.read_later[tensor.index()] = true;
        }
    }

    /// Chooses the cheapest implementation of a node, including the costs it causes elsewhere.
    fn choose(&mut self, id: NodeId) {
        let node = self.instance.node(id);
        let price = |k: &usize| {
            let way = &node.implementations[*k];
            let others = way.needs.iter().map(|need| self.price(id, *need));
            others.fold(way.cost, u64::saturating_add)
        };
        // A schedule can only use the first implementation of the loss.
        let ways = match node.kind {
            NodeKind::Loss => 0..1,
            _ => 0..node.implementations.len(),
        };
        let implementation = ways.min_by_key(price).unwrap_or(0);
        self.ways[id.index()] = Some(PlainWay {
            implementation,
            in_place: false,
        });
        for need in &node.implementations[implementation].needs {
            if is_by_product(self.instance, *need) && self.ways[need.index()].is_none() {
                self.choose(*need);
            }
            self.read(id, *need);
        }
    }

    /// Additional cost of reading a tensor: of a by-product that is not made yet, and of an
    /// in-place step that becomes impossible.
    fn price(&self, reader: NodeId, need: NodeId) -> u64 {
        let node = self.instance.node(need);
        let own = match is_by_product(self.instance, need) && self.ways[need.index()].is_none() {
            true => node.implementations.iter().map(|way| way.cost).min(),
            false => None,
        };
        let overwriter = self.overwriter[need.index()].filter(|v| *v < reader);
        let lost = overwriter.filter(|_| !self.read_later[need.index()]);
        let lost = lost.and_then(|v| self.instance.node(v).in_place.as_ref());
        own.unwrap_or(0) + lost.map_or(0, |option| option.cost_delta.unsigned_abs())
    }

    /// Computes a node in place, with its by-products, if that is cheaper and the input has no
    /// later reader.
    fn overwrite(&mut self, v: NodeId) {
        let instance = self.instance;
        let Some(option) = &instance.node(v).in_place else {
            return;
        };
        if self.overwriter[option.on.index()] != Some(v) || self.read_later[option.on.index()] {
            return;
        }
        let own = |id: &NodeId| instance.node(*id).parent() == Some(v);
        let made = |id: &NodeId| self.ways[id.index()].is_some();
        // A by-product reads its parent.
        let readers = instance.users(v).iter().copied();
        let by_products: Vec<NodeId> = readers.filter(own).filter(made).collect();
        let mut delta = option.cost_delta;
        for id in &by_products {
            match &instance.node(*id).in_place {
                Some(option) => delta += option.cost_delta,
                None => return,
            }
        }
        if delta >= 0 {
            return;
        }
        for id in by_products.into_iter().chain([v]) {
            if let Some(way) = &mut self.ways[id.index()] {
                way.in_place = true;
            }
        }
    }
}
