//! Candidates for solutions: checked, repaired in their continuous columns if possible, kept if
//! better.

use super::extensions::violation;
use super::{Incumbent, RoundShared, Worker};
use crate::mip::check::check_point;
use crate::mip::extend::{CutSink, NodeView};
use crate::mip::problem::within_sides;
use crate::mip::relaxation::Relaxed;
use remat_lp::{Bounds, CONTRADICTION, ColId, LpOutcome, ModelError};

/// Result of the attempt to make a solution from the integer values of a point.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Attempt {
    /// A solution with these values exists.
    Accepted,
    /// No solution was found.
    Refused,
    /// No solution exists: every integer column of the model was checked without tolerance, and no
    /// values of the others satisfy the rows and bounds.
    Impossible,
}

impl Worker {
    /// Checks a point. Returns whether it is feasible; it need not be better than the incumbent.
    pub fn offer(
        &mut self,
        shared: &RoundShared,
        x: &[f64],
        found_by: &'static str,
    ) -> Result<bool, ModelError> {
        self.offer_original(shared, x, shared.postsolve.restore(x), found_by)
    }

    /// Checks a point of the original model in the same way.
    pub fn offer_restored(
        &mut self,
        shared: &RoundShared,
        original: Vec<f64>,
        found_by: &'static str,
    ) -> Result<bool, ModelError> {
        let reduced = shared.postsolve.project(&original);
        self.offer_original(shared, &reduced, original, found_by)
    }

    /// Checks a point given in both spaces.
    fn offer_original(
        &mut self,
        shared: &RoundShared,
        x: &[f64],
        original: Vec<f64>,
        found_by: &'static str,
    ) -> Result<bool, ModelError> {
        let checked = check_point(
            &shared.original,
            &original,
            shared.settings.feasibility_tolerance,
        );
        let Ok(objective) = checked else {
            self.report.refused += 1;
            return Ok(false);
        };
        for sep in shared.extensions.separators.iter().filter(|s| s.is_lazy()) {
            let mut sink = CutSink::default();
            let zero = vec![0.0; x.len()];
            sep.separate(
                &NodeView {
                    x,
                    reduced_costs: &zero,
                    lower: &self.domain.lower,
                    upper: &self.domain.upper,
                    integer: &shared.problem.integer,
                    bound: f64::NEG_INFINITY,
                    cutoff: shared.problem.in_model_units(self.cutoff),
                    depth: 0,
                    incumbent: None,
                },
                &mut sink,
            );
            if sink.rows.iter().any(|r| violation(r, x) > 1e-6) {
                return Ok(false);
            }
        }
        let objective = shared.problem.unit * objective;
        let wanted = shared
            .settings
            .cutoff
            .map_or(f64::INFINITY, |c| shared.problem.unit * c);
        let better = self.best.as_ref().is_none_or(|b| objective < b.objective);
        if objective >= wanted || !(better || shared.settings.pool_size > 1) {
            return Ok(true);
        }
        let mut found = Incumbent {
            objective,
            x: x.to_vec(),
            original,
            found_by,
            is_told: false,
        };
        if better {
            found.tell(&shared.original, &shared.audience);
            self.cutoff = self.cutoff.min(shared.cutoff_for(objective));
            self.limit = shared.limit_for(objective).min(self.limit).min(self.cutoff);
            self.best = Some(found.clone());
            self.report.solutions.push(found);
        } else {
            self.report.others.push(found);
        }
        Ok(true)
    }

    /// Solves the original model over its continuous columns with a small tolerance, with the
    /// integer columns fixed at a point. Presolve and scaling may have magnified a violation that
    /// the reduced relaxation takes for a rounding error.
    fn polish(
        &mut self,
        shared: &RoundShared,
        rounded: &[f64],
        found_by: &'static str,
    ) -> Result<Attempt, ModelError> {
        let model = &shared.original;
        let point = shared.postsolve.restore(rounded);
        let mut lp = remat_lp::Solver::new(
            model.clone(),
            remat_lp::Settings {
                primal_tolerance: 1e-9,
                ..Default::default()
            },
        );
        for j in 0..model.num_cols() {
            let col = ColId(j as u32);
            if model.is_integer(col) {
                let b = model.col_bounds(col);
                let v = point[j].round();
                let (lower, upper) = within_sides(b.lower, b.upper);
                if v < lower || v > upper {
                    return Ok(Attempt::Impossible);
                }
                lp.set_col_bounds(col, v)?;
            }
        }
        lp.set_limits(remat_lp::Limits {
            iterations: Some(50_000),
            interrupt: Some(shared.stop.flag().clone()),
            ..Default::default()
        });
        let mut outcome = lp.solve();
        if matches!(outcome, LpOutcome::Infeasible(_)) {
            lp.settings_mut().primal_tolerance = CONTRADICTION;
            outcome = lp.solve();
        }
        self.domain.ticks += lp.stats().ticks;
        if let LpOutcome::Infeasible(ray) = &outcome {
            let proven = remat_lp::certificate::check_farkas(lp.model(), ray).is_ok();
            return Ok(if proven {
                Attempt::Impossible
            } else {
                Attempt::Refused
            });
        }
        let Some(s) = outcome.optimal() else {
            return Ok(Attempt::Refused);
        };
        let mut x = s.x.clone();
        for (j, v) in x.iter_mut().enumerate() {
            let col = ColId(j as u32);
            let b = model.col_bounds(col);
            *v = if model.is_integer(col) {
                v.round()
            } else {
                b.nearest(*v)
            };
        }
        let accepted = self.offer_original(shared, &shared.postsolve.project(&x), x, found_by)?;
        Ok(if accepted {
            Attempt::Accepted
        } else {
            Attempt::Refused
        })
    }

