//! `remat-bb show`

use super::{show_memory, show_pipeline, show_viewers, verify};
use crate::arguments::ShowArguments;
use crate::failure::{Exit, Failure};
use crate::files::{Files, input_name};
use crate::source;
use remat_instances::budget::format_bytes;
use remat_instances::explain::{self, Explanation};
use remat_instances::instance::NodeId;
use remat_instances::plan::{Plan, PlanAddresses, Register, Step};
use remat_instances::simulate::{CopySpan, Replay};
use remat_instances::{Instance, NodeId as Id};
use remat_report::draw::memory::{self, MemoryPicture};
use remat_report::draw::{addresses, schedule, style};
use remat_report::results;
use remat_report::results::{Arena, ArenaJson, OriginJson};
use remat_report::{ReplayJson, Table, counted, snapshot, steps_csv, trace, transfers};
use schemars::JsonSchema;
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Maximum number of rows of a list.
const ROWS: usize = 8;
/// Maximum number of rows of the list of copies.
const COPY_ROWS: usize = 16;

/// Describes the subject, and draws the requested pictures.
///
/// # Errors
/// [`Failure`] for bad input and files that cannot be written.
pub fn run(arguments: &ShowArguments) -> Result<Exit, Failure> {
    show_viewers::check(arguments)?;
    if let Some(exit) = show_memory::run(arguments)? {
        return Ok(exit);
    }
    if let Some(exit) = show_pipeline::run(arguments)? {
        return Ok(exit);
    }
    let plan = arguments.plan.iter().map(PathBuf::as_path);
    let inputs: Vec<&Path> = plan.chain([arguments.instance.as_path()]).collect();
    let pictures = [
        ("--svg", arguments.svg.as_deref()),
        ("--svg-schedule", arguments.svg_schedule.as_deref()),
        ("--svg-memory", arguments.svg_memory.as_deref()),
        ("--svg-addresses", arguments.svg_addresses.as_deref()),
    ];
    let outputs = [&pictures[..], &show_viewers::outputs(arguments)].concat();
    let files = Files::tried(arguments.json, &inputs, &outputs)?;
    let subject = Subject::load(arguments)?;
    let (instance, plan) = (&subject.instance, &subject.plan);
    let what = if arguments.plan.is_some() {
        "plan"
    } else {
        "no recomputation"
    };
    if let Some(path) = &arguments.svg_schedule {
        let title = format!("{}: what is computed and kept ({what})", instance.name());
        files.write(path, &schedule::draw(instance, plan, &title)?)?;
    }
    let has_addresses = subject.addresses.is_some();
    let suiting = |wanted: bool| {
        arguments
            .svg
            .iter()
            .filter(move |_| wanted == has_addresses)
    };
    for path in arguments.svg_memory.iter().chain(suiting(false)) {
        let picture = MemoryPicture {
            instance,
            semantics: plan.semantics,
            replay: &subject.told.replay,
            plain: arguments.plan.is_some().then_some(&subject.plain),
            measured: None,
            budget_bytes: subject.budget_bytes,
            title: format!(
                "{}: memory over one training step ({what})",
                instance.name()
            ),
        };
        files.write(path, &memory::draw(&picture)?)?;
    }
    for path in arguments.svg_addresses.iter().chain(suiting(true)) {
        files.write(path, &subject.addresses_picture()?)?;
    }
    subject.viewers(&files, arguments)?;
    files.print(&if arguments.json {
        subject.json()
    } else if arguments.statements {
        plan.display(instance).to_string()
    } else {
        subject.describe(arguments.plan.is_some())
    })?;
    Ok(Exit::Done)
}

/// Instance and plan, with their replays.
struct Subject {
    instance: Instance,
    /// The instance with its given link.
    given: Instance,
    plan: Plan,
    told: Explanation,
    plain: Replay,
    budget_bytes: Option<u64>,
    addresses: Option<PlanAddresses>,
    arena: Option<Arena>,
}

