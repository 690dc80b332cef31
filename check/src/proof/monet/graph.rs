//! Costs, sizes and readers of MONeT's program, as a proof talks about them.

use remat_instances::Instance;
use remat_instances::instance::{Implementation, Node, NodeId, NodeKind};

/// A way to compute a forward node.
#[derive(Clone, Copy, Debug)]
pub struct Way {
    /// True if the output goes into the buffer of another tensor.
    pub in_place: bool,
    /// Cost, in the instance's unit.
    pub cost: u64,
    /// Workspace in bytes, by the published program.
    pub workspace: i64,
    /// Workspace in bytes, by the simulator.
    pub full_workspace: i64,
}

/// A way to run the backward node of a stage.
#[derive(Clone, Debug)]
pub struct Choice {
    /// Number of the implementation.
    pub implementation: u32,
    /// Cost, in the instance's unit.
    pub cost: u64,
    /// Workspace in bytes.
    pub workspace: i64,
    /// Forward tensors that it reads, ascending.
    pub reads: Vec<u32>,
}

/// A graph and its memory limits. Forward nodes and the loss are `0..columns`. Stage 0 runs them,
/// and stage `t` runs the backward node `columns - 1 + t`.
pub struct Graph {
    /// Number of forward nodes and the loss.
    pub columns: usize,
    /// Number of stages.
    pub stages: usize,
    /// Size of each output.
    pub bytes: Vec<i64>,
    /// Tensors that are charged beside each forward node while it runs, ascending.
    pub passing: Vec<Vec<u32>>,
    /// Inputs of every implementation, ascending; the parent of a by-product among them.
    pub needs: Vec<Vec<u32>>,
    /// Parents of by-products.
    pub parent: Vec<Option<u32>>,
    /// The input that a node may overwrite; `None` for by-products, which go with their parents.
    pub over: Vec<Option<u32>>,
    /// True if a node has an in-place option.
    pub has_option: Vec<bool>,
    /// Undominated ways to compute each node in stage 0, and in later stages.
    ways: [Vec<Vec<Way>>; 2],
    /// Undominated ways to run the backward node of each stage that fit. Stage 0 has one, with the
    /// inputs of the loss.
    pub choices: Vec<Vec<Choice>>,
    /// Bytes for tensors and workspace at the turns of forward nodes, by stage.
    pub room: Vec<i64>,
    /// Bytes for tensors and workspace while the backward node runs; entry 0 has no meaning.
    pub backward_room: Vec<i64>,
    /// The last stage in which the tensor may be of use, to a backward node or to a recomputation;
    /// 0 if there is no such stage behind the first.
    pub last_use: Vec<u32>,
    /// The last stage in which the node may be computed again; 0 if it never is.
    again_until: Vec<u32>,
}

