//! Conditions for data to be a valid graph.

use super::{Operator, OperatorId, OrderGraph, OrderGraphData, TensorId, Variant};
use crate::instance::StructureError;
use crate::number::LARGEST_VALUE;

/// Largest number of operators and of tensors in a graph.
const MOST_ENTRIES: usize = 1 << 30;
/// Limit of the sum of all sizes in bytes, so that sums of sizes and of flows stay exact.
const MOST_BYTES: u64 = 1 << 60;
/// Largest alignment, in bytes.
const LARGEST_ALIGNMENT: u64 = 1 << 40;

/// An error at a path, with the value found.
fn fault<T>(
    path: impl Into<String>,
    value: impl ToString,
    problem: impl Into<String>,
    remedy: impl Into<String>,
) -> Result<T, StructureError> {
    Err(StructureError {
        path: path.into(),
        value: value.to_string(),
        problem: problem.into(),
        remedy: remedy.into(),
    })
}

/// Checks all conditions except acyclicity. Returns the owner of each tensor's storage.
pub(super) fn check(data: &OrderGraphData) -> Result<Vec<TensorId>, StructureError> {
    for (what, count) in [
        ("operators", data.operators.len()),
        ("tensors", data.tensors.len()),
    ] {
        if count > MOST_ENTRIES {
            let remedy = format!("give at most {MOST_ENTRIES}");
            return fault(what, count, "the list is too long", remedy);
        }
    }
    let producer = producers(data)?;
    check_sizes(data)?;
    for (i, operator) in data.operators.iter().enumerate() {
        check_operator(data, i, operator)?;
    }
    for i in 0..data.tensors.len() {
        check_tensor(data, &producer, i)?;
    }
    for (name, edges) in [
        ("order_edges", &data.order_edges),
        ("sound_order_edges", &data.sound_order_edges),
        ("rng_order_edges", &data.rng_order_edges),
        ("olla_early_edges", &data.olla_early_edges),
        ("olla_late_edges", &data.olla_late_edges),
    ] {
        check_edges(data, name, edges)?;
    }
    check_permutation(data)?;
    let roots = roots(data)?;
    check_overwriting(data, &roots)?;
    Ok(roots)
}

/// Checks that no operator overwrites a storage twice.
fn check_overwriting(data: &OrderGraphData, roots: &[TensorId]) -> Result<(), StructureError> {
    for operator in &data.operators {
        let outputs = operator.outputs.iter().map(|t| t.index());
        let mut written = Vec::new();
        for i in outputs.filter(|i| data.tensors[*i].in_place_on.is_some()) {
            if written.contains(&roots[i]) {
                let path = format!("tensors[{i}].in_place_on");
                let problem = "its producer overwrites that storage with another output as well";
                let remedy = "let one output be in place, and the other a view of it";
                return fault(path, roots[i], problem, remedy);
            }
            written.push(roots[i]);
        }
    }
    Ok(())
}

/// The producer of each tensor.
fn producers(data: &OrderGraphData) -> Result<Vec<Option<OperatorId>>, StructureError> {
    let mut producer: Vec<Option<OperatorId>> = vec![None; data.tensors.len()];
    for (i, operator) in data.operators.iter().enumerate() {
        for (k, output) in operator.outputs.iter().enumerate() {
            let path = format!("operators[{i}].outputs[{k}]");
            let slot = match producer.get_mut(output.index()) {
                Some(slot) => slot,
                None => return no_tensor(data, path, *output),
            };
            if let Some(first) = slot {
                let problem = format!("operator {first} makes this tensor already");
                return fault(
                    path,
                    output,
                    problem,
                    "name a tensor once among all outputs",
                );
            }
            *slot = Some(OperatorId(i as u32));
        }
    }
    Ok(producer)
}

fn no_tensor<T>(data: &OrderGraphData, path: String, id: TensorId) -> Result<T, StructureError> {
    let remedy = match data.tensors.len() {
        0 => "there is none at all".into(),
        count => format!("numbers go from 0 to {}", count - 1),
    };
    fault(path, id, "there is no tensor with this number", remedy)
}

