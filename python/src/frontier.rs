//! The frontier of time against memory: one budget after another.

use crate::arguments;
use crate::asked::{self, COPIES, PROGRAM, SEARCH};
use crate::copied_as_itself;
use crate::instance::Instance;
use crate::pickled::{Reduced, reduced};
use crate::plan::{Found, Plan};
use crate::relay::{self, Ended};
use crate::trouble::Trouble;
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use remat_bb::commands::sweep;
use remat_formulations::Frontier as Walk;
use remat_formulations::solve::{AnyPlan, FrontierPoint as Point};
use remat_instances::Budget;
use remat_instances::budget::format_bytes;
use remat_instances::simulate::Replay;
use remat_report::draw::tradeoff;
use remat_search::{Solvable, Status};

/// A point of the frontier, with the plan found.
type BudgetPlace = Point<AnyPlan>;

/// A point of the frontier: one budget. Immutable.
#[pyclass(frozen, get_all, weakref, module = "remat_bb")]
pub struct FrontierPoint {
    /// The budget.
    budget_bytes: u64,
    /// `optimal`, `feasible`, `infeasible`, `limit` or `interrupted`.
    status: String,
    /// The best plan, of this budget or of a smaller one.
    plan: Option<Py<Plan>>,
    /// Cost of the plan; with a link its makespan.
    objective: Option<u64>,
    /// Extra cost of the plan over the step without recomputation, as a fraction.
    overhead: Option<f64>,
    /// Peak of the plan.
    peak_memory_bytes: Option<u64>,
    /// Time in which computations wait for copies.
    idle: Option<u64>,
    /// Bytes copied to the host.
    to_host_bytes: Option<u64>,
    /// Bytes copied from the host.
    from_host_bytes: Option<u64>,
    /// Peak of host memory for copies.
    host_peak_bytes: Option<u64>,
    /// Proven lower bound; `None` if the budget is infeasible.
    bound: Option<u64>,
    /// `(objective - bound) / objective`.
    gap: Option<f64>,
    /// Schedules that the bound covers.
    bound_scope: String,
    /// Time of its own solve; 0 if other budgets settled it.
    seconds: f64,
    /// Reason for infeasibility, if that was proven.
    infeasible_because: Option<String>,
}

#[pymethods]
impl FrontierPoint {
    fn __reduce__<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<Reduced<'py, (PlanPart, MemoryPart, BoundPart)>> {
        let plan = self.plan.as_ref().map(|plan| plan.clone_ref(py));
        let state = (
            (
                self.budget_bytes,
                self.status.clone(),
                plan,
                self.objective,
                self.overhead,
            ),
            (
                self.peak_memory_bytes,
                self.idle,
                self.to_host_bytes,
                self.from_host_bytes,
                self.host_peak_bytes,
            ),
            (
                self.bound,
                self.gap,
                self.bound_scope.clone(),
                self.seconds,
                self.infeasible_because.clone(),
            ),
        );
        reduced(py, "FrontierPoint", state)
    }

    /// The point of a pickle.
    #[staticmethod]
    fn __restored__(plan: PlanPart, memory: MemoryPart, bound: BoundPart) -> Self {
        let (budget_bytes, status, plan, objective, overhead) = plan;
        let (peak_memory_bytes, idle, to_host_bytes, from_host_bytes, host_peak_bytes) = memory;
        let (bound, gap, bound_scope, seconds, infeasible_because) = bound;
        FrontierPoint {
            budget_bytes,
            status,
            plan,
            objective,
            overhead,
            peak_memory_bytes,
            idle,
            to_host_bytes,
            from_host_bytes,
            host_peak_bytes,
            bound,
            gap,
            bound_scope,
            seconds,
            infeasible_because,
        }
    }

    fn __repr__(&self) -> String {
        let overhead = match self.overhead {
            Some(share) => format!(", {:.2}% over no recomputation", share * 100.0),
            None => String::new(),
        };
        let budget = format_bytes(self.budget_bytes);
        format!("FrontierPoint({budget}: {}{overhead})", self.status)
    }

    /// All fields except the plan.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let entry = PyDict::new(py);
        entry.set_item("budget_bytes", self.budget_bytes)?;
        entry.set_item("status", &self.status)?;
        entry.set_item("objective", self.objective)?;
        entry.set_item("overhead", self.overhead)?;
        entry.set_item("peak_memory_bytes", self.peak_memory_bytes)?;
        entry.set_item("idle", self.idle)?;
        entry.set_item("to_host_bytes", self.to_host_bytes)?;
        entry.set_item("from_host_bytes", self.from_host_bytes)?;
        entry.set_item("host_peak_bytes", self.host_peak_bytes)?;
        entry.set_item("bound", self.bound)?;
        entry.set_item("gap", self.gap)?;
        entry.set_item("bound_scope", &self.bound_scope)?;
        entry.set_item("seconds", self.seconds)?;
        entry.set_item("infeasible_because", &self.infeasible_because)?;
        Ok(entry)
    }
}

