//! `remat-bb solve`

mod offload;
mod order;

use crate::arguments::SolveArguments;
use crate::draw::progress::{self, ProgressPicture};
use crate::failure::{Exit, Failure, note};
use crate::files::{self, Files, shown};
use crate::progress::{ProgressPoint, Reporter};
use crate::report::{self, Arena, ArenaJson, LayersJson, OriginJson, SearchJson, counted};
use crate::{interrupt, rescue, source};
use offload::OffloadJson;
use order::ReorderJson;
use remat_formulations::life::layers::Stack;
use remat_formulations::offload::nodes::{
    Offload, Offloaded, STAGE_SCHEDULES_WITH_CONTINUOUS_COPIES, STAGE_SCHEDULES_WITH_COPIES,
};
use remat_formulations::place::{PlacePlanError, PlaceSettings, PlacedPlan, place_plan};
use remat_formulations::reorder::{ALL_PLANS, Reorder, Reordered, STAGE_SCHEDULES_IN_THIS_ORDER};
use remat_formulations::solve::{
    AnyFormulation, AnySolvable, BoundProof, Listener, Outcome, PlanError, Progress, Settings,
    Solvable, Status, planned,
};
use remat_instances::budget::format_bytes;
use remat_instances::plan::PlanDocument;
use remat_instances::schedule::{Schedule, ScheduleDocument, write_schedule};
use remat_instances::simulate::{self, Replay};
use remat_instances::{Instance, write_instance};
use serde::Serialize;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// Solves, writes the files that were asked for, and reports.
///
/// # Errors
/// [`Failure`] for bad input, or files that cannot be written.
pub fn run(arguments: &SolveArguments) -> Result<Exit, Failure> {
    let begun = Instant::now();
    let files = Files::tried(
        arguments.json,
        &[Path::new(&arguments.instance)],
        &[
            ("--out", arguments.out.as_deref()),
            ("--schedule-out", arguments.schedule_out.as_deref()),
            ("--progress-svg", arguments.progress_svg.as_deref()),
            ("--certificate", arguments.certificate.as_deref()),
            ("--reordered-out", arguments.order.reordered_out.as_deref()),
        ],
    )?;
    order::check(arguments)?;
    offload::check(arguments)?;
    interrupt::catch(
        "ending with the best plan so far; once more to end at once",
        arguments.quiet,
    );
    let (formulation, left_out) =
        source::formulation(&arguments.instance, arguments.program.formulation)?;
    if let Some(text) = &left_out {
        note(text, arguments.quiet);
    }
    let solvable = arguments.offload.applied(formulation)?;
    let formulation = solvable.formulation().clone();
    offload::check_certificate(arguments, formulation.semantics())?;
    let instance = &**formulation.instance();
    let plain = source::plain(&formulation)?;
    let budget_bytes = source::budget(&arguments.budget, plain.peak_bytes)?;
    if budget_bytes <= 100 && plain.peak_bytes > 100 * budget_bytes.max(1) {
        let text = format!(
            "the budget is {budget_bytes} bytes; a share of the peak without recomputation is written {budget_bytes}%"
        );
        note(&text, arguments.quiet);
    }
    let settings = Settings {
        prove: arguments.certificate.is_some(),
        begun: Some(begun),
        ..arguments.solve.settings()
    };
    let reporter = Reporter::new(
        arguments.quiet,
        instance.cost_unit().clone(),
        plain.base_cost,
        settings.time_limit,
    );
    let interrupted = interrupt::flag();
    let listener = Followed {
        interrupted: &interrupted,
        reporter: &reporter,
        out: arguments.out.as_deref(),
    };
    // To write a plan takes about as long as to read the instance.
    let writes = arguments.out.is_some() || arguments.schedule_out.is_some();
    let reserve = |limit: Duration| match writes {
        true => limit - begun.elapsed().min(limit / 2),
        false => limit,
    };
    let reserve = |limit: Duration| match arguments.addresses {
        true => reserve(limit).mul_f64(1.0 - ADDRESS_SHARE),
        false => reserve(limit),
    };
    let searched = Settings {
        time_limit: settings.time_limit.map(reserve),
        ..settings.clone()
    };
    let (mut reordered, mut offloaded) = (None, None);
    let outcome = if arguments.order.reorder {
        let reorder = Reorder::new(formulation.clone(), budget_bytes);
        let answer = reorder.settings(searched).listener(&listener).run();
        answer.map(|answer| reordered.insert(answer).outcome.clone())
    } else if let AnySolvable::Linked(linked) = &solvable {
        let offload = Offload::new(formulation.clone(), budget_bytes);
        let offload = offload
            .phase(linked.phase())
            .release(arguments.release.of());
        let answer = offload.settings(searched).listener(&listener).run();
        answer.map(|answer| offloaded.insert(answer).outcome.clone())
    } else {
        formulation.solve(budget_bytes, &[], &searched, &listener)
    };
    reporter.finish();
    let outcome = outcome?;
    let best = match &reordered {
        None => outcome.replay.clone(),
        Some(answer) => match &answer.plan {
            Some(document) => {
                Some(simulate::plan(&answer.given, &document.plan).map_err(PlanError::from)?)
            }
            None => None,
        },
    };
    let mut solved = SolveReport {
        formulation: &formulation,
        budget_bytes,
        settings: &settings,
        outcome,
        reordered,
        offloaded,
        best,
        plain: &plain,
        placed: None,
    };
    let unplaced = match arguments.addresses {
        true => solved.place(arguments.alignment, begun, &interrupted)?,
        false => None,
    };
    let outcome = &solved.outcome;
    let looks = (reporter.looks(), plain.base_cost);
    let out = |write: WriteResult, path: &Option<PathBuf>| {
        path.as_deref().map(|path| write(files, path, &solved))
    };
    let written = files::each(
        [
            out(write_plan, &arguments.out),
            out(write_schedule_file, &arguments.schedule_out),
            (arguments.progress_svg.as_deref())
                .map(|path| draw_progress(files, path, &solved, looks).map(Some)),
            out(write_proof, &arguments.certificate),
            out(write_reordered, &arguments.order.reordered_out),
        ]
        .into_iter()
        .flatten(),
    );
    let written = written.map(|lines| lines.into_iter().flatten().collect::<Vec<_>>());
    // The result is shown even where it could not be written to the files.
    files.print(&if arguments.json {
        json(&solved)
    } else {
        summary(&solved, written.as_deref().unwrap_or_default())
    })?;
    written?;
    if let Some(problem) = unplaced {
        return Err(place_failure(&problem));
    }
    Ok(match outcome.status {
        Status::Infeasible => Exit::Infeasible,
        _ if solved.best.is_some() => Exit::Done,
        _ => Exit::NoPlan,
    })
}

