//! The proof format of MONeT's rows and quantities.

use super::{Derivation, MonetGraph, PathCut, Quantity, Row, RowKind};
use crate::life::proof::{self, Limited, Proven, write_branch, write_list, write_pairs};
use crate::life::{Which, multipliers};
use remat_instances::Instance;
use remat_search::BoundProof;
use remat_solver::price::TreeProof;
use std::fmt::Write;

/// The proof of a tree's bound; `graph` is the program of the instance for the budget.
pub fn tree_proof(
    instance: &Instance,
    budget_bytes: u64,
    graph: &MonetGraph,
    tree: &TreeProof<MonetGraph>,
) -> BoundProof {
    proof::of_tree(instance, budget_bytes, graph, tree)
}

impl Proven for MonetGraph {
    const NAME: &'static str = "monet";

    fn multipliers(&self, rows: &[Row], duals: &[f64]) -> Option<(u32, Vec<i128>)> {
        multipliers(self, rows, duals)
    }

    fn is_left_out(&self, row: &Row) -> bool {
        matches!(row.kind, RowKind::First | RowKind::Choose)
    }

    fn limited(&self, row: &Row) -> Option<Limited> {
        self.limited_by(&row.derivation)
    }

    fn write_row(&self, row: &Row, text: &mut String) {
        self.write_derivation(&row.derivation, 0, text);
    }

    fn write_quantity(&self, quantity: &Quantity, text: &mut String) {
        // Writing to a string cannot fail.
        match quantity {
            Quantity::Choice { of, way } => {
                let stages = of.list(&self.choice_classes).iter();
                let runs = stages.map(|&t| (t, self.implementation(t, *way)));
                text.push_str("choice");
                write_pairs(runs, text);
            }
            Quantity::Starts { of, first, last } => {
                let _ = write!(text, "starts {first} {last}");
                write_list(of.list(&self.classes).iter(), text);
            }
            Quantity::Stored { of, stage } => {
                let _ = write!(text, "held {stage}");
                write_list(of.list(&self.classes).iter(), text);
            }
            Quantity::Scratch { node, stage, bytes } => {
                let _ = write!(text, "scratch {stage} {node} {bytes}");
            }
            Quantity::InPlace { node, stage } => {
                let _ = write!(text, "in-place {stage} {node}");
            }
        }
    }
}

impl MonetGraph {
    /// The implementation that a choice of a stage runs.
    fn implementation(&self, stage: u32, way: u32) -> u16 {
        self.choices[stage as usize][way as usize].implementation
    }

    /// The moment whose memory a row limits. Backward nodes are numbered behind the loss, which
    /// begins stage 0.
    fn limited_by(&self, derivation: &Derivation) -> Option<Limited> {
        let loss = self.columns as u32 - 1;
        let end = |stage: u32, node: u32| match stage {
            0 => node,
            _ => loss + stage,
        };
        let of_path = |cut: &PathCut| Limited::by_bytes(end(cut.reader, cut.source), cut.source);
        match derivation {
            Derivation::Memory { stage, node, .. } => {
                Some(Limited::by_bytes(end(*stage, *node), *node))
            }
            Derivation::Backward { stage } => Some(Limited::by_bytes(loss + stage, loss + stage)),
            Derivation::PathMemory { cut, .. } | Derivation::Either { cut, .. } => {
                Some(of_path(cut))
            }
            Derivation::Cover { moment, cover, .. } => {
                let (stage, last) = (moment.stage, loss + moment.stage);
                let room = match moment.node {
                    Some(_) => self.room[stage as usize],
                    None => self.backward_room[stage as usize],
                };
                let node = moment.node.unwrap_or(last);
                Some(Limited::by_weights(
                    end(stage, node),
                    node,
                    cover.most,
                    room,
                ))
            }
            Derivation::PathCover { cut, cover, .. } => {
                let (last, room) = (end(cut.reader, cut.source), self.room[cut.reader as usize]);
                Some(Limited::by_weights(last, cut.source, cover.most, room))
            }
            Derivation::Rounded { of, .. } => self.limited_by(of),
            _ => None,
        }
    }

