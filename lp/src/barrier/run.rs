//! The loop of the barrier method and its endings.

use super::iterate::{Iterate, Residuals};
use super::newton::Newton;
use super::program::BarrierProgram;
use super::report::report;
use super::settings::BarrierSettings;
use super::start;
use super::step::BarrierStep;
use super::{BarrierEnd, BarrierPoint};
use crate::certificate::oriented;
use crate::model::Model;
use crate::outcome::{FarkasRay, LimitKind};
use crate::quadratic::Quadratic;
use crate::settings::Limits;
use std::sync::atomic::Ordering;

/// Iterations without a better point after which a run stops.
const PATIENCE: u64 = 40;
/// If both step lengths are at most this, the iteration made no progress.
const SHORTEST_STEP: f64 = 1e-5;
/// Iterations between two checks whether the duals prove infeasibility.
const PROOF_PAUSE: u64 = 5;

pub(super) struct BarrierRun<'a> {
    model: &'a Model,
    p: &'a BarrierProgram,
    settings: &'a BarrierSettings,
    limits: &'a Limits,
    quadratic: Option<&'a Quadratic>,
    at: Iterate,
    r: Residuals,
    newton: Option<Newton>,
    pub iterations: u64,
    base_ticks: u64,
}

impl<'a> BarrierRun<'a> {
    pub fn new(
        model: &'a Model,
        p: &'a BarrierProgram,
        settings: &'a BarrierSettings,
        limits: &'a Limits,
        quadratic: Option<&'a Quadratic>,
    ) -> BarrierRun<'a> {
        BarrierRun {
            model,
            p,
            settings,
            limits,
            quadratic,
            at: Iterate {
                x: vec![0.0; p.num_cols()],
                y: vec![0.0; p.num_rows()],
                ..Iterate::default()
            },
            r: Residuals::default(),
            newton: None,
            iterations: 0,
            base_ticks: 4 * p.a.nnz() as u64,
        }
    }

    /// Deterministic work so far.
    pub fn ticks(&self) -> u64 {
        let vectors = 40 * self.p.num_cols() as u64;
        let solves = self.newton.as_ref().map_or(0, Newton::ticks);
        self.base_ticks + self.iterations * vectors + solves
    }

    pub fn solve(&mut self, start: Option<&BarrierPoint>) -> BarrierEnd {
        let (p, tuning) = (self.p, &self.settings.tuning);
        let Some(mut newton) = Newton::new(p, tuning) else {
            // There is not enough memory for the factor.
            return BarrierEnd::Unsettled(self.point());
        };
        let started = match start {
            Some(given) => Some(self.warm(given)),
            None => start::cold(p, &mut newton, tuning),
        };
        tracing::debug!(
            name: "barrier factor",
            target: "remat_lp",
            rows = p.num_rows(),
            entries = newton.entries(),
            dense_columns = newton.num_dense(),
            "barrier factor"
        );
        self.newton = Some(newton);
        let Some(at) = started else {
            return BarrierEnd::Unsettled(self.point());
        };
        self.at = at;
        let end = self.iterate();
        report(p.sign, self.iterations, &self.r, true);
        end
    }

    fn iterate(&mut self) -> BarrierEnd {
        let (p, tuning) = (self.p, &self.settings.tuning);
        let mut step = BarrierStep::new(p);
        let mut best: Option<(f64, Iterate, Residuals)> = None;
        let mut best_at = 0;
        loop {
            self.r.compute(p, &self.at);
            let merit = self.r.merit(
                self.settings.residual_tolerance,
                self.settings.gap_tolerance,
            );
            if merit <= 1.0 {
                return BarrierEnd::Optimal(self.point());
            }
            if best.as_ref().is_none_or(|b| merit < 0.9 * b.0) {
                best = Some((merit, self.at.clone(), self.r.clone()));
                best_at = self.iterations;
            }
            if let Some(kind) = self.limit_reached() {
                return BarrierEnd::Limit(kind, self.point());
            }
            if self.iterations.is_multiple_of(PROOF_PAUSE)
                && let Some(ray) = self.proof()
            {
                return BarrierEnd::Infeasible(ray);
            }
            let lost = self.iterations - best_at >= PATIENCE
                || self.iterations >= self.settings.max_iterations
                || !merit.is_finite();
            if !lost && let Some(newton) = &mut self.newton {
                report(p.sign, self.iterations, &self.r, false);
                if newton.factorise(p, &self.at, self.r.mu, tuning) {
                    let steps = step.take(p, newton, &mut self.at, &self.r, tuning);
                    self.iterations += 1;
                    if steps.0.max(steps.1) > SHORTEST_STEP {
                        continue;
                    }
                }
            }
            if let Some(ray) = self.proof() {
                return BarrierEnd::Infeasible(ray);
            }
            if let Some((_, at, r)) = best {
                (self.at, self.r) = (at, r);
            }
            return BarrierEnd::Unsettled(self.point());
        }
    }

    fn limit_reached(&self) -> Option<LimitKind> {
        let limits = self.limits;
        if limits.iterations.is_some_and(|l| self.iterations >= l) {
            return Some(LimitKind::Iterations);
        }
        if limits.ticks.is_some_and(|l| self.ticks() >= l) {
            return Some(LimitKind::Ticks);
        }
        match &limits.interrupt {
            Some(flag) if flag.load(Ordering::Relaxed) => Some(LimitKind::Interrupt),
            _ => None,
        }
    }

    /// Returns the duals as a proof of infeasibility, if they are one. On an infeasible program the
    /// dual objective grows without limit.
    fn proof(&self) -> Option<FarkasRay> {
        if self.r.primal <= self.settings.residual_tolerance
            || self.r.dual_objective <= self.r.primal_objective.max(0.0)
        {
            return None;
        }
        let mut y = self.p.duals(self.model, &self.at.y);
        let size = super::program::largest(&y);
        if !(size > 0.0 && size.is_finite()) {
            return None;
        }
        let factor = crate::scaling::power_of_two(1.0 / size);
        y.iter_mut().for_each(|v| *v *= factor);
        oriented(self.model, y)
    }

    fn warm(&self, given: &BarrierPoint) -> Iterate {
        let (mut x, mut y) = (given.x.clone(), given.y.clone());
        x.resize(self.model.num_cols(), 0.0);
        y.resize(self.model.num_rows(), 0.0);
        let clean = |v: &mut Vec<f64>| {
            let bad = v.iter_mut().filter(|v| !v.is_finite());
            bad.for_each(|v| *v = 0.0);
        };
        clean(&mut x);
        clean(&mut y);
        let mu = if given.mu.is_finite() { given.mu } else { 0.0 };
        start::warm(self.p, self.p.values_from(&x), self.p.duals_from(&y), mu)
    }

    /// The present point in the model's units.
    fn point(&self) -> BarrierPoint {
        let p = self.p;
        let mut z = vec![0.0; self.model.num_cols()];
        let y = p.duals(self.model, &self.at.y);
        let x = p.values(self.model, &self.at.x);
        let gradient = self.quadratic.map(|q| q.gradient(&x));
        for (j, z) in z.iter_mut().enumerate() {
            // A fixed column gets its reduced cost.
            *z = self.model.cost[j] + gradient.as_ref().map_or(0.0, |g| g[j]);
            for (i, v) in self.model.col_entries(j) {
                *z -= v * y[i];
            }
        }
        if !self.at.zl.is_empty() {
            for (k, &j) in p.cols.iter().enumerate() {
                let scale = p.scaling.col[j as usize];
                z[j as usize] = p.sign * (self.at.zl[k] - self.at.zu[k]) / scale;
            }
        }
        BarrierPoint {
            x,
            y,
            z,
            mu: self.r.mu,
            primal_objective: p.sign * self.r.primal_objective,
            dual_objective: p.sign * self.r.dual_objective,
            primal_residual: self.r.primal,
            dual_residual: self.r.infeasible_dual,
        }
    }
}
