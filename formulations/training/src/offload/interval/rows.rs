//! Rows of the form.

use super::{Begin, LinkGraph, Stretch, Trip};
use crate::checkmate::Gauge;
use crate::checkmate::interval::{Branch, Quantity, Row, event};
use crate::life::{Atom, Group, Term, Which};
use remat_solver::price::Sense;
use std::ops::{Range, RangeInclusive};

/// Copies that share a clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Lane {
    /// Copies to the host.
    Out,
    /// Copies back.
    Back,
    /// Both.
    Shared,
}

impl Lane {
    /// Returns whether copies to the host, and copies back, are among them.
    pub fn has(self) -> [bool; 2] {
        [self != Lane::Back, self != Lane::Out]
    }
}

/// A row.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LinkRow {
    /// A row of the form without a link; path cuts count copies that come back within the window.
    Base(Row),
    /// Copies within a window of stages take at most the window's time.
    Window {
        /// The copies.
        lane: Lane,
        /// First stage.
        first: u32,
        /// Last stage.
        last: u32,
    },
    /// A branching on copies of a tensor to the host; not a row of every plan.
    Leaves {
        /// The tensor.
        node: u32,
        /// True for at least `count`, false for at most.
        at_least: bool,
        /// The number of copies.
        count: u32,
    },
    /// Tensors that are on the host when a stage begins fit there.
    Host {
        /// The stage.
        stage: u32,
    },
    /// A node with several ways runs first in one of them.
    Choose {
        /// The node.
        node: u32,
    },
    /// A gradient is scattered.
    Scatters {
        /// The node.
        node: u32,
    },
    /// An input is there at the first run of a node in ways that read it, or of a by-product that
    /// need not be made.
    Reads {
        /// The node, which is also the stage.
        node: u32,
        /// The input.
        input: u32,
    },
    /// A branching on the way of a first run; not a row of every plan.
    Way {
        /// The node.
        node: u32,
        /// Index into [`Ways::first`](super::Ways).
        way: u32,
        /// True for this way, false for any other.
        is_this: bool,
    },
}

/// 1 for at least, -1 for at most: rows are of the kind "at least".
pub(super) fn sign(at_least: bool) -> i64 {
    if at_least { 1 } else { -1 }
}

/// Stages whose recomputations and idle time are within a window.
pub(super) fn inside(lane: Lane, first: u32, last: u32) -> RangeInclusive<u32> {
    first + u32::from(lane == Lane::Out)..=last
}

/// Stages whose first runs are within a window: all stages before the last.
pub(super) fn before(lane: Lane, first: u32, last: u32) -> Range<u32> {
    first + u32::from(lane == Lane::Out)..last
}

impl LinkRow {
    /// Passes to `note` the rows without copies whose terms count in the row, with their multiples.
    pub(super) fn without_copies(&self, link: &LinkGraph, mut note: impl FnMut(&Row, i64)) {
        match *self {
            LinkRow::Base(ref row) => {
                note(row, 1);
                let Row::Memory { stage, node, gauge } = *row else {
                    return;
                };
                let before = |f: &&(u32, u64)| f.0 < node && f.0 < stage;
                for &(reader, bytes) in link.freed_again.iter().filter(before) {
                    let bytes = freed_bytes(&link.graph.gauges[gauge as usize], gauge, bytes);
                    let quantity = Quantity::Starts {
                        of: Group::One(reader),
                        first: stage,
                        last: stage,
                    };
                    let most = Branch {
                        quantity,
                        at_least: false,
                        count: 0,
                    };
                    note(&Row::Branch(most), bytes);
                }
            }
            // Trips count as if all ways read the input; the ways that read it have terms of their
            // own.
            LinkRow::Reads { node, input } => {
                let [node, reader] = [input, node];
                note(&Row::Need { node, reader }, 1);
            }
            _ => {}
        }
    }

    /// The tensors with coefficients, ascending.
    pub(super) fn tensors(&self, link: &LinkGraph) -> Vec<u32> {
        let n = link.len() as u32;
        let mut out = Vec::new();
        self.without_copies(link, |row, _| {
            row.terms(&link.graph, None, |term| match term.atom {
                Atom::Bytes { moment, .. } => {
                    let stage = moment / n;
                    let last = &link.graph.last_stage;
                    out.extend((0..=stage).filter(|i| last[*i as usize] >= stage));
                }
                _ => out.extend(term.node()),
            });
        });
        match self {
            LinkRow::Leaves { node, .. } | LinkRow::Scatters { node } => out.push(*node),
            LinkRow::Reads { node, .. } if link.ways.is_optional(*node) => out.push(*node),
            LinkRow::Window { .. } | LinkRow::Host { .. } => out.extend(0..n),
            _ => {}
        }
        out.sort_unstable();
        out.dedup();
        out
    }

