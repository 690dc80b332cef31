//! From a training graph to a chain.
//!
//! A forward graph is cut after every node position where exactly one tensor is still read by later
//! forward nodes (an articulation point of the data flow). The nodes between two cuts are a block
//! and become a stage, as in rotor's treatment of ResNet blocks. The loss and the backward nodes
//! are split into one contiguous stretch per block, in reverse.
//!
//! A cut is undone where the chain model would not describe the graph:
//! - a backward node reads forward tensors of blocks that are too far apart, or out of order;
//! - no backward node reads the tensor at the cut (a convolution's output before a ReLU). As a
//!   checkpoint it is no better than the tensor after it, and the model would hold it longer than
//!   Checkmate does;
//! - a block's output does not depend on its input, or its backward step does not read the forward
//!   pass: a recomputation charged to it would not be needed.
//!
//! A plain linear network stays a chain of single nodes, as far as its backward nodes read every
//! output.

use super::{Chain, ForwardPeaks, Stage};
use remat_instances::instance::{Instance, NodeId, NodeKind};
use std::ops::Range;

/// Reason why a graph has no chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoChain {
    /// The graph is not marked as a training graph.
    #[error("the graph has no backward pass: it has neither a loss nor a backward node")]
    NoBackwardPass,
    /// All nodes form one block.
    #[error(
        "the forward graph cannot be cut into a chain: at every position two or more tensors are needed later, or backward nodes reach across the cut"
    )]
    NoCut,
}

/// The nodes behind one stage.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Block {
    /// Forward nodes; may be empty for the last block.
    pub forward: Range<usize>,
    /// The tensor that later blocks read; `None` for the last block.
    pub output: Option<NodeId>,
    /// Forward tensors of this block that its backward nodes read, ascending.
    pub saved: Vec<NodeId>,
    /// Backward nodes; the last block's stretch starts with the loss. Never empty.
    pub backward: Range<usize>,
}

/// A chain and the training graph it was made from.
#[derive(Clone, Debug)]
pub struct TrainingChain<'a> {
    pub(super) instance: &'a Instance,
    chain: Chain,
    blocks: Vec<Block>,
}

impl<'a> TrainingChain<'a> {
    /// The graph.
    pub fn instance(&self) -> &'a Instance {
        self.instance
    }

    /// The chain. Its fixed memory is [`Instance::static_bytes`].
    pub fn chain(&self) -> &Chain {
        &self.chain
    }

    /// The nodes behind each stage.
    pub fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    /// Returns whether every stage keeps only its own output for its backward step: a linear
    /// network.
    pub fn is_linear(&self) -> bool {
        self.chain
            .stages
            .iter()
            .all(|s| s.saved_bytes == s.output_bytes)
    }
}

/// Makes a chain of at least two stages from a training graph. Without a loss, the first backward
/// node stands for it.
///
/// Time is linear in the graph for every cut that is undone.
///
/// # Errors
/// [`NoChain`] if the graph has no backward pass or cannot be cut.
pub fn extract(instance: &Instance) -> Result<TrainingChain<'_>, NoChain> {
    let first_backward = || instance.nodes().iter().position(|v| v.is_backward());
    let turn = instance.loss().map(|l| l.index()).or_else(first_backward);
    let loss = turn.ok_or(NoChain::NoBackwardPass)?;
    let mut cuts = find_cuts(instance, loss);
    loop {
        if cuts.is_empty() {
            return Err(NoChain::NoCut);
        }
        match split(instance, loss, &cuts) {
            Ok(blocks) => {
                let stages = (0..blocks.len())
                    .map(|l| measure(instance, &blocks, l))
                    .collect();
                let chain = Chain {
                    stages,
                    fixed_bytes: instance.static_bytes(),
                };
                return Ok(TrainingChain {
                    instance,
                    chain,
                    blocks,
                });
            }
            Err(wrong) => {
                cuts.remove(wrong);
            }
        }
    }
}

