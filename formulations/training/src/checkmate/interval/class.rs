//! Rows of a class of plans ([`ClassRules`](remat_instances::ClassRules)): what the rules for single nodes do not say.
//!
//! ```text
//! together (u,v)  starts of u + v crossing the first stage behind its last forward reader  <=  1
//! reader (t,v)    starts in stage t of forward readers of v - starts of v in stage t  >=  0
//! ```
//!
//! The first holds for every two nodes of a decision, `u = v` included: a decision drops all of its
//! nodes or saves them all. The second holds where nothing else wants `v` in stage `t`. The rules
//! for single nodes are exclusions, from the root on.

use super::{CheckmateGraph, Interval, IntervalPoint, Row};
use crate::life::{Exclusions, Term, Which};
use std::collections::BTreeMap;
use std::fmt::Write;

/// A row of a class of plans.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ClassRow {
    /// Either `dropped` is not computed again, or `saved` is dropped, too.
    Together {
        /// A node of a decision.
        dropped: u32,
        /// Another node of it, or the same one.
        saved: u32,
    },
    /// `node` is computed again in a stage only for a recomputation that reads it there.
    Reader {
        /// The stage.
        stage: u32,
        /// The node.
        node: u32,
    },
}

impl ClassRow {
    /// Passes its terms to `note`, of one tensor alone if `of` is given.
    pub(super) fn terms(
        &self,
        graph: &CheckmateGraph,
        of: Option<u32>,
        mut note: impl FnMut(Term),
    ) {
        let Some(rules) = &graph.rules else { return };
        let is_named = |k: u32| of.is_none_or(|of| of == k);
        match *self {
            ClassRow::Together { dropped, saved } => {
                if is_named(dropped) {
                    let last = graph.last_stage[dropped as usize].max(dropped + 1);
                    note(Term::start(dropped, dropped + 1, last, Which::All, -1));
                }
                if is_named(saved) {
                    note(Term::crosses(saved, rules.saved_from(saved), -1));
                }
            }
            ClassRow::Reader { stage, node } => {
                let readers = rules.forward_readers(node).iter().copied();
                for reader in readers.filter(|k| is_named(*k)) {
                    note(Term::start(reader, stage, stage, Which::All, 1));
                }
                if is_named(node) {
                    note(Term::start(node, stage, stage, Which::All, -1));
                }
            }
        }
    }

    /// The right side: at least this.
    pub(super) fn right_side(&self) -> i64 {
        match self {
            ClassRow::Together { .. } => -1,
            ClassRow::Reader { .. } => 0,
        }
    }

    /// Writes it for a proof.
    pub(super) fn write(&self, text: &mut String) {
        // Writing to a string cannot fail.
        let _ = match self {
            ClassRow::Together { dropped, saved } => write!(text, "together {dropped} {saved}"),
            ClassRow::Reader { stage, node } => write!(text, "reader {stage} {node}"),
        };
    }
}

impl CheckmateGraph {
    /// Excludes recomputations that the rules of the class forbid for single nodes.
    pub(super) fn exclude_by_class(&self, exclusions: &mut Exclusions) {
        let Some(rules) = &self.rules else { return };
        for node in 0..self.len() as u32 {
            for stage in self.stages_again(node as usize) {
                if !rules.may_start(node, stage) {
                    exclusions.exclude_start(node, stage, 0);
                }
            }
        }
    }
}

impl IntervalPoint {
    /// Rows of the class that the point violates by more than `tolerance`.
    pub(super) fn violated_by_class(&self, graph: &CheckmateGraph, tolerance: f64) -> Vec<Row> {
        let Some(rules) = &graph.rules else {
            return Vec::new();
        };
        let mut made: BTreeMap<(u32, u32), f64> = BTreeMap::new();
        let mut dropped: BTreeMap<u32, f64> = BTreeMap::new();
        let mut saved: BTreeMap<u32, f64> = BTreeMap::new();
        for &(
            Interval {
                node, start, end, ..
            },
            x,
        ) in &self.intervals
        {
            if start > node {
                *made.entry((start, node)).or_default() += x;
                *dropped.entry(node).or_default() += x;
            }
            let from = rules.saved_from(node);
            if start < from && from <= end && rules.decision(node).is_some() {
                *saved.entry(node).or_default() += x;
            }
        }
        let mut found = Vec::new();
        let most = |of: &BTreeMap<u32, f64>| -> BTreeMap<u32, (u32, f64)> {
            let mut most: BTreeMap<u32, (u32, f64)> = BTreeMap::new();
            for (&node, &x) in of {
                let Some(decision) = rules.decision(node) else {
                    continue;
                };
                let best = most.entry(decision).or_insert((node, x));
                if x > best.1 {
                    *best = (node, x);
                }
            }
            most
        };
        let (most_dropped, most_saved) = (most(&dropped), most(&saved));
        let mut add = |one: (u32, f64), other: (u32, f64)| {
            if one.1 + other.1 > 1.0 + tolerance {
                found.push(Row::Class(ClassRow::Together {
                    dropped: one.0,
                    saved: other.0,
                }));
            }
        };
        for (&node, &x) in &dropped {
            let decision = rules.decision(node);
            let other = decision.and_then(|d| most_saved.get(&d));
            add((node, x), other.copied().unwrap_or((node, 0.0)));
        }
        for (&node, &x) in &saved {
            let decision = rules.decision(node);
            if let Some(&other) = decision.and_then(|d| most_dropped.get(&d)) {
                add(other, (node, x));
            }
        }
        for (&(stage, node), &x) in &made {
            if rules.needs_reader(node, stage) {
                let read = rules.forward_readers(node).iter().copied();
                let read: f64 = read.filter_map(|k| made.get(&(stage, k))).sum();
                if read < x - tolerance {
                    found.push(Row::Class(ClassRow::Reader { stage, node }));
                }
            }
        }
        found.sort_unstable();
        found.dedup();
        found
    }
}
