//! Orders of graphs, addresses of buffers, and both together.

use crate::asked::{self, LIMITS};
use crate::instance::{self, json_object, json_text, save};
use crate::numbers::wrong_type;
use crate::pickled::{self, Reduced, reduced};
use crate::relay::{self, Ended, Relay};
use crate::trouble::Trouble;
use crate::{arguments, copied_as_itself};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyString};
use remat_bb::source;
use remat_formulations::options::SolveOptions;
use remat_instances::order::{
    MemoryPlan as Written, ORDER_SCHEMA, OrderGraph, OrderPlan, Variant, read_order_graph_bytes,
};
use remat_instances::place::{Buffer, Lives, Placement as Placed};
use remat_memory::memory_plan::MemoryPlanSearch;
use remat_memory::order::{OrderSearch, OrderSettings};
use remat_memory::place::{PlaceSettings, PlaceStatus, place as place_buffers};
use remat_search::{Status, relative_gap};
use std::path::PathBuf;
use std::sync::Arc;

/// An order of a graph's operators, with a proven bound on its peak. Immutable.
#[pyclass(frozen, weakref, module = "remat_bb")]
pub struct Order {
    plan: OrderPlan,
    /// `optimal`, `feasible`, `infeasible` or `interrupted`.
    #[pyo3(get)]
    status: &'static str,
    /// Memory of the plan, resident memory included, in bytes.
    #[pyo3(get)]
    peak_memory_bytes: u64,
    /// Proven lower bound in bytes on all orders.
    #[pyo3(get)]
    bound: u64,
    /// `(value - bound) / value`.
    #[pyo3(get)]
    gap: f64,
    /// Resident memory in bytes.
    #[pyo3(get)]
    base_memory_bytes: u64,
    /// Peak of the program's own order; `None` if the variant does not allow it.
    #[pyo3(get)]
    program_peak_bytes: Option<u64>,
    /// Time taken.
    #[pyo3(get)]
    seconds: f64,
}

copied_as_itself!(Order);
copied_as_itself!(MemoryPlan);
copied_as_itself!(Placement);

/// Numbers of an order or a memory plan apart from its document: peak, bound, gap, resident memory,
/// peak of the program's own order, seconds.
type Numbers = (u64, u64, f64, u64, Option<u64>, f64);

/// State of a memory plan: document, status, numbers, height and load of its arena.
type MemoryPlanState = (String, &'static str, Numbers, (u64, u64));

#[pymethods]
impl Order {
    fn __reduce__<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<Reduced<'py, (String, &'static str, Numbers)>> {
        let numbers = (
            self.peak_memory_bytes,
            self.bound,
            self.gap,
            self.base_memory_bytes,
            self.program_peak_bytes,
            self.seconds,
        );
        reduced(py, "Order", (self.plan.write(), self.status, numbers))
    }

    /// The order of a pickle.
    #[staticmethod]
    fn __restored__(text: &str, status: &str, numbers: Numbers) -> PyResult<Self> {
        let plan = OrderPlan::parse("pickle", text.as_bytes());
        let plan = plan.map_err(|e| Trouble::read("InvalidPlan", &e, true))?;
        let (peak_memory_bytes, bound, gap, base_memory_bytes, program_peak_bytes, seconds) =
            numbers;
        Ok(Order {
            plan,
            status: pickled::status(status)?.as_str(),
            peak_memory_bytes,
            bound,
            gap,
            base_memory_bytes,
            program_peak_bytes,
            seconds,
        })
    }

    /// Operators in the order in which they run.
    #[getter]
    fn order(&self) -> Vec<u32> {
        self.plan.order.iter().map(|v| v.0).collect()
    }

    /// Memory while each operator runs.
    #[getter]
    fn step_bytes(&self) -> Vec<u64> {
        self.plan.step_bytes.clone()
    }

    /// The order as a `remat-order-plan/1` dictionary.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        json_object(py, &self.plan.write())
    }

    /// Writes the order to a file.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        Ok(relay::apart(py, || save(&path, &self.plan.write()))??)
    }

    fn __repr__(&self) -> String {
        let (peak, bound) = (self.peak_memory_bytes, self.bound);
        format!(
            "Order({}, peak {peak} bytes, bound {bound} bytes)",
            self.status
        )
    }
}