impl Subject {
    fn load(arguments: &ShowArguments) -> Result<Self, Failure> {
        let mut arena = None;
        let mut addresses = None;
        let (given, instance, plan, recorded) = match &arguments.plan {
            Some(path) => {
                let found = source::replayed(&arguments.instance, path)?;
                let given = found.given().into_owned();
                arena = verify::arena(&found, &input_name(path))?;
                addresses = found.addresses;
                (given, found.instance, found.plan, found.budget_bytes)
            }
            None => {
                let wanted = arguments.program.formulation;
                let (formulation, _) = source::formulation(&arguments.instance, wanted)?;
                let instance = &**formulation.instance();
                let plain = instance.without_recomputation(formulation.semantics());
                let plan = plain.and_then(|plain| plain.plan(instance));
                let plan =
                    plan.map_err(|e| source::replay_failure(&input_name(&arguments.instance), e))?;
                (instance.clone(), instance.clone(), plan, None)
            }
        };
        let told = explain::explain(&instance, &plan)
            .map_err(|e| source::replay_failure(&input_name(&arguments.instance), e))?;
        let plain = source::plain_replay(&instance, plan.semantics)?;
        let budget_bytes = match &arguments.budget {
            Some(text) => Some(source::budget(text, plain.peak_bytes)?),
            None => recorded,
        };
        Ok(Subject {
            instance,
            given,
            plan,
            told,
            plain,
            budget_bytes,
            addresses,
            arena,
        })
    }

    /// Writes the files for viewers.
    fn viewers(&self, files: &Files, arguments: &ShowArguments) -> Result<(), Failure> {
        let (instance, plan, replay) = (&self.instance, &self.plan, &self.told.replay);
        let name = arguments.plan.as_deref().unwrap_or(&arguments.instance);
        let failed = |e| source::replay_failure(&input_name(name), e);
        let addresses = self.addresses.as_ref();
        let budget = self.budget_bytes;
        let contents = show_viewers::Contents {
            trace: || trace::of_plan(instance, plan, replay, budget).map_err(failed),
            snapshot: || snapshot::of_plan(instance, plan, replay, addresses).map_err(failed),
            csv: || steps_csv::of_plan(instance, plan, replay),
        };
        show_viewers::write(files, arguments, contents)
    }

    /// Addresses over time.
    fn addresses_picture(&self) -> Result<String, Failure> {
        let missing = || Failure::Usage {
            problem: "--svg-addresses: the plan has no addresses".into(),
            remedy: "give it some: remat-bb place INSTANCE PLAN --out PLACED.json".into(),
        };
        let found = self.addresses.as_ref().ok_or_else(missing)?;
        let lives = found.replay(&self.instance, &self.plan);
        let lives = lives.map_err(style::failed)?;
        let title = format!("{}: addresses over one training step", self.instance.name());
        Ok(addresses::draw(&lives, &found.placement(), &title)?)
    }

