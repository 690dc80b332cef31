//! `remat-bb max-batch`

use crate::arguments::MaxBatchArguments;
use crate::failure::{Exit, Failure, note};
use crate::files::{Files, PlanFolder, batch_name};
use crate::progress::Activity;
use crate::{interrupt, source};
use remat_formulations::solve::{
    Answer, AnyPlan, AnySolvable, Baselines, Compared, Largest, MaxBatch, ask_baseline,
    ask_compared, cost_cap,
};
use remat_formulations::{AnyFormulation, strategies};
use remat_instances::Instance;
use remat_instances::budget::{Budget, format_bytes};
use remat_instances::simulate::Replay;
use remat_instances::zoo::{self, ModelSpec, ZooError};
use remat_report::results;
use remat_report::results::SearchJson;
use remat_report::results::VERSION;
use remat_report::transfers::{self, TransfersJson};
use remat_report::{Table, counted};
use remat_search::Settings;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::atomic::Ordering;

/// Name of this program's own search.
const OURS: &str = Baselines::OURS;

/// Searches for the largest batch of each strategy.
///
/// # Errors
/// [`Failure`] for a model that has no batch size, a budget that is no amount, and defects of the
/// solver.
pub fn run(arguments: &MaxBatchArguments) -> Result<Exit, Failure> {
    let fail = |problem: ZooError| Failure::Zoo {
        source_text: arguments.model.clone(),
        problem: Box::new(problem),
    };
    if !arguments.model.starts_with("zoo:") {
        return Err(Failure::Usage {
            problem: format!(
                "{}: the batch size of an instance file cannot be changed",
                arguments.model
            ),
            remedy: "name a model of the zoo, for example zoo:unet; `remat-bb zoo list` shows them"
                .into(),
        });
    }
    let spec: ModelSpec = arguments.model.parse().map_err(fail)?;
    let start = batch_of(&spec).ok_or_else(|| Failure::Usage {
        problem: format!("{}: this model has no parameter batch", arguments.model),
        remedy: "`remat-bb zoo list MODEL` shows a model's parameters".into(),
    })?;
    let budget_bytes = match arguments.budget.parse().map_err(Failure::Budget)? {
        Budget::Bytes(bytes) => bytes,
        Budget::Percent(_) => {
            return Err(Failure::Usage {
                problem: format!(
                    "--budget {:?}: a share of what depends on the batch",
                    arguments.budget
                ),
                remedy: "give an amount, for example 16GiB".into(),
            });
        }
    };
    let build = |batch: u64| -> Result<AnySolvable, Failure> {
        let spec = spec
            .clone()
            .with("batch", &batch.to_string())
            .map_err(fail)?;
        let instance = zoo::build(&spec).map_err(fail)?;
        let formulation = AnyFormulation::suiting(&instance.single_implementation().0);
        arguments.options.solvable(formulation)
    };
    // An impossible link is an error before the search begins.
    if arguments.options.offload.is_some() {
        build(start)?;
    }
    let files = Files::tried(arguments.json, &[], &[])?;
    let folder = PlanFolder::asked(arguments.plans.plans.as_deref(), files)?;
    let search = BatchSearch {
        folder,
        arguments,
        start,
        budget_bytes,
        build: &build,
    };
    let found = search.run()?;
    files.print(&if arguments.json {
        search.json(&found)?
    } else {
        search.table(&found)?
    })?;
    let Some(ours) = found.iter().find(|f| f.name == OURS) else {
        return Ok(Exit::NoPlan);
    };
    Ok(match ours.largest.batch {
        Some(_) => Exit::Done,
        None if ours.largest.is_exact() => Exit::Infeasible,
        None => Exit::NoPlan,
    })
}

/// The batch size of a model: given, or its default.
fn batch_of(spec: &ModelSpec) -> Option<u64> {
    let text = spec.to_string();
    let (_, parameters) = text.split_once('?').unwrap_or((&text, ""));
    let given = parameters.split('&').find_map(|p| p.strip_prefix("batch="));
    if let Some(batch) = given {
        return batch.parse().ok();
    }
    let models = zoo::list();
    let model = models.iter().find(|m| m.name == spec.model())?;
    let parameter = model.parameters.iter().find(|p| p.name == "batch")?;
    parameter.default.parse().ok()
}

