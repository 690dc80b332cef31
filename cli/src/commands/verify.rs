//! `remat-bb verify`

use super::{verify_memory, verify_pipeline};
use crate::arguments::VerifyArguments;
use crate::failure::{Exit, Failure};
use crate::{files, source};
use remat_instances::budget::format_bytes;
use remat_instances::replayed::Replayed;
use remat_instances::simulate::PlanLives;
use remat_report::results;
use remat_report::results::{Arena, ArenaJson, OriginJson};
use remat_report::{ReplayJson, transfers};
use schemars::JsonSchema;
use serde::Serialize;

/// Replays a file, compares it with its claims, and reports.
///
/// # Errors
/// [`Failure`] for bad input, a plan that cannot be executed, or false claims.
pub fn run(arguments: &VerifyArguments) -> Result<Exit, Failure> {
    if let Some(exit) = verify_memory::run(arguments)? {
        return Ok(exit);
    }
    if let Some(exit) = verify_pipeline::run(arguments)? {
        return Ok(exit);
    }
    let (found, other_link) =
        source::replayed_over(&arguments.instance, &arguments.plan, &arguments.link)?;
    let budget_bytes = match &arguments.budget {
        Some(text) => {
            let plain = source::plain_replay(&found.instance, found.plan.semantics)?;
            Some(source::budget(text, plain.peak_bytes)?)
        }
        None => found.budget_bytes,
    };
    let differences = match other_link && found.plan.has_copies() {
        true => memory_differences(&found),
        false => differences(&found),
    };
    let host = HostMemory::of(&found);
    let file = files::input_name(&arguments.plan);
    let arena = arena(&found, &file)?;
    // The arena must fit a requested budget; a recorded budget limits the plan's peak only.
    let needed = match (&arena, &arguments.budget) {
        (Some(arena), Some(_)) => arena.bytes.max(found.replay.peak_bytes),
        _ => found.replay.peak_bytes,
    };
    let fits = budget_bytes.is_none_or(|budget| needed <= budget);
    files::print(&if arguments.json {
        let verified = fits && host.fits() && differences.is_empty();
        json(&found, &file, budget_bytes, verified, &differences, arena)
    } else {
        let verdict = match (differences.is_empty(), other_link) {
            (true, false) => "verified: the replay confirms what the file records",
            (true, true) => {
                "replayed over this link; the makespan that the file records is over its own"
            }
            (false, _) => "refuted: the replay does not confirm what the file records",
        };
        summary(&found, &file, budget_bytes, verdict, arena)
    })?;
    if !differences.is_empty() {
        return Err(Failure::Mismatch { file, differences });
    }
    match (budget_bytes, host.limit_bytes) {
        (Some(budget), _) if !fits => Err(Failure::TooLarge {
            file,
            needed: format_bytes(needed),
            budget: format_bytes(budget),
        }),
        (_, Some(limit)) if !host.fits() => Err(Failure::HostTooSmall {
            file,
            needed: format_bytes(host.peak_bytes),
            limit: format_bytes(limit),
        }),
        _ => Ok(Exit::Done),
    }
}

/// Host memory of a plan, and the limit of its link.
struct HostMemory {
    peak_bytes: u64,
    limit_bytes: Option<u64>,
}

impl HostMemory {
    fn of(found: &Replayed) -> Self {
        let link = found.instance.host_link();
        HostMemory {
            peak_bytes: found.replay.transfers.host_peak_bytes,
            limit_bytes: link.and_then(|link| link.host_memory_bytes),
        }
    }

    fn fits(&self) -> bool {
        self.limit_bytes
            .is_none_or(|limit| self.peak_bytes <= limit)
    }
}

/// Addresses of a plan, checked by [`remat_check::place`], which shares no code with their replay.
/// `None` for a plan without addresses. The bound is the largest load of one computation, which
/// needs no search.
///
/// # Errors
/// [`Failure::Addresses`] if they share bytes, or their arena differs from the recorded one.
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

/// Claims of a file that its replay refutes, each in words.
pub fn differences(found: &Replayed) -> Vec<String> {
    let mut list = Vec::new();
    let replay = &found.replay;
    if found.objective != replay.makespan {
        let (recorded, replayed) = (found.objective, replay.makespan);
        list.push(match found.plan.has_copies() {
            true => format!("it records a makespan of {recorded}, the replay takes {replayed}"),
            false => format!("it records a cost of {recorded}, the replay costs {replayed}"),
        });
    }
    list.append(&mut memory_differences(found));
    let host = HostMemory::of(found);
    if let Some(limit) = host.limit_bytes.filter(|_| !host.fits()) {
        list.push(format!(
            "its link has {} of host memory, the replay needs {}",
            format_bytes(limit),
            format_bytes(host.peak_bytes)
        ));
    }
    list
}

