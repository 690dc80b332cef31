//! Typed indices and bounds, the vocabulary of the public interface.

use std::ops::{RangeFrom, RangeFull, RangeInclusive, RangeToInclusive};

/// A column (structural variable) of a [`Model`](crate::Model), numbered from 0 in order of
/// creation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ColId(pub u32);

/// A row (linear constraint) of a [`Model`](crate::Model), numbered from 0 in order of creation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RowId(pub u32);

impl ColId {
    /// The position of this column in vectors over all columns.
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl RowId {
    /// The position of this row in vectors over all rows.
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A closed interval `lower <= value <= upper`; either end may be infinite.
///
/// ```
/// use remat_lp::Bounds;
/// assert_eq!(Bounds::from(1.0..=2.0), Bounds { lower: 1.0, upper: 2.0 });
/// assert_eq!(Bounds::from(..=2.0).lower, f64::NEG_INFINITY);
/// assert_eq!(Bounds::from(3.0), Bounds { lower: 3.0, upper: 3.0 });
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    /// Smallest allowed value, or negative infinity.
    pub lower: f64,
    /// Largest allowed value, or positive infinity.
    pub upper: f64,
}

impl Bounds {
    /// No bound on either side.
    pub const FREE: Bounds = Bounds {
        lower: f64::NEG_INFINITY,
        upper: f64::INFINITY,
    };
    /// The default bounds of a variable: zero to infinity.
    pub const NONNEGATIVE: Bounds = Bounds {
        lower: 0.0,
        upper: f64::INFINITY,
    };

    /// An interval from its two ends. Ends that cross make a model infeasible
    /// ([`Model::crossed`](crate::Model::crossed)).
    pub const fn new(lower: f64, upper: f64) -> Self {
        Bounds { lower, upper }
    }

    /// The value in the interval that is nearest to `v`; the upper end if the ends cross.
    ///
    /// ```
    /// use remat_lp::Bounds;
    /// assert_eq!([-1.0, 1.5, 9.0].map(|v| Bounds::new(0.0, 2.0).nearest(v)), [0.0, 1.5, 2.0]);
    /// assert_eq!(Bounds::new(2.0, 1.0).nearest(0.0), 1.0);
    /// ```
    #[inline]
    pub fn nearest(self, v: f64) -> f64 {
        v.max(self.lower).min(self.upper)
    }

    /// Returns whether the interval is a single point.
    pub fn is_fixed(self) -> bool {
        self.lower == self.upper
    }
}

impl From<RangeInclusive<f64>> for Bounds {
    fn from(r: RangeInclusive<f64>) -> Self {
        Bounds {
            lower: *r.start(),
            upper: *r.end(),
        }
    }
}

impl From<RangeFrom<f64>> for Bounds {
    fn from(r: RangeFrom<f64>) -> Self {
        Bounds {
            lower: r.start,
            upper: f64::INFINITY,
        }
    }
}

impl From<RangeToInclusive<f64>> for Bounds {
    fn from(r: RangeToInclusive<f64>) -> Self {
        Bounds {
            lower: f64::NEG_INFINITY,
            upper: r.end,
        }
    }
}

impl From<RangeFull> for Bounds {
    fn from(_: RangeFull) -> Self {
        Bounds::FREE
    }
}

impl From<f64> for Bounds {
    fn from(v: f64) -> Self {
        Bounds { lower: v, upper: v }
    }
}
