//! Whose memory and cost semantics hold.

/// The program whose memory and cost semantics a schedule or plan was made for.
///
/// Each rule in which they differ is a method, and is decided here alone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Semantics {
    /// Fixed memory is that of the whole run ([`crate::Instance::static_bytes`]) throughout; every
    /// computation is the node's first implementation; every node runs, by-products too.
    Checkmate,
    /// Fixed memory follows the frontier: `fixed_bytes` of the last node, in the order of the
    /// instance, of those that ran. By-products run only where wanted.
    Monet,
}

impl Semantics {
    /// All semantics.
    pub const ALL: [Semantics; 2] = [Semantics::Checkmate, Semantics::Monet];

    /// The name as in files and on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Semantics::Checkmate => "checkmate",
            Semantics::Monet => "monet",
        }
    }

    /// The difference that the rules below follow from.
    fn is_monet(self) -> bool {
        self == Semantics::Monet
    }

    /// Returns whether a plan chooses how a node runs: its implementation, the masks that it makes,
    /// in place or not. Else every run is the node's first implementation.
    pub fn chooses_implementations(self) -> bool {
        self.is_monet()
    }

    /// Returns whether a node may overwrite the buffer of an input.
    pub fn overwrites_in_place(self) -> bool {
        self.is_monet()
    }

    /// Returns whether a workspace may be negative, where an operator releases memory that it was
    /// charged for. Else it counts as 0.
    pub fn has_negative_workspaces(self) -> bool {
        self.is_monet()
    }

    /// Returns whether fixed memory is `fixed_bytes` of the last node, in the order of the
    /// instance, of those that ran. Else it is [`crate::Instance::static_bytes`] throughout.
    pub fn fixed_memory_follows_frontier(self) -> bool {
        self.is_monet()
    }

    /// Returns whether by-products run only where they are read.
    pub fn by_products_are_optional(self) -> bool {
        self.is_monet()
    }

    /// Returns whether a by-product runs in its parent's mode: recomputed or in place where the
    /// parent was.
    pub fn by_products_follow_parents(self) -> bool {
        self.is_monet()
    }

    /// Returns whether each node ends a stage of its own. Else the forward pass is one stage, and
    /// nodes of the backward pass run once.
    pub fn has_stage_for_each_node(self) -> bool {
        !self.is_monet()
    }

    /// Returns whether the statements of a plan determine its schedule: which tensors are stored.
    pub fn plans_determine_schedules(self) -> bool {
        !self.is_monet()
    }

    /// Returns whether the program charges schedules more memory than their plans take: tensors
    /// that pass over a node, whether they are there or not, and inputs beyond their last use.
    pub fn charges_more_than_plans(self) -> bool {
        self.is_monet()
    }
}

/// A name that no semantics have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} names no semantics: write checkmate or monet")]
pub struct UnknownSemantics(pub String);

impl std::str::FromStr for Semantics {
    type Err = UnknownSemantics;

    fn from_str(name: &str) -> Result<Self, UnknownSemantics> {
        let named = Semantics::ALL.into_iter().find(|s| s.as_str() == name);
        named.ok_or_else(|| UnknownSemantics(name.into()))
    }
}
