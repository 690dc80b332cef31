//! The entry point for raw programs: linear programs, recognised rematerialization programs, and
//! the general search.

use super::clean::cleaned;
use super::known::solve_known;
use super::quadratic::Continuous;
use remat_formulations::{checkmate, monet, poet};
use remat_lp::presolve::PresolveSettings;
use remat_lp::{ColId, Limits, Model, Sense, Solved};
use remat_memory::olla;
use remat_search::recognise::Recognised;
use remat_search::{Listener, Outcome, Scope, Settings, Solvable, Status, ticking};
use remat_solver::mip::{
    self, Control, FileProblems, Info, Solution, SolveError, SolveResult, SolveStatus, Solver,
    check_point,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Violation of a row up to which the answer of a recognised program counts.
const TOLERANCE: f64 = 1e-6;

/// Rounds of annealing before the tree of a recognised program without a time limit: the tree goes
/// on until it is closed, and anneals on the way.
const ROUNDS: u32 = 2;

/// Settings of [`solve_model`].
#[derive(Clone, Debug)]
pub struct ModelSettings {
    /// Settings of the search; its limits and interrupt hold for linear programs, too.
    pub mip: mip::Settings,
    /// Settings of programs without integers.
    pub linear: LinearSettings,
    /// True if rematerialization programs are recognised and solved as such.
    pub recognise: bool,
}

impl Default for ModelSettings {
    fn default() -> Self {
        ModelSettings {
            mip: mip::Settings::default(),
            linear: LinearSettings::default(),
            recognise: true,
        }
    }
}

/// Settings of [`solve_linear`].
#[derive(Clone, Debug)]
pub struct LinearSettings {
    /// Settings of the simplex methods.
    pub lp: remat_lp::Settings,
    /// Reductions before the simplex; `None` for no presolve.
    pub presolve: Option<PresolveSettings>,
    /// Limit on the simplex iterations.
    pub iterations: Option<u64>,
    /// End after this time.
    pub time_limit: Option<Duration>,
}

impl Default for LinearSettings {
    fn default() -> Self {
        LinearSettings {
            lp: remat_lp::Settings::default(),
            presolve: Some(PresolveSettings::default()),
            iterations: None,
            time_limit: None,
        }
    }
}

impl ModelSettings {
    /// Settings of a program without integers, with the limits of the search, and the interrupt.
    pub(crate) fn without_integers(&self) -> (LinearSettings, Arc<AtomicBool>) {
        let limits = &self.mip.limits;
        let limit = limits.seconds.map(Duration::from_secs_f64);
        let linear = LinearSettings {
            time_limit: self.linear.time_limit.or(limit),
            ..self.linear.clone()
        };
        (linear, limits.interrupt.clone().unwrap_or_default())
    }

    /// Requests an answer that is settled in rational numbers; gaps with their defaults become 0.
    pub fn ask_exact(&mut self) {
        let preset = mip::Settings::default();
        let mip = &mut self.mip;
        mip.exact = true;
        for (gap, preset) in [
            (&mut mip.relative_gap, preset.relative_gap),
            (&mut mip.absolute_gap, preset.absolute_gap),
        ] {
            if *gap == preset {
                *gap = 0.0;
            }
        }
    }
}

impl LinearSettings {
    /// Checks the tolerances.
    ///
    /// # Errors
    /// [`SolveError::Setting`].
    pub fn validate(&self) -> Result<(), SolveError> {
        let tolerance = |name, value: f64| {
            let wrong = Some(value).filter(|v| !(1e-10..=1e-3).contains(v));
            setting(name, wrong, "a number from 1e-10 to 1e-3")
        };
        tolerance("feasibility_tolerance", self.lp.primal_tolerance)?;
        tolerance("optimality_tolerance", self.lp.dual_tolerance)
    }
}

/// The error of a setting, if `wrong` has a value.
///
/// # Errors
/// [`SolveError::Setting`].
pub(crate) fn setting(
    name: &'static str,
    wrong: Option<f64>,
    expected: &'static str,
) -> Result<(), SolveError> {
    match wrong {
        None => Ok(()),
        Some(value) => Err(SolveError::Setting {
            name,
            value: value.to_string(),
            expected,
        }),
    }
}

/// The answer to a linear program.
#[derive(Debug)]
pub struct Linear {
    /// Outcome with duals or a ray, and the reductions of presolve.
    pub solved: Solved,
    /// True if the time limit ended it.
    pub timed_out: bool,
    /// Time taken.
    pub seconds: f64,
}

/// The answer to a model.
#[derive(Debug)]
pub enum Answered {
    /// A program without integers.
    Linear(Linear),
    /// A program without integers and with a quadratic objective.
    Quadratic(Continuous),
    /// A program with integers.
    Integer {
        /// Solutions, bound and status in the model's own terms.
        result: SolveResult,
        /// The published program that the model was recognised as and solved as such.
        recognised: Option<RecognisedAs>,
    },
}

/// A published program that a model was recognised as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecognisedAs {
    /// Name of the program, as `--formulation` has it: `checkmate`, `poet`, `monet`, `olla`,
    /// `olla-order`, `olla-place`.
    pub program: &'static str,
    /// Nodes of the training graph, or buffers.
    pub nodes: usize,
}

