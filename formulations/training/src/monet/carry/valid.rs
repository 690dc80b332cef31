//! Validity of origins: every schedule satisfies the row that an origin makes.

use super::origin::Origin;
use crate::life::Which;
use crate::monet::interval::{MonetGraph, PathCut};

impl Origin {
    /// Returns whether the row belongs to a program.
    pub fn is_valid(&self, graph: &MonetGraph) -> bool {
        let is_node = |i: &u32| (*i as usize) < graph.columns;
        let is_stage = |t: &u32| (*t as usize) < graph.stages;
        match self {
            Origin::First { node } => is_node(node) && graph.is_forced(*node),
            Origin::Choose { stage } => is_stage(stage) && graph.choices[*stage as usize].len() > 1,
            Origin::Need { stage, node } => {
                is_stage(stage) && is_node(node) && graph.is_read(*node, *stage)
            }
            Origin::Input { stage, node, input } => {
                is_stage(stage) && is_node(node) && graph.needs[*node as usize].contains(input)
            }
            Origin::Parent {
                stage,
                node,
                parent,
                which,
            } => {
                let both = graph.may_overwrite(*node) && graph.may_overwrite(*parent);
                is_stage(stage)
                    && graph.parent[*node as usize] == Some(*parent)
                    && (*which == Which::All || both)
            }
            Origin::Overwritten { stage, node, over } => {
                is_stage(stage) && is_node(node) && graph.over[*node as usize] == Some(*over)
            }
            Origin::Ended { stage, node, over } => {
                let overwrites = is_node(node) && graph.over[*node as usize] == Some(*over);
                is_stage(stage) && *stage > 0 && overwrites
            }
            Origin::Turn { stage, behind } => {
                is_stage(stage) && behind.is_none_or(|i| is_node(&(i + 1)))
            }
            Origin::Run {
                stage,
                node,
                passing,
                ..
            } => {
                let is_position = |k: &usize| *k < graph.passing[*node as usize].len();
                is_stage(stage) && is_node(node) && passing.iter().all(is_position)
            }
            Origin::Backward { stage } => is_stage(stage) && *stage > 0,
            Origin::Path(cut) => graph.has_paths(cut),
            Origin::PathMemory {
                cut,
                since,
                staying,
            } => {
                graph.has_paths(cut)
                    && (cut.from..=cut.reader).contains(since)
                    && staying.is_sorted_by(|a, b| a < b)
                    && staying.iter().all(|k| graph.may_stay(cut, *k))
            }
        }
    }
}

impl MonetGraph {
    /// Returns whether a cut's stages are in order, and each of its choices has a path from the
    /// source to a tensor that the choice reads. The nodes of a path count as stored, by-products'
    /// parents apart.
    fn has_paths(&self, cut: &PathCut) -> bool {
        let reader = cut.reader as usize;
        if cut.from == 0 || cut.from > cut.reader || reader >= self.stages {
            return false;
        }
        // A tensor that cannot be stored is never stored.
        let counts =
            |i: u32| cut.stored.binary_search(&i).is_ok() || self.last_stored(i) < cut.from;
        let mut reached = vec![false; self.columns];
        let mut open = vec![cut.source];
        while let Some(i) = open.pop() {
            let Some(known) = reached.get_mut(i as usize) else {
                return false;
            };
            if std::mem::replace(known, true) {
                continue;
            }
            let made = |v: &&u32| counts(i) || self.parent[**v as usize] == Some(i);
            open.extend(self.users[i as usize].iter().filter(made));
        }
        let choices = &self.choices[reader];
        let is_met = |way: &u32| {
            let reads = choices.get(*way as usize).map(|choice| &choice.reads);
            let ends = |u: &u32| reached[*u as usize] && counts(*u);
            reads.is_some_and(|reads| reads.iter().any(ends))
        };
        let are_nodes = cut.stored.iter().all(|i| (*i as usize) < self.columns);
        let ascend = |list: &[u32]| list.is_sorted_by(|a, b| a < b);
        are_nodes
            && ascend(&cut.stored)
            && ascend(&cut.ways)
            && !cut.ways.is_empty()
            && cut.ways.iter().all(is_met)
    }

    /// Returns whether a tensor may be among those that stay in a path memory cut: it is neither
    /// the source nor on its passing list.
    pub(super) fn may_stay(&self, cut: &PathCut, k: u32) -> bool {
        let passing = &self.passing[cut.source as usize];
        (k as usize) < self.columns && k != cut.source && passing.binary_search(&k).is_err()
    }
}
