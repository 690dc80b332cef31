//! `remat-order/1` documents. The schema is `instances/schema/remat-order-1.schema.json`.

use super::{Operator, OperatorId, OrderGraph, OrderGraphData, Tensor, TensorId};
use crate::document::{
    self, Document, Failure, FaultKind, Lines, ReadError, Span, Spanned, Unread,
};
use crate::name::Name;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// Name of the schema of order graphs.
pub const ORDER_SCHEMA: &str = "remat-order/1";

/// A document; ids are optional, and must equal the positions of their entries.
#[derive(Deserialize, Serialize)]
#[serde(
    deny_unknown_fields,
    rename = "a graph: an object with `operators` and `tensors`"
)]
struct GraphText<'d> {
    schema: &'d str,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'d str>,
    #[serde(rename = "description", skip_serializing)]
    _description: Option<&'d str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<&'d str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    batch: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    unused_resident_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    base_bytes: Option<Spanned<SizeSum>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    alignment_bytes: Option<u64>,
    operators: Vec<OperatorText<'d>>,
    tensors: Vec<TensorText<'d>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    order_edges: Option<Vec<Edge>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sound_order_edges: Option<Vec<Edge>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rng_order_edges: Option<Vec<Edge>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    olla_early_edges: Option<Vec<Edge>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    olla_late_edges: Option<Vec<Edge>>,
    #[serde(rename(deserialize = "program_order: a list of operators"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    program_order: Option<Vec<Id>>,
}

/// A sum of sizes, which may exceed the limit of a single size.
#[derive(Clone, Copy, Deserialize, Serialize)]
#[serde(transparent)]
struct SizeSum(u128);

/// A position in a list.
type Id = Spanned<u64>;

/// An operator that must run before another.
#[derive(Deserialize, Serialize)]
#[serde(rename = "an edge: a list of two operators, [before, after]")]
struct Edge([Id; 2]);

#[derive(Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename = "an operator: an object")]
struct OperatorText<'d> {
    id: Option<Id>,
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    name: Option<&'d str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<&'d str>,
    #[serde(rename(deserialize = "inputs: a list of tensors"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    inputs: Option<Vec<Id>>,
    #[serde(rename(deserialize = "outputs: a list of tensors"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    outputs: Option<Vec<Id>>,
    #[serde(rename(deserialize = "writes: a list of tensors"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    writes: Option<Vec<Id>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    workspace_bytes: Option<u64>,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename = "a tensor: an object with `bytes`")]
struct TensorText<'d> {
    id: Option<Id>,
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    name: Option<&'d str>,
    #[serde(rename(deserialize = "bytes: the size in bytes"))]
    bytes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    resident: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    alignment_bytes: Option<u64>,
    #[serde(rename(deserialize = "alias_of: the tensor that it is a view of"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    alias_of: Option<Id>,
    #[serde(rename(deserialize = "in_place_on: the input that it overwrites"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    in_place_on: Option<Id>,
}

/// Reads a graph from a file, JSON or gzipped JSON.
///
/// # Errors
/// [`ReadError`] names the file, line and column, the path of the value, the value, and the remedy.
pub fn read_order_graph(path: impl AsRef<Path>) -> Result<OrderGraph, ReadError> {
    let path = path.as_ref();
    read_order_graph_bytes(&path.display().to_string(), &document::load(path)?)
}

/// Reads a graph from bytes; errors name it `name`.
///
/// # Errors
/// The errors of [`read_order_graph`].
///
/// ```
/// use remat_instances::order::read_order_graph_bytes;
/// let text = br#"{"schema": "remat-order/1",
///     "operators": [{"inputs": [1]}], "tensors": [{"bytes": 5}]}"#;
/// let error = read_order_graph_bytes("bad.json", text).unwrap_err();
/// assert!(error.to_string().contains("operators[0].inputs[0]: there is no tensor"), "{error}");
/// ```
pub fn read_order_graph_bytes(name: &str, bytes: &[u8]) -> Result<OrderGraph, ReadError> {
    let document = Document::parse(name, bytes)?;
    graph(&document).map_err(|e| document.error(e))
}

