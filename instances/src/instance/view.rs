//! Views of an instance with one implementation per node.
//!
//! A program without choices (Checkmate's) uses such a view. By default it has the first
//! implementation of each node. An instance may state its own view, because measurements may differ
//! if choices are measured as well.

use super::{Instance, InstanceData, NodeId, NodeKind};

impl Instance {
    /// The same instance with `view` as its stated view with one implementation per node.
    ///
    /// Costs and sizes of `view` may differ from this instance's. Its first implementations are
    /// kept, as in [`Instance::single_implementation`].
    pub fn with_stated_view(mut self, view: &Instance) -> Instance {
        self.stated_view = Some(Box::new(view.single_implementation().0));
        self
    }

    /// The stated view with one implementation per node, if the instance states one.
    pub fn stated_view(&self) -> Option<&Instance> {
        self.stated_view.as_deref()
    }

    /// The instance as seen by a program with one implementation per node.
    ///
    /// This is the stated view, or else the view with first implementations
    /// ([`Instance::single_implementation`]).
    pub fn single_implementation_view(&self) -> Instance {
        match &self.stated_view {
            Some(view) => view.as_ref().clone(),
            None => self.single_implementation().0,
        }
    }

    /// The view with the first implementation of each node, ignoring a stated view.
    ///
    /// In-place options and by-products that no first implementation reads are removed. Returns the
    /// view and, for each of its nodes, the id in this instance.
    pub fn single_implementation(&self) -> (Instance, Vec<NodeId>) {
        let kept = read_or_proper(self.data());
        if !self.has_choices() && kept.len() == self.len() {
            let view = Instance {
                stated_view: None,
                ..self.clone()
            };
            return (view, kept);
        }
        let mut data = self.data().clone();
        for node in &mut data.nodes {
            node.implementations.truncate(1);
            node.in_place = None;
        }
        let data = select(data, &kept);
        // Every check of nodes, order and totals also holds for a subset of nodes that is closed
        // under references.
        let view = Instance::new(data).expect("a part of a valid instance is valid");
        (view, kept)
    }
}

/// All nodes except by-products that are not results and that no first implementation of a kept
/// node reads.
fn read_or_proper(data: &InstanceData) -> Vec<NodeId> {
    let mut kept: Vec<bool> = data
        .nodes
        .iter()
        .map(|node| node.parent().is_none() || node.result)
        .collect();
    // Readers come after their inputs.
    for (i, node) in data.nodes.iter().enumerate().rev() {
        if kept[i] {
            for need in node.needs() {
                if let Some(kept) = kept.get_mut(need.index()) {
                    *kept = true;
                }
            }
        }
    }
    let kept = kept.iter().enumerate().filter(|(_, kept)| **kept);
    kept.map(|(i, _)| NodeId::from(i)).collect()
}

/// The nodes `kept`, ascending and renumbered; references to other nodes are dropped.
pub(super) fn select(mut data: InstanceData, kept: &[NodeId]) -> InstanceData {
    if kept.len() == data.nodes.len() {
        return data;
    }
    let mut new_id = vec![None; data.nodes.len()];
    for (k, id) in kept.iter().enumerate() {
        new_id[id.index()] = Some(NodeId::from(k));
    }
    let map = |list: &mut Vec<NodeId>| {
        *list = list.iter().filter_map(|id| new_id[id.index()]).collect();
    };
    let mut i = 0;
    data.nodes.retain(|_| {
        i += 1;
        new_id[i - 1].is_some()
    });
    for node in &mut data.nodes {
        map(&mut node.passing);
        map(&mut node.ends);
        for implementation in &mut node.implementations {
            map(&mut implementation.needs);
        }
        node.in_place = node.in_place.take().and_then(|mut option| {
            option.on = new_id[option.on.index()]?;
            Some(option)
        });
        node.kind = match node.kind {
            NodeKind::ByProduct { parent } => match new_id[parent.index()] {
                Some(parent) => NodeKind::ByProduct { parent },
                None => NodeKind::Forward,
            },
            NodeKind::Backward { forward, gradient } => NodeKind::Backward {
                forward: forward.and_then(|f| new_id[f.index()]),
                gradient,
            },
            kind => kind,
        };
    }
    data
}

#[cfg(test)]
mod tests {
    use crate::instance::{CostUnit, Instance, InstanceData, Node, NodeId, NodeKind};

    #[test]
    fn a_view_is_its_own_view() {
        let by_product = |name: &str, parent: u32, needs: Vec<NodeId>| Node {
            kind: NodeKind::ByProduct {
                parent: NodeId(parent),
            },
            ..Node::forward(name, needs, 1, 1)
        };
        let nodes = vec![
            Node::forward("a", vec![], 1, 1),
            by_product("read by what nobody reads", 0, vec![NodeId(0)]),
            Node::forward("b", vec![NodeId(0)], 1, 1),
            by_product("read by nobody", 2, vec![NodeId(1), NodeId(2)]),
        ];
        let data = InstanceData {
            name: "four".into(),
            cost_unit: CostUnit::arbitrary(),
            host_link: None,
            in_flight: 1,
            nodes,
        };
        let instance = Instance::new(data).unwrap();
        let view = instance.single_implementation_view();
        let names: Vec<&str> = view.nodes().iter().map(|v| v.name.as_str()).collect();
        assert_eq!(names, ["a", "b"]);
        assert_eq!(view.single_implementation_view(), view);
    }
}
