//! Memory and cost semantics of a program.

/// The program whose memory and cost semantics apply to a schedule or plan.
///
/// Each rule in which the programs differ is a method here, and is decided only here.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Semantics {
    /// Fixed memory is constant ([`crate::Instance::static_bytes`]); every computation uses the
    /// node's first implementation; every node runs, including by-products.
    Checkmate,
    /// Fixed memory follows the frontier: it is `fixed_bytes` of the node, among those that ran,
    /// that is last in the order of the instance. By-products run only if wanted.
    Monet,
}

impl Semantics {
    /// All semantics.
    pub const ALL: [Semantics; 2] = [Semantics::Checkmate, Semantics::Monet];

    /// The name in files and on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Semantics::Checkmate => "checkmate",
            Semantics::Monet => "monet",
        }
    }

    /// The difference from which the rules below follow.
    fn is_monet(self) -> bool {
        self == Semantics::Monet
    }

    /// Returns whether a plan chooses how a node runs: its implementation, the masks that it makes,
    /// and in place or not. Otherwise every run uses the node's first implementation.
    pub fn chooses_implementations(self) -> bool {
        self.is_monet()
    }

    /// Returns whether a node may overwrite the buffer of an input.
    pub fn overwrites_in_place(self) -> bool {
        self.is_monet()
    }

    /// Returns whether a workspace may be negative, if an operator releases memory that it was
    /// charged for. Otherwise it counts as 0.
    pub fn has_negative_workspaces(self) -> bool {
        self.is_monet()
    }

    /// Returns whether fixed memory is `fixed_bytes` of the node, among those that ran, that is
    /// last in the order of the instance. Otherwise it is always [`crate::Instance::static_bytes`].
    pub fn fixed_memory_follows_frontier(self) -> bool {
        self.is_monet()
    }

    /// Returns whether by-products run only if they are read.
    pub fn by_products_are_optional(self) -> bool {
        self.is_monet()
    }

    /// Returns whether a by-product runs in its parent's mode: recomputed or in place if the parent
    /// was.
    pub fn by_products_follow_parents(self) -> bool {
        self.is_monet()
    }

    /// Returns whether each node ends a stage of its own. Otherwise the forward pass is one stage,
    /// and nodes of the backward pass run once.
    pub fn has_stage_for_each_node(self) -> bool {
        !self.is_monet()
    }

    /// Returns whether the statements of a plan determine its schedule, including the stored
    /// tensors.
    pub fn plans_determine_schedules(self) -> bool {
        !self.is_monet()
    }

    /// Returns whether the program charges schedules more memory than their plans use: tensors that
    /// pass over a node, even if absent, and inputs beyond their last use.
    pub fn charges_more_than_plans(self) -> bool {
        self.is_monet()
    }
}

/// Error of a name without semantics.
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
