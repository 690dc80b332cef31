//! The solver behind models of the crate `good_lp` (feature `good_lp`).
//!
//! The fields of `good_lp` problems are private, so an external crate cannot be a native solver of
//! it. `good_lp` offers external solvers the interface `lp_solvers`, meant for programs that read
//! LP files. Here the text of such a file stays in memory. The interface returns values in single
//! precision: integers are exact up to 16 million.
//!
//! ```
//! use good_lp::{Solution, SolverModel, constraint, variable, variables};
//! let mut vars = variables!();
//! let x = vars.add(variable().integer().min(0));
//! let y = vars.add(variable().integer().min(0));
//! let solution = vars
//!     .maximise(5 * x + 4 * y)
//!     .using(remat_solver::good_lp::remat())
//!     .with(constraint!(6 * x + 4 * y <= 24))
//!     .with(constraint!(x + 2 * y <= 6))
//!     .solve()?;
//! assert_eq!((solution.value(x), solution.value(y)), (4.0, 0.0));
//! # Ok::<(), good_lp::ResolutionError>(())
//! ```

use crate::mip::{Settings, SolveStatus, Solver};
use good_lp::solvers::lp_solvers::{LpSolver, Solution, SolverTrait, Status, WithMaxSeconds};
use lp_solvers::lp_format::LpProblem;
use remat_lp::ColId;

/// A solver with its own settings.
#[derive(Clone, Debug, Default)]
pub struct Remat {
    /// Tolerances, switches and limits.
    pub settings: Settings,
}

/// A solver for `using` of a `good_lp` problem.
pub fn remat() -> LpSolver<Remat> {
    LpSolver(Remat::default())
}

/// A solver with other settings.
pub fn remat_with(settings: Settings) -> LpSolver<Remat> {
    LpSolver(Remat { settings })
}

impl SolverTrait for Remat {
    fn run<'a, P: LpProblem<'a>>(&self, problem: &'a P) -> Result<Solution, String> {
        let text = problem.display_lp().to_string();
        let model = remat_lp::lp_format::parse(&text, "good_lp").map_err(|e| e.to_string())?;
        let names: Vec<String> = (0..model.num_cols())
            .map(|j| model.col_name(ColId(j as u32)))
            .collect();
        let result =
            (Solver::new(model, self.settings.clone()).run()).map_err(|e| e.to_string())?;
        let status = match (result.status, &result.solution) {
            (SolveStatus::Optimal, _) => Status::Optimal,
            (SolveStatus::Infeasible, _) => Status::Infeasible,
            (SolveStatus::Unbounded, _) => Status::Unbounded,
            (SolveStatus::TimeLimit, Some(_)) => Status::TimeLimit,
            (_, Some(_)) => Status::SubOptimal,
            (_, None) => Status::NotSolved,
        };
        let x = result.solution.map(|s| s.x).unwrap_or_default();
        let results = names.into_iter().zip(x.iter().map(|v| *v as f32)).collect();
        Ok(Solution::new(status, results))
    }
}

impl WithMaxSeconds<Remat> for Remat {
    fn max_seconds(&self) -> Option<u32> {
        self.settings.limits.seconds.map(|s| s as u32)
    }

    fn with_max_seconds(&self, seconds: u32) -> Remat {
        let mut other = self.clone();
        other.settings.limits.seconds = Some(f64::from(seconds));
        other
    }
}

#[cfg(test)]
mod tests {
    use good_lp::{
        Expression, ResolutionError, Solution, SolverModel, constraint, variable, variables,
    };

    #[test]
    fn a_knapsack_of_good_lp_has_its_optimum() {
        let (worth, weight) = ([10.0, 13.0, 7.0, 8.0], [3.0, 4.0, 2.0, 3.0]);
        let mut vars = variables!();
        let x: Vec<_> = (0..4).map(|_| vars.add(variable().binary())).collect();
        let slack = vars.add(variable().min(-2.5).max(4.0));
        let sum = |c: &[f64]| -> Expression { x.iter().zip(c).map(|(&x, &c)| c * x).sum() };
        let best = sum(&worth) - slack;
        let solution = (vars.maximise(best.clone()).using(super::remat()))
            .with(constraint!(sum(&weight) <= 7.0))
            .with(constraint!(slack >= -1.5))
            .solve()
            .unwrap();
        // Items of weight 3 and 4.
        assert_eq!(solution.eval(&best), 24.5);
        assert_eq!(solution.value(x[0]) + solution.value(x[1]), 2.0);
    }

    #[test]
    fn what_has_no_solution_is_an_error() {
        let mut vars = variables!();
        let x = vars.add(variable().integer().min(0).max(9));
        let none = (vars.maximise(x).using(super::remat()))
            .with(constraint!(2 * x == 7))
            .solve();
        assert!(matches!(none, Err(ResolutionError::Infeasible)));
        let mut vars = variables!();
        let x = vars.add(variable().integer().min(0));
        let none = vars.maximise(x).using(super::remat()).solve();
        assert!(matches!(none, Err(ResolutionError::Unbounded)));
    }
}
