//! Executed sets that a search has met, each once.

use super::bits;
use super::block::BlockChoice;
use std::collections::HashMap;

/// No state.
pub(super) const NONE: u32 = u32::MAX;

/// A step from a state, and the state that it leads to; [`NONE`] until it is followed.
#[derive(Clone, Copy, Debug)]
pub(super) struct StateStep {
    pub choice: BlockChoice,
    pub to: u32,
}

/// Treatment of a state.
#[derive(Clone, Debug)]
pub(super) enum Status {
    /// Not visited.
    Open,
    /// Its steps are listed.
    Expanded,
    /// Every way from here to the goal can be led through that state. The second number is the
    /// survey after which this was found.
    Committed(u32, u64),
}

/// An executed set.
#[derive(Clone, Debug)]
pub(super) struct ExecutedState {
    /// Memory in bytes.
    pub bytes: u64,
    /// The state before it, and the operators between the two, in order.
    pub parent: u32,
    pub path: Box<[u32]>,
    /// The state before it, without committed states.
    pub up: u32,
    pub status: Status,
    pub steps: Vec<StateStep>,
    /// The operators to the state that it is committed to, in order.
    pub way: Box<[u32]>,
    /// The stack's height below its steps, and the dive in which they were pushed.
    pub base: usize,
    pub dive: u64,
    /// True if its steps are on the stack or waiting, except steps that a commitment has dropped
    /// since.
    pub is_listed: bool,
    /// Another state with the same hash.
    same: u32,
}

/// All states that were met.
#[derive(Clone, Debug)]
pub(super) struct States {
    words: usize,
    sets: Vec<u64>,
    pub list: Vec<ExecutedState>,
    table: HashMap<u64, u32>,
    bytes: usize,
}

impl States {
    /// The empty list of states, for so many operators.
    pub fn new(len: usize) -> Self {
        States {
            words: bits::words(len),
            sets: Vec::new(),
            list: Vec::new(),
            table: HashMap::new(),
            bytes: 0,
        }
    }

    /// The executed set of a state.
    pub fn set(&self, s: u32) -> &[u64] {
        &self.sets[s as usize * self.words..][..self.words]
    }

    /// The state of a set.
    pub fn find(&self, set: &[u64]) -> Option<u32> {
        let mut at = *self.table.get(&bits::hash(set))?;
        while at != NONE {
            if self.set(at) == set {
                return Some(at);
            }
            at = self.list[at as usize].same;
        }
        None
    }

    /// Adds a state whose set is new.
    pub fn add(&mut self, set: &[u64], bytes: u64, parent: u32, path: Vec<u32>, up: u32) -> u32 {
        let s = self.list.len() as u32;
        let same = self.table.insert(bits::hash(set), s).unwrap_or(NONE);
        self.bytes += size_of::<ExecutedState>() + 8 * self.words + 4 * path.len() + 32;
        self.sets.extend_from_slice(set);
        self.list.push(ExecutedState {
            bytes,
            parent,
            path: path.into(),
            up,
            status: Status::Open,
            steps: Vec::new(),
            way: Box::default(),
            base: 0,
            dive: 0,
            is_listed: true,
            same,
        });
        s
    }

    /// Lists the steps of a state.
    pub fn expand(&mut self, s: u32, choices: Vec<BlockChoice>) {
        self.bytes += size_of::<StateStep>() * choices.len();
        let state = &mut self.list[s as usize];
        let steps = choices
            .into_iter()
            .map(|choice| StateStep { choice, to: NONE });
        state.steps = steps.collect();
        state.status = Status::Expanded;
    }

    /// Memory that the states take, in bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The operators from the first state to one of them.
    pub fn order(&self, s: u32) -> Vec<u32> {
        let mut paths = Vec::new();
        let mut at = s;
        while at != NONE {
            let state = &self.list[at as usize];
            paths.push(&state.path);
            at = state.parent;
        }
        paths
            .into_iter()
            .rev()
            .flat_map(|path| path.iter().copied())
            .collect()
    }

    /// The operators from one state to a later one that was reached through it.
    pub fn path(&self, from: u32, to: u32) -> Option<Vec<u32>> {
        let mut paths = Vec::new();
        let mut at = to;
        while at != from {
            if at == NONE {
                return None;
            }
            let state = &self.list[at as usize];
            paths.push(&state.path);
            at = state.parent;
        }
        Some(
            paths
                .into_iter()
                .rev()
                .flat_map(|path| path.iter().copied())
                .collect(),
        )
    }

    /// Returns whether a state was reached through a state that committed to another way since a
    /// survey. If it can be reached otherwise too, the next survey lists it.
    pub fn is_dropped(&self, s: u32, since: u64) -> bool {
        let mut before = s;
        let mut at = self.list[s as usize].parent;
        while at != NONE {
            match self.list[at as usize].status {
                Status::Committed(to, survey) if to != before && survey == since => return true,
                _ => (before, at) = (at, self.list[at as usize].parent),
            }
        }
        false
    }
}
