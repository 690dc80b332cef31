//! `remat-bb sweep`

use super::grid;
use super::solve::least::{self, LEAST};
use crate::arguments::SweepArguments;
use crate::failure::{Exit, Failure};
use crate::files::{Files, PlanFolder, budget_name};
use crate::progress::{Activity, Reporter};
use crate::{interrupt, source};
use rayon::prelude::*;
use remat_formulations::solve::{
    AnyPlan, AnySolvable, Baselines, Compared, Frontier, FrontierPoint, LeastBudget,
};
use remat_instances::budget::format_bytes;
use remat_instances::budgets::Budgets;
use remat_instances::simulate::Replay;
use remat_instances::{Budget, Instance};
use remat_report::draw::tradeoff::{self, Curve, TradeoffPicture};
use remat_report::results;
use remat_report::results::{LayersJson, OriginJson, SearchJson};
use remat_report::transfers::{self, TransfersJson};
use remat_report::{LeastBudgetJson, Table, counted};
use remat_search::{Listener, Settings, Status};
use schemars::JsonSchema;
use serde::Serialize;
use std::fmt::Write;

/// Name of this program's own search in tables and pictures.
const OURS: &str = Baselines::OURS;

/// A point of the frontier, with a schedule of either program or a plan with copies.
type SweepPoint = FrontierPoint<AnyPlan>;

/// Solves for every budget, writes the requested files, and reports.
///
/// # Errors
/// [`Failure`] for bad input, or files that cannot be written.
pub fn run(arguments: &SweepArguments) -> Result<Exit, Failure> {
    if grid::is_grid(&arguments.instance) {
        return grid::run(arguments);
    }
    grid::check_absent(&arguments.grid)?;
    let mut arguments = arguments.clone();
    let (shards, pipeline) = (&arguments.shards, &arguments.pipeline);
    shards.check_link(pipeline)?;
    let link = pipeline.link.as_ref();
    arguments.instance = shards.applied(&arguments.instance, link, &mut arguments.options)?;
    let arguments = &arguments;
    if arguments.pipeline.is_asked() {
        return super::pipeline::compare::sweep(arguments, &arguments.pipeline);
    }
    let files = Files::tried(
        arguments.json,
        &[&arguments.instance],
        &[
            ("--svg", arguments.svg.as_deref()),
            ("--csv", arguments.csv.as_deref()),
        ],
    )?;
    let (formulation, _) = source::formulation(&arguments.instance, arguments.options.formulation)?;
    let solvable = arguments.options.solvable(formulation)?;
    let instance = &**solvable.instance();
    let plain = source::plain(solvable.formulation())?;
    let settings = arguments.options.settings();
    let interrupted = interrupt::flag();
    let watched = (&*interrupted as &dyn Listener, arguments.quiet);
    let least = match arguments.budgets.trim().strip_prefix(LEAST) {
        None => None,
        Some(_) => Some(least::searched(&solvable, &settings, watched)?),
    };
    let text = match &least {
        Some(least) => {
            let bytes = least.budget_bytes().to_string();
            arguments.budgets.replacen(LEAST, &bytes, 1)
        }
        None => arguments.budgets.clone(),
    };
    let mut budgets = budgets("--budgets", &text, plain.peak_bytes)?;
    budgets.sort_unstable();
    budgets.dedup();
    let folder = PlanFolder::asked(arguments.plans.plans.as_deref(), files)?;
    if let Some(folder) = &folder {
        for budget_bytes in &budgets {
            folder.free(&budget_name(OURS, *budget_bytes))?;
        }
    }
    interrupt::catch(
        "ending with the budgets done so far; once more to end at once",
        arguments.quiet,
    );
    let reporter = Reporter::new(
        arguments.quiet,
        instance.cost_unit().clone(),
        plain.base_cost,
        None,
    );
    let count = budgets.len();
    let watch = |done: usize, p: &_| {
        reporter.update_named(&format!("budget {} of {count}  ", done + 1), p);
    };
    let wanted: Vec<Budget> = budgets.iter().map(|b| Budget::Bytes(*b)).collect();
    let frontier = Frontier::of(solvable.clone(), &wanted)
        .map_err(|e| source::replay_failure(instance.name(), e))?
        .settings(settings.clone())
        .listener(&*interrupted, &watch);
    let points = frontier.run();
    reporter.finish();
    let mut points = points?;
    let others: Vec<Vec<Compared>> = match arguments.no_baselines {
        true => points.iter().map(|_| Vec::new()).collect(),
        false => {
            let _activity = Activity::begin("heuristics at every budget", arguments.quiet);
            let known = Baselines::of(solvable.clone()).for_sweep();
            let budgets = points.par_iter().map(|p| p.budget_bytes);
            let pool = arguments.options.pool()?;
            pool.install(|| budgets.map(|b| known.run(b)).collect())
        }
    };
    // A plan of a heuristic for less memory fits, too.
    let mut known: Vec<_> = (others.iter().flatten())
        .filter_map(|one| one.result.as_ref().ok().cloned())
        .collect();
    if let Some((plan, _)) = least.as_ref().and_then(|least| least.plan.clone()) {
        let replay = plan.replay(instance);
        known.push((
            plan,
            replay.map_err(|e| source::replay_failure(instance.name(), e))?,
        ));
    }
    for point in &mut points {
        for (plan, replay) in &known {
            point.offer(plan.clone(), replay.clone(), settings.gap);
        }
    }
    let write = |point: &SweepPoint| {
        let (folder, plan) = (folder.as_ref()?, point.schedule.as_ref()?);
        let name = budget_name(OURS, point.budget_bytes);
        Some(folder.write(&name, instance, plan, point.budget_bytes))
    };
    let plans: Vec<Option<String>> = points
        .iter()
        .map(|point| write(point).transpose())
        .collect::<Result<_, _>>()?;
    let sweep = Sweep {
        instance,
        solvable: &solvable,
        settings: &settings,
        plain: &plain,
        points: &points,
        others: &others,
        plans: &plans,
        least: least.as_ref(),
    };
    if let Some(path) = &arguments.csv {
        files.write(path, &sweep.csv())?;
    }
    if let Some(path) = &arguments.svg {
        files.write(
            path,
            &tradeoff::draw(&picture(&solvable, &plain, &points, &others))?,
        )?;
    }
    files.print(&if arguments.json {
        sweep.json()
    } else {
        sweep.table()
    })?;
    let infeasible = |p: &SweepPoint| p.status == Status::Infeasible;
    Ok(if points.iter().any(|p| p.schedule.is_some()) {
        Exit::Done
    } else if points.iter().all(infeasible) && points.len() == count {
        Exit::Infeasible
    } else {
        Exit::NoPlan
    })
}

