//! Pickles of plans.

use crate::instance::Instance;
use crate::judging::{Given, loaded};
use crate::pickled::{Reduced, reduced, status};
use crate::plan::{Found, Plan};
use pyo3::prelude::*;
use remat_instances::schedule::{ScheduleDocument, ScheduleFile, write_schedule};

/// Findings of a search, in the order of their fields.
type FoundState = (
    String,
    u64,
    String,
    f64,
    Option<u64>,
    Option<u64>,
    Option<u64>,
    bool,
    Option<(u64, String)>,
);

/// State of a plan: instance, plan, schedule, findings, bound of the arena.
type PlanState = (
    Instance,
    String,
    Option<String>,
    Option<FoundState>,
    Option<u64>,
);

#[pymethods]
impl Plan {
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py, PlanState>> {
        let schedule = self.schedule.clone().map(|schedule| {
            let document = ScheduleDocument {
                instance: self.view.name().into(),
                budget_bytes: self.document.budget_bytes,
                objective: self.replay.cost,
                schedule,
            };
            write_schedule(&document, &self.view)
        });
        let found = self.found.as_ref().map(|found| {
            (
                found.status.as_str().to_owned(),
                found.bound,
                found.bound_scope.to_string(),
                found.seconds,
                found.nodes,
                found.lp_iterations,
                found.moves,
                found.interrupted,
                found
                    .wider
                    .as_ref()
                    .map(|(bound, scope)| (*bound, scope.to_string())),
            )
        });
        let instance = Instance {
            inner: self.source.clone(),
        };
        let state = (
            instance,
            self.text(),
            schedule,
            found,
            self.arena_bound_bytes,
        );
        reduced(py, "Plan", state)
    }

    /// The plan of a pickle, replayed.
    #[staticmethod]
    fn __restored__(
        instance: &Instance,
        text: &str,
        schedule: Option<&str>,
        found: Option<FoundState>,
        arena_bound_bytes: Option<u64>,
    ) -> PyResult<Self> {
        let mut plan = loaded(instance.inner.clone(), &Given::of_text(text))?;
        if let Some(text) = schedule {
            let given = Given::of_text(text);
            let file = ScheduleFile::parse(&given.name, &given.bytes);
            let read = file.and_then(|file| file.schedule(&plan.view));
            plan.schedule = Some(read.map_err(|e| given.unread(&e))?.schedule);
        }
        if let Some(state) = found {
            let (word, bound, scope, seconds, nodes, lp_iterations, moves, interrupted, wider) =
                state;
            plan.found = Some(Found {
                status: status(&word)?,
                bound,
                bound_scope: scope.into(),
                wider: wider.map(|(bound, scope)| (bound, scope.into())),
                seconds,
                nodes,
                lp_iterations,
                moves,
                interrupted,
            });
        }
        plan.arena_bound_bytes = arena_bound_bytes;
        Ok(plan)
    }
}