/// A cut after the node at a position, and the one tensor that crosses it.
#[derive(Clone, Copy)]
struct ChainCut {
    after: usize,
    tensor: NodeId,
}

fn find_cuts(instance: &Instance, loss: usize) -> Vec<ChainCut> {
    // Tensors that cross a position, and the sum of their ids: with one tensor the sum is its id.
    let mut count = vec![0i64; loss + 2];
    let mut sum = vec![0i64; loss + 2];
    for i in 0..loss {
        let users = instance.users(NodeId::from(i));
        if let Some(last) = users.iter().rev().find(|u| u.index() <= loss) {
            count[i] += 1;
            sum[i] += i as i64;
            count[last.index()] -= 1;
            sum[last.index()] -= i as i64;
        }
    }
    // By-products that have not run although their parents have: both belong to one block.
    let mut apart = vec![0i64; loss + 2];
    for i in 0..loss {
        if let Some(parent) = instance.node(NodeId::from(i)).parent() {
            apart[parent.index()] += 1;
            apart[i] -= 1;
        }
    }
    let mut cuts: Vec<ChainCut> = Vec::new();
    let (mut crossing, mut ids, mut awaited) = (0, 0, 0);
    for after in 0..loss {
        crossing += count[after];
        ids += sum[after];
        awaited += apart[after];
        if crossing != 1 || awaited > 0 {
            continue;
        }
        let tensor = NodeId::from(ids as usize);
        let read_back = instance.users(tensor).iter().any(|u| u.index() >= loss);
        if read_back && cuts.last().is_none_or(|c| tensor.index() > c.after) {
            cuts.push(ChainCut { after, tensor });
        }
    }
    cuts
}

/// The blocks between cuts, or the cut that must be removed.
fn split(instance: &Instance, loss: usize, cuts: &[ChainCut]) -> Result<Vec<Block>, usize> {
    let last = cuts.len();
    let block_of = |node: NodeId| cuts.partition_point(|c| c.after < node.index());
    let n = instance.len();
    // The blocks from which each backward node can take its forward inputs.
    let (mut lowest, mut highest) = (vec![0; n - loss], vec![last; n - loss]);
    for b in loss..n {
        for need in instance.needs(NodeId::from(b)) {
            if need.index() < loss {
                let k = block_of(*need);
                let is_output = k < last && cuts[k].tensor == *need;
                lowest[b - loss] = lowest[b - loss].max(k);
                let top = if is_output { k + 1 } else { k };
                highest[b - loss] = highest[b - loss].min(top);
            }
        }
    }
    for b in 1..n - loss {
        highest[b] = highest[b].min(highest[b - 1]);
    }
    for b in (1..n - loss).rev() {
        lowest[b - 1] = lowest[b - 1].max(lowest[b]);
    }
    if let Some(b) = (0..n - loss).find(|&b| lowest[b] > highest[b]) {
        return Err(highest[b]);
    }
    let mut blocks: Vec<Block> = (0..=last)
        .map(|k| Block {
            forward: if k == 0 { 0 } else { cuts[k - 1].after + 1 }..if k == last {
                loss
            } else {
                cuts[k].after + 1
            },
            output: (k < last).then(|| cuts[k].tensor),
            saved: Vec::new(),
            backward: 0..0,
        })
        .collect();
    assign(instance, loss, &lowest, &highest, block_of, &mut blocks);
    for (k, block) in blocks.iter_mut().enumerate() {
        if block.backward.is_empty() {
            return Err(k.min(last - 1));
        }
        collect_saved(instance, block);
    }
    for k in 1..=last {
        if !depends_on_input(instance, &blocks[k], cuts[k - 1].tensor) {
            return Err(k - 1);
        }
    }
    Ok(blocks)
}

