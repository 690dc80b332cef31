//! Plans and files compared with their replay.

use crate::instance::json_text;
use crate::plan::Plan;
use crate::relay::apart;
use crate::trouble::{Detail, Trouble};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use remat_bb::commands::verify::differences;
use remat_bb::files;
use remat_instances::budget::{Budget, format_bytes};
use remat_instances::document::ReadError;
use remat_instances::plan::PlanDocument;
use remat_instances::replayed::{self, Replayed};
use remat_instances::{Instance, simulate};
use std::path::PathBuf;

/// The plan of a document, replayed; all its numbers are from the replay.
///
/// # Errors
/// As [`replayed()`].
pub fn loaded(source: Instance, given: &Given) -> Result<Plan, Trouble> {
    let found = replayed(&source, given)?;
    // A schedule's replay counts moments of stages; its plan's replay counts statements.
    let replay = simulate::plan(&found.instance, &found.plan)?;
    let plain = found.instance.plain_replay(found.plan.semantics)?;
    Ok(Plan {
        source,
        document: PlanDocument {
            addresses: found.addresses,
            ..PlanDocument::of(&found.instance, found.plan, &replay, found.budget_bytes)
        },
        view: found.instance,
        replay,
        plain,
        schedule: found.schedule,
        found: None,
        arena_bound_bytes: None,
    })
}

#[pymethods]
impl Plan {
    /// Reads a plan or schedule of an instance and replays it; all numbers are from the replay.
    ///
    /// :func:`verify` compares them with the file's numbers.
    ///
    /// Raises:
    ///     InvalidPlan: it cannot be read, or is of another instance.
    ///     PlanRefuted: it cannot be executed.
    ///     FileError: the file cannot be opened.
    #[staticmethod]
    #[pyo3(signature = (instance, source, /))]
    fn load(instance: &Bound<'_, PyAny>, source: &Bound<'_, PyAny>) -> PyResult<Self> {
        let source_instance = crate::instance::of(instance)?;
        let given = Given::of(source)?;
        Ok(apart(instance.py(), || loaded(source_instance, &given))??)
    }
}

/// A plan or schedule in the given form: a name for errors, and the bytes of its document.
pub struct Given {
    /// The file, or a word for an object.
    pub name: String,
    /// The document.
    pub bytes: Vec<u8>,
    /// True if it came as a Python object.
    is_object: bool,
}

impl Given {
    /// Reads a plan, a dictionary or a path.
    ///
    /// # Errors
    /// `InvalidPlan` for any other object, `FileError` for a file that cannot be opened.
    pub fn of(source: &Bound<'_, PyAny>) -> PyResult<Self> {
        if let Ok(plan) = source.cast::<Plan>() {
            return Ok(Given::of_text(&plan.get().text()));
        }
        if source.is_instance_of::<PyDict>() {
            return Ok(Given::of_text(&json_text(source, "plan", "InvalidPlan")?));
        }
        let Ok(path) = source.extract::<PathBuf>() else {
            let kind = source.get_type().name()?;
            let trouble = Trouble::new("InvalidPlan", format!("plan: an object of type {kind}"));
            let remedy = "give a Plan, a path, or a dictionary as in a remat-plan/1 file";
            return Err(trouble.at("plan").remedy(remedy).into());
        };
        let input = files::document(&path).map_err(Trouble::from)?;
        Ok(Given {
            name: input.name,
            bytes: input.bytes,
            is_object: false,
        })
    }

    /// Takes the text of a document that a plan wrote.
    pub fn of_text(text: &str) -> Self {
        Given {
            name: "plan".into(),
            bytes: text.as_bytes().to_vec(),
            is_object: true,
        }
    }

    /// The error of a document that cannot be read.
    pub fn unread(&self, error: &ReadError) -> Trouble {
        Trouble::read("InvalidPlan", error, self.is_object)
    }
}

/// Reads and replays a plan or schedule.
///
/// # Errors
/// `InvalidPlan` for one that cannot be read or is of another instance, `PlanRefuted` for one that
/// cannot be executed.
pub fn replayed(instance: &Instance, given: &Given) -> Result<Replayed, Trouble> {
    let read = replayed::replayed(instance, &given.name, &given.bytes);
    read.map_err(|e| Trouble::replayed(e, given.is_object))
}