/// Solves a linear program, or the relaxation of one with integers.
///
/// ```
/// use remat_models::{LinearSettings, solve_linear};
/// use remat_lp::{ModelBuilder, Sense};
///
/// let mut b = ModelBuilder::new(Sense::Maximise);
/// let x = b.add_col(1.0, 0.0..=9.0);
/// b.add_row(..=4.0, [(x, 2.0)]);
/// let model = std::sync::Arc::new(b.build()?);
/// let answer = solve_linear(&model, &LinearSettings::default(), &())?;
/// let solution = answer.solved.outcome.optimal().ok_or("no optimum")?;
/// assert_eq!((solution.objective, solution.y[0]), (2.0, 0.5));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`SolveError::Thread`].
pub fn solve_linear(
    model: &Arc<Model>,
    settings: &LinearSettings,
    listener: &dyn Listener,
) -> Result<Linear, SolveError> {
    let watched = watched(settings, listener, |limits| {
        remat_lp::solve(model, &settings.lp, limits, settings.presolve.as_ref())
    })?;
    Ok(Linear {
        solved: watched.answer,
        timed_out: watched.timed_out,
        seconds: watched.seconds,
    })
}

/// An answer within the limits of its settings.
pub(crate) struct WatchedAnswer<T> {
    pub answer: T,
    /// True if the time limit ended the solve.
    pub timed_out: bool,
    pub seconds: f64,
}

/// Solves within the limits of the settings and until a listener ends it.
///
/// # Errors
/// [`SolveError::Thread`].
pub(crate) fn watched<T>(
    settings: &LinearSettings,
    listener: &dyn Listener,
    solve: impl FnOnce(&Limits) -> T,
) -> Result<WatchedAnswer<T>, SolveError> {
    let clock = Instant::now();
    let stop = Arc::new(AtomicBool::new(false));
    let timed_out = AtomicBool::new(false);
    let limits = Limits {
        iterations: settings.iterations,
        interrupt: Some(stop.clone()),
        ..Limits::default()
    };
    let watch = || {
        let late = settings.time_limit.is_some_and(|l| clock.elapsed() >= l);
        if late || listener.is_interrupted() {
            timed_out.store(late, Ordering::Relaxed);
            stop.store(true, Ordering::Relaxed);
        }
    };
    // A limit of 0 holds for the smallest program, too.
    watch();
    let answer = ticking(watch, &stop, || solve(&limits));
    let answer = answer.map_err(|e| SolveError::Thread {
        problem: e.to_string(),
    })?;
    Ok(WatchedAnswer {
        answer,
        timed_out: timed_out.into_inner(),
        seconds: clock.elapsed().as_secs_f64(),
    })
}

