//! The answer of a solve as JSON.

use crate::results::{Arena, ArenaJson, LayersJson, OriginJson, SearchJson};
use crate::transfers::TransfersJson;
use remat_formulations::reorder::OrderChoice;
use remat_formulations::solve::{CopyChoice, Solution};
use remat_instances::simulate::Replay;
use remat_search::{BoundProof, Settings, Status};
use schemars::JsonSchema;
use serde::Serialize;

/// The choice of the order.
#[derive(Serialize, JsonSchema)]
struct ReorderJson {
    order: &'static str,
    given_objective: Option<u64>,
    any_order_bound: u64,
    orders: u64,
}

impl ReorderJson {
    pub fn of(answer: &OrderChoice) -> Self {
        ReorderJson {
            order: match answer.is_given() {
                true => "given",
                false => "found",
            },
            given_objective: answer.given_cost,
            any_order_bound: answer.any_order_bound,
            orders: answer.orders,
        }
    }
}

/// Time and bytes of a plan with copies, and the best plan without copies; absent without a link.
#[derive(Serialize, JsonSchema)]
struct OffloadJson {
    #[serde(flatten)]
    transfers: TransfersJson,
    without_copies: Option<u64>,
}

impl OffloadJson {
    pub fn of(copies: &CopyChoice, replay: Option<&Replay>) -> Self {
        OffloadJson {
            transfers: TransfersJson::of(replay),
            without_copies: copies.without_cost,
        }
    }
}

/// The least budget, where it was asked for or no plan was found. All sizes are in bytes.
#[derive(Serialize, JsonSchema)]
pub struct LeastBudgetJson {
    /// The least peak of a known plan.
    pub known_bytes: Option<u64>,
    /// A proven lower bound on the peak of every stage schedule in this order.
    pub bound_bytes: u64,
}

/// The object of `--json`. Unknown values are null.
#[derive(Serialize, JsonSchema)]
pub struct SolveJson<'a> {
    status: &'a str,
    #[serde(flatten)]
    origin: OriginJson<'a>,
    formulation: &'a str,
    layers: Vec<LayersJson>,
    objective: Option<u64>,
    bound: Option<u64>,
    gap: Option<f64>,
    bound_scope: &'a str,
    certified_bound: Option<u64>,
    reorder: Option<ReorderJson>,
    offload: Option<OffloadJson>,
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
    least_budget: Option<LeastBudgetJson>,
    plan_peak_bytes: Option<u64>,
    #[serde(flatten)]
    arena: ArenaJson,
}

impl<'a> SolveJson<'a> {
    /// The answer of a solve with settings, and the least budget where it is known.
    pub fn of(
        solution: &'a Solution,
        settings: &Settings,
        least_budget: Option<LeastBudgetJson>,
    ) -> Self {
        let instance = solution.instance();
        let replay = solution.replay();
        let placed = solution.addresses().and_then(Result::ok);
        let may_fit = solution.status != Status::Infeasible;
        SolveJson {
            status: solution.status.as_str(),
            origin: OriginJson::of(instance),
            formulation: solution.formulation().semantics().as_str(),
            layers: LayersJson::of(solution.formulation().layers()),
            objective: solution.cost(),
            bound: may_fit.then_some(solution.bound),
            gap: solution.gap,
            bound_scope: solution.bound_scope,
            certified_bound: solution.proof.as_ref().and_then(BoundProof::bound),
            reorder: solution.order().map(ReorderJson::of),
            offload: solution.copies().map(|c| OffloadJson::of(c, replay)),
            base_cost: solution.plain().base_cost,
            overhead_percent: replay.map(Replay::overhead_percent),
            cost_unit: &instance.cost_unit().name,
            peak_memory_bytes: replay.map(|r| r.peak_bytes),
            budget_bytes: solution.budget_bytes(),
            seconds: solution.seconds,
            nodes: solution.nodes,
            lp_iterations: solution.lp_iterations,
            moves: solution.moves,
            search: SearchJson::of(settings),
            infeasible_because: solution.infeasible_because.as_deref(),
            least_budget,
            plan_peak_bytes: placed.map(|placed| placed.peak_bytes),
            arena: placed.map(|p| Arena::of(p).json()).unwrap_or_default(),
        }
    }
}