/// An order with an address for every buffer. Immutable.
#[pyclass(frozen, weakref, module = "remat_bb")]
pub struct MemoryPlan {
    plan: Written,
    /// `optimal`, `feasible`, `infeasible` or `interrupted`.
    #[pyo3(get)]
    status: &'static str,
    /// Memory of the plan, resident memory included, in bytes.
    #[pyo3(get)]
    peak_memory_bytes: u64,
    /// Proven lower bound in bytes on all memory plans.
    #[pyo3(get)]
    bound: u64,
    /// `(value - bound) / value`.
    #[pyo3(get)]
    gap: f64,
    /// Resident memory in bytes.
    #[pyo3(get)]
    base_memory_bytes: u64,
    /// Size of the arena in bytes.
    #[pyo3(get)]
    height_bytes: u64,
    /// Largest sum of sizes that are live at one moment.
    #[pyo3(get)]
    load_bytes: u64,
    /// Peak of the program's own order; `None` if the variant does not allow it.
    #[pyo3(get)]
    program_peak_bytes: Option<u64>,
    /// Time taken.
    #[pyo3(get)]
    seconds: f64,
}

#[pymethods]
impl MemoryPlan {
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py, MemoryPlanState>> {
        let numbers = (
            self.peak_memory_bytes,
            self.bound,
            self.gap,
            self.base_memory_bytes,
            self.program_peak_bytes,
            self.seconds,
        );
        let arena = (self.height_bytes, self.load_bytes);
        reduced(
            py,
            "MemoryPlan",
            (self.plan.write(), self.status, numbers, arena),
        )
    }

    /// The memory plan of a pickle.
    #[staticmethod]
    fn __restored__(
        text: &str,
        status: &str,
        numbers: Numbers,
        arena: (u64, u64),
    ) -> PyResult<Self> {
        let plan = Written::parse("pickle", text.as_bytes());
        let plan = plan.map_err(|e| Trouble::read("InvalidPlan", &e, true))?;
        let (peak_memory_bytes, bound, gap, base_memory_bytes, program_peak_bytes, seconds) =
            numbers;
        let (height_bytes, load_bytes) = arena;
        Ok(MemoryPlan {
            plan,
            status: pickled::status(status)?.as_str(),
            peak_memory_bytes,
            bound,
            gap,
            base_memory_bytes,
            height_bytes,
            load_bytes,
            program_peak_bytes,
            seconds,
        })
    }

    /// Operators in the order in which they run.
    #[getter]
    fn order(&self) -> Vec<u32> {
        self.plan.order.order.iter().map(|v| v.0).collect()
    }

    /// Offsets in the arena, by buffer: `tensor 3`, `workspace 7`.
    #[getter]
    fn offsets<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let offsets = PyDict::new(py);
        for address in &self.plan.addresses {
            offsets.set_item(address.of.to_string(), address.offset_bytes)?;
        }
        Ok(offsets)
    }

    /// The plan as a `remat-memory-plan/1` dictionary.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        json_object(py, &self.plan.write())
    }

    /// Writes the plan to a file.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        Ok(relay::apart(py, || save(&path, &self.plan.write()))??)
    }

    fn __repr__(&self) -> String {
        let (peak, bound) = (self.peak_memory_bytes, self.bound);
        format!(
            "MemoryPlan({}, {peak} bytes, bound {bound} bytes)",
            self.status
        )
    }
}

/// Addresses of buffers, with a proven bound on their height. Immutable.
#[pyclass(frozen, get_all, weakref, module = "remat_bb")]
pub struct Placement {
    /// `optimal`, `feasible`, `infeasible`, `limit` or `interrupted`.
    status: &'static str,
    /// Offsets, in the order of the buffers.
    offsets: Vec<u64>,
    /// Size of the arena in bytes.
    height_bytes: u64,
    /// Proven lower bound in bytes on all placements.
    bound: u64,
    /// `(value - bound) / value`.
    gap: f64,
    /// Largest sum of sizes that are live at one moment.
    load_bytes: u64,
    /// Time taken.
    seconds: f64,
}

#[pymethods]
impl Placement {
    #[expect(clippy::type_complexity, reason = "the fields in order")]
    fn __reduce__<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<Reduced<'py, (&'static str, Vec<u64>, u64, u64, f64, u64, f64)>> {
        let state = (
            self.status,
            self.offsets.clone(),
            self.height_bytes,
            self.bound,
            self.gap,
            self.load_bytes,
            self.seconds,
        );
        reduced(py, "Placement", state)
    }

    /// The placement of a pickle.
    #[staticmethod]
    fn __restored__(
        status: &str,
        offsets: Vec<u64>,
        height_bytes: u64,
        bound: u64,
        gap: f64,
        load_bytes: u64,
        seconds: f64,
    ) -> PyResult<Self> {
        Ok(Placement {
            status: pickled::status(status)?.as_str(),
            offsets,
            height_bytes,
            bound,
            gap,
            load_bytes,
            seconds,
        })
    }

    fn __repr__(&self) -> String {
        let (height, bound) = (self.height_bytes, self.bound);
        format!(
            "Placement({}, {height} bytes, bound {bound} bytes)",
            self.status
        )
    }
}