    /// The coefficient of a trip.
    pub(super) fn coefficient(&self, link: &LinkGraph, trip: &Trip) -> i64 {
        let mut sum = 0;
        self.without_copies(link, |row, times| {
            row.terms(&link.graph, Some(trip.node), |term| {
                sum += times * of_term(link, &term, trip);
            });
        });
        sum + match *self {
            LinkRow::Base(Row::Path(ref cut)) if cut.path.contains(&trip.node) => {
                returns(trip, cut.from, cut.reader - link.delay(trip.node))
            }
            LinkRow::Base(Row::Memory { stage, node, .. })
                if node == trip.node && stage == trip.start() =>
            {
                match stage > node {
                    true => link.bytes_again(node, trip.way),
                    false => link.ways.optional[node as usize].map_or(0, |first| first.bytes),
                }
            }
            LinkRow::Reads { node, .. } => -i64::from(
                trip.node == node && !trip.is_recomputed() && link.ways.is_optional(node),
            ),
            LinkRow::Window { lane, first, last } => {
                let mut sum = 0;
                let start = trip.start();
                if start > trip.node && inside(lane, first, last).contains(&start) {
                    sum += link.time_again(trip.node, trip.way);
                } else if start == trip.node
                    && before(lane, first, last).contains(&start)
                    && let Some(made) = link.ways.optional[start as usize]
                {
                    sum += made.time;
                }
                let Some([out, back]) = link.copies[trip.node as usize] else {
                    return sum;
                };
                for stretch in &trip.stretches {
                    let [has_out, has_back] = lane.has();
                    if has_out
                        && trip.node >= first
                        && stretch.leaves.is_some_and(|stage| stage <= last)
                    {
                        sum -= out;
                    }
                    if has_back
                        && let Begin::Fetched { issued, read } = stretch.begin
                        && first <= issued
                        && read <= last
                    {
                        sum -= back;
                    }
                }
                sum
            }
            LinkRow::Leaves { node, at_least, .. } if node == trip.node => {
                sign(at_least) * trip.leaves() as i64
            }
            LinkRow::Scatters { node } => i64::from(node == trip.node),
            LinkRow::Host { stage } if trip.is_on_host(stage) => link.host_bytes_of(trip.node),
            _ => 0,
        }
    }

    /// The coefficient of a way of the first run of a node.
    pub(super) fn of_way(&self, link: &LinkGraph, node: u32, way: u32) -> i64 {
        let own = || &link.ways.first[node as usize][way as usize];
        match *self {
            LinkRow::Choose { node: of } => i64::from(of == node),
            LinkRow::Way {
                node: of,
                way: this,
                is_this,
            } => sign(is_this) * i64::from((of, this) == (node, way)),
            LinkRow::Reads { node: of, input } if of == node => {
                -i64::from(own().reads.contains(&input))
            }
            LinkRow::Base(Row::Memory {
                stage, node: of, ..
            }) if (stage, of) == (node, node) => own().bytes,
            LinkRow::Window { lane, first, last } if before(lane, first, last).contains(&node) => {
                own().time
            }
            _ => 0,
        }
    }

    /// The coefficient of idle time in a stage.
    pub(super) fn of_idle(&self, stage: u32) -> i64 {
        match *self {
            LinkRow::Window { lane, first, last } => {
                i64::from(inside(lane, first, last).contains(&stage))
            }
            _ => 0,
        }
    }

    /// The right side.
    pub(super) fn right_side(&self, link: &LinkGraph) -> i64 {
        match *self {
            LinkRow::Base(ref row) => {
                let beside = match *row {
                    Row::Memory { stage, node, .. } => link.ways.beside(stage, node),
                    _ => 0,
                };
                row.right_side(&link.graph) - beside
            }
            LinkRow::Choose { .. } | LinkRow::Scatters { .. } => 1,
            LinkRow::Reads { .. } => 0,
            LinkRow::Way { is_this, .. } => i64::from(is_this),
            LinkRow::Window { lane, first, last } => {
                -link.first_time(first + u32::from(lane == Lane::Out)..last)
            }
            LinkRow::Leaves {
                at_least, count, ..
            } => sign(at_least) * i64::from(count),
            LinkRow::Host { .. } => {
                let bytes = link.host_bytes.unwrap_or(u64::MAX);
                i64::try_from(bytes).unwrap_or(i64::MAX)
            }
        }
    }

    /// The sense of the row.
    pub(super) fn sense(&self) -> Sense {
        match self {
            LinkRow::Base(row) if row.is_memory() => Sense::AtMost,
            LinkRow::Host { .. } => Sense::AtMost,
            LinkRow::Choose { .. } => Sense::Equal,
            _ => Sense::AtLeast,
        }
    }
}

/// Bytes of a gauge that a reader frees in excess if it lists an input more than once. For a
/// rounded gauge these are all bytes, so that the row does not bind in that case.
pub(super) fn freed_bytes(measure: &Gauge, gauge: u32, bytes: u64) -> i64 {
    let bytes = match gauge {
        0 => bytes,
        _ => measure.bytes.iter().sum(),
    };
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

/// Number of copies back that bring a tensor to the device for the first time in a window of
/// stages: first read within it, after a stretch that ended before it.
fn returns(trip: &Trip, first: u32, last: u32) -> i64 {
    let is_one =
        |pair: &&[Stretch]| pair[0].last_stage < first && pair[1].is_fetched_in(first..=last);
    trip.stretches.windows(2).filter(is_one).count() as i64
}

/// The coefficient of a trip in a term; first computations do not count as starts.
fn of_term(link: &LinkGraph, term: &Term, trip: &Trip) -> i64 {
    let of = |is: &dyn Fn(&Stretch) -> bool| {
        let count = trip.stretches.iter().filter(|s| is(s)).count();
        term.coefficient * count as i64
    };
    match term.atom {
        Atom::Start {
            node,
            first,
            last,
            which,
        } => {
            let start = trip.start();
            let counts = node == trip.node
                && start > node
                && (first..=last).contains(&start)
                && which == Which::All;
            if counts { term.coefficient } else { 0 }
        }
        Atom::Crosses { node, stage } if node == trip.node => of(&|s| s.crosses(stage)),
        Atom::At { node, moment } if node == trip.node => of(&|s| s.is_readable(moment)),
        Atom::Bytes { moment, gauge } => {
            let bytes = link.graph.gauges[gauge as usize].bytes[trip.node as usize];
            bytes as i64 * of(&|s| s.is_in_memory(moment))
        }
        _ => 0,
    }
}

/// The number of an event: `node`'s turn in `stage`.
pub(super) fn turn(link: &LinkGraph, stage: u32, node: u32) -> u32 {
    event(link.len(), stage, node)
}
