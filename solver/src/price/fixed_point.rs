//! Numbers for prices: floating point to find columns, integers to prove bounds.

use super::{Rows, Sense};
use std::ops::{Add, Neg, Sub};

/// A number type for prices: `f64` to find columns, `i128` in fixed point to prove bounds.
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

/// Total of right sides times duals, in units of cost.
pub fn worth<P: Rows>(program: &P, rows: &[P::Row], duals: &[f64]) -> f64 {
    let worth = |(row, dual): (&P::Row, &f64)| dual * program.right_side(row) as f64;
    rows.iter().zip(duals).map(worth).sum()
}

/// One unit of cost in the fixed point of [`fixed_duals`].
pub const FIXED_ONE: i128 = 1 << 40;
/// Largest absolute value of a dual. Larger ones are reduced to it: any duals prove a bound, and
/// sums of these do not overflow.
const LARGEST_DUAL: f64 = 1e15;

/// Converts duals to multiples of 1 / [`FIXED_ONE`], with 0 for wrong signs, and computes the total
/// of right sides times duals. A bound of
/// [`Pricing::lagrangian_bound`](super::Pricing::lagrangian_bound) starts from them in programs
/// with small numbers.
pub fn fixed_duals<P: Rows>(program: &P, rows: &[P::Row], duals: &[f64]) -> (Vec<i128>, i128) {
    let fixed = |(row, dual): (&P::Row, &f64)| {
        let dual = dual.clamp(-LARGEST_DUAL, LARGEST_DUAL);
        let dual = match program.row_traits(row).sense {
            Sense::AtLeast => dual.max(0.0),
            Sense::Equal => dual,
            Sense::AtMost => dual.min(0.0),
        };
        (dual * FIXED_ONE as f64) as i128
    };
    let fixed: Vec<i128> = rows.iter().zip(duals).map(fixed).collect();
    let worth = |(row, dual): (&P::Row, &i128)| dual * i128::from(program.right_side(row));
    let worth = rows.iter().zip(&fixed).map(worth).sum();
    (fixed, worth)
}

/// Converts a bound in fixed point, where `one` is a unit of cost, to a cost, rounded up because
/// costs are integers. 0 if it is negative or too large.
pub fn rounded_up(bound: i128, one: i128) -> u64 {
    let up = bound.div_euclid(one) + i128::from(bound.rem_euclid(one) > 0);
    u64::try_from(up).unwrap_or(0)
}

/// The largest bound in fixed point below a cost: costs are integers, so any larger bound implies
/// at least that cost.
pub fn most_below(cost: u64, one: i128) -> i128 {
    (i128::from(cost) - 1).saturating_mul(one)
}
