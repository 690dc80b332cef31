//! Sums with a bound on their rounding error.

/// Relative rounding of a sum: some units in the last place of its largest summand.
const ROUNDING: f64 = 1e-15;

/// A sum, and the largest summand of it and of the coefficients computed with it. If large numbers
/// cancel, the result inherits their rounding errors.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Sum {
    pub value: f64,
    pub largest: f64,
}

impl Sum {
    /// A number without cancellation.
    pub fn exact(value: f64) -> Sum {
        Sum {
            value,
            largest: value.abs(),
        }
    }

    pub fn add(&mut self, v: f64) {
        self.value += v;
        self.see(v);
    }

    /// Notes a summand of a coefficient computed with the sum.
    pub fn see(&mut self, v: f64) {
        self.largest = self.largest.max(v.abs());
    }

    pub fn scaled(self, factor: f64) -> Sum {
        Sum {
            value: factor * self.value,
            largest: factor.abs() * self.largest,
        }
    }

    /// Rounding error of the sum, or of a coefficient computed with it.
    pub fn noise(self) -> f64 {
        ROUNDING * self.largest
    }
}
