//! The project's own instance format, `remat-instance/1`: reader and writer. Described in `docs/formats.md` and in
//! `instances/schema/remat-instance-1.schema.json`.
//!
//! Made to be written by hand: what has an obvious default may be left out, nodes may be named where they are referred
//! to, and a field that is not known is an error rather than ignored.

mod write;

pub use write::write_instance;

use crate::document::{Data, Document, FaultKind, Fields, Value};
use crate::instance::{
    CostUnit, Gradient, HostLink, Implementation, InPlace, InstanceData, InstanceError, Node,
    NodeId, NodeKind, PlainPassing,
};
use std::collections::BTreeMap;

const TOP: [&str; 7] = [
    "schema",
    "name",
    "description",
    "cost_unit",
    "host_link",
    "fixed_bytes",
    "nodes",
];
const NODE: [&str; 17] = [
    "name",
    "op",
    "shape",
    "kind",
    "parent",
    "forward",
    "gradient",
    "output_bytes",
    "fixed_bytes",
    "needs",
    "cost",
    "workspace_bytes",
    "recompute_cost",
    "recompute_workspace_bytes",
    "implementations",
    "in_place",
    "passing",
];
/// Fields of an implementation, apart from `name`; a node with one implementation carries them itself.
const IMPLEMENTATION: [&str; 5] = [
    "needs",
    "cost",
    "workspace_bytes",
    "recompute_cost",
    "recompute_workspace_bytes",
];

/// Most entries of all `passing` lists that are worked out: half a gigabyte.
const MOST_PASSING: usize = 100_000_000;

/// Units of time that may be given by name alone.
const TIME_UNITS: [(&str, f64); 4] = [("ns", 1.0), ("us", 1e3), ("ms", 1e6), ("s", 1e9)];

/// Reads a native document.
pub(super) fn read(top: &Fields<'_>) -> Result<InstanceData, InstanceError> {
    let document = top.document;
    top.only(&TOP)?;
    let name = match top.get("name") {
        Some(name) => document
            .string(name, "the name of the instance")?
            .to_owned(),
        None => document.stem(),
    };
    if let Some(text) = top.get("description") {
        document.string(text, "a description in words")?;
    }
    let list = document.list(top.need("nodes", "the list of nodes")?, "the list of nodes")?;
    let mut reader = Reader {
        document,
        positions: BTreeMap::new(),
        fixed_bytes: match top.get("fixed_bytes") {
            Some(bytes) => document.unsigned(bytes, "the fixed memory in bytes")?,
            None => 0,
        },
        nodes: Vec::with_capacity(list.len()),
    };
    reader.read_names(list)?;
    let mut says_passing = Vec::with_capacity(list.len());
    for (i, value) in list.iter().enumerate() {
        let fields = document.fields(value, "a node: an object")?;
        let name = reader.nodes[i].name.clone();
        reader.nodes[i] = reader.node(i, name, &fields)?;
        says_passing.push(fields.get("passing").is_some());
    }
    let mut nodes = reader.nodes;
    let mut plain = PlainPassing::new(&nodes);
    let mut total = 0;
    let mut passing = Vec::with_capacity(nodes.len());
    for (i, said) in says_passing.iter().enumerate() {
        let list_now = plain.next_node();
        total += list_now.len();
        if total > MOST_PASSING {
            let problem = "too many tensors pass over too many nodes";
            let found = format!("more than {MOST_PASSING} pairs");
            let remedy = "give a smaller graph, or list `passing` yourself";
            return Err(document
                .fail_found(&list[i], problem, found, remedy)
                .of_kind(FaultKind::TooLarge));
        }
        passing.push((!said).then_some(list_now));
    }
    for (node, passing) in nodes.iter_mut().zip(passing) {
        node.passing = passing.unwrap_or(std::mem::take(&mut node.passing));
    }
    Ok(InstanceData {
        name,
        cost_unit: match top.get("cost_unit") {
            Some(unit) => cost_unit(document, unit)?,
            None => CostUnit::arbitrary(),
        },
        host_link: match top.get("host_link") {
            Some(link) => Some(host_link(document, link)?),
            None => None,
        },
        nodes,
    })
}

