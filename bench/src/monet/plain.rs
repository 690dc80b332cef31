//! Schedules without recomputation: training as a framework does it, and encodings in the manner of
//! Gist (Jain et al., ISCA 2018).

use super::Failure;
use remat_formulations::monet;
use remat_instances::Instance;
use remat_instances::instance::{Choices, NodeId, NodeKind};
use remat_instances::plan::Plan;
use remat_instances::schedule::{BitMatrix, MonetSchedule};
use remat_instances::simulate::{self, Replay};

/// Memory of the device of the paper's measurements. Each batch is the largest that fits without
/// recomputation.
pub(super) const DEVICE_BYTES: u64 = 16 << 30;

/// Training without recomputation, as a framework does it: activations in place, and gradients
/// without masks.
pub(super) struct Plain {
    /// Peak of its plan in bytes, with the algorithms of the smallest workspaces.
    pub peak_bytes: u64,
    /// Its cost, with the fastest algorithms that fit the device.
    pub cost: u64,
}

impl Plain {
    pub fn new(instance: &Instance) -> Result<Plain, Failure> {
        let (plain, _) = instance.restricted(Choices {
            masks: false,
            ..Choices::ALL
        });
        let stored = smallest_stored(&plain).ok_or("a graph without a loss")?;
        let least = smallest(&plain, &stored)?;
        let fast = completed(&plain, DEVICE_BYTES, &stored)?;
        Ok(Plain {
            peak_bytes: least.peak_bytes,
            cost: fast.cost.min(least.cost),
        })
    }
}

/// The smallest peak of schedules that store the given sets, and the least cost within it.
fn smallest(instance: &Instance, stored: &BitMatrix) -> Result<Replay, Failure> {
    let schedule = monet::complete(instance, 0, stored).ok_or("stored sets of another shape")?;
    let smallest = replayed(instance, &schedule)?;
    // The rows charge more memory than the plan uses, so the budget is in the rows' terms.
    let budget_bytes = simulate::monet(instance, &schedule)?.peak_bytes;
    let cheapest = completed(instance, budget_bytes, stored)?;
    Ok(match cheapest.peak_bytes <= smallest.peak_bytes {
        true => cheapest,
        false => smallest,
    })
}

/// The replay of the plan of the best schedule that stores the given sets. A plan frees each tensor
/// after its last use, so that peaks of different programs compare.
pub(super) fn completed(
    instance: &Instance,
    budget_bytes: u64,
    stored: &BitMatrix,
) -> Result<Replay, Failure> {
    let schedule = monet::complete(instance, budget_bytes, stored);
    let schedule = schedule.ok_or("stored sets of another shape")?;
    replayed(instance, &schedule)
}

/// The replay of a schedule's plan.
pub(super) fn replayed(instance: &Instance, schedule: &MonetSchedule) -> Result<Replay, Failure> {
    let plan = Plan::from_monet(instance, schedule)?;
    Ok(simulate::plan(instance, &plan)?)
}

/// Encodings without recomputation. Each backward node reads the mask where there is one; other
/// reads minimise the sum of all stored tensors. Returns the smallest peak of these sets, and the
/// least cost within it.
pub(super) fn encoded(instance: &Instance) -> Result<Replay, Failure> {
    let stored = smallest_stored(instance).ok_or("a graph without a loss")?;
    smallest(instance, &stored)
}

/// Tensors that the backward pass reads, each stored until its last reader, by implementations that
/// make their sum small.
fn smallest_stored(instance: &Instance) -> Option<BitMatrix> {
    let (stages, columns) = MonetSchedule::shape(instance)?;
    let ways = |t: usize| &instance.node(NodeId::from(columns - 1 + t)).implementations;
    let reads = |t: usize, way: usize| {
        let needs = ways(t)[way].needs.iter().map(|u| u.index());
        needs.filter(move |&u| u < columns)
    };
    let by_product = |u: usize| {
        matches!(
            instance.node(NodeId::from(u)).kind,
            NodeKind::ByProduct { .. }
        )
    };
    let bytes = |u: usize| instance.node(NodeId::from(u)).output_bytes;
    let mut readers = vec![0u32; columns];
    let mut chosen = vec![0; stages];
    for (t, chosen) in chosen.iter_mut().enumerate().skip(1) {
        let encoded = (0..ways(t).len()).find(|&way| reads(t, way).any(by_product));
        *chosen = encoded.unwrap_or(0);
        reads(t, *chosen).for_each(|u| readers[u] += 1);
    }
    let mut moved = true;
    while moved {
        moved = false;
        for (t, chosen) in chosen.iter_mut().enumerate().skip(1) {
            reads(t, *chosen).for_each(|u| readers[u] -= 1);
            let more = |way: usize| -> u64 {
                let new = reads(t, way).filter(|&u| readers[u] == 0);
                new.map(bytes).sum()
            };
            let best = (0..ways(t).len()).min_by_key(|&way| (more(way), way != *chosen))?;
            moved |= best != *chosen;
            *chosen = best;
            reads(t, best).for_each(|u| readers[u] += 1);
        }
    }
    let mut stored = BitMatrix::new(stages + 1, columns);
    for (t, &chosen) in chosen.iter().enumerate().skip(1) {
        // Row (6): inputs of a backward node are stored beyond its stage.
        for u in reads(t, chosen) {
            (1..=t + 1).for_each(|s| stored.set(s, u, true));
        }
    }
    Some(stored)
}

#[cfg(test)]
mod tests {
    use super::super::zoo_model;
    use super::*;

    #[test]
    fn encodings_take_less_memory_and_recompute_nothing() {
        let instance = zoo_model("vgg16?batch=2").unwrap();
        let plain = Plain::new(&instance).unwrap();
        let encoded = encoded(&instance).unwrap();
        assert!(encoded.peak_bytes < plain.peak_bytes);
        let proper = |id: &NodeId| !matches!(instance.node(*id).kind, NodeKind::ByProduct { .. });
        assert!(encoded.computations >= instance.ids().filter(proper).count());
        assert!(encoded.computations <= instance.len());
    }
}
