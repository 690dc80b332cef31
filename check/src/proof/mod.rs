//! Proofs of bounds (`remat-proof/1`), checked in integers.
//!
//! A proof says that every schedule of an instance within a budget costs at least so much, or that
//! there is none. Its parts are rows that hold at every schedule (each is checked to be one of a
//! few kinds, by the graph), and a tree whose nodes have multipliers for rows. `docs/proof.md`
//! states the format and why what is checked is enough.
//!
//! Shares no code with the solver: what is true here is true because of these few files and the
//! reader of instances.
//!
//! | module | concept |
//! |---|---|
//! | [`parse`] | the text |
//! | `graph` | costs, sizes, readers |
//! | `rows` | whether a row holds at every schedule, and what its multiplier is worth to whom |
//! | `lives` | the cheapest life of a tensor |
//! | [`tree`] | node by node |

pub mod cover;
mod graph;
mod lives;
pub mod parse;
mod rows;
pub mod tree;

/// The first line of a proof.
pub const HEADER: &str = "remat-proof/1";

use cover::Cover;

/// Claim of a proof.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Claim {
    /// Every schedule costs at least so much.
    Bound(u64),
    /// No schedule fits.
    Infeasible,
    /// No schedule fits, since this node does not, beside its inputs.
    TooSmall(u32),
}

/// A quantity of a schedule that is an integer: a count over some nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quantity {
    /// Count taken of each of them.
    pub what: Counted,
    /// The nodes.
    pub nodes: Vec<u32>,
}

/// Count taken of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counted {
    /// Its recomputations in stages from the first to the last.
    Starts(u32, u32),
    /// True if it is in memory when the stage begins.
    Held(u32),
}

/// A quantity is at least, or at most, so much.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Branch {
    /// The quantity that is bounded.
    pub quantity: Quantity,
    /// Bounded below rather than above.
    pub at_least: bool,
    /// The bound.
    pub count: u32,
}

impl Branch {
    /// Returns whether one of the two holds at every schedule.
    pub fn completes(&self, other: &Branch) -> bool {
        let (low, high) = match (self.at_least, other.at_least) {
            (false, true) => (self, other),
            (true, false) => (other, self),
            _ => return false,
        };
        self.quantity == other.quantity && high.count <= low.count.saturating_add(1)
    }
}

/// A path cut's window and path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Path {
    /// The stage at whose start something of the path is held, or else the first node is recomputed
    /// from there on.
    pub from: u32,
    /// The stage whose node reads the end of the path.
    pub reader: u32,
    /// The path, in the direction of edges.
    pub nodes: Vec<u32>,
}

/// A row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Row {
    /// `node` is there when the node of stage `reader` reads it.
    Need {
        /// The tensor.
        node: u32,
        /// The reader, which is also the stage.
        reader: u32,
    },
    /// `input` is there when `node` is recomputed in `stage`.
    Input {
        /// The stage.
        stage: u32,
        /// The node.
        node: u32,
        /// Its input.
        input: u32,
    },
    /// The parent of by-product `node` is recomputed in `stage` where that is.
    Parent {
        /// The stage.
        stage: u32,
        /// The by-product.
        node: u32,
    },
    /// The contents of memory at `node`'s turn in `stage` fit.
    Memory {
        /// The stage.
        stage: u32,
        /// The node.
        node: u32,
        /// The size by which sizes and capacity are rounded; 0 for sizes as they are.
        unit: u64,
    },
    /// The weight of what is there at an event is at most so much.
    Cover(Cover),
    /// Something of the path is held or its first node recomputed.
    Path(Path),
    /// The tensors that stay throughout the window, and what the recomputation of the path's first
    /// node needs, fit.
    PathMemory {
        /// Window and path.
        path: Path,
        /// Tensors whose stay is charged.
        staying: Vec<u32>,
        /// (stage, tensor): charged where it is there at the turn of the path's first node.
        companions: Vec<(u32, u32)>,
        /// Bytes of the companions of any stage, at least.
        other_bytes: u64,
    },
    /// A branching above the node.
    Branch(Branch),
}

/// Place of a node in the tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// At the top.
    Root,
    /// At another node, as the same once more.
    Again(u32),
    /// At another node, by a branching.
    Below(u32, Branch),
}

/// A node of the tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Its place in the tree.
    pub place: Place,
    /// Multipliers are multiples of 2^-bits.
    pub bits: u32,
    /// Rows and their multipliers, at least 0.
    pub multipliers: Vec<(u32, i128)>,
}

/// A proof as it is in its file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proof {
    /// Name of the instance it was made for.
    pub instance: String,
    /// The budget in bytes.
    pub budget_bytes: u64,
    /// Its claim.
    pub claim: Claim,
    /// Rows.
    pub rows: Vec<Row>,
    /// The tree, each node behind the one it hangs at.
    pub nodes: Vec<Node>,
}
