//! Rules by which training stacks recompute in a stage.

use crate::knapsack::across;
use remat_formulations::baselines::NotApplicable;
use remat_formulations::baselines::retention::recompute_at_first_need;
use remat_formulations::baselines::training::TrainingGraph;
use remat_formulations::strategies;
use remat_instances::instance::{Instance, NodeId};
use remat_instances::plan::Plan;
use remat_instances::schedule::CheckmateSchedule;
use remat_instances::simulate::{self, Replay};
use remat_search::Patience;
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

/// Time of all heuristics of a stage.
const HEURISTICS: Duration = Duration::from_secs(10);

/// A rule of recomputation in a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StageRule {
    /// Every tensor is kept.
    Keep,
    /// Each layer is computed again from its inputs (Megatron-LM: `--recompute-granularity full`).
    Layers,
    /// The whole stage is computed again from its inputs.
    Whole,
    /// Kept, or if that does not fit, the whole stage is computed again (Tarnawski et al., "Piper",
    /// NeurIPS 2021).
    KeepOrWhole,
    /// Of the tensors that the backward pass reads, those that save most time for their bytes are
    /// kept, as many as the memory of all micro-batches in flight takes (Sun et al., "AdaPipe",
    /// ASPLOS 2024).
    Knapsack,
    /// The cheapest known heuristic that fits.
    Heuristics,
}

impl StageRule {
    /// The name in tables.
    pub fn as_str(self) -> &'static str {
        match self {
            StageRule::Keep => "keep all",
            StageRule::Layers => "full, each layer",
            StageRule::Whole => "full, whole stage",
            StageRule::KeepOrWhole => "keep or full stage",
            StageRule::Knapsack => "knapsack",
            StageRule::Heuristics => "best heuristic",
        }
    }

    /// The plan of this rule for a stage, with its replay. `borders` are the nodes whose outputs
    /// cross between layers. The plan may be above the budget.
    pub fn plan(
        self,
        stage: &Instance,
        borders: &BTreeSet<NodeId>,
        budget_bytes: u64,
    ) -> Option<(Plan, Replay)> {
        match self {
            StageRule::Keep => replayed(stage, &CheckmateSchedule::checkpoint_all(stage)),
            StageRule::Layers => saved(stage, |id| borders.contains(&id)),
            StageRule::Whole => saved(stage, |_| false),
            StageRule::KeepOrWhole => {
                let keep = StageRule::Keep.plan(stage, borders, budget_bytes);
                let fits = |found: &(Plan, Replay)| found.1.peak_bytes <= budget_bytes;
                keep.filter(fits)
                    .or_else(|| StageRule::Whole.plan(stage, borders, budget_bytes))
            }
            StageRule::Knapsack => {
                let capacity = budget_bytes.saturating_sub(stage.static_bytes());
                let kept = knapsack(stage, capacity / u64::from(stage.in_flight()));
                saved(stage, |id| kept.contains(&id))
            }
            StageRule::Heuristics => {
                let all = strategies::all().iter().filter(|one| !one.solves_program);
                let begun = Instant::now();
                let is_over = || begun.elapsed() > HEURISTICS;
                let runs = all.filter_map(|one| {
                    let patience = Patience::until(&is_over);
                    let schedule = one.run_until(stage, budget_bytes, patience).ok()?;
                    replayed(stage, &schedule)
                });
                let own = [StageRule::Layers, StageRule::Whole, StageRule::Knapsack];
                let own = own
                    .iter()
                    .filter_map(|rule| rule.plan(stage, borders, budget_bytes));
                let rank = |(_, replay): &(Plan, Replay)| match replay.peak_bytes <= budget_bytes {
                    true => (false, replay.cost, replay.peak_bytes),
                    false => (true, replay.peak_bytes, replay.cost),
                };
                runs.chain(own).min_by_key(rank)
            }
        }
    }
}

fn replayed(stage: &Instance, schedule: &CheckmateSchedule) -> Option<(Plan, Replay)> {
    let plan = Plan::from_checkmate(stage, schedule).ok()?;
    let plan = plan.optimised(stage).ok()?;
    let replay = simulate::plan(stage, &plan).ok()?;
    Some((plan, replay))
}

/// The plan that saves some forward tensors, and those that cannot be computed again.
fn saved(stage: &Instance, keeps: impl Fn(NodeId) -> bool) -> Option<(Plan, Replay)> {
    let graph = match TrainingGraph::new(stage) {
        Ok(graph) => graph,
        // Without a backward pass the stage holds no tensor.
        Err(NotApplicable::NoBackwardPass) => {
            return StageRule::Keep.plan(stage, &BTreeSet::new(), u64::MAX);
        }
        Err(_) => return None,
    };
    let kept = |id: NodeId| !stage.may_recompute(id) || keeps(id);
    let list: Vec<bool> = stage.ids().map(kept).collect();
    replayed(stage, &recompute_at_first_need(&graph, &list))
}

/// Tensors that the backward pass reads, within some bytes: those of most cost for their bytes
/// first.
fn knapsack(stage: &Instance, room: u64) -> BTreeSet<NodeId> {
    let bytes = |id: NodeId| stage.node(id).output_bytes;
    let (held, mut items) = across(stage);
    let mut room = room.saturating_sub(held);
    let worth = |id: &NodeId| {
        let node = stage.node(*id);
        node.run_cost(true) as f64 / bytes(*id).max(1) as f64
    };
    items.sort_by(|a, b| worth(b).total_cmp(&worth(a)).then(a.cmp(b)));
    let mut kept = BTreeSet::new();
    for id in items {
        if bytes(id) <= room {
            room -= bytes(id);
            kept.insert(id);
        }
    }
    kept
}
