//! One depth-first search at a height.
//!
//! A node chooses a section on a valley of the floors and branches on its lowest unplaced buffer.
//! This buffer lies on the floor, or another lies higher up, so that a part of the section is
//! wasted. The cases exclude each other, so no placement is met twice. A failed case has a region
//! of sections that suffices as a reason. If a placed buffer has no part in the region, the other
//! buffers in its place would fail in the same way and are skipped.

use super::super::problem::align;
use super::rank::Preference;
use super::state::{Ground, NOWHERE, Region, SearchState, hull, nearest};
use super::stop::LaneStop;

/// Rule by which a node chooses its section among those on valleys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Branching {
    /// Fewest cases, then least slack.
    Fewest,
    /// Lowest floor, then fewest cases.
    LowestFewest,
    /// Least slack, then fewest cases.
    Tightest,
    /// Lowest floor, then least slack.
    LowestTightest,
}

impl Branching {
    pub const ALL: [Branching; 4] = [
        Branching::Fewest,
        Branching::LowestFewest,
        Branching::Tightest,
        Branching::LowestTightest,
    ];
}

/// Answer to the question whether items fit into a height.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) enum Verdict {
    /// They fit, at these offsets in units.
    Fits(Vec<u64>),
    /// They do not fit. Contains the steps of the refutation if they were kept.
    Refuted(Option<Vec<u32>>),
    /// The nodes are spent, or the search was stopped.
    Open,
}

/// A case of a node.
#[derive(Clone, Copy, Debug)]
enum Child {
    /// This item lies on the floor.
    Item(u32),
    /// No item begins below this offset.
    Waste(u64),
}

/// Name of the case of waste in the steps of a refutation.
pub(in super::super) const WASTE: u32 = u32::MAX;

/// An open node.
struct Frame {
    section: u32,
    children: Vec<Child>,
    /// The child after the current one.
    next: usize,
    /// Sections that explain why the children so far fail, and why there are no others.
    region: Region,
    /// Length of the trail at this node.
    trail: usize,
    /// Steps of the children that failed, and their number.
    steps: Vec<u32>,
    refuted: u32,
}

/// A search, which goes on where it stopped.
pub(in super::super) struct HeightSearch<'g, 'p> {
    state: SearchState<'g, 'p>,
    rank: Vec<u32>,
    branching: Branching,
    frames: Vec<Frame>,
    begun: bool,
    /// Nodes so far.
    pub nodes: u64,
    /// Limit on the steps that are kept; 0 for no steps.
    steps_limit: usize,
    steps: usize,
}

impl<'g, 'p> HeightSearch<'g, 'p> {
    /// A search at a height in bytes; `None` if an item is too large for it.
    pub fn new(
        ground: &'g Ground<'p>,
        height: u64,
        preference: Preference,
        branching: Branching,
    ) -> Option<Self> {
        Some(HeightSearch {
            state: SearchState::new(ground, height)?,
            rank: preference.ranks(ground.problem),
            branching,
            frames: Vec::new(),
            begun: false,
            nodes: 0,
            steps_limit: 0,
            steps: 0,
        })
    }

    /// The same, with at most so many steps of the refutation kept.
    pub fn keeping_steps(self, steps_limit: usize) -> Self {
        HeightSearch {
            steps_limit,
            ..self
        }
    }

