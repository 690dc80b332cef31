//! Stacks of equal layers, found by costs, sizes and inputs.

use super::repeats::{LEAST_LAYERS, Repeat, runs};
use super::signature::{kinds, references};
use super::{BlockKind, ENDS, Layout, NodePlace, Stack};
use remat_instances::Semantics;
use remat_instances::instance::{Instance, NodeId};
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

/// Stacks, at most, that are removed one after the other because they do not hold; each time all
/// nodes are checked.
const ATTEMPTS: usize = 100;

/// The stacks of a graph, whose nodes are alike under some semantics, checked node by node; `None`
/// if there is no stack.
pub fn find(instance: &Instance, semantics: Semantics) -> Option<Layout> {
    let n = instance.len();
    let kinds = kinds(instance, semantics);
    let split = instance.backward_start().map_or(n, NodeId::index);
    let forward = runs(&kinds, 0..split);
    let mut stacks: Vec<FoundStack> = match split == n {
        true => forward.iter().map(FoundStack::alone).collect(),
        false => paired(instance, &forward, &runs(&kinds, split..n)),
    };
    // A stack that does not hold becomes fixed nodes, which may save the others.
    for _ in 0..ATTEMPTS {
        if stacks.is_empty() {
            break;
        }
        let layout = layout(&stacks, n);
        match wrong(instance, semantics, &layout) {
            None => return Some(layout),
            Some(stack) => stacks.remove(stack as usize),
        };
    }
    None
}

/// A stack and its first nodes in both passes.
#[derive(Clone, Copy, Debug)]
struct FoundStack {
    stack: Stack,
    forward: u32,
    backward: u32,
}

impl FoundStack {
    /// A run in a graph without a backward pass.
    fn alone(run: &Repeat) -> FoundStack {
        FoundStack {
            stack: Stack {
                layers: run.layers as u32,
                forward: run.period as u32,
                backward: 0,
            },
            forward: run.begin as u32,
            backward: 0,
        }
    }
}

/// Runs of the forward pass with the runs of the backward pass that read them, as far as their
/// layers belong together. The backward pass has them in reverse order.
fn paired(instance: &Instance, forward: &[Repeat], backward: &[Repeat]) -> Vec<FoundStack> {
    // The turn of a backward layer plus the forward layer that it reads is constant. Numbers of
    // reads by forward run, backward run and this sum:
    let mut reads: BTreeMap<(usize, usize, usize), usize> = BTreeMap::new();
    for (b, back) in backward.iter().enumerate() {
        for i in back.begin..back.begin + back.layers * back.period {
            for need in instance.needs(NodeId::from(i)).iter().map(|j| j.index()) {
                let f = forward.partition_point(|run| run.begin <= need);
                let Some(run) = forward[..f].last() else {
                    continue;
                };
                let layer = (need - run.begin) / run.period;
                if layer < run.layers {
                    let turn = (i - back.begin) / back.period;
                    *reads.entry((f - 1, b, turn + layer)).or_insert(0) += 1;
                }
            }
        }
    }
    let pair = |(f, run): (usize, &Repeat)| {
        let own = reads.range((f, 0, 0)..(f + 1, 0, 0));
        let own = own.map(|(&(_, b, sum), hits)| (*hits, Reverse(b), sum));
        let (_, Reverse(b), sum) = own.max()?;
        let back = &backward[b];
        let first = (sum + 1).saturating_sub(back.layers);
        let last = sum.min(run.layers - 1);
        if last < first || last - first + 1 < LEAST_LAYERS {
            return None;
        }
        Some(FoundStack {
            stack: Stack {
                layers: (last - first + 1) as u32,
                forward: run.period as u32,
                backward: back.period as u32,
            },
            forward: (run.begin + first * run.period) as u32,
            backward: (back.begin + (sum - last) * back.period) as u32,
        })
    };
    forward.iter().enumerate().filter_map(pair).collect()
}

/// The layout of stacks, in the order of the forward pass, in a graph of `n` nodes.
fn layout(found: &[FoundStack], n: usize) -> Layout {
    let mut parts: Vec<(u32, u32, BlockKind)> = Vec::new();
    for (k, one) in (0..).zip(found) {
        let Stack {
            layers,
            forward,
            backward,
        } = one.stack;
        parts.push((
            one.forward,
            layers * forward,
            BlockKind::Forward { stack: k },
        ));
        if backward > 0 {
            parts.push((
                one.backward,
                layers * backward,
                BlockKind::Backward { stack: k },
            ));
        }
    }
    parts.sort_by_key(|part| part.0);
    let mut blocks = Vec::new();
    let mut at = 0;
    for (begin, nodes, kind) in parts {
        if begin > at {
            blocks.push(BlockKind::Fixed { nodes: begin - at });
        }
        blocks.push(kind);
        at = begin + nodes;
    }
    if n as u32 > at {
        blocks.push(BlockKind::Fixed {
            nodes: n as u32 - at,
        });
    }
    Layout::new(found.iter().map(|one| one.stack).collect(), blocks)
}

