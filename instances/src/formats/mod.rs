//! Files of instances: [`read`] tells their formats apart by content, [`write_instance`] writes the project's own.

mod benchmark;
mod native;
pub mod node_link;

pub use native::write_instance;

use crate::document::{self, Data, Document, FaultKind, Value};
use crate::instance::{Instance, InstanceData, InstanceError};
use std::path::Path;

/// The schema name of native and benchmark instances.
const INSTANCE_SCHEMA: &str = "remat-instance/1";

/// Reads an instance from a JSON file, plain or gzipped, in any format that is known.
///
/// | format | recognised by |
/// |---|---|
/// | native | `"schema": "remat-instance/1"` |
/// | benchmark | the same, with `counts` and `flags`; it states its view with one implementation of each node |
/// | NetworkX node-link | `nodes` with `links` or `edges`, no `schema` |
///
/// # Errors
/// [`InstanceError`] names the file, line and column, the path of the value in the document, the value, and what would
/// be right.
pub fn read(path: impl AsRef<Path>) -> Result<Instance, InstanceError> {
    let path = path.as_ref();
    read_bytes(&path.display().to_string(), &document::load(path)?)
}

/// Reads an instance from bytes; `name` stands for the file in errors.
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
    let document = Document::parse(name, bytes)?;
    let top = document.fields(document.root(), "an instance: an object with `nodes`")?;
    match top.get("schema") {
        Some(schema) => {
            let wanted = format!("{INSTANCE_SCHEMA:?}");
            let found = document.string(schema, &wanted)?;
            if found.starts_with("remat-schedule/") || found.starts_with("remat-plan/") {
                let remedy = "name an instance file; schedules and plans are read with `verify`";
                return Err(document
                    .fail(schema, "this file is not an instance", remedy)
                    .of_kind(FaultKind::Format));
            }
            if found != INSTANCE_SCHEMA {
                let remedy = format!("the known schema is {wanted}");
                return Err(document
                    .fail(schema, "the schema is unknown", remedy)
                    .of_kind(FaultKind::Format));
            }
            if top.get("counts").is_some() && top.get("flags").is_some() {
                benchmark::read(&top)
            } else {
                validated(&document, native::read(&top)?)
            }
        }
        None if top.get("nodes").is_some()
            && (top.get("links").is_some() || top.get("edges").is_some()) =>
        {
            validated(&document, node_link::read(&top)?)
        }
        None => {
            let remedy = format!(
                "give `\"schema\": {INSTANCE_SCHEMA:?}`, or a NetworkX node-link graph (`nodes` and `links` or `edges`)"
            );
            let problem = "the format is not recognised: there is no `schema`";
            Err(document
                .fail(document.root(), problem, remedy)
                .of_kind(FaultKind::Format))
        }
    }
}

/// Validates; what the readers did not find is reported at the node concerned.
fn validated(document: &Document, data: InstanceData) -> Result<Instance, InstanceError> {
    Instance::new(data).map_err(|e| {
        let place = place(document.root(), &e.path).unwrap_or(document.root());
        document.fail_found(
            place,
            format!("{} ({})", e.problem, e.path),
            e.value,
            e.remedy,
        )
    })
}

/// The value at `nodes[i]`, for a path that begins so.
fn place<'d>(root: &'d Value, path: &str) -> Option<&'d Value> {
    let Data::Object(entries) = &root.data else {
        return None;
    };
    let (_, nodes) = entries.iter().find(|(key, _)| key == "nodes")?;
    let Some(rest) = path.strip_prefix("nodes[") else {
        return path.starts_with("nodes").then_some(nodes);
    };
    let index: usize = rest.split(']').next()?.parse().ok()?;
    match &nodes.data {
        Data::Array(list) => list.get(index),
        _ => None,
    }
}
