//! From a program to its answer, beside the interpreter.

use super::Program;
use super::answer::{Answer, ProgramProgress};
use super::arrays::numbers;
use crate::asked;
use crate::numbers::{function_if_given, members, number_if_given, whole_if_given, wrong_type};
use crate::relay::{Ended, Relay, apart, work_until};
use crate::trouble::Trouble;
use numpy::IntoPyArray;
use pyo3::prelude::*;
use remat_lp::Algorithm;
use remat_models::program::{
    self, BestPoints, Col, Cut, Objective, Point, ProgramSettings, Role, Watcher, check_start,
    complete_start, solve_program,
};
use remat_solver::mip::{Progress, SolveError};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// A flag that ends a solve with the best point so far, from any thread.
#[pyclass(frozen, module = "remat_bb")]
#[derive(Default)]
pub struct Stop {
    flag: Arc<AtomicBool>,
}

impl Stop {
    /// The flag.
    pub fn flag(&self) -> Arc<AtomicBool> {
        self.flag.clone()
    }
}

#[pymethods]
impl Stop {
    #[new]
    fn new() -> Self {
        Stop::default()
    }

    /// Ends all solves with this flag.
    fn set(&self) {
        self.flag.store(true, Ordering::Relaxed);
    }
}

/// One of several objectives in Python's form: columns, values and constant, priority, weight,
/// absolute and relative tolerance.
type Given = ((Vec<u32>, Vec<f64>, f64), i32, f64, f64, f64);

/// Entries from columns and values.
///
/// # Errors
/// `InvalidArgument` for unequal numbers of columns and values.
fn entries(argument: &str, cols: Vec<u32>, values: Vec<f64>) -> PyResult<Vec<(Col, f64)>> {
    if cols.len() != values.len() {
        let words = format!("{} columns and {} values", cols.len(), values.len());
        return Err(Trouble::argument(argument, words).into());
    }
    Ok(cols.into_iter().map(Col).zip(values).collect())
}

/// A vector of numbers.
fn values(name: &str, given: &Bound<'_, PyAny>) -> PyResult<Vec<f64>> {
    Ok(numbers(name, given)?.as_slice().to_vec())
}

fn objective(name: &str, given: &Bound<'_, PyAny>) -> PyResult<Objective> {
    let right = "((cols, values, constant), priority, weight, abstol, reltol)";
    let parts: Result<Given, _> = given.extract();
    let parts = parts.map_err(|_| wrong_type(name, given, right))?;
    let ((cols, values, constant), priority, weight, absolute, relative) = parts;
    Ok(Objective {
        entries: entries(name, cols, values)?,
        constant,
        priority,
        weight,
        absolute,
        relative,
    })
}

/// Passes snapshots to the waiting thread, and points to a Python function at once.
struct Passing {
    relay: Arc<Relay<ProgramProgress>>,
    functions: Functions,
    program: Arc<program::Program>,
    failed: Mutex<Option<PyErr>>,
}

/// Python functions that a solve calls, and the role of the functions that supply rows and points.
struct Functions {
    on_point: Option<Py<PyAny>>,
    separate: Option<Py<PyAny>>,
    suggest: Option<Py<PyAny>>,
    role: Role,
}

impl Functions {
    /// Checks that they are functions.
    fn check(&self, py: Python<'_>) -> PyResult<()> {
        for (name, function) in [
            ("on_point", &self.on_point),
            ("separate", &self.separate),
            ("suggest", &self.suggest),
        ] {
            function_if_given(py, name, function.as_ref())?;
        }
        Ok(())
    }
}

/// A row in Python's form: columns, values, lower and upper side.
type GivenRow = (Vec<u32>, Vec<f64>, f64, f64);

fn cut(name: &str, given: &Bound<'_, PyAny>) -> PyResult<Cut> {
    let right = "(cols, values, lower, upper)";
    let row: Result<GivenRow, _> = given.extract();
    let (cols, values, lower, upper) = row.map_err(|_| wrong_type(name, given, right))?;
    Ok(Cut {
        entries: entries(name, cols, values)?,
        lower,
        upper,
    })
}

/// Replaces a setting if a value is given.
fn replace<T>(setting: &mut T, given: Option<T>) {
    if let Some(given) = given {
        *setting = given;
    }
}

