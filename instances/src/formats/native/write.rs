//! Writing the native format: one node per line, without defaults.

use super::{
    ImplementationText, InPlaceText, InstanceText, Kind, NodeText, Reference, ResidentText,
    UnitText,
};
use crate::document::{Lines, TextOr};
use crate::formats::INSTANCE_SCHEMA;
use crate::instance::{
    CostUnit, Gradient, Implementation, Instance, Node, NodeId, NodeKind, PlainPassing, Resident,
};

/// Writes an instance in the native format: one node per line, without defaults.
///
/// Reading it back gives an equal instance, except for a stated view ([`Instance::stated_view`]):
/// the format cannot hold a second set of costs and sizes.
///
/// # Example
/// ```
/// use remat_instances::instance::{CostUnit, Instance, InstanceData, Node, NodeId};
/// use remat_instances::{read_bytes, write_instance};
/// let nodes = vec![Node::forward("a", vec![], 10, 4), Node::forward("b", vec![NodeId(0)], 20, 8)];
/// let data = InstanceData { name: "two".into(), cost_unit: CostUnit::nanoseconds(), host_link: None, in_flight: 1, nodes };
/// let instance = Instance::new(data).unwrap();
/// let text = write_instance(&instance);
/// assert!(text.contains(r#"{"name":"b","output_bytes":8,"needs":[0],"cost":20}"#));
/// let again = read_bytes("two.json", text.as_bytes()).unwrap();
/// assert_eq!(again, instance);
/// ```
pub fn write_instance(instance: &Instance) -> String {
    let fixed_bytes = instance.nodes()[0].fixed_bytes;
    let mut plain = PlainPassing::new(instance.nodes());
    let nodes = instance.nodes().iter();
    let nodes = nodes.map(|node| written_node(node, fixed_bytes, &plain.next_node()).into());
    Lines::new(0, true).write(&InstanceText {
        schema: INSTANCE_SCHEMA,
        name: Some(instance.name()),
        _description: None,
        cost_unit: Some(written_unit(instance.cost_unit())),
        host_link: instance.host_link().cloned(),
        in_flight: (instance.in_flight() > 1).then_some(instance.in_flight()),
        fixed_bytes: (fixed_bytes > 0).then_some(fixed_bytes),
        nodes: nodes.collect(),
    })
}

fn written_unit(unit: &CostUnit) -> TextOr<'_, UnitText<'_>> {
    if CostUnit::named(&unit.name) == *unit {
        return TextOr::Text(&unit.name);
    }
    TextOr::Other(UnitText {
        name: &unit.name,
        nanoseconds: unit.nanoseconds.map(Into::into),
    })
}

fn reference(id: NodeId) -> Reference<'static> {
    TextOr::Other(id.0.into()).into()
}

fn references(list: &[NodeId]) -> Vec<Reference<'static>> {
    list.iter().copied().map(reference).collect()
}

fn written_implementation(p: &Implementation) -> ImplementationText<'_> {
    let unless = |value: i64, default: i64| (value != default).then_some(value.into());
    ImplementationText {
        name: (!p.name.is_empty()).then_some(&p.name),
        needs: Some(references(&p.needs)),
        cost: p.cost.into(),
        workspace_bytes: unless(p.workspace_bytes, 0),
        recompute_cost: (p.recompute_cost != p.cost).then_some(p.recompute_cost.into()),
        recompute_workspace_bytes: unless(p.recompute_workspace_bytes, p.workspace_bytes),
    }
}

fn written_residents(entries: &[Resident]) -> Vec<ResidentText<'_>> {
    let written = entries.iter().map(|entry| ResidentText {
        name: &entry.name,
        bytes: entry.bytes,
    });
    written.collect()
}

