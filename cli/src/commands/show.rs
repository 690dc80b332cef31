//! `remat-bb show`

use crate::arguments::ShowArguments;
use crate::draw::memory::{self, MemoryPicture};
use crate::draw::schedule;
use crate::failure::{Exit, Failure};
use crate::files::Files;
use crate::report::{self, Table};
use crate::source;
use remat_instances::budget::format_bytes;
use remat_instances::instance::NodeId;
use remat_instances::plan::{Plan, Register, Step};
use remat_instances::simulate::{self, Replay};
use remat_instances::{Instance, NodeId as Id};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Rows of a list that is cut.
const ROWS: usize = 8;

/// Describes, and draws what was asked for.
///
/// # Errors
/// [`Failure`] for bad input and files that cannot be written.
pub fn run(arguments: &ShowArguments) -> Result<Exit, Failure> {
    let plan = arguments.plan.iter().map(PathBuf::as_path);
    let inputs: Vec<&Path> = plan.chain([Path::new(&arguments.instance)]).collect();
    let files = Files::tried(
        false,
        &inputs,
        &[
            ("--svg-schedule", arguments.svg_schedule.as_deref()),
            ("--svg-memory", arguments.svg_memory.as_deref()),
        ],
    )?;
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
    if let Some(path) = &arguments.svg_memory {
        let picture = MemoryPicture {
            instance,
            semantics: plan.semantics,
            replay: &subject.replay,
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
    files.print(&if arguments.statements {
        plan.display(instance).to_string()
    } else {
        subject.describe(arguments.plan.is_some())
    })?;
    Ok(Exit::Done)
}

/// Instance and plan that are shown, with replays.
struct Subject {
    instance: Instance,
    plan: Plan,
    replay: Replay,
    plain: Replay,
    budget_bytes: Option<u64>,
}

impl Subject {
    fn load(arguments: &ShowArguments) -> Result<Self, Failure> {
        let (instance, plan, recorded) = match &arguments.plan {
            Some(path) => {
                let found = source::replayed(&arguments.instance, path)?;
                (found.instance, found.plan, found.budget_bytes)
            }
            None => {
                let wanted = arguments.program.formulation;
                let (formulation, _) = source::formulation(&arguments.instance, wanted)?;
                let instance = &**formulation.instance();
                let plain = instance.without_recomputation(formulation.semantics());
                let plan = plain.and_then(|plain| plain.plan(instance));
                let plan = plan.map_err(|e| source::replay_failure(&arguments.instance, e))?;
                (instance.clone(), plan, None)
            }
        };
        let replay = simulate::plan(&instance, &plan)
            .map_err(|e| source::replay_failure(&arguments.instance, e))?;
        let plain = source::plain_replay(&instance, plan.semantics)?;
        let budget_bytes = match &arguments.budget {
            Some(text) => Some(source::budget(text, plain.peak_bytes)?),
            None => recorded,
        };
        Ok(Subject {
            instance,
            plan,
            replay,
            plain,
            budget_bytes,
        })
    }

    fn describe(&self, with_plan: bool) -> String {
        let (instance, replay) = (&self.instance, &self.replay);
        let unit = instance.cost_unit();
        let backward = instance.nodes().iter().filter(|v| v.is_backward()).count();
        let tensors: u64 = instance.nodes().iter().map(|v| v.output_bytes).sum();
        let mut out = format!(
            "{}: {} nodes, {backward} of them backward\n  tensors   {} in all, {} fixed (parameters, input, parameter gradients)\n  plain     {} a step, peak {} at {}, without recomputation\n",
            instance.name(),
            instance.len(),
            format_bytes(tensors),
            format_bytes(instance.static_bytes()),
            report::cost(self.plain.cost, unit),
            format_bytes(self.plain.peak_bytes),
            report::moment(instance, &self.plain)
        );
        if with_plan {
            // Writing to a string cannot fail.
            let _ = writeln!(
                out,
                "  plan      {} a step ({:+.2}%), peak {} at {}; {} statements",
                report::cost(replay.cost, unit),
                replay.overhead_percent(),
                format_bytes(replay.peak_bytes),
                report::moment(instance, replay),
                self.plan.steps.len()
            );
        }
        if let Some(budget) = self.budget_bytes {
            let fits = if replay.peak_bytes <= budget {
                "kept"
            } else {
                "exceeded"
            };
            let _ = writeln!(out, "  budget    {}, {fits}", format_bytes(budget));
        }
        let all: Vec<Id> = instance.ids().collect();
        out += &self.tensors("largest tensors", all);
        let live = live_at_peak(&self.plan, replay);
        let name = report::moment(instance, replay);
        let heading = format!("in memory at the peak, while {name} runs");
        out += &self.tensors(&heading, live);
        out += &self.recomputed();
        out
    }

    /// A table of tensors, the largest first.
    fn tensors(&self, heading: &str, mut list: Vec<NodeId>) -> String {
        let instance = &self.instance;
        list.sort_by_key(|id| (std::cmp::Reverse(instance.node(*id).output_bytes), *id));
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
                node.name.clone(),
                format_bytes(node.output_bytes),
                node.op.clone(),
                shape.join("x"),
            ]);
        }
        let mut text = format!(
            "\n{heading} ({} tensors, {})\n",
            list.len(),
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
        let instance = &self.instance;
        let counts = self.plan.computations(instance.len());
        let mut again: Vec<(u32, u64, NodeId)> = instance
            .ids()
            .filter(|id| counts[id.index()] > 1)
            .map(|id| {
                let extra = counts[id.index()] - 1;
                (extra, u64::from(extra) * instance.node(id).cost(), id)
            })
            .collect();
        if again.is_empty() {
            return "\nnothing is computed again\n".into();
        }
        let runs: u32 = again.iter().map(|a| a.0).sum();
        again.sort_by_key(|(_, cost, id)| (std::cmp::Reverse(*cost), *id));
        let mut text = format!(
            "\ncomputed again: {} nodes, {runs} times in all; the dearest\n",
            again.len()
        );
        let mut table = Table::new(&[("", false), ("", true), ("", true), ("", false)]);
        for (extra, cost, id) in again.iter().take(ROWS) {
            let node = instance.node(*id);
            table.row(vec![
                node.name.clone(),
                format!("{extra}x"),
                report::cost(*cost, instance.cost_unit()),
                node.op.clone(),
            ]);
        }
        text += table
            .render("  ")
            .split_once('\n')
            .map_or("", |(_, rows)| rows);
        if again.len() > ROWS {
            let _ = writeln!(text, "  ... and {} more", again.len() - ROWS);
        }
        let histogram = |times: u32| again.iter().filter(|a| a.0 == times).count();
        let most = again.iter().map(|a| a.0).max().unwrap_or(0);
        let spread: Vec<String> = (1..=most)
            .filter(|k| histogram(*k) > 0)
            .map(|k| format!("{} nodes {k}x", histogram(k)))
            .collect();
        let _ = writeln!(text, "  ({})", spread.join(", "));
        text
    }
}

/// Tensors in registers while the node of the peak runs, its output included.
fn live_at_peak(plan: &Plan, replay: &Replay) -> Vec<NodeId> {
    let peak = replay
        .timeline
        .iter()
        .position(|p| p.bytes == replay.peak_bytes);
    let mut live: BTreeMap<Register, NodeId> = BTreeMap::new();
    let mut run = 0;
    for step in &plan.steps {
        match *step {
            Step::Allocate { .. } => {}
            Step::Compute { node, register, .. } => {
                let overwritten = live.insert(register, node);
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