/// Budgets in bytes, from `FROM..TO:COUNT` or a list with commas; errors name the option.
///
/// # Errors
/// [`Failure::Usage`].
pub fn budgets(option: &str, text: &str, plain_bytes: u64) -> Result<Vec<u64>, Failure> {
    let fail = |problem: String| Failure::Usage {
        problem: format!("{option} {text:?}: {problem}"),
        remedy: "write FROM..TO:COUNT, for example 40%..100%:20, or a list such as 5GiB,6GiB"
            .into(),
    };
    let read = text.parse::<Budgets>();
    let read = read.and_then(|budgets| budgets.bytes(plain_bytes));
    read.map_err(|e| fail(e.to_string()))
}

/// The picture of a frontier: plans and bounds of this program, and for each point the other
/// strategies, if any. `plain` is the replay without recomputation.
pub fn picture(
    solvable: &AnySolvable,
    plain: &Replay,
    points: &[FrontierPoint<AnyPlan>],
    others: &[Vec<Compared>],
) -> TradeoffPicture {
    let curve = |name: &'static str| {
        let all = points.iter().zip(others);
        let points = all.filter_map(|(point, others)| {
            let found = others.iter().find(|f| f.name == name)?;
            let replay = found.replay()?;
            (replay.peak_bytes <= point.budget_bytes)
                .then(|| (replay.peak_bytes, replay.overhead_percent()))
        });
        let applies = others.iter().flatten();
        let applies = applies.filter(|f| f.name == name).any(Compared::applies);
        Curve {
            name: name.into(),
            ours: false,
            points: points.collect(),
            without: if applies { "never fits" } else { "n/a" },
        }
    };
    let with_others = others.iter().any(|o| !o.is_empty());
    let names = Baselines::of(solvable.clone()).names().into_iter();
    let mut curves: Vec<Curve> = names.filter(|_| with_others).map(curve).collect();
    curves.push(Curve {
        name: OURS.into(),
        ours: true,
        points: points
            .iter()
            .filter_map(|p| p.replay.as_ref())
            .map(|r| (r.peak_bytes, r.overhead_percent()))
            .collect(),
        without: "nothing found",
    });
    TradeoffPicture {
        title: format!("{}: overhead against memory", solvable.instance().name()),
        link: solvable.link().map(transfers::link),
        curves,
        plain_bytes: plain.peak_bytes,
        bounds: points
            .iter()
            .filter_map(|p| Some((p.budget_bytes, percent(plain, bound(p)?))))
            .collect(),
    }
}

/// Cost over the step without recomputation, in percent.
fn percent(plain: &Replay, cost: u64) -> f64 {
    match plain.base_cost {
        0 => 0.0,
        base => (cost as f64 / base as f64 - 1.0) * 100.0,
    }
}

