//! `remat-bb improve`

use crate::arguments::ImproveArguments;
use crate::failure::{Exit, Failure};
use crate::files::Files;
use crate::progress::Activity;
use crate::visible::shown;
use crate::{interrupt, source};
use remat_formulations::improve::{Improve, ImproveError, Improved};
use remat_instances::Instance;
use remat_instances::budget::format_bytes;
use remat_report::counted;
use remat_report::results;
use remat_report::results::OriginJson;
use schemars::JsonSchema;
use serde::Serialize;

/// Improves a plan, writes it, and reports.
///
/// # Errors
/// [`Failure`] for bad input, a plan that cannot be executed, or a file that cannot be written.
pub fn run(arguments: &ImproveArguments) -> Result<Exit, Failure> {
    let files = Files::tried(
        arguments.json,
        &[&arguments.instance, &arguments.plan],
        &[("--out", arguments.out.as_deref())],
    )?;
    interrupt::catch(
        "ending with the best plan so far; once more to end at once",
        arguments.quiet,
    );
    let found = source::replayed(&arguments.instance, &arguments.plan)?;
    let budget_bytes = match &arguments.budget {
        Some(text) => {
            let plain = source::plain_replay(&found.instance, found.plan.semantics)?;
            Some(source::budget(text, plain.peak_bytes)?)
        }
        None => found.budget_bytes,
    };
    let activity = Activity::begin("improving the plan", arguments.quiet);
    let interrupted = interrupt::flag();
    let mut improve = Improve::new(&found.instance, &found.plan)
        .threads(arguments.workers.threads)
        .seed(arguments.workers.seed)
        .listener(&*interrupted);
    if let Some(budget) = budget_bytes {
        improve = improve.budget(budget);
    }
    if let Some(limit) = arguments.time_limit {
        improve = improve.time_limit(limit);
    }
    let better = improve.run();
    drop(activity);
    let better = better.map_err(|ImproveError::Replay(e)| Failure::from(e))?;
    let fits = budget_bytes.map(|budget| better.replay.peak_bytes <= budget);
    let mut written = None;
    if let Some(path) = &arguments.out {
        files.write(
            path,
            &better.document(&found.instance).write(&found.instance),
        )?;
        let steps = better.plan.steps.len();
        written = Some(format!("plan      {}: {steps} statements", shown(path)));
    }
    files.print(&if arguments.json {
        json(&found.instance, &better, fits, arguments)
    } else {
        summary(&found.instance, &better, written.as_deref())
    })?;
    Ok(match fits {
        Some(false) => Exit::NoPlan,
        _ => Exit::Done,
    })
}

/// The object of `remat-bb improve --json`.
#[derive(Serialize, JsonSchema)]
pub(super) struct ImproveJson<'a> {
    #[serde(flatten)]
    origin: OriginJson<'a>,
    /// Integer program whose semantics hold: `checkmate` or `monet`.
    semantics: &'a str,
    /// Replayed cost of the improved plan; of a plan that copies, its makespan.
    objective: u64,
    /// Replayed cost of the given plan; of a plan that copies, its makespan.
    objective_before: u64,
    /// Cost of the step without recomputation.
    base_cost: u64,
    /// Cost above `base_cost`, in percent of `base_cost`.
    overhead_percent: f64,
    /// Unit of all costs and times.
    cost_unit: &'a str,
    /// Replayed peak memory of the improved plan in bytes.
    peak_memory_bytes: u64,
    /// Replayed peak memory of the given plan in bytes.
    peak_before_bytes: u64,
    /// Memory budget in bytes, from `--budget` or the file; null without one.
    budget_bytes: Option<u64>,
    /// True if the peak is within the budget; null without a budget.
    fits: Option<bool>,
    /// Number of recomputations left out.
    dropped: usize,
    /// True for a stage schedule in the order of the instance.
    stage_schedule: bool,
    /// True for a stage schedule in the order of its own first computations.
    stage_schedule_in_own_order: bool,
    /// Time in seconds.
    seconds: f64,
    /// Number of worker threads, as used.
    threads: usize,
    /// Seed of all random choices, as used.
    seed: u64,
}

fn json(
    instance: &Instance,
    better: &Improved,
    fits: Option<bool>,
    arguments: &ImproveArguments,
) -> String {
    let settings = arguments.workers.settings();
    results::json(&ImproveJson {
        origin: OriginJson::of(instance),
        semantics: better.plan.semantics.as_str(),
        objective: better.replay.makespan,
        objective_before: better.before.makespan,
        base_cost: better.replay.base_cost,
        overhead_percent: better.replay.overhead_percent(),
        cost_unit: &instance.cost_unit().name,
        peak_memory_bytes: better.replay.peak_bytes,
        peak_before_bytes: better.before.peak_bytes,
        budget_bytes: better.budget_bytes,
        fits,
        dropped: better.dropped,
        stage_schedule: better.plan.stage_schedule(instance).is_ok(),
        stage_schedule_in_own_order: better.plan.stage_schedule_in_own_order(instance).is_ok(),
        seconds: better.seconds,
        threads: settings.worker_threads(),
        seed: settings.seed,
    })
}

fn summary(instance: &Instance, better: &Improved, written: Option<&str>) -> String {
    let unit = instance.cost_unit();
    let (before, after) = (&better.before, &better.replay);
    let budget = match better.budget_bytes {
        Some(budget) if after.peak_bytes <= budget => {
            format!(", within the budget of {}", format_bytes(budget))
        }
        Some(budget) => format!(", above the budget of {}", format_bytes(budget)),
        None => String::new(),
    };
    let mut out = format!(
        "{}: {} of {}\n  cost      {}, was {}: {:.2}% over no recomputation ({} fewer)\n  memory    peak {}, was {}{budget}\n",
        instance.name(),
        counted(after.computations as u64, "computation"),
        counted(instance.len() as u64, "node"),
        remat_report::cost(after.cost, unit),
        remat_report::cost(before.cost, unit),
        after.overhead_percent(),
        counted(better.dropped as u64, "recomputation"),
        format_bytes(after.peak_bytes),
        format_bytes(before.peak_bytes),
    );
    if let Some(line) = written {
        out += &format!("  {line}\n");
    }
    out
}
