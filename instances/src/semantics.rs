//! Whose memory and cost semantics hold.

/// The program whose memory and cost semantics a schedule or plan was made for.
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
    /// The name as in files and on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Semantics::Checkmate => "checkmate",
            Semantics::Monet => "monet",
        }
    }
}

/// A name that no semantics have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} names no semantics: write checkmate or monet")]
pub struct UnknownSemantics(pub String);

impl std::str::FromStr for Semantics {
    type Err = UnknownSemantics;

    fn from_str(name: &str) -> Result<Self, UnknownSemantics> {
        let all = [Semantics::Checkmate, Semantics::Monet];
        let named = all.into_iter().find(|s| s.as_str() == name);
        named.ok_or_else(|| UnknownSemantics(name.into()))
    }
}
