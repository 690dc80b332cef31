//! The network with fewer layers, and its budgets.

use super::{Layered, Layout, cut};
use remat_instances::instance::{Instance, NodeId};
use std::marker::PhantomData;
use std::sync::Arc;

/// Layers of a stack in the small network. With eight, bounds are up to 0.2% lower where memory is
/// tight; with four or five they are useless.
const FEW: u32 = 12;
/// The same if there are several stacks, so that the small network stays small.
const FEW_OF_SEVERAL: u32 = 8;

/// The network with fewer layers.
pub(super) struct Few<P> {
    pub layout: Layout,
    pub instance: Arc<Instance>,
    /// Bytes of forward tensors in layers, and the peak that keeps everything.
    layers: f64,
    peak: u64,
    program: PhantomData<P>,
}

impl<P: Layered> Few<P> {
    /// The small network.
    pub fn small(instance: &Instance, layout: &Layout) -> Option<Self> {
        let few = match layout.stacks().len() {
            1 => FEW,
            _ => FEW_OF_SEVERAL,
        };
        Few::new(instance, layout, few)
    }

    /// The network with so many layers in each stack at most; `None` if no stack has more.
    pub fn new(instance: &Instance, layout: &Layout, most: u32) -> Option<Self> {
        let few: Vec<u32> = layout.stacks().iter().map(|s| s.layers.min(most)).collect();
        if layout.stacks().iter().all(|s| s.layers <= most) {
            return None;
        }
        let small = layout.with_layers(&few);
        let instance = cut(instance, layout, &small, P::SEMANTICS)?;
        Some(Few {
            layers: bytes_in_layers(&instance, &small),
            peak: plain_peak::<P>(&instance)?,
            layout: small,
            instance: Arc::new(instance),
            program: PhantomData,
        })
    }
}

/// Budgets of smaller networks: the reduction of the peak is proportional to the bytes in layers.
pub(super) struct Budgets {
    /// Bytes of forward tensors in all layers of the large network, and in one, on average.
    layers: f64,
    layer: f64,
    /// Bytes by which the budget of the large network is below its peak.
    drop: u64,
}

impl Budgets {
    pub fn new<P: Layered>(
        instance: &Instance,
        layout: &Layout,
        budget_bytes: u64,
    ) -> Option<Self> {
        let layers = bytes_in_layers(instance, layout);
        let count: u32 = layout.stacks().iter().map(|s| s.layers).sum();
        Some(Budgets {
            layers,
            layer: layers / f64::from(count),
            drop: plain_peak::<P>(instance)?.checked_sub(budget_bytes)?,
        })
    }

    /// The budget of a smaller network, with both networks counted as so many layers larger; `None`
    /// if no schedule fits it.
    pub fn of<P: Layered>(&self, few: &Few<P>, extra_layers: f64) -> Option<u64> {
        let extra = extra_layers * self.layer;
        let share = (few.layers + extra) / (self.layers + extra);
        let drop = self.drop as f64 * share.max(0.0);
        let budget = few.peak.saturating_sub(drop as u64);
        (!P::is_too_small(&few.instance, budget)).then_some(budget)
    }
}

fn plain_peak<P: Layered>(instance: &Instance) -> Option<u64> {
    Some(instance.plain_replay(P::SEMANTICS).ok()?.peak_bytes)
}

/// Bytes of the forward tensors in layers.
fn bytes_in_layers(instance: &Instance, layout: &Layout) -> f64 {
    let forward = instance.backward_start();
    let forward = 0..forward.map_or(layout.nodes(), |start| start.0);
    let in_layers = forward.filter(|i| layout.layer(layout.place(*i)).is_some());
    let bytes = in_layers.map(|i| instance.node(NodeId(i)).output_bytes);
    bytes.sum::<u64>() as f64
}
