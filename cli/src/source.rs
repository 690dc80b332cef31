//! Instances, plans and schedules by path or model name.

use crate::arguments::Formulation;
use crate::failure::Failure;
use remat_formulations::baselines::Baseline;
use remat_formulations::solve::{self, Outcome, Progress, Settings, SolveError};
use remat_formulations::{bound, monet};
use remat_instances::budget::Budget;
use remat_instances::plan::{self, Plan, PlanFile, Semantics};
use remat_instances::schedule::{CheckmateSchedule, MonetSchedule, Schedule, ScheduleFile};
use remat_instances::simulate::{self, Replay, ReplayError};
use remat_instances::zoo::{self, ModelSpec};
use remat_instances::{Instance, NodeId, document};
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// Reads an instance file, or builds a model (`zoo:...`).
///
/// # Errors
/// [`Failure`] names the file or model and what is wrong with it.
pub fn instance(text: &str) -> Result<Instance, Failure> {
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
    Ok(remat_instances::read(path)?)
}

/// The instance as Checkmate's program sees it: one implementation of each node.
///
/// # Errors
/// As [`instance`].
pub fn checkmate_view(text: &str) -> Result<Instance, Failure> {
    Ok(instance(text)?.single_implementation_view())
}

/// An instance to solve, and what the user should know about how it is read.
pub struct Problem {
    /// The instance, as the program sees it.
    pub instance: Instance,
    /// The program that is solved.
    pub formulation: Formulation,
    /// What was left out.
    pub note: Option<String>,
    /// The view with one implementation of each node, and its nodes' ids in `instance`, where that differs.
    view: Option<(Instance, Vec<NodeId>)>,
}

/// The instance for a formulation, or for the one that suits it: MONeT's program where there are choices that only it
/// knows, and a loss.
///
/// # Errors
/// As [`instance`], and [`Failure::Usage`] for an instance to which the formulation does not apply.
pub fn problem(text: &str, formulation: Option<Formulation>) -> Result<Problem, Failure> {
    let whole = instance(text)?;
    let view = || whole.single_implementation_view();
    if formulation == Some(Formulation::Checkmate) {
        return Ok(Problem::checkmate(view(), None));
    }
    let (wanted, choices) = (formulation.is_some(), whole.has_choices());
    if whole.loss().is_some() && (wanted || choices) {
        return Ok(Problem::monet(whole));
    }
    if wanted {
        return Err(Failure::Usage {
            problem: format!(
                "the formulation monet does not apply to {}: it has no loss node between a forward and a backward pass",
                whole.name()
            ),
            remedy: "mark the loss, or use --formulation checkmate".into(),
        });
    }
    let note = choices.then(|| {
        "the instance offers implementations, masks or in-place operators, but has no loss, which the formulation that uses \
         them (monet) needs: checkmate is solved with the first implementation of every node"
            .into()
    });
    Ok(Problem::checkmate(view(), note))
}

impl Problem {
    /// A measured training graph, for a formulation or for the one that suits it, as [`problem`] chooses.
    #[cfg(feature = "torch")]
    pub fn measured(instance: Instance, formulation: Option<Formulation>) -> Self {
        let suits = match instance.has_choices() {
            true => Formulation::Monet,
            false => Formulation::Checkmate,
        };
        match formulation.unwrap_or(suits) {
            Formulation::Checkmate => {
                Problem::checkmate(instance.single_implementation_view(), None)
            }
            Formulation::Monet => Problem::monet(instance),
        }
    }

    fn checkmate(instance: Instance, note: Option<String>) -> Self {
        Problem {
            instance,
            formulation: Formulation::Checkmate,
            note,
            view: None,
        }
    }

    fn monet(instance: Instance) -> Self {
        let view = instance.single_implementation();
        Problem {
            instance,
            formulation: Formulation::Monet,
            note: None,
            view: Some(view),
        }
    }

    /// Whose memory and cost semantics hold.
    pub fn semantics(&self) -> Semantics {
        match self.formulation {
            Formulation::Checkmate => Semantics::Checkmate,
            Formulation::Monet => Semantics::Monet,
        }
    }

    /// Every node once, by its first implementation, with everything kept that is read later.
    ///
    /// # Errors
    /// [`Failure::Replay`], which no valid instance leads to.
    pub fn plain_replay(&self) -> Result<Replay, Failure> {
        plain_replay(&self.instance, self.semantics())
    }

    /// Solves for the budget of the settings.
    ///
    /// # Errors
    /// [`SolveError`].
    pub fn solve(
        &self,
        settings: &Settings,
        interrupt: &AtomicBool,
        progress: &(dyn Fn(&Progress) + Sync),
    ) -> Result<Outcome<Schedule>, SolveError> {
        self.solve_from(settings, None, interrupt, progress)
    }

