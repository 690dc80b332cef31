//! `remat-bb verify`

use super::verify_memory;
use crate::arguments::VerifyArguments;
use crate::failure::{Exit, Failure};
use crate::report::{self, Arena, ArenaJson, OriginJson, ReplayJson};
use crate::{files, source};
use remat_instances::budget::format_bytes;
use remat_instances::replayed::Replayed;
use remat_instances::simulate::PlanLives;
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
    let file = files::input_name(&arguments.plan);
    let arena = arena(&found, &file)?;
    // A budget that was asked for is for the arena, too; the one on record is for the plan's peak.
    let needed = match (&arena, &arguments.budget) {
        (Some(arena), Some(_)) => arena.bytes.max(found.replay.peak_bytes),
        _ => found.replay.peak_bytes,
    };
    let fits = budget_bytes.is_none_or(|budget| needed <= budget);
    files::print(&if arguments.json {
        json(&found, &file, budget_bytes, fits, &differences, arena)
    } else {
        summary(&found, &file, budget_bytes, differences.is_empty(), arena)
    })?;
    if !differences.is_empty() {
        return Err(Failure::Mismatch { file, differences });
    }
    match budget_bytes {
        Some(budget) if !fits => Err(Failure::TooLarge {
            file,
            needed: format_bytes(needed),
            budget: format_bytes(budget),
        }),
        _ => Ok(Exit::Done),
    }
}

/// Addresses of a plan that has them, judged by [`remat_check::place`], which knows nothing of how
/// they were replayed. The bound needs no search: what the fullest computation takes.
///
/// # Errors
/// [`Failure::Addresses`] where they share bytes, or need another arena than the plan records.
pub fn arena(found: &Replayed, file: &str) -> Result<Option<Arena>, Failure> {
    let Some(addresses) = &found.addresses else {
        return Ok(None);
    };
    let wrong = |problem: String| Failure::Addresses {
        file: file.into(),
        problem,
    };
    let lives = PlanLives::of(&found.instance, &found.plan).map_err(|e| wrong(e.to_string()))?;
    let buffers = lives.buffers(&found.instance, addresses.alignment_bytes);
    let buffers = buffers.map_err(|e| wrong(e.to_string()))?;
    let height = remat_check::place::offsets(&buffers, &addresses.placement());
    let height = height.map_err(|e| wrong(e.to_string()))?;
    if height != addresses.arena_bytes {
        let claimed = addresses.arena_bytes;
        let problem =
            format!("it records an arena of {claimed} bytes, its addresses take {height}");
        return Err(wrong(problem));
    }
    Ok(Some(Arena {
        bytes: height,
        bound_bytes: lives.load_bytes(addresses.alignment_bytes),
        peak_bytes: lives.peak_bytes(),
        alignment_bytes: addresses.alignment_bytes,
    }))
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
    #[serde(flatten)]
    arena: ArenaJson,
}

fn json(
    found: &Replayed,
    file: &str,
    budget_bytes: Option<u64>,
    fits: bool,
    differences: &[String],
    arena: Option<Arena>,
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
        arena: arena.as_ref().map(Arena::json).unwrap_or_default(),
    })
}

fn summary(
    found: &Replayed,
    file: &str,
    budget_bytes: Option<u64>,
    agrees: bool,
    arena: Option<Arena>,
) -> String {
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
    let arena = arena.map_or(String::new(), |arena| {
        format!("\n  arena     {}", arena.words(budget_bytes))
    });
    format!(
        "{file}: {} for {} ({} semantics)\n  cost      {}, {:.2}% over no recomputation ({} computations of {} nodes)\n  memory    peak {} at {}{budget}{arena}\n  stages    {stages}\n  {}\n",
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