fn written_node<'a>(node: &'a Node, fixed_bytes: u64, plain: &[NodeId]) -> NodeText<'a> {
    let mut text = NodeText {
        name: Some(node.name.as_str().into()),
        op: (!node.op.is_empty()).then_some(&node.op),
        module: (!node.module.is_empty()).then_some(&node.module),
        shape: (!node.shape.is_empty()).then(|| node.shape.clone()),
        output_bytes: node.output_bytes,
        fixed_bytes: (node.fixed_bytes != fixed_bytes).then_some(node.fixed_bytes),
        resident: (!node.resident.is_empty()).then(|| written_residents(&node.resident)),
        in_place: node.in_place.as_ref().map(|option| InPlaceText {
            on: reference(option.on),
            cost_delta: Some(option.cost_delta),
            workspace_bytes: Some(option.workspace_bytes),
        }),
        passing: (node.passing != plain).then(|| references(&node.passing)),
        ..NodeText::default()
    };
    text.recompute = node.once.then_some(false);
    text.ends = (!node.ends.is_empty()).then(|| references(&node.ends));
    text.offload = node.stays.then_some(false);
    text.gather_bytes = node.gather_bytes;
    text.scatter_bytes = node.scatter_bytes;
    text.result = node.result.then_some(true);
    match node.kind {
        NodeKind::Forward => {}
        NodeKind::Loss => text.kind = Some(Kind::Loss),
        NodeKind::ByProduct { parent } => {
            text.kind = Some(Kind::ByProduct);
            text.parent = Some(reference(parent));
        }
        NodeKind::Backward { forward, gradient } => {
            text.kind = Some(Kind::Backward);
            text.forward = forward.map(reference);
            text.gradient = (gradient != Gradient::All).then_some(gradient.into());
        }
    }
    let mut written = node.implementations.iter().map(written_implementation);
    match (written.len(), written.next()) {
        // The node itself cannot hold the name of an implementation.
        (1, Some(alone)) if alone.name.is_none() => {
            text.needs = alone.needs;
            text.cost = Some(alone.cost);
            text.workspace_bytes = alone.workspace_bytes;
            text.recompute_cost = alone.recompute_cost;
            text.recompute_workspace_bytes = alone.recompute_workspace_bytes;
        }
        (_, first) => {
            let all: Vec<_> = first.into_iter().chain(written).collect();
            text.implementations = Some(all.into());
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::instance::{Duplex, HostLink, InPlace, InstanceData};
    use crate::read_bytes;
    use proptest::prelude::*;

    /// Ids below `n`, ascending and distinct.
    fn references(n: usize) -> impl Strategy<Value = Vec<NodeId>> {
        prop::collection::btree_set(0..n.max(1), 0..4).prop_map(move |set| {
            set.into_iter()
                .filter(|i| *i < n)
                .map(NodeId::from)
                .collect()
        })
    }

    fn size() -> impl Strategy<Value = u64> {
        prop_oneof![
            Just(0),
            1..1000u64,
            Just(crate::number::LARGEST_VALUE >> 10)
        ]
    }

    fn node(i: usize, forward: usize) -> impl Strategy<Value = Node> {
        let implementation = (references(i), size(), size(), any::<[bool; 4]>()).prop_map(
            |(needs, cost, size, flags)| {
                let mut p = Implementation::new(
                    needs,
                    cost,
                    if flags[0] {
                        -(size as i64)
                    } else {
                        size as i64
                    },
                );
                if flags[1] {
                    p.recompute_cost = cost + 1;
                }
                if flags[2] {
                    p.recompute_workspace_bytes += 1;
                }
                if flags[3] {
                    p.name = "algo \"7\"\n".into();
                }
                p
            },
        );
        let parts = (
            prop::collection::vec(implementation, 1..4),
            (
                size(),
                size(),
                prop::collection::vec(size(), 0..3),
                prop::collection::vec(0..4usize, 0..3),
            ),
            (
                references(i),
                references(i),
                prop::option::of((0..i.max(1), 0..9i64, -9..9i64)),
            ),
            (
                0..3u8,
                prop::option::of(0..i.max(1)),
                0..3usize,
                any::<bool>(),
            ),
        );
        parts.prop_map(
            move |(
                implementations,
                (output_bytes, fixed_bytes, shape, memories),
                (passing, ends, in_place),
                (kind, other, gradient, once),
            )| Node {
                name: format!("é{i}").into(),
                op: ["", "conv2d", "a\\b"][kind as usize].into(),
                module: ["layers.0.attn", "", "é"][kind as usize].into(),
                shape,
                kind: if i >= forward {
                    let gradient = [Gradient::All, Gradient::Parameters, Gradient::Input][gradient];
                    NodeKind::Backward {
                        forward: other.filter(|_| i > 0).map(NodeId::from),
                        gradient,
                    }
                } else if i + 1 == forward && kind > 0 {
                    NodeKind::Loss
                } else if i > 0 && kind == 1 {
                    NodeKind::ByProduct { parent: NodeId(0) }
                } else {
                    NodeKind::Forward
                },
                output_bytes,
                fixed_bytes,
                // A few memories that several nodes share.
                resident: memories
                    .into_iter()
                    .map(|k| Resident {
                        name: ["w", "\"table\"\n", "é", " "][k].into(),
                        bytes: [0, 1, 4096, crate::number::LARGEST_VALUE >> 1][k],
                    })
                    .collect(),
                passing,
                result: false,
                // An update of what a few earlier nodes read.
                ends: match once && kind != 1 {
                    true => ends.into_iter().filter(|end| end.0 > 0).collect(),
                    false => Vec::new(),
                },
                once,
                stays: output_bytes % 2 == 1,
                gather_bytes: None,
                scatter_bytes: None,
                implementations,
                in_place: in_place
                    .filter(|_| i > 0)
                    .map(|(on, cost_delta, workspace_bytes)| InPlace {
                        on: NodeId::from(on),
                        cost_delta,
                        workspace_bytes,
                    }),
            },
        )
    }

    fn data() -> impl Strategy<Value = InstanceData> {
        (1..8usize, 0..8usize).prop_flat_map(|(n, forward)| {
            let nodes: Vec<_> = (0..n).map(|i| node(i, forward)).collect();
            let unit = prop_oneof![
                Just(("ns".to_owned(), Some(1.0))),
                Just(("ms".to_owned(), None)),
                Just(("".to_owned(), None)),
                (0.001..1e9).prop_map(|ns| ("tick".to_owned(), Some(ns))),
            ];
            (
                nodes,
                unit,
                prop::option::of((size(), size())),
                any::<String>(),
            )
                .prop_map(|(mut nodes, (name, nanoseconds), link, title)| {
                    // The parent of a by-product must be a forward node, and the by-product reads
                    // it.
                    if nodes[0].kind != NodeKind::Forward {
                        for node in &mut nodes {
                            if matches!(node.kind, NodeKind::ByProduct { .. }) {
                                node.kind = NodeKind::Forward;
                            }
                        }
                    }
                    for node in nodes.iter_mut().filter(|v| v.parent().is_some()) {
                        for way in &mut node.implementations {
                            way.needs.insert(0, NodeId(0));
                            way.needs.dedup();
                        }
                    }
                    InstanceData {
                        in_flight: 1,
                        name: title.into(),
                        cost_unit: CostUnit {
                            name: name.into(),
                            nanoseconds,
                        },
                        host_link: link.map(|(to, from)| HostLink {
                            latency_ns: to % 3,
                            duplex: [Duplex::Full, Duplex::Half][(to % 2) as usize],
                            host_memory_bytes: (from % 2 == 0).then_some(from),
                            ..HostLink::new(to, from)
                        }),
                        nodes,
                    }
                })
        })
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back_equal(data in data()) {
            let instance = Instance::new(data).unwrap();
            let text = write_instance(&instance);
            let again = read_bytes("", text.as_bytes());
            prop_assert_eq!(again.unwrap(), instance);
        }
    }
}