/// The frontier of an instance: points in ascending order of budgets. Immutable.
#[pyclass(frozen, sequence, weakref, module = "remat_bb")]
pub struct Frontier {
    source: remat_instances::Instance,
    /// Peak and cost of the step without recomputation.
    plain: (u64, u64),
    /// The picture.
    svg: String,
    points: Vec<Py<FrontierPoint>>,
    interrupted: bool,
}

copied_as_itself!(Frontier);
copied_as_itself!(FrontierPoint);

/// The first fields of a point, in order.
type PlanPart = (u64, String, Option<Py<Plan>>, Option<u64>, Option<f64>);
/// The fields of a point about memory, in order.
type MemoryPart = (
    Option<u64>,
    Option<u64>,
    Option<u64>,
    Option<u64>,
    Option<u64>,
);
/// The last fields of a point, in order.
type BoundPart = (Option<u64>, Option<f64>, String, f64, Option<String>);

/// State of a frontier: its fields in order.
type FrontierState = (Instance, (u64, u64), String, Vec<Py<FrontierPoint>>, bool);

#[pymethods]
impl Frontier {
    #[getter]
    fn instance(&self) -> Instance {
        Instance {
            inner: self.source.clone(),
        }
    }

    /// True if Ctrl-C ended it: budgets that were not reached have no point.
    #[getter]
    fn interrupted(&self) -> bool {
        self.interrupted
    }

    /// Peak of the step without recomputation.
    #[getter]
    fn plain_peak_memory_bytes(&self) -> u64 {
        self.plain.0
    }

    /// Cost of the step without recomputation.
    #[getter]
    fn base_cost(&self) -> u64 {
        self.plain.1
    }

    fn __len__(&self) -> usize {
        self.points.len()
    }

    fn __getitem__(&self, py: Python<'_>, index: isize) -> PyResult<Py<FrontierPoint>> {
        let count = self.points.len();
        let at = match index {
            0.. => Some(index as usize),
            _ => count.checked_sub(index.unsigned_abs()),
        };
        let point = at.and_then(|at| self.points.get(at));
        point.map(|point| point.clone_ref(py)).ok_or_else(|| {
            PyIndexError::new_err(format!("point {index} of a frontier of {count} points"))
        })
    }

    /// The points as dictionaries, without their plans.
    fn to_dicts<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        self.points
            .iter()
            .map(|point| point.get().to_dict(py))
            .collect()
    }

    /// Cost against memory with the lower bounds, as SVG text.
    fn svg(&self) -> &str {
        &self.svg
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py, FrontierState>> {
        let points = self.points.iter().map(|point| point.clone_ref(py));
        let state = (
            self.instance(),
            self.plain,
            self.svg.clone(),
            points.collect(),
            self.interrupted,
        );
        reduced(py, "Frontier", state)
    }

    /// The frontier of a pickle.
    #[staticmethod]
    fn __restored__(
        instance: &Instance,
        plain: (u64, u64),
        svg: String,
        points: Vec<Py<FrontierPoint>>,
        interrupted: bool,
    ) -> Self {
        Frontier {
            source: instance.inner.clone(),
            plain,
            svg,
            points,
            interrupted,
        }
    }

    fn _repr_svg_(&self) -> &str {
        &self.svg
    }

    fn __repr__(&self) -> String {
        let points = self.points.iter().map(|point| point.get().__repr__());
        let points: Vec<String> = points.collect();
        format!(
            "Frontier({:?}, [{}])",
            self.source.name(),
            points.join(", ")
        )
    }
}

/// Budgets in the given form: a range or list as text, or several budgets.
enum Budgets {
    Text(String),
    List(Vec<Budget>),
}

impl Budgets {
    fn of(value: &Bound<'_, PyAny>) -> PyResult<Self> {
        if let Ok(text) = value.cast::<PyString>() {
            return Ok(Budgets::Text(text.to_string()));
        }
        let each = value.try_iter().map_err(|_| {
            Trouble::argument("budgets", "not a list").remedy(
                "give budgets such as [\"40%\", \"6GiB\"], or text such as \"40%..100%:20\"",
            )
        })?;
        let list = each.map(|budget| arguments::budget(&budget?));
        Ok(Budgets::List(list.collect::<PyResult<_>>()?))
    }

