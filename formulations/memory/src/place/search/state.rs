//! State of the decision search: placed buffers, and the lowest offsets of the others.
//!
//! Buffers are placed from below: a placed buffer has no unplaced buffer beneath it. So the lowest
//! offset of an unplaced buffer is the largest top of the placed ones that share a section with it,
//! rounded up to its alignment. The *floor* of a section is the lowest offset of all its unplaced
//! buffers.

use super::super::problem::{Lists, PlaceProblem, align};

/// A range of sections `[0, 1)`.
pub(in super::super) type Region = (u32, u32);

pub(super) const NOWHERE: u64 = u64::MAX;

/// The smallest range that contains both.
pub(super) fn hull(a: Region, b: Region) -> Region {
    (a.0.min(b.0), a.1.max(b.1))
}

/// The section of a range that is nearest to another range, as a range.
pub(super) fn nearest(of: Region, to: Region) -> Region {
    if of.1 <= to.0 {
        (of.1 - 1, of.1)
    } else if to.1 <= of.0 {
        (of.0, of.0 + 1)
    } else {
        let section = of.0.max(to.0);
        (section, section + 1)
    }
}

/// Immutable part, shared by searches of one problem.
pub(in super::super) struct Ground<'p> {
    pub problem: &'p PlaceProblem,
    pub members: Lists<u32>,
    pub neighbours: Lists<u32>,
    /// For items that are equal in all properties, the one before in the order of items.
    pub twin: Vec<Option<u32>>,
    /// True if all items have one stretch.
    pub contiguous: bool,
}

impl<'p> Ground<'p> {
    pub fn new(problem: &'p PlaceProblem) -> Self {
        let members = problem.members();
        let neighbours = problem.neighbours(&members);
        let key = |item: usize| {
            let mut of = problem.items[item];
            of.buffer = 0;
            (
                problem.stretches.list(item),
                of.size,
                of.alignment,
                of.excess,
                of.fixed,
            )
        };
        let mut order: Vec<usize> = (0..problem.items.len()).collect();
        order.sort_by_key(|&item| (key(item), item));
        let mut twin = vec![None; order.len()];
        for pair in order.windows(2) {
            if key(pair[0]) == key(pair[1]) && problem.items[pair[0]].fixed.is_none() {
                twin[pair[1]] = Some(pair[0] as u32);
            }
        }
        let contiguous = (0..problem.items.len()).all(|k| problem.stretches.list(k).len() == 1);
        Ground {
            problem,
            members,
            neighbours,
            twin,
            contiguous,
        }
    }

    /// First and last section of an item.
    pub fn span(&self, item: u32) -> Region {
        let list = self.problem.stretches.list(item as usize);
        match (list.first(), list.last()) {
            (Some(first), Some(last)) => (first.0, last.1),
            _ => (0, 0),
        }
    }
}

/// An entry of the trail.
enum Undo {
    Lowest {
        item: u32,
        lowest: u64,
        cause: Region,
    },
    Floor {
        section: u32,
        floor: u64,
        candidates: u32,
    },
    Raw {
        section: u32,
        raw: u64,
    },
    Placed {
        item: u32,
    },
}

/// State of a search.
pub(in super::super) struct SearchState<'g, 'p> {
    pub ground: &'g Ground<'p>,
    /// Largest offset of each item.
    pub latest: Vec<u64>,
    /// Largest top of an item of each section: its largest `latest` and size.
    pub ceiling: Vec<u64>,
    pub placed: Vec<bool>,
    pub unplaced: usize,
    /// Offset of a placed item, lowest offset of an unplaced one.
    pub lowest: Vec<u64>,
    /// Sections of which one alone explains why an item is not lower.
    pub cause: Vec<Region>,
    /// Items of each section, the lowest unplaced ones first, nearly.
    order: Lists<u32>,
    /// Units of the unplaced items of each section.
    pub rest: Vec<u64>,
    /// Lowest offset of the unplaced items of each section; [`NOWHERE`] without unplaced items.
    pub floor: Vec<u64>,
    /// Unplaced items of each section that could lie on its floor.
    pub candidates: Vec<u32>,
    /// Largest top of the placed items of each section, or the offset below which no item begins.
    pub raw: Vec<u64>,
    trail: Vec<Undo>,
    is_dirty: Vec<bool>,
    dirty: Vec<u32>,
}