fn check_sizes(data: &OrderGraphData) -> Result<(), StructureError> {
    check_alignment("alignment_bytes".into(), data.alignment_bytes)?;
    let mut total = 0u64;
    let unused = (
        "unused_resident_bytes".to_string(),
        data.unused_resident_bytes,
        0,
    );
    let tensors = data.tensors.iter().enumerate();
    let tensors = tensors.map(|(i, t)| (format!("tensors[{i}].bytes"), t.bytes, t.alignment_bytes));
    let operators = data.operators.iter().enumerate();
    let workspaces = operators.map(|(i, v)| {
        let path = format!("operators[{i}].workspace_bytes");
        (path, v.workspace_bytes, 0)
    });
    for (path, bytes, alignment) in tensors.chain(workspaces).chain([unused]) {
        if bytes > LARGEST_VALUE {
            let remedy = format!("give at most 2^53 - 1 = {LARGEST_VALUE}: check the unit");
            return fault(path, bytes, "the size is too large", remedy);
        }
        check_alignment(path.replace(".bytes", ".alignment_bytes"), alignment)?;
        total += super::graph::round_up(bytes, alignment.max(data.alignment_bytes));
        if total > MOST_BYTES {
            let remedy = format!("give sizes of at most {MOST_BYTES} bytes together");
            return fault(path, bytes, "all sizes together are too large", remedy);
        }
    }
    Ok(())
}

fn check_alignment(path: String, alignment: u64) -> Result<(), StructureError> {
    let is_power = alignment == 0 || alignment.is_power_of_two();
    if is_power && alignment <= LARGEST_ALIGNMENT {
        return Ok(());
    }
    let remedy = format!("give a power of two up to {LARGEST_ALIGNMENT}, for example 512");
    fault(path, alignment, "the alignment is no power of two", remedy)
}

fn check_operator(
    data: &OrderGraphData,
    i: usize,
    operator: &Operator,
) -> Result<(), StructureError> {
    for (name, list) in [("inputs", &operator.inputs), ("writes", &operator.writes)] {
        for (k, tensor) in list.iter().enumerate() {
            let path = format!("operators[{i}].{name}[{k}]");
            if tensor.index() >= data.tensors.len() {
                return no_tensor(data, path, *tensor);
            }
            if list[..k].contains(tensor) {
                let remedy = "name it once";
                return fault(path, tensor, "the tensor stands here twice", remedy);
            }
            if operator.outputs.contains(tensor) {
                let remedy = "an output made in place is a tensor of its own, `in_place_on` that";
                let problem = "the operator reads what it makes";
                return fault(path, tensor, problem, remedy);
            }
        }
    }
    for (k, tensor) in operator.writes.iter().enumerate() {
        if !operator.inputs.contains(tensor) {
            let path = format!("operators[{i}].writes[{k}]");
            let problem = "the operator modifies a tensor that it does not read";
            return fault(path, tensor, problem, "name an entry of `inputs`");
        }
    }
    Ok(())
}

