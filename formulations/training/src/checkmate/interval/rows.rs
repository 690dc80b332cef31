//! Rows of the form, as linear forms in atoms.

use super::{Around, Branch, CheckmateGraph, ClassRow, EventCover, Interval, Quantity, event};
use crate::checkmate::path_cuts::{PathCut, PathMemoryCut};
use crate::life::{Atom, Term, Which};

/// A row of the form.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Row {
    /// `node` is there when the node of stage `reader` reads it for the first time.
    Need {
        /// The tensor.
        node: u32,
        /// Its reader, which is also the stage.
        reader: u32,
    },
    /// `input` is there when `node` is recomputed in `stage`.
    Input {
        /// The input.
        input: u32,
        /// The stage.
        stage: u32,
        /// The node that is recomputed.
        node: u32,
    },
    /// The parent of a by-product is recomputed in each stage in which the by-product is.
    Parent {
        /// The stage.
        stage: u32,
        /// The by-product.
        node: u32,
    },
    /// Memory at an event.
    Memory {
        /// Gauge by which it is measured: index into [`CheckmateGraph::gauges`], 0 for exact sizes.
        gauge: u32,
        /// The stage.
        stage: u32,
        /// The node whose turn it is.
        node: u32,
    },
    /// Memory around a recomputation, in a program with moments.
    Around(Around),
    /// Cover of an event: a limit on the tensors that fit there together, each as a whole.
    Cover(EventCover),
    /// A path cut.
    Path(PathCut),
    /// A path memory cut, with companions.
    PathMemory(PathMemoryCut),
    /// A row of a class of plans.
    Class(ClassRow),
    /// A branching: not a row of every schedule, only of the schedules below one node of the tree.
    Branch(Branch),
}

impl Row {
    /// Passes the terms of the row to `note`. If `of` is given, lists of tensors contribute only
    /// the terms of this tensor. Moments are events.
    ///
    /// First computations are not among the starts: they happen in every schedule.
    pub(crate) fn terms(
        &self,
        graph: &CheckmateGraph,
        of: Option<u32>,
        mut note: impl FnMut(Term),
    ) {
        let n = graph.len();
        let bytes = |k: u32| graph.bytes[k as usize] as i64;
        let start = |node, first, last, worth| Term::start(node, first, last, Which::All, worth);
        let is_named = |k: &u32| of.is_none_or(|of| of == *k);
        match self {
            Row::Need { node, reader } => note(Term::at(*node, event(n, *reader, *reader), 1)),
            Row::Input { stage, node, input } => {
                if graph.has_moments() {
                    // In any order: there when the stage begins, or made in it.
                    note(Term::crosses(*input, *stage, 1));
                    note(start(*input, *stage, *stage, 1));
                } else {
                    note(Term::at(*input, event(n, *stage, *node), 1));
                }
                note(start(*node, *stage, *stage, -1));
            }
            Row::Parent { stage, node } => {
                if let Some(parent) = graph.parent[*node as usize] {
                    note(start(parent, graph.parent_from(parent, *stage), *stage, 1));
                }
                note(start(*node, *stage, *stage, -1));
            }
            Row::Memory { stage, node, gauge } => {
                let moment = event(n, *stage, *node);
                note(Term {
                    atom: Atom::Bytes {
                        moment,
                        gauge: *gauge,
                    },
                    coefficient: 1,
                });
                graph.waiting_term(*gauge).map(&mut note);
                if stage > node && is_named(node) {
                    let (k, gauge) = (*node as usize, &graph.gauges[*gauge as usize]);
                    let scratch = gauge.working_again[k] as i64 - gauge.bytes[k] as i64;
                    if scratch > 0 {
                        note(start(*node, *stage, *stage, scratch));
                    }
                }
            }
            Row::Around(row) => row.terms(graph, of, note),
            Row::Cover(at) => {
                if at.made > 0 {
                    note(start(at.node, at.stage, at.stage, -i64::from(at.made)));
                }
                let e = event(n, at.stage, at.node);
                for (k, weight) in part(&at.cover.weights, of, |w| w.0) {
                    if (*k as usize) < n {
                        note(Term::at(*k, e, -i64::from(*weight)));
                    }
                }
                // Tensors that wait are numbered behind all others.
                let Some(wait) = graph.wait_event() else {
                    return;
                };
                let behind = n as u32;
                for (k, weight) in part(&at.cover.weights, of.map(|of| of + behind), |w| w.0) {
                    if *k >= behind {
                        note(Term::at(*k - behind, wait, -i64::from(*weight)));
                    }
                }
            }
            Row::Path(cut) => {
                for k in cut.path.iter().copied().filter(is_named) {
                    note(Term::crosses(k, cut.from, 1));
                }
                note(start(cut.source(), cut.from, cut.reader, 1));
            }
            Row::PathMemory(cut) => {
                let (a, b, j) = (cut.path.from, cut.path.reader, cut.path.source());
                for &k in part(&cut.staying, of, |k| *k) {
                    note(Term::at(k, event(n, b, j), bytes(k)));
                    let window = starts_between(graph, k, j, a, b);
                    if !window.is_empty() {
                        note(start(k, *window.start(), *window.end(), -bytes(k)));
                    }
                }
                for &(t, k) in cut.companions.iter().filter(|g| is_named(&g.1)) {
                    note(Term::at(k, event(n, t, j), bytes(k)));
                }
                graph.waiting_term(0).map(&mut note);
                let need = graph.need_bytes(j as usize) as i64;
                for k in cut.path.path.iter().copied().filter(is_named) {
                    note(Term::crosses(k, a, -need));
                }
            }
            Row::Class(row) => row.terms(graph, of, note),
            Row::Branch(branch) => {
                let nodes = branch.quantity.of();
                for &k in part(nodes.list(&graph.classes), of, |k| *k) {
                    note(match branch.quantity {
                        Quantity::Starts { first, last, .. } => {
                            start(k, first.max(k + 1), last, branch.sign())
                        }
                        Quantity::Held { stage, .. } => Term::crosses(k, stage, branch.sign()),
                    });
                }
            }
        }
    }

