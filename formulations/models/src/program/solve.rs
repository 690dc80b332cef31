//! From a program to an answer.

use super::best::{BestPoints, solve_best};
use super::objectives::{Objective, solve_objectives};
use super::open::solve_open;
use super::repair::check;
use super::separating::{Asking, Cut, Role};
use super::{Answer, Compiled, Duals, Ending, Point, Program, ProgramError, lower, starts};
use crate::quadratic::{self, Continuous};
use crate::{Answered, Linear, ModelSettings, RecognisedAs, solve_model};
use remat_lp::qp::QuadraticOutcome;
use remat_lp::{LimitKind, LpOutcome, VarStatus};
use remat_solver::mip::{
    Control, Info, Observer, Progress, Solution, SolveResult, SolveStatus, Solver,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Settings of [`solve_program`].
#[derive(Clone, Debug, Default)]
pub struct ProgramSettings {
    /// Settings of the search and of linear programs. Starts are given apart.
    pub model: ModelSettings,
    /// Points to start from, by handle; NaN for missing values. These are found with the rest
    /// fixed, within small limits.
    pub starts: Vec<Vec<f64>>,
    /// A point that is tried after the starts.
    pub hints: Option<Vec<f64>>,
    /// Objectives to be solved by priority in place of the program's.
    pub objectives: Vec<Objective>,
    /// Finds the best points, as many as `model.mip.pool_size`, distinct in the integer columns and
    /// in exact order. Without it the pool has the points that a search happens to find.
    pub best_points: Option<BestPoints>,
}

impl ProgramSettings {
    /// Checks the settings that a search does not check itself.
    ///
    /// # Errors
    /// [`ProgramError::Solve`] names the setting, [`ProgramError::Length`] and
    /// [`ProgramError::NotFinite`] the start.
    fn check(&self, program: &Program) -> Result<(), ProgramError> {
        for (k, start) in self.starts.iter().enumerate() {
            starts::check_start(program, start, &format!("starts[{k}]"))?;
        }
        if let Some(hints) = &self.hints {
            starts::check_start(program, hints, "hints")?;
        }
        self.model.linear.validate()?;
        if let Some(within) = self.best_points {
            within.validate()?;
        }
        Ok(self.objectives.iter().try_for_each(Objective::validate)?)
    }
}

impl ProgramSettings {
    /// Checks that an exact answer is possible.
    ///
    /// # Errors
    /// [`ProgramError::Inexact`].
    fn check_exact(&self, program: &Program, role: Role) -> Result<(), ProgramError> {
        let problem = if let Some(rounded) = program.rounded() {
            format!("{rounded}; scale the row so that its numbers have at most 15 digits")
        } else if program.has_specials() {
            "the program has constraints that are no rows".into()
        } else if !self.objectives.is_empty() || self.best_points.is_some() {
            "it is one of one objective and one point".into()
        } else if role != Role::default() || self.model.mip.cutoff.is_some() {
            "rows of a watcher and cutoffs are no part of the program".into()
        } else {
            return Ok(());
        };
        Err(ProgramError::Inexact { problem })
    }
}

/// Follows a solve, and may end it.
pub trait Watcher: Send + Sync {
    /// Receives the progress of the search; `false` ends it.
    fn progress(&self, _progress: &Progress) -> bool {
        true
    }

    /// Receives a new best point, by handle.
    fn incumbent(&self, _point: &Point) {}

    /// Its parts in a search with integers. With any, presolve does not change the columns,
    /// programs are not recognised, and one thread searches.
    fn role(&self) -> Role {
        Role::default()
    }

    /// Receives a point by handle and hands in rows. If it is integral, these are rows that it
    /// violates; if it is the relaxation at a node, rows that cut it off.
    fn separate(&self, _x: &[f64], _integral: bool) -> Vec<Cut> {
        Vec::new()
    }

    /// Receives the relaxation at a node, by handle, and hands in points, with NaN for missing
    /// values; each is checked.
    fn suggest(&self, _x: &[f64]) -> Vec<Vec<f64>> {
        Vec::new()
    }
}

/// Does not watch.
impl Watcher for () {}

/// Solves a program: Checkmate's program as such, any other by the simplex methods or by branch and
/// cut ([`solve_model`]).
///
/// # Errors
/// [`ProgramError::Model`] and [`ProgramError::Solve`]; [`ProgramError::Length`] and
/// [`ProgramError::NotFinite`] for starts; [`ProgramError::Inexact`] if an exact answer is
/// requested and impossible.
pub fn solve_program(
    program: &Program,
    settings: &ProgramSettings,
    watcher: Arc<dyn Watcher>,
) -> Result<Answer, ProgramError> {
    settings.check(program)?;
    if settings.model.mip.exact {
        settings.check_exact(program, watcher.role())?;
    }
    if !settings.objectives.is_empty() {
        return solve_objectives(program, settings, &watcher);
    }
    match settings.best_points {
        Some(within) if settings.model.mip.pool_size > 1 => {
            solve_best(program, settings, within, &watcher)
        }
        _ => solve_alone(program, settings, &watcher),
    }
}

/// Solves a program for its own objective, in one search.
///
/// # Errors
/// As [`solve_program`].
pub(super) fn solve_alone(
    program: &Program,
    settings: &ProgramSettings,
    watcher: &Arc<dyn Watcher>,
) -> Result<Answer, ProgramError> {
    let lowered = match watcher.role() == Role::default() {
        true => lower::lower_curved(program)?,
        // Rows and points of a watcher belong to linear models.
        false => lower::lower(program).or_else(|_| lower::lower_curved(program))?,
    };
    if !lowered.open.is_empty() {
        return solve_open(program, lowered, settings, watcher);
    }
    let compiled = Arc::new(program.compiled(lowered)?);
    let starts = starts::whole(program, &compiled, settings);
    let tolerance = settings.model.mip.feasibility_tolerance;
    let answered = search(program, &compiled, settings, starts, watcher)?;
    Ok(answer(&compiled, answered, tolerance))
}

/// Solves the model of a program, with the parts of a watcher in it.
///
/// # Errors
/// As [`solve_program`].
pub(super) fn search(
    program: &Program,
    compiled: &Arc<Compiled>,
    settings: &ProgramSettings,
    starts: Vec<Vec<f64>>,
    watcher: &Arc<dyn Watcher>,
) -> Result<Answered, ProgramError> {
    let role = watcher.role();
    let (mut how, control) = prepared(compiled, settings, starts, watcher.clone());
    if let Some(quadratic) = &compiled.quadratic {
        if role != Role::default() && compiled.has_integers() {
            let feature = "rows and points of a callback";
            return Err(ProgramError::Quadratic { feature });
        }
        return Ok(quadratic::solve_model(
            &compiled.model,
            quadratic,
            &how,
            control,
        )?);
    }
    if role == Role::default() || !compiled.has_integers() {
        return Ok(solve_model(&compiled.model, &how, control)?);
    }
    let stop = how.mip.limits.interrupt.get_or_insert_default().clone();
    let asking = Asking::new(compiled, Arc::new(program.clone()), settings, watcher, stop);
    let asking = Arc::new(asking);
    (how.mip.threads, how.mip.opportunistic) = (1, false);
    let solver = Solver::new(compiled.model.clone(), how.mip).with_control(control);
    let mut solver = solver.with_separator(asking.clone());
    if role.nodes {
        solver = solver.with_heuristic(asking.clone());
    }
    let result = solver.run();
    match asking.failed() {
        Some(error) => Err(error),
        None => Ok(Answered::Integer {
            result: result?,
            recognised: None,
        }),
    }
}

/// As [`solve_program`], for a program that is compiled already: for its own objective, from
/// complete starts.
///
/// # Errors
/// As [`solve_program`].
pub fn solve_compiled(
    compiled: &Arc<Compiled>,
    settings: &ProgramSettings,
    watcher: Arc<dyn Watcher>,
) -> Result<Answer, ProgramError> {
    let starts = settings.starts.iter();
    let starts = starts
        .filter_map(|point| compiled.complete(point))
        .collect();
    let (how, control) = prepared(compiled, settings, starts, watcher);
    let tolerance = how.mip.feasibility_tolerance;
    let answered = match &compiled.quadratic {
        Some(quadratic) => quadratic::solve_model(&compiled.model, quadratic, &how, control)?,
        None => solve_model(&compiled.model, &how, control)?,
    };
    Ok(answer(compiled, answered, tolerance))
}

/// An answer in the terms of the program, checked.
pub(super) fn answer(compiled: &Compiled, answered: Answered, tolerance: f64) -> Answer {
    match answered {
        Answered::Quadratic(continuous) => {
            let answer = of_quadratic(compiled, continuous);
            check(compiled, answer, &[], tolerance)
        }
        Answered::Linear(linear) => check(compiled, of_linear(compiled, linear), &[], tolerance),
        Answered::Integer { result, recognised } => {
            of_integer(compiled, result, recognised, tolerance)
        }
    }
}

/// Settings and control of a search.
fn prepared(
    compiled: &Arc<Compiled>,
    settings: &ProgramSettings,
    starts: Vec<Vec<f64>>,
    watcher: Arc<dyn Watcher>,
) -> (ModelSettings, Control) {
    let mut how = settings.model.clone();
    how.mip.starts = starts;
    let stop = how.mip.limits.interrupt.get_or_insert_default().clone();
    let control = Control {
        observers: vec![Arc::new(Told {
            compiled: compiled.clone(),
            watcher,
            stop,
        })],
        ..Control::default()
    };
    (how, control)
}

/// Reports to a watcher in the terms of the program.
struct Told {
    compiled: Arc<Compiled>,
    watcher: Arc<dyn Watcher>,
    stop: Arc<AtomicBool>,
}

impl Observer for Told {
    fn incumbent(&self, solution: &Solution) {
        self.watcher.incumbent(&point(&self.compiled, solution));
    }

    fn progress(&self, progress: &Progress) -> bool {
        let goes_on = self.watcher.progress(progress);
        if !goes_on {
            self.stop.store(true, Ordering::Relaxed);
        }
        goes_on
    }
}

fn point(compiled: &Compiled, solution: &Solution) -> Point {
    Point {
        objective: solution.objective,
        x: compiled.by_col(&solution.x, f64::NAN),
    }
}

/// The ending for a status of a search.
pub(super) fn ending(status: SolveStatus) -> Ending {
    match status {
        SolveStatus::Optimal => Ending::Optimal,
        SolveStatus::Infeasible => Ending::Infeasible,
        SolveStatus::Cutoff => Ending::Cutoff,
        SolveStatus::Unbounded => Ending::Unbounded,
        SolveStatus::InfeasibleOrUnbounded => Ending::InfeasibleOrUnbounded,
        SolveStatus::TimeLimit => Ending::TimeLimit,
        SolveStatus::NodeLimit => Ending::NodeLimit,
        SolveStatus::MemoryLimit => Ending::MemoryLimit,
        SolveStatus::TickLimit => Ending::WorkLimit,
        SolveStatus::Interrupted => Ending::Interrupted,
        SolveStatus::Unresolved => Ending::Numeric,
    }
}

pub(super) fn of_integer(
    compiled: &Compiled,
    result: SolveResult,
    recognised: Option<RecognisedAs>,
    tolerance: f64,
) -> Answer {
    let ending = ending(result.status);
    let answer = Answer {
        points: result.pool.iter().map(|s| point(compiled, s)).collect(),
        bound: result.dual_bound,
        info: result.info,
        exact: result.exact.map(Into::into),
        recognised,
        ..Answer::of(ending)
    };
    check(compiled, answer, &result.pool, tolerance)
}

fn of_linear(compiled: &Compiled, linear: Linear) -> Answer {
    let worst = -compiled.model.sense().sign() * f64::INFINITY;
    let mut answer = Answer {
        bound: worst,
        info: Info {
            lp_iterations: linear.solved.stats.iterations(),
            seconds: linear.seconds,
            ..Info::default()
        },
        ..Answer::of(Ending::Numeric)
    };
    match linear.solved.outcome {
        LpOutcome::Optimal(s) => {
            answer.ending = Ending::Optimal;
            answer.bound = s.objective;
            answer.duals = Some(Duals {
                rows: compiled.by_row(&s.y, f64::NAN),
                reduced_costs: compiled.by_col(&s.reduced_costs, f64::NAN),
                col_status: compiled.by_col(&some(&s.basis.cols), None),
                row_status: compiled.by_row(&some(&s.basis.rows), None),
            });
            answer.points.push(Point {
                objective: s.objective,
                x: compiled.by_col(&s.x, f64::NAN),
            });
        }
        LpOutcome::Infeasible(ray) => {
            answer.ending = Ending::Infeasible;
            answer.bound = -worst;
            answer.farkas = Some(compiled.by_row(&ray.y, f64::NAN));
        }
        LpOutcome::Unbounded(ray) => {
            answer.ending = Ending::Unbounded;
            answer.points.push(Point {
                objective: compiled.model.objective(&ray.x),
                x: compiled.by_col(&ray.x, f64::NAN),
            });
            answer.ray = Some(compiled.by_col(&ray.direction, f64::NAN));
        }
        LpOutcome::CutoffReached { bound, .. } => {
            answer.ending = Ending::Cutoff;
            answer.bound = bound;
        }
        LpOutcome::Limit(kind) => answer.ending = of_limit(kind, linear.timed_out),
    }
    answer
}

/// The ending for a limit.
fn of_limit(kind: LimitKind, timed_out: bool) -> Ending {
    match kind {
        LimitKind::Iterations => Ending::IterationLimit,
        LimitKind::Ticks => Ending::WorkLimit,
        LimitKind::Interrupt if timed_out => Ending::TimeLimit,
        LimitKind::Interrupt => Ending::Interrupted,
        LimitKind::Numerical => Ending::Numeric,
    }
}

/// The answer of a quadratic program without integers; its points have no basis.
fn of_quadratic(compiled: &Compiled, continuous: Continuous) -> Answer {
    let worst = -compiled.model.sense().sign() * f64::INFINITY;
    let mut answer = Answer {
        bound: worst,
        info: Info {
            lp_iterations: continuous.solved.barrier_iterations + continuous.solved.lp_iterations,
            ticks: continuous.solved.ticks,
            seconds: continuous.seconds,
            ..Info::default()
        },
        ..Answer::of(Ending::Numeric)
    };
    match continuous.solved.outcome {
        QuadraticOutcome::Optimal(s) => {
            answer.ending = Ending::Optimal;
            answer.bound = s.objective;
            let (cols, rows) = (vec![None; s.x.len()], vec![None; s.y.len()]);
            answer.duals = Some(Duals {
                rows: compiled.by_row(&s.y, f64::NAN),
                reduced_costs: compiled.by_col(&s.reduced_costs, f64::NAN),
                col_status: compiled.by_col(&cols, None),
                row_status: compiled.by_row(&rows, None),
            });
            answer.points.push(Point {
                objective: s.objective,
                x: compiled.by_col(&s.x, f64::NAN),
            });
        }
        QuadraticOutcome::Infeasible(ray) => {
            answer.ending = Ending::Infeasible;
            answer.bound = -worst;
            answer.farkas = Some(compiled.by_row(&ray.y, f64::NAN));
        }
        QuadraticOutcome::Unbounded(ray) => {
            answer.ending = Ending::Unbounded;
            answer.points.push(Point {
                objective: compiled.model.objective(&ray.x),
                x: compiled.by_col(&ray.x, f64::NAN),
            });
            answer.ray = Some(compiled.by_col(&ray.direction, f64::NAN));
        }
        QuadraticOutcome::Limit(kind) => answer.ending = of_limit(kind, continuous.timed_out),
    }
    answer
}

fn some(statuses: &[VarStatus]) -> Vec<Option<VarStatus>> {
    statuses.iter().copied().map(Some).collect()
}
