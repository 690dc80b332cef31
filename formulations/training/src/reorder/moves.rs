//! Moves in the space of orders: a node moves, together with the nodes that must move with it.

use remat_instances::instance::{NodeId, Precedence};
use remat_search::anneal::Xoshiro256;

/// An order with the position of each node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NodeOrder {
    pub nodes: Vec<NodeId>,
    position: Vec<u32>,
}

impl NodeOrder {
    pub fn new(nodes: Vec<NodeId>) -> Self {
        let mut position = vec![0; nodes.len()];
        for (k, id) in nodes.iter().enumerate() {
            position[id.index()] = k as u32;
        }
        NodeOrder { nodes, position }
    }

    /// The order of the instance.
    pub fn given(len: usize) -> Self {
        NodeOrder::new((0..len).map(NodeId::from).collect())
    }

    pub fn is_given(&self) -> bool {
        self.nodes.is_sorted()
    }

    /// The position of each node, as a list of ids.
    pub fn inverse(&self) -> Vec<NodeId> {
        self.position.iter().copied().map(NodeId).collect()
    }

    pub fn position(&self, id: NodeId) -> usize {
        self.position[id.index()] as usize
    }

    /// Moves the node at `from` forward to position `to`, with all nodes between that must precede
    /// it.
    pub fn pulled(&self, rules: &Precedence, from: usize, to: usize) -> NodeOrder {
        let mut block = vec![self.nodes[from]];
        let mut rest = Vec::new();
        let mut needed = vec![false; self.nodes.len()];
        let need = |needed: &mut Vec<bool>, id: NodeId| {
            rules
                .before(id)
                .iter()
                .for_each(|b| needed[b.index()] = true);
        };
        need(&mut needed, self.nodes[from]);
        for id in self.nodes[to..from].iter().rev() {
            if needed[id.index()] {
                need(&mut needed, *id);
                block.push(*id);
            } else {
                rest.push(*id);
            }
        }
        let mut nodes = self.nodes.clone();
        let middle = block.into_iter().rev().chain(rest.into_iter().rev());
        for (place, id) in nodes[to..=from].iter_mut().zip(middle) {
            *place = id;
        }
        NodeOrder::new(nodes)
    }

    /// Moves the node at `from` back to position `to`, with all nodes between that must follow it.
    pub fn pushed(&self, rules: &Precedence, from: usize, to: usize) -> NodeOrder {
        let mut block = vec![self.nodes[from]];
        let mut rest = Vec::new();
        let mut waits = vec![false; self.nodes.len()];
        let wait = |waits: &mut Vec<bool>, id: NodeId| {
            rules.after(id).iter().for_each(|a| waits[a.index()] = true);
        };
        wait(&mut waits, self.nodes[from]);
        for id in &self.nodes[from + 1..=to] {
            if waits[id.index()] {
                wait(&mut waits, *id);
                block.push(*id);
            } else {
                rest.push(*id);
            }
        }
        let mut nodes = self.nodes.clone();
        let middle = rest.into_iter().chain(block);
        for (place, id) in nodes[from..=to].iter_mut().zip(middle) {
            *place = id;
        }
        NodeOrder::new(nodes)
    }
}

/// Draws neighbours of an order.
pub(super) struct Neighbours<'a> {
    rules: &'a Precedence,
    /// First position of each node's group, and the position after its last; the same in every
    /// order.
    part: Vec<[usize; 2]>,
}

impl<'a> Neighbours<'a> {
    pub fn new(rules: &'a Precedence) -> Self {
        let groups: Vec<u32> = (0..rules.len())
            .map(|k| rules.group(NodeId::from(k)))
            .collect();
        let part = groups.iter().map(|g| {
            let first = groups.partition_point(|other| other < g);
            [first, groups.partition_point(|other| other <= g)]
        });
        Neighbours {
            rules,
            part: part.collect(),
        }
    }

    /// A neighbour. `wanted` are nodes that the current plan computes again; `readers` gives the
    /// readers of a node, in the order of the instance.
    pub fn draw(
        &self,
        order: &NodeOrder,
        wanted: &[NodeId],
        readers: &dyn Fn(NodeId) -> Vec<NodeId>,
        random: &mut Xoshiro256,
    ) -> Option<NodeOrder> {
        let guided = match !wanted.is_empty() && random.one_in(2) {
            true => self.toward_reader(order, wanted, readers, random),
            false => None,
        };
        let next = guided.or_else(|| self.anywhere(order, random))?;
        (next != *order).then_some(next)
    }

    /// Brings two uses of a node that is computed again closer to each other.
    fn toward_reader(
        &self,
        order: &NodeOrder,
        wanted: &[NodeId],
        readers: &dyn Fn(NodeId) -> Vec<NodeId>,
        random: &mut Xoshiro256,
    ) -> Option<NodeOrder> {
        let node = wanted[random.below(wanted.len() as u32) as usize];
        let mut uses: Vec<usize> = readers(node).iter().map(|r| order.position(*r)).collect();
        uses.push(order.position(node));
        uses.sort_unstable();
        if uses.len() < 2 {
            return None;
        }
        let k = random.below(uses.len() as u32 - 1) as usize;
        let (first, second) = (uses[k], uses[k + 1]);
        if second - first < 2 {
            return None;
        }
        let pull = random.one_in(2);
        let mover = order.nodes[if pull { second } else { first }];
        let [begin, end] = self.part[mover.index()];
        Some(match pull {
            true if (first + 1).max(begin) < second => {
                order.pulled(self.rules, second, (first + 1).max(begin))
            }
            false if (second - 1).min(end - 1) > first => {
                order.pushed(self.rules, first, (second - 1).min(end - 1))
            }
            _ => return None,
        })
    }

    /// Moves any node, near more often than far.
    fn anywhere(&self, order: &NodeOrder, random: &mut Xoshiro256) -> Option<NodeOrder> {
        let from = random.below(order.nodes.len() as u32) as usize;
        let [begin, end] = self.part[order.nodes[from].index()];
        let pull = random.one_in(2);
        let room = match pull {
            true => from - begin,
            false => end - 1 - from,
        };
        if room == 0 {
            return None;
        }
        // Half of the moves within 8, the others as far as they may.
        let reach = match random.one_in(2) {
            true => room.min(8),
            false => room,
        };
        let distance = 1 + random.below(reach as u32) as usize;
        Some(match pull {
            true => order.pulled(self.rules, from, from - distance),
            false => order.pushed(self.rules, from, from + distance),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use remat_instances::{Semantics, zoo};

    #[test]
    fn neighbours_are_orders() {
        let instance = zoo::build(&"zoo:googlenet?batch=1".parse().unwrap()).unwrap();
        let rules = Precedence::of(&instance, Semantics::Checkmate);
        let neighbours = Neighbours::new(&rules);
        let readers = |id: NodeId| instance.users(id).to_vec();
        let wanted: Vec<NodeId> = instance.ids().step_by(3).collect();
        let mut random = Xoshiro256::new(1, 0);
        let mut order = NodeOrder::given(instance.len());
        let mut moved = 0;
        for _ in 0..400 {
            if let Some(next) = neighbours.draw(&order, &wanted, &readers, &mut random) {
                assert!(rules.allows(&next.nodes));
                order = next;
                moved += 1;
            }
        }
        assert!(moved > 100, "{moved}");
        assert!(instance.reordered(&order.nodes).is_ok());
    }
}
