//! NetworkX node-link JSON: general computation graphs, for example from the Moccasin study (ICML
//! 2023).
//!
//! Node ids are text, numbers, or lists of these; edges are listed under `links` or `edges`. There
//! is no fixed memory and no workspace. If the nodes have `backward` flags, the node kinds follow
//! them.

mod id;

use super::ascending;
use crate::document::{Document, Failure, FaultKind, Span, Spanned, Unread, lenient};
use crate::instance::{CostUnit, Implementation, InstanceData, Node, NodeId, NodeKind};
use crate::name::Name;
use id::Id;
use serde::Deserialize;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

#[derive(Deserialize)]
#[serde(rename = "a graph: an object with `nodes` and `links`")]
struct GraphText<'d> {
    #[serde(borrow, deserialize_with = "lenient")]
    name: Option<&'d str>,
    #[serde(deserialize_with = "lenient")]
    cost_unit: Option<&'d str>,
    #[serde(deserialize_with = "lenient")]
    graph: Option<Attributes<'d>>,
    directed: Option<Spanned<bool>>,
    nodes: Vec<NodeText<'d>>,
    links: Option<Vec<Spanned<EdgeText<'d>>>>,
    edges: Option<Spanned<Vec<Spanned<EdgeText<'d>>>>>,
}

#[derive(Default, Deserialize)]
struct Attributes<'d> {
    #[serde(borrow, deserialize_with = "lenient")]
    name: Option<&'d str>,
    #[serde(deserialize_with = "lenient")]
    cost_unit: Option<&'d str>,
}

#[derive(Deserialize)]
#[serde(rename = "a node: an object")]
struct NodeText<'d> {
    #[serde(
        borrow,
        rename = "id: the id of a node: a string, a number, or a list of these"
    )]
    id: Spanned<Id<'d>>,
    #[serde(rename = "cost_cpu|cost|time|runtime|compute|duration: the cost")]
    cost: u64,
    #[serde(
        rename = "cost_ram|memory|mem|size|bytes|output_bytes|ram: the size of the output in bytes"
    )]
    size: u64,
    backward: Flag,
    #[serde(deserialize_with = "lenient")]
    name: Option<&'d str>,
    #[serde(deserialize_with = "lenient")]
    label: Option<&'d str>,
    #[serde(deserialize_with = "lenient")]
    op: Option<&'d str>,
}

/// The same document, read only for the names of the cost and size fields.
#[derive(Deserialize)]
#[serde(rename = "a graph: an object with `nodes` and `links`")]
struct SourcesText {
    nodes: Vec<Sources>,
}

#[derive(Deserialize)]
#[serde(rename = "a node: an object")]
struct Sources {
    cost_cpu: Option<Unread>,
    cost: Option<Unread>,
    time: Option<Unread>,
    runtime: Option<Unread>,
    compute: Option<Unread>,
    duration: Option<Unread>,
    cost_ram: Option<Unread>,
    memory: Option<Unread>,
    mem: Option<Unread>,
    size: Option<Unread>,
    bytes: Option<Unread>,
    output_bytes: Option<Unread>,
    ram: Option<Unread>,
}

/// The field that is used, with its place.
type SourceField = Option<(&'static str, Span)>;

impl Sources {
    /// The fields used for cost and size: the first existing one of each.
    fn read(&self) -> [(&'static str, SourceField); 2] {
        let first = |fields: &[(&'static str, &Option<Unread>)]| {
            let mut there = fields
                .iter()
                .filter_map(|(name, field)| Some((*name, field.as_ref()?)));
            there.next().map(|(name, field)| (name, field.span))
        };
        let cost = [
            ("cost_cpu", &self.cost_cpu),
            ("cost", &self.cost),
            ("time", &self.time),
            ("runtime", &self.runtime),
            ("compute", &self.compute),
            ("duration", &self.duration),
        ];
        let size = [
            ("cost_ram", &self.cost_ram),
            ("memory", &self.memory),
            ("mem", &self.mem),
            ("size", &self.size),
            ("bytes", &self.bytes),
            ("output_bytes", &self.output_bytes),
            ("ram", &self.ram),
        ];
        [("cost", first(&cost)), ("size", first(&size))]
    }
}

#[derive(Deserialize)]
#[serde(rename = "an edge: an object with `source` and `target`")]
struct EdgeText<'d> {
    #[serde(
        borrow,
        rename = "source: the id of a node: a string, a number, or a list of these"
    )]
    source: Spanned<Id<'d>>,
    #[serde(rename = "target: the id of a node: a string, a number, or a list of these")]
    target: Spanned<Id<'d>>,
}

