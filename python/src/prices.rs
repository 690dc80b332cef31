//! Prices of memory at the moments of a plan.

use crate::arguments;
use crate::plan::Plan;
use crate::relay::{self, Ended, Relay};
use crate::trouble::Trouble;
use pyo3::prelude::*;
use remat_formulations::solve::{PRICE_LIMIT, byte_prices};
use std::sync::Arc;

#[pymethods]
impl Plan {
    /// Prices of memory by computation.
    #[pyo3(signature = (*, budget = None, time_limit = None))]
    fn prices(
        &self,
        py: Python<'_>,
        budget: Option<&Bound<'_, PyAny>>,
        time_limit: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Vec<(usize, f64)>> {
        let budget = match (budget, self.document.budget_bytes) {
            (Some(asked), _) => arguments::budget(asked)?.bytes(self.plain.peak_bytes),
            (None, Some(recorded)) => recorded,
            (None, None) => self.replay.peak_bytes,
        };
        let limit = time_limit
            .map(|given| arguments::duration("time_limit", given))
            .transpose()?
            .unwrap_or(PRICE_LIMIT);
        let Ended { value, .. } = relay::work(py, None, |relay: &Arc<Relay>| {
            let plan = &self.document.plan;
            byte_prices(&self.view, plan, budget, limit, &**relay).map_err(Trouble::from)
        })?;
        let prices = value?.moments.into_iter();
        Ok(prices.map(|price| (price.run, price.per_byte)).collect())
    }
}
