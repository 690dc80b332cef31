//! Files of instances: [`read`] recognises their formats by content, [`write_instance`] writes the
//! project's own format.

mod benchmark;
mod decimals;
mod native;
mod node_link;

pub use native::write_instance;

use crate::document::{self, Document, Failure, FaultKind, Span, Spanned, Unread};
use crate::instance::{Instance, InstanceData, InstanceError, NodeId};
use decimals::Decimals;
use serde::Deserialize;
use serde::de::IgnoredAny;
use std::path::Path;

/// The schema name of native and benchmark instances.
const INSTANCE_SCHEMA: &str = "remat-instance/1";

/// Reads an instance from a JSON file, plain or gzipped, in any known format.
///
/// | format | recognised by |
/// |---|---|
/// | native | `"schema": "remat-instance/1"` |
/// | benchmark | the same, with `counts` and `flags`; it states a view |
/// | NetworkX node-link | `nodes` with `links` or `edges`, no `schema` |
///
/// # Errors
/// [`InstanceError`] names the file, line and column, the path of the value in the document, the
/// value, and the remedy.
pub fn read(path: impl AsRef<Path>) -> Result<Instance, InstanceError> {
    let path = path.as_ref();
    read_bytes(&path.display().to_string(), &document::load(path)?)
}

/// Reads an instance from bytes; errors name it `name`.
///
/// # Errors
/// As [`read`].
///
/// # Example
/// ```
/// let text = br#"{"nodes": [{"id": "x", "time": 3, "size": 8}, {"id": "y", "time": 1, "size": 4}],
///                 "links": [{"source": "x", "target": "y"}]}"#;
/// let instance = remat_instances::read_bytes("tiny.json", text).unwrap();
/// assert_eq!(instance.base_cost(), 4);
/// let error = remat_instances::read_bytes("tiny.json", br#"{"nodes": [], "edges": 7}"#);
/// assert!(error.unwrap_err().to_string().contains("tiny.json:1:24: edges"));
/// ```
pub fn read_bytes(name: &str, bytes: &[u8]) -> Result<Instance, InstanceError> {
    let mut document = Document::parse(name, bytes)?;
    let decimals = Decimals::move_point(&mut document);
    instance(&document, decimals).map_err(|e| document.error(e))
}

fn instance(document: &Document, decimals: Decimals) -> Result<Instance, Failure> {
    let header: Header<'_> = document.read()?;
    let is_graph = header.nodes.is_some() && (header.links.is_some() || header.edges.is_some());
    let Some(schema) = header.schema else {
        if is_graph {
            return validated(document, node_link::read(document)?, decimals);
        }
        let remedy = format!(
            "give `\"schema\": {INSTANCE_SCHEMA:?}`, or a NetworkX node-link graph (`nodes` and `links` or `edges`)"
        );
        let problem = "the format is not recognised: there is no `schema`";
        return Err(FaultKind::Format.fail(document.root(), problem, remedy));
    };
    let found = *schema;
    if found.starts_with("remat-schedule/") || found.starts_with("remat-plan/") {
        let remedy = "name an instance file; schedules and plans are read with `verify`";
        return Err(FaultKind::Format.fail(schema.span, "this file is not an instance", remedy));
    }
    if found != INSTANCE_SCHEMA {
        let remedy = format!("the known schema is {INSTANCE_SCHEMA:?}");
        return Err(FaultKind::Format.fail(schema.span, "the schema is unknown", remedy));
    }
    if header.counts.is_some() && header.flags.is_some() {
        benchmark::read(document, decimals)
    } else {
        validated(document, native::read(document)?, decimals)
    }
}

/// Fields that identify the format.
#[derive(Deserialize)]
#[serde(rename = "an instance: an object with `nodes`")]
struct Header<'d> {
    #[serde(borrow, rename = "schema: \"remat-instance/1\"")]
    schema: Option<Spanned<&'d str>>,
    counts: Option<IgnoredAny>,
    flags: Option<IgnoredAny>,
    nodes: Option<IgnoredAny>,
    links: Option<IgnoredAny>,
    edges: Option<IgnoredAny>,
}

/// Validates the data; faults that the readers did not find are reported at their node.
fn validated(
    document: &Document,
    mut data: InstanceData,
    decimals: Decimals,
) -> Result<Instance, Failure> {
    data.cost_unit = decimals.unit(data.cost_unit);
    Instance::new(data).map_err(|e| {
        let place = place(document, &e.path).unwrap_or(document.root());
        let problem = format!("{} ({})", e.problem, e.path);
        FaultKind::Value
            .fail(place, problem, e.remedy)
            .found(e.value)
    })
}

/// Node `other`, an earlier node to which node `i` refers.
fn earlier(i: usize, other: usize, span: Span) -> Result<NodeId, Failure> {
    if other < i {
        return Ok(NodeId::from(other));
    }
    let problem = format!(
        "node {i} refers to node {other}, which does not come before it (a cycle, or a wrong order)"
    );
    let remedy = "list the nodes in an order in which every input comes first";
    Err(FaultKind::Order.fail(span, problem, remedy))
}

/// Nodes in ascending order, each once.
fn ascending<E>(ids: impl Iterator<Item = Result<NodeId, E>>) -> Result<Vec<NodeId>, E> {
    let mut ids = ids.collect::<Result<Vec<_>, E>>()?;
    ids.sort_unstable();
    ids.dedup();
    Ok(ids)
}

#[derive(Deserialize)]
struct Nodes {
    nodes: Spanned<Vec<Unread>>,
}

/// The place of `nodes[i]`, for a path that begins with it.
fn place(document: &Document, path: &str) -> Option<Span> {
    let nodes = document.read::<Nodes>().ok()?.nodes;
    let Some(rest) = path.strip_prefix("nodes[") else {
        return path.starts_with("nodes").then_some(nodes.span);
    };
    let index: usize = rest.split(']').next()?.parse().ok()?;
    nodes.get(index).map(|node| node.span)
}
