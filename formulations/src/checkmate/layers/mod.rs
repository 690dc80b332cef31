//! Programs of equal layers: the root of many from that of a few.
//!
//! A Lagrangian bound takes any duals, so those of a few layers, carried over, bound the cost of
//! many; and the rows, columns and basis of a few start the root of many next to its optimum.
//!
//! | module | concept |
//! |---|---|
//! | `carry` | rows and intervals of a few layers, carried over to many |
//! | `plans` | plans of many layers from plans of a few |

mod carry;
mod plans;

pub(super) use plans::plans;

use super::CheckmateGraph;
use super::interval::{Row, lagrangian_bound};
use crate::bound::smallest_budget;
use crate::life::Exclusions;
use crate::life::layers::{Layout, cut};
use carry::Carrier;
use remat_instances::instance::{Instance, NodeId};
use remat_instances::schedule::CheckmateSchedule;
use remat_instances::simulate;
use remat_solver::price::{Incumbents, Root, RootSettings, RootStart};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Layers of a stack in the small network: with eight, bounds are up to 0.2% lower where memory is
/// tight, and with four or five no good.
const FEW: u32 = 12;
/// The same where there are several stacks, so that the small network stays small.
const FEW_OF_SEVERAL: u32 = 8;
/// Layers of a stack in the network that judges which middle layer's duals are best: a bound of it
/// takes little time.
const JUDGE: u32 = 20;
/// Layers by which either network counts as larger where the budget of the small one is measured:
/// what is dropped besides the layers' own share is not known. With one more, small networks are so
/// tight that their relaxations take minutes.
const EXTRA_LAYERS: [f64; 2] = [0.0, -1.0];
/// First step of the search for a factor on the duals of memory, and bounds that it takes at most.
const FACTOR_STEP: f64 = 0.03;
const FACTOR_BOUNDS: usize = 5;

/// A place to start the root of a program from; `None` where that of fewer layers gives none.
/// Bounds are told on the way.
pub(super) fn start(
    instance: &Instance,
    layout: &Layout,
    program: &CheckmateGraph,
    budget_bytes: u64,
    stop: &Arc<AtomicBool>,
    incumbents: &Incumbents<CheckmateGraph>,
) -> Option<RootStart<CheckmateGraph>> {
    let few = Cut::new(instance, layout, few_layers(layout))?;
    let budgets = Budgets::new(instance, layout, budget_bytes)?;
    // Where no stack is longer than the judge's, the network judges itself.
    let judge = Cut::new(instance, layout, JUDGE).and_then(|judge| {
        let budget = budgets.of(&judge, 0.0)?;
        let program = CheckmateGraph::new(&judge.instance, budget).ok()?;
        Some((judge.layout, program))
    });
    let mut best: Option<(u64, RootStart<CheckmateGraph>)> = None;
    let mut known = None;
    for extra in EXTRA_LAYERS {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        let budget = budgets.of(&few, extra);
        let Some(root) = budget.and_then(|b| small_root(&few.instance, b, stop)) else {
            continue;
        };
        let found = root.start();
        let carrier = |large, to| Carrier {
            small: &few.layout,
            large,
            to,
        };
        // The layer whose duals are best for one budget is for another, too.
        let middle = *known.get_or_insert_with(|| {
            let (layout, program) = judge.as_ref().map_or((layout, program), |j| (&j.0, &j.1));
            let carrier = carrier(layout, program);
            let judged = |m: &u32| bound(program, &carrier.rows(&found.proof, *m));
            carrier.middles().max_by_key(judged).unwrap_or(0)
        });
        let carrier = carrier(layout, program);
        let proof = carrier.rows(&found.proof, middle);
        let bound = bound(program, &proof);
        incumbents.prove(bound);
        if best.as_ref().is_none_or(|(most, _)| bound > *most) {
            best = Some((bound, carrier.start(&found, proof, middle)));
        }
    }
    let (most, mut start) = best?;
    start.proof = with_best_factor(start.proof, most, |proof| {
        (!stop.load(Ordering::Relaxed)).then(|| bound(program, proof))
    });
    Some(start)
}

/// Layers of a stack in the small network.
fn few_layers(layout: &Layout) -> u32 {
    match layout.stacks().len() {
        1 => FEW,
        _ => FEW_OF_SEVERAL,
    }
}

/// The bound of some rows and duals.
fn bound(program: &CheckmateGraph, proof: &[(Row, f64)]) -> u64 {
    let (rows, duals): (Vec<Row>, Vec<f64>) = proof.iter().cloned().unzip();
    let all = Exclusions::none(program.extent());
    lagrangian_bound(program, &all, &rows, &duals)
}