/// A strategy's largest batch.
struct LargestBatch {
    name: &'static str,
    largest: Largest,
    /// Replay of its plan, with a link.
    replay: Option<Replay>,
    /// File of its plan, if it was written.
    plan: Option<String>,
}

struct BatchSearch<'a> {
    folder: Option<PlanFolder>,
    arguments: &'a MaxBatchArguments,
    start: u64,
    budget_bytes: u64,
    build: &'a dyn Fn(u64) -> Result<AnySolvable, Failure>,
}

impl BatchSearch<'_> {
    fn is_linked(&self) -> bool {
        self.arguments.options.offload.is_some()
    }

    /// Settings of this program's own search for each batch.
    fn settings(&self) -> Settings {
        Settings {
            time_limit: Some(self.arguments.time_limit),
            ..self.arguments.options.settings()
        }
    }

    /// The heuristics, then this program's search, which starts from the best heuristic's batch.
    fn run(&self) -> Result<Vec<LargestBatch>, Failure> {
        let arguments = self.arguments;
        let mut found = Vec::new();
        let mut best = self.start.min(arguments.most);
        if !arguments.no_baselines {
            let (pool, budget_bytes) = (arguments.options.pool()?, self.budget_bytes);
            // Heuristics with linear programs would take longer than this program's search.
            for baseline in strategies::all().iter().filter(|b| !b.solves_program) {
                let one = self.largest(baseline.name, self.start, |_, solvable, cap| {
                    let formulation = solvable.formulation();
                    let ask = || ask_baseline(formulation, baseline, budget_bytes, cap);
                    let (answer, schedule) = pool.install(ask);
                    Ok((answer, schedule.map(AnyPlan::Schedule)))
                })?;
                best = best.max(one.largest.batch.map_or(1, |b| b.0));
                found.push(one);
            }
            // All strategies of a chain run together, so each batch runs once.
            let mut rows: BTreeMap<u64, Vec<Compared>> = BTreeMap::new();
            for name in self.linked_names()? {
                let one = self.largest(name, self.start, |batch, solvable, cap| {
                    let rows = rows.entry(batch).or_insert_with(|| {
                        let known = Baselines::of(solvable.clone()).for_sweep();
                        pool.install(|| known.run_linked(budget_bytes))
                    });
                    let row = rows.iter().find(|row| row.name == name);
                    let answer = row.map(|row| ask_compared(row, budget_bytes, cap));
                    Ok(answer.unwrap_or((Answer::No, None)))
                })?;
                best = best.max(one.largest.batch.map_or(1, |b| b.0));
                found.push(one);
            }
        }
        interrupt::catch(
            "ending with the largest batch so far; once more to end at once",
            arguments.quiet,
        );
        let flag = interrupt::flag();
        let question = MaxBatch::new(self.budget_bytes)
            .settings(self.settings())
            .listener(&*flag);
        found.push(self.largest(OURS, best, |_, solvable, cap| {
            if flag.load(Ordering::Relaxed) {
                return Ok((Answer::Unknown, None));
            }
            Ok(question.answer(solvable, cap)?)
        })?);
        found.sort_by_key(|f| {
            let batch = f.largest.batch.map_or(0, |b| b.0);
            (std::cmp::Reverse(batch), f.name != OURS)
        });
        Ok(found)
    }

    /// Names of the strategies that copy to the host.
    fn linked_names(&self) -> Result<Vec<&'static str>, Failure> {
        if !self.is_linked() {
            return Ok(Vec::new());
        }
        let names = Baselines::of((self.build)(1)?).names();
        let copies = |name: &&str| strategies::all().iter().all(|known| known.name != *name);
        Ok(names.into_iter().filter(copies).collect())
    }

    /// The largest batch of a strategy; its plan is written if `--plans` requests it.
    fn largest(
        &self,
        name: &'static str,
        start: u64,
        mut ask: impl FnMut(u64, &AnySolvable, u64) -> Result<(Answer, Option<AnyPlan>), Failure>,
    ) -> Result<LargestBatch, Failure> {
        let mut best = None;
        let activity = Activity::begin(name, self.arguments.quiet);
        let largest = Largest::search(start, self.arguments.most, |batch| {
            activity.say(format!("{name}: batch {batch}"));
            let solvable = (self.build)(batch)?;
            let cap = cost_cap(solvable.instance(), self.arguments.overhead);
            let (answer, plan) = ask(batch, &solvable, cap)?;
            if name == OURS {
                let text = format!("batch {batch}: {}", words(&answer));
                note(&text, self.arguments.quiet);
            }
            if matches!(answer, Answer::Yes { .. }) && (self.folder.is_some() || self.is_linked()) {
                best = Some((batch, solvable, plan));
            }
            Ok::<_, Failure>(answer)
        })?;
        let mut one = LargestBatch {
            name,
            largest,
            replay: None,
            plan: None,
        };
        let Some((batch, solvable, plan)) = best else {
            return Ok(one);
        };
        let formulation = solvable.formulation();
        let instance = formulation.instance();
        let fail = |e| source::replay_failure(instance.name(), e);
        let plain = || instance.without_recomputation(formulation.semantics());
        let plan = plan.map_or_else(|| plain().map(AnyPlan::Schedule), Ok);
        let plan = plan.map_err(fail)?;
        if self.is_linked() {
            one.replay = Some(plan.replay(instance).map_err(fail)?);
        }
        if let Some(folder) = &self.folder {
            let name = batch_name(name, batch);
            one.plan = Some(folder.write(&name, instance, &plan, self.budget_bytes)?);
        }
        Ok(one)
    }

    fn table(&self, found: &[LargestBatch]) -> Result<String, Failure> {
        let arguments = self.arguments;
        let mut text = format!(
            "{}: largest batch within {}, {} at most {} forward {}\n",
            arguments.model,
            format_bytes(self.budget_bytes),
            if self.is_linked() {
                "recomputation and waiting for copies"
            } else {
                "recomputation"
            },
            arguments.overhead,
            if arguments.overhead == 1.0 {
                "pass"
            } else {
                "passes"
            }
        );
        // Writing to a string cannot fail.
        if self.is_linked()
            && let Some(link) = (self.build)(1)?.link().map(transfers::link)
        {
            let _ = writeln!(text, "link: {link}");
        }
        text.push('\n');
        let cost = if self.is_linked() { "makespan" } else { "cost" };
        let mut heads = vec![("strategy", false), ("batch", true), ("overhead", true)];
        heads.extend([(cost, true), ("peak", true)]);
        heads.extend(transfers::HEADS.iter().filter(|_| self.is_linked()));
        heads.push(("", false));
        let mut table = Table::new(&heads);
        for one in found {
            let (name, largest) = (&one.name, &one.largest);
            let mut row = vec![(*name).to_owned()];
            match largest.batch {
                Some((batch, cost, peak_bytes)) => {
                    let solvable = (self.build)(batch)?;
                    let instance = solvable.instance();
                    row.push(batch.to_string());
                    row.push(format!("{:.2}%", percent(instance, cost)));
                    row.push(remat_report::cost(cost, instance.cost_unit()));
                    row.push(format_bytes(peak_bytes));
                    if self.is_linked() {
                        row.extend(transfers::cells(instance.cost_unit(), one.replay.as_ref()));
                    }
                }
                None => {
                    row.push("-".into());
                    row.resize(heads.len() - 1, String::new());
                }
            }
            if *name == OURS {
                row.push(self.certainty(largest));
            }
            table.row(row);
        }
        text += &table.render("  ");
        let written = found.iter().filter(|f| f.plan.is_some()).count();
        if written > 0 {
            let _ = writeln!(text, "\n{} written.", counted(written as u64, "plan"));
        }
        Ok(text)
    }

    /// Proof, or lack of a proof, that no larger batch is possible, in words.
    fn certainty(&self, largest: &Largest) -> String {
        match (largest.is_exact(), largest.proven_too_large) {
            (true, _) => "proven: no larger batch".into(),
            (_, Some(batch)) => format!("proven: not {batch}; between them undecided in this time"),
            _ if largest.batch.is_some_and(|b| b.0 == self.arguments.most) => {
                "the most that was asked for".into()
            }
            _ => "larger ones undecided in this time".into(),
        }
    }

    fn json(&self, found: &[LargestBatch]) -> Result<String, Failure> {
        let mut strategies = Vec::new();
        for LargestBatch {
            name,
            largest,
            replay,
            plan,
        } in found
        {
            let overhead_percent = match largest.batch {
                Some((batch, cost, _)) => Some(percent((self.build)(batch)?.instance(), cost)),
                None => None,
            };
            strategies.push(StrategyJson {
                name,
                batch: largest.batch.map(|b| b.0),
                cost: largest.batch.map(|b| b.1),
                overhead_percent,
                peak_memory_bytes: largest.batch.map(|b| b.2),
                offload: (self.is_linked()).then(|| TransfersJson::of(replay.as_ref())),
                exact: largest.is_exact(),
                proven_too_large: largest.proven_too_large.filter(|_| *name == OURS),
                plan: plan.as_deref(),
                asked: largest
                    .asked
                    .iter()
                    .map(|(batch, answer)| AskedJson {
                        batch: *batch,
                        answer: words(answer),
                    })
                    .collect(),
            });
        }
        Ok(results::json(&MaxBatchJson {
            version: VERSION,
            model: &self.arguments.model,
            budget_bytes: self.budget_bytes,
            overhead: self.arguments.overhead,
            search: SearchJson::of(&self.settings()),
            strategies,
        }))
    }
}

