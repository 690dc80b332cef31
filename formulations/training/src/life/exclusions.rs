//! Exclusions: starts, retentions and choices that no improving schedule has.
//!
//! A Lagrangian bound is a sum over tensors of the cheapest set of intervals. The cheapest set that
//! starts in a certain stage costs more by the reduced cost of that start. If the bound plus this
//! reduced cost reaches the target, no schedule below the target starts there. The same holds for
//! being held when a stage begins. Excluded starts and retentions are neither priced nor kept in
//! the restricted master, and no reader counts where it cannot run. (Fixing of arcs by reduced
//! cost, as in column generation for vehicle routing: Irnich, Desaulniers, Desrosiers, Hadjar
//! 2010.)

use super::lazy_bits::LazyBits;

/// The size of a program, for [`Exclusions`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Number of tensors.
    pub tensors: usize,
    /// Number of stages.
    pub stages: usize,
    /// Ways to compute a tensor, at most.
    pub ways: usize,
    /// Choices of a stage, at most.
    pub choices: usize,
}

/// Starts, retentions and choices that are excluded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exclusions {
    ways: usize,
    no_start: LazyBits,
    no_hold: LazyBits,
    no_choice: LazyBits,
}

impl Exclusions {
    /// Permits all starts, retentions and choices.
    pub fn none(extent: Extent) -> Self {
        let Extent {
            tensors,
            stages,
            ways,
            choices,
        } = extent;
        Exclusions {
            ways,
            no_start: LazyBits::new(tensors, stages * ways),
            no_hold: LazyBits::new(tensors, stages),
            no_choice: LazyBits::new(stages, choices),
        }
    }

    /// Returns whether the tensor may be computed in a stage in a way.
    #[inline]
    pub fn may_start(&self, tensor: u32, stage: u32, way: usize) -> bool {
        let column = stage as usize * self.ways + way;
        !self.no_start.get(tensor as usize, column)
    }

    /// Returns whether the tensor may be in memory when a stage begins.
    #[inline]
    pub fn may_hold(&self, tensor: u32, stage: u32) -> bool {
        !self.no_hold.get(tensor as usize, stage as usize)
    }

    /// Returns whether the tensor may be in memory at the beginning of all stages behind `start` up
    /// to `end`.
    pub fn may_hold_through(&self, tensor: u32, start: u32, end: u32) -> bool {
        (start + 1..=end).all(|stage| self.may_hold(tensor, stage))
    }

    /// Returns whether a stage may make a choice.
    #[inline]
    pub fn may_choose(&self, stage: usize, way: usize) -> bool {
        !self.no_choice.get(stage, way)
    }

    /// Stages whose permitted ways to compute a tensor differ from the next stage's.
    pub(crate) fn changes_of_starts(&self, tensor: u32) -> impl Iterator<Item = u32> + '_ {
        let changes = self.no_start.changes(tensor as usize, self.ways);
        changes.map(|column| (column / self.ways) as u32)
    }

    /// Stages at whose beginning a tensor may be in memory and at the next one's may not, or the
    /// other way round.
    pub(crate) fn changes_of_holds(&self, tensor: u32) -> impl Iterator<Item = u32> + '_ {
        let changes = self.no_hold.changes(tensor as usize, 1);
        changes.map(|stage| stage as u32)
    }

    pub(crate) fn exclude_start(&mut self, tensor: u32, stage: u32, way: usize) {
        let column = stage as usize * self.ways + way;
        self.no_start.set(tensor as usize, column);
    }

    pub(crate) fn exclude_hold(&mut self, tensor: u32, stage: u32) {
        self.no_hold.set(tensor as usize, stage as usize);
    }

    pub(crate) fn exclude_choice(&mut self, stage: usize, way: usize) {
        self.no_choice.set(stage, way);
    }

    /// Adds the exclusions of another set.
    pub(crate) fn exclude_all_of(&mut self, other: &Exclusions) {
        self.no_start.unite(&other.no_start);
        self.no_hold.unite(&other.no_hold);
        self.no_choice.unite(&other.no_choice);
    }

    /// Number of exclusions.
    pub fn excluded(&self) -> usize {
        let all = [&self.no_start, &self.no_hold, &self.no_choice];
        all.map(LazyBits::count_ones).iter().sum()
    }
}
