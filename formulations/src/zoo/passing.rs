//! Tensors that pass over a node in the plain execution order.

use crate::instance::{Node, NodeId};

/// For every node, the tensors that are alive around it when each node is computed once, in order, ascending.
///
/// This is `local` of MONeT's program (Shah et al., ICLR 2021, section 4: the tensors of L at a node). Around a forward
/// node or the loss these are its inputs and every forward tensor that a later forward node or the loss still reads:
/// what the backward pass reads does not count, that is the checkpoints' business. Around a backward node these are the gradients (and
/// the loss) among its inputs, and every gradient (and the loss) that a later backward node still reads. All
/// implementations of a node count as its readers.
///
/// Time is linear in the nodes, their inputs, and the result.
pub fn passing_tensors(nodes: &[Node]) -> Vec<Vec<NodeId>> {
    let is_gradient =
        |node: &Node| node.is_backward() || node.kind == crate::instance::NodeKind::Loss;
    // Last reader of the same half; a node without one never passes.
    let mut last = vec![0usize; nodes.len()];
    for (k, node) in nodes.iter().enumerate() {
        for need in node.implementations.iter().flat_map(|p| &p.needs) {
            let i = need.index();
            let same_half = match node.is_backward() {
                true => is_gradient(&nodes[i]),
                false => !nodes[i].is_backward(),
            };
            if same_half {
                last[i] = k;
            }
        }
    }
    let mut alive: Vec<NodeId> = Vec::new();
    let mut passing = Vec::with_capacity(nodes.len());
    for k in 0..nodes.len() {
        alive.retain(|i| last[i.index()] >= k);
        passing.push(alive.clone());
        if last[k] > k {
            alive.push(NodeId::from(k));
        }
    }
    passing
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::instance::{Implementation, NodeKind};
    use serde_json::Value;

    fn ids(list: &Value) -> Vec<NodeId> {
        list.as_array()
            .unwrap()
            .iter()
            .map(|i| NodeId::from(i.as_u64().unwrap() as usize))
            .collect()
    }

    fn node(v: &Value) -> Node {
        let kind = match v["kind"].as_str().unwrap() {
            "fwd" => NodeKind::Forward,
            "int" => NodeKind::ByProduct {
                parent: NodeId::from(v["parent"].as_u64().unwrap() as usize),
            },
            "loss" => NodeKind::Loss,
            _ => NodeKind::Backward {
                forward: None,
                gradient: Default::default(),
            },
        };
        let implementations = v["deps"]
            .as_array()
            .unwrap()
            .iter()
            .map(|needs| Implementation::new(ids(needs), 0, 0))
            .collect();
        Node {
            kind,
            implementations,
            ..Node::default()
        }
    }

    /// Every published graph lists these tensors.
    #[test]
    fn equal_to_the_published_lists() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared/data/zoo/graphs");
        let Ok(entries) = std::fs::read_dir(folder) else {
            println!("skipped: {folder} is not there");
            return;
        };
        let mut compared = 0;
        for entry in entries {
            let path = entry.unwrap().path();
            let graph: Value =
                serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
            let list = graph["nodes"].as_array().unwrap();
            let nodes: Vec<Node> = list.iter().map(node).collect();
            for (k, found) in passing_tensors(&nodes).iter().enumerate() {
                let mut expected = ids(&list[k]["local"]);
                expected.sort();
                assert_eq!(*found, expected, "{} node {k}", path.display());
                compared += 1;
            }
        }
        assert!(compared > 1000, "only {compared} nodes compared");
    }

    #[test]
    fn a_branch_passes_over_what_it_skips() {
        let nodes = [
            Node::forward("a", vec![], 1, 1),
            Node::forward("b", vec![NodeId(0)], 1, 1),
            Node::forward("c", vec![NodeId(1)], 1, 1),
            Node::forward("d", vec![NodeId(0), NodeId(2)], 1, 1),
            Node::loss("loss", vec![NodeId(3)], 1, 1),
            Node::backward("d.grad", None, vec![NodeId(4)], 1, 1),
            Node::backward("c.grad", None, vec![NodeId(1), NodeId(5)], 1, 1),
            Node::backward("a.grad", None, vec![NodeId(5), NodeId(6)], 1, 1),
        ];
        let expected: [&[u32]; 8] = [&[], &[0], &[0, 1], &[0, 2], &[3], &[4], &[5], &[5, 6]];
        for (found, expected) in passing_tensors(&nodes).iter().zip(expected) {
            let found: Vec<u32> = found.iter().map(|i| i.0).collect();
            assert_eq!(found, expected);
        }
    }
}