/// A flag, with its place.
type Flag = Option<Spanned<bool>>;

/// Reads a node-link document.
pub(super) fn read(document: &Document) -> Result<InstanceData, Failure> {
    let text: GraphText<'_> = document.read()?;
    check_sources(&document.read::<SourcesText>()?.nodes)?;
    if let Some(directed) = text.directed.filter(|directed| !**directed) {
        let problem = "the graph is undirected, so that nobody knows who reads whom";
        let remedy = "write a directed graph (`networkx.DiGraph`)";
        return Err(FaultKind::Value.fail(directed.span, problem, remedy));
    }
    if let (Some(_), Some(edges)) = (&text.links, &text.edges) {
        let problem = "`links` and `edges` both stand here";
        return Err(FaultKind::Duplicate.fail(edges.span, problem, "keep one of the two"));
    }
    let edges = text.links.or(text.edges.map(|edges| edges.value));
    let nodes = &text.nodes;
    let needs = needs(nodes, &edges.unwrap_or_default())?;
    let order = order(document, &needs, nodes)?;
    let mut new_id = vec![NodeId(0); nodes.len()];
    for (k, &old) in order.iter().enumerate() {
        new_id[old] = NodeId::from(k);
    }
    let labels = labels(nodes);
    let read_node = |&old: &usize| -> Result<Node, Failure> {
        let sources = needs[old].iter();
        let inputs = ascending(sources.map(|(source, _)| Ok(new_id[*source])));
        let NodeText { op, size, cost, .. } = &nodes[old];
        Ok(Node {
            name: labels[old].clone().into(),
            op: op.unwrap_or_default().into(),
            output_bytes: *size,
            implementations: vec![Implementation::new(inputs?, *cost, 0)],
            ..Node::default()
        })
    };
    let mut read: Vec<_> = order.iter().map(read_node).collect::<Result<_, _>>()?;
    let backward: Vec<_> = order.iter().map(|old| nodes[*old].backward).collect();
    mark_kinds(&mut read, &backward)?;
    // The graph's own name, or the file's name without folder and extension.
    let graph = text.graph.unwrap_or_default();
    let names = [text.name, graph.name];
    let unit = text.cost_unit.or(graph.cost_unit);
    let name = names.into_iter().flatten().find(|name| !name.is_empty());
    Ok(InstanceData {
        name: name.map_or_else(|| document.stem().into(), Name::from),
        cost_unit: unit.map_or_else(CostUnit::arbitrary, CostUnit::named),
        host_link: None,
        in_flight: 1,
        nodes: read,
    })
}

/// Checks that all nodes have their costs under one name, and their sizes under one name: different
/// names usually mean different quantities.
fn check_sources(nodes: &[Sources]) -> Result<(), Failure> {
    let mut first: [SourceField; 2] = [None; 2];
    for (i, node) in nodes.iter().enumerate() {
        for ((what, source), first) in node.read().into_iter().zip(&mut first) {
            let (Some((name, span)), Some((known, _))) = (source, *first) else {
                *first = first.or(source);
                continue;
            };
            if name != known {
                let problem = format!(
                    "the {what} of nodes[{i}] stands under `{name}`, that of nodes before under `{known}`"
                );
                let remedy = format!("give every node's {what} under one name, in one unit");
                return Err(FaultKind::Value.fail(span, problem, remedy));
            }
        }
    }
    Ok(())
}