    /// Searches on, for so many nodes at most.
    pub fn advance(&mut self, nodes: u64, stop: &LaneStop<'_>) -> Verdict {
        if !self.begun {
            self.begun = true;
            if self.state.settle().is_err() {
                return Verdict::Refuted((self.steps_limit > 0).then(Vec::new));
            }
            if self.state.unplaced == 0 {
                return Verdict::Fits(self.state.lowest.clone());
            }
            self.open();
        }
        let end = self.nodes.saturating_add(nodes);
        let mut refutation = Vec::new();
        loop {
            let Some(frame) = self.frames.last_mut() else {
                let kept = self.steps_limit > 0 && self.steps <= self.steps_limit;
                return Verdict::Refuted(kept.then_some(refutation));
            };
            self.state.undo(frame.trail);
            let Some(&child) = frame.children.get(frame.next) else {
                let region = frame.region;
                let steps = self.close();
                refutation = self.fail(region, steps);
                continue;
            };
            if self.nodes >= end || self.nodes.is_multiple_of(LaneStop::NODES) && stop.is_due() {
                return Verdict::Open;
            }
            frame.next += 1;
            self.nodes += 1;
            let outcome = match child {
                Child::Item(item) => self.state.place(item),
                Child::Waste(offset) => self.state.waste(frame.section, offset),
            };
            match outcome {
                Ok(()) if self.state.unplaced == 0 => {
                    return Verdict::Fits(self.state.lowest.clone());
                }
                Ok(()) => self.open(),
                Err(region) => {
                    if let Some(frame) = self.frames.last_mut() {
                        frame.region = hull(frame.region, region);
                    }
                }
            }
        }
    }

    /// Closes the node whose children all failed, and returns its steps.
    fn close(&mut self) -> Vec<u32> {
        let Some(frame) = self.frames.pop() else {
            return Vec::new();
        };
        if self.steps_limit == 0 {
            return Vec::new();
        }
        self.steps += 2;
        let mut steps = Vec::with_capacity(2 + frame.steps.len());
        steps.extend([frame.section, frame.refuted]);
        steps.extend(frame.steps);
        steps
    }

    /// Records that the current child fails by a region. Returns the steps if no node is open any
    /// more.
    fn fail(&mut self, region: Region, steps: Vec<u32>) -> Vec<u32> {
        while let Some(frame) = self.frames.last_mut() {
            let child = frame.children[frame.next - 1];
            let has_part = match child {
                Child::Item(item) => {
                    let list = self.state.ground.problem.stretches.list(item as usize);
                    list.iter().any(|s| s.0 < region.1 && region.0 < s.1)
                }
                Child::Waste(_) => region.0 <= frame.section && frame.section < region.1,
            };
            if has_part {
                frame.region = hull(frame.region, region);
                if self.steps_limit > 0 && self.steps <= self.steps_limit {
                    let name = if let Child::Item(item) = child {
                        item
                    } else {
                        WASTE
                    };
                    frame.steps.push(name);
                    frame.steps.extend(steps);
                    frame.refuted += 1;
                    self.steps += 1;
                }
                return Vec::new();
            }
            self.frames.pop();
        }
        steps
    }

    /// Opens a node.
    fn open(&mut self) {
        let section = self.choose();
        let s = section as usize;
        let state = &self.state;
        let ground = state.ground;
        let floor = state.floor[s];
        let here = (section, section + 1);
        let mut region = here;
        // No placed item gives this floor: the unplaced items do.
        let is_lifted = floor > state.raw[s];
        let mut items: Vec<u32> = Vec::new();
        for &item in ground.members.list(s) {
            let k = item as usize;
            if state.placed[k] {
                continue;
            }
            if state.lowest[k] > floor || is_lifted {
                region = self.with_cause(region, k, here);
            }
            // Of equal items, only the first is a case.
            let twin = ground.twin[k].filter(|&twin| !state.placed[twin as usize]);
            if state.lowest[k] == floor && twin.is_none() {
                items.push(item);
            }
        }
        for &item in &items {
            region = self.with_lifted(region, item, floor);
        }
        let is_fixed = |item: &&u32| ground.problem.items[**item as usize].fixed.is_some();
        let mut children: Vec<Child>;
        if let Some(&fixed) = items.iter().find(is_fixed) {
            children = vec![Child::Item(fixed)];
        } else {
            items.sort_unstable_by_key(|&item| self.rank[item as usize]);
            children = items.iter().map(|&item| Child::Item(item)).collect();
            let room = state.ceiling[s] - state.rest[s];
            if room > floor {
                let (offset, reach) = self.next_level(section, &items);
                region = hull(region, reach);
                if offset <= room {
                    children.push(Child::Waste(offset));
                }
            }
        }
        let trail = self.state.trail_len();
        let (next, steps, refuted) = (0, Vec::new(), 0);
        self.frames.push(Frame {
            section,
            children,
            next,
            region,
            trail,
            steps,
            refuted,
        });
    }

