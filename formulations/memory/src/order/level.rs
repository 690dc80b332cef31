//! The level search over executed sets that can be reached within a level of memory.
//!
//! The search holds a level and explores all sets that are reachable within it, deepest first.
//! Steps that need more wait. When only waiting steps are left, the level becomes their smallest
//! need, and *that is a proven bound*: every order needs it. The first complete order is one of
//! least peak. Two exact rules keep the number of sets small:
//!
//! - single operators that free at least the bytes they take run at once, as soon as they fit;
//! - *valleys*: suppose the search reaches a set `K` with no more memory than an earlier set `I` on
//!   its way. Then the set `X` between them with the least memory (a minimum cut) replaces all
//!   steps behind `I`. By submodularity, every order from `I` can be made to pass `X` without a
//!   larger step. Open sets between are dropped. A dropped set may be reached again on another way,
//!   and then counts anew. So before a level is called exhausted, all sets that the listed ones
//!   lead to are traversed (`survey`).

use super::bits;
use super::block::Blocks;
use super::side::{Side, SideRun};
use super::states::{NONE, States, Status};
use super::valley::{Valley, between};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Entry of the stack: all steps of a state.
const WHOLE: u32 = u32::MAX;

/// Result of a piece of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pause {
    /// The given work is done, but not the search.
    Worked,
    /// The goal is reached.
    Found,
    /// Every order needs more than the cap.
    Exhausted,
    /// The states fill the memory that they may take.
    Full,
}

/// Limits of a search.
#[derive(Clone, Copy, Debug)]
pub(super) struct Caps {
    /// Level that the search does not exceed, in bytes.
    pub level: u64,
    /// Memory of the states, in bytes.
    pub state_bytes: usize,
}

/// A waiting step: its need, the state, the number of the step.
type WaitingStep = Reverse<(u64, u32, u32)>;

/// A level search from one executed set to another.
pub(super) struct Level<'a> {
    side: &'a Side,
    goal: Vec<u64>,
    blocks: Blocks,
    states: States,
    stack: Vec<(u32, u32)>,
    waiting: BinaryHeap<WaitingStep>,
    /// Current level of the search, and the proven bound, in bytes.
    level: u64,
    bound: u64,
    cap: u64,
    state_bytes: usize,
    run: SideRun<'a>,
    valley: Valley,
    /// The stack's height below the first entry of the current dive, and the number of the dive.
    dive_base: usize,
    dive: u64,
    /// Entries were dropped since the last survey.
    is_pruned: bool,
    surveys: u64,
    /// States visited in total.
    pub expanded: u64,
    found: Option<u32>,
}

impl<'a> Level<'a> {
    /// A search from `start`, where levels begin at a proven bound.
    pub fn new(
        side: &'a Side,
        start: &[u64],
        goal: Vec<u64>,
        blocks: Blocks,
        bound: u64,
        caps: Caps,
    ) -> Self {
        let mut level = Level {
            goal,
            blocks,
            states: States::new(side.len),
            stack: Vec::new(),
            waiting: BinaryHeap::new(),
            level: bound,
            bound,
            cap: caps.level,
            state_bytes: caps.state_bytes,
            run: SideRun::new(side),
            valley: Valley::new(side.len, side.bytes.len()),
            dive_base: usize::MAX,
            dive: 0,
            is_pruned: false,
            surveys: 0,
            expanded: 0,
            found: None,
            side,
        };
        level.run.load(start);
        let bytes = level.run.bytes;
        let root = level.states.add(start, bytes, NONE, Vec::new(), NONE);
        match start == level.goal {
            true => level.found = Some(root),
            false => level.wait(bound, root, WHOLE),
        }
        level
    }

    /// No order needs less than so many bytes.
    pub fn bound(&self) -> u64 {
        self.bound
    }

    /// The states, and the choices at them: the material of a proof.
    pub fn log(&mut self) -> (&States, &mut Blocks) {
        (&self.states, &mut self.blocks)
    }

    /// Adopts a bound that was proven elsewhere.
    pub fn raise(&mut self, bound: u64) {
        self.bound = self.bound.max(bound);
    }

    /// Lowers the level that the search does not exceed.
    pub fn cap(&mut self, level: u64) {
        self.cap = self.cap.min(level);
    }