/// Findings of a replay that confirms a plan's or schedule's records.
#[pyclass(frozen, get_all, module = "remat_bb")]
#[derive(Debug)]
pub struct Verified {
    /// `plan` or `schedule`.
    kind: &'static str,
    /// The program whose semantics hold.
    formulation: &'static str,
    /// Cost by the replay; of a plan that copies to the host, its makespan.
    objective: u64,
    /// Cost of the step without recomputation.
    base_cost: u64,
    /// Extra cost over `base_cost`, as a fraction.
    overhead: f64,
    /// Peak by the replay.
    peak_memory_bytes: u64,
    /// The operator that runs at the peak.
    peak_at: String,
    /// The budget that it keeps, if it has one.
    budget_bytes: Option<u64>,
    /// Number of computations.
    computations: usize,
    /// True if bounds of `solve` hold for it.
    stage_schedule: bool,
    /// Reason if they do not hold.
    no_stage_schedule_because: Option<String>,
    /// True if bounds with a link cover such plans.
    stage_schedule_with_copies: bool,
    /// Time in which computations wait for copies.
    idle: u64,
    /// Bytes copied to the host.
    to_host_bytes: u64,
    /// Bytes copied from the host.
    from_host_bytes: u64,
    /// Peak of host memory for copies.
    host_peak_bytes: u64,
}

#[pymethods]
impl Verified {
    fn __repr__(&self) -> String {
        format!(
            "Verified({}, objective={}, overhead={:.4}, peak_memory_bytes={})",
            self.kind, self.objective, self.overhead, self.peak_memory_bytes
        )
    }
}

/// Replays a plan or schedule of an instance, and compares it with its records and with a budget.
#[pyfunction]
#[pyo3(signature = (instance, plan, *, budget = None))]
pub fn verify(
    instance: &Bound<'_, PyAny>,
    plan: &Bound<'_, PyAny>,
    budget: Option<&Bound<'_, PyAny>>,
) -> PyResult<Verified> {
    let subject = crate::instance::of(instance)?;
    let given = Given::of(plan)?;
    let budget = budget.map(crate::arguments::budget).transpose()?;
    let judge = || judged(&subject, &given, budget);
    Ok(apart(instance.py(), judge)??)
}

fn judged(instance: &Instance, given: &Given, budget: Option<Budget>) -> Result<Verified, Trouble> {
    let found = replayed(instance, given)?;
    let refuted = |problems: Vec<String>| {
        let message = format!(
            "{} is not what it says: {}",
            given.name,
            problems.join("; ")
        );
        Trouble::new("PlanRefuted", message)
            .at(&given.name)
            .remedy("the replay is the judge: solve again, or give the instance it was made for")
            .detail("differences", Detail::Texts(problems))
    };
    let problems = differences(&found);
    if !problems.is_empty() {
        return Err(refuted(problems));
    }
    let budget_bytes = match budget {
        None => found.budget_bytes,
        Some(budget) => {
            let plain = found.instance.plain_replay(found.plan.semantics)?;
            Some(budget.bytes(plain.peak_bytes))
        }
    };
    let replay = &found.replay;
    if let Some(bytes) = budget_bytes.filter(|bytes| replay.peak_bytes > *bytes) {
        let needed = format_bytes(replay.peak_bytes);
        let words = format!(
            "it needs {needed}, more than the budget of {}",
            format_bytes(bytes)
        );
        let message = format!("{}: {words}", given.name);
        return Err(Trouble::new("PlanRefuted", message)
            .at(&given.name)
            .remedy("give it more memory, or solve again for this budget")
            .detail("differences", Detail::Texts(vec![words])));
    }
    let stages = found.plan.stage_schedule(&found.instance);
    let with_copies = found.plan.stage_schedule_with_copies(&found.instance);
    Ok(Verified {
        kind: found.kind.as_str(),
        formulation: found.plan.semantics.as_str(),
        objective: replay.makespan,
        base_cost: replay.base_cost,
        overhead: replay.overhead_percent() / 100.0,
        peak_memory_bytes: replay.peak_bytes,
        peak_at: remat_report::moment(&found.instance, replay).into(),
        budget_bytes,
        computations: replay.computations,
        stage_schedule: stages.is_ok(),
        no_stage_schedule_because: stages.err().map(|e| e.to_string()),
        stage_schedule_with_copies: with_copies.is_ok(),
        idle: replay.idle(),
        to_host_bytes: replay.transfers.to_host_bytes,
        from_host_bytes: replay.transfers.from_host_bytes,
        host_peak_bytes: replay.transfers.host_peak_bytes,
    })
}