    /// A region with a section that explains why an item is not lower.
    fn with_cause(&self, region: Region, item: usize, here: Region) -> Region {
        let cause = self.state.cause[item];
        if cause.0 < cause.1 {
            hull(region, nearest(cause, here))
        } else {
            region
        }
    }

    /// A region that explains why no item can still come beneath an item on a floor. If that floor
    /// is no top of a placed item, the unplaced items explain it.
    fn with_lifted(&self, mut region: Region, item: u32, floor: u64) -> Region {
        let state = &self.state;
        let ground = state.ground;
        for &(from, to) in ground.problem.stretches.list(item as usize) {
            for section in from..to {
                if state.raw[section as usize] >= floor {
                    continue;
                }
                region = hull(region, ground.span(item));
                for &other in ground.members.list(section as usize) {
                    if !state.placed[other as usize] {
                        region = self.with_cause(region, other as usize, (section, section + 1));
                    }
                }
            }
        }
        region
    }

    /// The lowest offset at which an item may begin on a section if no item begins on its floor.
    /// The region explains it: a buffer lies on another that is not in the section.
    fn next_level(&self, section: u32, candidates: &[u32]) -> (u64, Region) {
        let state = &self.state;
        let ground = state.ground;
        let items = &ground.problem.items;
        let floor = state.floor[section as usize];
        let here = (section, section + 1);
        let mut level = NOWHERE;
        let mut region = here;
        for &item in ground.members.list(section as usize) {
            let k = item as usize;
            if !state.placed[k] && state.lowest[k] > floor {
                level = level.min(state.lowest[k]);
            }
        }
        for &item in candidates {
            region = hull(region, ground.span(item));
            let mut support = NOWHERE;
            for &other in ground.neighbours.list(item as usize) {
                let k = other as usize;
                if !state.placed[k] && !ground.problem.is_in(k, section) {
                    support = support.min(state.lowest[k] + items[k].size);
                    region = self.with_cause(region, k, here);
                }
            }
            if support != NOWHERE {
                level = level.min(align(support, items[item as usize].alignment));
            }
        }
        (level, region)
    }

    /// The section to branch on.
    fn choose(&self) -> u32 {
        let state = &self.state;
        let floors = &state.floor;
        let mut best = (u64::MAX, u64::MAX, u64::MAX);
        let mut chosen = 0;
        let mut end = 0;
        while end < floors.len() {
            let (start, floor) = (end, floors[end]);
            while end < floors.len() && floors[end] == floor {
                end += 1;
            }
            let is_valley = floor != NOWHERE
                && (start == 0 || floors[start - 1] > floor)
                && (end == floors.len() || floors[end] > floor);
            if !is_valley {
                continue;
            }
            for section in start..end {
                let slack = state.ceiling[section] - floor - state.rest[section];
                let cases = u64::from(state.candidates[section]) + u64::from(slack > 0);
                let key = match self.branching {
                    Branching::Fewest => (cases, slack, floor),
                    Branching::LowestFewest => (floor, cases, slack),
                    Branching::Tightest => (slack, cases, floor),
                    Branching::LowestTightest => (floor, slack, cases),
                };
                if key < best && (state.ground.contiguous || self.is_flat(section)) {
                    best = key;
                    chosen = section as u32;
                }
            }
        }
        chosen
    }

    /// Returns whether all candidates of a section lie on floors of its height everywhere, without
    /// enclosed space beneath them. The lowest sections are flat.
    fn is_flat(&self, section: usize) -> bool {
        let state = &self.state;
        let floor = state.floor[section];
        state.ground.members.list(section).iter().all(|&item| {
            let k = item as usize;
            let mut stretches = state.ground.problem.stretches.list(k).iter();
            state.placed[k]
                || state.lowest[k] != floor
                || stretches.all(|&(from, to)| {
                    state.floor[from as usize..to as usize]
                        .iter()
                        .all(|&other| other == floor)
                })
        })
    }
}
