//! `remat-bb train-check`

use super::objects::{GradientsJson, StrategyRun, TrainCheckJson};
use super::session::{self, Measured, Runnable};
use crate::arguments::TrainCheckArguments;
use crate::failure::{Exit, Failure};
use crate::{files, source};
use remat_formulations::{AnyFormulation, strategies};
use remat_gpu_exec::{Comparison, ExecError, ProfileSettings, compare, program_of};
use remat_instances::Instance;
use remat_instances::budget::format_bytes;
use remat_instances::plan::Plan;
use remat_report::Table;
use remat_report::results;
use remat_search::{Patience, Settings, Solvable, Status};

/// Name of the reference row.
const PLAIN: &str = "no recomputation";
/// Name of the solved plan's row.
const SOLVED: &str = "remat-bb";

/// Profiles, solves, runs every plan, and compares.
///
/// # Errors
/// [`Failure`] for bad input, a missing device, and plans whose gradients differ from plain
/// training.
pub fn run(arguments: &TrainCheckArguments) -> Result<Exit, Failure> {
    let program = session::model(&arguments.model, arguments.batch)?;
    let mut training = session::training(program, &arguments.on)?;
    let settings = ProfileSettings {
        repeats: usize::from(arguments.repeat),
        ..ProfileSettings::default()
    };
    let instance = remat_gpu_exec::profile(&mut training, &settings)?.instance;
    drop(training);
    let formulation = match arguments.program.formulation {
        Some(semantics) => source::of(&instance, semantics)?,
        None => AnyFormulation::suiting(&instance),
    };
    let instance = &**formulation.instance();
    let mut training = session::training(program_of(instance)?, &arguments.on)?;
    let budget_bytes = source::budget(&arguments.budget, source::plain(&formulation)?.peak_bytes)?;
    let settings = Settings {
        time_limit: Some(arguments.time_limit),
        ..Settings::default().without_overtime()
    };
    let outcome = formulation.solve(budget_bytes, &[], &settings, &())?;
    let mut plans = vec![PlannedRun::new(
        instance,
        PLAIN,
        session::plain(instance, formulation.semantics())?,
    )?];
    let solved = outcome.schedule.map(|schedule| (SOLVED, schedule));
    let known = strategies::all().iter().filter_map(|baseline| {
        let found = formulation
            .baseline(baseline, budget_bytes, Patience::ENDLESS)
            .ok()?;
        Some((baseline.name, found.0))
    });
    for (name, schedule) in solved.into_iter().chain(known) {
        let plan = schedule.plan(instance);
        let plan = plan.and_then(|plan| plan.optimised(instance));
        let Ok(plan) = plan else { continue };
        let planned = PlannedRun::new(instance, name, plan)?;
        // Plans above the budget are left out.
        if planned.predicted_bytes <= budget_bytes {
            plans.push(planned);
        }
    }
    let mut list: Vec<_> = plans.iter().map(|p| Runnable::from(&p.plan)).collect();
    let measured = session::measured(&mut training, &mut list, arguments.repeat)?;
    let rows = rows(&plans, &measured)?;
    let exit = match outcome.status {
        Status::Infeasible => Exit::Infeasible,
        _ if rows.iter().any(|row| row.strategy == SOLVED) => Exit::Done,
        _ => Exit::NoPlan,
    };
    let device = training.device().name();
    files::print(&if arguments.json {
        results::json(&TrainCheckJson {
            instance: instance.name(),
            device,
            formulation: formulation.semantics().as_str(),
            status: outcome.status.as_str(),
            budget_bytes,
            plans: &rows,
        })
    } else {
        table(&formulation, device, budget_bytes, outcome.status, &rows)
    })?;
    let wrong = |row: &&StrategyRun| row.gradients.as_ref().is_some_and(|g| !g.same());
    let wrong: Vec<String> = rows
        .iter()
        .filter(wrong)
        .map(|row| format!("{} has other gradients than plain training", row.strategy))
        .collect();
    if wrong.is_empty() {
        return Ok(exit);
    }
    Err(Failure::Mismatch {
        file: instance.name().to_string(),
        differences: wrong,
    })
}

