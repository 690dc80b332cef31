//! The answer of a solve as JSON.

use crate::results::{Arena, ArenaJson, LayersJson, OriginJson, SearchJson};
use crate::transfers::TransfersJson;
use remat_formulations::reorder::OrderChoice;
use remat_formulations::solve::{CopyChoice, Solution};
use remat_instances::simulate::Replay;
use remat_search::{BoundProof, Settings, Status, relative_gap};
use schemars::JsonSchema;
use serde::Serialize;

/// The choice of the order.
#[derive(Serialize, JsonSchema)]
struct ReorderJson {
    /// `given`, `found`, or `early-updates`: the given one with updates right behind what they
    /// read, without a search.
    order: &'static str,
    /// Cost of the best plan in the given order; null without one.
    given_objective: Option<u64>,
    /// Proven lower bound on the cost of plans in any order.
    any_order_bound: u64,
    /// Number of orders evaluated.
    orders: u64,
}

impl ReorderJson {
    pub fn of(answer: &OrderChoice) -> Self {
        ReorderJson {
            order: match answer.is_given() {
                true => "given",
                false if answer.is_early => "early-updates",
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
    /// Cost of the best plan without copies; null without one.
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

/// The least budget.
#[derive(Serialize, JsonSchema)]
pub struct LeastBudgetJson {
    /// Least peak of a known plan in bytes; null if no plan is known.
    pub known_bytes: Option<u64>,
    /// Proven lower bound on the peak of every stage schedule in this order, in bytes.
    pub bound_bytes: u64,
    /// Largest budget that is proven to fit no stage schedule in this order, in bytes; null without
    /// a proof.
    pub infeasible_bytes: Option<u64>,
}

/// A class of plans, and its price.
#[derive(Serialize, JsonSchema)]
pub struct PlanClassJson {
    /// `tags`, `regions`, `blocks` or `names`.
    name: &'static str,
    /// Cost of the best plan found, of the class or not; null if none was found.
    free_objective: Option<u64>,
    /// Proven lower bound on the cost of every stage schedule; null if that was not searched.
    free_bound: Option<u64>,
    /// Cost of the class above `free_objective`, in percent; null if either is.
    price_percent: Option<f64>,
}

impl PlanClassJson {
    fn of(solution: &Solution) -> Option<Self> {
        let free = solution.free();
        Some(PlanClassJson {
            name: solution.formulation().class()?.as_str(),
            free_objective: free.and_then(|free| free.cost),
            free_bound: free.map(|free| free.bound),
            price_percent: solution.class_price().map(|price| 100.0 * price),
        })
    }
}

/// The object of `remat-bb solve --json`. Unknown values are null.
#[derive(Serialize, JsonSchema)]
pub struct SolveJson<'a> {
    /// `optimal` (within the gap), `feasible`, `infeasible` (proven: no stage schedule fits),
    /// `limit` (no plan in time) or `interrupted`.
    status: &'a str,
    #[serde(flatten)]
    origin: OriginJson<'a>,
    /// Integer program whose semantics hold: `checkmate` or `monet`.
    formulation: &'a str,
    /// Class of the plans, and its price; null for all plans.
    plan_class: Option<PlanClassJson>,
    /// Runs of equal layers, in the order of the forward pass.
    layers: Vec<LayersJson>,
    /// Replayed cost of the plan (with `--offload` the makespan); null without a plan.
    objective: Option<u64>,
    /// Proven lower bound on the cost of every plan of `bound_scope`; null if `status` is
    /// `infeasible`.
    bound: Option<u64>,
    /// `(objective - bound) / objective`; null without a plan.
    gap: Option<f64>,
    /// Plans that the bound covers: `all-plans` (in any order), `plans-in-this-order` (first
    /// computations in the order of the instance, with `--reorder` in the order of the answer),
    /// `stage-schedules` (the same, and each node at most once between two first computations),
    /// `stage-schedules-in-this-order` (the same in the order found), `stage-schedules-with-copies`
    /// (with `--offload`), `stage-schedules-with-gathers` (with gathered weights or scattered
    /// gradients),
    /// `stage-schedules-with-continuous-copies` (with `--offload-release continuous`),
    /// `plans-of-class-tags`, `-regions`, `-blocks` or `-names` (with `--plan-class`).
    bound_scope: &'a str,
    /// A lower bound over more plans; null if `bound` covers as many.
    wider_bound: Option<u64>,
    /// Plans that `wider_bound` covers; null without one.
    wider_bound_scope: Option<&'a str>,
    /// `(objective - wider_bound) / objective`; null without one.
    wider_gap: Option<f64>,
    /// Bound in the proof of `--certificate`, below `bound` if that also rests on other arguments;
    /// null without a proof, or if it proves infeasibility.
    certified_bound: Option<u64>,
    /// Choice of the order; null without `--reorder`, unless updates come early.
    reorder: Option<ReorderJson>,
    /// Copies to the host and back; null without `--offload`.
    offload: Option<OffloadJson>,
    /// Cost of the step without recomputation.
    base_cost: u64,
    /// Cost above `base_cost`, in percent of `base_cost`; null without a plan.
    overhead_percent: Option<f64>,
    /// Unit of all costs and times.
    cost_unit: &'a str,
    /// Replayed peak memory of the schedule in bytes; null without a plan.
    peak_memory_bytes: Option<u64>,
    /// Micro-batches in flight; while one runs, each other one holds `saved_bytes`.
    in_flight: u32,
    /// Bytes that a micro-batch holds between its two passes, if several are in flight, else 0;
    /// null without a plan.
    saved_bytes: Option<u64>,
    /// Memory budget in bytes.
    budget_bytes: u64,
    /// Time in seconds.
    seconds: f64,
    /// Number of nodes of the tree.
    nodes: u64,
    /// Number of iterations of linear programs.
    lp_iterations: u64,
    /// Number of moves of the annealing.
    moves: u64,
    #[serde(flatten)]
    search: SearchJson,
    /// Reason in words why no stage schedule fits; null unless `status` is `infeasible`.
    infeasible_because: Option<&'a str>,
    /// Least budget, if `--budget least` requested it or no plan was found; else null.
    least_budget: Option<LeastBudgetJson>,
    /// Peak memory of the placed plan in bytes, which may be below the schedule's; null without
    /// addresses.
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
        let wider = solution.wider.filter(|_| may_fit);
        SolveJson {
            status: solution.status.as_str(),
            origin: OriginJson::of(instance),
            formulation: solution.formulation().semantics().as_str(),
            plan_class: PlanClassJson::of(solution),
            layers: LayersJson::of(solution.formulation().layers()),
            objective: solution.cost(),
            bound: may_fit.then_some(solution.bound),
            gap: solution.gap,
            bound_scope: solution.bound_scope,
            wider_bound: wider.map(|wider| wider.bound),
            wider_bound_scope: wider.map(|wider| wider.scope),
            wider_gap: wider.and_then(|w| Some(relative_gap(solution.cost()?, w.bound))),
            certified_bound: solution.proof.as_ref().and_then(BoundProof::bound),
            reorder: solution.order().map(ReorderJson::of),
            offload: solution.copies().map(|c| OffloadJson::of(c, replay)),
            base_cost: solution.plain().base_cost,
            overhead_percent: replay.map(Replay::overhead_percent),
            cost_unit: &instance.cost_unit().name,
            peak_memory_bytes: replay.map(|r| r.peak_bytes),
            in_flight: solution.instance().in_flight(),
            saved_bytes: replay.map(|r| r.saved_bytes),
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
