//! The project's own instance format, `remat-instance/1`: reader and writer.
//! `docs/reference/formats.md` and `instances/schema/remat-instance-1.schema.json` describe it.
//!
//! The format is meant to be written by hand: values with an obvious default may be omitted,
//! references may use names of nodes, and an unknown field is an error.

mod write;

pub use write::write_instance;

use super::{ascending, earlier};
use crate::document::{Document, Failure, FaultKind, Spanned, TextOr, missing};
use crate::instance::{
    CostUnit, Gradient, HostLink, Implementation, InPlace, InstanceData, Node, NodeId, NodeKind,
    PlainPassing, Resident,
};
use crate::name::Name;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Largest number of entries of all computed `passing` lists: half a gigabyte.
const MOST_PASSING: usize = 100_000_000;

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename = "an instance: an object with `nodes`")]
struct InstanceText<'d> {
    schema: &'d str,
    name: Option<&'d str>,
    #[serde(rename = "description", skip_serializing)]
    _description: Option<&'d str>,
    #[serde(rename(
        deserialize = "cost_unit: a name such as `ms`, or an object with `name` and `nanoseconds`"
    ))]
    cost_unit: Option<TextOr<'d, UnitText<'d>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    host_link: Option<HostLink>,
    #[serde(rename(deserialize = "in_flight: the number of micro-batches in flight"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    in_flight: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fixed_bytes: Option<u64>,
    nodes: Vec<Spanned<NodeText<'d>>>,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct UnitText<'d> {
    name: &'d str,
    nanoseconds: Option<Spanned<f64>>,
}

/// A node; if it has a single implementation, it contains the fields of [`ImplementationText`]
/// itself.
#[derive(Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename = "a node: an object")]
struct NodeText<'d> {
    #[serde(borrow)]
    name: Option<Spanned<&'d str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<Kind>,
    #[serde(rename(deserialize = "parent: the node that makes it, by name or position"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    parent: Option<Reference<'d>>,
    #[serde(rename(deserialize = "forward: a forward node, by name or position"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    forward: Option<Reference<'d>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    gradient: Option<Spanned<Gradient>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    op: Option<&'d str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    module: Option<&'d str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    shape: Option<Vec<u64>>,
    #[serde(rename(deserialize = "output_bytes: the size of the output in bytes"))]
    output_bytes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    fixed_bytes: Option<u64>,
    #[serde(rename(deserialize = "resident: a list of objects with `name` and `bytes`"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    resident: Option<Vec<ResidentText<'d>>>,
    #[serde(rename(deserialize = "needs: a list of node names or positions"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    needs: Option<Vec<Reference<'d>>>,
    #[serde(rename(deserialize = "cost: the cost in `cost_unit`"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    cost: Option<Spanned<u64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    workspace_bytes: Option<Spanned<i64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    recompute_cost: Option<Spanned<u64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    recompute_workspace_bytes: Option<Spanned<i64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    implementations: Option<Spanned<Vec<ImplementationText<'d>>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    in_place: Option<InPlaceText<'d>>,
    /// Default: true.
    #[serde(skip_serializing_if = "Option::is_none")]
    recompute: Option<bool>,
    #[serde(rename(deserialize = "ends: a list of node names or positions"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    ends: Option<Vec<Reference<'d>>>,
    /// Default: true.
    #[serde(skip_serializing_if = "Option::is_none")]
    offload: Option<bool>,
    #[serde(rename(deserialize = "gather_bytes: the bytes that a gather brings over the link"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    gather_bytes: Option<u64>,
    #[serde(rename(deserialize = "scatter_bytes: the bytes that leave over the link"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    scatter_bytes: Option<u64>,
    /// Default: false. Written as an input of the last node, except for a by-product that is last.
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<bool>,
    #[serde(rename(deserialize = "passing: a list of node names or positions"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    passing: Option<Vec<Reference<'d>>>,
}

#[derive(Deserialize, Serialize)]
#[serde(
    deny_unknown_fields,
    rename = "resident memory: an object with `name` and `bytes`"
)]
struct ResidentText<'d> {
    #[serde(rename(deserialize = "name: the name of the memory, such as its parameter"))]
    name: &'d str,
    #[serde(rename(deserialize = "bytes: the size in bytes"))]
    bytes: u64,
}

#[derive(Clone, Copy, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename = "kind of node", rename_all = "snake_case")]
enum Kind {
    #[default]
    Forward,
    ByProduct,
    Loss,
    Backward,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename = "an implementation: an object")]
struct ImplementationText<'d> {
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    name: Option<&'d str>,
    #[serde(rename(deserialize = "needs: a list of node names or positions"))]
    needs: Option<Vec<Reference<'d>>>,
    #[serde(rename(deserialize = "cost: the cost in `cost_unit`"))]
    cost: Spanned<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    workspace_bytes: Option<Spanned<i64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    recompute_cost: Option<Spanned<u64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    recompute_workspace_bytes: Option<Spanned<i64>>,
}