/// A graph from a `remat-order/1` document, or from any source of an instance.
pub(crate) fn graph_of(source: &Bound<'_, PyAny>) -> PyResult<OrderGraph> {
    if let Ok(document) = source.cast::<PyDict>()
        && let Some(schema) = document.get_item("schema")?
        && schema.extract::<String>().is_ok_and(|s| s == ORDER_SCHEMA)
    {
        let text = json_text(document, "graph", "InvalidInstance")?;
        let graph = read_order_graph_bytes("graph", text.as_bytes());
        return Ok(graph.map_err(|e| Trouble::read("InvalidInstance", &e, true))?);
    }
    let is_text = source.is_instance_of::<PyString>() || source.hasattr("__fspath__")?;
    if is_text && !source.is_instance_of::<PyBytes>() {
        let path: PathBuf = source.extract()?;
        let read = relay::apart(source.py(), || source::order_graph(&path))?;
        return Ok(read.map_err(Trouble::from)?);
    }
    let graph = OrderGraph::of_instance(&instance::of(source)?);
    Ok(graph.map_err(|e| Trouble::new("InvalidInstance", e.to_string()))?)
}

/// A variant by its name.
pub(crate) fn variant_of(name: &str) -> PyResult<Variant> {
    let variant = name.parse::<Variant>();
    Ok(variant.map_err(|e| Trouble::argument("variant", e))?)
}

fn settings_of(options: &SolveOptions, budget_bytes: Option<u64>) -> OrderSettings {
    OrderSettings {
        time_limit: options.time_limit,
        budget_bytes,
        threads: options.threads,
        seed: options.seed,
        ..OrderSettings::default()
    }
}

fn word(status: Status, interrupted: bool) -> &'static str {
    match status {
        Status::Optimal => "optimal",
        Status::Infeasible => "infeasible",
        _ if interrupted => "interrupted",
        _ => "feasible",
    }
}

/// Searches for the order with the least peak.
// The keyword arguments of Python's function.
#[allow(clippy::too_many_arguments)]
#[pyfunction]
#[pyo3(signature = (
    graph, *, variant = "sound+rng", budget = None, **options
))]
pub fn order(
    py: Python<'_>,
    graph: &Bound<'_, PyAny>,
    variant: &str,
    budget: Option<Bound<'_, PyAny>>,
    options: Option<&Bound<'_, PyDict>>,
) -> PyResult<Order> {
    let (graph, variant) = (graph_of(graph)?, variant_of(variant)?);
    let program = source::program_peak(&graph, variant);
    let budget = budget.map(|b| arguments::budget(&b)).transpose()?;
    let budget = budget.map(|b| b.bytes(program.unwrap_or(0)));
    let options = asked::options("order", LIMITS, options)?;
    let settings = settings_of(&options, budget);
    let Ended { value, interrupt } = relay::work(py, None, |relay: &Arc<Relay>| {
        let search = OrderSearch::new(&graph).variant(variant);
        search.settings(settings).listener(&**relay).run()
    })?;
    let outcome = value.map_err(|e| Trouble::argument("graph", e))?;
    Ok(Order {
        plan: outcome.plan(&graph),
        status: word(outcome.status, interrupt.is_some()),
        peak_memory_bytes: outcome.peak_bytes(),
        bound: outcome.bound_bytes,
        gap: outcome.gap(),
        base_memory_bytes: graph.base_bytes(),
        program_peak_bytes: program,
        seconds: outcome.seconds,
    })
}