/// Share of the time limit that addresses have.
const ADDRESS_SHARE: f64 = 0.1;

/// A plan that has no addresses.
fn place_failure(problem: &PlacePlanError) -> Failure {
    Failure::Usage {
        problem: format!("--addresses: {problem}"),
        remedy: "the plan is there without them; give an instance of smaller sizes".into(),
    }
}

/// Follows a solve: shows it, keeps its best plan, and ends it where the user interrupts.
struct Followed<'a> {
    interrupted: &'a AtomicBool,
    reporter: &'a Reporter,
    out: Option<&'a Path>,
}

impl Listener for Followed<'_> {
    fn is_interrupted(&self) -> bool {
        self.interrupted.is_interrupted()
    }

    fn progress(&self, progress: &Progress) {
        self.reporter.update(progress);
    }

    fn best(&self, cost: u64, plan: &dyn Fn() -> Option<String>) {
        if let Some(path) = self.out {
            rescue::keep(path, cost, plan);
        }
    }
}

/// A solve and what it was asked.
struct SolveReport<'a> {
    formulation: &'a AnyFormulation,
    budget_bytes: u64,
    settings: &'a Settings,
    outcome: Outcome,
    /// The choice of the order, where that was asked for.
    reordered: Option<Reordered>,
    /// The copies, where they were asked for.
    offloaded: Option<Offloaded>,
    /// Replay of the schedule; of the plan where the order was chosen.
    best: Option<Replay>,
    plain: &'a Replay,
    placed: Option<PlacedPlan>,
}