impl Graph {
    /// The graph of an instance within a budget; `None` if a part of every schedule exceeds the
    /// budget.
    ///
    /// # Errors
    /// An instance without a loss has no such program.
    pub fn new(instance: &Instance, budget_bytes: u64) -> Result<Option<Graph>, String> {
        let instance = &*instance.charged_by_monet();
        let no_loss = "the instance has no loss node, and MONeT's program needs one: \
                       give the instance that the proof was made for";
        let loss = instance.loss().ok_or(no_loss)?.index();
        let (columns, stages) = (loss + 1, instance.len() - loss);
        let node = |i: usize| instance.node(NodeId::from(i));
        let size = |i: usize| node(i).output_bytes as i64;
        let list = |ids: &[NodeId]| ids.iter().map(|d| d.0).collect::<Vec<u32>>();
        let passing_bytes = |i: usize| {
            let list = node(i).passing.iter();
            list.map(|u| size(u.index())).sum::<i64>()
        };
        let parent = |i: usize| match node(i).kind {
            NodeKind::ByProduct { parent } => Some(parent.0),
            _ => None,
        };
        let needs = |i: usize| list(&read_by_all(&node(i).implementations));
        let needs: Vec<Vec<u32>> = (0..columns).map(needs).collect();
        // The node can only overwrite an input that every implementation reads.
        let over = |i: usize| {
            let on = node(i).in_place.as_ref()?.on.0;
            (parent(i).is_none() && needs[i].contains(&on)).then_some(on)
        };
        let budget = i64::try_from(budget_bytes).unwrap_or(i64::MAX / 4);
        let budget = budget.min(i64::MAX / 4);
        let room = |t: usize| {
            let fixed = instance.stage_fixed_bytes(t) as i64;
            budget - fixed - if t > 0 { passing_bytes(loss + t) } else { 0 }
        };
        let backward_room = |t: usize| {
            let b = loss + t;
            budget - passing_bytes(b) - node(b).fixed_bytes as i64 - size(b)
        };
        let ways = |again: bool| (0..columns).map(move |i| ways_of(node(i), again)).collect();
        let mut graph = Graph {
            columns,
            stages,
            bytes: (0..columns).map(size).collect(),
            passing: (0..columns).map(|i| list(&node(i).passing)).collect(),
            parent: (0..columns).map(parent).collect(),
            over: (0..columns).map(over).collect(),
            has_option: (0..columns).map(|i| node(i).in_place.is_some()).collect(),
            ways: [ways(false), ways(true)],
            choices: (0..stages)
                .map(|t| choices_of(node(loss + t), loss, t))
                .collect(),
            room: (0..stages).map(room).collect(),
            backward_room: (0..stages).map(backward_room).collect(),
            last_use: vec![0; columns],
            again_until: (0..columns)
                .map(|i| instance.last_monet_stage_again(NodeId::from(i)))
                .collect(),
            needs,
        };
        for t in 1..stages {
            let (room, bytes) = (graph.backward_room[t], &graph.bytes);
            let load = |c: &Choice| c.workspace + sum_of(bytes, &c.reads);
            graph.choices[t].retain(|c| load(c) <= room);
            for u in graph.choices[t].iter().flat_map(|c| &c.reads) {
                graph.last_use[*u as usize] = t as u32;
            }
        }
        for v in (0..columns).rev() {
            for &u in &graph.needs[v] {
                let last = graph.last_use[v].max(graph.last_use[u as usize]);
                graph.last_use[u as usize] = last;
            }
        }
        let has_room = graph.room.iter().all(|room| *room >= 0);
        let is_chosen = graph.choices.iter().all(|choices| !choices.is_empty());
        if !has_room || !is_chosen {
            return Ok(None);
        }
        let runs = |&node: &u32| (0..graph.ways(node, 0).len()).any(|way| graph.fits(node, 0, way));
        let all_run = (0..columns as u32)
            .filter(|i| graph.is_forced(*i))
            .all(|i| runs(&i));
        Ok(all_run.then_some(graph))
    }

    /// Ways to compute a node in a stage.
    pub fn ways(&self, node: u32, stage: u32) -> &[Way] {
        &self.ways[usize::from(stage > 0)][node as usize]
    }

    /// Returns whether a node is computed in stage 0 in any case: all but by-products are.
    pub fn is_forced(&self, node: u32) -> bool {
        self.parent[node as usize].is_none()
    }

    /// The last stage at whose beginning a tensor may be stored to some use. A tensor that a
    /// backward node reads may be stored beyond its stage. A tensor that the loss reads and that is
    /// not stored is held, and charged twice if it passes another node.
    pub fn last_stored(&self, node: u32) -> u32 {
        match self.last_use[node as usize] {
            0 => self.is_read(node, 0).into(),
            last => last + 1,
        }
    }

    /// Returns whether some choice of a stage reads a tensor.
    pub fn is_read(&self, node: u32, stage: u32) -> bool {
        let choices = &self.choices[stage as usize];
        choices.iter().any(|c| c.reads.contains(&node))
    }

    /// Returns whether every choice of a stage reads a tensor.
    pub fn is_always_read(&self, node: u32, stage: u32) -> bool {
        let choices = &self.choices[stage as usize];
        choices.iter().all(|c| c.reads.contains(&node))
    }

    /// Returns whether a node charges a tensor while it runs: its own, or one of its passing list.
    pub fn charges(&self, node: u32, tensor: u32) -> bool {
        tensor == node || self.passing[node as usize].binary_search(&tensor).is_ok()
    }

    /// Bytes that are charged while a node runs, its workspace aside.
    pub fn run_bytes(&self, node: u32) -> i64 {
        self.bytes[node as usize] + sum_of(&self.bytes, &self.passing[node as usize])
    }

    /// Bytes that are charged at least while a node is recomputed.
    pub fn need_again(&self, node: u32) -> i64 {
        let scratch = self.ways(node, 1).iter().map(|w| w.workspace).min();
        self.run_bytes(node) + scratch.unwrap_or(0)
    }

    /// Returns whether a node may be computed in a stage in a way. After stage 0 it must be
    /// recomputable then. Its charges must fit beside the tensors that every choice of the backward
    /// node reads: these are stored or held from their turns on.
    pub fn fits(&self, node: u32, stage: u32, way: usize) -> bool {
        if stage > self.again_until[node as usize] {
            return false;
        }
        let first = self.choices[stage as usize].first();
        let read = first.map_or(&[][..], |c| &c.reads).iter().copied();
        let beside =
            read.filter(|&u| u < node && self.is_always_read(u, stage) && !self.charges(node, u));
        let beside: i64 = beside.map(|u| self.bytes[u as usize]).sum();
        let scratch = self.ways(node, stage)[way].full_workspace;
        beside + self.run_bytes(node) + scratch <= self.room[stage as usize]
    }