fn graph(document: &Document) -> Result<OrderGraph, Failure> {
    let problem = "this file is not a graph of operators, or one of another version";
    let text: GraphText<'_> = document.read_as(ORDER_SCHEMA, problem)?;
    let tensors = text.tensors.len();
    let operators = text.operators.len();
    let edges = |list: &Option<Vec<Edge>>| -> Result<Vec<[OperatorId; 2]>, Failure> {
        let list = list.iter().flatten();
        list.map(|Edge([a, b])| Ok([operator(a, operators)?, operator(b, operators)?]))
            .collect()
    };
    let program = match &text.program_order {
        Some(list) => list.iter().map(|id| operator(id, operators)).collect(),
        None => Ok((0..operators as u32).map(OperatorId).collect()),
    };
    let read_operators = text.operators.iter().enumerate();
    let read_operators = read_operators.map(|(i, v)| read_operator(i, v, tensors));
    let read_tensors = text.tensors.iter().enumerate();
    let read_tensors = read_tensors.map(|(i, t)| read_tensor(i, t, tensors));
    let data = OrderGraphData {
        name: text.name.map_or_else(|| document.stem().into(), Name::from),
        model: text.model.map(Name::from),
        batch: text.batch,
        unused_resident_bytes: text.unused_resident_bytes.unwrap_or(0),
        alignment_bytes: text.alignment_bytes.unwrap_or(0),
        operators: read_operators.collect::<Result<_, _>>()?,
        tensors: read_tensors.collect::<Result<_, _>>()?,
        order_edges: edges(&text.order_edges)?,
        sound_order_edges: edges(&text.sound_order_edges)?,
        rng_order_edges: edges(&text.rng_order_edges)?,
        olla_early_edges: edges(&text.olla_early_edges)?,
        olla_late_edges: edges(&text.olla_late_edges)?,
        program_order: program?,
    };
    check_base(text.base_bytes, &data)?;
    OrderGraph::new(data).map_err(|e| {
        let span = place(document, &e.path).unwrap_or(document.root());
        let problem = format!("{} ({})", e.problem, e.path);
        FaultKind::Value
            .fail(span, problem, e.remedy)
            .found(e.value)
    })
}

/// Compares the stated base memory with the sum of the resident tensors.
fn check_base(stated: Option<Spanned<SizeSum>>, data: &OrderGraphData) -> Result<(), Failure> {
    let Some(stated) = stated else { return Ok(()) };
    let resident = data.tensors.iter().filter(|t| t.resident);
    let sum: u128 = resident.map(|t| u128::from(t.bytes)).sum();
    let sum = sum + u128::from(data.unused_resident_bytes);
    if stated.value.0 == sum {
        return Ok(());
    }
    let problem = "the base differs from the sum of resident tensors and `unused_resident_bytes`";
    let remedy = format!("give {sum}, or leave `base_bytes` out");
    Err(FaultKind::Value.fail(stated.span, problem, remedy))
}

fn operator(id: &Id, count: usize) -> Result<OperatorId, Failure> {
    id.index(count, "operator").map(|i| OperatorId(i as u32))
}

fn tensor(id: &Id, count: usize) -> Result<TensorId, Failure> {
    id.index(count, "tensor").map(|i| TensorId(i as u32))
}

/// Checks that an id, if given, is the position of its entry.
fn check_id(id: Option<Id>, position: usize) -> Result<(), Failure> {
    match id {
        Some(id) if *id != position as u64 => {
            let problem = "the id is not the position in the list";
            let remedy = format!("give {position}, or leave `id` out");
            Err(FaultKind::Value.fail(id.span, problem, remedy))
        }
        _ => Ok(()),
    }
}

fn read_operator(i: usize, text: &OperatorText<'_>, count: usize) -> Result<Operator, Failure> {
    check_id(text.id, i)?;
    let list = |ids: &Option<Vec<Id>>| -> Result<Vec<TensorId>, Failure> {
        ids.iter().flatten().map(|id| tensor(id, count)).collect()
    };
    Ok(Operator {
        name: text.name.unwrap_or_default().into(),
        kind: text.kind.unwrap_or_default().into(),
        inputs: list(&text.inputs)?,
        outputs: list(&text.outputs)?,
        writes: list(&text.writes)?,
        workspace_bytes: text.workspace_bytes.unwrap_or(0),
    })
}

fn read_tensor(i: usize, text: &TensorText<'_>, count: usize) -> Result<Tensor, Failure> {
    check_id(text.id, i)?;
    let optional = |id: &Option<Id>| id.as_ref().map(|id| tensor(id, count)).transpose();
    Ok(Tensor {
        name: text.name.unwrap_or_default().into(),
        bytes: text.bytes,
        resident: text.resident.unwrap_or(false),
        result: text.result.unwrap_or(false),
        alignment_bytes: text.alignment_bytes.unwrap_or(0),
        alias_of: optional(&text.alias_of)?,
        in_place_on: optional(&text.in_place_on)?,
    })
}

