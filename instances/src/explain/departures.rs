//! Tensors that leave for the host.

use crate::instance::NodeId;
use crate::plan::HostBuffer;
use crate::simulate::{CopySpan, Replay};
use std::collections::BTreeMap;

/// A copy of a tensor to the host, and its copies back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Departure {
    /// The tensor.
    pub node: NodeId,
    /// The copy to the host.
    pub out: CopySpan,
    /// The copies back, in order.
    pub returns: Vec<Return>,
}

impl Departure {
    /// Time in which computations wait for these copies, in the instance's cost unit.
    pub fn idle(&self) -> u64 {
        let back = self.returns.iter().map(|back| back.copy.idle);
        self.out.idle + back.sum::<u64>()
    }
}

/// A copy of a tensor from the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Return {
    /// The copy; the computation that it counts as awaited reads it.
    pub copy: CopySpan,
    /// Computations done when the last copy on the device was freed, and the node after which;
    /// `None` where the device still has one.
    pub freed: Option<(usize, NodeId)>,
    /// The computation in the meantime at which most memory is in use, and how much, as of an
    /// [`Absence`](super::Absence).
    pub fullest: Option<(usize, u64)>,
}

/// Departures while statements are gone through.
#[derive(Default)]
pub(super) struct Departures {
    pub list: Vec<Departure>,
    /// The departure that each host buffer took last.
    buffers: BTreeMap<HostBuffer, usize>,
    copies: usize,
}

impl Departures {
    /// The copy of the statement that is gone through; a replay has one for each.
    fn next(&mut self, replay: &Replay) -> Option<CopySpan> {
        self.copies += 1;
        replay.transfers.spans.get(self.copies - 1).copied()
    }

    /// A tensor leaves.
    pub fn leave(&mut self, replay: &Replay, node: NodeId, buffer: HostBuffer) {
        if let Some(out) = self.next(replay) {
            self.buffers.insert(buffer, self.list.len());
            let returns = Vec::new();
            self.list.push(Departure { node, out, returns });
        }
    }

    /// The node whose output a buffer holds.
    pub fn node(&self, buffer: HostBuffer) -> Option<NodeId> {
        let departure = self.buffers.get(&buffer)?;
        self.list.get(*departure).map(|d| d.node)
    }

    /// The tensor of a buffer comes back.
    pub fn come(
        &mut self,
        replay: &Replay,
        buffer: HostBuffer,
        freed: Option<(usize, NodeId)>,
        fullest: Option<(usize, u64)>,
    ) {
        let copy = self.next(replay);
        let departure = self.buffers.get(&buffer).copied();
        if let Some(copy) = copy
            && let Some(departure) = departure.and_then(|k| self.list.get_mut(k))
        {
            departure.returns.push(Return {
                copy,
                freed,
                fullest,
            });
        }
    }
}