    /// More than the cost of any schedule without useless computations.
    pub fn beyond(&self) -> u64 {
        let dearest = |ways: &[Way]| ways.iter().map(|w| w.cost).max().unwrap_or(0);
        let forward = (0..self.columns as u32).map(|i| {
            let stages = u64::from(self.last_use[i as usize]);
            let again = dearest(self.ways(i, 1)).saturating_mul(stages);
            dearest(self.ways(i, 0)).saturating_add(again)
        });
        let backward = self.choices.iter().skip(1);
        let backward = backward.map(|c| c.iter().map(|w| w.cost).max().unwrap_or(0));
        forward.chain(backward).fold(1, u64::saturating_add)
    }
}

/// Bytes of some tensors.
fn sum_of(bytes: &[i64], tensors: &[u32]) -> i64 {
    tensors.iter().map(|&u| bytes[u as usize]).sum()
}

/// Inputs of all implementations, ascending.
fn read_by_all(ways: &[Implementation]) -> Vec<NodeId> {
    let first = ways.first().map_or(&[][..], |way| &way.needs);
    let in_all = |u: &&NodeId| ways.iter().all(|way| way.needs.contains(u));
    first.iter().filter(in_all).copied().collect()
}

/// Drops an item if another one, which may replace it, has no higher cost and no more bytes. The
/// first of equal items stays.
fn without_dominated<T>(
    all: Vec<T>,
    size: impl Fn(&T) -> (u64, i64),
    replaces: impl Fn(&T, &T) -> bool,
) -> Vec<T> {
    let no_worse = |a: &T, b: &T| {
        let ((cost, bytes), (other_cost, other_bytes)) = (size(a), size(b));
        cost <= other_cost && bytes <= other_bytes && replaces(a, b)
    };
    let is_kept = |k: usize| {
        let beats = |o: usize| no_worse(&all[o], &all[k]) && (o < k || !no_worse(&all[k], &all[o]));
        !(0..all.len()).any(|o| o != k && beats(o))
    };
    let kept: Vec<bool> = (0..all.len()).map(is_kept).collect();
    let all = all.into_iter().zip(kept);
    all.filter(|a| a.1).map(|a| a.0).collect()
}

/// Ways to compute a forward node. A way replaces another of its kind (in place or not) if it has
/// no higher cost and workspace. Rows have terms for the rest only.
fn ways_of(node: &Node, again: bool) -> Vec<Way> {
    let mut all = Vec::new();
    for way in &node.implementations {
        let (cost, workspace) = (way.run_cost(again), way.run_workspace_bytes(again));
        all.push(Way {
            in_place: false,
            cost,
            workspace,
            full_workspace: workspace,
        });
        if let Some(option) = &node.in_place {
            let own = option.workspace_bytes;
            all.push(Way {
                in_place: true,
                cost: cost.saturating_add_signed(option.cost_delta),
                // The published program keeps the workspace of one of several algorithms.
                workspace: match node.implementations.len() {
                    1 => own,
                    _ => own.min(workspace),
                },
                full_workspace: own,
            });
        }
    }
    let replaces = |a: &Way, b: &Way| a.in_place == b.in_place;
    without_dominated(all, |w| (w.cost, w.workspace), replaces)
}

/// Ways to run the backward node of a stage. A choice replaces another if its cost, workspace and
/// reads are no larger.
fn choices_of(node: &Node, loss: usize, stage: usize) -> Vec<Choice> {
    let forward = |list: &[NodeId]| -> Vec<u32> {
        let read = list.iter().filter(|u| u.index() <= loss);
        read.map(|u| u.0).collect()
    };
    if stage == 0 {
        return vec![Choice {
            implementation: 0,
            cost: 0,
            workspace: 0,
            reads: forward(&read_by_all(&node.implementations)),
        }];
    }
    let all = node.implementations.iter().zip(0..);
    let all = all.map(|(way, implementation)| Choice {
        implementation,
        cost: way.cost,
        workspace: way.workspace_bytes,
        reads: forward(&way.needs),
    });
    let replaces = |a: &Choice, b: &Choice| a.reads.iter().all(|u| b.reads.contains(u));
    without_dominated(all.collect(), |c| (c.cost, c.workspace), replaces)
}
