//! Values that flips have overwritten: flips that do not pay are taken back without an evaluation
//! of their stages.

/// Values overwritten by flips that may be taken back, the last one last. `V` is the value of a
/// stage, `T` are totals over stages, `L` are the lists of a stage.
#[derive(Clone)]
pub struct Undo<V, T, L> {
    steps: Vec<UndoStep<T>>,
    values: Vec<V>,
    /// Stages with their lists; entries from `listed` on are spare.
    lists: Vec<(usize, L)>,
    listed: usize,
}

/// A flip: the totals before it, and the beginnings of its overwritten values and lists.
#[derive(Clone, Copy)]
struct UndoStep<T> {
    totals: T,
    values: usize,
    listed: usize,
}

impl<V, T, L> Default for Undo<V, T, L> {
    fn default() -> Self {
        Undo {
            steps: Vec::new(),
            values: Vec::new(),
            lists: Vec::new(),
            listed: 0,
        }
    }
}

impl<V: Copy, T: Copy, L: Default> Undo<V, T, L> {
    /// Begins a flip with the totals and the values of the stages before it.
    pub fn begin(&mut self, totals: T, values: impl Iterator<Item = V>) {
        self.steps.push(UndoStep {
            totals,
            values: self.values.len(),
            listed: self.listed,
        });
        self.values.extend(values);
    }

    /// Place for the lists of a stage that the current flip overwrites. They are discarded soon
    /// unless the flip may be taken back.
    pub fn list(&mut self, stage: usize, may_come_back: bool) -> &mut L {
        let at = self.listed;
        if at == self.lists.len() {
            self.lists.push((stage, L::default()));
        }
        self.listed += usize::from(may_come_back);
        let (of, list) = &mut self.lists[at];
        *of = stage;
        list
    }

    /// Takes the last flip back: passes `relist` the stages with their lists before it, and returns
    /// totals and values.
    pub fn take_back(
        &mut self,
        mut relist: impl FnMut(usize, &mut L),
    ) -> Option<(T, std::vec::Drain<'_, V>)> {
        let step = self.steps.pop()?;
        for (stage, list) in self.lists[step.listed..self.listed].iter_mut().rev() {
            relist(*stage, list);
        }
        self.listed = step.listed;
        Some((step.totals, self.values.drain(step.values..)))
    }

    /// Discards the undo data of all flips: they stay.
    pub fn settle(&mut self) {
        self.steps.clear();
        self.values.clear();
        self.listed = 0;
    }
}