impl<'g, 'p> SearchState<'g, 'p> {
    /// The state without a placed item, for a height in bytes; `None` if an item is too large.
    pub fn new(ground: &'g Ground<'p>, height: u64) -> Option<Self> {
        let problem = ground.problem;
        let items = problem.items.len();
        let latest: Option<Vec<u64>> = (0..items).map(|k| problem.latest(k, height)).collect();
        let latest = latest?;
        if problem
            .items
            .iter()
            .zip(&latest)
            .any(|(of, &latest)| of.fixed > Some(latest))
        {
            return None;
        }
        let ceiling = (0..problem.sections).map(|section| {
            let tops = ground.members.list(section).iter().map(|&item| {
                let item = item as usize;
                latest[item] + problem.items[item].size
            });
            tops.max().unwrap_or(0)
        });
        let ceiling = ceiling.collect();
        let mut state = SearchState {
            ground,
            latest,
            ceiling,
            placed: vec![false; items],
            unplaced: items,
            lowest: problem
                .items
                .iter()
                .map(|of| of.fixed.unwrap_or(0))
                .collect(),
            cause: vec![(0, 0); items],
            order: ground.members.clone(),
            rest: problem.loads(),
            floor: vec![0; problem.sections],
            candidates: vec![0; problem.sections],
            raw: vec![0; problem.sections],
            trail: Vec::new(),
            is_dirty: vec![false; problem.sections],
            dirty: Vec::new(),
        };
        for section in 0..problem.sections {
            state.mark(section as u32);
        }
        Some(state)
    }

    fn mark(&mut self, section: u32) {
        if !self.is_dirty[section as usize] {
            self.is_dirty[section as usize] = true;
            self.dirty.push(section);
        }
    }

    pub fn trail_len(&self) -> usize {
        self.trail.len()
    }

    /// Goes back to an earlier state.
    pub fn undo(&mut self, len: usize) {
        self.forget_marks();
        while self.trail.len() > len {
            match self.trail.pop() {
                Some(Undo::Lowest {
                    item,
                    lowest,
                    cause,
                }) => {
                    self.lowest[item as usize] = lowest;
                    self.cause[item as usize] = cause;
                }
                Some(Undo::Floor {
                    section,
                    floor,
                    candidates,
                }) => {
                    self.floor[section as usize] = floor;
                    self.candidates[section as usize] = candidates;
                }
                Some(Undo::Raw { section, raw }) => self.raw[section as usize] = raw,
                Some(Undo::Placed { item }) => {
                    self.placed[item as usize] = false;
                    self.unplaced += 1;
                    let size = self.ground.problem.items[item as usize].size;
                    for &(from, to) in self.ground.problem.stretches.list(item as usize) {
                        for rest in &mut self.rest[from as usize..to as usize] {
                            *rest += size;
                        }
                    }
                }
                None => {}
            }
        }
    }

    fn forget_marks(&mut self) {
        for section in self.dirty.drain(..) {
            self.is_dirty[section as usize] = false;
        }
    }

    /// Raises the lowest offset of an item to `offset`, because of a section in `cause`.
    fn raise(&mut self, item: u32, offset: u64, cause: Region) -> Result<(), Region> {
        let k = item as usize;
        let of = &self.ground.problem.items[k];
        let lowest = align(offset, of.alignment);
        if lowest <= self.lowest[k] {
            return Ok(());
        }
        if lowest > self.latest[k] || of.fixed.is_some() {
            return Err((cause.0, cause.0 + 1));
        }
        let old = (self.lowest[k], self.cause[k]);
        self.trail.push(Undo::Lowest {
            item,
            lowest: old.0,
            cause: old.1,
        });
        self.lowest[k] = lowest;
        self.cause[k] = cause;
        let ground = self.ground;
        for &(from, to) in ground.problem.stretches.list(k) {
            for section in from..to {
                self.mark(section);
            }
        }
        Ok(())
    }

