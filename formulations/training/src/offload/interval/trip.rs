//! Trips of tensors: columns.

use super::LinkGraph;
use crate::checkmate::interval::event;
use std::ops::RangeInclusive;

/// The way in which a stretch on the device begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Begin {
    /// Computed in a stage; the first computation is in the stage of the tensor's own number.
    Computed(u32),
    /// Copied back: issued in a stage, and first read in the same or a later stage.
    Fetched {
        /// The stage in which the copy is issued.
        issued: u32,
        /// The stage in which the copy is first read. For a page it equals `issued`; the page takes
        /// memory, and may be read, from the next stage on.
        read: u32,
    },
}

/// A stretch of time on the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Stretch {
    /// Its begin.
    pub begin: Begin,
    /// First and last event with the tensor in memory; the last is before the first if no event
    /// counts.
    pub memory: [u32; 2],
    /// First event at which it may be read.
    pub readable: u32,
    /// The last stage that begins with the tensor on the device.
    pub last_stage: u32,
    /// The stage in which a copy to the host is complete.
    pub leaves: Option<u32>,
}

impl Stretch {
    /// The stage from which on it is readable.
    #[inline]
    pub fn first_stage(&self) -> u32 {
        match self.begin {
            Begin::Computed(stage) => stage,
            Begin::Fetched { read, .. } => read,
        }
    }

    /// Returns whether the tensor is on the device, and not under way, when a stage begins.
    #[inline]
    pub fn crosses(&self, stage: u32) -> bool {
        self.first_stage() < stage && stage <= self.last_stage
    }

    /// Returns whether it begins with a copy back that is first read in one of `stages`.
    #[inline]
    pub fn is_fetched_in(&self, stages: RangeInclusive<u32>) -> bool {
        matches!(self.begin, Begin::Fetched { read, .. } if stages.contains(&read))
    }

    /// Returns whether it can be read at an event.
    #[inline]
    pub fn is_readable(&self, event: u32) -> bool {
        (self.readable..=self.memory[1]).contains(&event)
    }

    /// Returns whether it takes memory at an event.
    #[inline]
    pub fn is_in_memory(&self, event: u32) -> bool {
        (self.memory[0]..=self.memory[1]).contains(&event)
    }
}

/// A trip of a tensor, from a computation until neither device nor host has it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Trip {
    /// The tensor.
    pub node: u32,
    /// Way of its computation: index into [`Ways::again`](super::Ways), 0 for first computations.
    pub way: u16,
    /// Stretches on the device, in their order; the first one is computed, the others are copies.
    pub stretches: Vec<Stretch>,
}

impl Trip {
    /// A trip without copies: computed in stage `start`, last read by `reader` in stage `end`.
    pub fn plain(graph: &LinkGraph, node: u32, start: u32, end: u32, reader: u32) -> Trip {
        let n = graph.len();
        let first = graph.first_event(node, start);
        Trip {
            node,
            way: 0,
            stretches: vec![Stretch {
                begin: Begin::Computed(start),
                memory: [first, event(n, end, reader)],
                readable: first,
                last_stage: end,
                leaves: None,
            }],
        }
    }

    /// A trip of a gathered weight for one first run: gathered and read in the stage of the reader.
    pub fn gathered(graph: &LinkGraph, node: u32, reader: u32) -> Trip {
        let mut trip = Trip::plain(graph, node, node, node, node);
        let read = event(graph.len(), reader, reader);
        trip.stretches[0].leaves = Some(node);
        trip.stretches.push(Stretch {
            begin: Begin::Fetched {
                issued: reader,
                read: reader,
            },
            memory: [read; 2],
            readable: read,
            last_stage: reader,
            leaves: None,
        });
        trip
    }

    /// A trip of a scattered gradient that leaves in its last stage.
    pub fn scattered(graph: &LinkGraph, node: u32) -> Trip {
        let last = graph.graph.last_stage[node as usize];
        let mut trip = Trip::plain(graph, node, node, last, 0);
        trip.stretches[0].memory[1] = event(graph.len(), last, 0) - 1;
        trip.stretches[0].leaves = Some(last);
        trip
    }

    /// The stage in which it is computed.
    pub fn start(&self) -> u32 {
        self.stretches
            .first()
            .map_or(self.node, Stretch::first_stage)
    }

    /// Returns whether it begins with a recomputation.
    pub fn is_recomputed(&self) -> bool {
        self.start() > self.node
    }

    /// Number of copies to the host.
    pub fn leaves(&self) -> usize {
        self.stretches.iter().filter(|s| s.leaves.is_some()).count()
    }

    /// Returns whether the tensor is on the host, to be fetched, when a stage begins: after the
    /// stage in which the copy is complete, up to the stage in which the last copy back is read.
    pub fn is_on_host(&self, stage: u32) -> bool {
        let mut since = None;
        let mut is_on = false;
        for stretch in &self.stretches {
            if let (Begin::Fetched { read, .. }, Some(left)) = (stretch.begin, since) {
                is_on |= left < stage && stage <= read;
            }
            since = stretch.leaves.or(since);
        }
        is_on
    }
}