/// Rows and duals with a better factor on those of memory, by steps in the better direction that
/// are halved where there is none. `bound` gives none where the time is over.
fn with_best_factor(
    proof: Vec<(Row, f64)>,
    mut most: u64,
    bound: impl Fn(&[(Row, f64)]) -> Option<u64>,
) -> Vec<(Row, f64)> {
    let (mut factor, mut step) = (1.0, FACTOR_STEP);
    let mut best = proof.clone();
    let mut turned = false;
    for _ in 0..FACTOR_BOUNDS {
        let next = scaled(&proof, factor + step);
        let Some(found) = bound(&next) else {
            break;
        };
        if found > most {
            (most, best, factor, turned) = (found, next, factor + step, true);
        } else if turned {
            (step, turned) = (-step / 2.0, false);
        } else {
            (step, turned) = (-step, true);
        }
    }
    best
}

/// Rows with the duals of memory so many times as large.
fn scaled(proof: &[(Row, f64)], factor: f64) -> Vec<(Row, f64)> {
    let scale = |(row, dual): &(Row, f64)| match row.is_memory() {
        true => (row.clone(), dual * factor),
        false => (row.clone(), *dual),
    };
    proof.iter().map(scale).collect()
}

/// The root of the small network, without covers, whose duals cannot be carried.
fn small_root(
    small: &Instance,
    budget_bytes: u64,
    stop: &Arc<AtomicBool>,
) -> Option<Root<CheckmateGraph>> {
    let mut graph = CheckmateGraph::new(small, budget_bytes).ok()?;
    graph.gauges.truncate(1);
    let settings = RootSettings {
        dense_cuts: false,
        stop: Some(stop.clone()),
        ..RootSettings::default()
    };
    let root = Root::solve(Arc::new(graph), &settings, None, &Incumbents::default()).ok()?;
    (!root.is_infeasible()).then_some(root)
}

/// The network with fewer layers.
struct Cut {
    layout: Layout,
    instance: Instance,
    /// Bytes of forward tensors in layers, the peak that keeps everything, and the least budget.
    layers: f64,
    peak: u64,
    least: u64,
}

impl Cut {
    /// The network with so many layers in each stack at most; `None` where none has more.
    fn new(instance: &Instance, layout: &Layout, most: u32) -> Option<Cut> {
        let few: Vec<u32> = layout.stacks().iter().map(|s| s.layers.min(most)).collect();
        if layout.stacks().iter().all(|s| s.layers <= most) {
            return None;
        }
        let small = layout.with_layers(&few);
        let instance = cut(instance, layout, &small)?;
        Some(Cut {
            layers: bytes_in_layers(&instance, &small),
            peak: plain_peak(&instance)?,
            least: smallest_budget(&instance).needed_bytes,
            layout: small,
            instance,
        })
    }
}

/// Budgets of smaller networks: what is dropped is so much for each layer as in the large one.
struct Budgets {
    /// Bytes of forward tensors in all layers of the large network, and in one, on average.
    layers: f64,
    layer: f64,
    /// Bytes by which the large network is to be below its peak.
    drop: u64,
}

impl Budgets {
    fn new(instance: &Instance, layout: &Layout, budget_bytes: u64) -> Option<Self> {
        let layers = bytes_in_layers(instance, layout);
        let count: u32 = layout.stacks().iter().map(|s| s.layers).sum();
        Some(Budgets {
            layers,
            layer: layers / f64::from(count),
            drop: plain_peak(instance)?.checked_sub(budget_bytes)?,
        })
    }

    fn of(&self, cut: &Cut, extra_layers: f64) -> Option<u64> {
        let extra = extra_layers * self.layer;
        let share = (cut.layers + extra) / (self.layers + extra);
        let drop = self.drop as f64 * share.max(0.0);
        let budget = cut.peak.saturating_sub(drop as u64);
        (budget > cut.least).then_some(budget)
    }
}

fn plain_peak(instance: &Instance) -> Option<u64> {
    let all = CheckmateSchedule::checkpoint_all(instance);
    Some(simulate::checkmate(instance, &all).ok()?.peak_bytes)
}

/// Bytes of the forward tensors in layers.
fn bytes_in_layers(instance: &Instance, layout: &Layout) -> f64 {
    let nodes = (0..layout.nodes()).filter(|i| layout.layer(layout.place(*i)).is_some());
    let nodes = nodes.map(|i| instance.node(NodeId(i)));
    let forward = nodes.filter(|node| !node.is_backward());
    forward.map(|node| node.output_bytes).sum::<u64>() as f64
}
