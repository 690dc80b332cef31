//! `remat-bb verify`

use super::verify_memory;
use crate::arguments::VerifyArguments;
use crate::failure::{Exit, Failure};
use crate::report::{self, OriginJson, ReplayJson};
use crate::{files, source};
use remat_instances::budget::format_bytes;
use remat_instances::replayed::Replayed;
use serde::Serialize;

/// Replays, reports, and compares with what the file claims.
///
/// # Errors
/// [`Failure`] for bad input, a plan that cannot be executed, or one whose claims are not true.
pub fn run(arguments: &VerifyArguments) -> Result<Exit, Failure> {
    if let Some(exit) = verify_memory::run(arguments)? {
        return Ok(exit);
    }
    let found = source::replayed(&arguments.instance, &arguments.plan)?;
    let budget_bytes = match &arguments.budget {
        Some(text) => {
            let plain = source::plain_replay(&found.instance, found.plan.semantics)?;
            Some(source::budget(text, plain.peak_bytes)?)
        }
        None => found.budget_bytes,
    };
    let differences = differences(&found);
    let fits = budget_bytes.is_none_or(|budget| found.replay.peak_bytes <= budget);
    let file = files::input_name(&arguments.plan);
    files::print(&if arguments.json {
        json(&found, &file, budget_bytes, fits, &differences)
    } else {
        summary(&found, &file, budget_bytes, differences.is_empty())
    })?;
    if !differences.is_empty() {
        return Err(Failure::Mismatch { file, differences });
    }
    match budget_bytes {
        Some(budget) if !fits => Err(Failure::TooLarge {
            file,
            needed: format_bytes(found.replay.peak_bytes),
            budget: format_bytes(budget),
        }),
        _ => Ok(Exit::Done),
    }
}

/// Claims of a file that its replay does not confirm, each in words.
pub fn differences(found: &Replayed) -> Vec<String> {
    let mut list = Vec::new();
    let replay = &found.replay;
    if found.objective != replay.cost {
        list.push(format!(
            "it records a cost of {}, the replay costs {}",
            found.objective, replay.cost
        ));
    }
    if let Some(peak) = found.peak_bytes.filter(|p| *p != replay.peak_bytes) {
        list.push(format!(
            "it records a peak of {peak} bytes, the replay needs {} bytes",
            replay.peak_bytes
        ));
    }
    if let Some(budget) = found.budget_bytes.filter(|b| replay.peak_bytes > *b) {
        list.push(format!(
            "it records a budget of {}, the replay needs {}",
            format_bytes(budget),
            format_bytes(replay.peak_bytes)
        ));
    }
    list
}

#[derive(Serialize)]
struct VerifyJson<'a> {
    verified: bool,
    #[serde(flatten)]
    origin: OriginJson<'a>,
    file: &'a str,
    kind: &'a str,
    semantics: &'a str,
    #[serde(flatten)]
    replay: ReplayJson<'a>,
    computations: usize,
    budget_bytes: Option<u64>,
    /// True if bounds and certificates of `solve` hold for it.
    stage_schedule: bool,
    no_stage_schedule_because: Option<String>,
    stage_schedule_in_own_order: bool,
    recorded_objective: u64,
    recorded_peak_bytes: Option<u64>,
    recorded_budget_bytes: Option<u64>,
    differences: &'a [String],
}

fn json(
    found: &Replayed,
    file: &str,
    budget_bytes: Option<u64>,
    fits: bool,
    differences: &[String],
) -> String {
    let stages = found.plan.stage_schedule(&found.instance);
    let own = found.plan.stage_schedule_in_own_order(&found.instance);
    report::json(&VerifyJson {
        verified: fits && differences.is_empty(),
        origin: OriginJson::of(&found.instance),
        file,
        kind: found.kind.as_str(),
        semantics: found.plan.semantics.as_str(),
        replay: ReplayJson::of(&found.instance, &found.replay),
        computations: found.replay.computations,
        budget_bytes,
        stage_schedule: stages.is_ok(),
        no_stage_schedule_because: stages.err().map(|e| e.to_string()),
        stage_schedule_in_own_order: own.is_ok(),
        recorded_objective: found.objective,
        recorded_peak_bytes: found.peak_bytes,
        recorded_budget_bytes: found.budget_bytes,
        differences,
    })
}

fn summary(found: &Replayed, file: &str, budget_bytes: Option<u64>, agrees: bool) -> String {
    let replay = &found.replay;
    let unit = found.instance.cost_unit();
    let budget = match budget_bytes {
        Some(budget) if replay.peak_bytes <= budget => {
            format!(", within the budget of {}", format_bytes(budget))
        }
        Some(budget) => format!(", above the budget of {}", format_bytes(budget)),
        None => String::new(),
    };
    let stages = match found.plan.stage_schedule(&found.instance) {
        Ok(()) => {
            "a stage schedule in this order: bounds and certificates of solve hold for it".into()
        }
        Err(problem)
            if found
                .plan
                .stage_schedule_in_own_order(&found.instance)
                .is_ok() =>
        {
            format!(
                "a stage schedule in an order of its own, so bounds of solve --reorder for that order hold for it, others do not: {problem}"
            )
        }
        Err(problem) => format!(
            "no stage schedule, so bounds and certificates of solve do not hold for it: {problem}"
        ),
    };
    format!(
        "{file}: {} for {} ({} semantics)\n  cost      {}, {:.2}% over no recomputation ({} computations of {} nodes)\n  memory    peak {} at {}{budget}\n  stages    {stages}\n  {}\n",
        found.kind.as_str(),
        found.instance.name(),
        found.plan.semantics.as_str(),
        report::cost(replay.cost, unit),
        replay.overhead_percent(),
        replay.computations,
        found.instance.len(),
        format_bytes(replay.peak_bytes),
        report::moment(&found.instance, replay),
        if agrees {
            "verified: the replay confirms what the file records"
        } else {
            "refuted: the replay does not confirm what the file records"
        }
    )
}
