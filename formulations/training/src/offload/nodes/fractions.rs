//! Layer fractions: the strategy of torchtitan's memory planner, on the blocks of a chain.
//!
//! A linear program splits the saved tensors of each layer into shares that stay, go to the host,
//! or are recomputed; a knapsack for each layer then picks the tensors (torchtitan,
//! `auto_perf_maxing`, pull request 4636). `A` is the bytes of a layer's output and `D` the bytes
//! of its other saved tensors; `F` and `B` are the times of its forward and backward runs. `k` and
//! `o` are the shares of `D` kept and offloaded, and `w` is the share of `A` offloaded:
//!
//! ```text
//! minimise  sum_l (1 - k_l - o_l) F_l
//! peak      sum_{j<l} ((1 - w_j) A_j + k_j D_j) + w_{l-1} A_{l-1} + o_{l-1} D_{l-1} + peak_l
//!           <= capacity                                for every layer l
//! link      o_l D_l + w_l A_l <= F_l out,  o_l D_l + w_l A_l <= B_l back
//!           (copies hide in the layer itself)
//! host      sum_l (o_l D_l + w_l A_l) <= host memory
//! ```
//!
//! A layer's output is never recomputed. The plan recomputes unsaved tensors when the backward pass
//! first needs them, and the clock of [`Offload`](super::Offload) places its copies. The linear
//! program is solved for several capacities, from the budget downwards, because its plan may exceed
//! its capacity; the best plan that fits is returned.

use super::clock::Clock;
use super::emit::emit;
use super::sequence::Sequence;
use crate::baselines::NotApplicable;
use crate::baselines::chain::{NoChain, TrainingChain, extract};
use crate::baselines::knapsack::QuantisedKnapsack;
use crate::baselines::retention::recompute_at_first_need;
use crate::baselines::training::TrainingGraph;
use crate::offload::CopyPhase;
use remat_instances::instance::{CopyTimes, Instance, NodeId};
use remat_instances::plan::Plan;
use remat_instances::simulate::{self, Replay, ReplayError};
use remat_lp::{ColId, LpOutcome, ModelBuilder, ModelError, Sense, Settings, Solver};

/// Number of capacities tried, each lower than the one before by the same share of the budget.
const CAPACITIES: u64 = 20;

