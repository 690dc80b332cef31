//! Programs with integers and a convex quadratic objective.

use super::epigraph::Epigraph;
use super::exact::ExactTangents;
use super::tangents::Tangents;
use remat_lp::qp::{self, QuadraticOutcome, QuadraticSettings};
use remat_lp::{LimitKind, Limits, Model, Quadratic};
use remat_solver::mip::{
    Control, FileProblems, Info, NodeEvent, Observer, Progress, Settings, Solution, SolveError,
    SolveResult, SolveStatus, Solver,
};
use std::sync::Arc;
use std::time::Instant;

/// Solves a program with integers and a convex quadratic objective by branch and cut. The bounds
/// are those of linear programs with tangents of the objective, so they hold as in
/// [`Solver::run`]. The convexity is the caller's to check ([`Quadratic::check_convex`]).
///
/// A certificate is one of the linear model with tangents among its constraints. Its checker
/// compares them with the objective. State files and exact answers are not supported, and ignored.
///
/// ```
/// use remat_lp::{ColId, ModelBuilder, Quadratic, Sense};
/// use remat_models::quadratic::solve_integer;
/// // min (x - 2.6)^2 - 6.76, x integer
/// let mut b = ModelBuilder::new(Sense::Minimise);
/// let x = b.add_col(-5.2, 0.0..=9.0);
/// b.set_integer(x, true);
/// let q = Quadratic::of_products(1, [(x, x, 1.0)])?;
/// let model = std::sync::Arc::new(b.build()?);
/// let result = solve_integer(&model, &q.into(), &Default::default(), Default::default())?;
/// assert_eq!(result.solution.map(|s| s.x), Some(vec![3.0]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`SolveError`].
pub fn solve_integer(
    model: &Arc<Model>,
    quadratic: &Arc<Quadratic>,
    settings: &Settings,
    control: Control,
) -> Result<SolveResult, SolveError> {
    settings.validate()?;
    let begun = Instant::now();
    let epigraph = Arc::new(Epigraph::new(model.clone(), quadratic.clone()));
    let limits = Limits {
        interrupt: settings.limits.interrupt.clone(),
        ..Limits::default()
    };
    let relaxed = qp::solve(model, quadratic, &QuadraticSettings::default(), &limits);
    let outcome = relaxed.map_or(QuadraticOutcome::Limit(LimitKind::Numerical), |s| s.outcome);
    let sign = model.sense().sign();
    let proves = control.certificate.is_some();
    let first = match outcome {
        QuadraticOutcome::Optimal(s) => Some(s.x),
        _ if proves => None,
        QuadraticOutcome::Infeasible(_) => {
            return Ok(ended(SolveStatus::Infeasible, sign * f64::INFINITY, begun));
        }
        QuadraticOutcome::Unbounded(_) => {
            let worst = -sign * f64::INFINITY;
            return Ok(ended(SolveStatus::InfeasibleOrUnbounded, worst, begun));
        }
        QuadraticOutcome::Limit(_) => None,
    };
    let tangents_at = |x: &Vec<f64>| epigraph.tangents(x, |_| true);
    let linear = epigraph.linear(first.as_ref().map_or_else(Vec::new, tangents_at))?;
    let mut how = settings.clone();
    let starts = how.starts.iter().filter(|x| x.len() == model.num_cols());
    how.starts = starts.map(|x| epigraph.extended(x)).collect();
    (how.debug_solution, how.exact) = (None, false);
    if let Some(seconds) = &mut how.limits.seconds {
        *seconds = (*seconds - begun.elapsed().as_secs_f64()).max(0.0);
    }
    let stop = how.limits.interrupt.clone();
    let tangents = Arc::new(Tangents::new(epigraph.clone(), stop));
    let observed = |inner| -> Arc<dyn Observer> {
        let epigraph = epigraph.clone();
        Arc::new(Observed { epigraph, inner })
    };
    // A certificate states its tangents itself, in rational numbers.
    let plain = proves.then(|| epigraph.linear(Vec::new())).transpose()?;
    let exact = plain.map(|plain| ExactTangents::new(plain, tangents.clone(), first));
    let (exact, problem) = match exact.transpose() {
        Ok(exact) => (exact, None),
        Err(problem) => (None, Some(problem)),
    };
    let control = Control {
        observers: control.observers.into_iter().map(observed).collect(),
        checkpoint: None,
        resume: None,
        certificate: control.certificate.filter(|_| problem.is_none()),
        ..control
    };
    let mut solver = Solver::new(linear, how).with_control(control);
    if let Some(exact) = exact {
        solver = solver.with_stated_rows(Arc::new(exact));
    }
    let solver = solver
        .with_separator(tangents.clone())
        .with_heuristic(tangents);
    let mut result = in_own_terms(&epigraph, solver.run()?, begun);
    result.certificate_problem = result.certificate_problem.or(problem);
    Ok(result)
}

/// A result without a point.
fn ended(status: SolveStatus, dual_bound: f64, begun: Instant) -> SolveResult {
    SolveResult {
        status,
        solution: None,
        pool: Vec::new(),
        certificate_problem: None,
        file_problems: FileProblems::default(),
        exact: None,
        dual_bound,
        info: Info {
            seconds: begun.elapsed().as_secs_f64(),
            ..Info::default()
        },
    }
}

fn own(epigraph: &Epigraph, solution: &Solution) -> Solution {
    let mut x = solution.x.clone();
    x.truncate(epigraph.model.num_cols());
    Solution {
        objective: epigraph.objective(&x),
        x,
        found_by: solution.found_by,
    }
}

/// The result over the program's columns, with the objectives of its points.
fn in_own_terms(epigraph: &Epigraph, mut result: SolveResult, begun: Instant) -> SolveResult {
    let sign = epigraph.model.sense().sign();
    for solution in result.pool.iter_mut().chain(&mut result.solution) {
        *solution = own(epigraph, solution);
    }
    result
        .pool
        .sort_by(|a, b| (sign * a.objective).total_cmp(&(sign * b.objective)));
    result.solution = result.pool.first().cloned().or(result.solution);
    result.info.seconds = begun.elapsed().as_secs_f64();
    if let (SolveStatus::Optimal, Some(best)) = (result.status, &result.solution) {
        // A closed search stays closed: tangents end a little below the objective.
        let apart = sign * (best.objective - result.dual_bound);
        if apart < 0.0 {
            result.dual_bound = best.objective;
        }
    }
    result
}

/// Reports solutions over the program's columns.
struct Observed {
    epigraph: Arc<Epigraph>,
    inner: Arc<dyn Observer>,
}

impl Observer for Observed {
    fn incumbent(&self, solution: &Solution) {
        self.inner.incumbent(&own(&self.epigraph, solution));
    }

    fn nodes(&self, events: &[NodeEvent]) {
        self.inner.nodes(events);
    }

    fn watches_nodes(&self) -> bool {
        self.inner.watches_nodes()
    }

    fn progress(&self, progress: &Progress) -> bool {
        self.inner.progress(progress)
    }
}
