//! Memory of the other micro-batches in flight.
//!
//! A stage of a pipeline begins the forward passes of several micro-batches before the backward pass
//! of the first one. While one of them runs, each other one waits between its two passes with what
//! the step keeps there. A step may wait at any moment between the last first computation of a
//! forward node and the first one of a backward node, so it waits at the moment of least memory.

use crate::instance::Instance;

/// The least memory between the two passes of a step, in a replay.
#[derive(Clone, Debug)]
pub(super) struct Boundary {
    /// Micro-batches in flight beside the one that runs.
    others: u64,
    /// First node of the backward pass.
    start: usize,
    /// Least bytes since the last first computation of a forward node.
    least: Option<u64>,
    /// True once a backward node has run.
    passed: bool,
}

impl Boundary {
    pub fn of(instance: &Instance) -> Self {
        Boundary {
            others: u64::from(instance.in_flight()) - 1,
            start: instance.backward_start().map_or(usize::MAX, |f| f.index()),
            least: None,
            passed: false,
        }
    }

    /// Returns whether memory between the passes counts at all.
    pub fn counts(&self) -> bool {
        self.others > 0 && !self.passed
    }

    /// Notes the first computation of a node, which is about to run.
    pub fn first(&mut self, node: usize) {
        match node < self.start {
            true if !self.passed => self.least = None,
            true => {}
            false => self.passed = true,
        }
    }

    /// Notes memory in bytes, without fixed memory, at a moment at which a step may wait.
    pub fn note(&mut self, bytes: u64) {
        if self.counts() {
            self.least = Some(self.least.map_or(bytes, |least| least.min(bytes)));
        }
    }

    /// Bytes that one waiting micro-batch holds.
    pub fn saved_bytes(&self) -> u64 {
        match self.others {
            0 => 0,
            _ => self.least.unwrap_or(0),
        }
    }

    /// Bytes that all waiting micro-batches hold.
    pub fn waiting_bytes(&self) -> u64 {
        self.others.saturating_mul(self.saved_bytes())
    }
}