#[derive(Deserialize, Serialize)]
#[serde(
    deny_unknown_fields,
    rename = "the in-place option: an object with `on`"
)]
struct InPlaceText<'d> {
    #[serde(borrow, rename(deserialize = "on: the input that is overwritten"))]
    on: Reference<'d>,
    cost_delta: Option<i64>,
    workspace_bytes: Option<i64>,
}

/// A node, by name or by position.
type Reference<'d> = Spanned<TextOr<'d, u64>>;

/// Reads a native document.
pub(super) fn read(document: &Document) -> Result<InstanceData, Failure> {
    let text: InstanceText<'_> = document.read()?;
    let reader = Reader {
        positions: positions(&text.nodes)?,
        fixed_bytes: text.fixed_bytes.unwrap_or_default(),
    };
    let nodes = text.nodes.iter().enumerate();
    let nodes: Result<Vec<_>, _> = nodes.map(|(i, node)| reader.node(i, node)).collect();
    let mut nodes = nodes?;
    keep_results(&mut nodes, &text.nodes);
    let mut plain = PlainPassing::new(&nodes);
    let mut total = 0;
    let mut passing = Vec::with_capacity(nodes.len());
    for node in &text.nodes {
        let list_now = plain.next_node();
        total += list_now.len();
        if total > MOST_PASSING {
            let problem = "too many tensors pass over too many nodes";
            let found = format!("more than {MOST_PASSING} pairs");
            let remedy = "give a smaller graph, or list `passing` yourself";
            return Err(FaultKind::TooLarge
                .fail(node.span, problem, remedy)
                .found(found));
        }
        passing.push(node.passing.is_none().then_some(list_now));
    }
    for (node, passing) in nodes.iter_mut().zip(passing) {
        node.passing = passing.unwrap_or(std::mem::take(&mut node.passing));
    }
    Ok(InstanceData {
        name: text.name.map_or_else(|| document.stem().into(), Name::from),
        cost_unit: cost_unit(text.cost_unit)?,
        host_link: text.host_link,
        in_flight: text.in_flight.unwrap_or(1),
        nodes,
    })
}

