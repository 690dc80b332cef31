//! Bases of the restricted master that stay valid when rows and columns are added or purged.

use super::Master;
use crate::price::{Program, Sense};
use remat_lp::{Basis, ModelError, VarStatus};
use std::collections::BTreeSet;
use std::sync::Arc;

/// A basis by the names of its rows and columns. All other rows are slack, all other columns are 0.
pub(in crate::price) struct Basics<P: Program> {
    /// Rows that are nonbasic.
    pub tight: Vec<Arc<P::Row>>,
    /// Numbers of basic columns that are not priced: slack columns and static columns.
    pub others: Vec<u32>,
    /// Basic priced columns.
    pub columns: BTreeSet<P::Column>,
}

impl<P: Program> Master<P> {
    /// The present basis.
    pub(in crate::price) fn basis(&self) -> Basics<P> {
        let Basis { cols, rows } = self.solver.basis();
        let is_basic = |status: &VarStatus| *status == VarStatus::Basic;
        let (others, columns) = cols.split_at(self.before());
        let tight = self.rows.iter().zip(&rows).filter(|(_, s)| !is_basic(s));
        let others = (0..).zip(others).filter(|(_, s)| is_basic(s));
        let columns = self.columns.iter().zip(columns);
        let columns = columns.filter(|(_, s)| is_basic(s));
        Basics {
            tight: tight.map(|(row, _)| Arc::new(row.clone())).collect(),
            others: others.map(|(k, _)| k).collect(),
            columns: columns.map(|(c, _)| c.clone()).collect(),
        }
    }

    /// Loads a basis. Rows and columns that are not in the master are left out.
    ///
    /// # Errors
    /// [`ModelError`] if the solver refuses, which would be a defect here.
    pub(in crate::price) fn set_basis(&mut self, basics: &Basics<P>) -> Result<(), ModelError> {
        let tight: BTreeSet<&P::Row> = basics.tight.iter().map(|row| &**row).collect();
        let mut cols = vec![VarStatus::AtLower; self.before()];
        for k in &basics.others {
            cols[*k as usize] = VarStatus::Basic;
        }
        cols.extend(
            self.columns
                .iter()
                .map(|c| match basics.columns.contains(c) {
                    true => VarStatus::Basic,
                    false => VarStatus::AtLower,
                }),
        );
        let rows = self
            .rows
            .iter()
            .map(|row| match self.program.row_traits(row).sense {
                _ if !tight.contains(row) => VarStatus::Basic,
                Sense::AtMost => VarStatus::AtUpper,
                Sense::AtLeast | Sense::Equal => VarStatus::AtLower,
            });
        let rows = rows.collect();
        self.solver.set_basis(&Basis { cols, rows })
    }
}
