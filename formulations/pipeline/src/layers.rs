//! Borders between the layers of a model.

use remat_formulations::AnyFormulation;
use remat_instances::Semantics;
use remat_instances::instance::NodeId;
use remat_instances::pipeline::split::Split;
use std::collections::BTreeSet;

/// Names of the forward nodes whose outputs cross between layers.
pub(crate) fn crossing<'s>(split: &'s Split<'_>, borders: &[u32]) -> BTreeSet<&'s str> {
    let graph = split.instance();
    let mut names = BTreeSet::new();
    for &border in borders {
        for id in (0..border).map(NodeId) {
            let last = graph
                .users(id)
                .iter()
                .map(|user| split.position(*user))
                .max();
            if last.is_some_and(|last| last >= border) {
                names.insert(graph.node(id).name.as_str());
            }
        }
    }
    names
}

/// Begins of layers: of equal layers if the graph has them, otherwise all narrow positions.
pub(crate) fn borders(split: &Split<'_>) -> Vec<u32> {
    let graph = split.instance();
    let narrow = split.narrow(usize::MAX);
    let Ok(formulation) = AnyFormulation::of(graph, Semantics::Checkmate) else {
        return narrow;
    };
    let stacks = formulation.layers().iter();
    let begins: Vec<u32> = stacks
        .filter_map(|stack| {
            let begin = first_layer(split, stack.layers, stack.forward)?;
            Some((0..=stack.layers).map(move |k| begin + k * stack.forward))
        })
        .flatten()
        .collect();
    let found: BTreeSet<u32> = begins
        .into_iter()
        .filter(|p| split.crossing(*p).is_some())
        .collect();
    match found.is_empty() {
        true => narrow,
        false => found.into_iter().collect(),
    }
}

/// The narrowest position from which so many layers of so many nodes are alike in cost and size.
fn first_layer(split: &Split<'_>, layers: u32, nodes: u32) -> Option<u32> {
    let all = split.instance().nodes();
    let alike = |p: u32, q: u32| {
        let (a, b) = (&all[p as usize], &all[q as usize]);
        a.cost() == b.cost() && a.output_bytes == b.output_bytes
    };
    let last = split.end().checked_sub(layers * nodes)?;
    let equal = |begin: u32| {
        let inner = begin..begin + (layers - 1) * nodes;
        inner.into_iter().all(|p| alike(p, p + nodes))
    };
    let begins = (0..=last).filter(|&begin| equal(begin));
    begins.min_by_key(|&begin| {
        split
            .crossing(begin + nodes)
            .map_or(u64::MAX, |c| c.bytes())
    })
}
