//! `remat-bb explain`

mod departures;
mod groups;

use crate::arguments::ExplainArguments;
use crate::failure::{Exit, Failure};
use crate::{again, files, source};
use departures::JsonDeparture;
use remat_instances::budget::{amount, format_bytes};
use remat_instances::explain::{self, Absence, Explanation, Slower, Story};
use remat_instances::instance::NodeId;
use remat_instances::name::{Name, visible};
use remat_instances::plan::Plan;
use remat_instances::replayed::Replayed;
use remat_instances::simulate::Replay;
use remat_instances::{Instance, Semantics};
use remat_report::results;
use remat_report::results::OriginJson;
use remat_report::{ReplayJson, counted};
use schemars::JsonSchema;
use serde::Serialize;
use std::fmt::Write;

/// Groups of tensors that are shown without `--all`.
const STORIES: usize = 12;

/// Explains a plan.
///
/// # Errors
/// [`Failure`] for bad input.
pub fn run(arguments: &ExplainArguments) -> Result<Exit, Failure> {
    let found = source::replayed(&arguments.instance, &arguments.plan)?;
    let plain = source::plain_replay(&found.instance, found.plan.semantics)?;
    let budget_bytes = match &arguments.budget {
        Some(text) => Some(source::budget(text, plain.peak_bytes)?),
        None => found.budget_bytes,
    };
    let file = files::input_name(&arguments.plan);
    let told = explain::explain(&found.instance, &found.plan)
        .map_err(|e| source::replay_failure(&file, e))?;
    let teller = Teller {
        instance: &found.instance,
        semantics: found.plan.semantics,
        told: &told,
        plain: &plain,
        budget_bytes,
    };
    files::print(&if arguments.json {
        teller.json(&found.given())
    } else {
        teller.words((!arguments.all).then_some("--all shows every tensor by itself"))
            + &next(arguments, &found)
    })?;
    Ok(Exit::Done)
}

/// The ways to train with a plan.
fn next(arguments: &ExplainArguments, found: &Replayed) -> String {
    let plan = files::input_name(&arguments.plan);
    let budget = found.budget_bytes.map_or_else(|| "60%".into(), amount);
    let run = match source::zoo_text(&arguments.instance) {
        Some(zoo) => format!(
            "remat-bb exec {} {plan}   (needs a build with libtorch)",
            again::quoted(zoo)
        ),
        None => format!("run the statements of {plan} in their order (docs/reference/formats.md)"),
    };
    let several = match found.instance.in_flight() {
        1 => String::new(),
        k => format!(", in_flight={k}"),
    };
    format!(
        "\nTo train with this:\n  {run}\n  a PyTorch model: remat_bb.torch.compile(model, budget=\"{budget}\"{several}) plans and trains it\n"
    )
}

/// Explains a plan in words, as the command does; `hint` says how to hear of all tensors where only
/// the dearest are told of, and without it all are.
///
/// # Errors
/// [`Failure::Replay`] for a plan that cannot be executed.
pub fn words(
    instance: &Instance,
    plan: &Plan,
    budget_bytes: Option<u64>,
    hint: Option<&str>,
) -> Result<String, Failure> {
    let plain = source::plain_replay(instance, plan.semantics)?;
    let told =
        explain::explain(instance, plan).map_err(|e| source::replay_failure(instance.name(), e))?;
    let teller = Teller {
        instance,
        semantics: plan.semantics,
        told: &told,
        plain: &plain,
        budget_bytes,
    };
    Ok(teller.words(hint))
}

struct Teller<'a> {
    instance: &'a Instance,
    semantics: Semantics,
    told: &'a Explanation,
    plain: &'a Replay,
    budget_bytes: Option<u64>,
}

