//! Conditions for a computation graph to be a valid instance.

use super::{Implementation, InPlace, InstanceData, Node, NodeId, NodeKind};
use crate::number::LARGEST_VALUE;
use std::collections::HashMap;

/// Fault of a graph: the problem, its place, and the remedy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {problem}, found {value}; {remedy}")]
pub struct StructureError {
    /// Place, as a path into [`InstanceData`], for example `nodes[3].implementations[0].needs[1]`.
    pub path: String,
    /// The offending value.
    pub value: String,
    /// The problem, in words.
    pub problem: String,
    /// The remedy: a description of a correct value.
    pub remedy: String,
}

pub(super) fn error(
    path: String,
    value: impl ToString,
    problem: impl Into<String>,
    remedy: impl Into<String>,
) -> Result<(), StructureError> {
    Err(StructureError {
        path,
        value: value.to_string(),
        problem: problem.into(),
        remedy: remedy.into(),
    })
}

/// Checks all guarantees of [`super::Instance`].
pub(super) fn check(data: &InstanceData) -> Result<(), StructureError> {
    let n = data.nodes.len();
    if n == 0 {
        return error(
            "nodes".into(),
            "an empty list",
            "an instance has no node",
            "give at least one node",
        );
    }
    if n > u32::MAX as usize / 2 {
        return error(
            "nodes".into(),
            n,
            "too many nodes",
            format!("give at most {}", u32::MAX / 2),
        );
    }
    if let Some(ns) = data.cost_unit.nanoseconds
        && !(ns.is_finite() && ns > 0.0)
    {
        return error(
            "cost_unit.nanoseconds".into(),
            ns,
            "the length of a cost unit must be positive and finite",
            "give the unit's length in nanoseconds, for example 10000",
        );
    }
    check_link(data)?;
    check_in_flight(data)?;
    let mut names = HashMap::with_capacity(n);
    let mut order = NodeRoles::default();
    for (i, node) in data.nodes.iter().enumerate() {
        check_node(&data.nodes, i, node)?;
        if let Some(first) = names.insert(node.name.as_str(), i) {
            return error(
                format!("nodes[{i}].name"),
                format!("{:?}", node.name),
                format!("nodes[{first}] has the same name"),
                "give every node a name of its own",
            );
        }
        order.check(&data.nodes, i)?;
    }
    super::ends::check(&data.nodes)?;
    super::gathered::check(&data.nodes)?;
    check_residents(&data.nodes)?;
    check_totals(&data.nodes)
}

/// Checks the link to host memory.
pub(super) fn check_link(data: &InstanceData) -> Result<(), StructureError> {
    let Some(link) = &data.host_link else {
        return Ok(());
    };
    let at = |field: &str| format!("host_link.{field}");
    in_range(
        at("to_host_bytes_per_second"),
        link.to_host_bytes_per_second,
    )?;
    in_range(
        at("from_host_bytes_per_second"),
        link.from_host_bytes_per_second,
    )?;
    in_range(at("latency_ns"), link.latency_ns)?;
    in_range(at("host_memory_bytes"), link.host_memory_bytes.unwrap_or(0))
}

/// Most micro-batches in flight.
const MOST_IN_FLIGHT: u32 = 1 << 20;

/// Checks the number of micro-batches in flight.
pub(super) fn check_in_flight(data: &InstanceData) -> Result<(), StructureError> {
    let k = data.in_flight;
    if k == 0 || k > MOST_IN_FLIGHT {
        return error(
            "in_flight".into(),
            k,
            "the number of micro-batches in flight is out of range",
            format!("give a number from 1 to {MOST_IN_FLIGHT}"),
        );
    }
    let turns = |node: &Node| node.kind == NodeKind::Loss || node.is_backward();
    if k > 1 && !data.nodes.iter().any(turns) {
        return error(
            "in_flight".into(),
            k,
            "a graph without a backward pass holds nothing between two passes",
            "give 1, or mark the loss or the backward nodes",
        );
    }
    if let Some(i) = data
        .nodes
        .iter()
        .position(|node| !node.ends.is_empty() && k > 1)
    {
        return error(
            "in_flight".into(),
            k,
            format!("nodes[{i}] ends others, which later micro-batches still run"),
            "give 1, or leave updates in the backward pass out of the graph of a micro-batch",
        );
    }
    Ok(())
}

