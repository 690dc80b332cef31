//! A fresh start in the middle of a sequence: presolve, solve, and continue from the resulting
//! basis.

use super::presolved::solve_with;
use super::{Solver, Stats};
use crate::outcome::LpOutcome;
use crate::presolve::PresolveSettings;

impl Solver {
    /// Solves without regard to the present basis: presolve, the simplex method on the reduced
    /// program, postsolve. The next [`Solver::solve`] continues from the resulting basis.
    ///
    /// After many deep cuts were added at once, this is faster than continuing from the old basis.
    /// From there the dual simplex needs many pivots, on a program several times larger than the
    /// presolved one. (Measured: rounds of 100 path cuts on the retention-edge form of ResNet-50,
    /// `bench/results/remat_lp.txt`.) After changes of a few rows or bounds it is slower.
    ///
    /// ```
    /// use remat_lp::{ModelBuilder, NewRow, Sense, Settings, Solver, presolve::PresolveSettings};
    /// let mut b = ModelBuilder::new(Sense::Maximise);
    /// let x = b.add_col(1.0, 0.0..=9.0);
    /// b.add_row(..=4.0, [(x, 1.0)]);
    /// let mut s = Solver::new(b.build()?, Settings::default());
    /// s.solve();
    /// s.add_rows(&[NewRow::new(..=3.0, [(x, 2.0)])])?;
    /// assert_eq!(s.solve_afresh(&PresolveSettings::default()).optimal().unwrap().objective, 1.5);
    /// let before = s.stats().iterations();
    /// assert_eq!(s.solve().optimal().unwrap().objective, 1.5);
    /// assert_eq!(s.stats().iterations(), before);
    /// # Ok::<(), remat_lp::ModelError>(())
    /// ```
    pub fn solve_afresh(&mut self, presolve: &PresolveSettings) -> LpOutcome {
        let (settings, limits) = (&self.settings, &self.limits);
        let solved = solve_with(&self.model, settings, limits, Some(presolve), false);
        self.elsewhere = self.elsewhere.plus(&solved.stats);
        if let LpOutcome::Optimal(solution) = &solved.outcome
            && self.set_basis(&solution.basis).is_err()
        {
            // A basis of another shape would be a defect of postsolve; the old basis is kept.
            debug_assert!(false, "postsolve gave a basis of the wrong shape");
        }
        solved.outcome
    }
}

impl Stats {
    /// The sum of both counters.
    pub(crate) fn plus(&self, other: &Stats) -> Stats {
        Stats {
            dual_phase1: self.dual_phase1 + other.dual_phase1,
            dual_phase2: self.dual_phase2 + other.dual_phase2,
            primal_phase1: self.primal_phase1 + other.primal_phase1,
            primal_phase2: self.primal_phase2 + other.primal_phase2,
            barrier: self.barrier + other.barrier,
            crossover: self.crossover + other.crossover,
            bound_flips: self.bound_flips + other.bound_flips,
            factorisations: self.factorisations + other.factorisations,
            ticks: self.ticks + other.ticks,
        }
    }
}
