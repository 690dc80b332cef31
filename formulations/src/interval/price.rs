//! What pricing finds, and the numbers in which prices are computed.

use std::ops::{Add, Neg, Sub};

/// A number that prices are made of: `f64` to find columns, `i128` to prove bounds.
pub(crate) trait Number:
    Copy + PartialOrd + Add<Output = Self> + Sub<Output = Self> + Neg<Output = Self>
{
    const ZERO: Self;
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
pub(crate) fn rounded_up(bound: i128, one: i128) -> u64 {
    let up = bound.div_euclid(one) + i128::from(bound.rem_euclid(one) > 0);
    u64::try_from(up).unwrap_or(0)
}

/// The largest bound in fixed point that is less than a cost: costs are integers, so above it is at least that cost.
pub(crate) fn most_below(cost: u64, one: i128) -> i128 {
    (i128::from(cost) - 1).saturating_mul(one)
}

/// An interval that pays, and by how much.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Candidate<C> {
    /// Reduced cost, negative.
    pub reduced_cost: f64,
    /// The interval.
    pub interval: C,
}

/// The outcome of pricing.
#[derive(Clone, Debug)]
pub struct Pricing<C> {
    /// Intervals with negative reduced cost, the best of some start stages of each tensor, most negative first.
    pub candidates: Vec<Candidate<C>>,
    /// The Lagrangian bound of the duals, up to rounding.
    pub bound: f64,
}

impl<C: Copy + Ord> Pricing<C> {
    /// Nothing found yet.
    pub(crate) fn new(bound: f64) -> Self {
        Pricing {
            candidates: Vec::new(),
            bound,
        }
    }

    /// Takes the best `limit` of a tensor's candidates, and all that are `free`.
    pub(crate) fn take(
        &mut self,
        own: &mut [Candidate<C>],
        limit: usize,
        free: impl Fn(&C) -> bool,
    ) {
        own.sort_by(order);
        let mut left = limit;
        for c in own {
            let free = free(&c.interval);
            if free || left > 0 {
                self.candidates.push(*c);
                left -= usize::from(!free);
            }
        }
    }

    /// Orders what was taken.
    pub(crate) fn finish(mut self) -> Self {
        self.candidates.sort_by(order);
        self
    }
}

fn order<C: Ord>(a: &Candidate<C>, b: &Candidate<C>) -> std::cmp::Ordering {
    let cost = a.reduced_cost.total_cmp(&b.reduced_cost);
    cost.then_with(|| a.interval.cmp(&b.interval))
}
