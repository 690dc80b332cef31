//! `remat-bb baselines`

use super::baselines_memory;
use crate::arguments::BaselinesArguments;
use crate::failure::{Exit, Failure};
use crate::files::{Files, PlanFolder, budget_name};
use crate::progress::Activity;
use crate::{interrupt, source};
use rayon::prelude::*;
use remat_formulations::solve::{AnySolvable, Baselines, Compared};
use remat_formulations::strategies;
use remat_instances::Instance;
use remat_instances::budget::format_bytes;
use remat_instances::simulate::Replay;
use remat_report::draw::bars::{self, Bar};
use remat_report::results;
use remat_report::results::{OriginJson, SearchJson};
use remat_report::transfers::{self, TransfersJson};
use remat_report::{Table, counted};
use remat_search::Settings;
use schemars::JsonSchema;
use serde::Serialize;
use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Name of this program's own search in tables and pictures.
const OURS: &str = Baselines::OURS;

/// Runs all heuristics at the budget, and over a sweep if its file is requested.
///
/// # Errors
/// [`Failure`] for bad input and files that cannot be written.
pub fn run(arguments: &BaselinesArguments) -> Result<Exit, Failure> {
    let mut arguments = arguments.clone();
    let (shards, pipeline) = (&arguments.shards, &arguments.pipeline);
    shards.check_link(pipeline)?;
    let link = pipeline.link.as_ref();
    arguments.instance = shards.applied(&arguments.instance, link, &mut arguments.options)?;
    let arguments = &arguments;
    interrupt::catch(
        "ending with the results so far; once more to end at once",
        false,
    );
    if arguments.pipeline.is_asked() {
        return super::pipeline::compare::compare(arguments, &arguments.pipeline);
    }
    if let Some(exit) = baselines_memory::run(arguments)? {
        return Ok(exit);
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
    let Some(budget) = &arguments.budget else {
        return Err(Failure::Usage {
            problem: format!(
                "baselines of the instance {} need a budget",
                instance.name()
            ),
            remedy: "add --budget, for example --budget 60%".into(),
        });
    };
    let budget_bytes = source::budget(budget, plain.peak_bytes)?;
    let folder = PlanFolder::asked(arguments.plans.plans.as_deref(), files)?;
    let flag = interrupt::flag();
    let activity = Arc::new(Activity::begin("heuristics", false));
    let line = Arc::downgrade(&activity);
    let count = AtomicUsize::new(0);
    let total = strategies::all().len();
    let known = Baselines::of(solvable.clone()).until_set(flag.clone());
    let known = known.each_done(move |name| {
        let done = count.fetch_add(1, Ordering::Relaxed) + 1;
        if let Some(line) = line.upgrade() {
            line.say(format!("heuristics: {done} of {total} done, {name} last"));
        }
    });
    let ours = (!arguments.time_limit.is_zero()).then_some(OURS);
    let names: Vec<&'static str> = known.names().into_iter().chain(ours).collect();
    if let Some(folder) = &folder {
        for name in &names {
            folder.free(&budget_name(name, budget_bytes))?;
        }
    }
    // Settings of this program's own search.
    let settings = Settings {
        time_limit: Some(arguments.time_limit),
        ..arguments.options.settings().without_overtime()
    };
    let pool = arguments.options.pool()?;
    let mut at_budget = pool.install(|| known.run(budget_bytes));
    if ours.is_some() {
        activity.say("the own search".into());
        at_budget.push(known.ours(budget_bytes, &settings, &*flag));
    }
    drop(activity);
    at_budget.sort_by_key(|r| r.rank(budget_bytes));
    let plans = written(folder.as_ref(), instance, &at_budget, budget_bytes)?;
    let comparison = Comparison {
        solvable: &solvable,
        settings: &settings,
        budget_bytes,
        plain: &plain,
        found: &at_budget,
        plans: &plans,
    };
    files.print(&if arguments.json {
        comparison.json()
    } else {
        comparison.table()
    })?;
    let exit = comparison.exit();
    let written = arguments.svg.as_ref().map(|path| {
        let picture = picture(instance.name(), &at_budget, budget_bytes)?;
        files.write(path, &picture)
    });
    written.transpose()?;
    let Some(path) = &arguments.csv else {
        return Ok(exit);
    };
    let _activity = Activity::begin("all strategies at every budget", false);
    let known = known.for_sweep();
    let mut sweep = pool.install(|| sweep(&known, plain.peak_bytes, arguments.points));
    if ours.is_some() {
        // The search has threads of its own.
        for (budget_bytes, found) in &mut sweep {
            found.push(known.ours(*budget_bytes, &settings, &*flag));
        }
    }
    files.write(path, &csv(&sweep, solvable.is_linked()))?;
    Ok(exit)
}

/// The picture of the best strategies at the budget, from a ranked list.
fn picture(name: &str, ranked: &[Compared], budget_bytes: u64) -> Result<String, Failure> {
    let fit = |one: &&Compared| one.fits(budget_bytes) == Some(true);
    let fitting: Vec<&Compared> = ranked.iter().filter(fit).collect();
    let bar = |one: &&Compared| {
        let replay = one.replay()?;
        Some(Bar {
            name: one.name.into(),
            ours: one.name == OURS,
            overhead_percent: replay.overhead_percent(),
            peak_bytes: replay.peak_bytes,
        })
    };
    let bars: Vec<Bar> = fitting.iter().take(bars::BARS).filter_map(bar).collect();
    let above = ranked
        .iter()
        .filter(|one| one.fits(budget_bytes) == Some(false));
    let left_out = [fitting.len() - bars.len(), above.count()];
    let title = format!("{name}: extra cost within {}", format_bytes(budget_bytes));
    Ok(bars::draw(&title, &bars, left_out)?)
}

/// Writes the plans that fit to a folder, if there is one; returns the file of each.
fn written(
    folder: Option<&PlanFolder>,
    instance: &Instance,
    at_budget: &[Compared],
    budget_bytes: u64,
) -> Result<Vec<Option<String>>, Failure> {
    let write = |one: &Compared| match (folder, &one.result, one.fits(budget_bytes)) {
        (Some(folder), Ok((found, _)), Some(true)) => {
            let name = budget_name(one.name, budget_bytes);
            let file = folder.write(&name, instance, found, budget_bytes)?;
            Ok(Some(file))
        }
        _ => Ok(None),
    };
    at_budget.iter().map(write).collect()
}

/// Results of the heuristics at each budget, from their least peak to the peak without
/// recomputation.
fn sweep(known: &Baselines, plain_bytes: u64, points: u16) -> Vec<(u64, Vec<Compared>)> {
    let least = known.run(0);
    let least = least.iter().filter_map(Compared::replay);
    let least = least.map(|r| r.peak_bytes).min().unwrap_or(0);
    let last = u64::from(points) - 1;
    let span = plain_bytes.saturating_sub(least);
    let budgets: Vec<u64> = (0..=last)
        .map(|k| least + (u128::from(span) * u128::from(k) / u128::from(last.max(1))) as u64)
        .collect();
    budgets.par_iter().map(|b| (*b, known.run(*b))).collect()
}

/// The sweep as CSV; with a link `cost` is the makespan, beside idle time and bytes.
fn csv(sweep: &[(u64, Vec<Compared>)], is_linked: bool) -> String {
    let head = "budget_bytes,name,fits,cost,overhead_percent,peak_bytes";
    let more = if is_linked { transfers::COLUMNS } else { "" };
    let mut text = format!("{head}{more}\n");
    for (budget_bytes, found) in sweep {
        for one in found {
            // Writing to a string cannot fail.
            let more = match is_linked {
                true => transfers::columns(one.replay()),
                false => String::new(),
            };
            let _ = match &one.result {
                Ok((_, r)) => writeln!(
                    text,
                    "{budget_bytes},{},{},{},{:.4},{}{more}",
                    one.name,
                    r.peak_bytes <= *budget_bytes,
                    r.makespan,
                    r.overhead_percent(),
                    r.peak_bytes
                ),
                Err(_) => writeln!(text, "{budget_bytes},{},false,,,{more}", one.name),
            };
        }
    }
    text
}

/// Results at the budget.
struct Comparison<'a> {
    solvable: &'a AnySolvable,
    settings: &'a Settings,
    budget_bytes: u64,
    plain: &'a Replay,
    found: &'a [Compared],
    /// File of each written plan.
    plans: &'a [Option<String>],
}

