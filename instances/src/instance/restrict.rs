//! The same instance with fewer choices, for ablations of MONeT's program.

use super::view::select;
use super::{Implementation, Instance, InstanceData, NodeId, NodeKind};

/// Choices besides the schedule that an instance keeps (the paper's ablations, section 5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Choices {
    /// Implementations that read the same tensors: convolution algorithms.
    pub algorithms: bool,
    /// Backward implementations with other inputs than the first one: output-activated.
    pub outputs: bool,
    /// Implementations that read by-products: intermediate-activated.
    pub masks: bool,
    /// In-place steps.
    pub in_place: bool,
}

impl Choices {
    /// All choices.
    pub const ALL: Choices = Choices {
        algorithms: true,
        outputs: true,
        masks: true,
        in_place: true,
    };
}

impl Instance {
    /// The instance with some of its choices, and the original id of each of its nodes.
    ///
    /// The inputs of the first implementation are always kept. Without the choice of algorithms,
    /// the implementation with the smallest workspace is kept, and the cheapest of these.
    /// By-products without a reader are removed.
    pub fn restricted(&self, keep: Choices) -> (Instance, Vec<NodeId>) {
        let mut data = self.data().clone();
        let by_product = |id: &NodeId| matches!(self.node(*id).kind, NodeKind::ByProduct { .. });
        for node in &mut data.nodes {
            let plain = node.needs().to_vec();
            node.implementations.retain(|way| {
                let choice = match way.needs.iter().any(by_product) {
                    true => keep.masks,
                    false => keep.outputs,
                };
                way.needs == plain || choice
            });
            if !keep.algorithms {
                node.implementations = smallest(&node.implementations);
            }
            if !keep.in_place {
                node.in_place = None;
            }
        }
        let kept = read_or_proper(&data);
        let data = select(data, &kept);
        // Every check of nodes, order and totals also holds for a subset of nodes that is closed
        // under references.
        let instance = Instance::new(data).expect("a part of a valid instance is valid");
        (instance, kept)
    }
}

/// For each set of inputs, the implementation with the smallest workspace.
fn smallest(ways: &[Implementation]) -> Vec<Implementation> {
    let mut kept: Vec<Implementation> = Vec::new();
    let size = |w: &Implementation| (w.workspace_bytes, w.cost);
    for way in ways {
        match kept.iter_mut().find(|k| k.needs == way.needs) {
            Some(best) if size(way) < size(best) => *best = way.clone(),
            Some(_) => {}
            None => kept.push(way.clone()),
        }
    }
    kept
}

/// All nodes except by-products that are not results and that no implementation reads.
fn read_or_proper(data: &InstanceData) -> Vec<NodeId> {
    let mut read = vec![false; data.nodes.len()];
    for need in data.nodes.iter().flat_map(|v| &v.implementations) {
        need.needs.iter().for_each(|u| read[u.index()] = true);
    }
    let proper = |i: usize| data.nodes[i].parent().is_none() || data.nodes[i].result;
    let kept = (0..data.nodes.len()).filter(|&i| read[i] || proper(i));
    kept.map(NodeId::from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::zoo::{self, ModelSpec};

    fn model() -> Instance {
        let text = "zoo:vgg16?batch=2&device=p100&implementations=monet";
        let spec: ModelSpec = text.parse().unwrap();
        zoo::build(&spec).unwrap()
    }

    #[test]
    fn all_choices_are_the_instance_itself() {
        let model = model();
        assert_eq!(model.restricted(Choices::ALL).0, model);
    }

    #[test]
    fn no_choices_are_one_implementation_of_each_node() {
        let model = model();
        let (none, kept) = model.restricted(Choices::default());
        assert!(!none.has_choices());
        // The plain implementation of a convolution comes first and has no workspace.
        assert_eq!(none, model.single_implementation().0);
        assert!(kept.len() < model.len());
    }

    #[test]
    fn each_choice_is_kept_by_itself() {
        let model = model();
        let count = |keep: Choices| {
            let (instance, _) = model.restricted(keep);
            let nodes = instance.nodes();
            let by_products = nodes
                .iter()
                .filter(|v| matches!(v.kind, NodeKind::ByProduct { .. }))
                .count();
            let in_place = nodes.iter().filter(|v| v.in_place.is_some()).count();
            let ways: usize = nodes.iter().map(|v| v.implementations.len() - 1).sum();
            (by_products, in_place, ways)
        };
        let none = Choices::default();
        let masks = count(Choices {
            masks: true,
            ..none
        });
        let outputs = count(Choices {
            outputs: true,
            ..none
        });
        let algorithms = count(Choices {
            algorithms: true,
            ..none
        });
        let in_place = count(Choices {
            in_place: true,
            ..none
        });
        // VGG-16: 13 convolutions with ReLU, 2 further ReLUs, 5 poolings.
        assert_eq!((masks.0, masks.2), (20, 20));
        assert_eq!(outputs, (0, 0, 15));
        assert_eq!((in_place.0, in_place.1, in_place.2), (0, 15, 0));
        assert!(algorithms.0 == 0 && algorithms.2 > 26);
    }
}