/// The error of a setting, under the name of its argument.
fn setting(error: SolveError) -> Trouble {
    match error {
        SolveError::Setting {
            name,
            value,
            expected,
        } => {
            let name = match name {
                "relative_gap" => "gap",
                "limits.seconds" => "time_limit",
                same => same,
            };
            Trouble::argument(name, format!("{expected} is needed, not {value}"))
        }
        other => Trouble::new("InvalidArgument", other.to_string()),
    }
}

impl Passing {
    /// Keeps the first error, and ends the solve.
    fn fail(&self, error: PyErr) {
        self.relay.stop().store(true, Ordering::Relaxed);
        let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        failed.get_or_insert(error);
    }
}

impl Watcher for Passing {
    fn role(&self) -> Role {
        self.functions.role
    }

    fn separate(&self, x: &[f64], integral: bool) -> Vec<Cut> {
        let Some(separate) = &self.functions.separate else {
            return Vec::new();
        };
        let objective = self.program.objective_of(x);
        let rows = Python::attach(|py| {
            let x = x.to_vec().into_pyarray(py);
            let rows = separate.call1(py, (x, objective, integral))?.into_bound(py);
            members("separate", &rows, "a list of rows", cut)
        });
        rows.unwrap_or_else(|error: PyErr| {
            self.fail(error);
            Vec::new()
        })
    }

    fn suggest(&self, _: &[f64]) -> Vec<Vec<f64>> {
        let Some(suggest) = &self.functions.suggest else {
            return Vec::new();
        };
        let points = Python::attach(|py| {
            let points = suggest.call0(py)?.into_bound(py);
            members("suggest", &points, "a list of points", |name, point| {
                Ok(numbers(name, point)?.as_slice().to_vec())
            })
        });
        points.unwrap_or_else(|error| {
            self.fail(error);
            Vec::new()
        })
    }

    fn progress(&self, look: &Progress) -> bool {
        self.relay.show(look.into());
        !self.relay.stop().load(Ordering::Relaxed)
    }

    fn incumbent(&self, point: &Point) {
        let Some(on_point) = &self.functions.on_point else {
            return;
        };
        let told = Python::attach(|py| {
            let x = point.x.clone().into_pyarray(py);
            on_point.call1(py, (point.objective, x)).map(drop)
        });
        if let Err(error) = told {
            self.fail(error);
        }
    }
}

#[pymethods]
impl Program {
    /// Finds the best point with the given values of a start, on one thread and within small
    /// limits.
    ///
    /// Args:
    ///     start: Values by handle, with NaN for columns without a value.
    ///
    /// Returns:
    ///     Objective and values; ``None`` if no point is found.
    ///
    /// Raises:
    ///     InvalidArgument: ``start`` is no vector of finite numbers and NaN, or is too long.
    fn complete(
        &self,
        py: Python<'_>,
        start: &Bound<'_, PyAny>,
    ) -> PyResult<Option<(f64, Vec<f64>)>> {
        let start = numbers("start", start)?.as_slice().to_vec();
        let program = self.lock().clone();
        check_start(&program, &start, "start").map_err(Trouble::from)?;
        let settings = ProgramSettings::default();
        let point = apart(py, || complete_start(&program, &start, &settings))?;
        Ok(point.map(|point| (point.objective, point.x)))
    }

