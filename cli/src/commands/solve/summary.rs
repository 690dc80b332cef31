//! The answer of a solve in words.

use super::{SolveReport, least, offload, order};
use crate::source;
use remat_formulations::life::layers::Stack;
use remat_formulations::offload::nodes::{
    STAGE_SCHEDULES_WITH_CONTINUOUS_COPIES, STAGE_SCHEDULES_WITH_COPIES,
    STAGE_SCHEDULES_WITH_GATHERS,
};
use remat_formulations::reorder::STAGE_SCHEDULES_IN_THIS_ORDER;
use remat_formulations::solve::Solution;
use remat_instances::budget::format_bytes;
use remat_report::counted;
use remat_report::results::Arena;
use remat_search::{ALL_PLANS, PLANS_IN_THIS_ORDER, Status, relative_gap};
use std::fmt::Write;

/// A table with a line for each finding, and a line for each file that was written.
pub(super) fn summary(solved: &SolveReport<'_>, written: &[String]) -> String {
    let SolveReport {
        solution,
        settings,
        least,
    } = solved;
    let instance = solution.instance();
    let unit = instance.cost_unit();
    let budget_bytes = solution.budget_bytes();
    let budget = format_bytes(budget_bytes);
    let formulation = solution.formulation();
    let share = source::share_of_plain(budget_bytes, solution.plain(), formulation.semantics());
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
    let status = solution.status.as_str();
    let verdict = match solution.excess_bytes() {
        0 => verdict(solution, settings.gap),
        excess => format!(
            "a plan, but its addresses need {} more than the budget",
            counted(excess, "byte")
        ),
    };
    let _ = writeln!(out, "  status    {status}: {verdict}");
    if let Some(replay) = solution.replay() {
        let objective = replay.makespan;
        let again = replay.computations.saturating_sub(instance.len());
        let _ = writeln!(
            out,
            "  cost      {}, {:.2}% over no recomputation ({})\n  memory    peak {} at {}",
            remat_report::cost(objective, unit),
            replay.overhead_percent(),
            counted(again as u64, "recomputation"),
            format_bytes(replay.peak_bytes),
            remat_report::moment(instance, replay),
        );
        if let Some(waiting) = remat_report::waiting(instance, replay) {
            let _ = writeln!(out, "  waiting   {waiting}");
        }
    }
    if let Some(Ok(placed)) = solution.addresses() {
        let words = Arena::of(placed).words(Some(budget_bytes));
        let _ = writeln!(out, "  arena     {words}");
    }
    if solution.status != Status::Infeasible {
        let gap = solution
            .gap
            .map_or(String::new(), |g| format!(", gap {:.2}%", g * 100.0));
        let bound = remat_report::cost(solution.bound, unit);
        let scope = scope(solution.bound_scope);
        let _ = writeln!(
            out,
            "  bound     {bound}{gap}: no plan in the scope costs less"
        );
        let _ = writeln!(out, "  scope     {scope}");
        if let Some(wider) = solution.wider {
            let gap = solution.cost().map_or(String::new(), |cost| {
                format!(", gap {:.2}%", 100.0 * relative_gap(cost, wider.bound))
            });
            let bound = remat_report::cost(wider.bound, unit);
            let words = self::scope(wider.scope);
            let _ = writeln!(out, "  wider     {bound}{gap}: over {words}");
        }
    }
    if let (Some(class), Some(price)) = (solution.formulation().class(), solution.class_price()) {
        let free = solution
            .free()
            .and_then(|free| free.cost)
            .unwrap_or_default();
        let _ = writeln!(
            out,
            "  class     {class}: {:.2}% above the best plan found, which costs {}",
            100.0 * price,
            remat_report::cost(free, unit)
        );
    }
    if let Some(order) = solution.order()
        && solution.status != Status::Infeasible
    {
        let _ = writeln!(
            out,
            "  order     {}",
            order::words(order, solution.cost(), unit)
        );
    }
    let least = least.iter().filter(|_| solution.document().is_none());
    for line in least.flat_map(least::lines) {
        let _ = writeln!(out, "  {line}");
    }
    for line in offload::lines(solution) {
        let _ = writeln!(out, "  {line}");
    }
    let _ = writeln!(
        out,
        "  search    {:.1} s, {:.1} M moves, {}, {}, {}, seed {}",
        solution.seconds,
        solution.moves as f64 / 1e6,
        counted(solution.nodes, "node"),
        counted(solution.lp_iterations, "LP iteration"),
        counted(settings.worker_threads() as u64, "thread"),
        settings.seed
    );
    for line in written {
        let _ = writeln!(out, "  {line}");
    }
    out
}

/// The plans that a bound covers.
fn scope(bound_scope: &str) -> &'static str {
    match bound_scope {
        STAGE_SCHEDULES_WITH_COPIES => {
            "plans in the graph's order that run an operator at most once between two first runs, \
             with copies to the host"
        }
        STAGE_SCHEDULES_WITH_GATHERS => {
            "plans in the graph's order that run an operator at most once between two first runs, \
             with gathers, scatters and copies at any time"
        }
        STAGE_SCHEDULES_WITH_CONTINUOUS_COPIES => {
            "plans in the graph's order that run an operator at most once between two first runs, \
             with copies that free memory byte by byte"
        }
        ALL_PLANS => "all plans, in any order",
        PLANS_IN_THIS_ORDER => "all plans with first runs in this order",
        STAGE_SCHEDULES_IN_THIS_ORDER => {
            "plans in the order found that run an operator at most once between two first runs"
        }
        scope if scope.starts_with("plans-of-class") => {
            "plans of the class: a value is saved or computed again once, in the graph's order"
        }
        _ => "plans in the graph's order that run an operator at most once between two first runs",
    }
}

fn verdict(outcome: &Solution, gap: f64) -> String {
    match (outcome.status, &outcome.infeasible_because) {
        (Status::Infeasible, Some(reason)) => reason.clone(),
        (Status::Infeasible, None) => "no plan in the scope fits the budget".into(),
        (Status::Optimal, _) if outcome.gap == Some(0.0) => {
            "proven, no plan in the scope is cheaper".into()
        }
        (Status::Optimal, _) => format!(
            "proven, no plan in the scope is more than {}% cheaper",
            remat_report::number(100.0 * gap)
        ),
        (Status::Feasible, _) => "a plan was found; a cheaper one may exist".into(),
        (Status::Interrupted, _) if outcome.document().is_some() => {
            "ended early; this is the best plan so far".into()
        }
        _ => "no plan was found; give more time or more memory".into(),
    }
}
