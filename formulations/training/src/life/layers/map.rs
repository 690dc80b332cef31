//! The map from the layers of a small network to the layers of a large one.

use super::{ENDS, Layout};
use std::ops::Range;

/// Layers around an anchor in which nodes shift along with it.
const NEAR: u32 = 2;

/// A layer of the small network and one of the large network, in one stack.
#[derive(Clone, Copy, Debug)]
pub struct Anchor {
    stack: u32,
    from: u32,
    to: u32,
}

impl Anchor {
    /// A layer of a stack in the small network, and one in the large network.
    pub fn new((stack, from): (u32, u32), to: u32) -> Self {
        Anchor { stack, from, to }
    }
}

/// The layers of a small network, and of a large one that has the same stacks.
#[derive(Clone, Copy, Debug)]
pub struct LayerMap<'a> {
    /// Layout of the small network.
    pub small: &'a Layout,
    /// Layout of the large network.
    pub large: &'a Layout,
}

impl<'a> LayerMap<'a> {
    /// Numbers of the middle layers that duals may be taken from.
    pub fn middles(&self) -> Range<u32> {
        let stacks = self.small.stacks().iter().zip(self.large.stacks());
        let cut = stacks.filter(|(small, large)| small.layers < large.layers);
        0..cut
            .map(|(small, _)| small.layers - 2 * ENDS)
            .min()
            .unwrap_or(0)
    }

    /// Stack and layer of a node of the small network.
    pub fn layer(&self, i: u32) -> Option<(u32, u32)> {
        self.small.layer(self.small.place(i))
    }

    /// Stack and layer of the first of some nodes of the small network that is in one.
    pub fn first_layer(&self, nodes: &[u32]) -> Option<(u32, u32)> {
        nodes.iter().find_map(|i| self.layer(*i))
    }

    /// Layers of a stack in the small and in the large network.
    fn layers(&self, stack: u32) -> [u32; 2] {
        [self.small, self.large].map(|l| l.stacks()[stack as usize].layers)
    }

    /// Middle layers of a stack in the small network; empty if the stack is whole there.
    pub fn middle_layers(&self, stack: u32) -> Range<u32> {
        match self.layers(stack) {
            [few, many] if few == many => 0..0,
            [few, _] => ENDS..few - ENDS,
        }
    }

    /// Middle layers of a stack in the large network; empty if the stack is whole in the small one.
    pub fn many_middle_layers(&self, stack: u32) -> Range<u32> {
        match self.layers(stack) {
            [few, many] if few == many => 0..0,
            [_, many] => ENDS..many - ENDS,
        }
    }

    /// The places in the large network that an anchor goes to. If a middle layer is given, only
    /// this one of the middle layers counts.
    pub fn copies(&self, anchor: Option<(u32, u32)>, middle: Option<u32>) -> Vec<Option<Anchor>> {
        let Some((stack, from)) = anchor else {
            return vec![None];
        };
        let [few, many] = self.layers(stack);
        let to = |to: u32| Some(Anchor { stack, from, to });
        if few == many || from < ENDS {
            return vec![to(from)];
        }
        if from + ENDS >= few {
            return vec![to(from + many - few)];
        }
        match middle {
            Some(middle) if from != ENDS + middle => Vec::new(),
            _ => (ENDS..many - ENDS).map(to).collect(),
        }
    }

    /// The nodes of the large network seen from an anchor. Far middle layers are like one of the
    /// small network's.
    pub fn beside(&'a self, at: Option<Anchor>, middle: u32) -> Beside<'a> {
        Beside {
            map: self,
            at,
            middle,
        }
    }
}

/// Nodes of the large network, seen from an anchor.
#[derive(Clone, Copy, Debug)]
pub struct Beside<'a> {
    map: &'a LayerMap<'a>,
    at: Option<Anchor>,
    middle: u32,
}

impl Beside<'_> {
    /// The node of the large network that a node of the small network becomes.
    pub fn node(&self, i: u32) -> Option<u32> {
        let LayerMap { small, large } = self.map;
        let place = small.place(i);
        let Some((stack, layer)) = small.layer(place) else {
            return large.node(place);
        };
        let [few, many] = self.map.layers(stack);
        let to = match self.at {
            _ if few == many => layer,
            Some(at) if at.stack == stack && layer.abs_diff(at.from) <= NEAR => {
                (layer + at.to).checked_sub(at.from)?
            }
            _ if layer < ENDS => layer,
            _ if layer + ENDS >= few => layer + many - few,
            _ => return None,
        };
        large.node_in(place, to)
    }

    /// The nodes that some nodes of the small network become; `None` if one of them has no place.
    pub fn nodes(&self, list: &[u32]) -> Option<Vec<u32>> {
        list.iter().map(|i| self.node(*i)).collect()
    }

    /// The nodes of the large network that are like a node of the small network. Far middle layers
    /// are all like one of the small network's.
    pub fn images(&self, i: u32) -> Vec<u32> {
        let LayerMap { small, large } = self.map;
        let place = small.place(i);
        let alone = || large.node(place).into_iter().collect();
        let Some((stack, layer)) = small.layer(place) else {
            return alone();
        };
        let [few, many] = self.map.layers(stack);
        if few == many {
            return alone();
        }
        let at = self.at.filter(|at| at.stack == stack);
        // The layer of the small network near the anchor, for one of the large network.
        let beside = |x: u32| {
            let at = at.filter(|at| x.abs_diff(at.to) <= NEAR)?;
            (x + at.from).checked_sub(at.to).filter(|l| *l < few)
        };
        let origin = |x: u32| match beside(x) {
            Some(near) => near,
            None if x < ENDS => x,
            None if x + ENDS >= many => x + few - many,
            None => ENDS + self.middle,
        };
        let layers = (0..many).filter(|x| origin(*x) == layer);
        let node = |layer| large.node_in(place, layer);
        layers.filter_map(node).collect()
    }

    /// The node that a node of the small network becomes, or one of the nodes that are like it.
    pub fn node_or_like(&self, i: u32) -> Option<u32> {
        let any = || {
            let like = self.images(i);
            like.get(like.len() / 2).copied()
        };
        self.node(i).or_else(any)
    }
}
