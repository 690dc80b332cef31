//! Prices of memory at the moments of a plan.

use super::{AnyPlan, Solve};
use crate::offload::CopyPhase;
use crate::offload::interval::{self, LinkGraph, ProofLimits};
use remat_instances::plan::{Plan, Step};
use remat_instances::{Budget, Instance, NodeId, Semantics};
use remat_search::{BytePrice, Effort, Listener, Settings, SolveError, Status};
use std::time::{Duration, Instant};

/// Default time for the relaxations of all plans of a report.
pub const PRICE_LIMIT: Duration = Duration::from_secs(10);
/// Share of the largest price up to which a price is rounding.
const ROUNDING: f64 = 1e-9;
/// Simplex iterations of the relaxation of a plan with copies.
const ITERATIONS: u64 = 20_000;

/// The price of memory at a moment of a plan.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MomentPrice {
    /// The moment: number of a computation of the plan, in the order of its statements.
    pub run: usize,
    /// Cost for a byte more at this moment alone, in the unit of costs.
    pub per_byte: f64,
}

/// Findings of a relaxation about a plan.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Priced {
    /// Prices above 0, in the order of the plan's computations.
    pub moments: Vec<MomentPrice>,
    /// A proven lower bound on the cost of plans within the budget, and the plans that it covers
    /// ([`Outcome::bound_scope`](remat_search::Outcome)); `None` for plans with copies.
    pub bound: Option<(u64, &'static str)>,
}

/// Prices of memory at the moments of a plan, by the relaxation of its program within the budget:
/// duals of memory rows, and of the cuts made from them.
///
/// Their sum is the rate at which the relaxation's bound falls if all moments get a byte more. A
/// relaxation counts fractions of tensors, so a price is a rate and no promise: a tensor of
/// 100 MB is kept whole or not at all. Moments without a price can use more memory for nothing.
///
/// ```
/// use remat_formulations::solve::byte_prices;
/// use remat_formulations::{Budget, Solve, zoo};
/// use std::time::Duration;
///
/// let instance = zoo::build(&"zoo:vgg16?batch=32".parse()?)?;
/// let solution = Solve::new(&instance, Budget::Percent(90.0)).gap(0.05).run()?;
/// let (plan, budget) = (&solution.plan()?.document.plan, solution.budget_bytes());
/// let prices = byte_prices(&instance, plan, budget, Duration::from_secs(10), &())?.moments;
/// let per_mib = prices.iter().map(|price| price.per_byte).sum::<f64>() * 1048576.0;
/// println!("1 MiB more everywhere saves {per_mib} at this rate");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`SolveError`] if the program does not apply to the instance, or fails.
pub fn byte_prices(
    instance: &Instance,
    plan: &Plan,
    budget_bytes: u64,
    limit: Duration,
    listener: &dyn Listener,
) -> Result<Priced, SolveError> {
    let until = Until {
        end: Instant::now() + limit,
        listener,
    };
    let (prices, bound) = match instance.host_link() {
        Some(_) if plan.steps.iter().any(is_copy) => {
            let prices = of_trips(instance, plan, budget_bytes, &until)?;
            (prices, None)
        }
        _ => {
            // Work is fixed, so prices are the same in each run that ends in time.
            let settings = Settings {
                effort: Effort::Quick,
                prove: true,
                ..Settings::default()
            };
            let mut solve = Solve::by(instance, plan.semantics, Budget::Bytes(budget_bytes))?
                .settings(settings)
                .listener(&until);
            // The schedule of MONeT's plans is not read off their statements.
            if plan.semantics == Semantics::Checkmate {
                solve = solve.start_from(AnyPlan::Statements(plan.clone()), instance);
            }
            let solution = solve.run()?;
            let proof = solution.proof.as_ref();
            let prices = proof.map_or_else(Vec::new, |proof| proof.prices().to_vec());
            let fits = solution.status != Status::Infeasible;
            (
                prices,
                fits.then_some((solution.bound, solution.bound_scope)),
            )
        }
    };
    Ok(Priced {
        moments: at_runs(plan, &prices),
        bound,
    })
}

/// Prices of several plans, each with its instance and its budget in bytes, within one time limit.
/// A plan whose program has no relaxation with prices gets none.
pub fn byte_prices_of(
    plans: &[(&Instance, &Plan, u64)],
    limit: Duration,
    listener: &dyn Listener,
) -> Vec<Priced> {
    let begun = Instant::now();
    let price = |(k, (instance, plan, budget_bytes)): (usize, &(&Instance, &Plan, u64))| {
        let left = limit.saturating_sub(begun.elapsed()) / (plans.len() - k) as u32;
        if left.is_zero() || listener.is_interrupted() {
            return Priced::default();
        }
        byte_prices(instance, plan, *budget_bytes, left, listener).unwrap_or_default()
    };
    plans.iter().enumerate().map(price).collect()
}

/// A listener that ends the work at a moment.
struct Until<'a> {
    end: Instant,
    listener: &'a dyn Listener,
}

impl Listener for Until<'_> {
    fn is_interrupted(&self) -> bool {
        Instant::now() >= self.end || self.listener.is_interrupted()
    }
}

