//! Barrier method, crossover to a basis near its point, and the simplex method from there.

use super::Solver;
use crate::barrier::{Barrier, BarrierEnd, BarrierPoint, BarrierSettings};
use crate::crossover::{self, CorePoint};
use crate::outcome::{FarkasRay, LimitKind};
use crate::simplex::WorkBudget;

/// Largest relative residual of a point from which a crossover starts. If the residual is larger,
/// the simplex method starts from the present basis.
const LARGEST_RESIDUAL: f64 = 1e-3;

/// Outcome of a barrier method and crossover that needs no simplex method.
pub(super) enum InteriorEnd {
    Infeasible(FarkasRay),
    Limit(LimitKind),
}

impl Solver {
    /// Runs the barrier method and installs a basis near its point, if there is one. Subtracts its
    /// work from the budget.
    pub(super) fn cross_over(&mut self, budget: &mut WorkBudget) -> Result<(), InteriorEnd> {
        let settings = BarrierSettings {
            scaling: self.settings.scaling,
            ..BarrierSettings::default()
        };
        let mut barrier = Barrier::new(self.model.clone(), settings);
        barrier.set_limits(self.limits.clone());
        let end = barrier.solve();
        self.elsewhere.barrier += barrier.iterations();
        self.elsewhere.ticks += barrier.ticks();
        budget.iterations = budget
            .iterations
            .map(|l| l.saturating_sub(barrier.iterations()));
        budget.ticks = budget.ticks.map(|l| l.saturating_sub(barrier.ticks()));
        let point = match end {
            BarrierEnd::Infeasible(ray) => return Err(InteriorEnd::Infeasible(ray)),
            BarrierEnd::Limit(kind, _) => return Err(InteriorEnd::Limit(kind)),
            BarrierEnd::Optimal(point) => point,
            BarrierEnd::Unsettled(point)
                if point.primal_residual.max(point.dual_residual) <= LARGEST_RESIDUAL =>
            {
                point
            }
            BarrierEnd::Unsettled(_) => return Ok(()),
        };
        let point = self.core_point(&point);
        crossover::run(&mut self.core, point, budget).map_err(InteriorEnd::Limit)
    }

    /// A point in the units of the working state.
    fn core_point(&self, point: &BarrierPoint) -> CorePoint {
        let (m, n) = (self.core.m, self.core.n);
        let unit = self.cost_unit();
        let mut x: Vec<f64> = (0..n).map(|j| point.x[j] / self.scaling.col[j]).collect();
        let mut d: Vec<f64> = (0..n)
            .map(|j| unit * point.z[j] * self.scaling.col[j])
            .collect();
        for i in 0..m {
            let activity: f64 = self.core.at.iter(i).map(|(j, v)| v * x[j]).sum();
            x.push(-activity);
            d.push(-unit * point.y[i] / self.scaling.row[i]);
        }
        CorePoint { x, d }
    }
}