    fn set_raw(&mut self, section: u32, raw: u64) {
        let old = std::mem::replace(&mut self.raw[section as usize], raw);
        self.trail.push(Undo::Raw { section, raw: old });
    }

    /// Places an item at its lowest offset.
    ///
    /// # Errors
    /// The region whose floors and unplaced items contradict the height.
    pub fn place(&mut self, item: u32) -> Result<(), Region> {
        let k = item as usize;
        let ground = self.ground;
        let size = ground.problem.items[k].size;
        let top = self.lowest[k] + size;
        self.placed[k] = true;
        self.unplaced -= 1;
        self.trail.push(Undo::Placed { item });
        for &(from, to) in ground.problem.stretches.list(k) {
            for section in from..to {
                self.rest[section as usize] -= size;
                self.set_raw(section, top);
                self.mark(section);
            }
        }
        for &other in ground.neighbours.list(k) {
            if !self.placed[other as usize] && self.lowest[other as usize] < top {
                let cause = self.shared(item, other);
                self.raise(other, top, cause)?;
            }
        }
        self.settle()
    }

    /// Sections that two items share: the first range of them.
    fn shared(&self, item: u32, other: u32) -> Region {
        let stretches = &self.ground.problem.stretches;
        for &(from, to) in stretches.list(item as usize) {
            for &(first, last) in stretches.list(other as usize) {
                let common = (from.max(first), to.min(last));
                if common.0 < common.1 {
                    return common;
                }
            }
        }
        (0, self.ground.problem.sections as u32)
    }

    /// Forbids further items to begin below `offset` in a section.
    ///
    /// # Errors
    /// As [`place`](Self::place).
    pub fn waste(&mut self, section: u32, offset: u64) -> Result<(), Region> {
        let ground = self.ground;
        self.set_raw(section, offset);
        for &item in ground.members.list(section as usize) {
            if !self.placed[item as usize] {
                self.raise(item, offset, (section, section + 1))?;
            }
        }
        self.settle()
    }

    /// Updates floors, and checks whether the unplaced items of each section still fit.
    ///
    /// # Errors
    /// As [`place`](Self::place).
    pub fn settle(&mut self) -> Result<(), Region> {
        while let Some(section) = self.dirty.pop() {
            self.is_dirty[section as usize] = false;
            if let Err(region) = self.settle_section(section) {
                self.forget_marks();
                return Err(region);
            }
        }
        Ok(())
    }

    fn settle_section(&mut self, section: u32) -> Result<(), Region> {
        let s = section as usize;
        let (placed, lowest) = (&self.placed, &self.lowest);
        let key = |item: u32| {
            if placed[item as usize] {
                NOWHERE
            } else {
                lowest[item as usize]
            }
        };
        let order = self.order.list_mut(s);
        for k in 1..order.len() {
            let item = order[k];
            let value = key(item);
            let mut at = k;
            while at > 0 && key(order[at - 1]) > value {
                order[at] = order[at - 1];
                at -= 1;
            }
            order[at] = item;
        }
        let floor = order.first().map_or(NOWHERE, |&item| key(item));
        let mut candidates = 0;
        if floor != NOWHERE {
            let ceiling = self.ceiling[s];
            let mut rest = self.rest[s];
            for (position, &item) in order.iter().enumerate() {
                let lowest = key(item);
                if lowest == NOWHERE {
                    break;
                }
                candidates += u32::from(lowest == floor);
                // The item and all behind it lie above its lowest offset.
                if lowest + rest > ceiling {
                    let mut region = (section, section + 1);
                    for &above in &order[position..] {
                        if self.placed[above as usize] {
                            break;
                        }
                        let cause = self.cause[above as usize];
                        if cause.0 < cause.1 {
                            region = hull(region, nearest(cause, (section, section + 1)));
                        }
                    }
                    return Err(region);
                }
                rest -= self.ground.problem.items[item as usize].size;
            }
        }
        if floor != self.floor[s] || candidates != self.candidates[s] {
            let (old, count) = (self.floor[s], self.candidates[s]);
            self.trail.push(Undo::Floor {
                section,
                floor: old,
                candidates: count,
            });
            self.floor[s] = floor;
            self.candidates[s] = candidates;
        }
        Ok(())
    }
}
