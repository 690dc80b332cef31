//! Plans as pages to look at in a browser.

use crate::arguments;
use crate::instance::save;
use crate::plan::Plan;
use crate::relay::{self, Ended, Relay, apart};
use crate::trouble::Trouble;
use pyo3::prelude::*;
use remat_formulations::solve::{PRICE_LIMIT, byte_prices_of};
use remat_instances::simulate::ReplayError;
use remat_report::html::{self, Document, Findings, PlanBound, PlanSource};
use remat_search::Listener;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

#[pymethods]
impl Plan {
    /// The plan as one HTML page that needs no network.
    #[pyo3(signature = (path = None, *, others = Vec::new(), time_limit = None))]
    fn to_html(
        &self,
        py: Python<'_>,
        path: Option<PathBuf>,
        others: Vec<Py<Plan>>,
        time_limit: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Option<String>> {
        let others = others.iter().map(Py::get);
        let plans: Vec<&Plan> = std::iter::once(self).chain(others).collect();
        let own = self.source.digest();
        if plans.iter().any(|plan| plan.source.digest() != own) {
            let problem = "all plans of a page are of one instance";
            return Err(Trouble::argument("others", problem).into());
        }
        let limit = time_limit.map(|given| arguments::duration("time_limit", given));
        let limit = limit.transpose()?.unwrap_or(PRICE_LIMIT);
        let Ended { value, .. } = relay::work(py, None, |relay: &Arc<Relay>| {
            page(&plans, limit, &**relay).map_err(Trouble::from)
        })?;
        let text = value?;
        match path {
            None => Ok(Some(text)),
            Some(path) => Ok(apart(py, || save(&path, &text))?.map(|()| None)?),
        }
    }
}

fn page(plans: &[&Plan], limit: Duration, listener: &dyn Listener) -> Result<String, ReplayError> {
    let [first, ..] = plans else {
        return Ok(String::new());
    };
    let name = first.source.name();
    let mut document = Document::new(name, first.source.cost_unit());
    let mut findings = Findings::default();
    let budget = |plan: &Plan| plan.document.budget_bytes.unwrap_or(plan.replay.peak_bytes);
    let priced = plans
        .iter()
        .map(|plan| (&plan.view, &plan.document.plan, budget(plan)));
    let priced: Vec<_> = priced.collect();
    let prices = byte_prices_of(&priced, limit, listener);
    for (k, (plan, priced)) in plans.iter().zip(&prices).enumerate() {
        let budget_bytes = plan.document.budget_bytes;
        let found = plan.found.as_ref();
        let found = found.map(|found| (found.bound, found.bound_scope.to_string()));
        let found = found.or(priced.bound.map(|(cost, scope)| (cost, scope.into())));
        let bound = found.map(|(cost, scope)| PlanBound { cost, scope });
        if let (Some(bytes), Some(bound)) = (budget_bytes, &bound) {
            findings.add_bound(bytes, bound.cost, &bound.scope);
        }
        let source = PlanSource {
            name: match plans.len() {
                1 => "plan".into(),
                _ => format!("plan {}", k + 1),
            },
            instance: &plan.view,
            plan: &plan.document.plan,
            replay: &plan.replay,
            addresses: plan.document.addresses.as_ref(),
            budget_bytes,
            bound,
            prices: &priced.moments,
            is_plain: false,
        };
        document.add(name, &source)?;
    }
    document.add_plain(name, &first.view, first.document.plan.semantics, None)?;
    Ok(html::page(&document.with_findings(findings)))
}
