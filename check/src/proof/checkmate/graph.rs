//! Costs, sizes and readers, as a proof talks about them.

use remat_instances::{ClassRules, Instance};

/// Memory that is not available from one stage to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Holder {
    /// Bytes that are taken.
    pub bytes: u64,
    /// First stage without them: the holder is computed before its node.
    pub from: u32,
    /// The last such stage, behind whose node the holder is read. `None` if the last node that is
    /// no by-product reads it.
    pub until: Option<u32>,
}

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
    /// The last stage in which the node may be computed again: its own if the instance says that it,
    /// or its parent, is computed once; the stage of the first node that ends it.
    pub again_until: Vec<usize>,
    /// Readers, ascending.
    pub readers: Vec<Vec<u32>>,
    /// The last stage in which a tensor is of any use: its reader runs there, or a useful
    /// recomputation reads it there.
    pub last_stage: Vec<usize>,
    /// Bytes for all together.
    pub capacity: u64,
    /// Rules of the class that schedules belong to; `None` for all schedules.
    pub rules: Option<ClassRules>,
    /// True if rows speak of plans with any order within a stage: memory counts at moments.
    pub moments: bool,
}

impl Graph {
    /// The graph of an instance within a budget; `None` if the static memory exceeds the budget.
    pub fn new(instance: &Instance, budget_bytes: u64) -> Option<Graph> {
        let inputs: Vec<Vec<u32>> = instance
            .ids()
            .map(|i| instance.needs(i).iter().map(|d| d.0).collect())
            .collect();
        let parent: Vec<Option<u32>> = instance
            .nodes()
            .iter()
            .map(|v| Some(v.parent()?.0))
            .collect();
        let again_until = instance.ids().map(|i| instance.last_stage_again(i).index());
        let nodes = instance.nodes();
        let bytes: Vec<u64> = nodes.iter().map(|v| v.output_bytes).collect();
        let working = |again: bool| {
            let each = nodes.iter();
            let each = each.map(move |v| v.run_workspace_bytes(again) + v.output_bytes);
            each.collect::<Vec<u64>>()
        };
        let graph = Graph {
            cost: nodes.iter().map(|v| v.run_cost(false)).collect(),
            cost_again: nodes.iter().map(|v| v.run_cost(true)).collect(),
            working: working(false),
            working_again: working(true),
            bytes,
            inputs,
            parent,
            again_until: again_until.collect(),
            readers: Vec::new(),
            last_stage: Vec::new(),
            capacity: budget_bytes.checked_sub(instance.static_bytes())?,
            rules: None,
            moments: false,
        };
        Some(graph.with_readers())
    }

    /// The graph with readers and last stages, from inputs.
    fn with_readers(mut self) -> Graph {
        let n = self.len();
        self.readers = vec![Vec::new(); n];
        for (reader, inputs) in self.inputs.iter().enumerate() {
            for &i in inputs {
                self.readers[i as usize].push(reader as u32);
            }
        }
        self.last_stage = (0..n).collect();
        for i in (0..n).rev() {
            let of_reader = |&q: &u32| {
                let q = q as usize;
                q.max(self.last_stage[q].min(self.again_until[q]))
            };
            let reader = self.readers[i].iter().map(of_reader).max();
            self.last_stage[i] = reader.unwrap_or(i).max(i);
        }
        self
    }

