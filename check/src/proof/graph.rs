//! Costs, sizes and readers, as a proof talks about them.

use remat_instances::Instance;

/// A graph and the memory its tensors may take together.
pub struct Graph {
    /// Cost of one computation.
    pub cost: Vec<u64>,
    /// Size of the output.
    pub bytes: Vec<u64>,
    /// Memory beside inputs while the node runs: output and workspace.
    pub working: Vec<u64>,
    /// Inputs.
    pub inputs: Vec<Vec<u32>>,
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
        let mut last_stage: Vec<usize> = (0..n).collect();
        for i in (0..n).rev() {
            let reader = readers[i].iter().map(|&q| last_stage[q as usize]).max();
            last_stage[i] = reader.unwrap_or(i).max(i);
        }
        let nodes = instance.nodes();
        let bytes: Vec<u64> = nodes.iter().map(|v| v.output_bytes).collect();
        let working = nodes.iter().map(|v| v.workspace_bytes() + v.output_bytes);
        Some(Graph {
            cost: nodes.iter().map(|v| v.cost()).collect(),
            working: working.collect(),
            bytes,
            inputs,
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

    /// Bytes without which a node cannot run.
    pub fn need(&self, node: u32) -> u64 {
        let inputs = self.inputs[node as usize].iter();
        let inputs: u64 = inputs.map(|&i| self.bytes[i as usize]).sum();
        inputs + self.working[node as usize]
    }

    /// Returns whether one node reads another.
    pub fn reads(&self, reader: u32, input: u32) -> bool {
        let inputs = self.inputs.get(reader as usize);
        inputs.is_some_and(|inputs| inputs.contains(&input))
    }

    /// More than any schedule without useless computations costs.
    pub fn beyond(&self) -> u64 {
        let runs = |i: usize| (self.last_stage[i] - i + 1) as u64;
        let all = (0..self.len()).map(|i| self.cost[i].saturating_mul(runs(i)));
        all.fold(1u64, u64::saturating_add)
    }
}