    /// Writes a row that is rounded by a unit; 0 if it is not rounded.
    fn write_derivation(&self, derivation: &Derivation, unit: i64, text: &mut String) {
        let _ = match derivation {
            // Left out.
            Derivation::First | Derivation::Choose => Ok(()),
            Derivation::Need { stage, node } => write!(text, "need {node} {stage}"),
            Derivation::Input { stage, node, input } => {
                write!(text, "input {stage} {node} {input}")
            }
            Derivation::Parent { stage, node, which } => {
                let kind = match which {
                    Which::InPlace => "in-place",
                    Which::Plain => "plain",
                    _ => "all",
                };
                write!(text, "parent {stage} {node} {kind}")
            }
            Derivation::Overwritten { stage, node } => write!(text, "overwritten {stage} {node}"),
            Derivation::Ended { stage, node } => write!(text, "ended {stage} {node}"),
            Derivation::Memory {
                stage,
                node,
                by_run: None,
            } => write!(text, "memory {stage} {node} {unit}"),
            Derivation::Memory {
                stage,
                node,
                by_run: Some(by_run),
            } => {
                let _ = write!(text, "run {stage} {node} {unit}");
                write_list(by_run.iter(), text);
                Ok(())
            }
            Derivation::Backward { stage } => write!(text, "backward {stage} {unit}"),
            Derivation::Path(cut) => {
                self.write_paths("path", cut, text);
                Ok(())
            }
            Derivation::PathMemory {
                cut,
                since,
                staying,
            } => {
                self.write_paths("path-memory", cut, text);
                let _ = write!(text, " {since} {unit}");
                write_list(staying.iter(), text);
                Ok(())
            }
            Derivation::Either {
                cut,
                room,
                more,
                staying,
                beside,
            } => {
                self.write_paths("either", cut, text);
                let _ = write!(text, " {room} {more}");
                write_list(staying.iter(), text);
                write_pairs(beside.iter().copied(), text);
                Ok(())
            }
            Derivation::Cover { moment, run, cover } => {
                let stage = moment.stage;
                let _ = match (moment.node, moment.scratch) {
                    (Some(node), None) => write!(text, "cover {stage} {node}"),
                    (Some(node), Some(bytes)) => {
                        write!(text, "cover-run {stage} {node} {bytes} {run}")
                    }
                    (None, scratch) => {
                        let bytes = scratch.unwrap_or(0);
                        write!(text, "cover-backward {stage} {bytes} {run}")
                    }
                };
                let _ = write!(text, " {}", cover.most);
                write_pairs(cover.weights.iter().copied(), text);
                Ok(())
            }
            Derivation::PathCover {
                cut,
                since,
                due,
                cover,
            } => {
                self.write_paths("cover-path", cut, text);
                let _ = write!(text, " {since} {due} {}", cover.most);
                write_pairs(cover.weights.iter().copied(), text);
                Ok(())
            }
            Derivation::Rounded { of, unit } => {
                self.write_derivation(of, *unit, text);
                Ok(())
            }
            Derivation::Branch(branch) => {
                text.push_str("branch ");
                write_branch(self, branch, text);
                Ok(())
            }
        };
    }

    /// Writes a word, a window, a source, the nodes of its paths and the implementations that they
    /// stand for.
    fn write_paths(&self, word: &str, cut: &PathCut, text: &mut String) {
        let PathCut {
            from,
            reader,
            source,
            ..
        } = cut;
        let _ = write!(text, "{word} {from} {reader} {source}");
        write_list(cut.stored.iter(), text);
        let ways = cut.ways.iter();
        write_list(ways.map(|way| self.implementation(*reader, *way)), text);
    }
}
