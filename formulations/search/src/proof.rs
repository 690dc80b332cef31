//! Proofs of bounds, as text that can be checked without the solver.

use remat_instances::instance::NodeId;

/// The price of memory at a moment: the rate at which the bound of a relaxation falls if this
/// moment alone gets more bytes.
///
/// It is the dual of the moment's memory rows (Checkmate, MLSys 2020, rows (1f); MONeT, ICLR 2021,
/// (16) to (18)), and of the cuts made from them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BytePrice {
    /// The node whose first computation ends the stage.
    pub stage: NodeId,
    /// The node whose computation or recomputation in this stage is the moment.
    pub node: NodeId,
    /// Cost for a byte, at least 0, in the unit of costs.
    pub per_byte: f64,
}

/// A proof that every schedule within a budget costs at least so much, or that no schedule fits
/// (`docs/theory/proof.md`).
#[derive(Clone, Debug, PartialEq)]
pub struct BoundProof {
    text: String,
    bound: Option<u64>,
    prices: Vec<BytePrice>,
}

impl BoundProof {
    /// The proof of a bound in units of cost; `None` if it proves that no schedule fits.
    pub fn new(text: String, bound: Option<u64>) -> Self {
        BoundProof {
            text,
            bound,
            prices: Vec::new(),
        }
    }

    /// The same, with the prices of memory that its first relaxation pays.
    #[must_use]
    pub fn with_prices(self, prices: Vec<BytePrice>) -> Self {
        BoundProof { prices, ..self }
    }

    /// The text of the proof.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The proven bound in units of cost; `None` if it proves that no schedule fits.
    pub fn bound(&self) -> Option<u64> {
        self.bound
    }

    /// Prices of memory by moment, in ascending order of stage and node, those above 0.
    pub fn prices(&self) -> &[BytePrice] {
        &self.prices
    }
}
