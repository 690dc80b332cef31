//! Branchings: integer quantities that are linear in the columns, and their fractional values.

/// A lower or upper bound on a quantity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Branch<Q> {
    /// The quantity that is bounded.
    pub quantity: Q,
    /// True for a lower bound, false for an upper bound.
    pub at_least: bool,
    /// The bound.
    pub count: u32,
}

impl<Q> Branch<Q> {
    /// 1 for a lower bound, -1 for an upper bound: as a row it reads
    /// `sign * quantity >= sign * count`.
    pub fn sign(&self) -> i64 {
        if self.at_least { 1 } else { -1 }
    }

    /// The right side of that row.
    pub fn right_side(&self) -> i64 {
        self.sign() * i64::from(self.count)
    }
}

/// An integer quantity with a fractional value in a point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Open<Q> {
    /// The quantity.
    pub quantity: Q,
    /// Its value, fractional.
    pub value: f64,
    /// The cost at stake: an estimate of the gain of branching on it, without a trial.
    pub score: f64,
}

/// Distance from the nearest integer within which a value counts as integer.
pub const INTEGRALITY_TOLERANCE: f64 = 1e-5;

/// Distance of a value from the nearest integer.
pub fn fraction(value: f64) -> f64 {
    (value - value.floor()).min(value.ceil() - value)
}

impl<Q> Open<Q> {
    /// An open quantity, if its value is fractional; its score is `weight` for each unit of
    /// distance from the nearest integer.
    pub fn if_fractional(quantity: Q, value: f64, weight: f64) -> Option<Self> {
        let f = fraction(value);
        (f > INTEGRALITY_TOLERANCE).then_some(Open {
            quantity,
            value,
            score: f * weight,
        })
    }
}

impl<Q: Clone> Open<Q> {
    /// Distance of the value from the bound of a branch: the integer above it, or the one below.
    pub fn distance(&self, up: bool) -> f64 {
        let below = self.value - self.value.floor();
        if up { 1.0 - below } else { below }
    }

    /// The two branches: at most the value rounded down, and at least the value rounded up.
    pub fn branches(&self) -> [Branch<Q>; 2] {
        let floor = self.value.floor();
        [(false, floor), (true, floor + 1.0)].map(|(at_least, count)| Branch {
            quantity: self.quantity.clone(),
            at_least,
            count: count as u32,
        })
    }
}

/// Sorts open quantities by promise, and keeps the first `limit`.
pub fn most_promising<Q: Ord>(mut open: Vec<Open<Q>>, limit: usize) -> Vec<Open<Q>> {
    open.sort_by(|a, b| {
        let order = b.score.total_cmp(&a.score);
        order.then_with(|| a.quantity.cmp(&b.quantity))
    });
    open.truncate(limit);
    open
}