impl Teller<'_> {
    fn name(&self, id: NodeId) -> &Name {
        &self.instance.node(id).name
    }

    fn cost(&self, cost: u64) -> String {
        remat_report::cost(cost, self.instance.cost_unit())
    }

    fn share(&self, cost: u64) -> f64 {
        cost as f64 / self.told.replay.base_cost.max(1) as f64 * 100.0
    }

    fn words(&self, hint: Option<&str>) -> String {
        let (told, replay) = (self.told, &self.told.replay);
        let again: usize = told.stories.iter().map(|s| s.recomputations).sum();
        let mut text = format!(
            "{}: {} computations of {} nodes. ",
            self.instance.name(),
            replay.computations,
            self.instance.len()
        );
        // Writing to a string cannot fail.
        if told.stories.is_empty() {
            text += match told.departures.is_empty() {
                true => "Nothing is computed again: every tensor stays until its last reader.\n",
                false => "Nothing is computed again.\n",
            };
        } else {
            let _ = writeln!(
                text,
                "{} computed again, {} in all, for {} more ({:.2}%).",
                are(told.stories.len(), "tensor"),
                counted(again as u64, "time"),
                self.cost(told.extra_cost()),
                self.share(told.extra_cost())
            );
        }
        self.slower(&mut text);
        self.link(&mut text);
        let _ = writeln!(
            text,
            "It costs {}, {:+.2}% over no recomputation ({}).",
            self.cost(replay.makespan),
            replay.overhead_percent(),
            source::plain_words(self.semantics)
        );
        let _ = writeln!(
            text,
            "Memory peaks at {} while {} runs; without recomputation it would be {} while {} runs: {} saved.",
            format_bytes(replay.peak_bytes),
            remat_report::moment(self.instance, replay),
            format_bytes(self.plain.peak_bytes),
            remat_report::moment(self.instance, self.plain),
            format_bytes(self.plain.peak_bytes.saturating_sub(replay.peak_bytes))
        );
        if let Some(waiting) = remat_report::waiting(self.instance, replay) {
            let _ = writeln!(text, "Of this, {waiting}.");
        }
        if let Some(budget) = self.budget_bytes {
            let fits = if replay.peak_bytes <= budget {
                format!(
                    "{} of the budget stay free",
                    format_bytes(budget - replay.peak_bytes)
                )
            } else {
                format!("the budget of {} is exceeded", format_bytes(budget))
            };
            let _ = writeln!(text, "At the peak {fits}.");
        }
        self.kept(&mut text);
        self.departures(&mut text, hint);
        if told.stories.is_empty() {
            return text;
        }
        text += "\nTensors that are computed again, the most expensive first:\n";
        let Some(hint) = hint else {
            for story in &told.stories {
                self.story(&mut text, story);
            }
            return text;
        };
        let groups = self.groups();
        let (shown, rest) = groups.split_at(groups.len().min(STORIES));
        for group in shown {
            self.group(&mut text, group);
        }
        if !rest.is_empty() {
            self.rest(&mut text, rest, hint);
        }
        text
    }

    fn kept(&self, text: &mut String) {
        let kept = &self.told.kept;
        if kept.is_empty() {
            return;
        }
        let bytes = |id: &NodeId| self.instance.node(*id).output_bytes;
        let total: u64 = kept.iter().map(bytes).sum();
        let largest: Vec<String> = kept
            .iter()
            .take(3)
            .map(|id| format!("{} ({})", self.name(*id), format_bytes(bytes(id))))
            .collect();
        let purpose = match self.instance.loss() {
            Some(_) => "for the backward pass",
            None => "for later readers",
        };
        let once = kept.iter().filter(|id| !self.instance.may_recompute(**id));
        let once = match once.count() {
            0 => String::new(),
            n => format!(" ({n} never recomputed, as the instance says)"),
        };
        let _ = writeln!(
            text,
            "{} kept {purpose}{once}, {} in all, the largest {}.",
            are(kept.len(), "tensor"),
            format_bytes(total),
            largest.join(", ")
        );
    }

    fn slower(&self, text: &mut String) {
        let slower = &self.told.slower;
        let dearest = slower.iter().take(3).map(|s| {
            let name = self.name(s.node);
            match self.implementation(s) {
                "" => format!("{name} ({})", self.cost(s.cost)),
                way => format!("{name} by {} ({})", visible(way), self.cost(s.cost)),
            }
        });
        let dearest: Vec<String> = dearest.collect();
        let cost = self.told.slower_cost();
        // Writing to a string cannot fail.
        if !slower.is_empty() {
            let _ = writeln!(
                text,
                "{} slower than without recomputation, or made for a backward node as a mask is, for {} more ({:.2}%), the most expensive {}.",
                are(slower.len(), "node"),
                self.cost(cost),
                self.share(cost),
                dearest.join(", ")
            );
        }
        let saved = self.told.saved_cost;
        if saved > 0 {
            let _ = writeln!(
                text,
                "Other nodes are faster in turn, or left out, for {} less ({:.2}%).",
                self.cost(saved),
                self.share(saved)
            );
        }
    }

    /// The name of an implementation; nothing where it has none.
    fn implementation(&self, slower: &Slower) -> &str {
        let node = self.instance.node(slower.node);
        let way = node.implementations.get(slower.implementation);
        way.map_or("", |way| way.name.as_str())
    }

    fn story(&self, text: &mut String, story: &Story) {
        let node = self.instance.node(story.node);
        let times = match story.recomputations {
            1 => "once".into(),
            2 => "twice".into(),
            n => format!("{n} times"),
        };
        let operator = match node.op.is_empty() {
            true => String::new(),
            false => format!(", {}", node.op),
        };
        let _ = writeln!(
            text,
            "\n  {} ({}{operator}): computed again {times}, for {} ({:.2}%)",
            node.name,
            format_bytes(node.output_bytes),
            self.cost(story.cost),
            self.share(story.cost)
        );
        for absence in &story.absences {
            let _ = writeln!(text, "    {}", self.absence(absence));
        }
        let copies = story.recomputations - story.absences.len().min(story.recomputations);
        if copies > 0 {
            let _ = writeln!(text, "    {copies} of them while another copy is there");
        }
    }

    fn absence(&self, absence: &Absence) -> String {
        let purpose = match absence.made_for {
            Some(node) => format!("made again for {}", self.name(node)),
            None => "made again, and read by nothing".into(),
        };
        let mut text = format!(
            "dropped after {}, {purpose}",
            self.name(absence.freed_after)
        );
        if absence.fullest.is_none() {
            return text + ": nothing runs in between";
        }
        let _ = write!(
            text,
            ": {} free during {}",
            format_bytes(absence.bytes),
            counted((absence.to - absence.from) as u64, "computation"),
        );
        text + &self.fullest(absence.fullest, absence.bytes)
    }

    /// The fullest moment without a tensor of so many bytes, and whether it could have stayed.
    fn fullest(&self, fullest: Option<(usize, u64)>, own_bytes: u64) -> String {
        let mut text = String::new();
        let Some((at, bytes)) = fullest else {
            return text;
        };
        if bytes == self.told.replay.peak_bytes {
            text += ", the peak among them";
        }
        let moment = self.name(self.told.order[at]);
        match self.budget_bytes {
            Some(budget) if bytes.saturating_add(own_bytes) <= budget => {
                let _ = write!(text, "; alone it could have stayed (fullest at {moment})");
            }
            Some(budget) => {
                let missing = bytes.saturating_add(own_bytes).saturating_sub(budget);
                let _ = write!(
                    text,
                    "; kept, it would exceed the budget by {} while {moment} runs",
                    format_bytes(missing)
                );
            }
            None => {
                let _ = write!(
                    text,
                    "; fullest while {moment} runs ({})",
                    format_bytes(bytes)
                );
            }
        }
        text
    }

    /// The object that `--json` prints; the instance that was given has its own link.
    fn json(&self, given: &Instance) -> String {
        let recomputed = self.told.stories.iter().map(|story| {
            let node = self.instance.node(story.node);
            JsonStory {
                node: &node.name,
                times: story.recomputations,
                cost: story.cost,
                bytes: node.output_bytes,
                absences: story
                    .absences
                    .iter()
                    .map(|a| JsonAbsence {
                        freed_after: self.name(a.freed_after),
                        made_for: a.made_for.map(|id| self.name(id)),
                        cost: a.cost,
                        computations: a.to - a.from,
                        fullest_bytes: a.fullest.map(|f| f.1),
                        fullest_at: a.fullest.map(|f| self.name(self.told.order[f.0])),
                        could_have_stayed: self.budget_bytes.map(|b| a.could_have_stayed(b)),
                    })
                    .collect(),
            }
        });
        let replay = &self.told.replay;
        results::json(&ExplainJson {
            origin: OriginJson::of(given),
            semantics: self.semantics.as_str(),
            replay: ReplayJson::of(self.instance, replay),
            plain_peak_bytes: self.plain.peak_bytes,
            budget_bytes: self.budget_bytes,
            kept: self
                .told
                .kept
                .iter()
                .map(|id| JsonKept {
                    node: self.name(*id),
                    bytes: self.instance.node(*id).output_bytes,
                })
                .collect(),
            recomputed: recomputed.collect(),
            saved_cost: self.told.saved_cost,
            to_host_busy: replay.transfers.busy(true),
            from_host_busy: replay.transfers.busy(false),
            departures: self.departures_json(),
            slower: self
                .told
                .slower
                .iter()
                .map(|s| JsonSlower {
                    node: self.name(s.node),
                    implementation: self.implementation(s),
                    cost: s.cost,
                })
                .collect(),
        })
    }
}