impl SolveReport<'_> {
    /// The best plan.
    fn plan(&self) -> Result<Option<PlanDocument>, Failure> {
        let instance = self.formulation.instance();
        if let Some(answer) = &self.offloaded {
            return Ok(answer.plan.clone());
        }
        Ok(match (&self.reordered, &self.outcome.schedule) {
            (Some(answer), _) => answer.plan.clone(),
            (None, Some(schedule)) => {
                Some(planned(instance, schedule, self.budget_bytes)?.document)
            }
            (None, None) => None,
        })
    }

    /// Gives the best plan addresses, in what is left of the time; returns why there are none.
    fn place(
        &mut self,
        alignment: Option<u64>,
        begun: Instant,
        interrupted: &Arc<AtomicBool>,
    ) -> Result<Option<PlacePlanError>, Failure> {
        let Some(document) = self.plan()? else {
            return Ok(None);
        };
        let left = |limit: Duration| {
            let left = limit.saturating_sub(begun.elapsed());
            left.max(limit.mul_f64(ADDRESS_SHARE / 2.0))
        };
        let how = PlaceSettings {
            time_limit: self.settings.time_limit.map(left),
            threads: self.settings.threads,
            seed: self.settings.seed,
            interrupt: Some(interrupted.clone()),
            ..PlaceSettings::default()
        };
        let instance = self.formulation.instance();
        let budget = Some(self.budget_bytes);
        match place_plan(instance, &document.plan, alignment, budget, &how) {
            Ok(placed) => {
                self.placed = Some(placed);
                Ok(None)
            }
            Err(problem) => Ok(Some(problem)),
        }
    }

    fn arena(&self) -> Option<Arena> {
        self.placed.as_ref().map(|placed| Arena {
            bytes: placed.arena_bytes(),
            bound_bytes: placed.bound_bytes,
            peak_bytes: placed.peak_bytes,
            alignment_bytes: placed.addresses.alignment_bytes,
        })
    }

    /// Cost of the best plan.
    fn cost(&self) -> Option<u64> {
        self.best.as_ref().map(|replay| replay.makespan)
    }

    /// The instance that the schedule is of.
    fn instance(&self) -> &Instance {
        match &self.reordered {
            Some(answer) => &answer.instance,
            None => self.formulation.instance(),
        }
    }
}

