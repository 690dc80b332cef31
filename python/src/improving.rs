//! Steps of plans in a better order.

use crate::arguments;
use crate::asked::{self, LIMITS};
use crate::judging::{Given, replayed};
use crate::plan::Plan;
use crate::relay::{self, Ended, Relay};
use crate::trouble::Trouble;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use remat_formulations::improve::{Improve, ImproveError};
use std::sync::Arc;

/// Reorders the steps of a plan, and removes recomputations that the new order has room for.
#[pyfunction]
#[pyo3(signature = (instance, plan, *, budget = None, **options))]
pub fn improve(
    py: Python<'_>,
    instance: &Bound<'_, PyAny>,
    plan: &Bound<'_, PyAny>,
    budget: Option<&Bound<'_, PyAny>>,
    options: Option<&Bound<'_, PyDict>>,
) -> PyResult<Plan> {
    let source = crate::instance::of(instance)?;
    let given = Given::of(plan)?;
    let budget = budget.map(arguments::budget).transpose()?;
    let settings = asked::options("improve", LIMITS, options)?.settings();
    let Ended { value, .. } = relay::work(py, None, |relay: &Arc<Relay>| {
        let found = replayed(&source, &given)?;
        let plain = found.instance.plain_replay(found.plan.semantics)?;
        let budget = match budget {
            Some(budget) => Some(budget.bytes(plain.peak_bytes)),
            None => found.budget_bytes,
        };
        let mut improve = Improve::new(&found.instance, &found.plan)
            .threads(settings.threads)
            .seed(settings.seed)
            .listener(&**relay);
        if let Some(bytes) = budget {
            improve = improve.budget(bytes);
        }
        if let Some(limit) = settings.time_limit {
            improve = improve.time_limit(limit);
        }
        let better = improve
            .run()
            .map_err(|ImproveError::Replay(e)| Trouble::from(e))?;
        Ok::<Plan, Trouble>(Plan {
            source: source.clone(),
            document: better.document(&found.instance),
            view: found.instance,
            replay: better.replay,
            plain,
            schedule: None,
            found: None,
            arena_bound_bytes: None,
        })
    })?;
    Ok(value?)
}
