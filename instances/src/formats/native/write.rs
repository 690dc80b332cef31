//! Writing the native format: one node a line, defaults left out.

use super::{FROM_HOST, TIME_UNITS, TO_HOST};
use crate::formats::INSTANCE_SCHEMA;
use crate::instance::{
    CostUnit, Gradient, Implementation, Instance, Node, NodeId, NodeKind, PlainPassing,
};
use serde::Serialize;

/// Writes an instance in the native format: one node a line, defaults left out.
///
/// Reading it back gives an equal instance, but for a view that the instance states
/// ([`Instance::stated_view`]): the format has no place for a second set of costs and sizes.
///
/// # Example
/// ```
/// use remat_instances::instance::{CostUnit, Instance, InstanceData, Node, NodeId};
/// use remat_instances::{read_bytes, write_instance};
/// let nodes = vec![Node::forward("a", vec![], 10, 4), Node::forward("b", vec![NodeId(0)], 20, 8)];
/// let data = InstanceData { name: "two".into(), cost_unit: CostUnit::nanoseconds(), host_link: None, nodes };
/// let instance = Instance::new(data).unwrap();
/// let text = write_instance(&instance);
/// assert!(text.contains(r#"{"name":"b","output_bytes":8,"needs":[0],"cost":20}"#));
/// let again = read_bytes("two.json", text.as_bytes()).unwrap();
/// assert_eq!(again, instance);
/// ```
pub fn write_instance(instance: &Instance) -> String {
    let mut text = format!("{{\n\"schema\":{INSTANCE_SCHEMA:?},\n");
    text += &format!("\"name\":{},\n", json(&instance.name()));
    text += &format!(
        "\"cost_unit\":{},\n",
        json(&written_unit(instance.cost_unit()))
    );
    if let Some(link) = instance.host_link() {
        text += &format!(
            "\"host_link\":{{\"{TO_HOST}\":{},\"{FROM_HOST}\":{}}},\n",
            link.to_host_bytes_per_second, link.from_host_bytes_per_second
        );
    }
    let fixed_bytes = instance.nodes()[0].fixed_bytes;
    if fixed_bytes > 0 {
        text += &format!("\"fixed_bytes\":{fixed_bytes},\n");
    }
    text += "\"nodes\":[\n";
    let mut plain = PlainPassing::new(instance.nodes());
    for (i, node) in instance.nodes().iter().enumerate() {
        if i > 0 {
            text += ",\n";
        }
        text += &json(&written_node(node, fixed_bytes, &plain.next_node()));
    }
    text + "\n]\n}\n"
}

fn json(value: &impl Serialize) -> String {
    // Only maps with keys that are not strings, and writers, can fail; there is neither.
    serde_json::to_string(value).expect("plain structures have a JSON text")
}

#[derive(Serialize)]
#[serde(untagged)]
enum WrittenUnit<'a> {
    Name(&'a str),
    Full {
        name: &'a str,
        nanoseconds: Option<f64>,
    },
}

fn written_unit(unit: &CostUnit) -> WrittenUnit<'_> {
    let known = TIME_UNITS.iter().find(|(name, _)| *name == unit.name);
    if known.map(|(_, nanoseconds)| *nanoseconds) == unit.nanoseconds {
        return WrittenUnit::Name(&unit.name);
    }
    WrittenUnit::Full {
        name: &unit.name,
        nanoseconds: unit.nanoseconds,
    }
}

#[derive(Serialize)]
struct WrittenNode<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    forward: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    gradient: Option<&'static str>,
    #[serde(skip_serializing_if = "str::is_empty")]
    op: &'a str,
    #[serde(skip_serializing_if = "<[u64]>::is_empty")]
    shape: &'a [u64],
    output_bytes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    fixed_bytes: Option<u64>,
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    only: Option<WrittenImplementation<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    implementations: Option<Vec<WrittenImplementation<'a>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    in_place: Option<WrittenInPlace>,
    #[serde(skip_serializing_if = "Option::is_none")]
    passing: Option<Vec<u32>>,
}

