//! Floors over the sections, in runs of one level.

use std::collections::{BTreeMap, BTreeSet};

/// Level of runs without unplaced items.
const CLOSED: u64 = u64::MAX;

/// A skyline.
#[derive(Clone)]
pub(super) struct Skyline {
    /// End and level of each run, by its beginning. Neighbouring runs have different levels.
    runs: BTreeMap<u32, (u32, u64)>,
    by_level: BTreeSet<(u64, u32)>,
}

impl Skyline {
    /// The skyline of level 0 over some sections.
    pub fn new(sections: u32) -> Self {
        let mut skyline = Skyline {
            runs: BTreeMap::new(),
            by_level: BTreeSet::new(),
        };
        skyline.insert(0, sections, 0);
        skyline
    }

    /// Beginning, end and level of the lowest run, the first of these.
    pub fn lowest(&self) -> Option<(u32, u32, u64)> {
        let &(level, from) = self.by_level.first()?;
        Some((from, self.runs[&from].0, level))
    }

    /// Beginning, end and level of all runs with unplaced items.
    pub fn runs(&self) -> impl Iterator<Item = (u32, u32, u64)> + '_ {
        let open = self.runs.iter().filter(|(_, run)| run.1 != CLOSED);
        open.map(|(&from, &(to, level))| (from, to, level))
    }

    /// Level of the lower one of the runs beside a run.
    pub fn wall(&self, from: u32, to: u32) -> u64 {
        let before = self
            .runs
            .range(..from)
            .next_back()
            .map_or(CLOSED, |(_, run)| run.1);
        let after = self.runs.get(&to).map_or(CLOSED, |run| run.1);
        before.min(after)
    }

    /// Closes a run: no item is left to place in it.
    pub fn close(&mut self, from: u32, to: u32) {
        self.lift(from, to, CLOSED);
    }

    fn remove(&mut self, from: u32) -> Option<(u32, u64)> {
        let run = self.runs.remove(&from)?;
        self.by_level.remove(&(run.1, from));
        Some(run)
    }

    fn insert(&mut self, from: u32, to: u32, level: u64) {
        if from < to {
            self.runs.insert(from, (to, level));
            self.by_level.insert((level, from));
        }
    }

    /// Lifts a part of one run to a level.
    pub fn lift(&mut self, from: u32, to: u32, level: u64) {
        let Some((&start, _)) = self.runs.range(..=from).next_back() else {
            return;
        };
        let Some((end, old)) = self.remove(start) else {
            return;
        };
        let (mut first, mut last) = (from, to.min(end));
        self.insert(start, first, old);
        self.insert(last, end, old);
        if first == start
            && let Some((&before, &(_, other))) = self.runs.range(..first).next_back()
            && other == level
        {
            self.remove(before);
            first = before;
        }
        if last == end
            && let Some(&(beyond, other)) = self.runs.get(&last)
            && other == level
        {
            self.remove(last);
            last = beyond;
        }
        self.insert(first, last, level);
    }
}