impl Comparison<'_> {
    fn fits(&self, one: &Compared) -> bool {
        one.fits(self.budget_bytes) == Some(true)
    }

    /// Reason why no stage schedule fits, if that is proven.
    fn infeasible_because(&self) -> Option<String> {
        let ours = self.found.iter().find(|one| one.infeasible);
        let reason = ours.and_then(|one| one.result.as_ref().err().cloned());
        reason.or_else(|| self.solvable.too_small(self.budget_bytes))
    }

    fn exit(&self) -> Exit {
        match self.infeasible_because() {
            _ if self.found.iter().any(|one| self.fits(one)) => Exit::Done,
            Some(_) => Exit::Infeasible,
            None => Exit::NoPlan,
        }
    }

    fn table(&self) -> String {
        let formulation = self.solvable.formulation();
        let (instance, semantics) = (formulation.instance(), formulation.semantics());
        let is_linked = self.solvable.is_linked();
        let mut text = format!(
            "{}: {} nodes, budget {} ({})\n",
            instance.name(),
            instance.len(),
            format_bytes(self.budget_bytes),
            source::share_of_plain(self.budget_bytes, self.plain, semantics),
        );
        // Writing to a string cannot fail.
        if let Some(link) = self.solvable.link().map(transfers::link) {
            let _ = writeln!(text, "link: {link}");
        }
        text.push('\n');
        let cost = if is_linked { "makespan" } else { "cost" };
        let mut heads = vec![("strategy", false), ("fits", false), ("overhead", true)];
        heads.extend([(cost, true), ("peak", true)]);
        heads.extend(transfers::HEADS.iter().filter(|_| is_linked));
        heads.push(("", false));
        let mut table = Table::new(&heads);
        for one in self.found {
            let mut row = vec![one.name.to_owned()];
            match &one.result {
                Ok((_, r)) => {
                    row.push(if self.fits(one) { "yes" } else { "no" }.into());
                    row.push(format!("{:.2}%", r.overhead_percent()));
                    row.push(remat_report::cost(r.makespan, instance.cost_unit()));
                    row.push(format_bytes(r.peak_bytes));
                    if is_linked {
                        row.extend(transfers::cells(instance.cost_unit(), Some(r)));
                    }
                }
                Err(reason) => {
                    row.push("-".into());
                    row.resize(heads.len() - 1, String::new());
                    row.push(reason.clone());
                }
            }
            table.row(row);
        }
        text += &table.render("  ");
        if let Some(reason) = self.infeasible_because() {
            let _ = writeln!(text, "\nNo stage schedule fits: {reason}.");
        }
        let written = self.plans.iter().flatten().count();
        if written > 0 {
            let _ = writeln!(text, "\n{} written.", counted(written as u64, "plan"));
        }
        text
    }

    fn json(&self) -> String {
        let formulation = self.solvable.formulation();
        let instance = formulation.instance();
        let strategies = self.found.iter().zip(self.plans).map(|(one, plan)| {
            let replay = one.replay();
            BaselineJson {
                name: one.name,
                fits: self.fits(one),
                cost: replay.map(|r| r.makespan),
                overhead_percent: replay.map(Replay::overhead_percent),
                peak_memory_bytes: replay.map(|r| r.peak_bytes),
                offload: (self.solvable.is_linked()).then(|| TransfersJson::of(replay)),
                plan: plan.as_deref(),
                not_applicable_because: one.result.as_ref().err().map(String::as_str),
            }
        });
        results::json(&BaselinesJson {
            origin: OriginJson::of(instance),
            formulation: formulation.semantics().as_str(),
            budget_bytes: self.budget_bytes,
            plain_peak_bytes: self.plain.peak_bytes,
            base_cost: self.plain.base_cost,
            cost_unit: &instance.cost_unit().name,
            infeasible_because: self.infeasible_because(),
            search: SearchJson::of(self.settings),
            strategies: strategies.collect(),
        })
    }
}

