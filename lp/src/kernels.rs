//! The parts of a simplex iteration, for the micro-benchmarks in the bench crate. Not part of the
//! interface.

use crate::outcome::VarStatus;
use crate::solver::Solver;

/// A solver whose kernels can be called separately, at its present basis.
pub struct Kernels(Solver);

impl Kernels {
    /// Wraps a solver at its present basis.
    pub fn new(mut solver: Solver) -> Kernels {
        solver.core_mut().refactor();
        Kernels(solver)
    }

    /// Factorises the basis. Returns the number of replaced variables.
    pub fn factor(&mut self) -> usize {
        self.0.core_mut().refactor()
    }

    /// Columns that are not in the basis.
    pub fn nonbasic(&mut self) -> Vec<usize> {
        let core = self.0.core_mut();
        (0..core.n)
            .filter(|&j| core.status[j] != VarStatus::Basic)
            .collect()
    }

    /// Solves with a column of the program; returns the number of nonzeros.
    ///
    /// # Panics
    /// If there is no such column.
    pub fn ftran(&mut self, col: usize) -> usize {
        let core = self.0.core_mut();
        core.load_entering(col);
        core.factor.ftran(&mut core.col, core.density.col);
        let count = core.col.index.len();
        core.col.clear();
        count
    }

    /// A row of the inverse of the basis; returns the number of nonzeros.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn btran(&mut self, row: usize) -> usize {
        let core = self.0.core_mut();
        core.factor.btran_unit(row, &mut core.rho, core.density.rho);
        core.rho.index.len()
    }
}