/// A number of things with its verb.
fn are(count: usize, noun: &str) -> String {
    let verb = if count == 1 { "is" } else { "are" };
    format!("{} {verb}", counted(count as u64, noun))
}

/// The object of `remat-bb explain --json`.
#[derive(Serialize, JsonSchema)]
pub(super) struct ExplainJson<'a> {
    #[serde(flatten)]
    origin: OriginJson<'a>,
    /// Integer program whose semantics hold: `checkmate` or `monet`.
    semantics: &'a str,
    #[serde(flatten)]
    replay: ReplayJson<'a>,
    /// Peak memory without recomputation, in bytes.
    plain_peak_bytes: u64,
    /// Memory budget in bytes, from `--budget` or the file; null without one.
    budget_bytes: Option<u64>,
    /// Tensors that backward nodes read and that stay in memory until then, the largest first.
    kept: Vec<JsonKept<'a>>,
    /// Recomputed nodes, the most expensive first.
    recomputed: Vec<JsonStory<'a>>,
    /// First computations that cost more than without recomputation, the most expensive first.
    slower: Vec<JsonSlower<'a>>,
    /// Cost that first computations save, because they cost less or are left out; `compute_cost +
    /// saved_cost` is `base_cost` plus the costs of `slower` and `recomputed`.
    saved_cost: u64,
    /// Time in which the link copies to the host, in the unit of costs.
    to_host_busy: u64,
    /// Time in which the link copies back, in the unit of costs.
    from_host_busy: u64,
    /// Copies to the host.
    departures: Vec<JsonDeparture<'a>>,
}

