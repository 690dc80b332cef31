//! The proof format of Checkmate's rows and quantities.

use super::{CheckmateGraph, Quantity, Row};
use crate::life::multipliers;
use crate::life::proof::{self, Limited, Proven, write_branch, write_list, write_pairs};
use remat_instances::Instance;
use remat_search::{ALL_PLANS, BoundProof, PLANS_IN_THIS_ORDER};
use remat_solver::price::TreeProof;
use std::fmt::Write;

/// The proof of a tree's bound; `graph` is the program of the instance for the budget.
pub fn tree_proof(
    instance: &Instance,
    budget_bytes: u64,
    graph: &CheckmateGraph,
    tree: &TreeProof<CheckmateGraph>,
) -> BoundProof {
    proof::of_tree(instance, budget_bytes, graph, tree)
}

impl Proven for CheckmateGraph {
    const NAME: &'static str = "checkmate";

    fn multipliers(&self, rows: &[Row], duals: &[f64]) -> Option<(u32, Vec<i128>)> {
        multipliers(self, rows, duals)
    }

    fn write_terms(&self, instance: &Instance, text: &mut String) {
        if self.has_moments() {
            let scope = match instance.has_forced_order() {
                true => ALL_PLANS,
                false => PLANS_IN_THIS_ORDER,
            };
            let _ = writeln!(text, "scope {scope}");
        }
        if let Some(rules) = &self.rules {
            let _ = writeln!(text, "class {}", rules.class());
        }
    }

    fn limited(&self, row: &Row) -> Option<Limited> {
        match row {
            Row::Memory { stage, node, .. } => Some(Limited::by_bytes(*stage, *node)),
            Row::Around(at) => Some(Limited::by_bytes(at.stage, at.node)),
            Row::PathMemory(cut) => Some(Limited::by_bytes(cut.path.reader, cut.path.source())),
            Row::Cover(at) => {
                let room = self.capacity as i64;
                Some(Limited::by_weights(at.stage, at.node, at.cover.most, room))
            }
            Row::Need { .. } | Row::Input { .. } | Row::Parent { .. } => None,
            Row::Path(_) | Row::Class(_) | Row::Branch(_) => None,
        }
    }

    fn write_row(&self, row: &Row, text: &mut String) {
        // Writing to a string cannot fail.
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
                let unit = self.gauges[*gauge as usize].unit;
                let _ = write!(text, "memory {stage} {node} {unit}");
            }
            Row::Around(row) => row.write(self, text),
            Row::Cover(at) => {
                let (most, made) = (at.cover.most, at.made);
                let _ = write!(text, "cover {} {} {most} {made}", at.stage, at.node);
                write_pairs(at.cover.weights.iter().copied(), text);
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
                write_pairs(cut.companions.iter().copied(), text);
                let _ = write!(text, " {}", cut.other_bytes);
            }
            Row::Class(row) => row.write(text),
            Row::Branch(branch) => {
                text.push_str("branch ");
                write_branch(self, branch, text);
            }
        }
    }

    fn write_quantity(&self, quantity: &Quantity, text: &mut String) {
        let _ = match quantity {
            Quantity::Starts { first, last, .. } => write!(text, "starts {first} {last}"),
            Quantity::Held { stage, .. } => write!(text, "held {stage}"),
        };
        write_list(quantity.of().list(&self.classes).iter(), text);
    }
}
