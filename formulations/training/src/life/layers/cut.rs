//! The same network with fewer layers.

use super::signature::fixed_growth;
use super::{ENDS, Layout};
use remat_instances::Semantics;
use remat_instances::instance::{Instance, InstanceData, Node, NodeId, NodeKind};

/// The network with the layers of a smaller layout of the same stacks, for a program of some
/// semantics. Middle layers are removed, and so are their parts of the fixed memory. `None` if the
/// remaining nodes do not fit together.
pub fn cut(
    instance: &Instance,
    large: &Layout,
    small: &Layout,
    semantics: Semantics,
) -> Option<Instance> {
    let cutting = Cutting {
        large,
        small,
        semantics,
    };
    let nodes = (0..small.nodes()).map(|i| cutting.node(instance, i));
    let mut nodes = nodes.collect::<Option<Vec<Node>>>()?;
    if semantics.fixed_memory_follows_frontier() {
        cutting.shrink_fixed(instance, &mut nodes)?;
    }
    let data = InstanceData {
        name: format!("{} of fewer layers", instance.name().as_str()).into(),
        nodes,
        ..instance.data().clone()
    };
    Instance::new(data).ok()
}

struct Cutting<'a> {
    large: &'a Layout,
    small: &'a Layout,
    semantics: Semantics,
}

impl Cutting<'_> {
    /// Number of layers that a stack loses, and the first layer of the small network that comes
    /// from behind these.
    fn gap(&self, stack: u32) -> (u32, u32) {
        let [large, small] = [self.large, self.small].map(|l| l.stacks()[stack as usize].layers);
        (large - small, small / 2)
    }

    /// The node of the large network that becomes a node of the small one.
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
    /// refers to it. A small distance between their layers is kept.
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

    /// Returns whether a node is in a removed layer, far from the layer that reads it.
    fn is_gone(&self, from: Option<(u32, u32)>, to: u32) -> bool {
        self.large
            .layer(self.large.place(to))
            .is_some_and(|(stack, layer)| {
                let (gone, upper) = self.gap(stack);
                let is_far = self.large.is_far_middle(from, (stack, layer));
                is_far && (upper..upper + gone).contains(&layer)
            })
    }

    /// Subtracts the parts of removed layers from the fixed memory of the nodes behind them.
    fn shrink_fixed(&self, instance: &Instance, nodes: &mut [Node]) -> Option<()> {
        let mut fixed = 0;
        for (i, node) in (0..).zip(nodes) {
            fixed = match i {
                0 => node.fixed_bytes as i64,
                _ => fixed + fixed_growth(instance, NodeId(self.origin(i)?)),
            };
            node.fixed_bytes = u64::try_from(fixed).ok()?;
        }
        Some(())
    }

    fn node(&self, instance: &Instance, i: u32) -> Option<Node> {
        let origin = self.origin(i)?;
        let from = self.large.layer(self.large.place(origin));
        let refer = |j: NodeId| self.reference(from, j.0).map(NodeId);
        // A reader of a tensor of all middle layers reads this tensor of all remaining ones.
        let stays = |j: &&NodeId| !self.is_gone(from, j.0);
        let mut node = instance.node(NodeId(origin)).clone();
        node.name = format!("{} {i}", node.name.as_str()).into();
        let refer_all = |list: &[NodeId]| -> Option<Vec<NodeId>> {
            let kept = list.iter().filter(stays);
            let mut all = kept.map(|j| refer(*j)).collect::<Option<Vec<_>>>()?;
            let count = all.len();
            all.sort_unstable();
            all.dedup();
            (all.len() == count).then_some(all)
        };
        for implementation in &mut node.implementations {
            implementation.needs = refer_all(&implementation.needs)?;
        }
        node.ends = refer_all(&node.ends)?;
        if self.semantics.chooses_implementations() {
            node.passing = refer_all(&node.passing)?;
            if let Some(option) = &mut node.in_place {
                option.on = refer(option.on)?;
            }
        } else {
            node.passing = Vec::new();
            node.in_place = None;
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
        for semantics in [Semantics::Checkmate, Semantics::Monet] {
            for model in ["llama", "gpt2", "bert"] {
                let build = |layers: u32| {
                    let spec = format!("zoo:{model}?layers={layers}");
                    zoo::build(&spec.parse().unwrap()).unwrap()
                };
                let large = build(40);
                let layout = find(&large, semantics).unwrap();
                let gone = 32;
                let small = layout.with_layers(&[layout.stacks()[0].layers - gone]);
                let cut = cut(&large, &layout, &small, semantics).unwrap();
                let expected = build(40 - gone);
                assert_eq!(cut.len(), expected.len());
                let growth = |g: &Instance, i| fixed_growth(g, i);
                for i in cut.ids() {
                    let [a, b] = [&cut, &expected].map(|g| g.node(i).clone());
                    assert_eq!(a.needs(), b.needs(), "{model}: {i}");
                    assert_eq!((a.cost(), a.output_bytes), (b.cost(), b.output_bytes));
                    if semantics.fixed_memory_follows_frontier() {
                        assert_eq!(a.passing, b.passing, "{model}: {i}");
                        assert_eq!(growth(&cut, i), growth(&expected, i), "{model}: {i}");
                    }
                }
            }
        }
    }
}