#[derive(Serialize)]
struct WrittenImplementation<'a> {
    #[serde(skip_serializing_if = "str::is_empty")]
    name: &'a str,
    needs: Vec<u32>,
    cost: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    workspace_bytes: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    recompute_cost: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    recompute_workspace_bytes: Option<i64>,
}

#[derive(Serialize)]
struct WrittenInPlace {
    on: u32,
    cost_delta: i64,
    workspace_bytes: i64,
}

fn ids(list: &[NodeId]) -> Vec<u32> {
    list.iter().map(|id| id.0).collect()
}

fn written_implementation(p: &Implementation) -> WrittenImplementation<'_> {
    let unless = |value: i64, default: i64| (value != default).then_some(value);
    WrittenImplementation {
        name: &p.name,
        needs: ids(&p.needs),
        cost: p.cost,
        workspace_bytes: unless(p.workspace_bytes, 0),
        recompute_cost: (p.recompute_cost != p.cost).then_some(p.recompute_cost),
        recompute_workspace_bytes: unless(p.recompute_workspace_bytes, p.workspace_bytes),
    }
}

fn written_node<'a>(node: &'a Node, fixed_bytes: u64, plain: &[NodeId]) -> WrittenNode<'a> {
    let (kind, parent, forward, gradient) = match node.kind {
        NodeKind::Forward => (None, None, None, None),
        NodeKind::Loss => (Some("loss"), None, None, None),
        NodeKind::ByProduct { parent } => (Some("by_product"), Some(parent.0), None, None),
        NodeKind::Backward { forward, gradient } => {
            let gradient = match gradient {
                Gradient::All => None,
                Gradient::Parameters => Some("parameters"),
                Gradient::Input => Some("input"),
            };
            (Some("backward"), None, forward.map(|f| f.0), gradient)
        }
    };
    // A name has no place on the node itself.
    let alone = node.implementations.len() == 1 && node.implementations[0].name.is_empty();
    let mut written = node.implementations.iter().map(written_implementation);
    WrittenNode {
        name: &node.name,
        kind,
        parent,
        forward,
        gradient,
        op: &node.op,
        shape: &node.shape,
        output_bytes: node.output_bytes,
        fixed_bytes: (node.fixed_bytes != fixed_bytes).then_some(node.fixed_bytes),
        only: if alone { written.next() } else { None },
        implementations: (!alone).then(|| written.collect()),
        in_place: node.in_place.as_ref().map(|option| WrittenInPlace {
            on: option.on.0,
            cost_delta: option.cost_delta,
            workspace_bytes: option.workspace_bytes,
        }),
        passing: (node.passing != plain).then(|| ids(&node.passing)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::instance::InstanceData;
    use crate::instance::{HostLink, InPlace};
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
            Just(crate::instance::LARGEST_VALUE >> 10)
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
            (size(), size(), prop::collection::vec(size(), 0..3)),
            (
                references(i),
                prop::option::of((0..i.max(1), 0..9i64, -9..9i64)),
            ),
            (0..3u8, prop::option::of(0..i.max(1)), 0..3usize),
        );
        parts.prop_map(
            move |(
                implementations,
                (output_bytes, fixed_bytes, shape),
                (passing, in_place),
                (kind, other, gradient),
            )| Node {
                name: format!("é{i}"),
                op: ["", "conv2d", "a\\b"][kind as usize].into(),
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
                passing,
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
                    // A by-product's parent is a forward node.
                    if nodes[0].kind != NodeKind::Forward {
                        for node in &mut nodes {
                            if matches!(node.kind, NodeKind::ByProduct { .. }) {
                                node.kind = NodeKind::Forward;
                            }
                        }
                    }
                    InstanceData {
                        name: title,
                        cost_unit: CostUnit { name, nanoseconds },
                        host_link: link.map(|(to, from)| HostLink {
                            to_host_bytes_per_second: to,
                            from_host_bytes_per_second: from,
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