fn percent(instance: &Instance, cost: u64) -> f64 {
    match instance.base_cost() {
        0 => 0.0,
        base => (cost as f64 / base as f64 - 1.0) * 100.0,
    }
}

fn words(answer: &Answer) -> &'static str {
    match answer {
        Answer::Yes { .. } => "yes",
        Answer::No => "no",
        Answer::Unknown => "undecided",
    }
}

/// The object of `remat-bb max-batch --json`.
#[derive(Serialize, JsonSchema)]
pub(super) struct MaxBatchJson<'a> {
    /// Version of this program.
    version: &'a str,
    /// Model, as given.
    model: &'a str,
    /// Memory budget in bytes.
    budget_bytes: u64,
    /// Largest cost of recomputation and of waiting for copies, in forward passes.
    overhead: f64,
    #[serde(flatten)]
    search: SearchJson,
    /// Strategies, the one with the largest batch first.
    strategies: Vec<StrategyJson<'a>>,
}

/// A strategy and its largest batch.
#[derive(Serialize, JsonSchema)]
struct StrategyJson<'a> {
    /// Name of the strategy.
    name: &'a str,
    /// Largest batch with a plan; null if not even batch 1 has one.
    batch: Option<u64>,
    /// Cost of its plan (with `--offload` the makespan); null without a plan.
    cost: Option<u64>,
    /// Cost above the step without recomputation, in percent of that step; null without a plan.
    overhead_percent: Option<f64>,
    /// Peak memory of its plan in bytes; null without a plan.
    peak_memory_bytes: Option<u64>,
    /// Copies to the host and back; null without `--offload`.
    offload: Option<TransfersJson>,
    /// True if the strategy can train no larger batch.
    exact: bool,
    /// Smallest batch that is proven too large; null without a proof, and for heuristics.
    proven_too_large: Option<u64>,
    /// File of the plan; null unless `--plans` wrote it.
    plan: Option<&'a str>,
    /// Batches that were tried, in order.
    asked: Vec<AskedJson>,
}

/// A batch that was tried.
#[derive(Serialize, JsonSchema)]
struct AskedJson {
    /// Batch size.
    batch: u64,
    /// `yes`, `no` or `undecided`.
    answer: &'static str,
}