fn cost_unit(document: &Document, value: &Value) -> Result<CostUnit, InstanceError> {
    if let Data::String(name) = &value.data {
        let known = TIME_UNITS.iter().find(|(unit, _)| unit == name);
        return Ok(CostUnit {
            name: name.clone(),
            nanoseconds: known.map(|(_, nanoseconds)| *nanoseconds),
        });
    }
    let what =
        "\"ns\", \"us\", \"ms\", \"s\", another name, or an object with `name` and `nanoseconds`";
    let fields = document.fields(value, what)?;
    fields.only(&["name", "nanoseconds"])?;
    let name = document.string(fields.need("name", "the unit's name")?, "the unit's name")?;
    let nanoseconds = match fields.get("nanoseconds") {
        Some(length) => {
            let length_ns = document.float(length, "the unit's length in nanoseconds")?;
            if length_ns <= 0.0 {
                let problem = "the length of a cost unit must be positive";
                return Err(document.fail(length, problem, "give its length in nanoseconds"));
            }
            Some(length_ns)
        }
        None => None,
    };
    Ok(CostUnit {
        name: name.into(),
        nanoseconds,
    })
}

const TO_HOST: &str = "to_host_bytes_per_second";
const FROM_HOST: &str = "from_host_bytes_per_second";

fn host_link(document: &Document, value: &Value) -> Result<HostLink, InstanceError> {
    let fields = document.fields(value, "the link to host memory: an object")?;
    fields.only(&[TO_HOST, FROM_HOST])?;
    let speed = |key: &str| {
        let what = "a speed in bytes per second";
        document.unsigned(fields.need(key, what)?, what)
    };
    Ok(HostLink {
        to_host_bytes_per_second: speed(TO_HOST)?,
        from_host_bytes_per_second: speed(FROM_HOST)?,
    })
}

struct Reader<'d> {
    document: &'d Document,
    positions: BTreeMap<String, usize>,
    fixed_bytes: u64,
    /// Nodes read so far; of the others only the name is there.
    nodes: Vec<Node>,
}

impl<'d> Reader<'d> {
    /// First pass: names, so that later references by name can be told from wrong ones.
    fn read_names(&mut self, list: &'d [Value]) -> Result<(), InstanceError> {
        for (i, value) in list.iter().enumerate() {
            let fields = self.document.fields(value, "a node: an object")?;
            fields.only(&NODE)?;
            let name = match fields.get("name") {
                Some(name) => self.document.string(name, "the node's name")?.to_owned(),
                None => format!("node{i}"),
            };
            if let Some(first) = self.positions.insert(name.clone(), i) {
                let place = fields.get("name").unwrap_or(value);
                let problem = format!("nodes[{first}] has the same name");
                let remedy = "give every node a name of its own";
                return Err(self
                    .document
                    .fail_found(place, problem, format!("{name:?}"), remedy)
                    .of_kind(FaultKind::Duplicate));
            }
            self.nodes.push(Node {
                name,
                ..Node::default()
            });
        }
        Ok(())
    }

    /// A reference to a node before node `i`, by position or by name.
    fn earlier(&self, i: usize, value: &Value) -> Result<NodeId, InstanceError> {
        let other = match &value.data {
            Data::String(name) => self.positions.get(name).copied().ok_or_else(|| {
                let remedy = "name a node of this file, or give its position in `nodes`, from 0";
                self.document
                    .fail(value, "there is no node with this name", remedy)
                    .of_kind(FaultKind::Reference)
            })?,
            _ => self.document.index(value, self.nodes.len(), "node")?,
        };
        if other < i {
            return Ok(NodeId::from(other));
        }
        let problem = format!(
            "node {i} refers to node {other}, which does not come before it (a cycle, or a wrong order)"
        );
        let remedy = "list the nodes in an order in which every input comes first";
        Err(self
            .document
            .fail(value, problem, remedy)
            .of_kind(FaultKind::Order))
    }