    fn describe(&self, with_plan: bool) -> String {
        let (instance, replay) = (&self.instance, &self.told.replay);
        let unit = instance.cost_unit();
        let backward = instance.nodes().iter().filter(|v| v.is_backward()).count();
        let tensors: u64 = instance.nodes().iter().map(|v| v.output_bytes).sum();
        let semantics = self.plan.semantics;
        let mut out = format!(
            "{}: {} nodes, {backward} of them backward\n  tensors   {} in all, {} fixed (parameters, input, parameter gradients)\n  plain     {} a step, peak {} at {}, without recomputation: {}\n",
            instance.name(),
            instance.len(),
            format_bytes(tensors),
            format_bytes(instance.static_bytes()),
            remat_report::cost(self.plain.cost, unit),
            format_bytes(self.plain.peak_bytes),
            remat_report::moment(instance, &self.plain),
            source::plain_words(semantics),
        );
        if with_plan {
            // Writing to a string cannot fail.
            let _ = writeln!(
                out,
                "  plan      {} a step ({:+.2}%), peak {} at {}; {}",
                remat_report::cost(replay.makespan, unit),
                replay.overhead_percent(),
                format_bytes(replay.peak_bytes),
                remat_report::moment(instance, replay),
                counted(self.plan.steps.len() as u64, "statement")
            );
            if let Some(waiting) = remat_report::waiting(instance, replay) {
                let _ = writeln!(out, "  waiting   {waiting}");
            }
        }
        let copies = transfers::lines(instance, replay);
        if let Some([step, ..]) = &copies {
            let _ = writeln!(out, "            {step}");
        }
        if let Some(arena) = &self.arena {
            let _ = writeln!(out, "  arena     {}", arena.words(self.budget_bytes));
        }
        if let Some([_, host, link]) = &copies {
            let _ = writeln!(out, "  host      {host}\n  link      {link}");
        }
        if let Some(budget) = self.budget_bytes {
            let fits = if replay.peak_bytes <= budget {
                "kept"
            } else {
                "exceeded"
            };
            let share = source::share_of_plain(budget, &self.plain, semantics);
            let _ = writeln!(
                out,
                "  budget    {} ({share}), {fits}",
                format_bytes(budget)
            );
        }
        let all: Vec<Id> = instance.ids().collect();
        out += &self.tensors("largest tensors", all);
        let live = live_at_peak(&self.plan, replay);
        let name = remat_report::moment(instance, replay);
        let heading = format!("in memory at the peak, while {name} runs");
        out += &self.tensors(&heading, live);
        out += &self.recomputed();
        out += &self.copied();
        out
    }

    /// Tensors, the largest first.
    fn by_size(&self, mut list: Vec<NodeId>) -> Vec<NodeId> {
        let instance = &self.instance;
        list.sort_by_key(|id| (std::cmp::Reverse(instance.node(*id).output_bytes), *id));
        list
    }

    /// A table of tensors, the largest first.
    fn tensors(&self, heading: &str, list: Vec<NodeId>) -> String {
        let instance = &self.instance;
        let list = self.by_size(list);
        let total: u64 = list.iter().map(|id| instance.node(*id).output_bytes).sum();
        let mut table = Table::new(&[
            ("", false),
            ("size", true),
            ("operator", false),
            ("shape", false),
        ]);
        for id in list.iter().take(ROWS) {
            let node = instance.node(*id);
            let shape: Vec<String> = node.shape.iter().map(u64::to_string).collect();
            table.row(vec![
                node.name.to_string(),
                format_bytes(node.output_bytes),
                node.op.to_string(),
                shape.join("x"),
            ]);
        }
        let mut text = format!(
            "\n{heading} ({}, {})\n",
            counted(list.len() as u64, "tensor"),
            format_bytes(total)
        );
        text += table
            .render("  ")
            .split_once('\n')
            .map_or("", |(_, rows)| rows);
        if list.len() > ROWS {
            let _ = writeln!(text, "  ... and {} more", list.len() - ROWS);
        }
        text
    }

    fn recomputed(&self) -> String {
        let stories = &self.told.stories;
        if stories.is_empty() {
            return "\nnothing is computed again\n".into();
        }
        let runs: usize = stories.iter().map(|s| s.recomputations).sum();
        let mut text = format!(
            "\ncomputed again: {}, {} in all; the dearest\n",
            counted(stories.len() as u64, "node"),
            counted(runs as u64, "time")
        );
        let mut table = Table::new(&[("", false), ("", true), ("", true), ("", false)]);
        for story in stories.iter().take(ROWS) {
            let node = self.instance.node(story.node);
            table.row(vec![
                node.name.to_string(),
                format!("{}x", story.recomputations),
                remat_report::cost(story.cost, self.instance.cost_unit()),
                node.op.to_string(),
            ]);
        }
        text += table
            .render("  ")
            .split_once('\n')
            .map_or("", |(_, rows)| rows);
        if stories.len() > ROWS {
            let _ = writeln!(text, "  ... and {} more", stories.len() - ROWS);
        }
        let histogram = |times: usize| stories.iter().filter(|s| s.recomputations == times).count();
        let most = stories.iter().map(|s| s.recomputations).max().unwrap_or(0);
        let spread: Vec<String> = (1..=most)
            .filter(|k| histogram(*k) > 0)
            .map(|k| format!("{} {k}x", counted(histogram(k) as u64, "node")))
            .collect();
        let _ = writeln!(text, "  ({})", spread.join(", "));
        text
    }

