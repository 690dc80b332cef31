//! Allowed orders of the first computations of an instance's nodes.

use super::{Instance, InstanceData, NodeId, NodeKind, StructureError, passing_in_plain_order};
use crate::Semantics;

/// Precedence rules for the order of first computations.
///
/// - All inputs of any implementation of a node, the input that it may overwrite, its parent and
///   its forward twin come before it.
/// - A node comes behind those that it [ends](crate::instance::Node::ends), with their by-products.
/// - The forward pass, the loss and the backward pass follow each other.
/// - Nodes that are computed [once](crate::instance::Node::once) (collectives, effects, mutations)
///   keep their order. Such a node may change its inputs, so it also keeps its order with their
///   other readers. A node that ends others says what it overwrites, so this is not true of it.
/// - If [fixed memory follows the frontier](Semantics::fixed_memory_follows_frontier), only
///   adjacent nodes with the same fixed memory may change places.
///
/// ```
/// use remat_instances::instance::{CostUnit, Instance, InstanceData, Node, NodeId, Precedence};
/// use remat_instances::Semantics;
/// let nodes = vec![
///     Node::forward("a", vec![], 1, 1),
///     Node::forward("b", vec![], 1, 1),
///     Node::forward("c", vec![NodeId(0), NodeId(1)], 1, 1),
/// ];
/// let data = InstanceData { name: "three".into(), cost_unit: CostUnit::arbitrary(), host_link: None, in_flight: 1, nodes };
/// let instance = Instance::new(data)?;
/// for semantics in Semantics::ALL {
///     let rules = Precedence::of(&instance, semantics);
///     assert!(rules.allows(&[1, 0, 2].map(NodeId)) && !rules.allows(&[0, 2, 1].map(NodeId)));
///     assert!(!rules.is_total());
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Precedence {
    before: Vec<Vec<NodeId>>,
    after: Vec<Vec<NodeId>>,
    group: Vec<u32>,
}

impl Precedence {
    /// The rules of an instance under given semantics.
    pub fn of(instance: &Instance, semantics: Semantics) -> Self {
        let nodes = instance.nodes();
        let mut before: Vec<Vec<NodeId>> = vec![Vec::new(); nodes.len()];
        for (node, list) in nodes.iter().zip(&mut before) {
            list.extend(node.implementations.iter().flat_map(|way| &way.needs));
            list.extend(node.in_place.iter().map(|option| option.on));
            match node.kind {
                NodeKind::ByProduct { parent } => list.push(parent),
                NodeKind::Backward { forward, .. } => list.extend(forward),
                NodeKind::Forward | NodeKind::Loss => {}
            }
        }
        for id in instance.ids() {
            before[id.index()].extend(instance.ended_by(id));
        }
        let says = |id: &NodeId| !instance.node(*id).ends.is_empty();
        let once = instance
            .ids()
            .filter(|id| instance.node(*id).once && !says(id));
        let mut last = None;
        for id in once {
            before[id.index()].extend(last.replace(id));
            for need in instance.needs(id) {
                for user in instance.users(*need).iter().filter(|user| **user != id) {
                    let [first, second] = [(*user).min(id), (*user).max(id)];
                    before[second.index()].push(first);
                }
            }
        }
        let mut after = vec![Vec::new(); nodes.len()];
        for (id, list) in instance.ids().zip(&mut before) {
            list.sort_unstable();
            list.dedup();
            list.iter().for_each(|first| after[first.index()].push(id));
        }
        Precedence {
            before,
            after,
            group: groups(instance, semantics),
        }
    }

    /// Number of nodes.
    pub fn len(&self) -> usize {
        self.group.len()
    }

    /// Returns whether there are no nodes.
    pub fn is_empty(&self) -> bool {
        self.group.is_empty()
    }

    /// Direct predecessors of a node, ascending; their own predecessors are not repeated.
    pub fn before(&self, id: NodeId) -> &[NodeId] {
        &self.before[id.index()]
    }

    /// Direct successors of a node, ascending; their own successors are not repeated.
    pub fn after(&self, id: NodeId) -> &[NodeId] {
        &self.after[id.index()]
    }

    /// Number of a node's group; groups follow each other.
    pub fn group(&self, id: NodeId) -> u32 {
        self.group[id.index()]
    }

    /// Returns whether a list of nodes is an allowed order.
    pub fn allows(&self, order: &[NodeId]) -> bool {
        let mut position = vec![usize::MAX; self.len()];
        for (k, id) in order.iter().enumerate() {
            match position.get_mut(id.index()) {
                Some(free) if *free == usize::MAX => *free = k,
                _ => return false,
            }
        }
        let at = |id: &NodeId| position[id.index()];
        let first = |id: &NodeId| self.before(*id).iter().all(|b| at(b) < at(id));
        let rises = |pair: &[NodeId]| self.group(pair[0]) <= self.group(pair[1]);
        order.len() == self.len() && order.iter().all(first) && order.windows(2).all(rises)
    }

