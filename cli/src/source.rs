//! Instances, plans and schedules by path or model name.

use crate::arguments::Formulation;
use crate::failure::Failure;
use remat_formulations::Instance;
use remat_formulations::budget::Budget;
use remat_formulations::document;
use remat_formulations::instance::{Program, ReadOptions, read_instance};
use remat_formulations::plan::{self, Plan, PlanFile, Semantics};
use remat_formulations::schedule::{CheckmateSchedule, Schedule, ScheduleFile};
use remat_formulations::simulate::{self, Replay, ReplayError};
use remat_formulations::zoo::{self, ModelSpec};
use std::path::Path;

/// Reads an instance file, or builds a model (`zoo:...`).
///
/// # Errors
/// [`Failure`] names the file or model and what is wrong with it.
pub fn instance(text: &str, program: Program) -> Result<Instance, Failure> {
    if text.starts_with("zoo:") {
        let fail = |problem| Failure::Zoo {
            source_text: text.into(),
            problem: Box::new(problem),
        };
        let spec: ModelSpec = text.parse().map_err(fail)?;
        return zoo::build(&spec).map_err(fail);
    }
    let path = Path::new(text);
    exists(path, text.parse::<ModelSpec>().is_ok())?;
    Ok(read_instance(path, &ReadOptions { program })?)
}

/// The instance as Checkmate's program sees it: one implementation of each node.
///
/// # Errors
/// As [`instance`].
pub fn checkmate_view(text: &str) -> Result<Instance, Failure> {
    Ok(instance(text, Program::Checkmate)?
        .single_implementation()
        .0)
}

/// An instance to solve, and what the user should know about how it is read.
pub struct Problem {
    /// The instance.
    pub instance: Instance,
    /// The program that is solved.
    pub formulation: Formulation,
    /// What was left out.
    pub note: Option<String>,
}

/// The instance for a formulation, or for the one that suits it.
///
/// # Errors
/// As [`instance`], and [`Failure::Usage`] for a formulation that cannot be solved yet.
pub fn problem(text: &str, formulation: Option<Formulation>) -> Result<Problem, Failure> {
    if formulation == Some(Formulation::Monet) {
        return Err(Failure::Usage {
            problem: "the formulation monet is not available yet".into(),
            remedy:
                "use --formulation checkmate, which takes the first implementation of every node"
                    .into(),
        });
    }
    let choices = formulation.is_none() && instance(text, Program::Monet)?.has_choices();
    Ok(Problem {
        instance: checkmate_view(text)?,
        formulation: Formulation::Checkmate,
        note: choices.then(|| {
            "the instance offers implementations, masks or in-place operators; the formulation that uses them \
             (monet) is not available yet, so checkmate is solved with the first implementation of every node"
                .into()
        }),
    })
}

/// Peak memory without recomputation.
///
/// # Errors
/// [`Failure::Replay`], which no valid instance leads to.
pub fn plain_replay(instance: &Instance) -> Result<Replay, Failure> {
    let plain = CheckmateSchedule::checkpoint_all(instance);
    simulate::checkmate(instance, &plain).map_err(|e| replay_failure(instance.name(), e))
}

/// A failed replay of a file.
pub fn replay_failure(file: &str, problem: ReplayError) -> Failure {
    Failure::Replay {
        file: file.into(),
        problem: Box::new(problem),
    }
}

/// A budget in bytes; percentages are of `plain_peak_bytes`, the peak without recomputation.
///
/// # Errors
/// [`Failure::Budget`].
pub fn budget(text: &str, plain_peak_bytes: u64) -> Result<u64, Failure> {
    let budget: Budget = text.parse().map_err(Failure::Budget)?;
    Ok(budget.bytes(plain_peak_bytes))
}

/// What a plan or schedule file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// `remat-plan/1`
    Plan,
    /// `remat-schedule/1`
    Schedule,
}

impl FileKind {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            FileKind::Plan => "plan",
            FileKind::Schedule => "schedule",
        }
    }
}

/// A plan or schedule from a file, replayed.
pub struct Replayed {
    /// What the file holds.
    pub kind: FileKind,
    /// The instance, as the file's program sees it.
    pub instance: Instance,
    /// The plan, or the one made from the schedule.
    pub plan: Plan,
    /// The replay of what the file holds.
    pub replay: Replay,
    /// Recorded cost.
    pub objective: u64,
    /// Recorded peak in bytes; schedules record none.
    pub peak_bytes: Option<u64>,
    /// Recorded budget in bytes.
    pub budget_bytes: Option<u64>,
}

/// Reads and replays a plan or schedule; which of the two is seen from the file's content.
///
/// # Errors
/// [`Failure`] names the file and what is wrong with it.
pub fn replayed(instance_text: &str, path: &Path) -> Result<Replayed, Failure> {
    exists(path, false)?;
    if document::schema(path)?.is_some_and(|schema| schema.starts_with("remat-schedule/")) {
        schedule(instance_text, path)
    } else {
        // A file that is neither is refused as a plan, with words that name the schema.
        plan_file(instance_text, path)
    }
}

fn view(text: &str, program: Program) -> Result<Instance, Failure> {
    match program {
        Program::Checkmate => checkmate_view(text),
        Program::Monet => instance(text, Program::Monet),
    }
}

fn plan_file(instance_text: &str, path: &Path) -> Result<Replayed, Failure> {
    let file = PlanFile::open(path)?;
    let instance = view(
        instance_text,
        match file.semantics() {
            Semantics::Checkmate => Program::Checkmate,
            Semantics::Monet => Program::Monet,
        },
    )?;
    let plan::PlanDocument {
        plan,
        budget_bytes,
        objective,
        peak_bytes,
    } = file.plan(&instance)?;
    let replay = simulate::plan(&instance, &plan)
        .map_err(|e| replay_failure(&path.display().to_string(), e))?;
    Ok(Replayed {
        kind: FileKind::Plan,
        instance,
        plan,
        replay,
        objective,
        peak_bytes: Some(peak_bytes),
        budget_bytes,
    })
}

fn schedule(instance_text: &str, path: &Path) -> Result<Replayed, Failure> {
    let file = ScheduleFile::open(path)?;
    let instance = view(instance_text, file.program())?;
    let document = file.schedule(&instance)?;
    let fail = |e| replay_failure(&path.display().to_string(), e);
    let (plan, replay) = match &document.schedule {
        Schedule::Checkmate(s) => (
            Plan::from_checkmate(&instance, s).map_err(fail)?,
            simulate::checkmate(&instance, s).map_err(fail)?,
        ),
        Schedule::Monet(s) => (
            Plan::from_monet(&instance, s).map_err(fail)?,
            simulate::monet(&instance, s).map_err(fail)?,
        ),
    };
    Ok(Replayed {
        kind: FileKind::Schedule,
        instance,
        plan,
        replay,
        objective: document.objective,
        peak_bytes: None,
        budget_bytes: document.budget_bytes,
    })
}

fn exists(path: &Path, is_model: bool) -> Result<(), Failure> {
    if path.exists() {
        return Ok(());
    }
    let shown = path.display().to_string();
    Err(Failure::Open {
        problem: "there is no such file".into(),
        remedy: is_model.then(|| format!("did you mean the model zoo:{shown}?")),
        file: shown,
    })
}