/// A stack whose layers are not alike, if there is one.
fn wrong(instance: &Instance, semantics: Semantics, layout: &Layout) -> Option<u32> {
    for i in 0..layout.nodes() {
        let lists = references(instance, NodeId(i), semantics);
        let own = layout.layer(layout.place(i));
        if let Some(stack) = lists.iter().find_map(|list| picked(layout, own, list)) {
            return Some(stack);
        }
        let Some((stack, layer)) = own else {
            continue;
        };
        let layers = layout.stacks()[stack as usize].layers;
        if !(ENDS..layers - ENDS - 1).contains(&layer) {
            continue;
        }
        let Some(next) = layout.shifted(i, stack, 1) else {
            return Some(stack);
        };
        let up = |list: &Vec<u32>| -> Vec<Option<u32>> {
            let mut up: Vec<_> = list.iter().map(|j| layout.shifted(*j, stack, 1)).collect();
            up.sort_unstable();
            up
        };
        let there = references(instance, NodeId(next), semantics);
        let is = |list: &Vec<u32>| list.iter().copied().map(Some).collect::<Vec<_>>();
        if !lists.iter().map(up).eq(there.iter().map(is)) {
            return Some(stack);
        }
    }
    None
}

/// A stack of which a node reads some middle layers, far from the node's own layer, and others not.
///
/// A node may read the same tensor of each of them: the end of a step needs all gradients.
fn picked(layout: &Layout, own: Option<(u32, u32)>, reads: &[u32]) -> Option<u32> {
    // Middle layers whose tensor is read, by block and position.
    let mut counts: HashMap<(u32, u32), (u32, u32)> = HashMap::new();
    for &j in reads {
        if let NodePlace::Layer {
            block,
            layer,
            position,
        } = layout.place(j)
            && let Some((stack, _)) = layout.layer(layout.place(j))
            && layout.is_far_middle(own, (stack, layer))
        {
            counts.entry((block, position)).or_insert((stack, 0)).1 += 1;
        }
    }
    let wanted = |stack: u32| {
        let middle = ENDS..layout.stacks()[stack as usize].layers - ENDS;
        let far = middle.filter(|layer| layout.is_far_middle(own, (stack, *layer)));
        far.count() as u32
    };
    let faults = counts
        .into_values()
        .filter(|(s, count)| *count != wanted(*s));
    faults.map(|(stack, _)| stack).min()
}

#[cfg(test)]
mod tests {
    use super::*;
    use remat_instances::zoo;

    fn stacks(spec: &str) -> Vec<Stack> {
        let instance = zoo::build(&spec.parse().unwrap()).unwrap();
        let found = find(&instance.single_implementation_view(), Semantics::Checkmate);
        found.map_or(Vec::new(), |layout| layout.stacks().to_vec())
    }

    /// The single stack of a model, as layers, forward nodes and backward nodes.
    fn stack(spec: &str) -> [u32; 3] {
        match stacks(spec)[..] {
            [stack] => [stack.layers, stack.forward, stack.backward],
            _ => panic!("{spec} is not one stack"),
        }
    }

    #[test]
    fn language_models_are_stacks_of_layers() {
        assert_eq!(stack("zoo:llama?layers=80"), [80, 16, 20]);
        assert_eq!(stack("zoo:gpt2?layers=48")[1..], [14, 12]);
        assert_eq!(stack("zoo:bert?layers=96")[1..], [20, 21]);
    }

    /// Mixtures of experts. If dense and mixture layers alternate, a pair of them is a layer.
    #[test]
    fn mixtures_are_stacks_of_layers() {
        let [layers, _, _] = stack("zoo:mixtral?layers=24");
        assert!(layers > 20, "{layers}");
        let each = |model: &str| stack(model)[1..].to_vec();
        let pairs = stack("zoo:mixtral?layers=48&every=2");
        assert!((LEAST_LAYERS as u32..=24).contains(&pairs[0]), "{pairs:?}");
        let (mixture, dense) = (each("zoo:mixtral?layers=24"), each("zoo:llama?layers=24"));
        let both: Vec<u32> = mixture.iter().zip(&dense).map(|(a, b)| a + b).collect();
        assert_eq!(pairs[1..], both);
    }

    #[test]
    fn networks_without_equal_layers_have_none() {
        for model in ["vgg16", "mobilenet_v1", "unet"] {
            assert_eq!(stacks(&format!("zoo:{model}")), [], "{model}");
        }
    }

    #[test]
    fn a_layer_of_another_size_parts_a_stack() {
        let instance = zoo::build(&"zoo:llama?layers=40".parse().unwrap()).unwrap();
        let mut data = instance.data().clone();
        // A tensor of the twentieth layer.
        data.nodes[1 + 19 * 16 + 5].output_bytes += 4096;
        let found = find(&Instance::new(data).unwrap(), Semantics::Checkmate);
        let stacks: Vec<u32> = match &found {
            Some(layout) => layout.stacks().iter().map(|s| s.layers).collect(),
            None => Vec::new(),
        };
        assert!(
            stacks.len() == 2 && stacks.iter().all(|l| (15..=20).contains(l)),
            "{stacks:?}"
        );
    }

    #[test]
    fn places_and_nodes_are_inverse() {
        let instance = zoo::build(&"zoo:llama?layers=24".parse().unwrap()).unwrap();
        let layout = find(&instance, Semantics::Checkmate).unwrap();
        assert_eq!(layout.nodes() as usize, instance.len());
        for i in 0..layout.nodes() {
            assert_eq!(layout.node(layout.place(i)), Some(i));
        }
        let small = layout.with_layers(&[8]);
        assert_eq!(small.nodes(), layout.nodes() - 16 * 36);
    }
}