/// Gives each backward node to the block of its forward twin, as far as order and inputs allow.
fn assign(
    instance: &Instance,
    loss: usize,
    lowest: &[usize],
    highest: &[usize],
    block_of: impl Fn(NodeId) -> usize,
    blocks: &mut [Block],
) {
    let mut before = blocks.len() - 1;
    for b in loss..instance.len() {
        let wanted = match instance.node(NodeId::from(b)).kind {
            NodeKind::Backward {
                forward: Some(twin),
                ..
            } if twin.index() < loss => block_of(twin),
            _ => before,
        };
        let k = wanted
            .min(highest[b - loss])
            .min(before)
            .max(lowest[b - loss]);
        let stretch = &mut blocks[k].backward;
        *stretch = if stretch.start == stretch.end {
            b
        } else {
            stretch.start
        }..b + 1;
        before = k;
    }
}

fn collect_saved(instance: &Instance, block: &mut Block) {
    let mut saved: Vec<NodeId> = block
        .backward
        .clone()
        .flat_map(|b| instance.needs(NodeId::from(b)).iter().copied())
        .filter(|need| block.forward.contains(&need.index()))
        .collect();
    saved.sort_unstable();
    saved.dedup();
    block.saved = saved;
}

/// Returns whether the block's output and its backward step both need the block's input.
fn depends_on_input(instance: &Instance, block: &Block, input: NodeId) -> bool {
    let reads = |nodes: &[usize]| {
        nodes
            .iter()
            .any(|&i| instance.needs(NodeId::from(i)).contains(&input))
    };
    let backward: Vec<usize> = block.backward.clone().collect();
    let output_does = block
        .output
        .is_none_or(|x| reads(&closure(instance, block, &[x])));
    output_does && (reads(&backward) || reads(&closure(instance, block, &block.saved)))
}

/// The nodes of a block that have to run to compute `wanted` from the block's input, in execution
/// order.
pub(super) fn closure(instance: &Instance, block: &Block, wanted: &[NodeId]) -> Vec<usize> {
    let start = block.forward.start;
    let mut needed = vec![false; block.forward.len()];
    for id in wanted {
        needed[id.index() - start] = true;
    }
    for i in block.forward.clone().rev() {
        if needed[i - start] {
            for need in instance.needs(NodeId::from(i)) {
                if block.forward.contains(&need.index()) {
                    needed[need.index() - start] = true;
                }
            }
        }
    }
    block
        .forward
        .clone()
        .filter(|i| needed[i - start])
        .collect()
}

/// Nodes that run in order: first the nodes `again`, then the nodes that run for the first time.
struct ChainRun<'a> {
    again: &'a [usize],
    first: &'a [usize],
}

impl ChainRun<'_> {
    /// The nodes, and whether each has run before.
    fn nodes(&self) -> impl Iterator<Item = (NodeId, bool)> {
        let again = self.again.iter().map(|&i| (NodeId::from(i), true));
        again.chain(self.first.iter().map(|&i| (NodeId::from(i), false)))
    }

    fn cost(&self, instance: &Instance) -> u64 {
        let costs = self.nodes();
        costs
            .map(|(i, again)| instance.node(i).run_cost(again))
            .sum()
    }
}

/// Peak of a run in Checkmate's replay. The tensors `held` are in memory at the start. An input is
/// freed after its last read unless it is kept, an unread output directly after its node. Tensors
/// that are read but neither held nor computed belong to other blocks and are not counted.
fn peak(
    instance: &Instance,
    run: &ChainRun<'_>,
    held: &[NodeId],
    keep: impl Fn(NodeId) -> bool,
) -> u64 {
    let mut reads_left = vec![0u32; instance.len()];
    let mut there = vec![false; instance.len()];
    for (v, _) in run.nodes() {
        for need in instance.needs(v) {
            reads_left[need.index()] += 1;
        }
    }
    let size = |id: NodeId| instance.node(id).output_bytes;
    let mut bytes: u64 = held.iter().map(|&i| size(i)).sum();
    for id in held {
        there[id.index()] = true;
    }
    let mut largest = bytes;
    for (id, again) in run.nodes() {
        bytes += size(id);
        there[id.index()] = true;
        largest = largest.max(bytes + instance.node(id).run_workspace_bytes(again));
        for &need in instance.needs(id) {
            reads_left[need.index()] -= 1;
        }
        for &i in instance.needs(id).iter().chain([&id]) {
            if reads_left[i.index()] == 0 && there[i.index()] && !keep(i) {
                there[i.index()] = false;
                bytes -= size(i);
            }
        }
    }
    largest
}

