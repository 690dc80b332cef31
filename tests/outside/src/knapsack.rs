//! Tensors of the forward pass, and the room for the kept ones.

use remat_formulations::Instance;
use remat_instances::schedule::BitMatrix;

/// Tensors that may be recomputed, and the room for the kept ones.
#[derive(Clone, Debug)]
pub struct Knapsack {
    /// Bytes and cost of each.
    pub tensors: Vec<(u64, u64)>,
    /// Bytes for kept tensors.
    pub room: u64,
    /// Bytes that are always in memory.
    pub fixed: u64,
    /// Cost of computing everything once.
    pub once: u64,
}

impl Knapsack {
    /// The forward pass of an instance, with no room; `None` for an instance without a loss.
    pub fn new(instance: &Instance) -> Option<Self> {
        let forward = &instance.nodes()[..instance.loss()?.index()];
        let (again, inputs): (Vec<_>, Vec<_>) = forward.iter().partition(|n| !n.needs().is_empty());
        let inputs: u64 = inputs.iter().map(|n| n.output_bytes).sum();
        let again = again.iter().map(|n| (n.output_bytes, n.cost()));
        Some(Knapsack {
            tensors: again.collect(),
            room: 0,
            fixed: instance.static_bytes() + inputs,
            once: instance.base_cost(),
        })
    }

    /// The set of the tensors for which `is_kept` holds, as a matrix of one row.
    pub fn set(&self, is_kept: impl Fn(usize) -> bool) -> BitMatrix {
        let mut kept = BitMatrix::new(1, self.tensors.len());
        (0..self.tensors.len()).for_each(|tensor| kept.set(0, tensor, is_kept(tensor)));
        kept
    }

    /// Cost and bytes of a set of kept tensors.
    pub fn cost_and_bytes(&self, kept: &BitMatrix) -> (u64, u64) {
        let add = |(cost, bytes), (tensor, own): (usize, &(u64, u64))| match kept.get(0, tensor) {
            true => (cost, bytes + own.0),
            false => (cost + own.1, bytes),
        };
        self.tensors.iter().enumerate().fold((self.once, 0), add)
    }
}