    /// Solves the program: a recognised published rematerialization program by its own method, any
    /// other by the simplex methods or branch and cut.
    ///
    /// Args:
    ///     gap, absolute_gap: Differences of objective and bound at which a search ends; 1e-7 and
    ///         1e-9 by default.
    ///     node_limit, iteration_limit, work_limit, memory_limit: Limits of the search, of linear
    ///         programs, of both in deterministic units, and in bytes of open nodes.
    ///     cutoff: Only better points are of interest.
    ///     pool_size: Number of points found to keep.
    ///     starts: Points by handle to start from.
    ///     hints: A point that is tried as a start after ``starts``. For NaN in starts and hints,
    ///         values are searched for with the given ones fixed.
    ///     objectives: Objectives in place of the program's, each ``((cols, values, constant),
    ///         priority, weight, abstol, reltol)``: objectives of greater priority come first;
    ///         later ones may make them worse by the larger of both tolerances.
    ///     best_points: True finds the ``pool_size`` best points, distinct in the integer columns,
    ///         in exact order.
    ///     pool_gap, pool_absolute_gap: Largest difference of these points to the best, as a share
    ///         of it and in its unit.
    ///     recognise: False leaves everything to the general search.
    ///     exact: True settles the answer in rational numbers (``Answer.exact``); gaps that are not
    ///         given are then 0.
    ///     stop: Ends the solve when it is set.
    ///     algorithm: For linear programs: ``auto``, ``primal``, ``dual`` or ``barrier``.
    ///     on_progress: Called with a snapshot now and then.
    ///     on_point: Called with objective and values of each better point; the search waits.
    ///     separate: Called with values, objective, and True if all integers are whole; returns
    ///         rows that hold for every point, each ``(cols, values, lower, upper)``.
    ///     suggest: Returns points to try, by handle, with NaN for columns without a value.
    ///     lazy_rows: True calls ``separate`` for each point before it counts: its rows are part
    ///         of the program.
    ///     at_nodes: True calls ``separate`` and ``suggest`` at the nodes of the search.
    ///
    /// Returns:
    ///     The answer. Ctrl-C ends the search with the best point so far; without a point
    ///     ``KeyboardInterrupt`` is raised.
    ///
    /// Raises:
    ///     InvalidArgument: names the setting.
    #[pyo3(signature = (*, time_limit = None, gap = None, absolute_gap = None, threads = None, seed = None,
        node_limit = None, iteration_limit = None, work_limit = None, memory_limit = None, cutoff = None,
        pool_size = None, starts = None, hints = None, objectives = None, best_points = false,
        pool_gap = None, pool_absolute_gap = None, presolve = true, cuts = true, heuristics = true, recognise = true, exact = false,
        algorithm = "auto", feasibility_tolerance = None, integrality_tolerance = None,
        optimality_tolerance = None, stop = None, on_progress = None, on_point = None,
        separate = None, suggest = None, lazy_rows = false, at_nodes = false))]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
    fn solve(
        &self,
        py: Python<'_>,
        time_limit: Option<Bound<'_, PyAny>>,
        gap: Option<Bound<'_, PyAny>>,
        absolute_gap: Option<Bound<'_, PyAny>>,
        threads: Option<Bound<'_, PyAny>>,
        seed: Option<Bound<'_, PyAny>>,
        node_limit: Option<Bound<'_, PyAny>>,
        iteration_limit: Option<Bound<'_, PyAny>>,
        work_limit: Option<Bound<'_, PyAny>>,
        memory_limit: Option<Bound<'_, PyAny>>,
        cutoff: Option<Bound<'_, PyAny>>,
        pool_size: Option<Bound<'_, PyAny>>,
        starts: Option<Bound<'_, PyAny>>,
        hints: Option<Bound<'_, PyAny>>,
        objectives: Option<Bound<'_, PyAny>>,
        best_points: bool,
        pool_gap: Option<Bound<'_, PyAny>>,
        pool_absolute_gap: Option<Bound<'_, PyAny>>,
        presolve: bool,
        cuts: bool,
        heuristics: bool,
        recognise: bool,
        exact: bool,
        algorithm: &str,
        feasibility_tolerance: Option<Bound<'_, PyAny>>,
        integrality_tolerance: Option<Bound<'_, PyAny>>,
        optimality_tolerance: Option<Bound<'_, PyAny>>,
        stop: Option<&Bound<'_, Stop>>,
        on_progress: Option<Py<PyAny>>,
        on_point: Option<Py<PyAny>>,
        separate: Option<Py<PyAny>>,
        suggest: Option<Py<PyAny>>,
        lazy_rows: bool,
        at_nodes: bool,
    ) -> PyResult<Answer> {
        let limits = asked::values([
            ("time_limit", time_limit.as_ref()),
            ("threads", threads.as_ref()),
            ("seed", seed.as_ref()),
        ])?;
        let limits = limits.settings();
        let mut settings = ProgramSettings::default();
        let mip = &mut settings.model.mip;
        mip.limits.seconds = limits.time_limit.map(|t| t.as_secs_f64());
        mip.limits.nodes = whole_if_given("node_limit", node_limit.as_ref())?;
        mip.limits.ticks = whole_if_given("work_limit", work_limit.as_ref())?;
        mip.limits.memory_bytes = whole_if_given("memory_limit", memory_limit.as_ref())?;
        mip.threads = limits.worker_threads();
        mip.seed = limits.seed;
        replace(&mut mip.relative_gap, number_if_given("gap", gap.as_ref())?);
        let gap = number_if_given("absolute_gap", absolute_gap.as_ref())?;
        replace(&mut mip.absolute_gap, gap);
        mip.cutoff = number_if_given("cutoff", cutoff.as_ref())?;
        let size = whole_if_given("pool_size", pool_size.as_ref())?;
        replace(&mut mip.pool_size, size);
        (mip.presolve, mip.cuts, mip.heuristics) = (presolve, cuts, heuristics);
        let tolerance =
            |name, value: Option<Bound<'_, PyAny>>| number_if_given(name, value.as_ref());
        let feasibility = tolerance("feasibility_tolerance", feasibility_tolerance)?;
        replace(&mut mip.feasibility_tolerance, feasibility);
        let integrality = tolerance("integrality_tolerance", integrality_tolerance)?;
        replace(&mut mip.integrality_tolerance, integrality);
        mip.validate().map_err(setting)?;
        if exact {
            settings.model.ask_exact();
        }
        settings.model.recognise = recognise;
        let linear = &mut settings.model.linear;
        linear.iterations = whole_if_given("iteration_limit", iteration_limit.as_ref())?;
        // The seed of the first random number, as in the search.
        linear.lp.seed = limits.seed.wrapping_add(1);
        replace(&mut linear.lp.primal_tolerance, feasibility);
        let optimality = tolerance("optimality_tolerance", optimality_tolerance)?;
        replace(&mut linear.lp.dual_tolerance, optimality);
        linear.lp.algorithm = algorithm_of(algorithm)?;
        if !presolve {
            linear.presolve = None;
        }
        if let Some(starts) = starts {
            let right = "a list of vectors of numbers";
            settings.starts = members("starts", &starts, right, values)?;
        }
        if let Some(hints) = hints {
            settings.hints = Some(values("hints", &hints)?);
        }
        if let Some(objectives) = objectives {
            settings.objectives = members("objectives", &objectives, "a list", objective)?;
        }
        let within = BestPoints {
            gap: number_if_given("pool_gap", pool_gap.as_ref())?,
            absolute_gap: number_if_given("pool_absolute_gap", pool_absolute_gap.as_ref())?,
        };
        settings.best_points = best_points.then_some(within);
        let functions = Functions {
            on_point,
            separate,
            suggest,
            role: Role {
                lazy_rows,
                nodes: at_nodes,
            },
        };
        functions.check(py)?;
        let stop = stop.map(|stop| stop.get().flag.clone()).unwrap_or_default();
        // Functions that the solve calls may use the program, so its lock is not held.
        let program = self.lock().clone();
        solved(py, program, settings, functions, (stop, on_progress))
    }
}

