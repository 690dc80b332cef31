//! The largest batch within a budget and a limit on the cost of recomputation.

use crate::arguments;
use crate::asked::{self, COPIES, LIMITS};
use crate::numbers::{number, whole};
use crate::relay::{self, Ended};
use crate::trouble::Trouble;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use remat_formulations::options::SolveOptions;
use remat_formulations::solve::{Answer, AnySolvable, Largest, MaxBatch as Search, cost_cap};
use remat_instances::zoo::{self, ModelSpec};
use remat_instances::{Budget, Instance};
use remat_search::SolveError;

/// Result of a search over batch sizes. Immutable.
#[pyclass(frozen, get_all, module = "remat_bb")]
pub struct MaxBatch {
    /// The largest batch with a plan; `None` if even a batch of 1 has no plan.
    batch: Option<u64>,
    /// Cost of its plan; with a link its makespan.
    objective: Option<u64>,
    /// Peak of its plan.
    peak_memory_bytes: Option<u64>,
    /// The smallest batch that was proven to be too large.
    proven_too_large: Option<u64>,
    /// True if the next batch is proven to be too large.
    exact: bool,
    /// Batches in the order of their solves, each with `yes`, `no` or `unknown`.
    asked: Vec<(u64, &'static str)>,
}

#[pymethods]
impl MaxBatch {
    fn __repr__(&self) -> String {
        let batch = self.batch.map_or_else(|| "None".into(), |b| b.to_string());
        let exact = if self.exact { "True" } else { "False" };
        format!("MaxBatch(batch={batch}, exact={exact})")
    }
}

impl MaxBatch {
    fn of(found: &Largest) -> Self {
        let word = |answer: &Answer| match answer {
            Answer::Yes { .. } => "yes",
            Answer::No => "no",
            Answer::Unknown => "unknown",
        };
        MaxBatch {
            batch: found.batch.map(|b| b.0),
            objective: found.batch.map(|b| b.1),
            peak_memory_bytes: found.batch.map(|b| b.2),
            proven_too_large: found.proven_too_large,
            exact: found.is_exact(),
            asked: found.asked.iter().map(|(b, a)| (*b, word(a))).collect(),
        }
    }
}

/// The error that ended a search: of Python's code, or ours.
enum BatchEnd {
    Python(PyErr),
    Trouble(Trouble),
}

impl From<SolveError> for BatchEnd {
    fn from(error: SolveError) -> Self {
        BatchEnd::Trouble(error.into())
    }
}

/// Models by batch size.
enum Model {
    Zoo(String, ModelSpec),
    Callable(Py<PyAny>),
}

impl Model {
    fn build(&self, batch: u64) -> Result<Instance, BatchEnd> {
        match self {
            Model::Zoo(text, spec) => {
                let built = spec.clone().with("batch", &batch.to_string());
                let built = built.and_then(|spec| zoo::build(&spec));
                let instance = built.map_err(|e| BatchEnd::Trouble(Trouble::zoo(text, &e)))?;
                Ok(instance.single_implementation().0)
            }
            Model::Callable(call) => Python::attach(|py| {
                let made = call.bind(py).call1((batch,));
                made.and_then(|made| crate::instance::of(&made))
            })
            .map_err(BatchEnd::Python),
        }
    }

    fn solvable(&self, batch: u64, options: &SolveOptions) -> Result<AnySolvable, BatchEnd> {
        let linked = asked::linked(options, self.build(batch)?);
        let found = linked.and_then(|instance| asked::solvable(options, &instance));
        found.map_err(BatchEnd::Trouble)
    }
}

/// Searches for the largest batch within a budget and a cost.
// The keyword arguments of Python's function.
#[allow(clippy::too_many_arguments)]
#[pyfunction]
#[pyo3(signature = (
    model, budget, *, overhead, start, most, **options
))]
pub fn max_batch(
    py: Python<'_>,
    model: &Bound<'_, PyAny>,
    budget: &Bound<'_, PyAny>,
    overhead: &Bound<'_, PyAny>,
    start: &Bound<'_, PyAny>,
    most: &Bound<'_, PyAny>,
    options: Option<&Bound<'_, PyDict>>,
) -> PyResult<MaxBatch> {
    let options = asked::options("max_batch", LIMITS | COPIES, options)?;
    let model = match model.cast::<PyString>() {
        Ok(text) => {
            let text = text.to_string();
            let spec = text.parse().map_err(|e| Trouble::zoo(&text, &e))?;
            Model::Zoo(text, spec)
        }
        Err(_) if model.is_callable() => Model::Callable(model.clone().unbind()),
        Err(_) => {
            let words = "neither a model of the zoo nor a function";
            let remedy = "give \"zoo:MODEL\", or a function from a batch size to an instance";
            return Err(Trouble::argument("model", words).remedy(remedy).into());
        }
    };
    let budget_bytes = match arguments::budget(budget)? {
        Budget::Bytes(bytes) => bytes,
        Budget::Percent(_) => {
            let words = format!("budget: {budget} is a share of what depends on the batch");
            let trouble = Trouble::new("InvalidBudget", words).at("budget");
            return Err(trouble
                .remedy("give an amount, for example \"16GiB\"")
                .into());
        }
    };
    let overhead = number("overhead", overhead)?;
    let (start, most) = (whole("start", start)?, whole("most", most)?);
    if !(0.0..=1000.0).contains(&overhead) {
        let words = format!("{overhead} is not a number of forward passes from 0 to 1000");
        return Err(Trouble::argument("overhead", words).into());
    }
    for (name, batch) in [("start", start), ("most", most)] {
        if batch == 0 {
            return Err(Trouble::argument(name, "a batch has at least one sample").into());
        }
    }
    let Ended { value, interrupt } = relay::work(py, None, |relay| {
        let search = Search::new(budget_bytes)
            .settings(options.settings())
            .listener(&**relay);
        search.largest(start, most, |batch| {
            let solvable = model.solvable(batch, &options)?;
            let cap = cost_cap(solvable.instance(), overhead);
            Ok::<_, BatchEnd>((solvable, cap))
        })
    })?;
    if let Some(interrupt) = interrupt {
        return Err(interrupt);
    }
    match value {
        Ok(found) => Ok(MaxBatch::of(&found)),
        Err(BatchEnd::Python(error)) => Err(error),
        Err(BatchEnd::Trouble(trouble)) => Err(trouble.into()),
    }
}
