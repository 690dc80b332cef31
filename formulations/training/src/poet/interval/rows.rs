//! Rows of the form.

use super::{PoetGraph, Stretch, Trip};
use crate::checkmate::interval::Row;
use crate::life::{Atom, Term, Which};
use remat_solver::price::Sense;

/// A row.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PoetRow {
    /// A row of the form without pages; paths count page-ins as well.
    Base(Row),
    /// A tensor is paged in in a stage only if it is not there.
    Once {
        /// The stage.
        stage: u32,
        /// The tensor.
        node: u32,
    },
    /// A tensor is freed in a stage by a reader that runs.
    Ends {
        /// The stage.
        stage: u32,
        /// The tensor.
        node: u32,
        /// The reader, before the stage's own node.
        reader: u32,
    },
    /// A branching on page-outs of a tensor; not a row of every schedule.
    Pages {
        /// The tensor.
        node: u32,
        /// At least so many, rather than at most.
        at_least: bool,
        /// The number of page-outs.
        count: u32,
    },
}

/// Page-ins of a tensor in some stages that count in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PageTerm {
    pub node: u32,
    pub first: u32,
    pub last: u32,
    pub coefficient: i64,
}

/// 1 for at least, -1 for at most: rows are of the kind "at least".
pub(super) fn sign(at_least: bool) -> i64 {
    if at_least { 1 } else { -1 }
}

/// Tells `note` the page-ins that count in a row of the form without pages; of those of a list of
/// tensors only the ones of tensor `of`, where that is given.
pub(super) fn page_terms(
    poet: &PoetGraph,
    row: &Row,
    of: Option<u32>,
    mut note: impl FnMut(PageTerm),
) {
    let graph = &poet.graph;
    let has_pages = |k: &&u32| of.is_none_or(|of| of == **k) && poet.pages[**k as usize].is_some();
    let mut window = |nodes: &[u32], [a, b]: [u32; 2], worth: &dyn Fn(u32) -> i64| {
        for &node in nodes.iter().filter(|k| has_pages(k) && a < b) {
            note(PageTerm {
                node,
                first: a,
                last: b - 1,
                coefficient: worth(node),
            });
        }
    };
    match row {
        Row::Path(cut) => window(&cut.path, [cut.from, cut.reader], &|_| 1),
        Row::PathMemory(cut) => {
            let path = &cut.path;
            let stages = [path.from, path.reader];
            let need = graph.need_bytes(path.source() as usize) as i64;
            window(&cut.staying, stages, &|k| -(graph.bytes[k as usize] as i64));
            window(&path.path, stages, &|_| -need);
        }
        _ => {}
    }
}

/// Tells `note` readers, stages and bytes of recomputations that free more than their inputs'
/// bytes before the event of a memory row.
pub(super) fn freed_terms(poet: &PoetGraph, row: &Row, mut note: impl FnMut(u32, u32, i64)) {
    let Row::Memory { stage, node, gauge } = *row else {
        return;
    };
    for &(reader, bytes) in poet
        .freed_again
        .iter()
        .filter(|f| f.0 < node && f.0 < stage)
    {
        // A rounded row says nothing where that happens.
        let bytes = match gauge {
            0 => bytes,
            _ => poet.graph.gauges[gauge as usize].bytes.iter().sum(),
        };
        note(reader, stage, -i64::try_from(bytes).unwrap_or(i64::MAX));
    }
}

impl PoetRow {
    /// The tensors with coefficients, told to `note`.
    pub(super) fn tensors(&self, poet: &PoetGraph, mut note: impl FnMut(u32)) {
        let n = poet.len() as u32;
        match self {
            PoetRow::Base(row) => row.terms(&poet.graph, None, |term| match term.atom {
                Atom::Bytes { moment, .. } => {
                    let stage = moment / n;
                    let last = &poet.graph.last_stage;
                    let alive = (0..=stage).filter(|i| last[*i as usize] >= stage);
                    alive.for_each(&mut note);
                }
                _ => term.node().into_iter().for_each(&mut note),
            }),
            PoetRow::Ends { node, reader, .. } => [*node, *reader].into_iter().for_each(note),
            PoetRow::Once { node, .. } | PoetRow::Pages { node, .. } => note(*node),
        }
    }

    /// The coefficient of a trip.
    pub(super) fn coefficient(&self, poet: &PoetGraph, trip: &Trip) -> i64 {
        let count =
            |is: &dyn Fn(&Stretch) -> bool| trip.stretches.iter().filter(|s| is(s)).count() as i64;
        match *self {
            PoetRow::Base(ref row) => {
                let mut sum = 0;
                row.terms(&poet.graph, Some(trip.node), |term| {
                    sum += of_term(poet, &term, trip);
                });
                freed_terms(poet, row, |reader, stage, worth| {
                    if reader == trip.node {
                        sum += worth * count(&|s| s.is_computed_again(reader, stage, stage));
                    }
                });
                if trip.leaves.is_some() {
                    page_terms(poet, row, Some(trip.node), |term| {
                        let pages = count(&|s| s.is_paged_in(term.first, term.last));
                        sum += term.coefficient * pages;
                    });
                }
                sum
            }
            PoetRow::Once { stage, node } if node == trip.node => {
                -count(&|s| s.start == stage && stage > node || s.crosses(stage))
            }
            PoetRow::Ends {
                stage,
                node,
                reader,
            } => {
                if trip.node == node {
                    -count(&|s| s.end == stage && s.reader == reader)
                } else if trip.node == reader {
                    count(&|s| s.is_computed_again(reader, stage, stage))
                } else {
                    0
                }
            }
            PoetRow::Pages { node, at_least, .. } if node == trip.node => {
                sign(at_least) * i64::from(trip.leaves.is_some())
            }
            PoetRow::Once { .. } | PoetRow::Pages { .. } => 0,
        }
    }

    /// The right side.
    pub(super) fn right_side(&self, poet: &PoetGraph) -> i64 {
        match *self {
            PoetRow::Base(ref row) => row.right_side(&poet.graph),
            PoetRow::Once { .. } => -1,
            PoetRow::Ends { .. } => 0,
            PoetRow::Pages {
                at_least, count, ..
            } => sign(at_least) * i64::from(count),
        }
    }

    /// The sense of the row.
    pub(super) fn sense(&self) -> Sense {
        match self {
            PoetRow::Base(row) if row.is_memory() => Sense::AtMost,
            _ => Sense::AtLeast,
        }
    }
}

/// The coefficient of a trip in a term; first computations are no starts.
fn of_term(poet: &PoetGraph, term: &Term, trip: &Trip) -> i64 {
    let n = poet.len();
    let of = |is: &dyn Fn(&Stretch) -> bool| {
        let count = trip.stretches.iter().filter(|s| is(s)).count();
        term.coefficient * count as i64
    };
    match term.atom {
        Atom::Start {
            node,
            first,
            last,
            which: Which::All,
        } if node == trip.node => of(&|s| s.is_computed_again(node, first, last)),
        Atom::Crosses { node, stage } if node == trip.node => of(&|s| s.crosses(stage)),
        Atom::At { node, moment } if node == trip.node => of(&|s| s.is_at(n, node, moment)),
        Atom::Bytes { moment, gauge } => {
            let bytes = poet.graph.gauges[gauge as usize].bytes[trip.node as usize];
            bytes as i64 * of(&|s| s.is_at(n, trip.node, moment))
        }
        _ => 0,
    }
}
