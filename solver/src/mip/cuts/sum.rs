//! Sums that know how far rounding may have brought them off.

/// Relative rounding of a sum: some units in the last place of its largest summand.
const ROUNDING: f64 = 1e-15;

/// A sum, and the largest summand of it and of what was added up beside it. Where large numbers cancel, what is left
/// is off by what they were rounded to.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Sum {
    pub value: f64,
    pub largest: f64,
}

impl Sum {
    /// A number that nothing has cancelled in.
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

    /// Notes a summand of one of the coefficients beside.
    pub fn see(&mut self, v: f64) {
        self.largest = self.largest.max(v.abs());
    }

    pub fn scaled(self, factor: f64) -> Sum {
        Sum {
            value: factor * self.value,
            largest: factor.abs() * self.largest,
        }
    }

    /// Amount by which the sum, or a coefficient beside it, may be off.
    pub fn noise(self) -> f64 {
        ROUNDING * self.largest
    }
}