    /// Solves for the budget of the settings, from a schedule.
    ///
    /// # Errors
    /// [`SolveError`].
    pub fn solve_from(
        &self,
        settings: &Settings,
        start: Option<&Schedule>,
        interrupt: &AtomicBool,
        progress: &(dyn Fn(&Progress) + Sync),
    ) -> Result<Outcome<Schedule>, SolveError> {
        let mut settings = settings.clone();
        match self.formulation {
            Formulation::Checkmate => {
                if let Some(Schedule::Checkmate(start)) = start {
                    settings.starts.push(start.clone());
                }
                solve::solve(&self.instance, &settings, interrupt, progress)
                    .map(|outcome| outcome.map(Schedule::Checkmate))
            }
            Formulation::Monet => {
                let starts = match start {
                    Some(Schedule::Monet(start)) => std::slice::from_ref(start),
                    _ => &[],
                };
                monet::solve(&self.instance, &settings, starts, interrupt, progress)
                    .map(|outcome| outcome.map(Schedule::Monet))
            }
        }
    }

    /// The schedule of a baseline, replayed, as [`Problem::baseline_schedule`] has it.
    ///
    /// # Errors
    /// Why it has none, in words.
    pub fn baseline(&self, baseline: &Baseline, budget_bytes: u64) -> Result<Replay, String> {
        match self.baseline_schedule(baseline, budget_bytes)? {
            Schedule::Checkmate(s) => simulate::checkmate(&self.instance, &s),
            Schedule::Monet(s) => simulate::monet(&self.instance, &s),
        }
        .map_err(|e| e.to_string())
    }

    /// The schedule of a baseline. For MONeT's program the baseline sees the first implementation of each node; what it
    /// stores is completed with the best implementations that fit.
    ///
    /// # Errors
    /// Why it has none, in words.
    pub fn baseline_schedule(
        &self,
        baseline: &Baseline,
        budget_bytes: u64,
    ) -> Result<Schedule, String> {
        let graph = self.view.as_ref().map_or(&self.instance, |(view, _)| view);
        let schedule = baseline
            .run(graph, budget_bytes)
            .map_err(|e| e.to_string())?;
        let Some((_, ids)) = &self.view else {
            return Ok(Schedule::Checkmate(schedule));
        };
        let stored = MonetSchedule::stored_by_checkmate(&self.instance, ids, &schedule);
        let schedule = stored.and_then(|s| monet::complete(&self.instance, budget_bytes, &s));
        let schedule = schedule.ok_or("the instance has no loss")?;
        Ok(Schedule::Monet(schedule))
    }

    /// Why nothing fits the budget, where that is seen at a glance.
    pub fn too_small(&self, budget_bytes: u64) -> Option<String> {
        match self.formulation {
            Formulation::Checkmate => bound::knapsack_bound(&self.instance, budget_bytes)
                .err()
                .map(|e| e.to_string()),
            Formulation::Monet => {
                let graph = monet::anneal::Graph::new(&self.instance, budget_bytes)?;
                let bound = monet::bound::event_bound(&self.instance, &graph);
                bound.err().map(|e| e.to_string())
            }
        }
    }
}

/// Peak memory and cost without recomputation: every node once, by its first implementation.
///
/// # Errors
/// [`Failure::Replay`], which no valid instance leads to (under MONeT's semantics, none with a loss).
pub fn plain_replay(instance: &Instance, semantics: Semantics) -> Result<Replay, Failure> {
    let replay = match semantics {
        Semantics::Checkmate => {
            simulate::checkmate(instance, &CheckmateSchedule::checkpoint_all(instance))
        }
        Semantics::Monet => MonetSchedule::checkpoint_all(instance)
            .ok_or(ReplayError::NoLoss)
            .and_then(|plain| simulate::monet(instance, &plain)),
    };
    replay.map_err(|e| replay_failure(instance.name(), e))
}

/// The plan of a schedule.
///
/// # Errors
/// The [`ReplayError`] of a schedule that cannot be executed.
pub fn plan_of(instance: &Instance, schedule: &Schedule) -> Result<Plan, ReplayError> {
    match schedule {
        Schedule::Checkmate(s) => Plan::from_checkmate(instance, s),
        Schedule::Monet(s) => Plan::from_monet(instance, s),
    }
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

/// The instance as a program with these semantics sees it.
///
/// # Errors
/// As [`instance`].
pub fn view(text: &str, semantics: Semantics) -> Result<Instance, Failure> {
    match semantics {
        Semantics::Checkmate => checkmate_view(text),
        Semantics::Monet => instance(text),
    }
}

fn plan_file(instance_text: &str, path: &Path) -> Result<Replayed, Failure> {
    let file = PlanFile::open(path)?;
    let instance = view(instance_text, file.semantics())?;
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
    let instance = view(instance_text, file.semantics())?;
    if file.instance() != instance.name() {
        return Err(Failure::OtherInstance {
            file: path.display().to_string(),
            made_for: file.instance().into(),
            found: instance.name().into(),
        });
    }
    let document = file.schedule(&instance)?;
    let fail = |e| replay_failure(&path.display().to_string(), e);
    let plan = plan_of(&instance, &document.schedule).map_err(fail)?;
    let replay = match &document.schedule {
        Schedule::Checkmate(s) => simulate::checkmate(&instance, s),
        Schedule::Monet(s) => simulate::monet(&instance, s),
    };
    let replay = replay.map_err(fail)?;
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