/// The algorithm with a name.
fn algorithm_of(name: &str) -> PyResult<Algorithm> {
    Ok(match name {
        "auto" => Algorithm::Auto,
        "primal" => Algorithm::Primal,
        "dual" => Algorithm::Dual,
        "barrier" => Algorithm::Barrier,
        _ => {
            let words = format!("{name:?} is none of auto, primal, dual, barrier");
            return Err(Trouble::argument("algorithm", words).into());
        }
    })
}

/// Solves a program apart from the interpreter, until it ends or the flag is set.
fn solved(
    py: Python<'_>,
    program: program::Program,
    mut settings: ProgramSettings,
    functions: Functions,
    (stop, on_progress): (Arc<AtomicBool>, Option<Py<PyAny>>),
) -> PyResult<Answer> {
    let program = Arc::new(program);
    let Ended { value, interrupt } = work_until(py, stop, on_progress, |relay| {
        settings.model.mip.limits.interrupt = Some(relay.stop().clone());
        let passing = Arc::new(Passing {
            relay: relay.clone(),
            functions,
            program: program.clone(),
            failed: Mutex::default(),
        });
        let answer = solve_program(&program, &settings, passing.clone());
        let failed = passing.failed.lock();
        let error = failed.unwrap_or_else(PoisonError::into_inner).take();
        (answer, error)
    })?;
    let (answer, error) = value;
    if let Some(error) = error {
        return Err(error);
    }
    let inner = answer.map_err(Trouble::from)?;
    match interrupt {
        Some(interrupt) if inner.points.is_empty() => Err(interrupt),
        _ => Ok(Answer { inner }),
    }
}