/// A plan to run, and its predicted time and memory.
struct PlannedRun {
    strategy: &'static str,
    plan: Plan,
    predicted_seconds: Option<f64>,
    predicted_bytes: u64,
}

impl PlannedRun {
    fn new(instance: &Instance, strategy: &'static str, plan: Plan) -> Result<Self, Failure> {
        let (predicted_seconds, predicted_bytes) = session::predicted(instance, &plan)?;
        Ok(PlannedRun {
            strategy,
            plan,
            predicted_seconds,
            predicted_bytes,
        })
    }
}

impl GradientsJson {
    fn of(found: Comparison) -> Self {
        GradientsJson {
            equal: found.equal,
            largest_relative_difference: found.largest,
        }
    }

    /// Returns whether another order of sums explains the difference.
    fn same(&self) -> bool {
        self.equal || self.largest_relative_difference < 1e-4
    }
}

fn rows(
    plans: &[PlannedRun],
    measured: &[Option<Measured>],
) -> Result<Vec<StrategyRun>, ExecError> {
    let reference = measured.iter().position(Option::is_some);
    let wanted = measured.iter().flatten().next();
    let mut rows = Vec::with_capacity(plans.len());
    for (k, (planned, found)) in plans.iter().zip(measured).enumerate() {
        let gradients = match (found, wanted) {
            (Some(found), Some(wanted)) if reference != Some(k) => {
                let comparison = compare(&found.gradients, &wanted.gradients)?;
                Some(GradientsJson::of(comparison))
            }
            _ => None,
        };
        let found = found.as_ref();
        rows.push(StrategyRun {
            strategy: planned.strategy,
            predicted_seconds: planned.predicted_seconds,
            measured_seconds: found.map(|found| found.run.seconds),
            least_seconds: found.map(|found| found.range[0]),
            greatest_seconds: found.map(|found| found.range[1]),
            predicted_bytes: planned.predicted_bytes,
            measured_bytes: found.map(|found| found.peak_bytes),
            reserved_bytes: found.map(|found| found.run.memory.reserved),
            gradients,
        });
    }
    Ok(rows)
}

fn table(
    formulation: &AnyFormulation,
    device: &str,
    budget_bytes: u64,
    status: Status,
    rows: &[StrategyRun],
) -> String {
    let mut table = Table::new(&[
        ("strategy", false),
        ("predicted s", true),
        ("measured s", true),
        ("range", true),
        ("off", true),
        ("predicted", true),
        ("measured", true),
        ("off", true),
        ("gradients", false),
    ]);
    for row in rows {
        let predicted = row.predicted_seconds.unwrap_or(f64::NAN);
        let seconds = |value: Option<f64>| match value {
            Some(value) => format!("{value:.4}"),
            None => "-".into(),
        };
        let range = match (row.least_seconds, row.greatest_seconds) {
            (Some(least), Some(greatest)) => format!("{least:.4}..{greatest:.4}"),
            _ => "-".into(),
        };
        let off = |found: Option<f64>, wanted| match found {
            Some(found) => session::off(found, wanted),
            None => "-".into(),
        };
        let bytes = row.measured_bytes;
        table.row(vec![
            row.strategy.into(),
            format!("{predicted:.4}"),
            seconds(row.measured_seconds),
            range,
            off(row.measured_seconds, predicted),
            format_bytes(row.predicted_bytes),
            bytes.map_or("out of memory".into(), format_bytes),
            off(bytes.map(|b| b as f64), row.predicted_bytes as f64),
            match (&row.gradients, bytes) {
                (None, None) => "-".into(),
                (None, Some(_)) => "reference".into(),
                (Some(g), _) if g.equal => "equal".into(),
                (Some(g), _) => format!("off by {:.1e}", g.largest_relative_difference),
            },
        ]);
    }
    format!(
        "{} on {device}: {}, budget {}, solved: {}\n{}",
        formulation.instance().name(),
        formulation.semantics().as_str(),
        format_bytes(budget_bytes),
        status.as_str(),
        table.render("  ")
    )
}
