//! Numbers `mantissa * 2^exponent`: an exact form for doubles, their sums and their products.

use super::modular::residue;
use dashu_int::IBig;
use dashu_int::ops::BitTest;
use num_traits::{Signed, ToPrimitive};
use std::ops::AddAssign;

/// A whole number times a power of two.
#[derive(Clone, Debug, Default)]
pub(super) struct Dyadic {
    pub mantissa: IBig,
    pub exponent: i64,
}

impl Dyadic {
    /// A finite double, with an odd mantissa or zero.
    pub fn new(v: f64) -> Self {
        let bits = v.to_bits();
        let biased = (bits >> 52 & 0x7ff) as i64;
        let fraction = bits & ((1 << 52) - 1);
        let size = fraction | u64::from(biased > 0) << 52;
        if size == 0 {
            return Dyadic::default();
        }
        let shift = size.trailing_zeros();
        let odd = (size >> shift) as i64;
        Dyadic {
            mantissa: IBig::from(if v < 0.0 { -odd } else { odd }),
            exponent: biased.max(1) - 1075 + i64::from(shift),
        }
    }

    pub fn product(a: f64, b: f64) -> Self {
        let (a, b) = (Dyadic::new(a), Dyadic::new(b));
        Dyadic {
            mantissa: a.mantissa * b.mantissa,
            exponent: a.exponent + b.exponent,
        }
    }

    pub fn is_zero(&self) -> bool {
        self.mantissa.is_zero()
    }

    pub fn residue(&self) -> u64 {
        residue(&self.mantissa, self.exponent)
    }

    /// The mantissa for a given exponent, which is at most this number's exponent.
    pub fn at(&self, exponent: i64) -> IBig {
        &self.mantissa << (self.exponent - exponent) as usize
    }

    /// Doubles below and above `self / denominator`: neighbours unless the quotient would be
    /// subnormal. Both are zero only if `self` is zero.
    pub fn over(&self, denominator: &IBig) -> (f64, f64) {
        if self.is_zero() {
            return (0.0, 0.0);
        }
        // A quotient of 52 or 53 bits, and one more than it: both are doubles.
        let shift = 52 + denominator.bit_len() as i64 - self.mantissa.bit_len() as i64;
        let size = self.mantissa.abs();
        let quotient = if shift >= 0 {
            (size << shift as usize) / denominator
        } else {
            size / (denominator << -shift as usize)
        };
        let quotient = quotient.to_u64().unwrap_or(u64::MAX);
        let scale = self.exponent - shift;
        let (low, high) = match (i32::try_from(scale), scale) {
            (Ok(s), -1020..=900) => {
                let power = 2f64.powi(s);
                (quotient as f64 * power, (quotient + 1) as f64 * power)
            }
            (_, ..-1020) => (0.0, 1e-280),
            _ => (f64::MAX, f64::INFINITY),
        };
        if self.mantissa.is_negative() {
            (-high, -low)
        } else {
            (low, high)
        }
    }
}

impl AddAssign<Dyadic> for Dyadic {
    fn add_assign(&mut self, other: Dyadic) {
        if self.is_zero() {
            *self = other;
        } else if !other.is_zero() {
            let exponent = self.exponent.min(other.exponent);
            self.mantissa = self.at(exponent) + other.at(exponent);
            self.exponent = exponent;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubles_are_taken_apart_and_put_together() {
        let one = IBig::from(1);
        for v in [0.0, 1.0, -0.1, 3e-200, -7e200, 1.0 / 3.0, 1e16 + 2.0] {
            let (low, high) = Dyadic::new(v).over(&one);
            assert!(low <= v && v <= high, "{v} in [{low}, {high}]");
            assert!((high - low).abs() <= 4e-16 * v.abs());
        }
        let (low, high) = Dyadic::new(5e-324).over(&one);
        assert!(low <= 5e-324 && 5e-324 <= high);
        let (low, high) = Dyadic::new(-1.0).over(&IBig::from(3));
        assert!(low <= -1.0 / 3.0 && -1.0 / 3.0 <= high && high - low < 2e-16);
        let mut sum = Dyadic::product(1e8 + 1.0, 1e8 + 1.0);
        sum += Dyadic::product(-1e8, 1e8 + 2.0);
        assert_eq!(sum.over(&one).0, 1.0);
        sum += Dyadic::new(-1.0);
        assert!(sum.is_zero());
    }
}
