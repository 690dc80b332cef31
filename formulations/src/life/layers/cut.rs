//! The same network with fewer layers.

use super::{ENDS, Layout};
use remat_instances::instance::{Instance, InstanceData, Node, NodeId, NodeKind};

/// The network with the layers of a smaller layout of the same stacks: the middle ones go. `None`
/// where what is left does not fit together.
pub fn cut(instance: &Instance, large: &Layout, small: &Layout) -> Option<Instance> {
    let cutting = Cutting { large, small };
    let nodes = (0..small.nodes()).map(|i| cutting.node(instance, i));
    let data = InstanceData {
        name: format!("{} of fewer layers", instance.name()),
        nodes: nodes.collect::<Option<Vec<Node>>>()?,
        ..instance.data().clone()
    };
    Instance::new(data).ok()
}

struct Cutting<'a> {
    large: &'a Layout,
    small: &'a Layout,
}

impl Cutting<'_> {
    /// Layers that a stack has more in the large network, and the first layer of the small one that
    /// comes from behind those.
    fn gap(&self, stack: u32) -> (u32, u32) {
        let [large, small] = [self.large, self.small].map(|l| l.stacks()[stack as usize].layers);
        (large - small, small / 2)
    }

    /// The node of the large network that a node of the small one is.
    fn origin(&self, i: u32) -> Option<u32> {
        let place = self.small.place(i);
        let Some((stack, layer)) = self.small.layer(place) else {
            return self.large.node(place);
        };
        let (gone, upper) = self.gap(stack);
        let layer = if layer < upper { layer } else { layer + gone };
        self.large.node_in(place, layer)
    }

    /// The node of the small network in the place of one of the large network, as a node of a layer
    /// refers to it: by the distance between their layers where that is small.
    fn reference(&self, from: Option<(u32, u32)>, to: u32) -> Option<u32> {
        let place = self.large.place(to);
        let Some((stack, layer)) = self.large.layer(place) else {
            return self.small.node(place);
        };
        let (gone, upper) = self.gap(stack);
        let is_near = |own: &(u32, u32)| own.0 == stack && own.1.abs_diff(layer) <= ENDS;
        let pivot = from.filter(is_near).map_or(layer, |own| own.1);
        let layer = if pivot < upper {
            layer
        } else {
            layer.checked_sub(gone)?
        };
        self.small.node_in(place, layer)
    }

    fn node(&self, instance: &Instance, i: u32) -> Option<Node> {
        let origin = self.origin(i)?;
        let from = self.large.layer(self.large.place(origin));
        let refer = |j: NodeId| self.reference(from, j.0).map(NodeId);
        let mut node = instance.node(NodeId(origin)).clone();
        node.name = format!("{} {i}", node.name);
        node.passing = Vec::new();
        node.in_place = None;
        for implementation in &mut node.implementations {
            let needs = implementation.needs.iter().map(|j| refer(*j));
            let mut needs = needs.collect::<Option<Vec<_>>>()?;
            needs.sort_unstable();
            needs.dedup();
            if needs.len() != implementation.needs.len() {
                return None;
            }
            implementation.needs = needs;
        }
        node.kind = match node.kind {
            NodeKind::ByProduct { parent } => NodeKind::ByProduct {
                parent: refer(parent)?,
            },
            NodeKind::Backward { gradient, .. } => NodeKind::Backward {
                forward: None,
                gradient,
            },
            kind => kind,
        };
        Some(node)
    }
}

#[cfg(test)]
mod tests {
    use super::super::find;
    use super::*;
    use remat_instances::zoo;

    #[test]
    fn what_is_cut_out_is_the_network_of_fewer_layers() {
        for model in ["llama", "gpt2", "bert"] {
            let build = |layers: u32| {
                let spec = format!("zoo:{model}?layers={layers}");
                zoo::build(&spec.parse().unwrap()).unwrap()
            };
            let large = build(40);
            let layout = find(&large).unwrap();
            let gone = 32;
            let small = layout.with_layers(&[layout.stacks()[0].layers - gone]);
            let cut = cut(&large, &layout, &small).unwrap();
            let expected = build(40 - gone);
            assert_eq!(cut.len(), expected.len());
            for i in cut.ids() {
                assert_eq!(cut.needs(i), expected.needs(i), "{model}: {i}");
                let [a, b] = [&cut, &expected].map(|g| g.node(i).clone());
                assert_eq!((a.cost(), a.output_bytes), (b.cost(), b.output_bytes));
            }
        }
    }
}
