//! Networks of equal layers: their places in a graph, the same network with fewer layers, and the
//! root and plans of many layers from a few.
//!
//! A *stack* is a run of equal layers in the forward pass, one after the other, with their equal
//! backward layers in reverse order. One layer up is `forward` nodes further in the forward pass
//! and `backward` nodes back in the backward pass. In the middle of a stack this shift takes every
//! node to a node with the same costs and sizes, and its inputs to the inputs of that node. Nodes
//! between, before and behind the stacks are *fixed*. A fixed node may read a tensor of a middle
//! layer if it reads this tensor of all middle layers, as the end of a step reads gradients.
//!
//! | module | concept |
//! |---|---|
//! | `find` | the stacks of a graph, by costs, sizes and inputs alone |
//! | `repeats` | stretches of a sequence that repeat themselves |
//! | `signature` | the data of a node that a program sees: nodes with equal signatures are alike |
//! | `lazy` | the layout of an instance, searched for on the first request |
//! | `cut` | the same network with fewer layers |
//! | `few` | this smaller network, and the budgets at which it is like the large one |
//! | `map` | nodes of a few layers, and the like nodes of many |
//! | `program` | interface of a program whose rows and columns carry over |
//! | `carry` | rows and columns of a few layers, carried over to many |
//! | `root` | the root of many layers from the root of a few |
//! | `plans` | plans of many layers from plans of a few |

mod carry;
mod cut;
mod few;
mod find;
mod lazy;
mod map;
mod plans;
mod program;
mod repeats;
mod root;
mod signature;

pub use cut::cut;
pub use find::find;
pub use lazy::LazyLayout;
pub use map::{Anchor, Beside, LayerMap};
pub use plans::plans;
pub use program::Layered;
pub use root::root_start;

use std::fmt;

/// Layers at either end of a stack that may read other tensors than the middle layers do.
pub const ENDS: u32 = 2;

/// A run of equal layers.
///
/// ```
/// use remat_formulations::life::layers::Stack;
/// let stack = Stack { layers: 80, forward: 16, backward: 20 };
/// assert_eq!(stack.to_string(), "80 equal layers of 16 + 20 nodes");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stack {
    /// Number of layers.
    pub layers: u32,
    /// Nodes of a layer in the forward pass.
    pub forward: u32,
    /// Nodes of a layer in the backward pass; 0 for graphs without one.
    pub backward: u32,
}

impl fmt::Display for Stack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} equal layers of {}", self.layers, self.forward)?;
        match self.backward {
            0 => write!(f, " nodes"),
            backward => write!(f, " + {backward} nodes"),
        }
    }
}

/// The place of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NodePlace {
    /// Outside of all stacks.
    Fixed {
        /// The block of nodes.
        block: u32,
        /// Position in the block.
        position: u32,
    },
    /// In a layer.
    Layer {
        /// The block: the forward or the backward pass of a stack.
        block: u32,
        /// The layer, from 0 in the order of the forward pass.
        layer: u32,
        /// Position in the layer.
        position: u32,
    },
}

/// Kind of a block of consecutive nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BlockKind {
    Fixed { nodes: u32 },
    Forward { stack: u32 },
    Backward { stack: u32 },
}

/// The stacks of a graph, and its other nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    stacks: Vec<Stack>,
    blocks: Vec<BlockKind>,
    /// First node of each block, and the number of nodes.
    begins: Vec<u32>,
}

impl Layout {
    fn new(stacks: Vec<Stack>, blocks: Vec<BlockKind>) -> Self {
        let mut layout = Layout {
            stacks,
            blocks,
            begins: vec![0],
        };
        for k in 0..layout.blocks.len() {
            let (layers, nodes) = layout.shape(k as u32);
            layout.begins.push(layout.begins[k] + layers * nodes);
        }
        layout
    }

    /// The stacks, in the order of the forward pass.
    pub fn stacks(&self) -> &[Stack] {
        &self.stacks
    }

    /// Number of nodes.
    pub fn nodes(&self) -> u32 {
        self.begins[self.blocks.len()]
    }