/// Makes the last node read the results of the step, so that they exist at its end. Later
/// by-products that are not results are omitted from the graph.
fn keep_results(nodes: &mut [Node], text: &[Spanned<NodeText<'_>>]) {
    let is_result = |i: &usize| text[*i].result == Some(true);
    let stays = |i: &usize| nodes[*i].parent().is_none() || is_result(i);
    let Some(last) = (0..nodes.len()).rfind(stays) else {
        return;
    };
    let results: Vec<NodeId> = (0..last).filter(is_result).map(NodeId::from).collect();
    nodes[last].result = nodes[last].parent().is_some();
    for implementation in &mut nodes[last].implementations {
        let needs = &mut implementation.needs;
        needs.extend(&results);
        needs.sort_unstable();
        needs.dedup();
    }
}

fn cost_unit(unit: Option<TextOr<'_, UnitText<'_>>>) -> Result<CostUnit, Failure> {
    let (name, nanoseconds) = match unit {
        None => return Ok(CostUnit::arbitrary()),
        Some(TextOr::Text(name)) => {
            return Ok(CostUnit::named(name));
        }
        Some(TextOr::Other(unit)) => {
            if let Some(length) = unit.nanoseconds.filter(|length| **length <= 0.0) {
                let problem = "the length of a cost unit must be positive";
                let remedy = "give its length in nanoseconds";
                return Err(FaultKind::Value.fail(length.span, problem, remedy));
            }
            (unit.name, unit.nanoseconds.map(|length| *length))
        }
    };
    Ok(CostUnit {
        name: name.into(),
        nanoseconds,
    })
}

/// The name of node `i`.
fn name(i: usize, node: &NodeText<'_>) -> String {
    node.name
        .map_or_else(|| format!("node{i}"), |name| (*name).to_owned())
}

/// Positions by name. Names are collected first, so that wrong references by name can be
/// recognised.
fn positions(nodes: &[Spanned<NodeText<'_>>]) -> Result<BTreeMap<String, usize>, Failure> {
    let mut positions = BTreeMap::new();
    for (i, node) in nodes.iter().enumerate() {
        if let Some(first) = positions.insert(name(i, node), i) {
            let place = node.name.map_or(node.span, |name| name.span);
            let problem = format!("nodes[{first}] has the same name");
            let found = format!("{:?}", name(i, node));
            let remedy = "give every node a name of its own";
            return Err(FaultKind::Duplicate
                .fail(place, problem, remedy)
                .found(found));
        }
    }
    Ok(positions)
}

fn residents(node: &NodeText<'_>) -> Vec<Resident> {
    let entries = node.resident.iter().flatten();
    let read = entries.map(|entry| Resident {
        name: entry.name.into(),
        bytes: entry.bytes,
    });
    read.collect()
}

struct Reader {
    positions: BTreeMap<String, usize>,
    fixed_bytes: u64,
}

impl Reader {
    /// A reference to a node before node `i`.
    fn earlier(&self, i: usize, reference: Reference<'_>) -> Result<NodeId, Failure> {
        let span = reference.span;
        let other = match *reference {
            TextOr::Text(name) => self.positions.get(name).copied().ok_or_else(|| {
                let remedy = "name a node of this file, or give its position in `nodes`, from 0";
                FaultKind::Reference.fail(span, "there is no node with this name", remedy)
            })?,
            TextOr::Other(value) => {
                let count = self.positions.len();
                Spanned { value, span }.index(count, "node")?
            }
        };
        earlier(i, other, span)
    }

    fn earlier_list(&self, i: usize, list: &[Reference<'_>]) -> Result<Vec<NodeId>, Failure> {
        ascending(list.iter().map(|reference| self.earlier(i, *reference)))
    }

    fn node(&self, i: usize, text: &Spanned<NodeText<'_>>) -> Result<Node, Failure> {
        let kind = self.kind(i, text)?;
        let passing = text.passing.as_ref().map(|list| self.earlier_list(i, list));
        let ends = text.ends.as_ref().map(|list| self.earlier_list(i, list));
        let in_place = text.in_place.as_ref().map(|option| {
            Ok(InPlace {
                on: self.earlier(i, option.on)?,
                cost_delta: option.cost_delta.unwrap_or(0),
                workspace_bytes: option.workspace_bytes.unwrap_or(0),
            })
        });
        Ok(Node {
            name: name(i, text).into(),
            op: text.op.unwrap_or_default().into(),
            module: text.module.unwrap_or_default().into(),
            shape: text.shape.clone().unwrap_or_default(),
            kind,
            output_bytes: text.output_bytes,
            fixed_bytes: text.fixed_bytes.unwrap_or(self.fixed_bytes),
            resident: residents(text),
            passing: passing.transpose()?.unwrap_or_default(),
            implementations: self.implementations(i, kind, text)?,
            in_place: in_place.transpose()?,
            result: false,
            once: text.recompute == Some(false),
            ends: ends.transpose()?.unwrap_or_default(),
            stays: text.offload == Some(false),
            gather_bytes: text.gather_bytes,
            scatter_bytes: text.scatter_bytes,
        })
    }

    fn kind(&self, i: usize, text: &Spanned<NodeText<'_>>) -> Result<NodeKind, Failure> {
        let kind = text.kind.unwrap_or_default();
        let parent = text.parent.map(|parent| ("parent", parent.span));
        let forward = text.forward.map(|forward| ("forward", forward.span));
        let gradient = text.gradient.map(|gradient| ("gradient", gradient.span));
        let misplaced = match kind {
            Kind::ByProduct => forward.or(gradient),
            Kind::Backward => parent,
            Kind::Forward | Kind::Loss => parent.or(forward).or(gradient),
        };
        if let Some((key, span)) = misplaced {
            let owner = if key == "parent" {
                "by_product"
            } else {
                "backward"
            };
            let problem = format!("`{key}` is a field of {owner} nodes only");
            let remedy = format!("remove it, or set `kind` to {owner:?}");
            return Err(FaultKind::Value.fail(span, problem, remedy));
        }
        Ok(match kind {
            Kind::Forward => NodeKind::Forward,
            Kind::Loss => NodeKind::Loss,
            Kind::ByProduct => {
                let what = "the node that makes it";
                let missing = || missing(text.span, "parent", what);
                let parent = self.earlier(i, text.parent.ok_or_else(missing)?)?;
                NodeKind::ByProduct { parent }
            }
            Kind::Backward => NodeKind::Backward {
                forward: text.forward.map(|f| self.earlier(i, f)).transpose()?,
                gradient: text.gradient.map_or(Gradient::All, |gradient| *gradient),
            },
        })
    }

    fn implementations(
        &self,
        i: usize,
        kind: NodeKind,
        text: &Spanned<NodeText<'_>>,
    ) -> Result<Vec<Implementation>, Failure> {
        // Default inputs of the implementations.
        let needs = match (&text.needs, kind) {
            (Some(needs), _) => self.earlier_list(i, needs)?,
            (None, NodeKind::ByProduct { parent }) => vec![parent],
            (None, _) => Vec::new(),
        };
        let Some(list) = &text.implementations else {
            let what = "the cost in `cost_unit`";
            let missing = || missing(text.span, "cost", what);
            let alone = ImplementationText {
                name: None,
                needs: None,
                cost: match (text.cost, text.gather_bytes) {
                    // A gathered weight computes nothing.
                    (None, Some(_)) => 0.into(),
                    (cost, _) => cost.ok_or_else(missing)?,
                },
                workspace_bytes: text.workspace_bytes,
                recompute_cost: text.recompute_cost,
                recompute_workspace_bytes: text.recompute_workspace_bytes,
            };
            return Ok(vec![self.implementation(i, &needs, &alone)?]);
        };
        let workspace = text.workspace_bytes.map(|v| ("workspace_bytes", v.span));
        let again = text.recompute_workspace_bytes;
        let misplaced = text.cost.map(|v| ("cost", v.span)).or(workspace);
        let misplaced = misplaced.or(text.recompute_cost.map(|v| ("recompute_cost", v.span)));
        let misplaced = misplaced.or(again.map(|v| ("recompute_workspace_bytes", v.span)));
        if let Some((key, span)) = misplaced {
            let problem = format!("`{key}` stands beside `implementations`");
            let remedy = "move it into the implementations";
            return Err(FaultKind::Duplicate.fail(span, problem, remedy));
        }
        if list.is_empty() {
            let problem = "a node needs an implementation";
            return Err(FaultKind::Value.fail(list.span, problem, "give at least one"));
        }
        let read = list.iter().map(|text| self.implementation(i, &needs, text));
        read.collect()
    }

    fn implementation(
        &self,
        i: usize,
        needs: &[NodeId],
        text: &ImplementationText<'_>,
    ) -> Result<Implementation, Failure> {
        let cost = *text.cost;
        let workspace_bytes = text.workspace_bytes.map_or(0, |bytes| *bytes);
        Ok(Implementation {
            name: text.name.unwrap_or_default().into(),
            needs: match &text.needs {
                Some(needs) => self.earlier_list(i, needs)?,
                None => needs.to_vec(),
            },
            cost,
            workspace_bytes,
            recompute_cost: text.recompute_cost.map_or(cost, |again| *again),
            recompute_workspace_bytes: text
                .recompute_workspace_bytes
                .map_or(workspace_bytes, |bytes| *bytes),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read_bytes;

    fn keys(schema: &serde_json::Value, pointer: &str) -> Vec<String> {
        let mut keys: Vec<_> = schema
            .pointer(pointer)
            .unwrap()
            .as_object()
            .unwrap()
            .keys()
            .cloned()
            .collect();
        keys.sort();
        keys
    }

    #[test]
    fn the_schema_file_lists_the_fields_that_the_reader_knows() {
        let text = include_str!("../../../schema/remat-instance-1.schema.json");
        let schema: serde_json::Value = serde_json::from_str(text).unwrap();
        // The reader lists the names if it meets an unknown one.
        let known = |text: &str| {
            let text = format!("{{\"schema\": \"remat-instance/1\", {text}}}");
            let error = read_bytes("", text.as_bytes()).unwrap_err();
            let list = error.fault().remedy.strip_prefix("the fields here are ");
            let mut names: Vec<_> = list.unwrap().split(", ").map(str::to_owned).collect();
            names.sort();
            names
        };
        let implementation = r#""nodes": [{"output_bytes": 1, "implementations": [{"?": 1}]}]"#;
        let resident = r#""nodes": [{"output_bytes": 1, "resident": [{"?": 1}]}]"#;
        for (pointer, text) in [
            ("/properties", r#""?": 1"#),
            ("/$defs/node/properties", r#""nodes": [{"?": 1}]"#),
            ("/$defs/implementation/properties", implementation),
            ("/$defs/resident/properties", resident),
        ] {
            assert_eq!(keys(&schema, pointer), known(text));
        }
        let maximum = schema.pointer("/$defs/size/maximum").unwrap();
        assert_eq!(*maximum, crate::number::LARGEST_VALUE);
    }

    #[test]
    fn the_documented_example_reads_as_documented() {
        let text = include_str!("../../../../docs/reference/formats.md");
        let from = text.find("```json\n").unwrap() + 8;
        let example = &text[from..from + text[from..].find("```").unwrap()];
        let read = read_bytes("docs", example.as_bytes());
        let instance = read.unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(instance.name(), "two layers");
        assert_eq!(instance.cost_unit().nanoseconds, Some(1000.0));
        assert_eq!(instance.loss(), Some(NodeId(3)));
        assert_eq!(instance.node(NodeId(2)).needs(), [NodeId(1)]);
        assert_eq!(
            instance.node(NodeId(4)).implementations[1].needs,
            [NodeId(2), NodeId(3)]
        );
        assert_eq!(instance.node(NodeId(4)).passing, [NodeId(3)]);
        assert_eq!(instance.node(NodeId(4)).fixed_bytes, 4096);
        assert_eq!(instance.static_bytes(), 8192);
    }
}
