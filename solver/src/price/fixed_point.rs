//! Numbers that prices are computed in: floating point to find columns, integers to prove bounds.

use std::ops::{Add, Neg, Sub};

/// A number that prices are made of: `f64` to find columns, `i128` in fixed point to prove bounds.
pub trait Number:
    Copy + PartialOrd + Add<Output = Self> + Sub<Output = Self> + Neg<Output = Self>
{
    /// 0.
    const ZERO: Self;
    /// The product with an integer.
    fn times(self, factor: i64) -> Self;
}

impl Number for f64 {
    const ZERO: f64 = 0.0;
    #[inline]
    fn times(self, factor: i64) -> f64 {
        self * factor as f64
    }
}

impl Number for i128 {
    const ZERO: i128 = 0;
    #[inline]
    fn times(self, factor: i64) -> i128 {
        self * i128::from(factor)
    }
}

/// A bound in fixed point, where `one` is a unit of cost, as a cost; costs are integers. 0 if it is negative or too large.
pub fn rounded_up(bound: i128, one: i128) -> u64 {
    let up = bound.div_euclid(one) + i128::from(bound.rem_euclid(one) > 0);
    u64::try_from(up).unwrap_or(0)
}

/// The largest bound in fixed point that is less than a cost: costs are integers, so above it is at least that cost.
pub fn most_below(cost: u64, one: i128) -> i128 {
    (i128::from(cost) - 1).saturating_mul(one)
}
