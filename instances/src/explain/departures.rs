//! Tensors that are copied to the host.

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
    /// Time that computations wait for these copies, in the instance's cost unit.
    pub fn idle(&self) -> u64 {
        let back = self.returns.iter().map(|back| back.copy.idle);
        self.out.idle + back.sum::<u64>()
    }
}

/// A copy of a tensor from the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Return {
    /// The copy; the computation that waits for it reads it.
    pub copy: CopySpan,
    /// Number of computations before the last copy on the device was freed, and the last node
    /// before that; `None` if the device still has a copy.
    pub freed: Option<(usize, NodeId)>,
    /// The computation during the absence with the largest memory use, and that use in bytes, as in
    /// [`Absence`](super::Absence).
    pub fullest: Option<(usize, u64)>,
}

/// Departures found while the statements are processed.
#[derive(Default)]
pub(super) struct Departures {
    pub list: Vec<Departure>,
    /// The last departure into each host buffer.
    buffers: BTreeMap<HostBuffer, usize>,
    copies: usize,
}

impl Departures {
    /// The copy of the present statement; a replay has one for each.
    fn next(&mut self, replay: &Replay) -> Option<CopySpan> {
        self.copies += 1;
        replay.transfers.spans.get(self.copies - 1).copied()
    }

    /// Passes over a gather or a scatter.
    pub fn gather(&mut self, replay: &Replay) {
        self.next(replay);
    }

    /// Records a copy of a tensor to the host.
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

    /// Records a copy of a buffer's tensor back to the device.
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
