//! Proofs of bounds, as text that can be checked without the solver.

/// A proof that every schedule within a budget costs at least so much, or that no schedule fits
/// (`docs/theory/proof.md`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BoundProof {
    text: String,
    bound: Option<u64>,
}

impl BoundProof {
    /// The proof of a bound in units of cost; `None` if it proves that no schedule fits.
    pub fn new(text: String, bound: Option<u64>) -> Self {
        BoundProof { text, bound }
    }

    /// The text of the proof.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The proven bound in units of cost; `None` if it proves that no schedule fits.
    pub fn bound(&self) -> Option<u64> {
        self.bound
    }
}
