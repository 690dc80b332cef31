//! Gathered weights and scattered gradients, of a training step whose weights are sharded over
//! several devices (fully sharded data parallelism: Zhao et al., PyTorch FSDP, VLDB 2023).

use super::validate::{StructureError, error, in_range};
use super::view::select;
use super::{Instance, Node, NodeId, NodeKind};

impl Instance {
    /// Returns whether any node is a [gathered weight](Node::gather_bytes) or a
    /// [scattered gradient](Node::scatter_bytes).
    pub fn is_sharded(&self) -> bool {
        let mut nodes = self.nodes().iter();
        nodes.any(|node| node.is_gathered() || node.is_scattered())
    }

    /// Number of gathered weights; they come before all other nodes.
    pub fn gathered(&self) -> usize {
        self.nodes().partition_point(Node::is_gathered)
    }

    /// The computations of the instance: the graph without gathered weights, in which each reader
    /// has the bytes of its weights as workspace. Returns the graph and, for each of its nodes, the
    /// id in this instance.
    ///
    /// Any plan without its gathers and scatters is a plan of this graph within the same budget. So
    /// the graph's bounds hold for all plans of the instance.
    pub fn computations(&self) -> (Instance, Vec<NodeId>) {
        let kept: Vec<NodeId> = self.ids().skip(self.gathered()).collect();
        let mut data = self.data().clone();
        let bytes = |needs: &[NodeId]| -> i64 {
            let weights = needs.iter().map(|need| self.node(*need));
            let weights = weights.filter(|node| node.is_gathered());
            weights.map(|node| node.output_bytes as i64).sum()
        };
        for node in &mut data.nodes {
            for way in &mut node.implementations {
                let held = bytes(&way.needs);
                way.workspace_bytes += held;
                way.recompute_workspace_bytes += held;
            }
            if let Some(option) = &mut node.in_place {
                // An option has one workspace for all implementations.
                let held = node.implementations.iter().map(|way| bytes(&way.needs));
                option.workspace_bytes += held.min().unwrap_or(0);
            }
            // A gradient is scattered once, so its node runs once.
            node.once |= node.is_scattered();
            node.scatter_bytes = None;
        }
        let view = Instance::new(select(data, &kept));
        (view.expect("a part of a valid instance is valid"), kept)
    }

    /// The same graph as if gathered weights were computed at no cost and scattered gradients
    /// stayed: an ordinary graph in which weights run once, first.
    pub fn unsharded(&self) -> Instance {
        let mut data = self.data().clone();
        for node in &mut data.nodes {
            let is_sharded = node.is_gathered() || node.is_scattered();
            node.once |= is_sharded;
            node.stays |= is_sharded;
            (node.gather_bytes, node.scatter_bytes) = (None, None);
        }
        Instance::new(data).expect("an ordinary graph has fewer rules")
    }
}

/// Checks the nodes that are gathered or scattered.
pub(super) fn check(nodes: &[Node]) -> Result<(), StructureError> {
    let mut computed = None;
    for (i, node) in nodes.iter().enumerate() {
        let at = |field: &str| format!("nodes[{i}].{field}");
        for (field, bytes) in [
            ("gather_bytes", node.gather_bytes),
            ("scatter_bytes", node.scatter_bytes),
        ] {
            let Some(bytes) = bytes else { continue };
            in_range(at(field), bytes)?;
            if bytes > node.output_bytes {
                return error(
                    at(field),
                    bytes,
                    format!("more bytes than the tensor has ({})", node.output_bytes),
                    "give the bytes of the other devices' shards: size x (1 - 1/shards)",
                );
            }
        }
        match (node.gather_bytes, node.scatter_bytes) {
            (Some(_), Some(bytes)) => {
                return error(
                    at("scatter_bytes"),
                    bytes,
                    "a gathered weight is not computed, so it cannot be scattered",
                    "give `scatter_bytes` to the node that computes the gradient",
                );
            }
            (Some(bytes), None) => {
                check_gathered(node, &at)?;
                if let Some(first) = computed {
                    return error(
                        at("gather_bytes"),
                        bytes,
                        format!("a gathered weight comes after a computed node (nodes[{first}])"),
                        "list all gathered weights before the other nodes",
                    );
                }
            }
            (None, Some(bytes)) if node.parent().is_some() => {
                return error(
                    at("scatter_bytes"),
                    bytes,
                    "a by-product cannot be scattered",
                    "give `scatter_bytes` to a node of kind forward, loss or backward",
                );
            }
            _ => {}
        }
        if !node.is_gathered() {
            computed = computed.or(Some(i));
        }
        let is_sharded = |id: &NodeId| {
            let other = &nodes[id.index()];
            other.is_gathered() || other.is_scattered()
        };
        if let Some(on) = node.in_place.as_ref().map(|p| p.on).filter(is_sharded) {
            return error(
                at("in_place.on"),
                on,
                "a gathered weight or scattered gradient cannot be overwritten",
                "name another input, or take `in_place` out",
            );
        }
    }
    Ok(())
}

