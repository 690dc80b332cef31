//! Compensated sums: as accurate as if computed in twice the precision (Ogita, Rump & Oishi 2005,
//! Sum2 and Dot2).

/// A running sum with its rounding errors.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sum2 {
    high: f64,
    low: f64,
}

impl Sum2 {
    pub fn new(start: f64) -> Self {
        Sum2 {
            high: start,
            low: 0.0,
        }
    }

    /// Adds a number (Knuth's two-sum).
    #[inline]
    pub fn add(&mut self, v: f64) {
        let sum = self.high + v;
        if !sum.is_finite() {
            self.high = sum;
            self.low = 0.0;
            return;
        }
        let part = sum - self.high;
        self.low += (self.high - (sum - part)) + (v - part);
        self.high = sum;
    }

    /// Adds a product, with the product's own rounding error.
    #[inline]
    pub fn add_product(&mut self, a: f64, b: f64) {
        let p = a * b;
        self.add(p);
        let error = a.mul_add(b, -p);
        if error.is_finite() {
            self.low += error;
        }
    }

    /// Changes the sign.
    pub fn negate(&mut self) {
        self.high = -self.high;
        self.low = -self.low;
    }

    /// Returns whether the sum is exact, with no rounding error stored.
    pub fn is_exact(&self) -> bool {
        self.low == 0.0 && self.high.is_finite()
    }

    /// The sum, rounded once.
    #[inline]
    pub fn value(&self) -> f64 {
        self.high + self.low
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cancellation_is_survived() {
        let mut s = Sum2::new(1e16);
        s.add(1.0);
        s.add(-1e16);
        assert_eq!(s.value(), 1.0);
        let mut s = Sum2::default();
        s.add_product(1e8 + 1.0, 1e8 + 1.0);
        s.add_product(-1e8, 1e8);
        assert_eq!(s.value(), 2e8 + 1.0);
    }
}
