//! Idle stages: near the least budget a plan may gain by recomputing in several steps between two
//! first computations.
//!
//! A stage schedule runs each node at most once between two first computations. With an idle stage,
//! which computes nothing for the first time, it may free what it has recomputed, and recompute
//! again. A node without cost, output and inputs before a backward node is such a stage. The search
//! solves the graph with these nodes, and the plan leaves them out.

use crate::any::AnyFormulation;
use crate::bound::smallest_budget;
use crate::inserted::InsertedNodes;
use crate::written::Written;
use remat_instances::instance::{Instance, NodeId};
use remat_instances::schedule::Schedule;
use remat_instances::simulate::Replay;
use remat_search::{
    Effort, Listener, Outcome, STAGE_SCHEDULES, Settings, SolveError, Status, Unheard, WiderBound,
    relative_gap,
};

/// Budgets in this lowest part of the range from the working set to the plain peak are tight.
const TIGHT_PART: u64 = 5;
/// Share of a time limit for the graph without idle stages.
pub(super) const FIRST_SHARE: f64 = 0.6;
/// Limit on nodes: the graph with idle stages has half as many again.
const NODE_LIMIT: usize = 2_000;
/// Scope of a bound of the graph with idle stages, for programs without a wider one.
const STAGE_SCHEDULES_WITH_IDLE_STAGES: &str = "stage-schedules-with-idle-stages";
/// Name of an idle stage.
const NAME: &str = "idle stage";

/// Returns whether idle stages may pay: the budget is tight.
pub(super) fn may_pay(
    formulation: &AnyFormulation,
    plain: &Replay,
    budget_bytes: u64,
    settings: &Settings,
) -> bool {
    let instance = formulation.instance();
    let is_plain = formulation.class().is_none() && instance.in_flight() == 1;
    let least = smallest_budget(instance).needed_bytes;
    let tight = least + plain.peak_bytes.saturating_sub(least) / TIGHT_PART;
    is_plain
        && !settings.prove
        && !settings.is_quick()
        && instance.len() <= NODE_LIMIT
        && (least..tight).contains(&budget_bytes)
}

/// Searches the graph with an idle stage before each backward node, or before each node, in the time
/// that is left, and takes a cheaper plan.
pub(super) fn improve(
    formulation: &AnyFormulation,
    budget_bytes: u64,
    (outcome, plan): (&mut Outcome, &mut Option<Written>),
    settings: &Settings,
    listener: &dyn Listener,
) -> Result<(), SolveError> {
    let is_closed = matches!(outcome.status, Status::Optimal | Status::Infeasible);
    if is_closed && outcome.bound_scope != STAGE_SCHEDULES || listener.is_interrupted() {
        return Ok(());
    }
    let instance = formulation.instance();
    // A graph without a backward pass may need them anywhere.
    let first = instance.backward_start().map_or(1, |start| start.0.max(1));
    let places: Vec<NodeId> = (first..instance.len() as u32).map(NodeId).collect();
    let graph = InsertedNodes::before(instance, formulation.semantics(), &places, NAME);
    let Ok(idle) = Instance::new(graph.data.clone()) else {
        return Ok(());
    };
    let settings = Settings {
        effort: match settings.time_limit {
            Some(_) => settings.effort,
            None => Effort::Quick,
        },
        ..settings.clone()
    };
    let start = outcome.schedule.as_ref().and_then(Schedule::as_checkmate);
    let starts: Vec<Schedule> = start
        .map(|s| graph.schedule(s).into())
        .into_iter()
        .collect();
    let (found, written) = AnyFormulation::of(&idle, formulation.semantics())?.solve_and_write(
        budget_bytes,
        &starts,
        &settings,
        &Unheard(listener),
    )?;
    outcome.nodes += found.nodes;
    outcome.lp_iterations += found.lp_iterations;
    outcome.moves += found.moves;
    let Some(written) = written else {
        return Ok(());
    };
    let without = graph.plan(&written.document.plan, instance.name());
    let written = Written::of(instance, without, budget_bytes)?.within_budget()?;
    let cost = written.replay.cost;
    if plan.as_ref().is_some_and(|plan| plan.replay.cost <= cost) {
        return Ok(());
    }
    adopt(outcome, &written.replay, &found);
    *plan = Some(written);
    outcome.settle(settings.gap, listener.is_interrupted());
    Ok(())
}

/// Takes the replay of a plan with idle stages, and the best bound that covers it: of the graph
/// itself or of the graph with idle stages, whose plans include those of the graph.
fn adopt(outcome: &mut Outcome, replay: &Replay, found: &Outcome) {
    let covering = |of: &Outcome| match of.bound_scope {
        STAGE_SCHEDULES => of.wider,
        scope => Some(WiderBound {
            bound: of.bound,
            scope,
        }),
    };
    let idle = WiderBound {
        bound: found.bound,
        scope: STAGE_SCHEDULES_WITH_IDLE_STAGES,
    };
    let wide = [covering(outcome), covering(found)].into_iter().flatten();
    let best = wide.max_by_key(|wide| wide.bound).unwrap_or(idle);
    (outcome.bound, outcome.bound_scope, outcome.wider) = (best.bound, best.scope, None);
    outcome.gap = Some(relative_gap(replay.cost, best.bound));
    outcome.replay = Some(replay.clone());
    outcome.schedule = None;
    outcome.infeasible_because = None;
}
