//! `remat-bb train-check`

use super::session;
use crate::arguments::TrainCheckArguments;
use crate::failure::{Exit, Failure};
use crate::report::{self, Table};
use crate::{files, source};
use remat_formulations::Instance;
use remat_formulations::baselines;
use remat_formulations::budget::format_bytes;
use remat_formulations::plan::{Plan, Semantics};
use remat_formulations::schedule::CheckmateSchedule;
use remat_formulations::solve::{self, Settings, Status};
use remat_gpu_exec::{Comparison, ProfileSettings, Training, compare, gradients};
use serde::Serialize;
use std::sync::atomic::AtomicBool;

/// Profiles, solves, runs every plan, and compares.
///
/// # Errors
/// [`Failure`] for bad input, a device that is not there, and plans whose gradients are not those of plain training.
pub fn run(arguments: &TrainCheckArguments) -> Result<Exit, Failure> {
    let program = session::model(&arguments.model, arguments.batch)?;
    let mut training = session::training(program, &arguments.on)?;
    let settings = ProfileSettings {
        repeats: usize::from(arguments.repeat),
        ..ProfileSettings::default()
    };
    let instance = remat_gpu_exec::profile(&mut training, &settings)?.instance;
    let plain_peak = source::plain_replay(&instance, Semantics::Checkmate)?.peak_bytes;
    let budget_bytes = source::budget(&arguments.budget, plain_peak)?;
    let settings = Settings {
        time_limit: Some(arguments.time_limit),
        ..Settings::new(budget_bytes)
    };
    let outcome = solve::solve(&instance, &settings, &AtomicBool::new(false), &|_| {})
        .map_err(|e| Failure::Solve(Box::new(e)))?;
    let mut schedules = Vec::new();
    if let Some(schedule) = outcome.schedule {
        schedules.push(("remat-bb", schedule));
    }
    for baseline in baselines::all() {
        if let Ok(schedule) = baseline.run(&instance, budget_bytes) {
            schedules.push((baseline.name, schedule));
        }
    }
    let reference = Reference::new(&mut training, &instance, arguments.repeat)?;
    let mut rows = vec![reference.row];
    for (name, schedule) in schedules {
        let row = row(&mut training, &instance, name, &schedule, arguments.repeat)?;
        // A heuristic that does not come down to the budget is not the point.
        if let Some((mut row, found)) = row.filter(|(row, _)| row.predicted_bytes <= budget_bytes) {
            row.gradients = Some(Gradients::of(compare(&found, &reference.gradients)?));
            rows.push(row);
        }
    }
    let exit = match outcome.status {
        Status::Infeasible => Exit::Infeasible,
        _ if rows.iter().any(|row| row.strategy == "remat-bb") => Exit::Done,
        _ => Exit::NoPlan,
    };
    let device = training.device().name();
    files::print(&if arguments.json {
        report::json(&Json {
            instance: instance.name(),
            device,
            status: outcome.status.as_str(),
            budget_bytes,
            plans: &rows,
        })
    } else {
        table(&instance, device, budget_bytes, outcome.status, &rows)
    })?;
    let wrong = |row: &&Row| row.gradients.as_ref().is_some_and(|g| !g.same());
    let wrong: Vec<String> = rows
        .iter()
        .filter(wrong)
        .map(|row| format!("{} has other gradients than plain training", row.strategy))
        .collect();
    if wrong.is_empty() {
        return Ok(exit);
    }
    Err(Failure::Mismatch {
        file: instance.name().into(),
        differences: wrong,
    })
}

#[derive(Serialize)]
struct Gradients {
    equal: bool,
    largest_relative_difference: f64,
}

impl Gradients {
    fn of(found: Comparison) -> Self {
        Gradients {
            equal: found.equal,
            largest_relative_difference: found.largest,
        }
    }

    /// Whether another order of sums explains the difference.
    fn same(&self) -> bool {
        self.equal || self.largest_relative_difference < 1e-4
    }
}

#[derive(Serialize)]
struct Row {
    strategy: &'static str,
    predicted_seconds: Option<f64>,
    measured_seconds: f64,
    predicted_bytes: u64,
    measured_bytes: u64,
    gradients: Option<Gradients>,
}

#[derive(Serialize)]
struct Json<'a> {
    instance: &'a str,
    device: &'a str,
    status: &'a str,
    budget_bytes: u64,
    plans: &'a [Row],
}

/// Plain training: its row, and its gradients.
struct Reference {
    row: Row,
    gradients: Vec<remat_gpu_exec::Tensor>,
}

impl Reference {
    fn new(training: &mut Training, instance: &Instance, repeat: u16) -> Result<Self, Failure> {
        let schedule = CheckmateSchedule::checkpoint_all(instance);
        let found = row(training, instance, "no recomputation", &schedule, repeat)?;
        let (row, gradients) = found.ok_or_else(|| Failure::Usage {
            problem: "plain training cannot be planned".into(),
            remedy: "report this model".into(),
        })?;
        Ok(Reference { row, gradients })
    }
}

/// Runs a schedule; `None` where it is none.
fn row(
    training: &mut Training,
    instance: &Instance,
    strategy: &'static str,
    schedule: &CheckmateSchedule,
    repeat: u16,
) -> Result<Option<(Row, Vec<remat_gpu_exec::Tensor>)>, Failure> {
    let plan = Plan::from_checkmate(instance, schedule).and_then(|plan| plan.optimised(instance));
    let Ok(plan) = plan else {
        return Ok(None);
    };
    let (predicted_seconds, predicted_bytes) = session::predicted(instance, &plan)?;
    let measured = session::measured(training, &plan, repeat)?;
    let row = Row {
        strategy,
        predicted_seconds,
        measured_seconds: measured.run.seconds,
        predicted_bytes,
        measured_bytes: measured.peak_bytes,
        gradients: None,
    };
    Ok(Some((row, gradients(training)?)))
}

fn table(
    instance: &Instance,
    device: &str,
    budget_bytes: u64,
    status: Status,
    rows: &[Row],
) -> String {
    let mut table = Table::new(&[
        ("strategy", false),
        ("predicted s", true),
        ("measured s", true),
        ("off", true),
        ("predicted", true),
        ("measured", true),
        ("off", true),
        ("gradients", false),
    ]);
    for row in rows {
        let predicted = row.predicted_seconds.unwrap_or(f64::NAN);
        table.row(vec![
            row.strategy.into(),
            format!("{predicted:.4}"),
            format!("{:.4}", row.measured_seconds),
            session::off(row.measured_seconds, predicted),
            format_bytes(row.predicted_bytes),
            format_bytes(row.measured_bytes),
            session::off(row.measured_bytes as f64, row.predicted_bytes as f64),
            match &row.gradients {
                None => "reference".into(),
                Some(g) if g.equal => "equal".into(),
                Some(g) => format!("off by {:.1e}", g.largest_relative_difference),
            },
        ]);
    }
    format!(
        "{} on {device}: budget {}, solved: {}\n{}",
        instance.name(),
        format_bytes(budget_bytes),
        status.as_str(),
        table.render("  ")
    )
}
