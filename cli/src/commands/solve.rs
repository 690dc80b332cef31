//! `remat-bb solve`

use crate::arguments::SolveArguments;
use crate::draw::progress::{self, ProgressPicture};
use crate::failure::{Exit, Failure, note};
use crate::files::{self, Files, shown};
use crate::progress::{ProgressPoint, Reporter};
use crate::report::{self, LayersJson, OriginJson, SearchJson, counted};
use crate::{interrupt, rescue, source};
use remat_formulations::life::layers::Stack;
use remat_formulations::reorder::{ALL_PLANS, Reorder, Reordered, STAGE_SCHEDULES_IN_THIS_ORDER};
use remat_formulations::solve::{
    AnyFormulation, Listener, Outcome, PlanError, Progress, Settings, Solvable, Status, planned,
};
use remat_instances::Semantics;
use remat_instances::budget::format_bytes;
use remat_instances::instance::CostUnit;
use remat_instances::schedule::{Schedule, ScheduleDocument, write_schedule};
use remat_instances::simulate::{self, Replay};
use remat_instances::{Instance, write_instance};
use serde::Serialize;
use std::fmt::Write;
use std::path::{Path, PathBuf};
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
    check_order(arguments)?;
    interrupt::catch(
        "ending with the best plan so far; once more to end at once",
        arguments.quiet,
    );
    let (formulation, left_out) =
        source::formulation(&arguments.instance, arguments.program.formulation)?;
    if let Some(text) = &left_out {
        note(text, arguments.quiet);
    }
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
    if settings.prove && formulation.semantics() != Semantics::Checkmate {
        return Err(Failure::Usage {
            problem: "--certificate: proofs are written for Checkmate's program only".into(),
            remedy: "add --formulation checkmate".into(),
        });
    }
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
    let searched = Settings {
        time_limit: settings.time_limit.map(reserve),
        ..settings.clone()
    };
    let answer = match arguments.order.reorder {
        true => {
            let reorder = Reorder::new(formulation.clone(), budget_bytes);
            let answer = reorder.settings(searched).listener(&listener).run();
            answer.map(|answer| (answer.outcome.clone(), Some(answer)))
        }
        false => {
            let outcome = formulation.solve(budget_bytes, &[], &searched, &listener);
            outcome.map(|outcome| (outcome, None))
        }
    };
    reporter.finish();
    let (outcome, reordered) = answer?;
    let best = match &reordered {
        None => outcome.replay.clone(),
        Some(answer) => match &answer.plan {
            Some(document) => {
                Some(simulate::plan(&answer.given, &document.plan).map_err(PlanError::from)?)
            }
            None => None,
        },
    };
    let solved = SolveReport {
        formulation: &formulation,
        budget_bytes,
        settings: &settings,
        outcome,
        reordered,
        best,
        plain: &plain,
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
    Ok(match outcome.status {
        Status::Infeasible => Exit::Infeasible,
        _ if solved.best.is_some() => Exit::Done,
        _ => Exit::NoPlan,
    })
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
    /// Replay of the schedule; of the plan where the order was chosen.
    best: Option<Replay>,
    plain: &'a Replay,
}

impl SolveReport<'_> {
    /// Cost of the best plan.
    fn cost(&self) -> Option<u64> {
        self.best.as_ref().map(|replay| replay.cost)
    }

    /// The instance that the schedule is of.
    fn instance(&self) -> &Instance {
        match &self.reordered {
            Some(answer) => &answer.instance,
            None => self.formulation.instance(),
        }
    }
}

