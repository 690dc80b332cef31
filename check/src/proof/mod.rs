//! Proofs of bounds (`remat-proof/2`), checked in integers.
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
//! | [`tree`] | node by node: leaves, multipliers, exclusions, for any program |
//! | `program` | what the tree must know of a program |
//! | `knapsack` | what fits weighs at most so much |
//! | [`checkmate`] | Checkmate's program: its rows, and the lives of tensors |
//! | [`monet`] | MONeT's program: its rows, the lives of tensors, the choices of stages |
//! | [`trips`] | Checkmate's program with copies to the host: its rows, the trips of tensors |
//! | [`envelope`] | plans with copies as plans without, in more memory |
//! | `link` | the link that a proof is about |

pub mod checkmate;
pub mod envelope;
mod knapsack;
mod link;
pub mod monet;
pub mod parse;
mod program;
pub mod tree;
pub mod trips;

pub use link::LinkTerms;
pub use program::Program;

/// Name of the format: the first line of a proof begins with it.
pub const NAME: &str = "remat-proof/";
/// The first line of a proof.
pub const HEADER: &str = "remat-proof/2";
/// The first line of a proof of older versions: it has no line for the program, which is
/// Checkmate's.
pub const HEADER_WITHOUT_PROGRAM: &str = "remat-proof/1";

/// Claim of a proof.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Claim {
    /// Every schedule costs at least so much.
    Bound(u64),
    /// No schedule fits.
    Infeasible,
    /// No schedule fits, since this node does not, beside what is there with it in any case.
    TooSmall(u32),
}

/// A quantity is at least, or at most, so much.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Branch<Q> {
    /// The quantity that is bounded: an integer at every schedule.
    pub quantity: Q,
    /// Bounded below rather than above.
    pub at_least: bool,
    /// The bound.
    pub count: u32,
}

impl<Q: PartialEq> Branch<Q> {
    /// Returns whether one of the two holds at every schedule.
    pub fn completes(&self, other: &Self) -> bool {
        let (low, high) = match (self.at_least, other.at_least) {
            (false, true) => (self, other),
            (true, false) => (other, self),
            _ => return false,
        };
        self.quantity == other.quantity && high.count <= low.count.saturating_add(1)
    }
}

/// Place of a node in the tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place<Q> {
    /// At the top.
    Root,
    /// At another node, as the same once more.
    Again(u32),
    /// At another node, by a branching.
    Below(u32, Branch<Q>),
}

/// A node of the tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node<Q> {
    /// Its place in the tree.
    pub place: Place<Q>,
    /// Multipliers are multiples of 2^-bits.
    pub bits: u32,
    /// Rows and their multipliers, at least 0.
    pub multipliers: Vec<(u32, i128)>,
}

/// Rows of a program, and a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evidence<R, Q> {
    /// Rows.
    pub rows: Vec<R>,
    /// The tree, each node behind the one it hangs at.
    pub nodes: Vec<Node<Q>>,
}

/// Evidence for a claim, in terms of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Body {
    /// Checkmate's.
    Checkmate(Evidence<checkmate::Row, checkmate::Quantity>),
    /// MONeT's.
    Monet(Evidence<monet::Row, monet::Quantity>),
    /// Checkmate's with copies to the host.
    Trips {
        /// The link.
        terms: LinkTerms,
        /// Units of cost that make the unit of time of copies and windows.
        unit: u64,
        /// Rows and tree.
        evidence: Evidence<trips::Row, trips::Quantity>,
    },
    /// Checkmate's with copies to the host, by a proof without them in more memory.
    Envelope(envelope::Envelope),
}

impl Body {
    /// The link that the proof is about; `None` for plans without copies.
    pub fn link(&self) -> Option<&LinkTerms> {
        match self {
            Body::Trips { terms, .. } => Some(terms),
            Body::Envelope(envelope) => Some(&envelope.terms),
            Body::Checkmate(_) | Body::Monet(_) => None,
        }
    }
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
    /// The program, and the evidence; empty for [`Claim::TooSmall`].
    pub body: Body,
}
