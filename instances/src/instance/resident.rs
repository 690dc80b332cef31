//! Resident memory of nodes, for a graph that several devices share.

use super::{Instance, NodeId};
use crate::name::Name;
use std::collections::BTreeSet;

/// Memory that the device which runs a node holds for it during the whole step: a parameter with
/// its gradient and its optimizer states, or a running statistic.
///
/// A device holds an entry once, even if several of its nodes have an entry of that name (tied
/// embeddings). Two devices with such nodes hold one copy each.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Resident {
    /// Name, not empty. Entries of one name have equal bytes.
    pub name: Name,
    /// Size in bytes.
    pub bytes: u64,
}

impl Instance {
    /// Memory that one device holds for these nodes during the whole step, in bytes; every name
    /// counts once.
    ///
    /// [`Node::fixed_bytes`](super::Node::fixed_bytes) counts the same memory for the whole graph,
    /// so the two are never added. In a network of the zoo the residents of all nodes and the input
    /// batch together have [`Instance::static_bytes`] bytes.
    ///
    /// ```
    /// use remat_instances::zoo;
    /// let tied = zoo::build(&"gpt2?layers=1&seq=64&batch=1".parse()?)?;
    /// let token_ids = 64 * 8;
    /// assert_eq!(tied.resident_bytes(tied.ids()) + token_ids, tied.static_bytes());
    /// let table = tied.resident_bytes([0.into()]);
    /// assert_eq!(table, 50257 * 768 * (4 + 4));
    /// # Ok::<(), zoo::ZooError>(())
    /// ```
    pub fn resident_bytes(&self, nodes: impl IntoIterator<Item = NodeId>) -> u64 {
        let entries = nodes.into_iter().flat_map(|id| &self.node(id).resident);
        let distinct: BTreeSet<&Resident> = entries.collect();
        distinct.iter().map(|entry| entry.bytes).sum()
    }

    /// Returns whether any node states resident memory.
    pub fn states_residents(&self) -> bool {
        self.nodes().iter().any(|node| !node.resident.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::instance::{CostUnit, InstanceData, Node, StructureError};
    use crate::number::LARGEST_VALUE;

    fn build(residents: &[&[(&str, u64)]]) -> Result<Instance, StructureError> {
        let node = |(i, entries): (usize, &&[(&str, u64)])| Node {
            resident: entries
                .iter()
                .map(|(name, bytes)| Resident {
                    name: (*name).into(),
                    bytes: *bytes,
                })
                .collect(),
            ..Node::forward(format!("node{i}"), vec![], 1, 1)
        };
        Instance::new(InstanceData {
            name: "graph".into(),
            cost_unit: CostUnit::arbitrary(),
            host_link: None,
            in_flight: 1,
            nodes: residents.iter().enumerate().map(node).collect(),
        })
    }

    #[test]
    fn a_name_counts_once() {
        let graph = build(&[&[("a", 5), ("b", 7)], &[], &[("a", 5), ("c", 0)]]).unwrap();
        let bytes = |ids: &[u32]| graph.resident_bytes(ids.iter().map(|i| NodeId(*i)));
        assert_eq!(bytes(&[]), 0);
        assert_eq!(bytes(&[0]), 12);
        assert_eq!(bytes(&[2]), 5);
        assert_eq!(bytes(&[0, 1, 2]), 12);
        assert_eq!(bytes(&[2, 2]), 5);
        assert!(graph.states_residents());
        assert!(!build(&[&[], &[]]).unwrap().states_residents());
    }

    #[test]
    fn faults_name_place_value_and_remedy() {
        let message = |residents: &[&[(&str, u64)]]| build(residents).unwrap_err().to_string();
        let text = message(&[&[], &[("a", 1), ("", 2)]]);
        assert!(text.starts_with("nodes[1].resident[1].name"), "{text}");
        let text = message(&[&[("a", 1)], &[("b", 1), ("a", 2)]]);
        assert!(
            text.starts_with("nodes[1].resident[1].bytes: nodes[0].resident[0] has the same name")
                && text.contains("another size (1), found 2"),
            "{text}"
        );
        let text = message(&[&[("a", LARGEST_VALUE + 1)]]);
        assert!(text.starts_with("nodes[0].resident[0].bytes"), "{text}");
        let text = message(&[&[("a", LARGEST_VALUE)], &[("b", 1)]]);
        assert!(text.starts_with("nodes[1].resident[0].bytes"), "{text}");
        assert!(text.contains(&(LARGEST_VALUE + 1).to_string()), "{text}");
        assert!(build(&[&[("a", LARGEST_VALUE)], &[("a", LARGEST_VALUE)]]).is_ok());
    }
}
