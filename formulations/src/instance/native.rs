//! The project's own instance format, `remat-instance/1`: reader and writer. Described in `docs/formats.md` and in
//! `formulations/schema/remat-instance-1.schema.json`.
//!
//! Made to be written by hand: what has an obvious default may be left out, nodes may be named where they are referred
//! to, and a field that is not known is an error rather than ignored.

use super::read::INSTANCE_SCHEMA;
use super::{
    CostUnit, Gradient, HostLink, Implementation, InPlace, Instance, InstanceData, InstanceError,
    Node, NodeId, NodeKind, passing::PlainPassing,
};
use crate::document::{Data, Document, Fields, Value};
use serde::Serialize;
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
        says_passing.push(fields.has("passing"));
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
            return Err(document.fail_found(&list[i], problem, found, remedy));
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
                    .fail_found(place, problem, format!("{name:?}"), remedy));
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
        Err(self.document.fail(value, problem, remedy))
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
                return Err(document.fail(misplaced, problem, remedy));
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

/// Writes an instance in the native format: one node a line, defaults left out. Reading it back gives an equal instance.
///
/// # Example
/// ```
/// use remat_formulations::instance::{CostUnit, Instance, InstanceData, Node, NodeId};
/// use remat_formulations::instance::{ReadOptions, read_instance_bytes, write_instance};
/// let nodes = vec![Node::forward("a", vec![], 10, 4), Node::forward("b", vec![NodeId(0)], 20, 8)];
/// let data = InstanceData { name: "two".into(), cost_unit: CostUnit::nanoseconds(), host_link: None, nodes };
/// let instance = Instance::new(data).unwrap();
/// let text = write_instance(&instance);
/// assert!(text.contains(r#"{"name":"b","output_bytes":8,"needs":[0],"cost":20}"#));
/// let again = read_instance_bytes("two.json", text.as_bytes(), &ReadOptions::default()).unwrap();
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