    /// Copies in order of time; a copy back has the node that reads it. Of many copies, the ones
    /// that computations wait for and the largest are listed.
    fn copied(&self) -> String {
        let (instance, replay) = (&self.instance, &self.told.replay);
        let spans = &replay.transfers.spans;
        if spans.is_empty() {
            return String::new();
        }
        let time = |time| remat_report::cost(time, instance.cost_unit());
        let mut spans: Vec<&CopySpan> = spans.iter().collect();
        let all = spans.len();
        let bytes = |span: &CopySpan| instance.node(span.node).output_bytes;
        spans.sort_by_key(|span| (Reverse(span.idle), Reverse(bytes(span)), span.node));
        spans.truncate(COPY_ROWS);
        spans.sort_by_key(|span| span.begin);
        let mut table = Table::new(&[
            ("", false),
            ("", true),
            ("", false),
            ("", true),
            ("", false),
            ("", true),
            ("", false),
        ]);
        for span in &spans {
            let node = instance.node(span.node);
            let mut words = Vec::new();
            if let Some(reader) = self.told.order.get(span.awaited).filter(|_| !span.to_host) {
                words.push(format!("for {}", instance.node(*reader).name));
            }
            if span.idle > 0 {
                words.push(format!("computations wait {}", time(span.idle)));
            }
            table.row(vec![
                node.name.to_string(),
                format_bytes(node.output_bytes),
                if span.to_host { "to the host" } else { "back" }.into(),
                time(span.begin),
                "to".into(),
                time(span.end),
                words.join("; "),
            ]);
        }
        let mut text = format!(
            "\ncopied to the host and back: {} in order of time\n",
            match all {
                1 => "1 copy".into(),
                n if n > COPY_ROWS => {
                    format!("{n} copies, those that computations wait for and the largest")
                }
                n => format!("{n} copies"),
            }
        );
        text += table
            .render("  ")
            .split_once('\n')
            .map_or("", |(_, rows)| rows);
        if all > COPY_ROWS {
            let _ = writeln!(text, "  ... and {} more", all - COPY_ROWS);
        }
        text
    }

    fn json(&self) -> String {
        let (instance, replay) = (&self.instance, &self.told.replay);
        let tensor = |id: NodeId| {
            let node = instance.node(id);
            TensorJson {
                node: &node.name,
                operator: &node.op,
                shape: &node.shape,
                bytes: node.output_bytes,
            }
        };
        let recomputed = self.told.stories.iter().map(|story| RecomputedJson {
            node: &instance.node(story.node).name,
            times: story.recomputations,
            cost: story.cost,
        });
        let copies = replay.transfers.spans.iter().map(|span| CopyJson {
            node: &instance.node(span.node).name,
            bytes: instance.node(span.node).output_bytes,
            to_host: span.to_host,
            begin: span.begin,
            end: span.end,
            idle: span.idle,
        });
        let live = self.by_size(live_at_peak(&self.plan, replay));
        results::json(&ShowJson {
            origin: OriginJson::of(&self.given),
            semantics: self.plan.semantics.as_str(),
            nodes: instance.len(),
            backward_nodes: instance.nodes().iter().filter(|v| v.is_backward()).count(),
            fixed_bytes: instance.static_bytes(),
            replay: ReplayJson::of(instance, replay),
            plain_peak_bytes: self.plain.peak_bytes,
            budget_bytes: self.budget_bytes,
            statements: self.plan.steps.len(),
            tensors: instance.ids().map(tensor).collect(),
            at_peak: live
                .into_iter()
                .map(|id| &*instance.node(id).name)
                .collect(),
            recomputed: recomputed.collect(),
            copies: copies.collect(),
            arena: self.arena.as_ref().map(Arena::json).unwrap_or_default(),
        })
    }
}

