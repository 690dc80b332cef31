//! Snapshots of the basis, and rows of its tableau.

use super::Solver;
use crate::ids::{ColId, RowId};
use crate::model::ModelError;
use crate::outcome::{Basis, VarStatus};

impl Solver {
    /// The present basis.
    pub fn basis(&self) -> Basis {
        let core = &self.core;
        let rows = core.status[core.n..]
            .iter()
            .map(|s| match s {
                // A logical is minus its row's activity.
                VarStatus::AtLower => VarStatus::AtUpper,
                VarStatus::AtUpper => VarStatus::AtLower,
                other => *other,
            })
            .collect();
        Basis {
            cols: core.status[..core.n].to_vec(),
            rows,
        }
    }

    /// Row multipliers for the tableau row of a basic column. With the result `rho`, `rho . A x`
    /// has coefficient 1 in that column and 0 in every other basic column, and the activity of a
    /// nonbasic row `i` has coefficient `-rho[i]`. Gomory and related cuts are derived from this
    /// row. `None` if the column is not basic.
    ///
    /// ```
    /// use remat_lp::{ModelBuilder, Sense, Settings, Solver};
    /// let mut b = ModelBuilder::new(Sense::Maximise);
    /// let x = b.add_col(1.0, 0.0..);
    /// b.add_row(..=3.0, [(x, 2.0)]);
    /// let mut s = Solver::new(b.build()?, Settings::default());
    /// s.solve();
    /// assert_eq!(s.tableau_multipliers(x), Some(vec![0.5]));
    /// # Ok::<(), remat_lp::ModelError>(())
    /// ```
    ///
    /// # Panics
    /// If the model has no such column.
    pub fn tableau_multipliers(&mut self, col: ColId) -> Option<Vec<f64>> {
        assert!(
            col.index() < self.core.n,
            "column {} does not exist",
            col.index()
        );
        let scale = self.scaling.col[col.index()];
        self.multipliers(col.index(), scale)
    }

    /// Row multipliers for the tableau row of a basic row activity. With the result `rho`,
    /// `rho . A x` has coefficient 0 in every basic column. The activity equals `rho . A x` minus
    /// `rho[i]` times the activity of each other row `i`. `None` if the row is not basic.
    ///
    /// ```
    /// use remat_lp::{ModelBuilder, RowId, Sense, Settings, Solver};
    /// let mut b = ModelBuilder::new(Sense::Maximise);
    /// let x = b.add_col(1.0, 0.0..);
    /// b.add_row(..=3.0, [(x, 2.0)]);
    /// b.add_row(..=9.0, [(x, 4.0)]);
    /// let mut s = Solver::new(b.build()?, Settings::default());
    /// s.solve();
    /// // The second activity is twice the first.
    /// assert_eq!(s.tableau_multipliers_of_row(RowId(1)), Some(vec![-2.0, 1.0]));
    /// # Ok::<(), remat_lp::ModelError>(())
    /// ```
    ///
    /// # Panics
    /// If the model has no such row.
    pub fn tableau_multipliers_of_row(&mut self, row: RowId) -> Option<Vec<f64>> {
        assert!(
            row.index() < self.core.m,
            "row {} does not exist",
            row.index()
        );
        let scale = 1.0 / self.scaling.row[row.index()];
        self.multipliers(self.core.n + row.index(), scale)
    }

    /// Row of the inverse of the basis for a basic variable, in the units of the model; `scale` is
    /// the ratio of the variable's unit to the simplex's unit.
    fn multipliers(&mut self, variable: usize, scale: f64) -> Option<Vec<f64>> {
        let core = &mut self.core;
        if core.status[variable] != VarStatus::Basic {
            return None;
        }
        if !core.factored {
            core.refactor();
        }
        let at = core.basic.iter().position(|&v| v as usize == variable)?;
        core.work.clear();
        core.work.value[at] = 1.0;
        core.work.index.push(at as u32);
        core.factor.btran(&mut core.work, core.density.rho);
        let rho = (0..core.m)
            .map(|i| core.work.value[core.factor.position(i)] * self.scaling.row[i] * scale)
            .collect();
        core.work.clear();
        Some(rho)
    }

    /// Installs another basis. An incomplete or singular basis is completed with row variables.
    ///
    /// # Errors
    /// [`ModelError::Length`] if it belongs to a model of another size.
    pub fn set_basis(&mut self, basis: &Basis) -> Result<(), ModelError> {
        let core = &mut self.core;
        for (what, expected, found) in [
            ("basis columns", core.n, basis.cols.len()),
            ("basis rows", core.m, basis.rows.len()),
        ] {
            if expected != found {
                return Err(ModelError::Length {
                    what,
                    expected,
                    found,
                });
            }
        }
        let flipped = basis.rows.iter().map(|s| match s {
            VarStatus::AtLower => VarStatus::AtUpper,
            VarStatus::AtUpper => VarStatus::AtLower,
            other => *other,
        });
        let status: Vec<VarStatus> = basis.cols.iter().copied().chain(flipped).collect();
        if status == core.status {
            return Ok(());
        }
        core.restore_bounds();
        let same_basics = status
            .iter()
            .zip(&core.status)
            .all(|(a, b)| (*a == VarStatus::Basic) == (*b == VarStatus::Basic));
        if same_basics {
            // Only sides of nonbasic variables differ: factorisation and weights are kept.
            core.status.copy_from_slice(&status);
            core.primal_valid = false;
        } else {
            core.install_basis(&status);
        }
        core.settle_nonbasic();
        Ok(())
    }
}
