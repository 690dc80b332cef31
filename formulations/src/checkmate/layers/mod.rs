//! Programs of equal layers: the root of many from that of a few.
//!
//! A Lagrangian bound takes any duals, so those of a few layers, carried over, bound the cost of
//! many; and the rows, columns and basis of a few start the root of many next to its optimum.
//!
//! | module | concept |
//! |---|---|
//! | `carry` | rows and intervals of a few layers, carried over to many |

mod carry;

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

/// Layers of a stack in the small network; of four or five the duals are no good.
const FEW: u32 = 8;
/// Layers by which either network counts as larger where the budget of the small one is measured:
/// what is dropped besides the layers' own share is not known.
const EXTRA_LAYERS: [f64; 3] = [0.0, -1.0, 1.0];
/// Factors on the duals of memory that are searched, and steps of that search.
const FACTORS: [f64; 2] = [0.85, 1.1];
const FACTOR_STEPS: usize = 7;

/// A place to start the root of a program from; `None` where that of fewer layers gives none.
pub(super) fn start(
    instance: &Instance,
    layout: &Layout,
    program: &CheckmateGraph,
    budget_bytes: u64,
    stop: &Arc<AtomicBool>,
) -> Option<RootStart<CheckmateGraph>> {
    let few: Vec<u32> = layout.stacks().iter().map(|s| s.layers.min(FEW)).collect();
    let small_layout = layout.with_layers(&few);
    let small = cut(instance, layout, &small_layout)?;
    let budgets = Budgets::new([&small, instance], [&small_layout, layout], budget_bytes)?;
    let over = || stop.load(Ordering::Relaxed);
    let all = Exclusions::none(program.extent());
    let bound = |proof: &[(Row, f64)]| {
        let (rows, duals): (Vec<Row>, Vec<f64>) = proof.iter().cloned().unzip();
        lagrangian_bound(program, &all, &rows, &duals)
    };
    let mut best: Option<(u64, RootStart<CheckmateGraph>)> = None;
    let mut known = None;
    for extra in EXTRA_LAYERS {
        if over() {
            break;
        }
        let Some(root) = small_root(&small, budgets.of_small(extra), stop) else {
            continue;
        };
        let carrier = Carrier {
            small: &small_layout,
            large: layout,
            to: program,
        };
        let found = root.start();
        // The layer whose duals are best for one budget is for another, too.
        let middles = known.map_or(carrier.middles(), |m| m..m + 1);
        for middle in middles {
            let proof = carrier.rows(&found.proof, middle);
            let bound = bound(&proof);
            if best.as_ref().is_none_or(|(most, _)| bound > *most) {
                known = Some(middle);
                let tight: Vec<(Row, f64)> = found.tight.iter().map(|r| (r.clone(), 1.0)).collect();
                let tight = carrier.rows(&tight, middle).into_iter().map(|r| r.0);
                let basic = carrier.intervals(&found.basic, Some(middle));
                let mut columns = carrier.intervals(&found.columns, None);
                columns.extend(&basic);
                let start = RootStart {
                    proof,
                    columns,
                    tight: tight.collect(),
                    basic,
                };
                best = Some((bound, start));
            }
        }
    }
    let (most, mut start) = best?;
    let factor = best_factor(|factor| match over() {
        true => 0,
        false => bound(&scaled(&start.proof, factor)),
    });
    let proof = scaled(&start.proof, factor);
    if bound(&proof) > most {
        start.proof = proof;
    }
    Some(start)
}

/// Rows with the duals of memory so many times as large.
fn scaled(proof: &[(Row, f64)], factor: f64) -> Vec<(Row, f64)> {
    let scale = |(row, dual): &(Row, f64)| match row.is_memory() {
        true => (row.clone(), dual * factor),
        false => (row.clone(), *dual),
    };
    proof.iter().map(scale).collect()
}

/// The factor on the duals of memory at which the bound, a concave function, is largest, by golden
/// sections.
fn best_factor(bound: impl Fn(f64) -> u64) -> f64 {
    const RATIO: f64 = 0.618_033_988_749_895;
    let [mut low, mut high] = FACTORS;
    let mut left = high - RATIO * (high - low);
    let mut right = low + RATIO * (high - low);
    let (mut at_left, mut at_right) = (bound(left), bound(right));
    for _ in 0..FACTOR_STEPS {
        if at_left > at_right {
            (high, right, at_right) = (right, left, at_left);
            left = high - RATIO * (high - low);
            at_left = bound(left);
        } else {
            (low, left, at_left) = (left, right, at_right);
            right = low + RATIO * (high - low);
            at_right = bound(right);
        }
    }
    if at_left > at_right { left } else { right }
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

/// Budgets of the small network: what is dropped is so much for each layer as in the large one.
struct Budgets {
    /// Bytes of forward tensors in all layers of the small and the large network.
    layers: [f64; 2],
    /// The same in one layer, of the stack where it is most.
    layer: f64,
    /// Peak of the small network, and its least budget.
    peak: u64,
    least: u64,
    /// Bytes by which the large network is to be below its peak.
    drop: u64,
}

impl Budgets {
    fn new(
        [small, large]: [&Instance; 2],
        layouts: [&Layout; 2],
        budget_bytes: u64,
    ) -> Option<Self> {
        let peak = |instance: &Instance| {
            let all = CheckmateSchedule::checkpoint_all(instance);
            Some(simulate::checkmate(instance, &all).ok()?.peak_bytes)
        };
        let in_layers = |instance: &Instance, layout: &Layout| {
            let nodes = (0..layout.nodes()).filter(|i| layout.layer(layout.place(*i)).is_some());
            let forward = nodes.filter(|i| !instance.node(NodeId(*i)).is_backward());
            let bytes = forward.map(|i| instance.node(NodeId(i)).output_bytes);
            bytes.sum::<u64>() as f64
        };
        let layers = [in_layers(small, layouts[0]), in_layers(large, layouts[1])];
        let count: u32 = layouts[1].stacks().iter().map(|s| s.layers).sum();
        Some(Budgets {
            layer: layers[1] / f64::from(count),
            layers,
            peak: peak(small)?,
            least: smallest_budget(small).needed_bytes,
            drop: peak(large)?.checked_sub(budget_bytes)?,
        })
    }

    fn of_small(&self, extra_layers: f64) -> u64 {
        let extra = extra_layers * self.layer;
        let share = (self.layers[0] + extra) / (self.layers[1] + extra);
        let drop = self.drop as f64 * share.max(0.0);
        self.peak.saturating_sub(drop as u64).max(self.least)
    }
}
