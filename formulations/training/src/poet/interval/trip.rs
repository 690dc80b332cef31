//! Trips of tensors: columns.

use super::PoetGraph;
use crate::checkmate::interval::event;
use remat_instances::schedule::PoetSchedule;

/// A stretch of time in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Stretch {
    /// True if it begins with a page-in, else with a computation.
    pub is_paged: bool,
    /// The stage in which it is computed, or paged in; then it is in memory from the next one on.
    pub start: u32,
    /// The last stage that starts with it, or the one in which it is computed.
    pub end: u32,
    /// The node that reads it last in that stage; the stage's own where it stays to its end.
    pub reader: u32,
}

impl Stretch {
    /// Returns whether a stage starts with it in memory.
    #[inline]
    pub fn crosses(&self, stage: u32) -> bool {
        self.start < stage && stage <= self.end
    }

    /// First and last event with the tensor in memory that are charged to it. The event of a first
    /// computation is not: it happens in every schedule.
    pub(super) fn memory(&self, len: usize, node: u32) -> [u32; 2] {
        let first = match self.is_paged {
            true => event(len, self.start + 1, 0),
            false => event(len, self.start, node) + u32::from(self.start == node),
        };
        [first, event(len, self.end, self.reader)]
    }

    /// Returns whether it is in memory at an event.
    #[inline]
    pub(super) fn is_at(&self, len: usize, node: u32, event: u32) -> bool {
        let [first, last] = self.memory(len, node);
        (first..=last).contains(&event)
    }

    /// Returns whether it begins with a recomputation in one of some stages.
    #[inline]
    pub(super) fn is_computed_again(&self, node: u32, first: u32, last: u32) -> bool {
        !self.is_paged && self.start > node && (first..=last).contains(&self.start)
    }

    /// Returns whether it begins with a page-in in one of some stages.
    #[inline]
    pub(super) fn is_paged_in(&self, first: u32, last: u32) -> bool {
        self.is_paged && (first..=last).contains(&self.start)
    }
}

/// A trip of a tensor.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Trip {
    /// The tensor.
    pub node: u32,
    /// The stage in which it is paged out, one that the first stretch crosses; `None` for a trip of
    /// one stretch.
    pub leaves: Option<u32>,
    /// Stretches in memory, in their order; the first begins with a computation.
    pub stretches: Vec<Stretch>,
}

impl Trip {
    /// The stage in which it is computed.
    pub fn start(&self) -> u32 {
        self.stretches.first().map_or(self.node, |s| s.start)
    }

    /// Number of stretches that begin with a recomputation, and with a page-in.
    pub(super) fn counts(&self) -> [u64; 2] {
        let of = |is: &dyn Fn(&Stretch) -> bool| self.stretches.iter().filter(|s| is(s)).count();
        let again = of(&|s| s.is_computed_again(self.node, 0, u32::MAX));
        [again, of(&|s| s.is_paged)].map(|count| count as u64)
    }
}

/// The trips of a schedule that executes, without its useless parts, by tensor.
pub fn trips(graph: &PoetGraph, schedule: &PoetSchedule) -> Vec<Trip> {
    let n = graph.len();
    let (computed, retained) = (&schedule.schedule.computed, &schedule.schedule.retained);
    let (computed, retained) = (computed.to_bits(), retained.to_bits());
    let mut out = Vec::new();
    for i in 0..n {
        let leaves = schedule.paged_out[i];
        let mut trip: Option<Trip> = None;
        for t in i..n {
            let is_held = t > i && retained.get(t, i);
            let is_paged = schedule.paged_in.get(t, i);
            if is_held || !(computed.get(t, i) || is_paged) {
                continue;
            }
            let mut end = t;
            while end + 1 < n && retained.get(end + 1, i) {
                end += 1;
            }
            let reader_in = |stage: usize| {
                let readers = graph.graph.users[i].iter().rev().copied();
                readers
                    .filter(|q| *q as usize <= stage)
                    .find(|q| computed.get(stage, *q as usize))
            };
            let is_out = |stage: usize| leaves == Some(stage as u32) && stage > t;
            while end > t && reader_in(end).is_none() && !is_out(end) {
                end -= 1;
            }
            let reader = match reader_in(end) {
                Some(reader) if end > t || !is_paged => reader,
                None if is_out(end) => end as u32,
                _ => continue,
            };
            let stretch = Stretch {
                is_paged,
                start: t as u32,
                end: end as u32,
                reader,
            };
            match &mut trip {
                Some(trip) => trip.stretches.push(stretch),
                None => {
                    let leaves = leaves.filter(|stage| stretch.crosses(*stage));
                    let one = Trip {
                        node: i as u32,
                        leaves,
                        stretches: vec![stretch],
                    };
                    match leaves {
                        Some(_) => trip = Some(one),
                        None => out.push(one),
                    }
                }
            }
        }
        let Some(mut trip) = trip else {
            continue;
        };
        // What is computed behind the last page-in is for itself.
        let last = trip.stretches.iter().rposition(|s| s.is_paged).unwrap_or(0);
        for stretch in trip.stretches.drain(last + 1..) {
            out.push(Trip {
                node: trip.node,
                leaves: None,
                stretches: vec![stretch],
            });
        }
        trip.leaves = trip.leaves.filter(|_| last > 0);
        out.push(trip);
    }
    out
}