/// Claims about device memory that the replay refutes; they do not depend on the link.
fn memory_differences(found: &Replayed) -> Vec<String> {
    let mut list = Vec::new();
    let replay = &found.replay;
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

/// The object of `remat-bb verify --json`, for a plan or a schedule.
#[derive(Serialize, JsonSchema)]
pub(super) struct VerifyJson<'a> {
    /// True if the replay confirms the file and the plan is within its limits.
    verified: bool,
    #[serde(flatten)]
    origin: OriginJson<'a>,
    /// Name of the file.
    file: &'a str,
    /// `plan` or `schedule`.
    kind: &'a str,
    /// Integer program whose semantics hold: `checkmate` or `monet`.
    semantics: &'a str,
    #[serde(flatten)]
    replay: ReplayJson<'a>,
    /// Host memory of the link in bytes; null without a limit.
    host_memory_bytes: Option<u64>,
    /// Number of computations.
    computations: usize,
    /// Memory budget in bytes, from `--budget` or the file; null without one.
    budget_bytes: Option<u64>,
    /// True for a stage schedule in the order of the instance: bounds and certificates of `solve`
    /// hold for it.
    stage_schedule: bool,
    /// Reason why it is no stage schedule; null for a stage schedule.
    no_stage_schedule_because: Option<String>,
    /// True for a stage schedule in the order of its own first computations, as of `solve
    /// --reorder`.
    stage_schedule_in_own_order: bool,
    /// True if its computations, apart from copies to the host, form a stage schedule: bounds with
    /// a link cover it. Without copies the same as `stage_schedule`.
    stage_schedule_with_copies: bool,
    /// Cost or makespan that the file records.
    recorded_objective: u64,
    /// Peak that the file records, in bytes; null if it records none.
    recorded_peak_bytes: Option<u64>,
    /// Budget that the file records, in bytes; null if it records none.
    recorded_budget_bytes: Option<u64>,
    /// Claims of the file that the replay refutes, in words.
    differences: &'a [String],
    #[serde(flatten)]
    arena: ArenaJson,
}

fn json(
    found: &Replayed,
    file: &str,
    budget_bytes: Option<u64>,
    verified: bool,
    differences: &[String],
    arena: Option<Arena>,
) -> String {
    let given = found.given();
    let stages = found.plan.stage_schedule(&found.instance);
    let own = found.plan.stage_schedule_in_own_order(&found.instance);
    let with_copies = found.plan.stage_schedule_with_copies(&found.instance);
    results::json(&VerifyJson {
        verified,
        origin: OriginJson::of(&given),
        file,
        kind: found.kind.as_str(),
        semantics: found.plan.semantics.as_str(),
        replay: ReplayJson::of(&found.instance, &found.replay),
        host_memory_bytes: HostMemory::of(found).limit_bytes,
        computations: found.replay.computations,
        budget_bytes,
        stage_schedule: stages.is_ok(),
        no_stage_schedule_because: stages.err().map(|e| e.to_string()),
        stage_schedule_in_own_order: own.is_ok(),
        stage_schedule_with_copies: with_copies.is_ok(),
        recorded_objective: found.objective,
        recorded_peak_bytes: found.peak_bytes,
        recorded_budget_bytes: found.budget_bytes,
        differences,
        arena: arena.as_ref().map(Arena::json).unwrap_or_default(),
    })
}

/// The class of a plan, and the bounds that hold for it, in words.
fn scope(found: &Replayed) -> String {
    let (plan, instance) = (&found.plan, &found.instance);
    let problem = match plan.stage_schedule(instance) {
        Ok(()) => {
            return "a stage schedule in this order: bounds and certificates of solve hold for it"
                .into();
        }
        Err(problem) => problem,
    };
    if plan.has_copies() {
        let none = "no stage schedule, as it copies to the host: bounds and certificates of solve without a link do not hold for it";
        return match plan.stage_schedule_with_copies(instance) {
            Ok(()) => format!(
                "{none}; it is one of the {}",
                transfers::STAGE_SCHEDULES_WITH_COPIES
            ),
            Err(problem) => {
                format!("{none}; nor do those over stage schedules with copies: {problem}")
            }
        };
    }
    match plan.stage_schedule_in_own_order(instance) {
        Ok(()) => format!(
            "a stage schedule in an order of its own, so bounds of solve --reorder for that order hold for it, others do not: {problem}"
        ),
        Err(_) => format!(
            "no stage schedule, so bounds and certificates of solve do not hold for it: {problem}"
        ),
    }
}

fn summary(
    found: &Replayed,
    file: &str,
    budget_bytes: Option<u64>,
    verdict: &str,
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
    let mut out = format!(
        "{file}: {} for {} ({} semantics)\n",
        found.kind.as_str(),
        found.instance.name(),
        found.plan.semantics.as_str(),
    );
    let mut line = |name: &str, text: &str| out += &format!("  {name:<10}{text}\n");
    line(
        "cost",
        &format!(
            "{}, {:.2}% over no recomputation ({} computations of {} nodes)",
            remat_report::cost(replay.makespan, unit),
            replay.overhead_percent(),
            replay.computations,
            found.instance.len(),
        ),
    );
    let copies = transfers::lines(&found.instance, replay);
    if let Some([step, ..]) = &copies {
        line("", step);
    }
    let peak = format_bytes(replay.peak_bytes);
    let moment = remat_report::moment(&found.instance, replay);
    line("memory", &format!("peak {peak} at {moment}{budget}"));
    if let Some(waiting) = remat_report::waiting(&found.instance, &found.replay) {
        line("waiting", &waiting);
    }
    if let Some(arena) = arena {
        line("arena", &arena.words(budget_bytes));
    }
    if let Some([_, host, link]) = &copies {
        line("host", host);
        line("link", link);
    }
    line("stages", &scope(found));
    out + &format!("  {verdict}\n")
}
