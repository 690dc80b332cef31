//! Costs, sizes and readers, as a proof talks about them.

use remat_instances::Instance;

/// A graph and the memory its tensors may take together.
pub struct Graph {
    /// Cost of the first computation.
    pub cost: Vec<u64>,
    /// Cost of a recomputation.
    pub cost_again: Vec<u64>,
    /// Size of the output.
    pub bytes: Vec<u64>,
    /// Memory beside inputs while the node runs for the first time: output and workspace.
    pub working: Vec<u64>,
    /// The same while it is recomputed.
    pub working_again: Vec<u64>,
    /// Inputs.
    pub inputs: Vec<Vec<u32>>,
    /// Parents of by-products.
    pub parent: Vec<Option<u32>>,
    /// True if the node may be computed again: not where the instance says that it, or its parent,
    /// is computed once.
    pub recomputable: Vec<bool>,
    /// Readers, ascending.
    pub readers: Vec<Vec<u32>>,
    /// The last stage in which a tensor is of any use: where it is read, or something is recomputed
    /// from it that is.
    pub last_stage: Vec<usize>,
    /// Bytes for all together.
    pub capacity: u64,
}

impl Graph {
    /// The graph of an instance within a budget; `None` if what is always there exceeds that.
    pub fn new(instance: &Instance, budget_bytes: u64) -> Option<Graph> {
        let n = instance.len();
        let inputs: Vec<Vec<u32>> = instance
            .ids()
            .map(|i| instance.needs(i).iter().map(|d| d.0).collect())
            .collect();
        let mut readers = vec![Vec::new(); n];
        for (reader, inputs) in inputs.iter().enumerate() {
            for &i in inputs {
                readers[i as usize].push(reader as u32);
            }
        }
        let once = |i: usize| instance.nodes()[i].once;
        let parent: Vec<Option<u32>> = instance
            .nodes()
            .iter()
            .map(|v| Some(v.parent()?.0))
            .collect();
        let recomputable: Vec<bool> = (0..n)
            .map(|i| !once(i) && parent[i].is_none_or(|p| !once(p as usize)))
            .collect();
        let mut last_stage: Vec<usize> = (0..n).collect();
        for i in (0..n).rev() {
            let of_reader = |&q: &u32| match recomputable[q as usize] {
                true => last_stage[q as usize],
                false => q as usize,
            };
            let reader = readers[i].iter().map(of_reader).max();
            last_stage[i] = reader.unwrap_or(i).max(i);
        }
        let nodes = instance.nodes();
        let bytes: Vec<u64> = nodes.iter().map(|v| v.output_bytes).collect();
        let working = |again: bool| {
            let each = nodes.iter();
            let each = each.map(move |v| v.run_workspace_bytes(again) + v.output_bytes);
            each.collect::<Vec<u64>>()
        };
        Some(Graph {
            cost: nodes.iter().map(|v| v.run_cost(false)).collect(),
            cost_again: nodes.iter().map(|v| v.run_cost(true)).collect(),
            working: working(false),
            working_again: working(true),
            bytes,
            inputs,
            parent,
            recomputable,
            readers,
            last_stage,
            capacity: budget_bytes.checked_sub(instance.static_bytes())?,
        })
    }

    /// Number of nodes and of stages.
    pub fn len(&self) -> usize {
        self.cost.len()
    }

    /// The number of `node`'s turn in `stage`.
    pub fn event(&self, stage: usize, node: usize) -> usize {
        stage * self.len() + node
    }

    /// Bytes of a node's inputs.
    fn input_bytes(&self, node: u32) -> u64 {
        let inputs = self.inputs[node as usize].iter();
        inputs.map(|&i| self.bytes[i as usize]).sum()
    }

    /// Bytes without which a node cannot run for the first time: inputs, output, workspace, and
    /// what later nodes read and is never recomputed.
    pub fn need_first(&self, node: u32) -> u64 {
        let stays = |k: &usize| {
            let is_read = self.readers[*k].last().is_some_and(|q| *q > node);
            !self.recomputable[*k] && is_read && !self.reads(node, *k as u32)
        };
        let kept = (0..node as usize).filter(stays).map(|k| self.bytes[k]);
        self.input_bytes(node) + self.working[node as usize] + kept.sum::<u64>()
    }

    /// Bytes without which a node cannot be recomputed.
    pub fn need_again(&self, node: u32) -> u64 {
        self.input_bytes(node) + self.working_again[node as usize]
    }

    /// Returns whether one node reads another.
    pub fn reads(&self, reader: u32, input: u32) -> bool {
        let inputs = self.inputs.get(reader as usize);
        inputs.is_some_and(|inputs| inputs.contains(&input))
    }

    /// More than any schedule without useless computations costs.
    pub fn beyond(&self) -> u64 {
        let stages = |i: usize| match self.recomputable[i] {
            true => (self.last_stage[i] - i) as u64,
            false => 0,
        };
        let again = (0..self.len()).map(|i| self.cost_again[i].saturating_mul(stages(i)));
        let all = again.chain(self.cost.iter().copied());
        all.fold(1u64, u64::saturating_add)
    }
}
