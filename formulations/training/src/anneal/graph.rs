//! The instance as flat arrays, laid out for the inner loop.

use crate::waiting::Waiting;
use remat_instances::instance::{Instance, NodeId};
use remat_search::anneal::Flip;

/// Parent of a node that is no by-product.
pub const NO_PARENT: u32 = u32::MAX;

/// View of an instance for the search: inputs, users, sizes and costs, one array each.
///
/// Sizes and costs are `f64`. Every value and every sum is an integer below 2^53 (the instance
/// promises it), so the arithmetic is exact, and sums of excess vectorise.
pub struct CheckmateLandscape {
    /// Number of nodes, and of stages.
    pub n: usize,
    /// Words of one row of bits over the nodes.
    pub words: usize,
    need_start: Vec<u32>,
    needs: Vec<u32>,
    /// Bytes that each input frees behind its last reader.
    frees: Vec<f64>,
    user_start: Vec<u32>,
    users: Vec<u32>,
    /// The parent of a by-product, or [`NO_PARENT`].
    pub parent: Vec<u32>,
    /// The last stage in which each node may be computed again, its own stage if it never is; empty
    /// if all nodes always may.
    again_until: Vec<u32>,
    /// Output size in bytes.
    pub bytes: Vec<f64>,
    /// Workspace of the first computation in bytes.
    pub workspace: Vec<f64>,
    /// Workspace of a recomputation in bytes.
    pub workspace_again: Vec<f64>,
    /// Cost of the first computation in the instance's unit.
    pub cost: Vec<f64>,
    /// Cost of a recomputation.
    pub cost_again: Vec<f64>,
    /// Least cost of having a tensor again: by a recomputation or by pages.
    pub again: Vec<f64>,
    /// Cost of a page-in by tensor; empty in a program without pages.
    pub page_in: Vec<f64>,
    /// Memory for activations: the budget less the fixed memory, in bytes. Negative if no schedule
    /// fits. Other micro-batches that wait take a part of it.
    pub capacity: f64,
    /// Other micro-batches that wait.
    pub waiting: Option<Waiting>,
    /// True if there is no backward pass.
    pub is_general: bool,
}

impl CheckmateLandscape {
    /// Bytes by which a flip changes the memory of its stages.
    #[inline]
    pub(super) fn shift(&self, flip: Flip) -> f64 {
        let bytes = self.bytes[flip.tensor as usize];
        if flip.keep { bytes } else { -bytes }
    }

    /// Bytes by which a flip changes the memory of other micro-batches that wait. They hold the
    /// tensors with which the stage behind the wait begins.
    #[inline]
    pub(super) fn waiting_shift(&self, flip: Flip) -> f64 {
        match self.waiting {
            Some(wait) if (flip.from..=flip.to).contains(&(wait.stage + 1)) => {
                wait.others as f64 * self.shift(flip)
            }
            _ => 0.0,
        }
    }

    /// The capacity beside other micro-batches, if the stage behind the wait begins with so many
    /// bytes.
    pub(super) fn capacity_beside(&self, held_bytes: impl Fn(usize) -> f64) -> f64 {
        let waiting = self.waiting.map_or(0.0, |wait| {
            wait.others as f64 * held_bytes(wait.stage as usize + 1)
        });
        self.capacity - waiting
    }

    /// Flattens `instance` for a budget in bytes.
    pub fn new(instance: &Instance, budget_bytes: u64) -> Self {
        let n = instance.len();
        let (mut need_start, mut needs) = (vec![0u32], Vec::new());
        let (mut user_start, mut users) = (vec![0u32], Vec::new());
        for i in instance.ids() {
            needs.extend(instance.needs(i).iter().map(|d| d.0));
            need_start.push(needs.len() as u32);
            users.extend(instance.users(i).iter().map(|d| d.0));
            user_start.push(users.len() as u32);
        }
        let of =
            |f: &dyn Fn(NodeId) -> u64| instance.ids().map(|i| f(i) as f64).collect::<Vec<f64>>();
        let capacity = budget_bytes as f64 - instance.static_bytes() as f64;
        let again_until = instance.ids().map(|i| instance.last_stage_again(i).0);
        let mut again_until: Vec<u32> = again_until.collect();
        if again_until.iter().all(|until| *until as usize + 1 == n) {
            again_until.clear();
        }
        let frees = needs
            .iter()
            .map(|d| instance.node(NodeId(*d)).output_bytes as f64);
        let is_general = instance.backward_start().is_none_or(|f| f.index() >= n);
        CheckmateLandscape {
            is_general,
            n,
            frees: frees.collect(),
            again_until,
            words: n.div_ceil(64),
            need_start,
            needs,
            user_start,
            users,
            parent: instance
                .nodes()
                .iter()
                .map(|v| v.parent().map_or(NO_PARENT, |p| p.0))
                .collect(),
            bytes: of(&|i| instance.node(i).output_bytes),
            workspace: of(&|i| instance.node(i).run_workspace_bytes(false)),
            workspace_again: of(&|i| instance.node(i).run_workspace_bytes(true)),
            cost: of(&|i| instance.node(i).run_cost(false)),
            cost_again: of(&|i| instance.node(i).run_cost(true)),
            again: of(&|i| instance.node(i).run_cost(true)),
            page_in: Vec::new(),
            capacity,
            waiting: Waiting::of(instance),
        }
    }

