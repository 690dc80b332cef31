//! Pickles of native objects: the name of the class, and a state that its `__restored__` takes.

use crate::instance::Instance;
use crate::judging::{Given, loaded};
use crate::plan::{Found, Plan};
use crate::trouble::Trouble;
use pyo3::prelude::*;
use remat_instances::schedule::{ScheduleDocument, ScheduleFile, write_schedule};
use remat_search::Status;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The value of `__reduce__`: a function of Python's, and its arguments.
pub type Reduced<'py, S> = (Bound<'py, PyAny>, (&'static str, S));

/// The value of `__reduce__` of a class with a state.
///
/// # Errors
/// The package is not whole.
pub fn reduced<'py, S>(
    py: Python<'py>,
    class: &'static str,
    state: S,
) -> PyResult<Reduced<'py, S>> {
    let restore = py.import("remat_bb._pickled")?.getattr("restore")?;
    Ok((restore, (class, state)))
}

/// A value as bytes.
///
/// # Errors
/// `InvalidArgument` for a value that has no form.
pub fn packed<T: Serialize>(value: &T) -> PyResult<Vec<u8>> {
    postcard::to_stdvec(value).map_err(|e| broken(&e))
}

/// The value of bytes.
///
/// # Errors
/// `InvalidArgument` for other bytes than [`packed`] makes.
pub fn unpacked<T: DeserializeOwned>(bytes: &[u8]) -> PyResult<T> {
    postcard::from_bytes(bytes).map_err(|e| broken(&e))
}

fn broken(problem: &postcard::Error) -> PyErr {
    let words = format!("the pickle is of another version, or damaged: {problem}");
    Trouble::new("InvalidArgument", words).into()
}

/// The status of a word.
///
/// # Errors
/// `InvalidArgument` for a word that is none.
pub fn status(word: &str) -> PyResult<Status> {
    let all = [
        Status::Optimal,
        Status::Feasible,
        Status::Infeasible,
        Status::Limit,
        Status::Interrupted,
    ];
    let found = all.into_iter().find(|status| status.as_str() == word);
    found.ok_or_else(|| Trouble::argument("status", format!("{word:?} is no status")).into())
}

/// `__copy__` and `__deepcopy__` of an immutable class: the object itself.
#[macro_export]
macro_rules! copied_as_itself {
    ($class:ident) => {
        #[pymethods]
        impl $class {
            fn __copy__(this: Py<Self>) -> Py<Self> {
                this
            }

            fn __deepcopy__(this: Py<Self>, _memo: &Bound<'_, PyAny>) -> Py<Self> {
                this
            }
        }
    };
}

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
            let (word, bound, scope, seconds, nodes, lp_iterations, moves, interrupted) = state;
            plan.found = Some(Found {
                status: status(&word)?,
                bound,
                bound_scope: scope.into(),
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