/// The object of `remat-bb show --json`, for an instance or a plan.
#[derive(Serialize, JsonSchema)]
pub(super) struct ShowJson<'a> {
    #[serde(flatten)]
    origin: OriginJson<'a>,
    /// Integer program whose semantics hold: `checkmate` or `monet`.
    semantics: &'a str,
    /// Number of nodes.
    nodes: usize,
    /// Number of backward nodes.
    backward_nodes: usize,
    /// Fixed memory in bytes: parameters, input and parameter gradients.
    fixed_bytes: u64,
    #[serde(flatten)]
    replay: ReplayJson<'a>,
    /// Peak memory without recomputation, in bytes.
    plain_peak_bytes: u64,
    /// Memory budget in bytes, from `--budget` or the plan; null without one.
    budget_bytes: Option<u64>,
    /// Number of statements of the plan.
    statements: usize,
    /// Outputs of all nodes.
    tensors: Vec<TensorJson<'a>>,
    /// Nodes whose outputs are in memory at the peak, the largest first.
    at_peak: Vec<&'a str>,
    /// Recomputed nodes, the most expensive first.
    recomputed: Vec<RecomputedJson<'a>>,
    /// Copies to the host and back.
    copies: Vec<CopyJson<'a>>,
    #[serde(flatten)]
    arena: ArenaJson,
}

/// A copy.
#[derive(Serialize, JsonSchema)]
struct CopyJson<'a> {
    /// Node whose output is copied.
    node: &'a str,
    /// Size in bytes.
    bytes: u64,
    /// True for a copy to the host, false for a copy back.
    to_host: bool,
    /// Begin, in the unit of costs.
    begin: u64,
    /// End, in the unit of costs.
    end: u64,
    /// Time that computations wait for this copy, in the unit of costs.
    idle: u64,
}

/// The output of a node.
#[derive(Serialize, JsonSchema)]
struct TensorJson<'a> {
    /// Name of the node.
    node: &'a str,
    /// Name of its operator.
    operator: &'a str,
    /// Shape of its output.
    shape: &'a [u64],
    /// Size of its output in bytes.
    bytes: u64,
}

/// A recomputed node.
#[derive(Serialize, JsonSchema)]
struct RecomputedJson<'a> {
    /// Name of the node.
    node: &'a str,
    /// Number of recomputations.
    times: usize,
    /// Cost of all its recomputations.
    cost: u64,
}

/// Tensors in registers at the peak: while a node runs, with its output, or at a statement about a
/// copy, with the register that the copy fills.
fn live_at_peak(plan: &Plan, replay: &Replay) -> Vec<NodeId> {
    let mut points = replay.timeline.iter();
    let peak = points.position(|p| p.bytes == replay.peak_bytes);
    let mut copies = replay.transfers.moments.iter();
    let copy = copies.find(|moment| moment.bytes == replay.peak_bytes);
    let copy = copy.map(|moment| moment.statement);
    let mut live: BTreeMap<Register, NodeId> = BTreeMap::new();
    let mut run = 0;
    for (at, step) in plan.steps.iter().enumerate() {
        match *step {
            Step::Allocate { register, node } => {
                live.insert(register, node);
            }
            Step::Offload { .. }
            | Step::Wait { .. }
            | Step::Prefetch { .. }
            | Step::Gather { .. }
            | Step::Scatter { .. } => {
                if peak.is_none() && Some(at) == copy {
                    return live.into_values().collect();
                }
            }
            Step::Release { .. } => {}
            Step::Compute { node, register, .. } => {
                let overwritten = live.insert(register, node).filter(|held| *held != node);
                if Some(run) == peak {
                    return live.into_values().chain(overwritten).collect();
                }
                run += 1;
            }
            Step::Deallocate { register } => {
                live.remove(&register);
            }
        }
    }
    Vec::new()
}