    /// The same layout with other numbers of layers.
    pub fn with_layers(&self, layers: &[u32]) -> Layout {
        let stacks = self.stacks.iter().zip(layers);
        let stacks = stacks.map(|(stack, layers)| Stack {
            layers: *layers,
            ..*stack
        });
        Layout::new(stacks.collect(), self.blocks.clone())
    }

    /// Layers of a block, and nodes of each; a fixed block is one layer.
    fn shape(&self, block: u32) -> (u32, u32) {
        match self.blocks[block as usize] {
            BlockKind::Fixed { nodes } => (1, nodes),
            BlockKind::Forward { stack } => {
                let stack = self.stacks[stack as usize];
                (stack.layers, stack.forward)
            }
            BlockKind::Backward { stack } => {
                let stack = self.stacks[stack as usize];
                (stack.layers, stack.backward)
            }
        }
    }

    /// The stack of a place, and its layer; `None` for fixed nodes.
    pub fn layer(&self, place: NodePlace) -> Option<(u32, u32)> {
        let NodePlace::Layer { block, layer, .. } = place else {
            return None;
        };
        match self.blocks[block as usize] {
            BlockKind::Fixed { .. } => None,
            BlockKind::Forward { stack } | BlockKind::Backward { stack } => Some((stack, layer)),
        }
    }

    /// The place of a node.
    pub fn place(&self, node: u32) -> NodePlace {
        let block = self.begins.partition_point(|b| *b <= node) as u32 - 1;
        let at = node - self.begins[block as usize];
        let (layers, nodes) = self.shape(block);
        match self.blocks[block as usize] {
            BlockKind::Fixed { .. } => NodePlace::Fixed {
                block,
                position: at,
            },
            BlockKind::Forward { .. } => NodePlace::Layer {
                block,
                layer: at / nodes,
                position: at % nodes,
            },
            BlockKind::Backward { .. } => NodePlace::Layer {
                block,
                layer: layers - 1 - at / nodes,
                position: at % nodes,
            },
        }
    }

    /// The node at a place.
    pub fn node(&self, place: NodePlace) -> Option<u32> {
        let (block, layer, position) = match place {
            NodePlace::Fixed { block, position } => (block, 0, position),
            NodePlace::Layer {
                block,
                layer,
                position,
            } => (block, layer, position),
        };
        let (layers, nodes) = self.shape(block);
        if layer >= layers || position >= nodes {
            return None;
        }
        let turn = match self.blocks[block as usize] {
            BlockKind::Backward { .. } => layers - 1 - layer,
            _ => layer,
        };
        Some(self.begins[block as usize] + turn * nodes + position)
    }

    /// The node at the same position as a place in another layer of its block.
    pub fn node_in(&self, place: NodePlace, layer: u32) -> Option<u32> {
        self.node(match place {
            NodePlace::Fixed { .. } => place,
            NodePlace::Layer {
                block, position, ..
            } => NodePlace::Layer {
                block,
                layer,
                position,
            },
        })
    }

    /// Returns whether a middle layer (stack, layer) is in another stack than a node's own layer,
    /// or more than [`ENDS`] layers from it.
    fn is_far_middle(&self, own: Option<(u32, u32)>, (stack, layer): (u32, u32)) -> bool {
        let is_near = |own: (u32, u32)| own.0 == stack && own.1.abs_diff(layer) <= ENDS;
        let middle = ENDS..self.stacks[stack as usize].layers - ENDS;
        middle.contains(&layer) && !own.is_some_and(is_near)
    }

    /// The node so many layers further up in a stack; a node outside of the stack stays where it
    /// is.
    fn shifted(&self, node: u32, stack: u32, by: i64) -> Option<u32> {
        let place = self.place(node);
        match self.layer(place) {
            Some((own, layer)) if own == stack => {
                let layer = u32::try_from(i64::from(layer) + by).ok()?;
                self.node_in(place, layer)
            }
            _ => Some(node),
        }
    }
}