/// Reason why the strategy has no plan.
#[derive(Debug, thiserror::Error)]
pub enum FractionsError {
    /// The instance has no link, or its costs are not times.
    #[error("the instance has no host_link in a unit of time; give one, such as 12GB/s")]
    NoLink,
    /// The graph is not a chain of layers.
    #[error(transparent)]
    NoChain(#[from] NoChain),
    /// The graph is not a training graph that recomputation strategies accept.
    #[error(transparent)]
    NotApplicable(#[from] NotApplicable),
    /// The linear program cannot be stated; this would be a defect.
    #[error(transparent)]
    Program(#[from] ModelError),
    /// A plan cannot be replayed; this would be a defect.
    #[error(transparent)]
    Replay(#[from] ReplayError),
}

/// The best plan of layer fractions within a budget in bytes, fixed memory included, with its
/// replay; `None` if no plan fits.
///
/// ```
/// use remat_formulations::offload::CopyPhase;
/// use remat_formulations::offload::nodes::layer_fractions;
/// use remat_formulations::{AnyFormulation, zoo};
/// use remat_search::Solvable;
///
/// let instance = zoo::build(&"zoo:gpt2?layers=2&device=a100".parse()?)?;
/// let instance = instance.with_host_link(Some("25GB/s".parse()?))?;
/// let peak = AnyFormulation::checkmate(&instance).plain()?.peak_bytes;
/// let found = layer_fractions(&instance, peak / 10 * 9, CopyPhase::Any)?;
/// let (_, replay) = found.ok_or("it fits")?;
/// assert!(replay.makespan >= replay.base_cost && replay.peak_bytes <= peak / 10 * 9);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`FractionsError`] for an instance without a link, whose costs are not times, or that is not a
/// chain of layers.
pub fn layer_fractions(
    instance: &Instance,
    budget_bytes: u64,
    copies: CopyPhase,
) -> Result<Option<(Plan, Replay)>, FractionsError> {
    let link = instance.host_link().ok_or(FractionsError::NoLink)?;
    let times = link.times(instance.cost_unit());
    let times = times.ok_or(FractionsError::NoLink)?;
    let training = extract(instance)?;
    let graph = TrainingGraph::new(instance)?;
    let layers = layers(&training);
    let host_bytes = link.host_memory_bytes.unwrap_or(u64::MAX);
    let capacity = budget_bytes.saturating_sub(instance.static_bytes());
    let mut best: Option<(Plan, Replay)> = None;
    for step in 0..CAPACITIES {
        let lowered = capacity - capacity / CAPACITIES * step;
        let Some(shares) = shares(&layers, lowered, &times, host_bytes)? else {
            break;
        };
        let (saved, away) = chosen(instance, &graph, &layers, &shares);
        let schedule = recompute_at_first_need(&graph, &saved);
        let plan = Plan::from_checkmate(instance, &schedule)?;
        let sequence = Sequence::of(instance, &plan, &times, copies)?;
        let turn = graph.backward_start();
        let node = |k: u32| sequence.of.runs[k as usize].node;
        let crosses = |gap: &super::sequence::Gap| {
            let first = node(gap.value).index() < turn && away[node(gap.value).index()];
            first && node(gap.after).index() < turn && node(gap.before).index() >= turn
        };
        let gaps: Vec<bool> = sequence.gaps.iter().map(crosses).collect();
        let mut clock = Clock::new(&sequence, budget_bytes);
        let placed = clock.place(&gaps);
        if placed.excess > 0 || placed.host_bytes > host_bytes {
            continue;
        }
        let plan = emit(&sequence, &gaps, placed);
        let replay = simulate::plan(instance, &plan)?;
        let fits = replay.peak_bytes <= budget_bytes && copies.admits(instance, &replay);
        let is_better = (best.as_ref()).is_none_or(|(_, known)| replay.makespan < known.makespan);
        if fits && is_better {
            best = Some((plan, replay));
        }
    }
    Ok(best)
}

/// A layer as the linear program sees it; sizes in bytes, costs in the instance's unit.
struct Layer {
    /// The tensor that later layers read.
    output: Option<NodeId>,
    output_bytes: u64,
    /// Saved tensors beside the output.
    saved: Vec<NodeId>,
    saved_bytes: u64,
    forward_cost: u64,
    backward_cost: u64,
    /// Peak of its backward run, including its saved tensors and its output.
    peak_bytes: u64,
}

fn layers(training: &TrainingChain<'_>) -> Vec<Layer> {
    let bytes = |id: &NodeId| training.instance().node(*id).output_bytes;
    let stages = training.chain().stages.iter();
    let both = stages.zip(training.blocks());
    both.map(|(stage, block)| {
        let is_inner = |id: &NodeId| Some(*id) != block.output;
        let saved: Vec<NodeId> = block.saved.iter().copied().filter(is_inner).collect();
        Layer {
            output: block.output,
            output_bytes: stage.output_bytes,
            saved_bytes: saved.iter().map(bytes).sum(),
            saved,
            forward_cost: stage.forward_cost,
            backward_cost: stage.backward_cost,
            peak_bytes: stage.backward_bytes.max(stage.close_bytes),
        }
    })
    .collect()
}

/// Shares of each layer.
struct Shares {
    /// Kept share of the tensors saved beside its output.
    kept: f64,
    /// Offloaded share of the same tensors.
    away: f64,
    /// Offloaded share of its output.
    output_away: f64,
}

/// Shares of each layer; `None` if the program is infeasible.
fn shares(
    layers: &[Layer],
    capacity: u64,
    times: &CopyTimes,
    host_bytes: u64,
) -> Result<Option<Vec<Shares>>, ModelError> {
    const MIB: f64 = 1048576.0;
    let size = |bytes: u64| bytes as f64 / MIB;
    let mut lp = ModelBuilder::new(Sense::Maximise);
    let mut columns: Vec<[ColId; 3]> = Vec::new();
    // Bytes of each layer that leave, by column.
    let leaving = |c: &[ColId; 3], layer: &Layer| {
        let both = [(c[1], layer.saved_bytes), (c[2], layer.output_bytes)];
        both.map(|(col, bytes)| (col, size(bytes)))
    };
    for layer in layers {
        let cost = layer.forward_cost as f64;
        let most = if layer.output.is_some() { 1.0 } else { 0.0 };
        let own = [
            lp.add_col(cost, 0.0..=1.0),
            lp.add_col(cost, 0.0..=1.0),
            lp.add_col(0.0, 0.0..=most),
        ];
        lp.add_row(..=1.0, [(own[0], 1.0), (own[1], 1.0)]);
        let sent = times.to_host_within(layer.forward_cost);
        let back = times.from_host_within(layer.backward_cost);
        lp.add_row(..=size(sent.min(back)), without_zeros(leaving(&own, layer)));
        columns.push(own);
    }
    let mut outputs = 0.0;
    for (l, layer) in layers.iter().enumerate() {
        let mut row: Vec<(ColId, f64)> = Vec::new();
        for (j, (c, before)) in columns[..l].iter().zip(layers).enumerate() {
            row.push((c[0], size(before.saved_bytes)));
            match j + 1 == l {
                // The offloaded share is still on the device while its copy is under way.
                true => row.push((c[1], size(before.saved_bytes))),
                false => row.push((c[2], -size(before.output_bytes))),
            }
        }
        let room = size(capacity) - outputs - size(layer.peak_bytes);
        lp.add_row(..=room, without_zeros(row));
        outputs += size(layer.output_bytes);
    }
    if host_bytes < u64::MAX {
        let all = columns.iter().zip(layers);
        let all = all.flat_map(|(c, layer)| leaving(c, layer));
        lp.add_row(..=size(host_bytes), without_zeros(all));
    }
    let mut solver = Solver::new(lp.build()?, Settings::default());
    Ok(match solver.solve() {
        LpOutcome::Optimal(solution) => {
            let value = |col: ColId| solution.x[col.index()];
            let shares = columns.iter().map(|c| c.map(value));
            let named = shares.map(|[kept, away, output_away]| Shares {
                kept,
                away,
                output_away,
            });
            Some(named.collect())
        }
        _ => None,
    })
}

fn without_zeros(
    entries: impl IntoIterator<Item = (ColId, f64)>,
) -> impl Iterator<Item = (ColId, f64)> {
    entries.into_iter().filter(|(_, value)| *value != 0.0)
}

/// Tensors that are saved, and the saved tensors that leave.
fn chosen(
    instance: &Instance,
    graph: &TrainingGraph<'_>,
    layers: &[Layer],
    shares: &[Shares],
) -> (Vec<bool>, Vec<bool>) {
    let mut saved = vec![false; graph.backward_start()];
    let mut away = saved.clone();
    for (layer, shares) in layers.iter().zip(shares) {
        if let Some(output) = layer.output {
            saved[output.index()] = true;
            away[output.index()] = shares.output_away >= 0.5 && instance.may_offload(output);
        }
        let bytes = |id: &NodeId| instance.node(*id).output_bytes;
        let part = |id: &NodeId| bytes(id) as f64 / layer.saved_bytes.max(1) as f64;
        let parts: Vec<f64> = layer.saved.iter().map(part).collect();
        let costs = layer.saved.iter();
        let costs: Vec<u64> = costs.map(|id| instance.node(*id).run_cost(true)).collect();
        let taken = QuantisedKnapsack::solve(&parts, &costs).chosen(shares.kept + shares.away);
        // The largest tensors leave, up to the share whose copies are hidden.
        let mut by_size: Vec<usize> = (0..parts.len()).filter(|k| taken[*k]).collect();
        by_size.sort_by(|a, b| parts[*b].total_cmp(&parts[*a]).then(a.cmp(b)));
        let mut left = shares.away;
        for k in by_size {
            let id = layer.saved[k];
            saved[id.index()] = true;
            if parts[k] <= left && instance.may_offload(id) {
                left -= parts[k];
                away[id.index()] = true;
            }
        }
    }
    (saved, away)
}