/// A kept tensor.
#[derive(Serialize, JsonSchema)]
struct JsonKept<'a> {
    /// Name of the node.
    node: &'a str,
    /// Size of its output in bytes.
    bytes: u64,
}

/// A slower first computation.
#[derive(Serialize, JsonSchema)]
struct JsonSlower<'a> {
    /// Name of the node.
    node: &'a str,
    /// Name of its implementation.
    implementation: &'a str,
    /// Additional cost.
    cost: u64,
}

/// A recomputed node.
#[derive(Serialize, JsonSchema)]
struct JsonStory<'a> {
    /// Name of the node.
    node: &'a str,
    /// Number of recomputations.
    times: usize,
    /// Cost of all its recomputations.
    cost: u64,
    /// Size of its output in bytes.
    bytes: u64,
    /// Times between dropping and recomputing its output.
    absences: Vec<JsonAbsence<'a>>,
}

/// A time between dropping and recomputing a tensor.
#[derive(Serialize, JsonSchema)]
struct JsonAbsence<'a> {
    /// Node after which the output is dropped.
    freed_after: &'a str,
    /// Node for which it is computed again; null if no node reads it.
    #[schemars(with = "Option<String>")]
    made_for: Option<&'a Name>,
    /// Cost of this recomputation.
    cost: u64,
    /// Number of computations in between.
    computations: usize,
    /// Largest memory in use during these computations in bytes; null without a computation.
    fullest_bytes: Option<u64>,
    /// Node with this memory; null without a computation.
    #[schemars(with = "Option<String>")]
    fullest_at: Option<&'a Name>,
    /// True if this tensor alone could have stayed within the budget; null without a budget.
    could_have_stayed: Option<bool>,
}