/// Lists with entries that errors point to.
#[derive(Deserialize)]
struct EntryPlaces {
    operators: Spanned<Vec<Unread>>,
    tensors: Spanned<Vec<Unread>>,
    order_edges: Option<Spanned<Vec<Unread>>>,
    sound_order_edges: Option<Spanned<Vec<Unread>>>,
    rng_order_edges: Option<Spanned<Vec<Unread>>>,
    olla_early_edges: Option<Spanned<Vec<Unread>>>,
    olla_late_edges: Option<Spanned<Vec<Unread>>>,
    program_order: Option<Spanned<Vec<Unread>>>,
}

/// The place of an entry of a list, for a path that begins with it.
fn place(document: &Document, path: &str) -> Option<Span> {
    let places: EntryPlaces = document.read().ok()?;
    let (name, rest) = path.split_once('[').unwrap_or((path, ""));
    let list = match name {
        "operators" => places.operators,
        "tensors" => places.tensors,
        "order_edges" => places.order_edges?,
        "sound_order_edges" => places.sound_order_edges?,
        "rng_order_edges" => places.rng_order_edges?,
        "olla_early_edges" => places.olla_early_edges?,
        "olla_late_edges" => places.olla_late_edges?,
        "program_order" => places.program_order?,
        _ => return None,
    };
    let index = rest.split(']').next().and_then(|i| i.parse().ok());
    let entry = index.and_then(|i: usize| list.get(i));
    Some(entry.map_or(list.span, |entry| entry.span))
}

/// Writes a graph as a `remat-order/1` document: JSON with one operator or tensor per line.
///
/// ```
/// use remat_instances::order::{read_order_graph_bytes, write_order_graph};
/// let text = r#"{"schema": "remat-order/1",
///     "operators": [{"outputs": [0]}], "tensors": [{"bytes": 5}]}"#;
/// let graph = read_order_graph_bytes("one.json", text.as_bytes())?;
/// let again = read_order_graph_bytes("again.json", write_order_graph(&graph).as_bytes())?;
/// assert_eq!((again.digest(), again), (graph.digest(), graph));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn write_order_graph(graph: &OrderGraph) -> String {
    let data = graph.data();
    let resident = data.tensors.iter().filter(|t| t.resident);
    let resident: u128 = resident.map(|t| u128::from(t.bytes)).sum();
    let base = SizeSum(resident + u128::from(data.unused_resident_bytes));
    let edges = |list: &[[OperatorId; 2]]| -> Option<Vec<Edge>> {
        let edge = |e: &[OperatorId; 2]| Edge(e.map(|v| u64::from(v.0).into()));
        Some(list.iter().map(edge).collect())
    };
    let operators = data
        .operators
        .iter()
        .enumerate()
        .map(|(i, v)| OperatorText {
            id: Some((i as u64).into()),
            name: (!v.name.is_empty()).then_some(v.name.as_str()),
            kind: (!v.kind.is_empty()).then_some(v.kind.as_str()),
            inputs: Some(ids(&v.inputs)),
            outputs: Some(ids(&v.outputs)),
            writes: (!v.writes.is_empty()).then(|| ids(&v.writes)),
            workspace_bytes: Some(v.workspace_bytes),
        });
    let tensors = data.tensors.iter().enumerate().map(|(i, t)| TensorText {
        id: Some((i as u64).into()),
        name: (!t.name.is_empty()).then_some(t.name.as_str()),
        bytes: t.bytes,
        resident: Some(t.resident),
        result: t.result.then_some(true),
        alignment_bytes: (t.alignment_bytes > 0).then_some(t.alignment_bytes),
        alias_of: t.alias_of.map(|t| u64::from(t.0).into()),
        in_place_on: t.in_place_on.map(|t| u64::from(t.0).into()),
    });
    Lines::new(1, true).write(&GraphText {
        schema: ORDER_SCHEMA,
        name: Some(&data.name),
        _description: None,
        model: data.model.as_deref(),
        batch: data.batch,
        unused_resident_bytes: Some(data.unused_resident_bytes),
        base_bytes: Some(base.into()),
        alignment_bytes: (data.alignment_bytes > 0).then_some(data.alignment_bytes),
        operators: operators.collect(),
        tensors: tensors.collect(),
        order_edges: edges(&data.order_edges),
        sound_order_edges: edges(&data.sound_order_edges),
        rng_order_edges: edges(&data.rng_order_edges),
        olla_early_edges: edges(&data.olla_early_edges),
        olla_late_edges: edges(&data.olla_late_edges),
        program_order: Some(
            data.program_order
                .iter()
                .map(|v| u64::from(v.0).into())
                .collect(),
        ),
    })
}

fn ids(list: &[TensorId]) -> Vec<Id> {
    list.iter().map(|t| u64::from(t.0).into()).collect()
}