fn check_totals(nodes: &[Node]) -> Result<(), StructureError> {
    let largest = i64::MAX as u128;
    let n = nodes.len() as u128;
    let dearest = |v: &Node| {
        let costs = v.implementations.iter();
        let dearest = costs.map(|p| p.cost.max(p.recompute_cost)).max();
        let in_place = v.in_place.as_ref().map_or(0, |option| option.cost_delta);
        dearest.unwrap_or(0) + in_place.max(0) as u64
    };
    let cost = nodes.iter().map(|v| dearest(v) as u128).sum::<u128>() * n;
    if cost > largest {
        return error(
            "nodes".into(),
            format!("a total cost of {} over {n} nodes", cost / n),
            "the costs add up to more than 64-bit arithmetic holds",
            "use a coarser cost unit",
        );
    }
    let fixed = nodes.iter().map(|v| v.fixed_bytes as u128).max();
    let outputs = nodes.iter().map(|v| v.output_bytes as u128);
    let bytes = (outputs.sum::<u128>() + fixed.unwrap_or(0)) * 2;
    if bytes > largest {
        return error(
            "nodes".into(),
            format!("{} bytes in all", bytes / 2),
            "the sizes add up to more than 64-bit arithmetic holds",
            "check the unit of the sizes: they are bytes",
        );
    }
    Ok(())
}

/// Checks that every entry of resident memory has a name, that entries of one name have equal sizes,
/// and that all of them together are in range.
fn check_residents(nodes: &[Node]) -> Result<(), StructureError> {
    let mut known: HashMap<&str, (u64, String)> = HashMap::new();
    let mut total = 0;
    for (i, node) in nodes.iter().enumerate() {
        for (k, entry) in node.resident.iter().enumerate() {
            let at = format!("nodes[{i}].resident[{k}]");
            if entry.name.is_empty() {
                return error(
                    format!("{at}.name"),
                    "an empty name",
                    "resident memory has no name",
                    "name it, for example by its parameter",
                );
            }
            in_range(format!("{at}.bytes"), entry.bytes)?;
            match known.get(entry.name.as_str()) {
                None => {
                    total += entry.bytes;
                    if total > LARGEST_VALUE {
                        return error(
                            format!("{at}.bytes"),
                            total,
                            "the sizes of all resident memory add up to too much",
                            format!(
                                "the sum goes up to 2^53 - 1 = {LARGEST_VALUE}: check the unit"
                            ),
                        );
                    }
                    known.insert(&entry.name, (entry.bytes, at));
                }
                Some((bytes, _)) if *bytes == entry.bytes => {}
                Some((bytes, first)) => {
                    return error(
                        format!("{at}.bytes"),
                        entry.bytes,
                        format!(
                            "{first} has the same name ({:?}) and another size ({bytes})",
                            entry.name
                        ),
                        "give equal sizes, or every memory a name of its own",
                    );
                }
            }
        }
    }
    Ok(())
}

fn check_node(nodes: &[Node], i: usize, node: &Node) -> Result<(), StructureError> {
    let at = |field: &str| format!("nodes[{i}].{field}");
    in_range(at("output_bytes"), node.output_bytes)?;
    in_range(at("fixed_bytes"), node.fixed_bytes)?;
    for (k, extent) in node.shape.iter().enumerate() {
        in_range(at(&format!("shape[{k}]")), *extent)?;
    }
    if node.implementations.is_empty() {
        return error(
            at("implementations"),
            "an empty list",
            "a node needs an implementation",
            "give at least one",
        );
    }
    for (p, implementation) in node.implementations.iter().enumerate() {
        let at = |field: &str| format!("nodes[{i}].implementations[{p}].{field}");
        in_range(at("cost"), implementation.cost)?;
        in_range(at("recompute_cost"), implementation.recompute_cost)?;
        in_range(
            at("workspace_bytes"),
            implementation.workspace_bytes.unsigned_abs(),
        )?;
        in_range(
            at("recompute_workspace_bytes"),
            implementation.recompute_workspace_bytes.unsigned_abs(),
        )?;
        earlier_and_ascending(i, &implementation.needs, |k| at(&format!("needs[{k}]")))?;
    }
    earlier_and_ascending(i, &node.passing, |k| at(&format!("passing[{k}]")))?;
    earlier_and_ascending(i, &node.ends, |k| at(&format!("ends[{k}]")))?;
    if let Some(in_place) = &node.in_place {
        check_in_place(i, node, in_place)?;
    }
    check_kind(nodes, i, node)
}

fn check_in_place(i: usize, node: &Node, in_place: &InPlace) -> Result<(), StructureError> {
    let at = |field: &str| format!("nodes[{i}].{field}");
    in_range(
        at("in_place.workspace_bytes"),
        in_place.workspace_bytes.unsigned_abs(),
    )?;
    in_range(
        at("in_place.cost_delta"),
        in_place.cost_delta.unsigned_abs(),
    )?;
    if in_place.on.index() >= i {
        return later(at("in_place.on"), i, in_place.on);
    }
    let cheapest = node
        .implementations
        .iter()
        .map(|p| p.cost.min(p.recompute_cost))
        .min()
        .unwrap_or(0);
    if (cheapest as i64) + in_place.cost_delta < 0 {
        return error(
            at("in_place.cost_delta"),
            in_place.cost_delta,
            format!(
                "computing in place would cost less than nothing (the cheapest implementation costs {cheapest})"
            ),
            format!("give at least -{cheapest}"),
        );
    }
    Ok(())
}

