//! Fractions of layers: the strategy of torchtitan's memory planner, on the blocks of a chain.
//!
//! A linear program splits what each layer saves into shares that stay, go to the host, and are
//! computed again; a knapsack for each layer then picks the tensors (torchtitan, `auto_perf_maxing`,
//! pull request 4636). With `D` the bytes that a layer saves beside its output, `F` and `B` the times
//! of its forward and backward runs, `k`, `o` the shares kept and offloaded:
//!
//! ```text
//! minimise  sum_l (1 - k_l - o_l) F_l
//! peak      sum_{j<l} (output_j + k_j D_j) + o_{l-1} D_{l-1} + peak_l <= capacity    for every layer l
//! link      o_l D_l <= F_l out,  o_l D_l <= B_l back                                copies hide in the layer itself
//! host      sum_l o_l D_l <= host memory
//! ```
//!
//! Outputs of layers stay. The plan recomputes what is not saved when the backward pass first needs
//! it, and its copies are put into place by the clock of [`Offload`](super::Offload). Where the plan
//! does not fit, the capacity of the linear program is lowered step by step.

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

/// Capacities that are tried, each lower than the one before by a like share of the budget.
const CAPACITIES: u64 = 20;

/// Reason why the strategy has no plan.
#[derive(Debug, thiserror::Error)]
pub enum FractionsError {
    /// The instance has no link, or its costs are no times.
    #[error("the instance has no host_link in a unit of time; give one, such as 12GB/s")]
    NoLink,
    /// The graph is not a chain of layers.
    #[error(transparent)]
    NoChain(#[from] NoChain),
    /// The graph is no training graph that strategies of recomputation take.
    #[error(transparent)]
    NotApplicable(#[from] NotApplicable),
    /// The linear program cannot be stated; this would be a defect.
    #[error(transparent)]
    Program(#[from] ModelError),
    /// A plan cannot be replayed; this would be a defect.
    #[error(transparent)]
    Replay(#[from] ReplayError),
}

/// The best plan of fractions of layers within a budget in bytes, fixed memory included, and its
/// replay; `None` where none fits.
///
/// ```
/// use remat_formulations::offload::CopyPhase;
/// use remat_formulations::offload::nodes::layer_fractions;
/// use remat_formulations::zoo;
///
/// let instance = zoo::build(&"zoo:gpt2?layers=2&device=a100".parse()?)?;
/// let instance = instance.with_host_link(Some("25GB/s".parse()?))?;
/// let peak = instance.plain_replay(Default::default())?.peak_bytes;
/// let found = layer_fractions(&instance, peak / 10 * 9, CopyPhase::Any)?;
/// let (_, replay) = found.ok_or("it fits")?;
/// assert!(replay.makespan >= replay.base_cost && replay.peak_bytes <= peak / 10 * 9);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`FractionsError`] for an instance without a link, whose costs are no times, or that is no chain of
/// layers.
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

/// A layer as the linear program sees it. Bytes and the instance's unit of cost.
struct Layer {
    /// The tensor that later layers read.
    output: Option<NodeId>,
    output_bytes: u64,
    /// Saved tensors beside the output.
    saved: Vec<NodeId>,
    saved_bytes: u64,
    forward_cost: u64,
    backward_cost: u64,
    /// Peak of its backward run, what it saves and its output included.
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

/// Shares kept and offloaded of each layer; `None` where the program is infeasible.
fn shares(
    layers: &[Layer],
    capacity: u64,
    times: &CopyTimes,
    host_bytes: u64,
) -> Result<Option<Vec<[f64; 2]>>, ModelError> {
    const MIB: f64 = 1048576.0;
    let size = |bytes: u64| bytes as f64 / MIB;
    let mut lp = ModelBuilder::new(Sense::Maximise);
    let mut columns: Vec<[ColId; 2]> = Vec::new();
    for layer in layers {
        let sent = times.to_host_within(layer.forward_cost);
        let back = times.from_host_within(layer.backward_cost);
        let hidden = sent.min(back) as f64 / layer.saved_bytes.max(1) as f64;
        let cost = layer.forward_cost as f64;
        let kept = lp.add_col(cost, 0.0..=1.0);
        let away = lp.add_col(cost, 0.0..=hidden.min(1.0));
        lp.add_row(..=1.0, [(kept, 1.0), (away, 1.0)]);
        columns.push([kept, away]);
    }
    let mut outputs = 0.0;
    for (l, layer) in layers.iter().enumerate() {
        let before = columns[..l].iter().zip(layers);
        let mut row: Vec<(ColId, f64)> = before.map(|(c, j)| (c[0], size(j.saved_bytes))).collect();
        if let Some(before) = l.checked_sub(1) {
            row.push((columns[before][1], size(layers[before].saved_bytes)));
        }
        row.retain(|(_, bytes)| *bytes > 0.0);
        lp.add_row(..=size(capacity) - outputs - size(layer.peak_bytes), row);
        outputs += size(layer.output_bytes);
    }
    if host_bytes < u64::MAX {
        let all = columns.iter().zip(layers);
        let all = all.map(|(c, layer)| (c[1], size(layer.saved_bytes)));
        lp.add_row(..=size(host_bytes), all.filter(|(_, bytes)| *bytes > 0.0));
    }
    let mut solver = Solver::new(lp.build()?, Settings::default());
    Ok(match solver.solve() {
        LpOutcome::Optimal(solution) => {
            let value = |col: ColId| solution.x[col.index()];
            Some(columns.iter().map(|c| c.map(value)).collect())
        }
        _ => None,
    })
}

/// Tensors that are saved, and those of them that leave.
fn chosen(
    instance: &Instance,
    graph: &TrainingGraph<'_>,
    layers: &[Layer],
    shares: &[[f64; 2]],
) -> (Vec<bool>, Vec<bool>) {
    let mut saved = vec![false; graph.backward_start()];
    let mut away = saved.clone();
    for (layer, &[kept, gone]) in layers.iter().zip(shares) {
        if let Some(output) = layer.output {
            saved[output.index()] = true;
        }
        let bytes = |id: &NodeId| instance.node(*id).output_bytes;
        let part = |id: &NodeId| bytes(id) as f64 / layer.saved_bytes.max(1) as f64;
        let parts: Vec<f64> = layer.saved.iter().map(part).collect();
        let costs = layer.saved.iter();
        let costs: Vec<u64> = costs.map(|id| instance.node(*id).run_cost(true)).collect();
        let taken = QuantisedKnapsack::solve(&parts, &costs).chosen(kept + gone);
        // The largest leave, as long as they hide.
        let mut by_size: Vec<usize> = (0..parts.len()).filter(|k| taken[*k]).collect();
        by_size.sort_by(|a, b| parts[*b].total_cmp(&parts[*a]).then(a.cmp(b)));
        let mut left = gone;
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
