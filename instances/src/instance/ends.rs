//! Ends of recomputation: nodes that overwrite what others read, such as updates of parameters.

use super::{Instance, Node, NodeId, StructureError};

/// Returns whether a node is never computed again.
fn runs_once(node: &Node) -> bool {
    node.once || node.is_gathered() || node.is_scattered()
}

/// For each node, the last stage in which it may be computed again under Checkmate's semantics; its
/// own stage if it never is.
pub(super) fn last_stages_again(nodes: &[Node]) -> Vec<NodeId> {
    let last = NodeId::from(nodes.len() - 1);
    let own = |(i, node): (usize, &Node)| match runs_once(node) {
        true => NodeId::from(i),
        false => last,
    };
    let mut until: Vec<NodeId> = nodes.iter().enumerate().map(own).collect();
    for (i, node) in nodes.iter().enumerate() {
        for end in &node.ends {
            let until = &mut until[end.index()];
            *until = NodeId::from(i).min(*until);
        }
    }
    // A by-product comes with its parent, which stands before it.
    for (i, node) in nodes.iter().enumerate() {
        if let Some(parent) = node.parent() {
            let parents = until[parent.index()];
            let parents = if parents <= parent {
                NodeId::from(i)
            } else {
                parents
            };
            until[i] = until[i].min(parents);
        }
    }
    until
}

/// Checks that nodes with ends run once, and that the by-products of ended nodes come before.
pub(super) fn check(nodes: &[Node]) -> Result<(), StructureError> {
    let mut ended: Vec<Option<usize>> = vec![None; nodes.len()];
    for (i, node) in nodes.iter().enumerate() {
        let parent = node.parent().and_then(|parent| ended[parent.index()]);
        if let Some(update) = parent {
            return Err(StructureError {
                path: format!("nodes[{i}].kind.parent"),
                value: node.parent().unwrap_or_default().to_string(),
                problem: format!(
                    "nodes[{update}] ends this parent, and a by-product does not run behind the end"
                ),
                remedy: format!("list the by-product before nodes[{update}]"),
            });
        }
        if node.ends.is_empty() {
            continue;
        }
        if !node.once || node.parent().is_some() {
            let list: Vec<u32> = node.ends.iter().map(|end| end.0).collect();
            return Err(StructureError {
                path: format!("nodes[{i}].ends"),
                value: format!("{list:?}"),
                problem: "a node that ends others runs once and is no by-product".into(),
                remedy: "set \"recompute\" to false, and another kind than \"by_product\"".into(),
            });
        }
        for end in &node.ends {
            ended[end.index()].get_or_insert(i);
        }
    }
    Ok(())
}

impl Instance {
    /// The last stage in which a node may be computed again, under Checkmate's semantics: the stage
    /// of the first node that [ends](Node::ends) it, the last stage if there is no such node, its
    /// own stage if it is computed [once](Node::once). A by-product is computed again only as long
    /// as its parent is.
    pub fn last_stage_again(&self, id: NodeId) -> NodeId {
        self.again_until[id.index()]
    }

    /// Returns whether a node may be computed again in a stage behind its own, under Checkmate's
    /// semantics; the stage is the node that is computed there for the first time.
    pub fn may_recompute_in(&self, id: NodeId, stage: NodeId) -> bool {
        stage <= self.last_stage_again(id)
    }

    /// The last stage in which a forward node may be computed again under MONeT's semantics, whose
    /// stages follow the loss; 0 if it never is.
    pub fn last_monet_stage_again(&self, id: NodeId) -> u32 {
        let loss = self.loss().map_or(0, |loss| loss.0);
        match self.may_recompute(id) {
            true => self.last_stage_again(id).0.saturating_sub(loss),
            false => 0,
        }
    }

    /// Returns whether a node may be recomputed at all: false if it or its parent is computed only
    /// [once](Node::once), and for gathered weights and scattered gradients.
    pub fn may_recompute(&self, id: NodeId) -> bool {
        let node = self.node(id);
        let parent = node.parent();
        !runs_once(node) && parent.is_none_or(|parent| !runs_once(self.node(parent)))
    }

    /// Returns whether some node [ends](Node::ends) others.
    pub fn has_ends(&self) -> bool {
        self.nodes().iter().any(|node| !node.ends.is_empty())
    }

    /// Nodes that a node [ends](Node::ends), with their by-products.
    pub fn ended_by(&self, id: NodeId) -> impl Iterator<Item = NodeId> + '_ {
        self.node(id).ends.iter().flat_map(move |end| {
            let readers = self.users(*end).iter().copied();
            let made = readers.filter(move |user| self.node(*user).parent() == Some(*end));
            std::iter::once(*end).chain(made)
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::instance::{Instance, NodeId};
    use crate::read_bytes;

    fn read(nodes: &str) -> Result<Instance, String> {
        let text = format!("{{\"schema\": \"remat-instance/1\", \"nodes\": [{nodes}]}}");
        read_bytes("net.json", text.as_bytes()).map_err(|error| error.to_string())
    }

    const FC: &str = r#"{"name": "fc", "output_bytes": 4, "cost": 3}"#;
    const MASK: &str =
        r#"{"name": "mask", "kind": "by_product", "parent": "fc", "output_bytes": 1, "cost": 0}"#;

    #[test]
    fn an_update_ends_recomputations() {
        let update = r#"{"name": "update", "output_bytes": 0, "cost": 1, "recompute": false,
            "ends": ["fc"]}"#;
        let last = r#"{"name": "last", "output_bytes": 4, "cost": 1, "needs": ["mask"]}"#;
        let instance = read(&[FC, MASK, update, last].join(",")).unwrap();
        let until: Vec<u32> = (instance.ids().map(|i| instance.last_stage_again(i).0)).collect();
        assert_eq!(until, [2, 2, 2, 3]);
        let ended: Vec<NodeId> = instance.ended_by(NodeId(2)).collect();
        assert_eq!(ended, [NodeId(0), NodeId(1)]);
        assert!(instance.may_recompute_in(NodeId(0), NodeId(2)));
        assert!(!instance.may_recompute_in(NodeId(1), NodeId(3)));
        let again = read_bytes("again.json", crate::write_instance(&instance).as_bytes());
        assert_eq!(again.unwrap().digest(), instance.digest());
    }

    #[test]
    fn wrong_ends_are_refused() {
        let update = |more: &str| {
            format!(r#"{{"name": "update", "output_bytes": 0, "cost": 1, "ends": ["fc"]{more}}}"#)
        };
        for (nodes, words) in [
            (vec![FC.into(), update("")], ["nodes[1].ends", "runs once"]),
            (
                vec![FC.into(), update(r#", "recompute": false"#), MASK.into()],
                ["nodes[2].kind.parent", "before nodes[1]"],
            ),
            (
                vec![update(""), FC.into()],
                ["nodes[0].ends[0]", "net.json"],
            ),
        ] {
            let problem = read(&nodes.join(",")).unwrap_err();
            assert!(words.iter().all(|w| problem.contains(w)), "{problem}");
        }
    }
}
