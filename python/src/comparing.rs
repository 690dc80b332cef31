//! The known strategies at a budget.

use crate::arguments;
use crate::asked::{self, COPIES, PROGRAM};
use crate::plan::Plan;
use crate::relay::{self, Ended, Relay};
use crate::trouble::Trouble;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use remat_formulations::Baselines;
use remat_formulations::options::OptionGroup;
use remat_search::Solvable;
use std::sync::Arc;

/// A known strategy at a budget. Immutable.
#[pyclass(frozen, get_all, module = "remat_bb")]
pub struct Baseline {
    /// The strategy.
    name: &'static str,
    /// True if its plan fits the budget.
    fits: bool,
    /// Its plan, which may need more than the budget; `None` for a strategy without a plan.
    plan: Option<Py<Plan>>,
    /// Cost of the plan; with a link its makespan.
    objective: Option<u64>,
    /// Extra cost of the plan over the step without recomputation, as a fraction.
    overhead: Option<f64>,
    /// Peak of the plan.
    peak_memory_bytes: Option<u64>,
    /// Reason why it has no plan.
    because: Option<String>,
}

#[pymethods]
impl Baseline {
    fn __repr__(&self) -> String {
        let words = match (self.overhead, &self.because) {
            (Some(share), _) => {
                let fits = if self.fits { "fits" } else { "does not fit" };
                format!("{fits}, {:.2}% over no recomputation", share * 100.0)
            }
            (None, because) => because.clone().unwrap_or_default(),
        };
        format!("Baseline({:?}: {words})", self.name)
    }
}

/// Runs all known strategies at a budget. Strategies that fit come first, by cost; the others
/// follow, by peak.
// The keyword arguments of Python's function.
#[allow(clippy::too_many_arguments)]
#[pyfunction]
#[pyo3(signature = (
    instance, budget, **options
))]
pub fn baselines(
    py: Python<'_>,
    instance: &Bound<'_, PyAny>,
    budget: &Bound<'_, PyAny>,
    options: Option<&Bound<'_, PyDict>>,
) -> PyResult<Vec<Baseline>> {
    let source = crate::instance::of(instance)?;
    let groups = PROGRAM | COPIES | OptionGroup::Workers.bit();
    let options = asked::options("baselines", groups, options)?;
    let source = asked::linked(&options, source)?;
    let budget = arguments::budget(budget)?;
    let Ended { value, interrupt } =
        relay::work(py, None, |relay: &Arc<Relay>| -> Result<_, Trouble> {
            let solvable = asked::solvable(&options, &source)?;
            let plain = solvable.plain()?;
            let bytes = budget.bytes(plain.peak_bytes);
            let view = solvable.instance().clone();
            let known = Baselines::of(solvable).until_set(relay.stop().clone());
            let mut compared = options.pool()?.install(|| known.run(bytes));
            compared.sort_by_key(|one| one.rank(bytes));
            let of = |one: remat_formulations::solve::Compared| {
                let fits = one.fits(bytes) == Some(true);
                let plan = one.result.map(|(plan, _)| plan);
                let plan = plan.map(|p| Plan::of(&source, &view, p, bytes, &plain, None));
                match plan {
                    Ok(plan) => Ok((one.name, fits, Ok(plan?))),
                    Err(because) => Ok((one.name, false, Err(because))),
                }
            };
            compared
                .into_iter()
                .map(of)
                .collect::<Result<Vec<_>, Trouble>>()
        })?;
    if let Some(interrupt) = interrupt {
        return Err(interrupt);
    }
    let all = value?.into_iter().map(|(name, fits, plan)| {
        let known = plan.as_ref().ok().map(|plan| &plan.replay);
        Ok(Baseline {
            name,
            fits,
            objective: known.map(|replay| replay.makespan),
            overhead: known.map(|replay| replay.overhead_percent() / 100.0),
            peak_memory_bytes: known.map(|replay| replay.peak_bytes),
            because: plan.as_ref().err().cloned(),
            plan: plan.ok().map(|plan| Py::new(py, plan)).transpose()?,
        })
    });
    all.collect()
}
