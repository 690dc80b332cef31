//! The extensions of a search, and the columns that they need.

use super::{
    BranchingRule, Heuristic, Needs, NodeSelector, PresolveStep, Propagator, Separator, StatedRows,
};
use std::sync::Arc;

/// Extensions supplied by a domain.
#[derive(Clone, Default)]
pub(crate) struct Extensions {
    pub branching: Vec<Arc<dyn BranchingRule>>,
    pub separators: Vec<Arc<dyn Separator>>,
    pub heuristics: Vec<Arc<dyn Heuristic>>,
    pub propagators: Vec<Arc<dyn Propagator>>,
    pub selector: Option<Arc<dyn NodeSelector>>,
    pub steps: Vec<Arc<dyn PresolveStep>>,
    /// Rows that a proof may state; they make lazy rows provable.
    pub stated: Option<Arc<dyn StatedRows>>,
    /// True if they work on the presolved problem in the columns of the original model.
    pub is_mapped: bool,
}

impl Extensions {
    /// Marks the needed columns of all extensions, out of `cols` columns.
    pub fn needed(&self, cols: usize) -> Vec<bool> {
        let mut needed = vec![false; cols];
        for need in self.needs() {
            match need {
                Needs::EveryColumn => needed.fill(true),
                Needs::Columns(some) => {
                    for col in some {
                        if let Some(needed) = needed.get_mut(col.index()) {
                            *needed = true;
                        }
                    }
                }
            }
        }
        needed
    }

    fn needs(&self) -> impl Iterator<Item = Needs> {
        (self.branching.iter().map(|e| e.needs()))
            .chain(self.separators.iter().map(|e| e.needs()))
            .chain(self.heuristics.iter().map(|e| e.needs()))
            .chain(self.propagators.iter().map(|e| e.needs()))
    }

    /// Returns whether presolve must keep all columns.
    pub fn need_every_column(&self) -> bool {
        self.needs().any(|need| need == Needs::EveryColumn)
    }

    /// Returns whether restricted programs are useless because they have no extensions: extensions
    /// alone may define a part of the problem, or need every column.
    pub fn exclude_restricted(&self) -> bool {
        let alone = !self.propagators.is_empty() || self.separators.iter().any(|s| s.is_lazy());
        alone || (!self.is_mapped && self.need_every_column())
    }
}