/// Sizes, costs and peaks of the stage behind block `l`.
fn measure(instance: &Instance, blocks: &[Block], l: usize) -> Stage {
    let block = &blocks[l];
    let total =
        |ids: &[NodeId]| -> u64 { ids.iter().map(|&i| instance.node(i).output_bytes).sum() };
    let output: Vec<NodeId> = block.output.into_iter().collect();
    let input: Vec<NodeId> = l
        .checked_sub(1)
        .and_then(|k| blocks[k].output)
        .into_iter()
        .collect();
    let mut kept = block.saved.clone();
    if let Some(x) = block.output
        && let Err(at) = kept.binary_search(&x)
    {
        kept.insert(at, x);
    }
    let forward: Vec<usize> = block.forward.clone().collect();
    let backward: Vec<usize> = block.backward.clone().collect();
    let pass = closure(instance, block, &output);
    let save = closure(instance, block, &kept);
    let close = closure(instance, block, &block.saved);
    let first = |first| ChainRun { again: &[], first };
    let again = |again| ChainRun { again, first: &[] };
    let peaks = |pass: &ChainRun<'_>, save: &ChainRun<'_>| ForwardPeaks {
        pass_bytes: peak(instance, pass, &[], |i| output.contains(&i)),
        stream_bytes: peak(instance, pass, &input, |i| output.contains(&i)),
        save_bytes: peak(instance, save, &[], |i| kept.binary_search(&i).is_ok()),
    };
    // Tensors of the backward pass (and the loss) that are alive where this block's stretch begins.
    let loss = blocks[blocks.len() - 1].backward.start;
    let start = block.backward.start;
    let gradients: Vec<NodeId> = (loss..start)
        .map(NodeId::from)
        .filter(|&g| instance.users(g).last().is_some_and(|u| u.index() >= start))
        .collect();
    let outlives = |i: NodeId| {
        i.index() >= loss
            && instance
                .users(i)
                .last()
                .is_some_and(|u| u.index() >= block.backward.end)
    };
    let is_last = l + 1 == blocks.len();
    let (closed, closing) = match is_last {
        true => (&[][..], [&forward[..], &backward[..]].concat()),
        false => (&close[..], backward.clone()),
    };
    let closing = ChainRun {
        again: closed,
        first: &closing,
    };
    let close_forward = if is_last {
        first(&forward)
    } else {
        again(&close)
    };
    let is_saved = |i: NodeId| i.index() >= loss || block.saved.binary_search(&i).is_ok();
    let saved_and_gradients: Vec<NodeId> = block.saved.iter().chain(&gradients).copied().collect();
    Stage {
        output_bytes: total(&output),
        saved_bytes: total(&kept),
        gradient_bytes: total(&gradients),
        forward_cost: first(&forward).cost(instance),
        backward_cost: first(&backward).cost(instance),
        pass_cost: again(&pass).cost(instance),
        save_cost: again(&save).cost(instance),
        close_cost: again(&close).cost(instance),
        first: peaks(&first(&forward), &first(&forward)),
        again: peaks(&again(&pass), &again(&save)),
        close_bytes: peak(instance, &closing, &gradients, outlives),
        close_forward_bytes: peak(instance, &close_forward, &gradients, is_saved),
        backward_bytes: peak(instance, &first(&backward), &saved_and_gradients, outlives),
    }
}