/// Solves a model. A model without integers is solved by the simplex methods, with duals or a ray.
/// Published programs of Checkmate, POET, MONeT and OLLA are solved as such, with any names, order
/// and scale. Other models are solved by branch and cut. For OLLA's programs a bound and a point
/// come from the search for orders and addresses; if they differ, branch and cut begins with both.
///
/// There is no recognition if the settings request features of the general search alone. These are
/// certificates, exact answers, state files, a pool of several solutions, and a limit of ticks or
/// memory. Starts and a cutoff count for recognised programs, too. Observers receive the progress,
/// and the solution at the end. An answer that fails the check against the model goes to the
/// general search.
///
/// ```
/// use remat_models::{Answered, ModelSettings, solve_model};
/// use remat_lp::{ModelBuilder, Sense};
///
/// let mut b = ModelBuilder::new(Sense::Maximise);
/// let x = b.add_col(3.0, 0.0..=9.0);
/// b.set_integer(x, true);
/// b.add_row(..=5.0, [(x, 2.0)]);
/// let model = std::sync::Arc::new(b.build()?);
/// let Answered::Integer { result, .. } = solve_model(&model, &ModelSettings::default(),
///     Default::default())? else { panic!("x is an integer");
/// };
/// assert_eq!(result.solution.map(|s| s.objective), Some(6.0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`SolveError`] for invalid settings, and for files that cannot be read or written.
pub fn solve_model(
    model: &Arc<Model>,
    settings: &ModelSettings,
    control: Control,
) -> Result<Answered, SolveError> {
    let integers = (0..model.num_cols()).any(|c| model.is_integer(ColId(c as u32)));
    if !integers && control.certificate.is_none() && !settings.mip.exact {
        return Ok(Answered::Linear(linear(model, settings)?));
    }
    let (result, recognised) = solve_integer(model, settings, control)?;
    Ok(Answered::Integer { result, recognised })
}

/// Solves a model, with or without integers, as [`solve_model`] does one with integers. Also
/// returns the published program that the model was recognised as.
///
/// # Errors
/// As [`solve_model`].
pub fn solve_integer(
    model: &Arc<Model>,
    settings: &ModelSettings,
    control: Control,
) -> Result<(SolveResult, Option<RecognisedAs>), SolveError> {
    let general = !settings.recognise
        || control.certificate.is_some()
        || settings.mip.exact
        || control.checkpoint.is_some()
        || control.resume.is_some()
        || settings.mip.pool_size > 1
        || settings.mip.limits.ticks.is_some()
        || settings.mip.limits.memory_bytes.is_some();
    let begun = Instant::now();
    if !general {
        let asked = Asked {
            model,
            settings: &settings.mip,
            control: &control,
        };
        let mut solved = RECOGNISERS
            .iter()
            .filter_map(|recogniser| recogniser(&asked));
        if let Some(found) = solved.next() {
            let result = match found.is_relaxed && is_open(&found.result, &settings.mip, begun) {
                true => go_on(model, found.result, &settings.mip, control, begun)?,
                false => found.result,
            };
            return Ok((result, Some(found.program)));
        }
        if let Some(found) = known(model, &settings.mip) {
            let program = RecognisedAs {
                program: found.program,
                nodes: found.nodes,
            };
            let result = solve_known(model, &found, &settings.mip, control, begun)?;
            return Ok((result, Some(program)));
        }
    }
    let solver = Solver::new(model.clone(), settings.mip.clone()).with_control(control);
    let mut result = solver.run()?;
    cleaned(model, &settings.mip, &mut result);
    Ok((result, None))
}

/// Recognisers of published programs, in the order of their use.
static RECOGNISERS: [fn(&Asked<'_>) -> Option<Recognition>; 3] = [
    |asked| asked.by(checkmate::recognise),
    |asked| asked.by(poet::recognise),
    |asked| asked.by(monet::recognise),
];

/// A model that may be a published program.
struct Asked<'a> {
    model: &'a Model,
    settings: &'a mip::Settings,
    control: &'a Control,
}

/// The result of a recognised program.
struct Recognition {
    result: SolveResult,
    program: RecognisedAs,
    is_relaxed: bool,
}

