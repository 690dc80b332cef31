//! NetworkX node-link JSON: general computation graphs, for example those of the Moccasin study (ICML 2023).
//!
//! Node ids are any strings or integers; edges stand under `links` or `edges`. Costs and sizes go by the names in
//! [`COST`] and [`SIZE`]. There is no fixed memory and no workspace. Where the nodes carry `backward` flags the node
//! kinds follow them as far as a forward and a backward pass can be told apart; no replay depends on the kinds.

use crate::document::{Data, Document, FaultKind, Fields, Value};
use crate::instance::{
    CostUnit, Implementation, InstanceData, InstanceError, Node, NodeId, NodeKind,
};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

/// Names under which a node's cost is looked for, in this order.
pub const COST: [&str; 6] = ["cost_cpu", "cost", "time", "runtime", "compute", "duration"];
/// Names under which the size of a node's output in bytes is looked for, in this order.
pub const SIZE: [&str; 7] = [
    "cost_ram",
    "memory",
    "mem",
    "size",
    "bytes",
    "output_bytes",
    "ram",
];

/// A node's id as the document gives it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Key<'d> {
    Integer(i64),
    Text(&'d str),
}

impl Key<'_> {
    fn name(&self) -> String {
        match self {
            Key::Integer(i) => i.to_string(),
            Key::Text(text) => (*text).to_owned(),
        }
    }
}

/// Reads a node-link document.
pub(super) fn read(top: &Fields<'_>) -> Result<InstanceData, InstanceError> {
    let document = top.document;
    let list = document.list(top.need("nodes", "the list of nodes")?, "the list of nodes")?;
    check_directed(top)?;
    let (position, keys) = positions(document, list)?;
    let (edge_key, edges) = edges(top)?;
    let mut needs: Vec<Vec<(usize, &Value)>> = vec![Vec::new(); list.len()];
    for edge in edges {
        let what = format!("an edge in `{edge_key}`: an object with `source` and `target`");
        let fields = document.fields(edge, &what)?;
        let end = |name: &str| {
            let value = fields.need(name, "the id of a node")?;
            position
                .get(&key(document, value)?)
                .copied()
                .ok_or_else(|| {
                    let remedy = "add the node, or remove the edge";
                    document
                        .fail(value, "there is no node with this id", remedy)
                        .of_kind(FaultKind::Reference)
                })
        };
        let (source, target) = (end("source")?, end("target")?);
        if source == target {
            return Err(document
                .fail(edge, "a node is its own input (a cycle)", "remove the edge")
                .of_kind(FaultKind::Order));
        }
        needs[target].push((source, edge));
    }
    let order = order(document, &needs, &keys)?;
    let mut new_id = vec![NodeId(0); list.len()];
    for (k, &old) in order.iter().enumerate() {
        new_id[old] = NodeId::from(k);
    }
    let mut nodes = Vec::with_capacity(list.len());
    let mut backward = Vec::with_capacity(list.len());
    let labels = labels(document, list, &keys);
    for &old in &order {
        let mut inputs: Vec<_> = needs[old]
            .iter()
            .map(|(source, _)| new_id[*source])
            .collect();
        inputs.sort_unstable();
        inputs.dedup();
        let fields = document.fields(&list[old], "a node: an object")?;
        let (node, flag) = read_node(&fields, labels[old].clone(), inputs)?;
        nodes.push(node);
        backward.push(flag);
    }
    mark_kinds(&mut nodes, &backward);
    Ok(InstanceData {
        name: name(top),
        cost_unit: CostUnit::arbitrary(),
        host_link: None,
        nodes,
    })
}

/// The graph's own name, or the file's name without folder and extension.
fn name(top: &Fields<'_>) -> String {
    let given = [Some(top.value), top.get("graph")]
        .into_iter()
        .flatten()
        .filter_map(|holder| match &holder.data {
            Data::Object(entries) => entries.iter().find(|(key, _)| key == "name"),
            _ => None,
        })
        .find_map(|(_, value)| match &value.data {
            Data::String(name) if !name.is_empty() => Some(name.clone()),
            _ => None,
        });
    given.unwrap_or_else(|| top.document.stem())
}

fn check_directed(top: &Fields<'_>) -> Result<(), InstanceError> {
    let Some(directed) = top.get("directed") else {
        return Ok(());
    };
    if top.document.truth(directed, "`true`")? {
        return Ok(());
    }
    let problem = "the graph is undirected, so that nobody knows who reads whom";
    let remedy = "write a directed graph (`networkx.DiGraph`)";
    Err(top.document.fail(directed, problem, remedy))
}

fn edges<'d>(top: &Fields<'d>) -> Result<(&'static str, &'d [Value]), InstanceError> {
    match (top.get("links"), top.get("edges")) {
        (Some(_), Some(edges)) => {
            let problem = "`links` and `edges` both stand here";
            Err(top
                .document
                .fail(edges, problem, "keep one of the two")
                .of_kind(FaultKind::Duplicate))
        }
        (Some(links), None) => Ok(("links", top.document.list(links, "a list of edges")?)),
        (None, Some(edges)) => Ok(("edges", top.document.list(edges, "a list of edges")?)),
        (None, None) => {
            top.need("links", "the list of edges")?;
            Ok(("links", &[]))
        }
    }
}