    /// Returns whether the order of the instance is the only allowed one.
    pub fn is_total(&self) -> bool {
        let ids: Vec<NodeId> = (0..self.len()).map(NodeId::from).collect();
        let forced = |pair: &[NodeId]| {
            self.group(pair[0]) < self.group(pair[1]) || self.before(pair[1]).contains(&pair[0])
        };
        ids.windows(2).all(forced)
    }
}

/// Assigns the nodes to groups that follow each other.
fn groups(instance: &Instance, semantics: Semantics) -> Vec<u32> {
    let nodes = instance.nodes();
    // Validation guarantees forward nodes, then the loss, then backward nodes with their
    // by-products.
    let loss = instance.loss().map_or(usize::MAX, NodeId::index);
    let backward = instance.backward_start().map_or(usize::MAX, NodeId::index);
    let part = |i: usize| match i {
        _ if i >= backward => 2,
        _ if i == loss => 1,
        _ => 0,
    };
    let differ = |i: usize| {
        let fixed = nodes[i].fixed_bytes != nodes[i - 1].fixed_bytes;
        let weights = nodes[i].is_gathered() != nodes[i - 1].is_gathered();
        part(i) != part(i - 1) || weights || semantics.fixed_memory_follows_frontier() && fixed
    };
    let mut group = 0;
    let of = |i: usize| {
        group += u32::from(i > 0 && differ(i));
        group
    };
    (0..nodes.len()).map(of).collect()
}

impl Instance {
    /// The same instance with its nodes in another order: node `k` is `order[k]` of this one, with
    /// its name.
    ///
    /// [Passing](crate::instance::Node::passing) lists are recomputed for the new order. A stated
    /// view is dropped.
    ///
    /// # Errors
    /// [`StructureError`] for a list that does not contain each node once, or has a node before one
    /// that it refers to.
    ///
    /// ```
    /// use remat_instances::instance::{CostUnit, Instance, InstanceData, Node, NodeId};
    /// let nodes = vec![
    ///     Node::forward("a", vec![], 1, 1),
    ///     Node::forward("b", vec![], 1, 1),
    ///     Node::forward("c", vec![NodeId(1)], 1, 1),
    /// ];
    /// let data = InstanceData { name: "three".into(), cost_unit: CostUnit::arbitrary(), host_link: None, in_flight: 1, nodes };
    /// let other = Instance::new(data)?.reordered(&[1, 2, 0].map(NodeId))?;
    /// assert_eq!(other.node(NodeId(1)).name, "c");
    /// assert_eq!(other.needs(NodeId(1)), &[NodeId(0)]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn reordered(&self, order: &[NodeId]) -> Result<Instance, StructureError> {
        let mut position = vec![None; self.len()];
        for (k, id) in order.iter().enumerate() {
            match position.get_mut(id.index()) {
                Some(free) if free.is_none() => *free = Some(NodeId::from(k)),
                _ => return Err(no_order(format!("order[{k}]"), id.to_string())),
            }
        }
        let Some(position) = position.into_iter().collect::<Option<Vec<NodeId>>>() else {
            return Err(no_order("order".into(), format!("{} nodes", order.len())));
        };
        let moved = |id: NodeId| position[id.index()];
        let mut data = InstanceData {
            nodes: Vec::with_capacity(self.len()),
            ..self.data().clone()
        };
        for id in order {
            let mut node = self.node(*id).clone();
            node.passing.clear();
            node.ends.iter_mut().for_each(|end| *end = moved(*end));
            node.ends.sort_unstable();
            for way in &mut node.implementations {
                way.needs.iter_mut().for_each(|need| *need = moved(*need));
                way.needs.sort_unstable();
            }
            if let Some(option) = &mut node.in_place {
                option.on = moved(option.on);
            }
            node.kind = match node.kind {
                NodeKind::ByProduct { parent } => NodeKind::ByProduct {
                    parent: moved(parent),
                },
                NodeKind::Backward { forward, gradient } => NodeKind::Backward {
                    forward: forward.map(moved),
                    gradient,
                },
                kind => kind,
            };
            data.nodes.push(node);
        }
        let instance = Instance::new(data)?;
        if instance.loss().is_none() {
            return Ok(instance);
        }
        let mut data = instance.data().clone();
        let passing = passing_in_plain_order(&data.nodes);
        for (node, list) in data.nodes.iter_mut().zip(passing) {
            node.passing = list;
        }
        Instance::new(data)
    }
}