/// Checks that a gathered weight computes nothing.
fn check_gathered(node: &Node, at: &dyn Fn(&str) -> String) -> Result<(), StructureError> {
    let computes = "a gathered weight computes nothing";
    if node.kind != NodeKind::Forward {
        let kind = match node.kind {
            NodeKind::Loss => "loss",
            NodeKind::ByProduct { .. } => "by_product",
            _ => "backward",
        };
        return error(at("kind"), kind, computes, "leave `kind` out");
    }
    if node.implementations.len() > 1 || node.in_place.is_some() {
        let remedy = "leave `implementations` and `in_place` out";
        return error(at("implementations"), "a choice", computes, remedy);
    }
    let way = &node.implementations[0];
    if let Some(need) = way.needs.first() {
        return error(at("needs"), need, computes, "leave `needs` out");
    }
    let costs = [way.cost, way.recompute_cost].into_iter();
    if let Some(cost) = costs.max().filter(|cost| *cost > 0) {
        return error(at("cost"), cost, computes, "leave `cost` out, or give 0");
    }
    let bytes = [way.workspace_bytes, way.recompute_workspace_bytes];
    if let Some(bytes) = bytes.iter().find(|bytes| **bytes != 0) {
        let remedy = "leave `workspace_bytes` out, or give 0";
        return error(at("workspace_bytes"), bytes, computes, remedy);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{read_bytes, write_instance};

    const TWO: &str = r#"{"schema": "remat-instance/1", "name": "two", "cost_unit": "ns", "nodes": [
        {"name": "w", "output_bytes": 8, "gather_bytes": 7},
        {"name": "f", "needs": ["w"], "cost": 3, "output_bytes": 4, "workspace_bytes": 1},
        {"name": "g", "needs": ["w", "f"], "cost": 5, "output_bytes": 8, "scatter_bytes": 7}]}"#;

    fn read(text: &str) -> Result<Instance, String> {
        read_bytes("two.json", text.as_bytes()).map_err(|e| e.to_string())
    }

    #[test]
    fn sharded_nodes_read_back_and_have_their_own_digest() {
        let two = read(TWO).unwrap();
        assert!(two.is_sharded() && two.gathered() == 1);
        let again = read(&write_instance(&two)).unwrap();
        assert_eq!(again, two);
        assert_ne!(two.digest(), two.unsharded().digest());
        assert!(!two.unsharded().is_sharded());
        for id in two.ids() {
            let is_plain = id.index() == 1;
            assert_eq!(two.may_offload(id), is_plain);
            assert_eq!(two.may_recompute(id), is_plain);
        }
    }

    #[test]
    fn computations_hold_their_weights_as_workspace() {
        let (graph, ids) = read(TWO).unwrap().computations();
        assert_eq!(ids, [NodeId(1), NodeId(2)]);
        let workspaces: Vec<u64> = graph.nodes().iter().map(Node::workspace_bytes).collect();
        assert_eq!(workspaces, [9, 8]);
        assert!(!graph.is_sharded() && !graph.may_recompute(NodeId(1)));
        assert_eq!(graph.needs(NodeId(1)), [NodeId(0)]);
    }

    #[test]
    fn faults_name_field_value_and_remedy() {
        for (old, new, words) in [
            (
                r#""gather_bytes": 7"#,
                r#""gather_bytes": 9"#,
                "gather_bytes",
            ),
            (
                r#""scatter_bytes": 7"#,
                r#""scatter_bytes": 9"#,
                "more bytes",
            ),
            (
                r#""gather_bytes": 7"#,
                r#""gather_bytes": 7, "cost": 2"#,
                "cost",
            ),
            (
                r#""gather_bytes": 7"#,
                r#""gather_bytes": 7, "workspace_bytes": 2"#,
                "workspace_bytes",
            ),
            (
                r#""gather_bytes": 7"#,
                r#""gather_bytes": 7, "scatter_bytes": 2"#,
                "cannot be scattered",
            ),
            (
                r#""gather_bytes": 7"#,
                r#""gather_bytes": 7, "kind": "loss""#,
                "kind",
            ),
            (
                r#""scatter_bytes": 7"#,
                r#""gather_bytes": 7"#,
                "computes nothing",
            ),
        ] {
            let problem = read(&TWO.replacen(old, new, 1)).unwrap_err();
            assert!(problem.contains(words), "{problem}");
        }
        let late = TWO.replacen(
            r#"{"name": "w""#,
            r#"{"name": "a", "output_bytes": 1, "cost": 1}, {"name": "w""#,
            1,
        );
        let problem = read(&late).unwrap_err();
        assert!(problem.contains("before the other nodes"), "{problem}");
    }
}
