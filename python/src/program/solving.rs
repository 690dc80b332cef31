//! From a program to its answer, beside the interpreter.

use super::Program;
use super::answer::{Answer, ProgramProgress};
use super::arrays::numbers;
use crate::arguments::Limits;
use crate::relay::{Ended, Relay, work_until};
use crate::trouble::Trouble;
use numpy::IntoPyArray;
use pyo3::prelude::*;
use remat_formulations::program::{
    self, BestPoints, Col, Cut, Objective, Point, ProgramSettings, Role, Watcher, complete_start,
    solve_program,
};
use remat_lp::Algorithm;
use remat_solver::mip::Progress;
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

    /// Ends the solves that have this flag.
    fn set(&self) {
        self.flag.store(true, Ordering::Relaxed);
    }
}

/// One of several objectives as Python gives it: columns, values and constant, priority, weight,
/// absolute and relative tolerance.
type Given = ((Vec<u32>, Vec<f64>, f64), i32, f64, f64, f64);

fn objective(((cols, values, constant), priority, weight, absolute, relative): Given) -> Objective {
    Objective {
        entries: cols.into_iter().map(Col).zip(values).collect(),
        constant,
        priority,
        weight,
        absolute,
        relative,
    }
}

/// Passes looks to the waiting thread, and points to a function of Python's at once.
struct Passing {
    relay: Arc<Relay<ProgramProgress>>,
    on_point: Option<Py<PyAny>>,
    separate: Option<Py<PyAny>>,
    suggest: Option<Py<PyAny>>,
    role: Role,
    program: Arc<program::Program>,
    failed: Mutex<Option<PyErr>>,
}