    /// The graph with another capacity, and with nodes that take some of it. Each holder is a node
    /// without cost that is computed once, and a node that reads it at its end. They stand before
    /// and behind the node of their stage, in the order of the list.
    pub fn with_holders(&self, holders: &[Holder], capacity: u64) -> Graph {
        let n = self.len();
        let mut graph = Graph {
            cost: Vec::new(),
            cost_again: Vec::new(),
            bytes: Vec::new(),
            working: Vec::new(),
            working_again: Vec::new(),
            inputs: Vec::new(),
            parent: Vec::new(),
            again_until: Vec::new(),
            readers: Vec::new(),
            last_stage: Vec::new(),
            capacity,
            rules: None,
            moments: false,
        };
        let (mut ids, mut held) = (vec![0u32; n], vec![0u32; holders.len()]);
        let last = self.parent.iter().rposition(Option::is_none);
        let endless = |h: &Holder| h.until.is_none();
        for node in 0..n {
            for (id, holder) in held.iter_mut().zip(holders) {
                if holder.from as usize == node {
                    *id = graph.add_holder(holder.bytes, Vec::new());
                }
            }
            ids[node] = graph.len() as u32;
            let mut inputs: Vec<u32> = self.inputs[node].iter().map(|i| ids[*i as usize]).collect();
            if last == Some(node) {
                let rest = held.iter().zip(holders);
                let rest = rest.filter(|(_, h)| endless(h) && h.from as usize <= node);
                inputs.extend(rest.map(|(id, _)| *id));
                inputs.sort_unstable();
            }
            graph.cost.push(self.cost[node]);
            graph.cost_again.push(self.cost_again[node]);
            graph.bytes.push(self.bytes[node]);
            graph.working.push(self.working[node]);
            graph.working_again.push(self.working_again[node]);
            graph.inputs.push(inputs);
            graph
                .parent
                .push(self.parent[node].map(|p| ids[p as usize]));
            graph.again_until.push(self.again_until[node]);
            for (id, holder) in held.iter().zip(holders) {
                if holder.until == Some(node as u32) {
                    graph.add_holder(0, vec![*id]);
                }
            }
        }
        for (own, id) in ids.iter().enumerate() {
            let until = &mut graph.again_until[*id as usize];
            *until = match *until + 1 < n || *until == own {
                true => ids[*until] as usize,
                false => graph.cost.len() - 1,
            };
        }
        graph.with_readers()
    }

    /// Returns whether the node may be computed again in a stage behind its own.
    pub fn may_recompute_in(&self, node: usize, stage: usize) -> bool {
        stage <= self.again_until[node]
    }

    /// Adds a node without cost that is computed once, and returns its number.
    fn add_holder(&mut self, bytes: u64, inputs: Vec<u32>) -> u32 {
        self.cost.push(0);
        self.cost_again.push(0);
        self.bytes.push(bytes);
        self.working.push(bytes);
        self.working_again.push(bytes);
        self.inputs.push(inputs);
        self.parent.push(None);
        self.again_until.push(self.len() - 1);
        self.len() as u32 - 1
    }

    /// Upper bound on the bytes in use during each stage: all tensors of use then, and the largest
    /// workspace and output of a node that may run.
    pub fn most_bytes(&self) -> Vec<u64> {
        let n = self.len();
        let most = |stage: usize| {
            let alive = (0..stage).filter(|i| self.last_stage[*i] >= stage);
            let bytes = alive.map(|i| self.bytes[i]);
            let again = (0..stage).filter(|i| self.may_recompute_in(*i, stage));
            let again = again.map(|i| self.working_again[i]);
            let working = again.chain([self.working[stage]]).max().unwrap_or(0);
            bytes.fold(working, u64::saturating_add)
        };
        (0..n).map(most).collect()
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

    /// Bytes without which a node cannot run for the first time by itself: inputs, output and
    /// workspace.
    pub fn need_alone(&self, node: u32) -> u64 {
        self.input_bytes(node) + self.working[node as usize]
    }

    /// Bytes without which a node cannot run for the first time: inputs, output, workspace, and
    /// tensors that later nodes read and that are never recomputed.
    pub fn need_first(&self, node: u32) -> u64 {
        let stays = |k: &usize| {
            let is_read = self.readers[*k].last().is_some_and(|q| *q > node);
            !self.may_recompute_in(*k, *k + 1) && is_read && !self.reads(node, *k as u32)
        };
        let kept = (0..node as usize).filter(stays).map(|k| self.bytes[k]);
        self.need_alone(node) + kept.sum::<u64>()
    }

    /// Returns whether no schedule fits because `node` does not fit beside the tensors that it
    /// needs.
    pub fn is_too_small(&self, node: u32) -> bool {
        (node as usize) < self.len() && self.need_first(node) > self.capacity
    }

    /// The first stage in which a parent runs again if its by-product does so in `stage`.
    pub fn parent_from(&self, parent: u32, stage: usize) -> usize {
        match self.moments {
            true => parent as usize + 1,
            false => stage,
        }
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
        let stages = |i: usize| (self.last_stage[i].min(self.again_until[i]) - i) as u64;
        let again = (0..self.len()).map(|i| self.cost_again[i].saturating_mul(stages(i)));
        let all = again.chain(self.cost.iter().copied());
        all.fold(1u64, u64::saturating_add)
    }
}
