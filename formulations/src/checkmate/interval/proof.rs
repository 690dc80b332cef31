//! Proofs of bounds, as text (`remat-proof/1`, `docs/proof.md`) that can be checked without the
//! solver.

use super::{Branch, CheckmateGraph, Quantity, Row};
use crate::life::multipliers;
use crate::solve::BoundProof;
use remat_instances::instance::{Instance, NodeId};
use remat_solver::price::TreeProof;
use std::fmt::Write;

/// Every schedule costs what computing every node once costs.
pub(in crate::checkmate) fn trivial(instance: &Instance, budget_bytes: u64) -> BoundProof {
    let bound = instance.base_cost();
    let mut text = head(instance, budget_bytes, &format!("bound {bound}"));
    text.push_str("rows 0\nnodes 1\nroot 0 0\n");
    BoundProof::new(text, Some(bound))
}

/// A node does not fit beside its inputs and what is always there.
pub(in crate::checkmate) fn too_small(
    instance: &Instance,
    budget_bytes: u64,
    node: NodeId,
) -> BoundProof {
    BoundProof::new(
        head(instance, budget_bytes, &format!("too-small {}", node.0)),
        None,
    )
}

/// The proof of a tree's bound; `graph` is the instance's for the budget.
pub fn tree_proof(
    instance: &Instance,
    budget_bytes: u64,
    graph: &CheckmateGraph,
    tree: &TreeProof<CheckmateGraph>,
) -> BoundProof {
    use remat_solver::price::Columns;
    let proven = tree.bound().max(graph.base_cost());
    let bound = (proven <= graph.cost_upper_bound()).then_some(proven);
    let claim = bound.map_or("infeasible".into(), |b| format!("bound {b}"));
    let mut text = head(instance, budget_bytes, &claim);
    // Writing to a string cannot fail.
    let _ = writeln!(text, "rows {}", tree.rows.len());
    for row in &tree.rows {
        write_row(graph, row, &mut text);
    }
    let _ = writeln!(text, "nodes {}", tree.nodes.len());
    for node in &tree.nodes {
        match node.above {
            None => text.push_str("root"),
            Some((above, None)) => {
                let _ = write!(text, "again {above}");
            }
            Some((above, Some(branch))) => {
                let _ = write!(text, "below {above} ");
                write_branch(graph, &branch, &mut text);
            }
        }
        let rows: Vec<Row> = node
            .duals
            .iter()
            .map(|d| tree.rows[d.0 as usize].clone())
            .collect();
        let duals: Vec<f64> = node.duals.iter().map(|d| d.1).collect();
        let (bits, fixed) = multipliers(graph, &rows, &duals).unwrap_or_default();
        let used = node.duals.iter().zip(fixed).filter(|d| d.1 != 0);
        let used: Vec<(u32, i128)> = used.map(|(d, y)| (d.0, y)).collect();
        let _ = writeln!(text, " {bits} {}", used.len());
        for (row, multiplier) in used {
            // Those of memory rows are written as prices of a byte.
            let _ = writeln!(text, "{row} {}", multiplier.abs());
        }
    }
    BoundProof::new(text, bound)
}

fn head(instance: &Instance, budget_bytes: u64, claim: &str) -> String {
    format!(
        "remat-proof/1\ninstance {}\nbudget {budget_bytes}\nclaim {claim}\n",
        instance.name()
    )
}

fn write_list<T: std::fmt::Display>(list: impl ExactSizeIterator<Item = T>, text: &mut String) {
    let _ = write!(text, " {}", list.len());
    for item in list {
        let _ = write!(text, " {item}");
    }
}

fn write_row(graph: &CheckmateGraph, row: &Row, text: &mut String) {
    match row {
        Row::Need { node, reader } => {
            let _ = write!(text, "need {node} {reader}");
        }
        Row::Input { stage, node, input } => {
            let _ = write!(text, "input {stage} {node} {input}");
        }
        Row::Parent { stage, node } => {
            let _ = write!(text, "parent {stage} {node}");
        }
        Row::Memory { stage, node, gauge } => {
            let unit = graph.gauges[*gauge as usize].unit;
            let _ = write!(text, "memory {stage} {node} {unit}");
        }
        Row::Cover(at) => {
            let (most, made) = (at.cover.most, at.made);
            let _ = write!(text, "cover {} {} {most} {made}", at.stage, at.node);
            let weights = at.cover.weights.iter();
            write_list(weights.map(|w| format!("{} {}", w.0, w.1)), text);
        }
        Row::Path(cut) => {
            let _ = write!(text, "path {} {}", cut.from, cut.reader);
            write_list(cut.path.iter(), text);
        }
        Row::PathMemory(cut) => {
            let path = &cut.path;
            let _ = write!(text, "path-memory {} {}", path.from, path.reader);
            write_list(path.path.iter(), text);
            write_list(cut.staying.iter(), text);
            write_list(
                cut.companions.iter().map(|g| format!("{} {}", g.0, g.1)),
                text,
            );
            let _ = write!(text, " {}", cut.other_bytes);
        }
        Row::Branch(branch) => {
            text.push_str("branch ");
            write_branch(graph, branch, text);
        }
    }
    text.push('\n');
}

fn write_branch(graph: &CheckmateGraph, branch: &Branch, text: &mut String) {
    let _ = match branch.quantity {
        Quantity::Starts { first, last, .. } => write!(text, "starts {first} {last}"),
        Quantity::Held { stage, .. } => write!(text, "held {stage}"),
    };
    write_list(branch.quantity.of().list(&graph.classes).iter(), text);
    let sense = if branch.at_least { ">=" } else { "<=" };
    let _ = write!(text, " {sense} {}", branch.count);
}