/// Checks the nodes referenced by the kind of a node.
fn check_kind(nodes: &[Node], i: usize, node: &Node) -> Result<(), StructureError> {
    let at = |field: &str| format!("nodes[{i}].{field}");
    match node.kind {
        NodeKind::ByProduct { parent } if parent.index() >= i => {
            later(at("kind.parent"), i, parent)
        }
        NodeKind::ByProduct { parent }
            if !matches!(
                nodes[parent.index()].kind,
                NodeKind::Forward | NodeKind::Backward { .. }
            ) =>
        {
            error(
                at("kind.parent"),
                parent,
                "the parent of a by-product is neither a forward nor a backward node",
                "name the operator that makes it",
            )
        }
        NodeKind::ByProduct { parent } => {
            let reads = |way: &Implementation| way.needs.contains(&parent);
            match node.implementations.iter().position(|way| !reads(way)) {
                None => Ok(()),
                Some(p) => error(
                    at(&format!("implementations[{p}].needs")),
                    format!(
                        "{:?}",
                        node.implementations[p]
                            .needs
                            .iter()
                            .map(|u| u.0)
                            .collect::<Vec<_>>()
                    ),
                    format!("a by-product does not read its parent, node {parent}"),
                    "name the parent among `needs`: a by-product comes with a run of its parent",
                ),
            }
        }
        NodeKind::Backward {
            forward: Some(twin),
            ..
        } if twin.index() >= i => later(at("kind.forward"), i, twin),
        _ => Ok(()),
    }
}

pub(super) fn in_range(path: String, value: u64) -> Result<(), StructureError> {
    if value <= LARGEST_VALUE {
        return Ok(());
    }
    error(
        path,
        value,
        "the value is too large",
        format!("values go up to 2^53 - 1 = {LARGEST_VALUE}: check the unit"),
    )
}

fn later(path: String, i: usize, other: NodeId) -> Result<(), StructureError> {
    error(
        path,
        other,
        format!(
            "node {i} refers to a node that does not come before it in execution order (a cycle, or a wrong order)"
        ),
        "list the nodes in an order in which every input comes first",
    )
}

fn earlier_and_ascending(
    i: usize,
    list: &[NodeId],
    at: impl Fn(usize) -> String,
) -> Result<(), StructureError> {
    for (k, id) in list.iter().enumerate() {
        if id.index() >= i {
            return later(at(k), i, *id);
        }
        if k > 0 && list[k - 1] >= *id {
            return error(
                at(k),
                id,
                format!(
                    "the list is not ascending (the entry before is {})",
                    list[k - 1]
                ),
                "sort it and drop repeated entries",
            );
        }
    }
    Ok(())
}

/// State of the order check: forward nodes, then the loss, then backward nodes with their
/// by-products.
#[derive(Default)]
struct NodeRoles {
    loss: Option<usize>,
    backward: Option<usize>,
}

impl NodeRoles {
    fn check(&mut self, nodes: &[Node], i: usize) -> Result<(), StructureError> {
        let at = format!("nodes[{i}].kind");
        match nodes[i].kind {
            NodeKind::Loss => {
                if let Some(first) = self.loss {
                    let remedy = "keep one of them as the loss, make the others forward nodes";
                    return error(
                        at,
                        "loss",
                        format!("nodes[{first}] is a loss already"),
                        remedy,
                    );
                }
                if let Some(first) = self.backward {
                    let remedy = "the loss comes before the backward pass";
                    return error(
                        at,
                        "loss",
                        format!("nodes[{first}] is a backward node before the loss"),
                        remedy,
                    );
                }
                self.loss = Some(i);
            }
            NodeKind::Backward { .. } => self.backward = self.backward.or(Some(i)),
            NodeKind::ByProduct { parent } if nodes[parent.index()].is_backward() => {
                if let Some(loss) = self.loss {
                    return error(
                        at,
                        "by_product",
                        format!("a backward node has a by-product, and nodes[{loss}] is a loss"),
                        "mark no loss (MONeT's program has no by-products behind it), or make the \
                         by-product a workspace of its parent",
                    );
                }
            }
            NodeKind::Forward | NodeKind::ByProduct { .. } => {
                if let Some(first) = self.loss.or(self.backward) {
                    return error(
                        at,
                        "forward",
                        format!(
                            "a forward node comes after the loss or the backward pass began (nodes[{first}])"
                        ),
                        "order the nodes forward, loss, backward, or mark none as loss or backward",
                    );
                }
            }
        }
        Ok(())
    }
}