/// Writes one file, if there is something for it, and says what was written.
type WriteResult = fn(Files, &Path, &SolveReport<'_>) -> Result<Option<String>, Failure>;

/// Draws the solve over time, from looks at it and the cost without recomputation.
fn draw_progress(
    files: Files,
    path: &Path,
    solved: &SolveReport<'_>,
    (mut looks, base_cost): (Vec<ProgressPoint>, u64),
) -> Result<String, Failure> {
    let (outcome, instance) = (&solved.outcome, solved.formulation.instance());
    looks.push(ProgressPoint {
        seconds: outcome.seconds,
        objective: solved.cost(),
        bound: outcome.bound,
    });
    let picture = ProgressPicture {
        title: format!("{}: cost and bound over time", instance.name()),
        looks: &looks,
        base_cost,
        infeasible_because: outcome.infeasible_because.as_deref(),
    };
    files.write(path, &progress::draw(&picture)?)?;
    Ok(format!("progress  {}", shown(path)))
}

/// Writes what proves the bound, if anything does.
fn write_proof(
    files: Files,
    path: &Path,
    solved: &SolveReport<'_>,
) -> Result<Option<String>, Failure> {
    let Some(proof) = &solved.outcome.proof else {
        note(
            "no certificate: the relaxation that proves bounds was not reached, or the graph is too large for it",
            false,
        );
        files.left(path);
        return Ok(None);
    };
    files.write(path, proof.text())?;
    let outcome = &solved.outcome;
    let (plans, verb) = match solved.offloaded {
        Some(_) => ("stage schedule with copies", "takes"),
        None => ("schedule", "costs"),
    };
    let claim = match proof.bound() {
        Some(bound) => {
            let unproven = match outcome.status {
                Status::Infeasible => " (that none fits has no proof)".into(),
                _ if bound < outcome.bound => {
                    format!(" (the bound {} has no proof)", outcome.bound)
                }
                _ => String::new(),
            };
            format!("every {plans} within the budget {verb} at least {bound}{unproven}")
        }
        None => format!("no {plans} fits"),
    };
    Ok(Some(format!("proof     {}: {claim}", shown(path))))
}

/// Writes the plan, if one was found.
fn write_plan(
    files: Files,
    path: &Path,
    solved: &SolveReport<'_>,
) -> Result<Option<String>, Failure> {
    let Some(mut document) = solved.plan()? else {
        files.left(path);
        return Ok(None);
    };
    document.addresses = solved.placed.as_ref().map(|p| p.addresses.clone());
    files.write(path, &document.write(solved.formulation.instance()))?;
    Ok(Some(format!(
        "plan      {}: {} statements, peak {}",
        shown(path),
        document.plan.steps.len(),
        format_bytes(document.peak_bytes)
    )))
}

/// Writes the instance in the order of the answer.
fn write_reordered(
    files: Files,
    path: &Path,
    solved: &SolveReport<'_>,
) -> Result<Option<String>, Failure> {
    files.write(path, &write_instance(solved.instance()))?;
    Ok(Some(format!("instance  {}", shown(path))))
}

/// Writes the schedule, if one was found.
fn write_schedule_file(
    files: Files,
    path: &Path,
    solved: &SolveReport<'_>,
) -> Result<Option<String>, Failure> {
    let outcome = &solved.outcome;
    let (Some(schedule), Some(objective)) = (&outcome.schedule, outcome.cost()) else {
        files.left(path);
        return Ok(None);
    };
    let instance = solved.instance();
    let document = ScheduleDocument {
        instance: instance.name().into(),
        budget_bytes: Some(solved.budget_bytes),
        objective,
        schedule: schedule.clone(),
    };
    files.write(path, &write_schedule(&document, instance))?;
    Ok(Some(format!("schedule  {}", shown(path))))
}

/// The object that `--json` prints. What is not known is null.
#[derive(Serialize)]
struct SolveJson<'a> {
    status: &'a str,
    #[serde(flatten)]
    origin: OriginJson<'a>,
    formulation: &'a str,
    layers: Vec<LayersJson>,
    objective: Option<u64>,
    bound: Option<u64>,
    gap: Option<f64>,
    bound_scope: &'a str,
    certified_bound: Option<u64>,
    reorder: Option<ReorderJson>,
    offload: Option<OffloadJson>,
    base_cost: u64,
    overhead_percent: Option<f64>,
    cost_unit: &'a str,
    peak_memory_bytes: Option<u64>,
    budget_bytes: u64,
    seconds: f64,
    nodes: u64,
    lp_iterations: u64,
    moves: u64,
    #[serde(flatten)]
    search: SearchJson,
    infeasible_because: Option<&'a str>,
    plan_peak_bytes: Option<u64>,
    #[serde(flatten)]
    arena: ArenaJson,
}

fn json(solved: &SolveReport<'_>) -> String {
    let SolveReport {
        formulation,
        budget_bytes,
        settings,
        outcome,
        reordered,
        offloaded,
        best,
        plain,
        placed,
    } = solved;
    let instance = formulation.instance();
    let may_fit = outcome.status != Status::Infeasible;
    report::json(&SolveJson {
        status: outcome.status.as_str(),
        origin: OriginJson::of(instance),
        formulation: formulation.semantics().as_str(),
        layers: LayersJson::of(formulation.layers()),
        objective: solved.cost(),
        bound: may_fit.then_some(outcome.bound),
        gap: outcome.gap,
        bound_scope: outcome.bound_scope,
        certified_bound: outcome.proof.as_ref().and_then(BoundProof::bound),
        reorder: reordered.as_ref().map(ReorderJson::of),
        offload: offloaded.as_ref().map(OffloadJson::of),
        base_cost: plain.base_cost,
        overhead_percent: best.as_ref().map(Replay::overhead_percent),
        cost_unit: &instance.cost_unit().name,
        peak_memory_bytes: best.as_ref().map(|r| r.peak_bytes),
        budget_bytes: *budget_bytes,
        seconds: outcome.seconds,
        nodes: outcome.nodes,
        lp_iterations: outcome.lp_iterations,
        moves: outcome.moves,
        search: SearchJson::of(settings),
        infeasible_because: outcome.infeasible_because.as_deref(),
        plan_peak_bytes: placed.as_ref().map(|placed| placed.peak_bytes),
        arena: solved.arena().as_ref().map(Arena::json).unwrap_or_default(),
    })
}

