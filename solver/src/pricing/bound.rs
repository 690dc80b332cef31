//! Bounds that hold in spite of rounding.

/// Duals as integers, so that a pricer whose data are integers can prove its bound without rounding errors.
///
/// Any multipliers give a Lagrangian bound, the rounded ones too; so duals are rounded to multiples of `2^-bits` once,
/// everything after that is exact in `i128`, and the result is rounded down.
///
/// ```
/// use remat_solver::pricing::FixedPoint;
/// let fixed = FixedPoint::new(30);
/// let third = fixed.dual(1.0 / 3.0);
/// // Three times a third, from integers: not more than 1.
/// assert!(fixed.down(3 * third) <= 1.0);
/// assert_eq!(fixed.down(7 * fixed.one()), 7.0);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FixedPoint {
    bits: u32,
}

impl FixedPoint {
    /// Fixed point with so many binary digits behind the point, at most 60.
    pub fn new(bits: u32) -> Self {
        FixedPoint { bits: bits.min(60) }
    }

    /// As many digits as `i128` holds for sums whose absolute value stays below `size`, at most `bits`; `None` if that
    /// would be fewer than 8.
    pub fn for_size(size: f64, bits: u32) -> Option<Self> {
        let room = (120.0 - size.max(1.0).log2()).floor();
        (room >= 8.0).then(|| FixedPoint::new(bits.min(room as u32)))
    }

    /// The number 1.
    pub fn one(&self) -> i128 {
        1i128 << self.bits
    }

    /// The nearest multiple. Has the sign of `value` or is zero; NaN is zero.
    pub fn dual(&self, value: f64) -> i128 {
        // A power of two: the product is exact unless it overflows, and then the cast saturates.
        (value * self.one() as f64).round() as i128
    }

    /// Back to floating point, rounded down.
    pub fn down(&self, total: i128) -> f64 {
        let nearest = total as f64;
        let low = if nearest.is_finite() && nearest as i128 > total {
            nearest.next_down()
        } else {
            nearest
        };
        low / self.one() as f64
    }

    /// The smallest integer that is not below.
    pub fn ceil(&self, total: i128) -> i128 {
        -(-total).div_euclid(self.one())
    }
}

/// When a bound closes a node, and to what it may be rounded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Steps {
    /// Objectives are multiples of this, if positive.
    pub step: f64,
    pub absolute_gap: f64,
    pub relative_gap: f64,
}

impl Steps {
    /// A proven bound rounded up to the next value the objective can take.
    ///
    /// A quotient at most `k` is rounded to at most `k`, so the result is not above the true one.
    pub fn round_up(&self, bound: f64) -> f64 {
        if self.step > 0.0 && bound.is_finite() {
            ((bound / self.step).ceil() * self.step).max(bound)
        } else {
            bound
        }
    }

    /// As [`Steps::round_up`] for a number with rounding errors, such as the objective of a linear program.
    pub fn round_up_loosely(&self, value: f64) -> f64 {
        self.round_up(value - 1e-6 * self.step.max(1e-3) - 1e-9 * value.abs())
    }

    /// Bounds from here on close a node: nothing below is better than the incumbent by more than the gap.
    pub fn cutoff(&self, incumbent: f64) -> f64 {
        if !incumbent.is_finite() {
            return f64::INFINITY;
        }
        let gap = self.absolute_gap.max(self.relative_gap * incumbent.abs());
        if self.step > 0.0 {
            // What is better is better by a step.
            incumbent - gap.max(self.step * (1.0 - 1e-6))
        } else {
            incumbent - gap
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fixed_point_never_rounds_up() {
        let mut k = 1u64;
        for _ in 0..10_000 {
            k = k
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            let total = i128::from(k as i64) * i128::from((k >> 7) as u32);
            for bits in [0, 20, 60] {
                let f = FixedPoint::new(bits);
                let v = f.down(total);
                // v * 2^bits is an integer-valued double or has a fraction; compare as integers after scaling exactly.
                let scaled = v * f.one() as f64;
                assert!(scaled as i128 <= total, "{total} {bits}");
                assert!(total - (scaled as i128) <= total.abs() >> 50);
                assert!(f.ceil(total) * f.one() >= total);
                assert!((f.ceil(total) - 1) * f.one() < total);
            }
        }
        assert_eq!(FixedPoint::new(4).dual(-0.01), 0);
        assert_eq!(FixedPoint::new(4).dual(f64::NAN), 0);
    }

    #[test]
    fn steps_close_nodes_one_step_below_the_incumbent() {
        let s = Steps {
            step: 1.0,
            absolute_gap: 1e-9,
            relative_gap: 1e-7,
        };
        assert_eq!(s.round_up(6.000001), 7.0);
        assert_eq!(s.round_up(6.0), 6.0);
        assert_eq!(s.round_up_loosely(6.0000001), 6.0);
        assert!(s.cutoff(7.0) <= 6.00001 && s.cutoff(7.0) > 6.0);
        assert!(s.cutoff(f64::INFINITY) == f64::INFINITY);
    }
}