    fn earlier_list(&self, i: usize, value: &Value) -> Result<Vec<NodeId>, InstanceError> {
        let list = self
            .document
            .list(value, "a list of node names or positions")?;
        let ids: Result<Vec<_>, _> = list.iter().map(|v| self.earlier(i, v)).collect();
        let mut ids = ids?;
        ids.sort_unstable();
        ids.dedup();
        Ok(ids)
    }

    fn node(&self, i: usize, name: String, fields: &Fields<'_>) -> Result<Node, InstanceError> {
        let document = self.document;
        let kind = self.kind(i, fields)?;
        let shape = match fields.get("shape") {
            Some(shape) => {
                let extents = document
                    .list(shape, "the shape: a list of integers")?
                    .iter();
                let extents = extents.map(|v| document.unsigned(v, "an extent"));
                extents.collect::<Result<_, _>>()?
            }
            None => Vec::new(),
        };
        let what = "the size of the output in bytes";
        Ok(Node {
            name,
            op: match fields.get("op") {
                Some(op) => document.string(op, "the operator's name")?.into(),
                None => String::new(),
            },
            shape,
            kind,
            output_bytes: document.unsigned(fields.need("output_bytes", what)?, what)?,
            fixed_bytes: match fields.get("fixed_bytes") {
                Some(bytes) => document.unsigned(bytes, "the fixed memory in bytes")?,
                None => self.fixed_bytes,
            },
            passing: match fields.get("passing") {
                Some(list) => self.earlier_list(i, list)?,
                None => Vec::new(),
            },
            implementations: self.implementations(i, kind, fields)?,
            in_place: match fields.get("in_place") {
                Some(value) => Some(self.in_place(i, value)?),
                None => None,
            },
        })
    }

    fn kind(&self, i: usize, fields: &Fields<'_>) -> Result<NodeKind, InstanceError> {
        let document = self.document;
        let what = "\"forward\", \"by_product\", \"loss\" or \"backward\"";
        let word = match fields.get("kind") {
            Some(kind) => document.string(kind, what)?,
            None => "forward",
        };
        let belongs = |key: &str, to: &str| match fields.get(key) {
            Some(value) if word != to => {
                let problem = format!("`{key}` is a field of {to} nodes only");
                let remedy = format!("remove it, or set `kind` to {to:?}");
                Err(document.fail(value, problem, remedy))
            }
            _ => Ok(()),
        };
        belongs("parent", "by_product")?;
        belongs("forward", "backward")?;
        belongs("gradient", "backward")?;
        match word {
            "forward" => Ok(NodeKind::Forward),
            "loss" => Ok(NodeKind::Loss),
            "by_product" => {
                let parent = fields.need("parent", "the forward node that makes it")?;
                let parent = self.earlier(i, parent)?;
                Ok(NodeKind::ByProduct { parent })
            }
            "backward" => Ok(NodeKind::Backward {
                forward: match fields.get("forward") {
                    Some(twin) => Some(self.earlier(i, twin)?),
                    None => None,
                },
                gradient: match fields.get("gradient") {
                    Some(gradient) => self.gradient(gradient)?,
                    None => Gradient::All,
                },
            }),
            _ => {
                let kind = fields.need("kind", what)?;
                Err(document.fail(kind, "the kind of node is unknown", format!("give {what}")))
            }
        }
    }

    fn gradient(&self, value: &Value) -> Result<Gradient, InstanceError> {
        let what = "\"all\", \"parameters\" or \"input\"";
        match self.document.string(value, what)? {
            "all" => Ok(Gradient::All),
            "parameters" => Ok(Gradient::Parameters),
            "input" => Ok(Gradient::Input),
            _ => {
                let problem = "this part of a gradient is unknown";
                Err(self.document.fail(value, problem, format!("give {what}")))
            }
        }
    }