/// The bound; `None` if no plan exists.
fn bound(point: &SweepPoint) -> Option<u64> {
    (point.status != Status::Infeasible).then_some(point.bound)
}

struct Sweep<'a> {
    instance: &'a Instance,
    solvable: &'a AnySolvable,
    settings: &'a Settings,
    plain: &'a Replay,
    points: &'a [SweepPoint],
    others: &'a [Vec<Compared>],
    /// File of each written plan.
    plans: &'a [Option<String>],
    least: Option<&'a LeastBudget>,
}

impl Sweep<'_> {
    fn table(&self) -> String {
        let mut text = format!(
            "{}: {} nodes, {} and {} without recomputation ({})\n",
            self.instance.name(),
            self.instance.len(),
            remat_report::cost(self.plain.base_cost, self.instance.cost_unit()),
            format_bytes(self.plain.peak_bytes),
            source::plain_words(self.solvable.formulation().semantics())
        );
        let is_linked = self.solvable.is_linked();
        // Writing to a string cannot fail.
        if let Some(link) = self.solvable.link().map(transfers::link) {
            let _ = writeln!(text, "link: {link}");
        }
        text.push('\n');
        let mut heads = vec![("budget", true), ("share", true), ("status", false)];
        heads.extend([("overhead", true), ("bound", true), ("gap", true)]);
        heads.extend(transfers::HEADS.iter().filter(|_| is_linked));
        heads.extend([("seconds", true), ("best heuristic", false)]);
        let mut table = Table::new(&heads);
        for (point, others) in self.points.iter().zip(self.others) {
            let best = others
                .iter()
                .filter(|f| f.fits(point.budget_bytes) == Some(true))
                .filter_map(|f| Some((f.replay()?.makespan, f.name)))
                .min_by_key(|f| f.0);
            let over = |cost: Option<u64>| {
                cost.map_or_else(|| "-".into(), |c| format!("{:.2}%", percent(self.plain, c)))
            };
            let mut row = vec![
                format_bytes(point.budget_bytes),
                format!(
                    "{:.1}%",
                    point.budget_bytes as f64 / self.plain.peak_bytes.max(1) as f64 * 100.0
                ),
                point.status.as_str().into(),
                over(point.cost()),
                over(bound(point)),
                point
                    .gap
                    .map_or_else(|| "-".into(), |g| format!("{:.2}%", g * 100.0)),
            ];
            if is_linked {
                let unit = self.instance.cost_unit();
                row.extend(transfers::cells(unit, point.replay.as_ref()));
            }
            row.push(format!("{:.1}", point.seconds));
            row.extend(best.map(|(cost, name)| {
                let over = percent(self.plain, cost);
                format!("{over:.2}% {name}")
            }));
            table.row(row);
        }
        text += &table.render("  ");
        let written = self.plans.iter().flatten().count();
        if written > 0 {
            let _ = writeln!(text, "\n{} written.", counted(written as u64, "plan"));
        }
        text
    }

    fn csv(&self) -> String {
        let head = "budget_bytes,name,status,cost,overhead_percent,peak_bytes,bound,gap,seconds";
        let is_linked = self.solvable.is_linked();
        let more = if is_linked { transfers::COLUMNS } else { "" };
        let mut text = format!("{head}{more}\n");
        let moved = |replay: Option<&Replay>| match is_linked {
            true => transfers::columns(replay),
            false => String::new(),
        };
        let number = |n: Option<u64>| n.map_or_else(String::new, |n| n.to_string());
        for (point, others) in self.points.iter().zip(self.others) {
            let overhead = point
                .cost()
                .map(|c| format!("{:.4}", percent(self.plain, c)));
            // Writing to a string cannot fail.
            let _ = writeln!(
                text,
                "{},{OURS},{},{},{},{},{},{},{:.3}{}",
                point.budget_bytes,
                point.status.as_str(),
                number(point.cost()),
                overhead.unwrap_or_default(),
                number(point.replay.as_ref().map(|r| r.peak_bytes)),
                number(bound(point)),
                point.gap.map_or_else(String::new, |g| format!("{g:.6}")),
                point.seconds,
                moved(point.replay.as_ref())
            );
            for one in others {
                let (budget, name) = (point.budget_bytes, one.name);
                let fitting = one.replay().filter(|r| r.peak_bytes <= budget);
                let more = moved(fitting);
                let _ = match fitting {
                    Some(r) => writeln!(
                        text,
                        "{budget},{name},fits,{},{:.4},{},,,{more}",
                        r.makespan,
                        r.overhead_percent(),
                        r.peak_bytes
                    ),
                    None if one.applies() => {
                        writeln!(text, "{budget},{name},too large,,,,,,{more}")
                    }
                    None => writeln!(text, "{budget},{name},not applicable,,,,,,{more}"),
                };
            }
        }
        text
    }

    fn json(&self) -> String {
        let is_linked = self.solvable.is_linked();
        let formulation = self.solvable.formulation();
        let points = self.points.iter().zip(self.others).zip(self.plans);
        let points = points.map(|((point, others), plan)| JsonPoint {
            budget_bytes: point.budget_bytes,
            status: point.status.as_str(),
            objective: point.cost(),
            overhead_percent: point.replay.as_ref().map(Replay::overhead_percent),
            peak_memory_bytes: point.replay.as_ref().map(|r| r.peak_bytes),
            bound: bound(point),
            bound_scope: point.bound_scope,
            gap: point.gap,
            seconds: point.seconds,
            offload: is_linked.then(|| TransfersJson::of(point.replay.as_ref())),
            plan: plan.as_deref(),
            infeasible_because: point.infeasible_because.as_deref(),
            baselines: others
                .iter()
                .filter(|f| f.fits(point.budget_bytes) == Some(true))
                .filter_map(|f| {
                    let replay = f.replay()?;
                    Some(JsonBaseline {
                        name: f.name,
                        cost: replay.makespan,
                        peak_memory_bytes: replay.peak_bytes,
                        offload: is_linked.then(|| TransfersJson::of(Some(replay))),
                    })
                })
                .collect(),
        });
        results::json(&SweepJson {
            origin: OriginJson::of(self.instance),
            formulation: formulation.semantics().as_str(),
            layers: LayersJson::of(formulation.layers()),
            base_cost: self.plain.base_cost,
            cost_unit: &self.instance.cost_unit().name,
            plain_peak_bytes: self.plain.peak_bytes,
            search: SearchJson::of(self.settings),
            least_budget: self.least.map(least::json),
            points: points.collect(),
        })
    }
}