fn summary(solved: &SolveReport<'_>, written: &[String]) -> String {
    let SolveReport {
        formulation,
        budget_bytes,
        settings,
        outcome,
        reordered,
        offloaded,
        best,
        plain,
        ..
    } = solved;
    let instance = formulation.instance();
    let unit = instance.cost_unit();
    let budget = format_bytes(*budget_bytes);
    let share = source::share_of_plain(*budget_bytes, plain, formulation.semantics());
    let mut out = format!(
        "{}: {}, budget {budget} ({share})\n",
        instance.name(),
        counted(instance.len() as u64, "node"),
    );
    // Writing to a string cannot fail.
    let layers: Vec<String> = formulation.layers().iter().map(Stack::to_string).collect();
    if !layers.is_empty() {
        let _ = writeln!(out, "  layers    {}", layers.join(", "));
    }
    let status = outcome.status.as_str();
    let _ = writeln!(
        out,
        "  status    {status}: {}",
        verdict(outcome, best.is_some())
    );
    if let Some(replay) = best {
        let objective = replay.makespan;
        let has_steps = reordered.is_some() || offloaded.is_some();
        let again = match (has_steps, &outcome.schedule) {
            (true, _) => replay.computations.saturating_sub(instance.len()),
            (false, schedule) => schedule.as_ref().map_or(0, Schedule::recomputations),
        };
        let _ = writeln!(
            out,
            "  cost      {}, {:.2}% over no recomputation ({})\n  memory    peak {} at {}",
            report::cost(objective, unit),
            replay.overhead_percent(),
            counted(again as u64, "recomputation"),
            format_bytes(replay.peak_bytes),
            report::moment(instance, replay),
        );
    }
    if let Some(arena) = solved.arena() {
        let words = arena.words(Some(*budget_bytes));
        let _ = writeln!(out, "  arena     {words}");
    }
    if outcome.status != Status::Infeasible {
        let gap = outcome
            .gap
            .map_or(String::new(), |g| format!(", gap {:.2}%", g * 100.0));
        let bound = report::cost(outcome.bound, unit);
        let scope = match outcome.bound_scope {
            STAGE_SCHEDULES_WITH_COPIES => {
                "no stage schedule in this order takes less, with copies"
            }
            STAGE_SCHEDULES_WITH_CONTINUOUS_COPIES => {
                "no stage schedule in this order takes less, with copies that free memory byte by byte"
            }
            ALL_PLANS => "no plan costs less, in any order",
            STAGE_SCHEDULES_IN_THIS_ORDER => "no stage schedule in the order found costs less",
            _ => "no stage schedule in this order costs less",
        };
        let _ = writeln!(out, "  bound     {bound}: {scope}{gap}");
    }
    if let Some(answer) = reordered
        && outcome.status != Status::Infeasible
    {
        let _ = writeln!(out, "  order     {}", order::words(answer, unit));
    }
    for line in offloaded
        .iter()
        .flat_map(|answer| offload::lines(answer, unit))
    {
        let _ = writeln!(out, "  {line}");
    }
    let _ = writeln!(
        out,
        "  search    {:.1} s, {:.1} M moves, {}, {}, {}, seed {}",
        outcome.seconds,
        outcome.moves as f64 / 1e6,
        counted(outcome.nodes, "node"),
        counted(outcome.lp_iterations, "LP iteration"),
        counted(settings.worker_threads() as u64, "thread"),
        settings.seed
    );
    for line in written {
        let _ = writeln!(out, "  {line}");
    }
    out
}

fn verdict(outcome: &Outcome, found: bool) -> String {
    match (outcome.status, &outcome.infeasible_because) {
        (Status::Infeasible, Some(reason)) => reason.clone(),
        (Status::Infeasible, None) => "no stage schedule in this order fits the budget".into(),
        (Status::Optimal, _) => "proven best within the gap".into(),
        (Status::Feasible, _) => "the best plan that was found".into(),
        (Status::Interrupted, _) if found => "the best plan so far".into(),
        _ => "no plan was found; give more time or more memory".into(),
    }
}