/// Searches for an order and addresses together.
#[pyfunction]
#[pyo3(signature = (graph, *, variant = "sound+rng", **options))]
pub fn plan_memory(
    py: Python<'_>,
    graph: &Bound<'_, PyAny>,
    variant: &str,
    options: Option<&Bound<'_, PyDict>>,
) -> PyResult<MemoryPlan> {
    let (graph, variant) = (graph_of(graph)?, variant_of(variant)?);
    let options = asked::options("plan_memory", LIMITS, options)?;
    let settings = settings_of(&options, None);
    let Ended { value, interrupt } = relay::work(py, None, |relay: &Arc<Relay>| {
        let search = MemoryPlanSearch::new(&graph).variant(variant);
        search.settings(settings).listener(&**relay).run()
    })?;
    let outcome = value.map_err(|e| Trouble::argument("graph", e))?;
    Ok(MemoryPlan {
        status: word(outcome.status, interrupt.is_some()),
        peak_memory_bytes: outcome.total_bytes,
        bound: outcome.bound_bytes,
        gap: relative_gap(outcome.total_bytes, outcome.bound_bytes),
        base_memory_bytes: graph.base_bytes(),
        height_bytes: outcome.plan.height_bytes,
        load_bytes: outcome.placement.load,
        program_peak_bytes: source::program_peak(&graph, variant),
        seconds: outcome.seconds,
        plan: outcome.plan,
    })
}

/// A buffer in Python's form: begin and end of its life, its size, and its alignment.
#[derive(FromPyObject)]
enum BufferTuple {
    Aligned(i64, i64, u64, u64),
    Plain(i64, i64, u64),
}

/// Lives from a table or from tuples.
pub(crate) fn lives_of(source: &Bound<'_, PyAny>) -> PyResult<Lives> {
    if source.is_instance_of::<PyString>() || source.hasattr("__fspath__")? {
        let path: PathBuf = source.extract()?;
        let read = relay::apart(source.py(), || source::lives(&path))?;
        return Ok(read.map_err(Trouble::from)?);
    }
    let mut given = Vec::new();
    for (k, one) in source.try_iter()?.enumerate() {
        let one = one?;
        let wrong = |_| {
            let right = "(lower, upper, size) or (lower, upper, size, alignment)";
            wrong_type(&format!("lives[{k}]"), &one, right)
        };
        given.push(match one.extract().map_err(wrong)? {
            BufferTuple::Plain(lower, upper, size) => (lower, upper, size, 1),
            BufferTuple::Aligned(lower, upper, size, alignment) => (lower, upper, size, alignment),
        });
    }
    let times = given.iter().flat_map(|(lower, upper, ..)| [*lower, *upper]);
    let origin = times.min().unwrap_or(0).min(0);
    let buffer = |(k, (lower, upper, size, alignment)): (usize, (i64, i64, u64, u64))| Buffer {
        alignment,
        ..Buffer::new(
            k.to_string(),
            lower.abs_diff(origin),
            upper.abs_diff(origin),
            size,
        )
    };
    let buffers = given.into_iter().enumerate().map(buffer).collect();
    Ok(Lives::counted_from(origin, buffers).map_err(|e| Trouble::argument("lives", e))?)
}

/// Searches for addresses of buffers.
#[pyfunction]
#[pyo3(signature = (lives, *, capacity = None, **options))]
pub fn place(
    py: Python<'_>,
    lives: &Bound<'_, PyAny>,
    capacity: Option<Bound<'_, PyAny>>,
    options: Option<&Bound<'_, PyDict>>,
) -> PyResult<Placement> {
    let lives = lives_of(lives)?;
    let capacity = capacity.map(|c| arguments::budget(&c)).transpose()?;
    let capacity = capacity.map(|c| c.bytes(lives.load().bytes));
    let settings = asked::options("place", LIMITS, options)?.settings();
    let Ended { value, interrupt } = relay::work(py, None, |relay: &Arc<Relay>| {
        let settings = PlaceSettings {
            capacity,
            time_limit: settings.time_limit,
            nodes: None,
            threads: settings.threads,
            seed: settings.seed,
            interrupt: Some(relay.stop().clone()),
        };
        place_buffers(&lives, &settings)
    })?;
    let outcome = value.map_err(|e| Trouble::argument("lives", e))?;
    let above = capacity.is_some_and(|capacity| outcome.height > capacity);
    Ok(Placement {
        status: match outcome.status {
            PlaceStatus::Optimal | PlaceStatus::Infeasible if above => "infeasible",
            PlaceStatus::Optimal => "optimal",
            PlaceStatus::Infeasible => "infeasible",
            _ if interrupt.is_some() => "interrupted",
            PlaceStatus::Undecided => "limit",
            PlaceStatus::Fits | PlaceStatus::Feasible => "feasible",
        },
        offsets: Placed::offsets(&outcome.placement).to_vec(),
        height_bytes: outcome.height,
        bound: outcome.bound,
        gap: relative_gap(outcome.height, outcome.bound),
        load_bytes: outcome.load,
        seconds: outcome.seconds,
    })
}
