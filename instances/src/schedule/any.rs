//! A schedule of either program.

use super::{BitMatrix, CheckmateSchedule, MonetSchedule, StageRuns};
use crate::Semantics;
use crate::instance::NodeId;
use std::borrow::Cow;

/// A schedule of one of the two programs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Schedule {
    /// Checkmate's (formulation B).
    Checkmate(CheckmateSchedule),
    /// MONeT's (formulation A).
    Monet(MonetSchedule),
}

impl From<CheckmateSchedule> for Schedule {
    fn from(schedule: CheckmateSchedule) -> Self {
        Schedule::Checkmate(schedule)
    }
}

impl From<MonetSchedule> for Schedule {
    fn from(schedule: MonetSchedule) -> Self {
        Schedule::Monet(schedule)
    }
}

/// The schedule of one program.
trait StageSchedule {
    fn semantics(&self) -> Semantics;
    fn recomputations(&self) -> usize;
    fn retained(&self) -> BitMatrix;
    fn computed_again(&self) -> Vec<NodeId>;
    fn matrices(&self) -> [Cow<'_, StageRuns>; 2];
}

impl Schedule {
    fn stages(&self) -> &dyn StageSchedule {
        match self {
            Schedule::Checkmate(schedule) => schedule,
            Schedule::Monet(schedule) => schedule,
        }
    }

    /// The program of this schedule.
    pub fn semantics(&self) -> Semantics {
        self.stages().semantics()
    }

    /// Number of computations beyond the first of each node; recomputed by-products count.
    pub fn recomputations(&self) -> usize {
        self.stages().recomputations()
    }

    /// The tensors in memory when each stage starts, in the rows and columns of the program.
    pub fn retained(&self) -> BitMatrix {
        self.stages().retained()
    }

    /// Nodes that are computed in a stage after their first one, ascending.
    pub fn computed_again(&self) -> Vec<NodeId> {
        self.stages().computed_again()
    }

    /// The matrices of computed and of retained tensors, as runs of stages.
    pub(super) fn matrices(&self) -> [Cow<'_, StageRuns>; 2] {
        self.stages().matrices()
    }

    /// The schedule, if it belongs to Checkmate's program.
    pub fn as_checkmate(&self) -> Option<&CheckmateSchedule> {
        match self {
            Schedule::Checkmate(schedule) => Some(schedule),
            _ => None,
        }
    }

    /// The schedule, if it belongs to MONeT's program.
    pub fn as_monet(&self) -> Option<&MonetSchedule> {
        match self {
            Schedule::Monet(schedule) => Some(schedule),
            _ => None,
        }
    }
}

impl StageSchedule for CheckmateSchedule {
    fn semantics(&self) -> Semantics {
        Semantics::Checkmate
    }

    fn recomputations(&self) -> usize {
        self.recomputations()
    }

    fn retained(&self) -> BitMatrix {
        self.retained.to_bits()
    }

    fn computed_again(&self) -> Vec<NodeId> {
        let n = self.computed.columns();
        let rows = self.computed.by_row();
        let mut again = vec![false; n];
        for stage in 0..n {
            let row = rows.row(stage).iter().map(|i| *i as usize);
            row.filter(|i| *i < stage).for_each(|i| again[i] = true);
        }
        marked(&again)
    }

    fn matrices(&self) -> [Cow<'_, StageRuns>; 2] {
        [&self.computed, &self.retained].map(Cow::Borrowed)
    }
}

impl StageSchedule for MonetSchedule {
    fn semantics(&self) -> Semantics {
        Semantics::Monet
    }

    fn recomputations(&self) -> usize {
        self.recomputations()
    }

    fn retained(&self) -> BitMatrix {
        self.retained.clone()
    }

    fn computed_again(&self) -> Vec<NodeId> {
        let mut again = vec![false; self.computed.columns()];
        for stage in 1..self.computed.rows() {
            self.computed.ones(stage).for_each(|i| again[i] = true);
        }
        marked(&again)
    }

    fn matrices(&self) -> [Cow<'_, StageRuns>; 2] {
        [&self.computed, &self.retained].map(|bits| Cow::Owned(bits.into()))
    }
}

fn marked(nodes: &[bool]) -> Vec<NodeId> {
    let marked = (0..nodes.len()).filter(|i| nodes[*i]);
    marked.map(NodeId::from).collect()
}