impl Asked<'_> {
    fn by<R: Recognised + Sync>(&self, recognise: fn(&Model) -> Option<R>) -> Option<Recognition> {
        let found = recognise(self.model)?;
        let (result, program) = solve_recognised(self.model, &found, self.settings, self.control)?;
        Some(Recognition {
            result,
            program,
            is_relaxed: R::IS_RELAXED,
        })
    }
}

/// Returns whether the tree of a recognised program ended, before any limit, with a gap.
fn is_open(result: &SolveResult, settings: &mip::Settings, begun: Instant) -> bool {
    let limits = &settings.limits;
    let ended = matches!(
        result.status,
        SolveStatus::TimeLimit | SolveStatus::NodeLimit
    );
    let in_time = limits
        .seconds
        .is_none_or(|seconds| begun.elapsed().as_secs_f64() < TREE_SHARE * seconds);
    ended && in_time && limits.nodes.is_none_or(|nodes| result.info.nodes < nodes)
}

/// The general search, from the solution and the bound of a recognised program.
fn go_on(
    model: &Arc<Model>,
    known: SolveResult,
    settings: &mip::Settings,
    control: Control,
    begun: Instant,
) -> Result<SolveResult, SolveError> {
    let mut settings = settings.clone();
    settings.starts.extend(known.solution.map(|s| s.x));
    if let Some(seconds) = &mut settings.limits.seconds {
        *seconds = (*seconds - begun.elapsed().as_secs_f64()).max(0.0);
    }
    if let Some(nodes) = &mut settings.limits.nodes {
        *nodes -= known.info.nodes;
    }
    let solver = Solver::new(model.clone(), settings.clone()).with_control(control);
    let mut result = solver.run()?;
    cleaned(model, &settings, &mut result);
    if !matches!(result.status, SolveStatus::Infeasible | SolveStatus::Cutoff) {
        result.dual_bound = match model.sense() {
            Sense::Minimise => result.dual_bound.max(known.dual_bound),
            Sense::Maximise => result.dual_bound.min(known.dual_bound),
        };
    }
    result.info.nodes += known.info.nodes;
    result.info.lp_iterations += known.info.lp_iterations;
    result.info.seconds = begun.elapsed().as_secs_f64();
    Ok(result)
}

/// Share of a time limit after which a tree with a gap was ended by the limit.
const TREE_SHARE: f64 = 0.95;

/// Knowledge of one of OLLA's programs, before any general search.
fn known(model: &Model, settings: &mip::Settings) -> Option<olla::recognise::RecognisedOlla> {
    let limits = &settings.limits;
    let listener = Observed {
        objective: &|_| f64::NAN,
        observers: &[],
        interrupt: limits.interrupt.as_deref(),
        ended: AtomicBool::new(false),
    };
    olla::recognise::known(
        model,
        &olla::recognise::Effort {
            time_limit: limits.seconds.map(Duration::from_secs_f64),
            threads: settings.threads,
            seed: settings.seed,
            listener: &listener,
        },
    )
}

fn linear(model: &Arc<Model>, settings: &ModelSettings) -> Result<Linear, SolveError> {
    let (linear, interrupt) = settings.without_integers();
    solve_linear(model, &linear, &*interrupt)
}

/// Solves a recognised program as such; `None` if the answer fails the check against the model.
fn solve_recognised<R: Recognised + Sync>(
    model: &Model,
    recognised: &R,
    settings: &mip::Settings,
    control: &Control,
) -> Option<(SolveResult, RecognisedAs)> {
    let limits = &settings.limits;
    let how = Settings {
        time_limit: limits.seconds.map(Duration::from_secs_f64),
        nodes: limits.nodes.unwrap_or(u64::MAX),
        // A program from a file is solved to its end unless a limit is set.
        iterations: u64::MAX,
        rounds: ROUNDS,
        threads: settings.threads,
        seed: settings.seed,
        // The program of the file has stage schedules.
        scope: Scope::StageSchedules,
        ..Settings::default().with_gap(settings.relative_gap)
    };
    let objective = |cost| recognised.objective(cost);
    let listener = Observed {
        objective: &objective,
        observers: &control.observers,
        interrupt: limits.interrupt.as_deref(),
        ended: AtomicBool::new(false),
    };
    let starts = settings.starts.iter();
    let starts: Vec<_> = starts.filter_map(|x| recognised.schedule(x)).collect();
    let formulation = recognised.formulation().ok()?;
    let outcome = formulation
        .solve(recognised.budget_bytes(), &starts, &how, &listener)
        .ok()?;
    let result = answer(model, recognised, &outcome, settings)?;
    if let Some(solution) = &result.solution {
        let told = control.observers.iter();
        told.for_each(|observer| observer.incumbent(solution));
    }
    let program = RecognisedAs {
        program: R::NAME,
        nodes: recognised.nodes(),
    };
    Some((result, program))
}