    fn list(self, plain_bytes: u64) -> Result<Vec<Budget>, Trouble> {
        match self {
            Budgets::List(list) => Ok(list),
            Budgets::Text(text) => {
                let bytes = sweep::budgets("budgets", &text, plain_bytes).map_err(|failure| {
                    Trouble {
                        class: "InvalidBudget",
                        ..Trouble::from(failure)
                    }
                    .at("budgets")
                })?;
                Ok(bytes.into_iter().map(Budget::Bytes).collect())
            }
        }
    }
}

/// Solves one budget after another; each solve starts from the plans and bounds of the others.
// The keyword arguments of Python's function.
#[allow(clippy::too_many_arguments)]
#[pyfunction]
#[pyo3(signature = (
    instance, budgets, *, on_progress = None, **options
))]
pub fn frontier(
    py: Python<'_>,
    instance: &Bound<'_, PyAny>,
    budgets: &Bound<'_, PyAny>,
    on_progress: Option<Py<PyAny>>,
    options: Option<&Bound<'_, PyDict>>,
) -> PyResult<Frontier> {
    let source = crate::instance::of(instance)?;
    let options = asked::options("frontier", SEARCH | PROGRAM | COPIES, options)?;
    let source = asked::linked(&options, source)?;
    let budgets = Budgets::of(budgets)?;
    let settings = options.settings();
    let (solvable, plain, budgets) = relay::apart(py, || -> Result<_, Trouble> {
        let solvable = asked::solvable(&options, &source)?;
        let plain = solvable.plain()?;
        let budgets = budgets.list(plain.peak_bytes)?;
        Ok((solvable, plain, budgets))
    })??;
    let Ended { value, interrupt } = relay::work(py, on_progress, |relay| {
        let mut bytes: Vec<u64> = budgets.iter().map(|b| b.bytes(plain.peak_bytes)).collect();
        bytes.sort_unstable();
        bytes.dedup();
        let total = bytes.len();
        let look = |done: usize, look: &_| relay.look(look, done, total);
        let walk = Walk::of(solvable.clone(), &budgets)?;
        let places = walk.settings(settings).listener(&**relay, &look).run()?;
        Ok::<_, Trouble>(places)
    })?;
    let places = value?;
    match interrupt {
        Some(interrupt) if places.iter().all(|place| place.schedule.is_none()) => {
            return Err(interrupt);
        }
        _ => {}
    }
    let interrupted = interrupt.is_some();
    let view = solvable.instance().clone();
    let plans = relay::apart(py, || {
        let plan = |place: &BudgetPlace| {
            let plan = place.schedule.clone()?;
            let found = Found {
                status: place.status,
                bound: place.bound,
                bound_scope: place.bound_scope.into(),
                wider: None,
                seconds: place.seconds,
                nodes: None,
                lp_iterations: None,
                moves: None,
                interrupted,
            };
            let budget = place.budget_bytes;
            Some(Plan::of(&source, &view, plan, budget, &plain, Some(found)))
        };
        let plans = places.iter().map(|place| plan(place).transpose());
        plans.collect::<Result<Vec<Option<Plan>>, Trouble>>()
    })??;
    let points = places.iter().zip(plans).map(|(place, plan)| {
        let known = plan.as_ref().map(|plan| &plan.replay);
        let point = FrontierPoint {
            budget_bytes: place.budget_bytes,
            status: place.status.as_str().into(),
            objective: known.map(|replay| replay.makespan),
            overhead: known.map(|replay| replay.overhead_percent() / 100.0),
            peak_memory_bytes: known.map(|replay| replay.peak_bytes),
            idle: known.map(Replay::idle),
            to_host_bytes: known.map(|replay| replay.transfers.to_host_bytes),
            from_host_bytes: known.map(|replay| replay.transfers.from_host_bytes),
            host_peak_bytes: known.map(|replay| replay.transfers.host_peak_bytes),
            bound: (place.status != Status::Infeasible).then_some(place.bound),
            gap: plan.as_ref().and_then(Plan::gap),
            bound_scope: place.bound_scope.into(),
            seconds: place.seconds,
            infeasible_because: place.infeasible_because.clone(),
            plan: plan.map(|plan| Py::new(py, plan)).transpose()?,
        };
        Py::new(py, point)
    });
    let points = points.collect::<PyResult<_>>()?;
    let svg = relay::apart(py, || {
        let none: Vec<Vec<_>> = places.iter().map(|_| Vec::new()).collect();
        tradeoff::draw(&sweep::picture(&solvable, &plain, &places, &none))
    })?;
    Ok(Frontier {
        source,
        plain: (plain.peak_bytes, plain.base_cost),
        svg: svg.map_err(Trouble::from)?,
        points,
        interrupted,
    })
}
