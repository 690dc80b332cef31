//! The root of many layers from the root of a few.
//!
//! A Lagrangian bound takes any duals, so the duals of a few layers, carried over, bound the cost
//! of many. The rows, columns and basis of a few layers start the root of many next to its optimum.

use super::carry::Carrier;
use super::few::{Budgets, Few};
use super::map::LayerMap;
use super::{Layered, Layout};
use remat_instances::instance::Instance;
use remat_solver::price::{Incumbents, Root, RootSettings, RootStart, Sense};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Layers of a stack in the network that judges which middle layer has the best duals: its bounds
/// take little time.
const JUDGE: u32 = 20;
/// Layers by which both networks count as larger for the budget of the small one: the reduction
/// outside of layers is not known. With one more layer, small networks are so tight that their
/// relaxations take minutes.
const EXTRA_LAYERS: [f64; 2] = [0.0, -1.0];
/// Pivots of the root of a small network, at most: near the least budget it may take minutes.
const SMALL_ROOT_PIVOTS: u64 = 30_000;
/// First step of the search for a factor on the duals of memory, and the number of bounds that it
/// takes at most.
const FACTOR_STEP: f64 = 0.03;
const FACTOR_BOUNDS: usize = 5;

/// A start for the root of a program; `None` if the root of fewer layers has no usable state.
/// Bounds are reported on the way.
pub fn root_start<P: Layered>(
    instance: &Instance,
    layout: &Layout,
    program: &P,
    budget_bytes: u64,
    stop: &Arc<AtomicBool>,
    incumbents: &Incumbents<P>,
) -> Option<RootStart<P>> {
    let few = Few::<P>::small(instance, layout)?;
    let budgets = Budgets::new::<P>(instance, layout, budget_bytes)?;
    // If no stack is longer than the judge's, the network judges itself.
    let judge = Few::<P>::new(instance, layout, JUDGE).and_then(|judge| {
        let budget = budgets.of(&judge, 0.0)?;
        let own = P::of(&judge.instance, budget)?.like(program);
        Some((judge.layout, own))
    });
    let mut best: Option<(u64, RootStart<P>)> = None;
    let mut known = None;
    for extra in EXTRA_LAYERS {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        let budget = budgets.of(&few, extra);
        let small = budget
            .and_then(|b| P::of_few(&few.instance, b))
            .map(|small| Arc::new(small.like(program)));
        let Some((small, found)) = small.and_then(|small| {
            let found = small_root(&small, stop)?;
            Some((small, found))
        }) else {
            continue;
        };
        let carrier = |large_layout, large| Carrier {
            map: LayerMap {
                small: &few.layout,
                large: large_layout,
            },
            small: &*small,
            large,
        };
        // The best layer for one budget is used for the others, too.
        let middle = *known.get_or_insert_with(|| {
            let (layout, program) = judge.as_ref().map_or((layout, program), |j| (&j.0, &j.1));
            let carrier = carrier(layout, program);
            let judged = |m: &u32| bound(program, &carrier.rows(&found.proof, *m));
            carrier.map.middles().max_by_key(judged).unwrap_or(0)
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
    start.proof = with_best_factor(program, start.proof, most, stop);
    Some(start)
}

/// The final state of the root of the small network, without covers, whose duals cannot be carried.
fn small_root<P: Layered>(small: &Arc<P>, stop: &Arc<AtomicBool>) -> Option<RootStart<P>> {
    let settings = RootSettings {
        dense_cuts: false,
        pivots: SMALL_ROOT_PIVOTS,
        stop: Some(stop.clone()),
        ..RootSettings::default()
    };
    let root = Root::solve(small.clone(), &settings, &Incumbents::default()).ok()?;
    (!root.is_infeasible()).then(|| root.start())
}

/// The bound of some rows and duals.
fn bound<P: Layered>(program: &P, proof: &[(P::Row, f64)]) -> u64 {
    let (rows, duals): (Vec<P::Row>, Vec<f64>) = proof.iter().cloned().unzip();
    program.lagrangian_bound(&program.no_exclusions(), &rows, &duals)
}

/// Rows and duals with a better factor on the duals of memory. A step without gain is turned round;
/// if the opposite step has no gain either, it is halved.
fn with_best_factor<P: Layered>(
    program: &P,
    proof: Vec<(P::Row, f64)>,
    mut most: u64,
    stop: &AtomicBool,
) -> Vec<(P::Row, f64)> {
    let (mut factor, mut step) = (1.0, FACTOR_STEP);
    let mut best = proof.clone();
    let mut turned = false;
    for _ in 0..FACTOR_BOUNDS {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        let next = scaled(program, &proof, factor + step);
        let found = bound(program, &next);
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

/// Rows with the duals of memory multiplied by a factor.
fn scaled<P: Layered>(program: &P, proof: &[(P::Row, f64)], factor: f64) -> Vec<(P::Row, f64)> {
    let scale = |(row, dual): &(P::Row, f64)| match program.row_traits(row).sense {
        Sense::AtMost => (row.clone(), dual * factor),
        Sense::AtLeast | Sense::Equal => (row.clone(), *dual),
    };
    proof.iter().map(scale).collect()
}
