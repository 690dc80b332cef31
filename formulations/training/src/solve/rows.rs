//! Strategies with a link among the known ones.

use super::{AnyPlan, Compared};
use crate::offload::chain::{ChainMethod, ChainTuning, NodePlan, chain_plans_tuned};
use crate::offload::nodes::{Linked, layer_fractions};
use remat_instances::budget::format_bytes;

/// Rows of chains shown beside the known strategies; rotor is already among these.
const ROWS: [ChainMethod; 5] = [
    ChainMethod::Pofo,
    ChainMethod::OffloadOnly,
    ChainMethod::Opportunist,
    ChainMethod::Autocapper,
    ChainMethod::Greedy,
];

/// The name of torchtitan's strategy.
const LAYER_FRACTIONS: &str = "layer-fractions";

/// Names of the strategies, in the order of [`rows`].
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    let chains = ROWS.iter().map(|row| row.name());
    chains.chain([LAYER_FRACTIONS])
}

/// The strategies at a budget in bytes: the rows of the chain of an instance, and fractions of its
/// layers. POFO's row never costs more than `rotor`, the strategy of that name. In a `sweep` over
/// many budgets, each is searched with less work.
pub(super) fn rows(
    linked: &Linked,
    budget_bytes: u64,
    sweep: bool,
    rotor: Option<&Compared>,
) -> Vec<Compared> {
    let mut all = chain_rows(linked, budget_bytes, sweep, rotor);
    all.push(fractions(linked, budget_bytes));
    all
}

fn fractions(linked: &Linked, budget_bytes: u64) -> Compared {
    let found = first_implementations(linked).and_then(|()| {
        let instance = linked.formulation().instance();
        let found = layer_fractions(instance, budget_bytes, linked.phase());
        found.map_err(|e| e.to_string())
    });
    let too_large = matches!(found, Ok(None));
    let unfit = || {
        format!(
            "no shares of layers fit into {}",
            format_bytes(budget_bytes)
        )
    };
    let result = found.and_then(|found| {
        let found = found.map(|(plan, replay)| (AnyPlan::Statements(plan), replay));
        found.ok_or_else(unfit)
    });
    Compared {
        name: LAYER_FRACTIONS,
        result,
        infeasible: false,
        too_large,
    }
}

fn chain_rows(
    linked: &Linked,
    budget_bytes: u64,
    sweep: bool,
    rotor: Option<&Compared>,
) -> Vec<Compared> {
    let compared = |row: ChainMethod, result, too_large| Compared {
        name: row.name(),
        result,
        infeasible: false,
        too_large,
    };
    let plans = match plans(linked, budget_bytes, sweep) {
        Ok(plans) => plans,
        Err(because) => {
            let all = ROWS.into_iter();
            return all
                .map(|row| compared(row, Err(because.clone()), false))
                .collect();
        }
    };
    let instance = linked.formulation().instance();
    let host = instance
        .host_link()
        .and_then(|link| link.host_memory_bytes)
        .map_or(String::new(), |host| {
            format!(", with {} on the host", format_bytes(host))
        });
    let unfit = format!(
        "none of its sequences fits into {}{host}",
        format_bytes(budget_bytes)
    );
    let of_row = |row: ChainMethod| {
        let found = plans.iter().find(|plan| plan.row == row);
        let found = found.map(|one| (AnyPlan::Statements(one.plan.clone()), one.replay.clone()));
        let rotor = rotor
            .filter(|one| row == ChainMethod::Pofo && one.fits(budget_bytes) == Some(true))
            .and_then(|one| one.result.clone().ok());
        let both = found.into_iter().chain(rotor);
        let best = both.min_by_key(|(_, replay)| replay.makespan);
        let too_large = best.is_none();
        compared(row, best.ok_or_else(|| unfit.clone()), too_large)
    };
    ROWS.into_iter().map(of_row).collect()
}

fn plans(linked: &Linked, budget_bytes: u64, sweep: bool) -> Result<Vec<NodePlan>, String> {
    first_implementations(linked)?;
    let tuning = match sweep {
        true => ChainTuning::for_sweep,
        false => ChainTuning::of,
    };
    let instance = linked.formulation().instance();
    let plans = chain_plans_tuned(instance, budget_bytes, linked.phase(), tuning);
    plans.map_err(|e| e.to_string())
}

/// Refuses formulations that choose among implementations.
fn first_implementations(linked: &Linked) -> Result<(), String> {
    match linked.formulation().semantics().chooses_implementations() {
        false => Ok(()),
        true => {
            Err("it has one implementation of each node; take the formulation checkmate".into())
        }
    }
}