fn key<'d>(document: &Document, value: &'d Value) -> Result<Key<'d>, InstanceError> {
    match &value.data {
        Data::String(text) => Ok(Key::Text(text)),
        _ => {
            let what = "the id of a node: a string or an integer";
            match value.data {
                Data::Unsigned(_) | Data::Negative(_) | Data::Float(_) => {
                    Ok(Key::Integer(document.signed(value, what)?))
                }
                _ => Err(document.wrong_type(value, what)),
            }
        }
    }
}

type Positions<'d> = (BTreeMap<Key<'d>, usize>, Vec<Key<'d>>);

fn positions<'d>(
    document: &'d Document,
    list: &'d [Value],
) -> Result<Positions<'d>, InstanceError> {
    let mut position = BTreeMap::new();
    let mut keys = Vec::with_capacity(list.len());
    for (i, value) in list.iter().enumerate() {
        let fields = document.fields(value, "a node: an object")?;
        let id = fields.need("id", "a string or an integer that names the node")?;
        let key = key(document, id)?;
        if let Some(first) = position.insert(key.clone(), i) {
            let problem = format!("nodes[{first}] has the same id");
            return Err(document
                .fail(id, problem, "give every node an id of its own")
                .of_kind(FaultKind::Duplicate));
        }
        keys.push(key);
    }
    Ok((position, keys))
}

/// The order of the document if every input comes first in it, and else the topological order that departs from it
/// least in the sense of always running the ready node that the document lists first.
fn order(
    document: &Document,
    needs: &[Vec<(usize, &Value)>],
    keys: &[Key<'_>],
) -> Result<Vec<usize>, InstanceError> {
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
    // Whoever is left has an input that is left: walking back along those must come round.
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
    let mut names: Vec<_> = walk[from..].iter().map(|(i, _)| keys[*i].name()).collect();
    names.reverse();
    names.insert(0, keys[at].name());
    if names.len() > 12 {
        names.truncate(11);
        names.push("...".into());
    }
    let edge = walk.get(from).map_or(document.root(), |(_, edge)| edge);
    let found = names.join(" -> ");
    let remedy = "a computation graph has none: remove one of these edges";
    Err(document
        .fail_found(edge, "the graph has a cycle", found, remedy)
        .of_kind(FaultKind::Order))
}

/// Names for users: `name` or `label` where every node has one of its own, else the ids.
fn labels(document: &Document, list: &[Value], keys: &[Key<'_>]) -> Vec<String> {
    for field in ["name", "label"] {
        let names = list.iter().map(|value| {
            let fields = document.fields(value, "a node").ok()?;
            document
                .string(fields.get(field)?, "a name")
                .ok()
                .map(str::to_owned)
        });
        if let Some(names) = names.collect::<Option<Vec<_>>>() {
            let mut sorted: Vec<_> = names.iter().collect();
            sorted.sort_unstable();
            if sorted.windows(2).all(|pair| pair[0] != pair[1]) {
                return names;
            }
        }
    }
    let names: Vec<_> = keys.iter().map(Key::name).collect();
    let mut sorted: Vec<_> = names.iter().collect();
    sorted.sort_unstable();
    if sorted.windows(2).all(|pair| pair[0] != pair[1]) {
        return names;
    }
    // An integer 7 and a string "7" are two ids: tell them apart.
    let quoted = keys.iter().map(|key| match key {
        Key::Integer(i) => i.to_string(),
        Key::Text(text) => format!("{text:?}"),
    });
    quoted.collect()
}

fn read_node(
    fields: &Fields<'_>,
    name: String,
    needs: Vec<NodeId>,
) -> Result<(Node, Option<bool>), InstanceError> {
    let document = fields.document;
    let find = |names: &[&str], what: &str| {
        let found = names.iter().find_map(|key| fields.get(key));
        let value = match found {
            Some(value) => value,
            None => fields.need(names[0], &format!("{what} ({} will do)", names.join(", ")))?,
        };
        document.unsigned(value, what)
    };
    let cost = find(&COST, "the cost")?;
    let output_bytes = find(&SIZE, "the size of the output in bytes")?;
    let backward = match fields.get("backward") {
        Some(flag) => Some(document.truth(flag, "`true` or `false`")?),
        None => None,
    };
    let op = fields.get("op").and_then(|v| document.string(v, "").ok());
    let node = Node {
        name,
        op: op.unwrap_or_default().into(),
        output_bytes,
        implementations: vec![Implementation::new(needs, cost, 0)],
        ..Node::default()
    };
    Ok((node, backward))
}

/// Marks the backward nodes where all of them come after all forward nodes, and the last forward node as the loss
/// where it is the only one whose output no forward node reads. Otherwise all nodes stay forward nodes.
fn mark_kinds(nodes: &mut [Node], backward: &[Option<bool>]) {
    let is_backward = |i: usize| backward[i] == Some(true);
    let Some(first) = (0..nodes.len()).find(|&i| is_backward(i)) else {
        return;
    };
    if !(first..nodes.len()).all(is_backward) || first == 0 {
        return;
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
}