    /// Bytes charged for the recomputations `again` in a stage if the simulator refuses one of them:
    /// more than the capacity. A node may not be recomputed then. A by-product in the stage of the
    /// wait could bring a parent that waits without a reader.
    #[inline]
    pub fn never_bytes(&self, stage: usize, mut again: impl Iterator<Item = usize>) -> f64 {
        if self.again_until.is_empty() {
            return 0.0;
        }
        let waits = self.waiting.is_some_and(|w| w.stage as usize == stage);
        let is_refused =
            |i| !self.may_recompute_in(i, stage) || waits && self.parent[i] != NO_PARENT;
        match again.any(is_refused) {
            true => self.capacity.max(0.0) + 1.0,
            false => 0.0,
        }
    }

    /// Returns whether a node is never recomputed.
    #[inline]
    pub fn is_once(&self, i: usize) -> bool {
        !self.may_recompute_in(i, i + 1)
    }

    /// Returns whether a node may be computed again in a stage behind its own.
    #[inline]
    pub fn may_recompute_in(&self, i: usize, stage: usize) -> bool {
        self.again_until.is_empty() || stage <= self.again_until[i] as usize
    }

    /// The last stage in which a node may be computed again; its own stage if it never is.
    pub fn last_stage_again(&self, i: usize) -> usize {
        let until = self.again_until.get(i);
        until.map_or(self.n - 1, |until| *until as usize)
    }

    /// Inputs of a node.
    #[inline]
    pub fn needs(&self, k: usize) -> &[u32] {
        &self.needs[self.need_start[k] as usize..self.need_start[k + 1] as usize]
    }

    /// Inputs of a node, with the bytes that they free behind it if it reads them last.
    #[inline]
    pub fn reads(&self, k: usize) -> impl Iterator<Item = (u32, f64)> + '_ {
        let range = self.need_start[k] as usize..self.need_start[k + 1] as usize;
        let frees = self.frees[range.clone()].iter();
        self.needs[range].iter().copied().zip(frees.copied())
    }

    /// Makes an input free more bytes than its own behind a reader.
    pub(crate) fn free_again(&mut self, input: u32, reader: usize, bytes: u64) {
        for at in self.need_start[reader] as usize..self.need_start[reader + 1] as usize {
            if self.needs[at] == input {
                self.frees[at] += bytes as f64;
            }
        }
    }

    /// Users of a node.
    #[inline]
    pub fn users(&self, k: usize) -> &[u32] {
        &self.users[self.user_start[k] as usize..self.user_start[k + 1] as usize]
    }

    /// Median cost of having a tensor again per byte, over tensors that have both: a byte's worth.
    pub fn byte_price(&self) -> f64 {
        self.median_price(|_| 1.0)
    }

    /// Median cost of having a tensor again per byte and stage from first computation to last use:
    /// the price of a byte's absence for a stage.
    pub fn absence_price(&self) -> f64 {
        self.median_price(|i| {
            let last = self.users(i).last().map_or(i, |&q| q as usize);
            (last - i).max(1) as f64
        })
    }

    fn median_price(&self, stages: impl Fn(usize) -> f64) -> f64 {
        let mut ratio: Vec<f64> = (0..self.n)
            .filter(|&i| self.bytes[i] > 0.0 && self.again[i] > 0.0)
            .map(|i| self.again[i] / self.bytes[i] / stages(i))
            .collect();
        ratio.sort_by(f64::total_cmp);
        ratio.get(ratio.len() / 2).copied().unwrap_or(1.0)
    }
}
