//! Several objectives, by descending priority. Later ones keep each earlier one within its
//! tolerance.

use super::solve::solve_alone;
use super::stages::SharedLimits;
use super::{Answer, Col, Ending, Program, ProgramError, ProgramSettings, Watcher};
use crate::setting;
use remat_solver::mip::SolveError;
use std::sync::Arc;

/// Loss for rounding that is allowed with any tolerances, for each unit of the objective.
const ROUNDING: f64 = 1e-9;

/// One of several objectives, in the program's sense.
#[derive(Clone, Debug, PartialEq)]
pub struct Objective {
    /// Costs by column; costs of the same column are added up.
    pub entries: Vec<(Col, f64)>,
    /// Constant.
    pub constant: f64,
    /// Objectives of greater priority are solved first; objectives of the same priority are added
    /// up by weight.
    pub priority: i32,
    /// Factor among objectives of one priority; a negative one reverses the sense.
    pub weight: f64,
    /// Loss that later objectives may cause; among objectives of one priority the largest counts.
    pub absolute: f64,
    /// The same as a share of the value.
    pub relative: f64,
}

impl Objective {
    /// Checks that numbers are finite, and tolerances not below 0.
    ///
    /// # Errors
    /// [`SolveError::Setting`].
    pub(super) fn validate(&self) -> Result<(), SolveError> {
        let finite = |name, value: f64| {
            let wrong = Some(value).filter(|v| !v.is_finite());
            setting(name, wrong, "a finite number")
        };
        let not_below_0 = |name, value: f64| {
            let wrong = Some(value).filter(|&v| v.is_nan() || v < 0.0);
            setting(name, wrong, "a number from 0 up")
        };
        finite("constant of an objective", self.constant)?;
        finite("weight of an objective", self.weight)?;
        for &(_, value) in &self.entries {
            finite("entry of an objective", value)?;
        }
        not_below_0("absolute tolerance of an objective", self.absolute)?;
        not_below_0("relative tolerance of an objective", self.relative)
    }

    /// Value at a point by handle.
    pub fn value(&self, x: &[f64]) -> f64 {
        let terms = self.entries.iter().map(|&(c, v)| v * x[c.index()]);
        self.constant + terms.sum::<f64>()
    }
}

/// Solves a program for each priority in turn. The answer's objective is the value of the settings'
/// first objective; its bound holds if all priorities are solved.
///
/// # Errors
/// As [`super::solve_program`].
pub(super) fn solve_objectives(
    program: &Program,
    settings: &ProgramSettings,
    watcher: &Arc<dyn Watcher>,
) -> Result<Answer, ProgramError> {
    let objectives = &settings.objectives;
    let mut priorities: Vec<i32> = objectives.iter().map(|o| o.priority).collect();
    priorities.sort_unstable_by(|a, b| b.cmp(a));
    priorities.dedup();
    let mut stages = SharedLimits::new(settings);
    let mut stage = program.clone();
    stage.clear_parts();
    let mut last: Option<Answer> = None;
    for (k, &priority) in priorities.iter().enumerate() {
        let level = objectives.iter().filter(|o| o.priority == priority);
        let mut costs = vec![0.0; program.col_handles()];
        let (mut constant, mut absolute, mut relative) = (0.0, 0.0f64, 0.0f64);
        for objective in level {
            for &(col, cost) in &objective.entries {
                stage.cost(col)?;
                costs[col.index()] += objective.weight * cost;
            }
            constant += objective.weight * objective.constant;
            absolute = absolute.max(objective.absolute);
            relative = relative.max(objective.relative);
        }
        let cols: Vec<Col> = stage.cols().collect();
        for &col in &cols {
            stage.set_cost(col, costs[col.index()])?;
        }
        stage.set_offset(constant)?;
        let mut how = stages.next();
        // The cutoff refers to the first objective.
        how.model.mip.cutoff = how.model.mip.cutoff.filter(|_| k == 0);
        let before = last.as_ref().and_then(|answer| answer.points.first());
        how.starts.extend(before.map(|point| point.x.clone()));
        let mut answer = solve_alone(&stage, &how, watcher)?;
        answer.info = stages.count(&answer.info);
        answer.recognised = None;
        if answer.points.is_empty()
            && let Some(before) = last
        {
            // The point of the priority before still counts.
            answer.points = before.points;
            if answer.ending == Ending::Infeasible {
                answer.ending = Ending::Numeric;
            }
        }
        let solved = answer.ending == Ending::Optimal;
        let best = answer.points.first().map(|point| point.objective);
        last = Some(answer);
        let Some(best) = best.filter(|_| solved) else {
            break;
        };
        let sign = stage.sense().sign();
        let loss = absolute.max(relative * best.abs());
        let loss = loss.max(ROUNDING * best.abs().max(1.0));
        let worst = best + sign * loss - constant;
        let kept: Vec<_> = cols.iter().map(|&c| (c, costs[c.index()])).collect();
        let kept: Vec<_> = kept.into_iter().filter(|e| e.1 != 0.0).collect();
        let (lower, upper) = match sign > 0.0 {
            true => (f64::NEG_INFINITY, worst),
            false => (worst, f64::INFINITY),
        };
        stage.add_row(&kept, lower, upper, None)?;
    }
    let mut answer = last.unwrap_or_else(|| Answer::of(Ending::Numeric));
    answer.duals = None;
    answer.farkas = None;
    for point in &mut answer.points {
        point.objective = objectives[0].value(&point.x);
    }
    if let Some(point) = answer.points.first() {
        answer.objective_values = objectives.iter().map(|o| o.value(&point.x)).collect();
        if answer.ending == Ending::Optimal {
            answer.bound = point.objective;
        }
    }
    Ok(answer)
}
