//! Bases of the restricted program that outlive what else is in it.

use super::Master;
use crate::interval::{Program, Sense};
use remat_lp::{Basis, ModelError, VarStatus};
use std::collections::BTreeSet;
use std::sync::Arc;

/// What is in a basis, whatever else is in the program: other rows are slack, other columns at 0.
pub(in crate::interval) struct Basics<P: Program> {
    /// Rows that are nonbasic.
    pub tight: Vec<Arc<P::Row>>,
    /// Columns that are no intervals, by number.
    pub others: Vec<u32>,
    /// Intervals.
    pub intervals: BTreeSet<P::Column>,
}

impl<P: Program> Master<P> {
    /// The present basis.
    pub(in crate::interval) fn basis(&self) -> Basics<P> {
        let Basis { cols, rows } = self.solver.basis();
        let is_basic = |status: &VarStatus| *status == VarStatus::Basic;
        let (others, intervals) = cols.split_at(self.before());
        let tight = self.rows.iter().zip(&rows).filter(|(_, s)| !is_basic(s));
        let others = (0..).zip(others).filter(|(_, s)| is_basic(s));
        let intervals = self.columns.iter().zip(intervals);
        let intervals = intervals.filter(|(_, s)| is_basic(s));
        Basics {
            tight: tight.map(|(row, _)| Arc::new(row.clone())).collect(),
            others: others.map(|(k, _)| k).collect(),
            intervals: intervals.map(|(c, _)| *c).collect(),
        }
    }

    /// Goes to a basis as far as it is there: rows and columns that are not in the program are left out.
    ///
    /// # Errors
    /// [`ModelError`] if the solver refuses, which would be a defect here.
    pub(in crate::interval) fn set_basis(&mut self, basics: &Basics<P>) -> Result<(), ModelError> {
        let tight: BTreeSet<&P::Row> = basics.tight.iter().map(|row| &**row).collect();
        let mut cols = vec![VarStatus::AtLower; self.before()];
        for k in &basics.others {
            cols[*k as usize] = VarStatus::Basic;
        }
        cols.extend(
            self.columns
                .iter()
                .map(|c| match basics.intervals.contains(c) {
                    true => VarStatus::Basic,
                    false => VarStatus::AtLower,
                }),
        );
        let rows = self
            .rows
            .iter()
            .map(|row| match self.program.nature(row).sense {
                _ if !tight.contains(row) => VarStatus::Basic,
                Sense::Memory => VarStatus::AtUpper,
                Sense::AtLeast | Sense::Equal => VarStatus::AtLower,
            });
        let rows = rows.collect();
        self.solver.set_basis(&Basis { cols, rows })
    }
}