/// A row as Python hands it in: columns, values, lower and upper side.
type GivenRow = (Vec<u32>, Vec<f64>, f64, f64);

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
        self.role
    }

    fn separate(&self, x: &[f64], integral: bool) -> Vec<Cut> {
        let Some(separate) = &self.separate else {
            return Vec::new();
        };
        let objective = self.program.objective_of(x);
        let rows = Python::attach(|py| {
            let x = x.to_vec().into_pyarray(py);
            let rows = separate.call1(py, (x, objective, integral))?;
            rows.extract::<Vec<GivenRow>>(py)
        });
        let rows = rows.unwrap_or_else(|error| {
            self.fail(error);
            Vec::new()
        });
        let cuts = rows.into_iter().map(|(cols, values, lower, upper)| Cut {
            entries: cols.into_iter().map(Col).zip(values).collect(),
            lower,
            upper,
        });
        cuts.collect()
    }

    fn suggest(&self, _: &[f64]) -> Vec<Vec<f64>> {
        let Some(suggest) = &self.suggest else {
            return Vec::new();
        };
        let points = Python::attach(|py| suggest.call0(py)?.extract::<Vec<Vec<f64>>>(py));
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
        let Some(on_point) = &self.on_point else {
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
    /// Finds the best point with the values of a start, on one thread and within small limits.
    ///
    /// Args:
    ///     start: Values by handle, with NaN where it says nothing.
    ///
    /// Returns:
    ///     Objective and values; ``None`` where nothing is found.
    ///
    /// Raises:
    ///     InvalidArgument: ``start`` is no vector of numbers.
    fn complete(
        &self,
        py: Python<'_>,
        start: &Bound<'_, PyAny>,
    ) -> PyResult<Option<(f64, Vec<f64>)>> {
        let start = numbers("start", start)?.as_slice().to_vec();
        let program = self.lock().clone();
        let point = py.detach(|| complete_start(&program, &start, &ProgramSettings::default()));
        Ok(point.map(|point| (point.objective, point.x)))
    }

    /// Solves the program: a published rematerialization program that is recognised as such,
    /// whatever else by the simplex methods or branch and cut.
    ///
    /// Args:
    ///     gap, absolute_gap: Differences of objective and bound at which a search ends; 1e-7 and
    ///         1e-9 by default.
    ///     node_limit, iteration_limit, work_limit, memory_limit: Limits of the search, of linear
    ///         programs, of both in deterministic units, and in bytes of open nodes.
    ///     cutoff: Only better points are wanted.
    ///     pool_size: Number of points found that are kept.
    ///     race: Searches under different settings that start side by side, each with the same work;
    ///         the best goes on. Up to 64.
    ///     starts: Points by handle to start from.
    ///     hints: A point as a start that is tried after those. Of starts and hints that have NaN,
    ///         the rest is searched for with the numbers fixed.
    ///     objectives: Objectives in place of the program's, each ``((cols, values, constant),
    ///         priority, weight, abstol, reltol)``: those of greater priority first; later ones may
    ///         make them worse by the larger of both tolerances.
    ///     best_points: True finds the ``pool_size`` best points, distinct in the integer columns,
    ///         in exact order.
    ///     pool_gap, pool_absolute_gap: Largest difference of those to the best, as a share of it
    ///         and in its unit.
    ///     recognise: False leaves everything to the general search.
    ///     stop: Ends the solve when it is set.
    ///     algorithm: For linear programs: ``auto``, ``primal``, ``dual`` or ``barrier``.
    ///     on_progress: Takes a look now and then.
    ///     on_point: Takes objective and values of each better point, and holds the search up.
    ///     separate: Takes values, objective, and True if all integers are whole; returns rows that
    ///         hold for every point, each ``(cols, values, lower, upper)``.
    ///     suggest: Returns points to be tried, by handle, with NaN where they say nothing.
    ///     lazy_rows: True asks ``separate`` about each point before it counts: its rows are part
    ///         of the program.
    ///     at_nodes: True asks ``separate`` and ``suggest`` at the nodes of the search.
    ///
    /// Returns:
    ///     The answer. Ctrl-C ends the search with the best point so far; where there is none,
    ///     it is raised.
    ///
    /// Raises:
    ///     InvalidArgument: names the setting.
    #[pyo3(signature = (*, time_limit = None, gap = None, absolute_gap = None, threads = None, seed = 0,
        node_limit = None, iteration_limit = None, work_limit = None, memory_limit = None, cutoff = None,
        pool_size = 1, race = 1, starts = None, hints = None, objectives = None, best_points = false,
        pool_gap = None, pool_absolute_gap = None, presolve = true, cuts = true, heuristics = true, recognise = true,
        algorithm = "auto", feasibility_tolerance = None, integrality_tolerance = None,
        optimality_tolerance = None, stop = None, on_progress = None, on_point = None,
        separate = None, suggest = None, lazy_rows = false, at_nodes = false))]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
    fn solve(
        &self,
        py: Python<'_>,
        time_limit: Option<Bound<'_, PyAny>>,
        gap: Option<f64>,
        absolute_gap: Option<f64>,
        threads: Option<i64>,
        seed: u64,
        node_limit: Option<u64>,
        iteration_limit: Option<u64>,
        work_limit: Option<u64>,
        memory_limit: Option<u64>,
        cutoff: Option<f64>,
        pool_size: usize,
        race: usize,
        starts: Option<Vec<Bound<'_, PyAny>>>,
        hints: Option<Bound<'_, PyAny>>,
        objectives: Option<Vec<Given>>,
        best_points: bool,
        pool_gap: Option<f64>,
        pool_absolute_gap: Option<f64>,
        presolve: bool,
        cuts: bool,
        heuristics: bool,
        recognise: bool,
        algorithm: &str,
        feasibility_tolerance: Option<f64>,
        integrality_tolerance: Option<f64>,
        optimality_tolerance: Option<f64>,
        stop: Option<&Bound<'_, Stop>>,
        on_progress: Option<Py<PyAny>>,
        on_point: Option<Py<PyAny>>,
        separate: Option<Py<PyAny>>,
        suggest: Option<Py<PyAny>>,
        lazy_rows: bool,
        at_nodes: bool,
    ) -> PyResult<Answer> {
        let limits = Limits {
            time_limit,
            threads,
            seed,
            gap: None,
        };
        let limits = limits.settings()?;
        let mut settings = ProgramSettings::default();
        let mip = &mut settings.model.mip;
        mip.limits.seconds = limits.time_limit.map(|t| t.as_secs_f64());
        mip.limits.nodes = node_limit;
        mip.limits.ticks = work_limit;
        mip.limits.memory_bytes = memory_limit;
        mip.threads = limits.worker_threads();
        mip.seed = seed;
        mip.relative_gap = gap.unwrap_or(mip.relative_gap);
        mip.absolute_gap = absolute_gap.unwrap_or(mip.absolute_gap);
        mip.cutoff = cutoff;
        mip.pool_size = pool_size;
        mip.race = race;
        (mip.presolve, mip.cuts, mip.heuristics) = (presolve, cuts, heuristics);
        let feasibility = feasibility_tolerance.unwrap_or(mip.feasibility_tolerance);
        mip.feasibility_tolerance = feasibility;
        mip.integrality_tolerance = integrality_tolerance.unwrap_or(mip.integrality_tolerance);
        mip.validate()
            .map_err(|e| Trouble::new("InvalidArgument", e.to_string()))?;
        settings.model.recognise = recognise;
        let linear = &mut settings.model.linear;
        linear.iterations = iteration_limit;
        // The seed of the first random number, as the search has it.
        linear.lp.seed = seed.wrapping_add(1);
        linear.lp.primal_tolerance = feasibility_tolerance.unwrap_or(linear.lp.primal_tolerance);
        linear.lp.dual_tolerance = optimality_tolerance.unwrap_or(linear.lp.dual_tolerance);
        linear.lp.algorithm = match algorithm {
            "auto" => Algorithm::Auto,
            "primal" => Algorithm::Primal,
            "dual" => Algorithm::Dual,
            "barrier" => Algorithm::Barrier,
            _ => {
                let words = format!("{algorithm:?} is none of auto, primal, dual, barrier");
                return Err(Trouble::argument("algorithm", words).into());
            }
        };
        if !presolve {
            linear.presolve = None;
        }
        for start in starts.unwrap_or_default() {
            settings
                .starts
                .push(numbers("starts", &start)?.as_slice().to_vec());
        }
        if let Some(hints) = hints {
            settings.hints = Some(numbers("hints", &hints)?.as_slice().to_vec());
        }
        settings.objectives = objectives.into_iter().flatten().map(objective).collect();
        settings.best_points = best_points.then_some(BestPoints {
            gap: pool_gap,
            absolute_gap: pool_absolute_gap,
        });
        let program = Arc::new(self.lock().clone());
        let role = Role {
            lazy_rows,
            nodes: at_nodes,
        };
        let stop = stop.map(|stop| stop.get().flag.clone()).unwrap_or_default();
        let Ended { value, interrupt } = work_until(py, stop, on_progress, |relay| {
            settings.model.mip.limits.interrupt = Some(relay.stop().clone());
            let passing = Arc::new(Passing {
                relay: relay.clone(),
                on_point,
                separate,
                suggest,
                role,
                program: program.clone(),
                failed: Mutex::default(),
            });
            let answer = solve_program(&program, &settings, passing.clone());
            let error = passing
                .failed
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .take();
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
}