    fn implementations(
        &self,
        i: usize,
        kind: NodeKind,
        fields: &Fields<'_>,
    ) -> Result<Vec<Implementation>, InstanceError> {
        let document = self.document;
        // What an implementation needs if it does not say so itself.
        let needs = match (fields.get("needs"), kind) {
            (Some(needs), _) => self.earlier_list(i, needs)?,
            (None, NodeKind::ByProduct { parent }) => vec![parent],
            (None, _) => Vec::new(),
        };
        let Some(value) = fields.get("implementations") else {
            return Ok(vec![self.implementation(
                i,
                String::new(),
                &needs,
                fields,
            )?]);
        };
        for key in &IMPLEMENTATION[1..] {
            if let Some(misplaced) = fields.get(key) {
                let problem = format!("`{key}` stands beside `implementations`");
                let remedy = "move it into the implementations";
                return Err(document
                    .fail(misplaced, problem, remedy)
                    .of_kind(FaultKind::Duplicate));
            }
        }
        let list = document.list(value, "a list of implementations")?;
        if list.is_empty() {
            let remedy = "give at least one";
            return Err(document.fail(value, "a node needs an implementation", remedy));
        }
        let mut implementations = Vec::with_capacity(list.len());
        for value in list {
            let fields = document.fields(value, "an implementation: an object")?;
            let mut known = vec!["name"];
            known.extend(IMPLEMENTATION);
            fields.only(&known)?;
            let name = match fields.get("name") {
                Some(name) => document
                    .string(name, "the implementation's name")?
                    .to_owned(),
                None => String::new(),
            };
            implementations.push(self.implementation(i, name, &needs, &fields)?);
        }
        Ok(implementations)
    }

    fn implementation(
        &self,
        i: usize,
        name: String,
        needs: &[NodeId],
        fields: &Fields<'_>,
    ) -> Result<Implementation, InstanceError> {
        let document = self.document;
        let cost =
            document.unsigned(fields.need("cost", "the cost in `cost_unit`")?, "the cost")?;
        let workspace_bytes = match fields.get("workspace_bytes") {
            Some(bytes) => document.signed(bytes, "the workspace in bytes")?,
            None => 0,
        };
        Ok(Implementation {
            name,
            needs: match fields.get("needs") {
                Some(needs) => self.earlier_list(i, needs)?,
                None => needs.to_vec(),
            },
            cost,
            workspace_bytes,
            recompute_cost: match fields.get("recompute_cost") {
                Some(again) => document.unsigned(again, "the cost of a recomputation")?,
                None => cost,
            },
            recompute_workspace_bytes: match fields.get("recompute_workspace_bytes") {
                Some(bytes) => document.signed(bytes, "the workspace in bytes")?,
                None => workspace_bytes,
            },
        })
    }

    fn in_place(&self, i: usize, value: &Value) -> Result<InPlace, InstanceError> {
        let document = self.document;
        let fields = document.fields(value, "the in-place option: an object with `on`")?;
        fields.only(&["on", "cost_delta", "workspace_bytes"])?;
        let signed = |key: &str, what: &str| match fields.get(key) {
            Some(value) => document.signed(value, what),
            None => Ok(0),
        };
        Ok(InPlace {
            on: self.earlier(i, fields.need("on", "the input that is overwritten")?)?,
            cost_delta: signed("cost_delta", "the cost added in place")?,
            workspace_bytes: signed("workspace_bytes", "the workspace in bytes")?,
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
        let sorted = |names: &[&'static str]| {
            let mut names = names.to_vec();
            names.sort();
            names
        };
        assert_eq!(keys(&schema, "/properties"), sorted(&TOP));
        assert_eq!(keys(&schema, "/$defs/node/properties"), sorted(&NODE));
        let mut implementation = IMPLEMENTATION.to_vec();
        implementation.push("name");
        assert_eq!(
            keys(&schema, "/$defs/implementation/properties"),
            sorted(&implementation)
        );
        let maximum = schema.pointer("/$defs/size/maximum").unwrap();
        assert_eq!(*maximum, crate::instance::LARGEST_VALUE);
    }

    #[test]
    fn the_documented_example_reads_as_documented() {
        let text = include_str!("../../../../docs/formats.md");
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