    /// Coefficient of an interval: a count, or bytes for memory rows.
    pub fn coefficient(&self, graph: &CheckmateGraph, c: &Interval) -> i64 {
        let mut sum = 0;
        self.terms(graph, Some(c.node), |term| {
            sum += term.coefficient(graph, c)
        });
        sum
    }

    /// The right side: at least this for counts, at most this (in bytes) for memory.
    pub fn right_side(&self, graph: &CheckmateGraph) -> i64 {
        let capacity = graph.capacity as i64;
        match self {
            Row::Need { .. } | Row::Path(_) => 1,
            Row::Input { .. } | Row::Parent { .. } => 0,
            Row::Cover(at) => -i64::from(at.cover.most),
            Row::Memory { stage, node, gauge } => {
                let gauge = &graph.gauges[*gauge as usize];
                let own = match stage == node {
                    true => gauge.working[*node as usize],
                    false => 0,
                };
                gauge.capacity as i64 - own as i64
            }
            Row::Around(row) => graph.gauges[row.gauge as usize].capacity as i64,
            Row::PathMemory(cut) => {
                let beside: i64 = cut
                    .companions
                    .iter()
                    .map(|g| graph.bytes[g.1 as usize] as i64)
                    .sum();
                let need = graph.need_bytes(cut.path.source() as usize) + cut.other_bytes;
                capacity - need as i64 + beside
            }
            Row::Class(row) => row.right_side(),
            Row::Branch(branch) => branch.right_side(),
        }
    }

    /// Returns whether it is a memory row: at most, in bytes.
    pub fn is_memory(&self) -> bool {
        matches!(
            self,
            Row::Memory { .. } | Row::Around(_) | Row::PathMemory(_)
        )
    }
}

/// The window of start stages of tensor `k` behind event `(a,j)`, up to event `(b,j)`. With
/// moments, a tensor with a start in stage `b` is not there at that event.
pub(super) fn starts_between(
    graph: &CheckmateGraph,
    k: u32,
    j: u32,
    a: u32,
    b: u32,
) -> std::ops::RangeInclusive<u32> {
    if k < j && !graph.has_moments() {
        a + 1..=b
    } else {
        a..=b.saturating_sub(1)
    }
}

/// The entries of a tensor in a list that is ascending by tensor; the whole list if no tensor is
/// given.
fn part<T>(list: &[T], of: Option<u32>, tensor: impl Fn(&T) -> u32) -> &[T] {
    let Some(of) = of else {
        return list;
    };
    let begin = list.partition_point(|entry| tensor(entry) < of);
    let own = list[begin..].iter().take_while(|entry| tensor(entry) == of);
    &list[begin..begin + own.count()]
}