/// The object of `remat-bb baselines --json`, for an instance.
#[derive(Serialize, JsonSchema)]
pub(super) struct BaselinesJson<'a> {
    #[serde(flatten)]
    origin: OriginJson<'a>,
    /// Integer program whose semantics hold: `checkmate` or `monet`.
    formulation: &'a str,
    /// Memory budget in bytes.
    budget_bytes: u64,
    /// Peak memory without recomputation, in bytes.
    plain_peak_bytes: u64,
    /// Cost of the step without recomputation.
    base_cost: u64,
    /// Unit of all costs and times.
    cost_unit: &'a str,
    /// Reason in words why no stage schedule in the given order fits; null without a proof.
    infeasible_because: Option<String>,
    #[serde(flatten)]
    search: SearchJson,
    /// Strategies: those that fit first, by cost.
    strategies: Vec<BaselineJson<'a>>,
}

/// A strategy.
#[derive(Serialize, JsonSchema)]
struct BaselineJson<'a> {
    /// Name of the strategy.
    name: &'a str,
    /// True if the peak is within the budget.
    fits: bool,
    /// Replayed cost (of a plan that copies: the makespan); null without a plan.
    cost: Option<u64>,
    /// Cost above `base_cost`, in percent of `base_cost`; null without a plan.
    overhead_percent: Option<f64>,
    /// Replayed peak memory in bytes; null without a plan.
    peak_memory_bytes: Option<u64>,
    /// Copies to the host and back; null without `--offload`.
    offload: Option<TransfersJson>,
    /// File of the plan; null unless `--plans` wrote it.
    plan: Option<&'a str>,
    /// Reason why the strategy has no plan; null with a plan.
    not_applicable_because: Option<&'a str>,
}