    /// The order from start to goal, once it is found.
    pub fn order(&self) -> Option<Vec<u32>> {
        self.found.map(|s| self.states.order(s))
    }

    /// Visits up to so many more states, or ends when `is_over`.
    pub fn work(&mut self, states: u64, is_over: &dyn Fn() -> bool) -> Pause {
        let end = self.expanded + states;
        loop {
            if self.found.is_some() {
                return Pause::Found;
            }
            if self.states.bytes() > self.state_bytes {
                return Pause::Full;
            }
            if self.expanded >= end || is_over() {
                return Pause::Worked;
            }
            match self.stack.pop() {
                Some((s, k)) => self.take(s, k),
                None if self.next_level() => {}
                None => return Pause::Exhausted,
            }
        }
    }

    /// Processes an entry of the stack.
    fn take(&mut self, s: u32, k: u32) {
        if self.stack.len() < self.dive_base {
            // The current dive has ended: the entry begins another.
            self.dive += 1;
            self.dive_base = self.stack.len();
            if self.states.is_dropped(s, self.surveys) {
                self.is_pruned = true;
                return;
            }
        }
        if let Status::Committed(..) = self.states.list[s as usize].status {
            return;
        }
        match k {
            WHOLE => {
                self.run.load(self.states.set(s));
                self.expand(s);
            }
            _ => self.follow(s, k),
        }
    }

    fn wait(&mut self, need: u64, s: u32, k: u32) {
        match need <= self.level {
            true => self.stack.push((s, k)),
            false => self.waiting.push(Reverse((need, s, k))),
        }
    }

    /// Lists the steps of a state. The run is at the state.
    fn expand(&mut self, s: u32) {
        if let Status::Expanded | Status::Committed(..) = self.states.list[s as usize].status {
            return;
        }
        self.expanded += 1;
        let choices = self.blocks.choices(&mut self.run, self.level);
        let state = &mut self.states.list[s as usize];
        (state.base, state.dive) = (self.stack.len(), self.dive);
        for (k, choice) in choices.iter().enumerate().rev() {
            self.wait(choice.need, s, k as u32);
        }
        self.states.expand(s, choices);
    }

    /// Follows a step of a state.
    fn follow(&mut self, s: u32, k: u32) {
        let step = self.states.list[s as usize].steps[k as usize];
        if step.to != NONE {
            return;
        }
        self.run.load(self.states.set(s));
        let mut path = self.blocks.path(&mut self.run, &step.choice, self.level);
        path.iter().for_each(|v| {
            self.run.run(*v);
        });
        self.run_falling(&mut path);
        let t = self.arrive(s, path);
        self.states.list[s as usize].steps[k as usize].to = t;
    }

    /// Runs operators that free at least the bytes they take, as long as there are any.
    fn run_falling(&mut self, path: &mut Vec<u32>) {
        falling(&mut self.run, self.blocks.inside(), self.level, path);
    }

    /// Adds or finds the state of the run, which `path` reaches from state `s`.
    fn arrive(&mut self, s: u32, path: Vec<u32>) -> u32 {
        let set = set_of(&self.run);
        if let Some(t) = self.states.find(&set) {
            let state = &mut self.states.list[t as usize];
            self.is_pruned |= !std::mem::replace(&mut state.is_listed, true);
            if let Status::Open = state.status {
                self.stack.push((t, WHOLE));
            }
            return t;
        }
        let bytes = self.run.bytes;
        let t = self.states.add(&set, bytes, s, path, s);
        if set == self.goal {
            self.found = Some(t);
            return t;
        }
        let mut top = NONE;
        let mut at = s;
        while at != NONE && self.states.list[at as usize].bytes >= bytes {
            (top, at) = (at, self.states.list[at as usize].up);
        }
        if top == NONE || !self.commit(top, t) {
            self.expand(t);
        }
        t
    }

