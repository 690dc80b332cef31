//! Moves of annealing, and their effects.

/// Keeping (or dropping) one tensor at the start of each stage of a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Flip {
    /// The tensor.
    pub tensor: u32,
    /// First stage whose start is concerned; later than the stage that first computes the tensor.
    pub from: u32,
    /// Last stage whose start is concerned.
    pub to: u32,
    /// True if the tensor is kept afterwards; before, it is the opposite in the whole range.
    pub keep: bool,
}

impl Flip {
    /// The inverse flip.
    pub fn inverse(self) -> Flip {
        Flip {
            keep: !self.keep,
            ..self
        }
    }
}

/// Change of the two parts of the objective.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Delta {
    /// Change of the total cost.
    pub cost: f64,
    /// Change of the total excess: bytes above capacity, summed over stages.
    pub excess: f64,
}

impl Delta {
    /// Change of the cost with excess at a price for each byte.
    #[inline]
    pub fn energy(self, price: f64) -> f64 {
        self.cost + price * self.excess
    }
}