fn is_copy(step: &Step) -> bool {
    matches!(step, Step::Offload { .. } | Step::Prefetch { .. })
}

/// Prices by the relaxation with copies.
fn of_trips(
    instance: &Instance,
    plan: &Plan,
    budget_bytes: u64,
    until: &Until<'_>,
) -> Result<Vec<BytePrice>, SolveError> {
    let Some(link) =
        LinkGraph::with_semantics(instance, plan.semantics, CopyPhase::Any, budget_bytes)
    else {
        return Ok(Vec::new());
    };
    let limits = ProofLimits {
        time: None,
        iterations: [ITERATIONS, ITERATIONS],
        nodes: 0,
        gap: 0.0,
        prove: true,
    };
    let cost = AnyPlan::Statements(plan.clone()).replay(instance)?.makespan;
    let stop = || until.is_interrupted();
    let proven = interval::prove(
        link.clone(),
        instance.base_cost(),
        Some(cost),
        &limits,
        &stop,
    );
    // A relaxation that fails has no prices.
    let tree = proven.ok().and_then(|proven| proven.proof);
    let proof = tree.map(|tree| interval::tree_proof(instance, budget_bytes, &link, &tree));
    Ok(proof.map_or_else(Vec::new, |proof| proof.prices().to_vec()))
}

/// Prices by computation of a plan. A moment that the plan does not have counts at the end of its
/// stage.
fn at_runs(plan: &Plan, prices: &[BytePrice]) -> Vec<MomentPrice> {
    let run = |step: &Step| match step {
        Step::Compute { node, .. } => Some(*node),
        _ => None,
    };
    let runs: Vec<NodeId> = plan.steps.iter().filter_map(run).collect();
    let first = |node: NodeId| runs.iter().position(|ran| *ran == node);
    let mut sums = vec![0.0; runs.len()];
    for price in prices {
        let Some(end) = first(price.stage) else {
            continue;
        };
        let before = price.stage.0.checked_sub(1).and_then(|k| first(NodeId(k)));
        let from = before.filter(|before| *before < end).map_or(0, |k| k + 1);
        let mut within = (from..=end).rev();
        let at = within.find(|at| runs[*at] == price.node).unwrap_or(end);
        sums[at] += price.per_byte;
    }
    let least = ROUNDING * sums.iter().copied().fold(0.0, f64::max);
    let sums = sums.into_iter().enumerate().filter(|sum| sum.1 > least);
    let price = |(run, per_byte)| MomentPrice { run, per_byte };
    sums.map(price).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::zoo;

    const LIMIT: Duration = Duration::from_secs(600);

    /// The plan of a short solve, its budget, and the bound.
    fn solved(instance: &Instance, semantics: Semantics, budget: Budget) -> (Plan, u64, u64) {
        let settings = Settings {
            effort: Effort::Quick,
            ..Settings::default()
        };
        let solve = Solve::by(instance, semantics, budget).unwrap();
        let solution = solve.settings(settings).run().unwrap();
        let plan = solution.document().unwrap().plan.clone();
        (plan, solution.budget_bytes(), solution.bound)
    }

    #[test]
    fn prices_predict_the_bound_of_a_larger_budget() {
        let instance = zoo::build(&"zoo:unet?batch=2".parse().unwrap()).unwrap();
        for semantics in [Semantics::Checkmate, Semantics::Monet] {
            let (plan, budget, bound) = solved(&instance, semantics, Budget::Percent(60.0));
            let prices = byte_prices(&instance, &plan, budget, LIMIT, &());
            let prices = prices.unwrap().moments;
            assert!(prices.iter().all(|price| price.per_byte > 0.0));
            let rate: f64 = prices.iter().map(|price| price.per_byte).sum();
            let more = budget / 25;
            let saved = (rate * more as f64) as u64;
            let (_, _, other) = solved(&instance, semantics, Budget::Bytes(budget + more));
            let error = (bound - saved).abs_diff(other) as f64 / other as f64;
            assert!(error < 0.002, "{semantics:?}: {bound} - {saved}, {other}");
            // A step that computes nothing again has memory to spare.
            let (plan, plain, _) = solved(&instance, semantics, Budget::Percent(100.0));
            let priced = byte_prices(&instance, &plan, plain, LIMIT, &()).unwrap();
            assert_eq!(priced.moments, []);
            assert_eq!(priced.bound.unwrap().0, instance.base_cost());
        }
    }

    #[test]
    fn copies_have_prices() {
        let instance = zoo::build(&"zoo:chain?n=12".parse().unwrap()).unwrap();
        let instance = instance
            .with_host_link(Some("1GB/s".parse().unwrap()))
            .unwrap();
        let solve = Solve::new(&instance, Budget::Percent(50.0));
        let solve = solve.offload(CopyPhase::Any, crate::offload::Release::AtOnce);
        let solution = solve.gap(0.05).run().unwrap();
        let plan = &solution.document().unwrap().plan;
        assert!(plan.steps.iter().any(is_copy));
        let prices = byte_prices(&instance, plan, solution.budget_bytes(), LIMIT, &());
        let prices = prices.unwrap().moments;
        assert!(prices.iter().map(|price| price.per_byte).sum::<f64>() > 0.0);
    }
}