    /// Commits a state to the least memory between it and a later state; false if the later one was
    /// not reached through it.
    fn commit(&mut self, i: u32, k: u32) -> bool {
        let Some(mut path) = self.states.path(i, k) else {
            return false;
        };
        let free = between(self.states.set(i), self.states.set(k));
        self.run.load(self.states.set(i));
        let mut chosen = bits::empty(self.side.len);
        let least = self.valley.least(&self.run, &free, &[]);
        least.executed().for_each(|v| bits::insert(&mut chosen, v));
        path.retain(|v| bits::has(&chosen, *v));
        for v in &path {
            let need = self.run.run(*v);
            debug_assert!(
                need <= self.level,
                "a valley's way is no larger than the way it is of"
            );
        }
        debug_assert_eq!(self.run.bytes, least.bytes);
        let set = set_of(&self.run);
        let up = self.states.list[i as usize].up;
        let way = path.clone();
        let x = match self.states.find(&set) {
            Some(x) if x == k => {
                let state = &mut self.states.list[x as usize];
                (state.parent, state.path, state.up) = (i, path.into(), up);
                x
            }
            Some(x) => x,
            None => self.states.add(&set, self.run.bytes, i, path, up),
        };
        if x == i {
            return false;
        }
        let state = &mut self.states.list[i as usize];
        state.status = Status::Committed(x, self.surveys);
        state.way = way.into();
        let (base, same_dive) = (state.base, state.dive == self.dive);
        let height = if same_dive { base } else { self.dive_base };
        if self.stack.len() > height {
            self.stack.truncate(height);
        }
        self.is_pruned = true;
        if set == self.goal {
            self.found = Some(x);
            return true;
        }
        if let Status::Open = self.states.list[x as usize].status {
            self.expand(x);
        }
        true
    }

    /// Goes on to the next level; false if it is beyond the cap.
    fn next_level(&mut self) -> bool {
        self.dive_base = usize::MAX;
        if self.is_pruned {
            self.survey();
        }
        self.bound = self.bound.max(self.least_waiting());
        if self.bound > self.cap {
            return false;
        }
        self.level = self.level.max(self.bound);
        self.release();
        true
    }

    /// The least need of all waiting steps, in bytes.
    fn least_waiting(&self) -> u64 {
        let least = self.waiting.peek();
        least.map_or(u64::MAX, |Reverse((need, ..))| *need)
    }

    /// Moves the waiting steps that fit into the level to the stack.
    fn release(&mut self) {
        let begin = self.stack.len();
        while let Some(Reverse((need, s, k))) = self.waiting.peek().copied() {
            if need > self.level {
                break;
            }
            self.waiting.pop();
            self.stack.push((s, k));
        }
        self.stack[begin..].reverse();
    }

    /// Traverses all states that the first one leads to, and lists the unresolved ones anew.
    fn survey(&mut self) {
        self.is_pruned = false;
        self.surveys += 1;
        self.stack.clear();
        let mut unresolved = Vec::new();
        let mut seen = vec![false; self.states.list.len()];
        seen[0] = true;
        let mut open = vec![0u32];
        while let Some(s) = open.pop() {
            let state = &self.states.list[s as usize];
            let mut visit = |t: u32| {
                if !std::mem::replace(&mut seen[t as usize], true) {
                    open.push(t);
                }
            };
            match state.status {
                Status::Committed(t, _) => visit(t),
                Status::Open => unresolved.push(Reverse((0, s, WHOLE))),
                Status::Expanded => {
                    for (k, step) in state.steps.iter().enumerate() {
                        match step.to {
                            NONE => unresolved.push(Reverse((step.choice.need, s, k as u32))),
                            t => visit(t),
                        }
                    }
                }
            }
        }
        for (state, seen) in self.states.list.iter_mut().zip(seen) {
            state.is_listed = seen;
        }
        self.waiting = unresolved.into();
    }
}

/// The executed set of a run.
pub(super) fn set_of(run: &SideRun<'_>) -> Vec<u64> {
    let mut set = bits::empty(run.side.len);
    let done = run.done.iter().enumerate().filter(|(_, done)| **done);
    done.for_each(|(v, _)| bits::insert(&mut set, v as u32));
    set
}

/// Runs operators of a window that free at least the bytes they take and fit into the level, as
/// long as there are any. Appends them to `path`. Every order within the level can begin with them.
pub(super) fn falling(run: &mut SideRun<'_>, inside: &[u32], level: u64, path: &mut Vec<u32>) {
    let is_falling = |run: &SideRun<'_>, v: u32| {
        run.is_ready(v) && run.freed(v) >= run.taken(v) && run.need(v) <= level
    };
    let mut again = true;
    while again {
        again = false;
        for &v in inside {
            if is_falling(run, v) {
                run.run(v);
                path.push(v);
                again = true;
            }
        }
    }
}
