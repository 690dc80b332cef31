//! The result of a search, updated by the exact result in rational numbers.

use super::ExactModel;
use super::settling::Settled;
use super::solution::exact_point;
use crate::mip::exact::{Rational, decimal, double};
use crate::mip::outcome::{ExactClaim, Solution, SolveResult, SolveStatus};
use remat_lp::Model;

/// Writes the exact result into the result of a search. On failure, a claim of optimality or
/// infeasibility is withdrawn: the status becomes `stopped` or unresolved, and the claim keeps the
/// reason.
pub(crate) fn tell(
    result: &mut SolveResult,
    model: &Model,
    settled: Result<Settled, String>,
    stopped: Option<SolveStatus>,
) {
    let problem = match settled {
        Ok(settled) => {
            result.exact = Some(settled.claim(model));
            return settled.replace(result, model);
        }
        Err(problem) => problem,
    };
    let claims = matches!(
        result.status,
        SolveStatus::Optimal | SolveStatus::Infeasible
    );
    if claims {
        result.status = stopped.unwrap_or(SolveStatus::Unresolved);
    }
    let mut claim = ExactClaim {
        problem: Some(problem),
        ..ExactClaim::default()
    };
    // An exactly feasible point is reported in any case.
    if let Some(s) = &result.solution
        && let Some(exact) = ExactModel::new(model)
        && let Some(point) = exact_point(model, &exact, &s.x)
    {
        claim.objective = exact.objective(model, &point);
        claim.values = point.iter().map(Rational::to_string).collect();
    }
    result.exact = Some(claim);
}

impl ExactModel {
    /// The objective of a point in the model's sense, with the offset.
    fn objective(&self, model: &Model, point: &[Rational]) -> Option<String> {
        self.given(model, &self.value(point)).map(|v| v.to_string())
    }

    /// A minimised value in the model's sense, with the offset.
    fn given(&self, model: &Model, value: &Rational) -> Option<Rational> {
        let value = match self.maximise {
            true => -value.clone(),
            false => value.clone(),
        };
        Some(value + decimal(model.offset())?)
    }
}

impl Settled {
    fn claim(&self, model: &Model) -> ExactClaim {
        let point = self.point.as_ref();
        let bound = self.goal.as_ref().map(|goal| &goal.bound);
        ExactClaim {
            objective: point.and_then(|x| self.exact.objective(model, x)),
            bound: bound.and_then(|v| Some(self.exact.given(model, v)?.to_string())),
            values: point.map_or_else(Vec::new, |x| x.iter().map(Rational::to_string).collect()),
            problem: None,
        }
    }

    /// Takes the exact point if its objective differs from the search's solution, or if the search
    /// has no solution. With numbers far apart, a tolerance may change the objective considerably.
    pub fn correct(&self, result: &mut SolveResult, model: &Model) {
        let Some(goal) = &self.goal else {
            return;
        };
        let value = self.exact.given(model, &goal.value).map(|v| double(&v));
        let noise = |v: f64| 1e-9 * v.abs().max(1.0);
        let is_other = match (&result.solution, value) {
            (Some(s), Some(v)) => (s.objective - v).abs() > noise(v),
            _ => true,
        };
        if is_other {
            self.replace(result, model);
        }
    }

    /// Replaces the claim of the search by the exact result, in doubles.
    fn replace(&self, result: &mut SolveResult, model: &Model) {
        let objective = |v: &Rational| {
            let given = self.exact.given(model, v);
            given.map_or(f64::NAN, |v| double(&v))
        };
        let (Some(point), Some(goal)) = (&self.point, &self.goal) else {
            result.status = SolveStatus::Infeasible;
            result.dual_bound = model.sense().sign() * f64::INFINITY;
            result.solution = None;
            result.pool.clear();
            return;
        };
        let x: Vec<f64> = point.iter().map(double).collect();
        let before = result.solution.take();
        let is_same = before.as_ref().is_some_and(|s| s.x == x);
        let solution = Solution {
            objective: objective(&goal.value),
            x,
            found_by: match (&before, is_same) {
                (Some(s), true) => s.found_by,
                _ => "exact arithmetic",
            },
        };
        // Solutions with a better objective are feasible within tolerances only.
        let sign = model.sense().sign();
        let others = result.pool.drain(..).skip(1);
        let others = others.filter(|s| sign * s.objective >= sign * solution.objective);
        let others: Vec<Solution> = others.filter(|s| s.x != solution.x).collect();
        result.pool.push(solution.clone());
        result.pool.extend(others);
        result.status = SolveStatus::Optimal;
        result.dual_bound = objective(&goal.bound);
        result.solution = Some(solution);
    }
}