fn check_tensor(
    data: &OrderGraphData,
    producer: &[Option<OperatorId>],
    i: usize,
) -> Result<(), StructureError> {
    let tensor = &data.tensors[i];
    if let (true, Some(operator)) = (tensor.resident, producer[i]) {
        let path = format!("tensors[{i}].resident");
        let problem = format!("operator {operator} makes this tensor");
        return fault(path, true, problem, "resident tensors have no producer");
    }
    if !tensor.resident && producer[i].is_none() {
        let path = format!("tensors[{i}]");
        let remedy = "add it to the outputs of an operator, or say `\"resident\": true`";
        return fault(path, &tensor.name, "no operator makes this tensor", remedy);
    }
    if let (Some(on), Some(_)) = (tensor.in_place_on, tensor.alias_of) {
        let path = format!("tensors[{i}].in_place_on");
        let problem = "the tensor is a view as well";
        return fault(
            path,
            on,
            problem,
            "give `alias_of` or `in_place_on`, not both",
        );
    }
    for (name, other) in [
        ("alias_of", tensor.alias_of),
        ("in_place_on", tensor.in_place_on),
    ] {
        let Some(other) = other else { continue };
        let path = format!("tensors[{i}].{name}");
        if other.index() >= data.tensors.len() {
            return no_tensor(data, path, other);
        }
        let reads = producer[i].is_some_and(|v| data.operators[v.index()].inputs.contains(&other));
        if !reads {
            let problem = "the producer of the tensor does not read that one";
            return fault(path, other, problem, "name an input of its producer");
        }
        if name == "in_place_on" && tensor.bytes > data.tensors[other.index()].bytes {
            let problem = format!("{} bytes do not fit in place there", tensor.bytes);
            return fault(path, other, problem, "name an input of at least its size");
        }
    }
    Ok(())
}

fn check_edges(
    data: &OrderGraphData,
    name: &str,
    edges: &[[OperatorId; 2]],
) -> Result<(), StructureError> {
    let count = data.operators.len();
    for (k, edge) in edges.iter().enumerate() {
        let path = format!("{name}[{k}]");
        if let Some(end) = edge.iter().find(|v| v.index() >= count) {
            let remedy = format!("numbers of operators are below {count}");
            return fault(path, end, "there is no operator with this number", remedy);
        }
        if edge[0] == edge[1] {
            let remedy = "give [before, after] of two operators";
            return fault(path, edge[0], "an operator comes before itself", remedy);
        }
    }
    Ok(())
}

fn check_permutation(data: &OrderGraphData) -> Result<(), StructureError> {
    let count = data.operators.len();
    let mut seen = vec![false; count];
    for (k, v) in data.program_order.iter().enumerate() {
        let path = format!("program_order[{k}]");
        match seen.get_mut(v.index()) {
            Some(seen) if !*seen => *seen = true,
            Some(_) => {
                return fault(
                    path,
                    v,
                    "the operator stands here twice",
                    "name each one once",
                );
            }
            None => {
                let remedy = format!("numbers of operators are below {count}");
                return fault(path, v, "there is no operator with this number", remedy);
            }
        }
    }
    if let Some(missing) = seen.iter().position(|seen| !seen) {
        let problem = format!("operator {missing} is missing");
        let found = format!("{} of {count} operators", data.program_order.len());
        return fault("program_order", found, problem, "name every operator once");
    }
    Ok(())
}

/// The owner of each tensor's storage, found by following shared storages.
fn roots(data: &OrderGraphData) -> Result<Vec<TensorId>, StructureError> {
    let count = data.tensors.len();
    let mut root: Vec<Option<TensorId>> = vec![None; count];
    for i in 0..count {
        let mut chain = Vec::new();
        let mut at = i;
        let found = loop {
            if let Some(known) = root[at] {
                break known;
            }
            chain.push(at);
            match data.tensors[at].shares() {
                None => break TensorId(at as u32),
                // The chain is longer than the number of tensors, so it is a cycle.
                Some(_) if chain.len() > count => {
                    let path = format!("tensors[{i}]");
                    let problem = "views and tensors in place go round";
                    return fault(
                        path,
                        i,
                        problem,
                        "let each share the storage of an earlier one",
                    );
                }
                Some(next) => at = next.index(),
            }
        };
        for at in chain {
            root[at] = Some(found);
        }
    }
    Ok(root.into_iter().flatten().collect())
}

/// Checks that the operators have no cycle.
pub(super) fn check_acyclic(graph: &OrderGraph) -> Result<(), StructureError> {
    match graph.problem(Variant::Free) {
        Ok(_) => Ok(()),
        Err(cycle) => {
            let problem = "operators wait for each other";
            fault(
                "operators",
                cycle.names,
                problem,
                "leave an edge of the cycle out",
            )
        }
    }
}
