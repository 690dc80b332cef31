//! Labels of the search: a state of the machine with its clock and the copies under way.

use super::problem::ExactProblem;
use super::set::Set;

/// A computation or a copy, with the tensors or buffers freed for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    /// The begin of the plan.
    Begin,
    /// A node runs, after tensors were dropped.
    Compute { node: u8, dropped: Set },
    /// A tensor leaves, after host buffers were released; or a gradient is scattered.
    Offload { node: u8, released: Set },
    /// A tensor comes back, or a weight is gathered, after others were dropped.
    Prefetch { node: u8, dropped: Set },
}

/// A copy that has not ended before the clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct UnderWay {
    pub node: u8,
    pub to_host: bool,
    pub end: u64,
}

/// State of the machine between two statements.
///
/// Copies that ended before the clock are not listed, because their effects are over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct MachineState {
    /// Time that the computations have reached.
    pub clock: u64,
    /// Tensors on the device that can be read.
    pub ready: Set,
    /// Tensors that come back and have not been read.
    pub coming: Set,
    /// Tensors with a host buffer, weights at home, and gradients that are scattered.
    pub host: Set,
    /// Nodes that ran again since the last first run and have by-products.
    pub ran: Set,
    /// The next first run.
    pub next: u8,
    /// The least node that may run again before it.
    pub from: u8,
    /// True if a copy back was issued since the last computation, so that copies to the host wait
    /// for the next one (full duplex).
    pub is_fetching: bool,
    pub under_way: Vec<UnderWay>,
}

impl MachineState {
    /// The state before the first computation; weights are at home.
    pub fn begin(p: &ExactProblem) -> Self {
        MachineState {
            clock: 0,
            ready: 0,
            coming: 0,
            host: p.gathered,
            ran: 0,
            next: p.first as u8,
            from: 0,
            is_fetching: false,
            under_way: Vec::new(),
        }
    }

    /// Tensors that take memory of the device.
    pub fn present(&self) -> Set {
        self.ready | self.coming
    }

    /// End of the copy of a tensor; 0 if no such copy is under way.
    pub fn end(&self, node: usize, to_host: bool) -> u64 {
        let mut all = self.under_way.iter();
        let found = all.find(|c| usize::from(c.node) == node && c.to_host == to_host);
        found.map_or(0, |c| c.end)
    }

    /// Time from which a lane is free, no earlier than the clock.
    pub fn free(&self, to_host: bool, half: bool) -> u64 {
        let lane = self
            .under_way
            .iter()
            .filter(|c| half || c.to_host == to_host);
        lane.map(|c| c.end).fold(self.clock, u64::max)
    }

    /// End of the last copy to the host of a set of tensors, or the clock if that is later.
    pub fn gone(&self, set: Set) -> u64 {
        let out = self.under_way.iter();
        let out = out.filter(|c| c.to_host && super::set::has(set, c.node.into()));
        out.map(|c| c.end).fold(self.clock, u64::max)
    }

    /// Returns whether this state can do all that the other one can, as early. Both have the same
    /// sets except for the host's.
    ///
    /// Host buffers that the other state lacks can be released once their copies have ended, so
    /// these copies must have ended by the other's clock. All clocks are monotone in each other.
    pub fn dominates(&self, other: &MachineState) -> bool {
        self.clock <= other.clock
            && self.host & other.host == other.host
            && self
                .under_way
                .iter()
                .all(|c| c.end <= other.clock || c.end <= other.end(c.node.into(), c.to_host))
    }
}

/// A state with its parent and the action between them.
#[derive(Clone, Debug)]
pub(super) struct Label {
    pub state: MachineState,
    pub parent: u32,
    pub action: Action,
}
