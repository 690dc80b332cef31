//! A program solved like a model with integers, in the terms of the search.

use super::open::solve_open;
use super::solve::{answer, ending, of_integer};
use super::{
    Answer, Compiled, Ending, Point, Program, ProgramError, ProgramSettings, Watcher, lower,
};
use crate::{Answered, ModelSettings, RecognisedAs, quadratic, solve_integer};
use remat_solver::mip::{
    Control, FileProblems, Observer, Progress, Solution, SolveResult, SolveStatus,
};
use std::sync::Arc;

/// Name of the finder of points from branching on rows.
const BRANCHING: &str = "branching on rows";
/// Name of the finder of points of quadratic programs.
const BARRIER: &str = "barrier";

/// Solves a program as [`solve_integer`] does a model: starts and solutions are over the program's
/// columns, in order. Exact answers and state files refer to the linear model of
/// [`Program::compile`], certificates without them to [`Program::compile_curved`].
///
/// ```
/// use remat_models::program::{Program, solve_whole};
/// use remat_models::ModelSettings;
/// let text = "Maximize\n x + y\nBounds\n x <= 3\n y <= 2\nSOS\n s: S1 :: x:1 y:2\nEnd\n";
/// let program = Program::of_file(&remat_lp::lp_format::parse_all(text, "example")?)?;
/// let settings = ModelSettings::default();
/// let (result, _) = solve_whole(&program, &settings, Default::default())?;
/// assert_eq!(result.solution.map(|s| s.x), Some(vec![3.0, 0.0]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// As [`super::solve_program`]; [`ProgramError::Unbounded`] if a certificate, an exact answer or a
/// state file is requested, and a conditional row has no finite bound.
pub fn solve_whole(
    program: &Program,
    settings: &ModelSettings,
    control: Control,
) -> Result<(SolveResult, Option<RecognisedAs>), ProgramError> {
    let is_linear = control.checkpoint.is_some() || control.resume.is_some() || settings.mip.exact;
    let is_of_model = control.certificate.is_some() || is_linear;
    let mut lowered = lower::lower_curved(program)?;
    if is_linear && !lowered.products.is_empty() {
        let feature = "exact answer or state file";
        let linear = lower::lower(program);
        lowered = linear.map_err(|_| ProgramError::Quadratic { feature })?;
    }
    if let Some(open) = lowered.open.first() {
        if is_of_model {
            return Err(open.missing.clone());
        }
        let mut whole = ProgramSettings {
            model: settings.clone(),
            ..ProgramSettings::default()
        };
        whole.starts = std::mem::take(&mut whole.model.mip.starts);
        let watcher: Arc<dyn Watcher> = Arc::new(Watched(control.observers));
        return Ok((
            of_answer(solve_open(program, lowered, &whole, &watcher)?, BRANCHING),
            None,
        ));
    }
    let compiled = program.compiled(lowered)?;
    let mut how = settings.clone();
    let starts = how.mip.starts.iter();
    how.mip.starts = starts.filter_map(|x| compiled.complete(x)).collect();
    let tolerance = how.mip.feasibility_tolerance;
    if let Some(quadratic) = &compiled.quadratic {
        let answered = quadratic::solve_model(&compiled.model, quadratic, &how, control)?;
        let result = match answered {
            Answered::Integer { result, .. } => in_own_terms(&compiled, result, tolerance),
            other => of_answer(answer(&compiled, other, tolerance), BARRIER),
        };
        return Ok((result, None));
    }
    let (result, recognised) = solve_integer(&compiled.model, &how, control)?;
    Ok((in_own_terms(&compiled, result, tolerance), recognised))
}

/// A result over the program's columns, checked against its special constraints.
fn in_own_terms(compiled: &Compiled, mut result: SolveResult, tolerance: f64) -> SolveResult {
    let finders: Vec<_> = result.pool.iter().map(|s| s.found_by).collect();
    let answer = of_integer(compiled, result.clone(), None, tolerance);
    let solution = |(k, point): (usize, Point)| Solution {
        objective: point.objective,
        x: point.x,
        found_by: finders.get(k).copied().unwrap_or(BRANCHING),
    };
    if answer.ending != ending(result.status) {
        result.status = status(answer.ending);
    }
    result.pool = answer
        .points
        .into_iter()
        .enumerate()
        .map(solution)
        .collect();
    result.solution = result.pool.first().cloned();
    if let Some(exact) = &mut result.exact {
        exact.values.truncate(compiled.cols.len());
    }
    result
}

/// The result for an answer.
fn of_answer(answer: Answer, found_by: &'static str) -> SolveResult {
    let solution = |point: Point| Solution {
        objective: point.objective,
        x: point.x,
        found_by,
    };
    let pool: Vec<_> = answer.points.into_iter().map(solution).collect();
    SolveResult {
        status: status(answer.ending),
        solution: pool.first().cloned(),
        pool,
        certificate_problem: None,
        file_problems: FileProblems::default(),
        exact: None,
        dual_bound: answer.bound,
        info: answer.info,
    }
}

/// The status of a search with this ending.
fn status(ending: Ending) -> SolveStatus {
    match ending {
        Ending::Optimal => SolveStatus::Optimal,
        Ending::Infeasible => SolveStatus::Infeasible,
        Ending::Cutoff => SolveStatus::Cutoff,
        Ending::Unbounded => SolveStatus::Unbounded,
        Ending::InfeasibleOrUnbounded => SolveStatus::InfeasibleOrUnbounded,
        Ending::TimeLimit => SolveStatus::TimeLimit,
        Ending::NodeLimit => SolveStatus::NodeLimit,
        Ending::MemoryLimit => SolveStatus::MemoryLimit,
        Ending::IterationLimit | Ending::WorkLimit => SolveStatus::TickLimit,
        Ending::Interrupted => SolveStatus::Interrupted,
        Ending::Numeric => SolveStatus::Unresolved,
    }
}

/// Reports to the observers of a search.
struct Watched(Vec<Arc<dyn Observer>>);

impl Watcher for Watched {
    fn progress(&self, progress: &Progress) -> bool {
        self.0.iter().all(|observer| observer.progress(progress))
    }

    fn incumbent(&self, point: &Point) {
        let solution = Solution {
            objective: point.objective,
            x: point.x.clone(),
            found_by: BRANCHING,
        };
        self.0
            .iter()
            .for_each(|observer| observer.incumbent(&solution));
    }
}