/// Checks that a schedule or a proof comes with the instance that it is of.
fn check_order(arguments: &SolveArguments) -> Result<(), Failure> {
    let order = &arguments.order;
    let of_order = [
        ("--schedule-out", &arguments.schedule_out),
        ("--certificate", &arguments.certificate),
    ];
    let alone = of_order.iter().find(|(_, path)| path.is_some());
    match alone {
        Some((option, _)) if order.reorder && order.reordered_out.is_none() => {
            Err(Failure::Usage {
                problem: format!(
                    "{option} with --reorder: it is of the instance in the order found"
                ),
                remedy: "write that instance, too: add --reordered-out INSTANCE.json".into(),
            })
        }
        _ => Ok(()),
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
    let claim = match proof.bound() {
        Some(bound) => format!("every schedule within the budget costs at least {bound}"),
        None => "no schedule fits".into(),
    };
    Ok(Some(format!("proof     {}: {claim}", shown(path))))
}

/// Writes the plan, if one was found.
fn write_plan(
    files: Files,
    path: &Path,
    solved: &SolveReport<'_>,
) -> Result<Option<String>, Failure> {
    let instance = solved.formulation.instance();
    let document = match (&solved.reordered, &solved.outcome.schedule) {
        (Some(answer), _) => answer.plan.clone(),
        (None, Some(schedule)) => Some(planned(instance, schedule, solved.budget_bytes)?.document),
        (None, None) => None,
    };
    let Some(document) = document else {
        files.left(path);
        return Ok(None);
    };
    files.write(path, &document.write(instance))?;
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
    reorder: Option<ReorderJson>,
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
}

/// The choice of the order.
#[derive(Serialize)]
struct ReorderJson {
    order: &'static str,
    given_objective: Option<u64>,
    any_order_bound: u64,
    orders: u64,
}

impl ReorderJson {
    fn of(answer: &Reordered) -> Self {
        ReorderJson {
            order: match answer.is_given_order() {
                true => "given",
                false => "found",
            },
            given_objective: answer.given_cost,
            any_order_bound: answer.any_order_bound,
            orders: answer.orders,
        }
    }
}

fn json(solved: &SolveReport<'_>) -> String {
    let SolveReport {
        formulation,
        budget_bytes,
        settings,
        outcome,
        reordered,
        best,
        plain,
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
        reorder: reordered.as_ref().map(ReorderJson::of),
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
    })
}

fn summary(solved: &SolveReport<'_>, written: &[String]) -> String {
    let SolveReport {
        formulation,
        budget_bytes,
        settings,
        outcome,
        reordered,
        best,
        plain,
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
        let objective = replay.cost;
        let again = match (reordered, &outcome.schedule) {
            (Some(_), _) => replay.computations.saturating_sub(instance.len()),
            (None, schedule) => schedule.as_ref().map_or(0, Schedule::recomputations),
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
    if outcome.status != Status::Infeasible {
        let gap = outcome
            .gap
            .map_or(String::new(), |g| format!(", gap {:.2}%", g * 100.0));
        let bound = report::cost(outcome.bound, unit);
        let scope = match outcome.bound_scope {
            ALL_PLANS => "no plan costs less, in any order",
            STAGE_SCHEDULES_IN_THIS_ORDER => "no stage schedule in the order found costs less",
            _ => "no stage schedule in this order costs less",
        };
        let _ = writeln!(out, "  bound     {bound}: {scope}{gap}");
    }
    if let Some(answer) = reordered
        && outcome.status != Status::Infeasible
    {
        let _ = writeln!(out, "  order     {}", order(answer, unit));
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

/// The choice of the order in words.
fn order(answer: &Reordered, unit: &CostUnit) -> String {
    let judged = counted(answer.orders, "order");
    let any = report::cost(answer.any_order_bound, unit);
    let given = match answer.given_cost {
        Some(cost) => format!("costs {}", report::cost(cost, unit)),
        None => "has no plan that was found".into(),
    };
    match answer.is_given_order() && answer.given_cost == answer.objective().ok() {
        true => format!("as it was given, of {judged}; no plan costs less than {any} in any"),
        false => format!(
            "another one, of {judged}; the one that was given {given}, no plan costs less than {any} in any"
        ),
    }
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