/// The inputs of each node, with the places of their edges.
fn needs(
    nodes: &[NodeText<'_>],
    edges: &[Spanned<EdgeText<'_>>],
) -> Result<Vec<Vec<(usize, Span)>>, Failure> {
    let mut position = BTreeMap::new();
    for (i, node) in nodes.iter().enumerate() {
        if let Some(first) = position.insert(&node.id.value, i) {
            let problem = format!("nodes[{first}] has the same id");
            let remedy = "give every node an id of its own";
            return Err(FaultKind::Duplicate.fail(node.id.span, problem, remedy));
        }
    }
    let end = |id: &Spanned<Id<'_>>| {
        position.get(&id.value).copied().ok_or_else(|| {
            let remedy = "add the node, or remove the edge";
            FaultKind::Reference.fail(id.span, "there is no node with this id", remedy)
        })
    };
    let mut needs = vec![Vec::new(); nodes.len()];
    for edge in edges {
        let (source, target) = (end(&edge.source)?, end(&edge.target)?);
        if source == target {
            let problem = "a node is its own input (a cycle)";
            return Err(FaultKind::Order.fail(edge.span, problem, "remove the edge"));
        }
        needs[target].push((source, edge.span));
    }
    Ok(needs)
}

/// A topological order that always runs the ready node listed first in the document. It is the
/// document's order if all inputs precede their readers there.
fn order(
    document: &Document,
    needs: &[Vec<(usize, Span)>],
    nodes: &[NodeText<'_>],
) -> Result<Vec<usize>, Failure> {
    let n = needs.len();
    let mut missing: Vec<usize> = needs.iter().map(Vec::len).collect();
    let mut users: Vec<Vec<usize>> = vec![Vec::new(); n];
    for (target, list) in needs.iter().enumerate() {
        for (source, _) in list {
            users[*source].push(target);
        }
    }
    let ready = (0..n).filter(|&i| missing[i] == 0).map(Reverse);
    let mut ready: BinaryHeap<_> = ready.collect();
    let mut order = Vec::with_capacity(n);
    while let Some(Reverse(i)) = ready.pop() {
        order.push(i);
        for &user in &users[i] {
            missing[user] -= 1;
            if missing[user] == 0 {
                ready.push(Reverse(user));
            }
        }
    }
    if order.len() == n {
        return Ok(order);
    }
    // Each remaining node has a remaining input, so walking back along these inputs finds a cycle.
    let left = |i: usize| missing[i] > 0;
    let mut seen = vec![false; n];
    let mut at = (0..n).find(|&i| left(i)).unwrap_or(0);
    let mut walk = Vec::new();
    while !seen[at] {
        seen[at] = true;
        let Some(&(source, edge)) = needs[at].iter().find(|(source, _)| left(*source)) else {
            break;
        };
        walk.push((at, edge));
        at = source;
    }
    let from = walk.iter().position(|(i, _)| *i == at).unwrap_or(0);
    let mut names: Vec<_> = walk[from..]
        .iter()
        .map(|(i, _)| nodes[*i].id.to_string())
        .collect();
    names.reverse();
    names.insert(0, nodes[at].id.to_string());
    if names.len() > 12 {
        names.truncate(11);
        names.push("...".into());
    }
    let edge = walk.get(from).map_or(document.root(), |(_, edge)| *edge);
    let found = names.join(" -> ");
    let remedy = "a computation graph has none: remove one of these edges";
    Err(FaultKind::Order
        .fail(edge, "the graph has a cycle", remedy)
        .found(found))
}

/// Names for users: `name` or `label` if every node has a distinct one, otherwise the ids.
fn labels(nodes: &[NodeText<'_>]) -> Vec<String> {
    let distinct = |names: &Vec<String>| {
        let mut sorted: Vec<_> = names.iter().collect();
        sorted.sort_unstable();
        sorted.windows(2).all(|pair| pair[0] != pair[1])
    };
    let given = |field: fn(&NodeText<'_>) -> Option<String>| {
        let names = nodes.iter().map(field).collect::<Option<Vec<_>>>();
        names.filter(distinct)
    };
    given(|node| node.name.map(str::to_owned))
        .or_else(|| given(|node| node.label.map(str::to_owned)))
        .or_else(|| given(|node| Some(node.id.to_string())))
        // An integer 7 and a string "7" are different ids: distinguish them.
        .unwrap_or_else(|| {
            let quoted = nodes.iter().map(|node| match &*node.id {
                Id::Text(text) => format!("{text:?}"),
                other => other.to_string(),
            });
            quoted.collect()
        })
}

/// Marks the backward nodes, which come after all forward nodes. Marks the last forward node as the
/// loss if it is the only one without a forward reader.
fn mark_kinds(nodes: &mut [Node], backward: &[Flag]) -> Result<(), Failure> {
    let flag = |i: usize| backward[i].filter(|flag| **flag);
    let Some((first, mark)) = (0..nodes.len()).find_map(|i| Some((i, flag(i)?))) else {
        return Ok(());
    };
    let other = match first {
        0 => Some(format!("{} is the first node", nodes[0].name)),
        _ => (first..nodes.len())
            .find(|&i| flag(i).is_none())
            .map(|i| format!("{} comes after {}", nodes[i].name, nodes[first].name)),
    };
    if let Some(found) = other {
        let problem = "a backward pass comes after all forward nodes";
        let remedy =
            "mark with `\"backward\": true` the nodes behind the loss, all of them, or none";
        return Err(FaultKind::Order
            .fail(mark.span, problem, remedy)
            .found(found));
    }
    let mut read = vec![false; first];
    for node in &nodes[..first] {
        for need in node.needs() {
            read[need.index()] = true;
        }
    }
    if (0..first).filter(|&i| !read[i]).eq([first - 1]) {
        nodes[first - 1].kind = NodeKind::Loss;
    }
    for node in &mut nodes[first..] {
        node.kind = NodeKind::Backward {
            forward: None,
            gradient: Default::default(),
        };
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::read_bytes;

    /// The error of a chain of nodes with these fields.
    fn refused(nodes: &[&str]) -> String {
        let nodes: Vec<String> = nodes
            .iter()
            .enumerate()
            .map(|(i, fields)| format!("{{\"id\": {i}, {fields}}}"))
            .collect();
        let links = (1..nodes.len()).map(|i| format!("{{\"source\": {}, \"target\": {i}}}", i - 1));
        let links: Vec<String> = links.collect();
        let text = format!(
            "{{\"nodes\": [{}], \"links\": [{}]}}",
            nodes.join(", "),
            links.join(", ")
        );
        let read = read_bytes("graph.json", text.as_bytes());
        read.map_or_else(|e| e.to_string(), |instance| instance.name().into())
    }

    #[test]
    fn quantities_under_several_names_are_named() {
        let error = refused(&[r#""time": 1, "size": 1"#, r#""cost": 2, "size": 1"#]);
        let words = ["nodes[1]", "`cost`", "`time`"];
        assert!(words.iter().all(|word| error.contains(word)), "{error}");
        let error = refused(&[r#""time": 1, "mem": 1"#, r#""time": 2, "ram": 1"#]);
        assert!(
            error.contains("`ram`") && error.contains("`mem`"),
            "{error}"
        );
        // The first of several names is used, and it is the same one here.
        let both = r#""cost": 1, "time": 7, "size": 1"#;
        assert_eq!(refused(&[both, r#""cost": 2, "size": 1"#]), "graph");
    }

    #[test]
    fn forward_nodes_behind_backward_ones_are_named() {
        let (plain, marked) = (
            r#""time": 1, "size": 1"#,
            r#""time": 1, "size": 1, "backward": true"#,
        );
        assert_eq!(refused(&[plain, plain, marked, marked]), "graph");
        let error = refused(&[plain, marked, plain, marked]);
        assert!(error.contains("2 comes after 1"), "{error}");
        let error = refused(&[marked, marked]);
        assert!(error.contains("0 is the first node"), "{error}");
    }
}