/// Observers of a general search as a listener of a recognised program.
struct Observed<'a> {
    /// The model's objective for a cost of the instance.
    objective: &'a (dyn Fn(u64) -> f64 + Sync),
    observers: &'a [Arc<dyn mip::Observer>],
    interrupt: Option<&'a AtomicBool>,
    ended: AtomicBool,
}

impl Listener for Observed<'_> {
    fn is_interrupted(&self) -> bool {
        let asked = self.interrupt.is_some_and(|i| i.load(Ordering::Relaxed));
        asked || self.ended.load(Ordering::Relaxed)
    }

    fn progress(&self, look: &remat_search::Progress) {
        let look = mip::Progress {
            seconds: look.seconds,
            nodes: look.nodes,
            open: 0,
            lp_iterations: 0,
            dual_bound: (self.objective)(look.bound),
            objective: look.objective.map(self.objective),
        };
        if !self
            .observers
            .iter()
            .all(|observer| observer.progress(&look))
        {
            self.ended.store(true, Ordering::Relaxed);
        }
    }
}

/// The outcome in the model's terms.
fn answer<R: Recognised>(
    model: &Model,
    recognised: &R,
    outcome: &Outcome<<R::Formulation as Solvable>::Schedule>,
    settings: &mip::Settings,
) -> Option<SolveResult> {
    let mut solution = None;
    if let Some(schedule) = &outcome.schedule {
        let x = recognised.point(schedule);
        let objective = check_point(model, &x, TOLERANCE).ok()?;
        solution = Some(Solution {
            objective,
            x,
            found_by: R::NAME,
        });
    }
    let (sign, worst) = match model.sense() {
        Sense::Minimise => (1.0, f64::INFINITY),
        Sense::Maximise => (-1.0, f64::NEG_INFINITY),
    };
    let dual_bound = match outcome.status {
        Status::Infeasible => worst,
        _ => recognised.objective(outcome.bound),
    };
    let mut status = match outcome.status {
        Status::Optimal => SolveStatus::Optimal,
        Status::Infeasible => SolveStatus::Infeasible,
        Status::Interrupted => SolveStatus::Interrupted,
        Status::Feasible | Status::Limit if settings.limits.seconds.is_some() => {
            SolveStatus::TimeLimit
        }
        Status::Feasible | Status::Limit => SolveStatus::NodeLimit,
    };
    // Only solutions better than the cutoff are wanted.
    if let Some(cutoff) = settings.cutoff {
        solution = solution.filter(|s| sign * s.objective < sign * cutoff);
        if solution.is_none() && sign * dual_bound >= sign * cutoff {
            status = match status {
                SolveStatus::Infeasible => status,
                _ => SolveStatus::Cutoff,
            };
        }
        if solution.is_none() && status == SolveStatus::Optimal {
            // Optimal within the gap, and above the cutoff: between the two there is no proof.
            status = SolveStatus::NodeLimit;
        }
    }
    Some(SolveResult {
        status,
        pool: solution.iter().cloned().collect(),
        solution,
        certificate_problem: None,
        file_problems: FileProblems::default(),
        exact: None,
        dual_bound,
        info: Info {
            nodes: outcome.nodes,
            lp_iterations: outcome.lp_iterations,
            seconds: outcome.seconds,
            root_bound: f64::NAN,
            ..Info::default()
        },
    })
}