/// The object of `remat-bb sweep --json`.
#[derive(Serialize, JsonSchema)]
pub(super) struct SweepJson<'a> {
    #[serde(flatten)]
    origin: OriginJson<'a>,
    /// Integer program whose semantics hold: `checkmate` or `monet`.
    formulation: &'a str,
    /// Runs of equal layers, in the order of the forward pass.
    layers: Vec<LayersJson>,
    /// Cost of the step without recomputation.
    base_cost: u64,
    /// Unit of all costs and times.
    cost_unit: &'a str,
    /// Peak memory without recomputation, in bytes.
    plain_peak_bytes: u64,
    #[serde(flatten)]
    search: SearchJson,
    /// Least budget; null unless the first budget is `least`.
    least_budget: Option<LeastBudgetJson>,
    /// Points of the frontier, one for each budget.
    points: Vec<JsonPoint<'a>>,
}

/// A point of the frontier.
#[derive(Serialize, JsonSchema)]
struct JsonPoint<'a> {
    /// Memory budget in bytes.
    budget_bytes: u64,
    /// `optimal` (within the gap), `feasible`, `infeasible` (proven: no stage schedule fits),
    /// `limit` (no plan in time) or `interrupted`.
    status: &'a str,
    /// Replayed cost of the plan (with `--offload` the makespan); null without a plan.
    objective: Option<u64>,
    /// Cost above `base_cost`, in percent of `base_cost`; null without a plan.
    overhead_percent: Option<f64>,
    /// Replayed peak memory in bytes; null without a plan.
    peak_memory_bytes: Option<u64>,
    /// Proven lower bound on the cost of every plan of `bound_scope`; null if `status` is
    /// `infeasible`.
    bound: Option<u64>,
    /// Plans that the bound covers, as for `solve`.
    bound_scope: &'a str,
    /// `(objective - bound) / objective`; null without a plan.
    gap: Option<f64>,
    /// Time in seconds.
    seconds: f64,
    /// Copies to the host and back; null without `--offload`.
    offload: Option<TransfersJson>,
    /// File of the plan; null unless `--plans` wrote it.
    plan: Option<&'a str>,
    /// Reason in words why no stage schedule fits; null unless `status` is `infeasible`.
    infeasible_because: Option<&'a str>,
    /// Heuristics that fit.
    baselines: Vec<JsonBaseline<'a>>,
}

/// A heuristic that fits.
#[derive(Serialize, JsonSchema)]
struct JsonBaseline<'a> {
    /// Name of the heuristic.
    name: &'a str,
    /// Replayed cost (of a plan that copies: the makespan).
    cost: u64,
    /// Replayed peak memory in bytes.
    peak_memory_bytes: u64,
    /// Copies to the host and back; null without `--offload`.
    offload: Option<TransfersJson>,
}