fn no_order(path: String, value: String) -> StructureError {
    StructureError {
        path,
        value,
        problem: "this is no order of the nodes".into(),
        remedy: "name each node once".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::instance::{CostUnit, Node};
    use crate::zoo;

    fn instance(nodes: Vec<Node>) -> Instance {
        Instance::new(InstanceData {
            name: "small".into(),
            cost_unit: CostUnit::arbitrary(),
            host_link: None,
            in_flight: 1,
            nodes,
        })
        .unwrap()
    }

    #[test]
    fn the_same_order_is_the_same_instance() {
        for model in [
            "zoo:googlenet?batch=1",
            "zoo:vgg16?batch=2&device=p100&implementations=monet",
        ] {
            let instance = zoo::build(&model.parse().unwrap()).unwrap();
            let same: Vec<NodeId> = instance.ids().collect();
            assert_eq!(instance.reordered(&same).unwrap(), instance);
        }
    }

    #[test]
    fn an_order_and_its_inverse_are_the_same_instance() {
        let instance = zoo::build(&"zoo:googlenet?batch=1".parse().unwrap()).unwrap();
        let rules = Precedence::of(&instance, Semantics::Checkmate);
        // Always run the last ready node.
        let mut left: Vec<NodeId> = instance.ids().collect();
        let mut order: Vec<NodeId> = Vec::new();
        while !left.is_empty() {
            let group = left.iter().map(|id| rules.group(*id)).min();
            let ready = |id: &NodeId| {
                let mut before = rules.before(*id).iter();
                Some(rules.group(*id)) == group && before.all(|b| !left.contains(b))
            };
            let k = left.iter().rposition(ready).unwrap();
            order.push(left.remove(k));
        }
        assert!(rules.allows(&order) && !order.is_sorted());
        let other = instance.reordered(&order).unwrap();
        let mut back = vec![NodeId(0); order.len()];
        for (k, id) in order.iter().enumerate() {
            back[id.index()] = NodeId::from(k);
        }
        assert_eq!(other.reordered(&back).unwrap(), instance);
        assert_eq!(other.base_cost(), instance.base_cost());
    }

    #[test]
    fn no_orders_are_refused() {
        let need = |k: u32| vec![NodeId(k)];
        let chain = instance(vec![
            Node::forward("a", vec![], 1, 1),
            Node::forward("b", need(0), 1, 1),
        ]);
        for (order, words) in [
            (&[0, 0][..], "each node once"),
            (&[0], "each node once"),
            (&[0, 2], "each node once"),
            (&[1, 0], "does not come before"),
        ] {
            let order: Vec<NodeId> = order.iter().copied().map(NodeId).collect();
            let problem = chain.reordered(&order).unwrap_err().to_string();
            assert!(problem.contains(words), "{problem}");
            assert!(!Precedence::of(&chain, Semantics::Checkmate).allows(&order));
        }
        assert!(Precedence::of(&chain, Semantics::Checkmate).is_total());
    }

    #[test]
    fn effects_keep_their_order_with_readers() {
        let need = |k: u32| vec![NodeId(k)];
        let once = |name: &str, needs| Node {
            once: true,
            ..Node::forward(name, needs, 1, 1)
        };
        let instance = instance(vec![
            Node::forward("a", vec![], 1, 1),
            Node::forward("read", need(0), 1, 1),
            once("write", need(0)),
            Node::forward("read again", need(0), 1, 1),
            once("send", vec![]),
        ]);
        let rules = Precedence::of(&instance, Semantics::Checkmate);
        assert!(!rules.allows(&[0, 2, 1, 3, 4].map(NodeId)));
        assert!(!rules.allows(&[0, 1, 3, 2, 4].map(NodeId)));
        assert!(!rules.allows(&[4, 0, 1, 2, 3].map(NodeId)));
        assert!(rules.allows(&[0, 1, 2, 4, 3].map(NodeId)));
    }

    #[test]
    fn passes_and_fixed_memory_follow_each_other() {
        let need = |k: u32| vec![NodeId(k)];
        let mut nodes = vec![
            Node::forward("a", vec![], 1, 1),
            Node::forward("b", vec![], 1, 1),
            Node::loss("loss", need(0), 1, 1),
            Node::backward("x", None, need(2), 1, 1),
            Node::backward("y", None, need(2), 1, 1),
        ];
        let free = instance(nodes.clone());
        nodes[4].fixed_bytes = 8;
        let fixed = instance(nodes);
        let swapped = [1, 0, 2, 4, 3].map(NodeId);
        for (instance, monet) in [(free, true), (fixed, false)] {
            let rules = Precedence::of(&instance, Semantics::Checkmate);
            assert!(rules.allows(&swapped));
            assert!(!rules.allows(&[0, 2, 1, 3, 4].map(NodeId)));
            assert_eq!(
                Precedence::of(&instance, Semantics::Monet).allows(&swapped),
                monet
            );
        }
    }
}