    /// Tries a start of the user, a point of the original model.
    pub fn start(&mut self, shared: &RoundShared, x: &[f64]) -> Result<bool, ModelError> {
        let model = &shared.original;
        let near = |j: usize, v: f64| {
            if model.is_integer(ColId(j as u32)) && (v - v.round()).abs() <= 1e-6 {
                v.round()
            } else {
                v
            }
        };
        let x: Vec<f64> = x.iter().enumerate().map(|(j, &v)| near(j, v)).collect();
        let reduced = shared.postsolve.project(&x);
        // First the point itself: presolve may have excluded it in favour of an equally good one.
        if self.offer_original(shared, &reduced, x, "start")? {
            return Ok(true);
        }
        let attempt = self.try_integral(shared, &reduced, "start")?;
        Ok(attempt == Attempt::Accepted)
    }

    /// Rounds the integer columns of a point that is integral within tolerances, and checks it. If
    /// it is refused and there are continuous columns, the linear program over these is solved for
    /// the integer values. The original model's linear program is the last resort: always if all
    /// integer columns are fixed, else for a limited number of points.
    pub fn try_integral(
        &mut self,
        shared: &RoundShared,
        x: &[f64],
        found_by: &'static str,
    ) -> Result<Attempt, ModelError> {
        let p = shared.problem.clone();
        let mut rounded = x.to_vec();
        for j in 0..x.len() {
            if p.integer[j] {
                let domain = Bounds::new(self.domain.lower[j], self.domain.upper[j]);
                rounded[j] = domain.nearest(x[j].round());
            } else {
                rounded[j] = Bounds::new(p.lower[j], p.upper[j]).nearest(x[j]);
            }
        }
        let moved = (0..x.len()).any(|j| p.integer[j] && (rounded[j] - x[j]).abs() > 1e-9);
        if self.offer(shared, &rounded, found_by)? && !moved {
            return Ok(Attempt::Accepted);
        }
        let model = &shared.original;
        if (0..model.num_cols()).all(|j| model.is_integer(ColId(j as u32))) {
            return Ok(Attempt::Impossible);
        }
        let last = (0..p.num_cols()).all(|j| !p.integer[j] || self.domain.is_fixed(j));
        let snapshot = self.relax.snapshot();
        let mark = self.domain.mark();
        // A feasible point counts even if it is no better.
        self.domain.set_cutoff(f64::INFINITY);
        for j in 0..x.len() {
            if p.integer[j] && !self.domain.infeasible {
                self.domain.fix(&p, j, rounded[j]);
            }
        }
        let mut accepted = false;
        if !self.domain.infeasible && self.domain.propagate(&p) {
            self.sync_bounds(shared)?;
            if let Relaxed::Solved(s, _) = self.relax.probe(f64::INFINITY, 20_000, &self.domain) {
                let mut y = s.x;
                for j in 0..y.len() {
                    if p.integer[j] {
                        y[j] = rounded[j];
                    } else {
                        y[j] = Bounds::new(p.lower[j], p.upper[j]).nearest(y[j]);
                    }
                }
                accepted = self.offer(shared, &y, found_by)?;
            }
        }
        let mut attempt = if accepted {
            Attempt::Accepted
        } else {
            Attempt::Refused
        };
        if !accepted && (last || self.polished < 20 + self.processed / 20) {
            self.polished += 1;
            attempt = self.polish(shared, &rounded, found_by)?;
        }
        self.domain.undo(&shared.problem, mark);
        self.domain.set_cutoff(self.cutoff);
        self.sync_bounds(shared)?;
        self.relax.restore(&snapshot)?;
        Ok(attempt)
    }
}
