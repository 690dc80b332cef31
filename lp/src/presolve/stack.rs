//! Postsolve: each reduction pushes a record that turns an optimal solution and basis of the
//! reduced problem into one of the problem before it. Undoing the records in reverse order restores
//! the original.
//!
//! All problems are minimised: a row at its lower bound has a dual `>= 0`, a column at its lower
//! bound a reduced cost `>= 0`. When a record is undone, all parts that were alive when it was made
//! have been restored.
//!
//! The same records carry back a dual ray (a proof of infeasibility). A ray is a dual solution for
//! zero costs, so costs are dropped, and the sign of a variable's dual gives its side.

use crate::outcome::VarStatus;

/// The record that undoes one reduction.
pub(super) trait ReductionRecord: Send + Sync {
    /// Restores the removed part.
    fn undo(&self, s: &mut PostsolveState);
}

/// The records, oldest first.
pub(super) type Stack = Vec<Box<dyn ReductionRecord>>;

/// One end of an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BoundSide {
    Lower,
    Upper,
}

impl BoundSide {
    /// The end that this end becomes after multiplication by `a`.
    pub fn times(self, a: f64) -> BoundSide {
        match (self, a < 0.0) {
            (side, false) => side,
            (BoundSide::Lower, true) => BoundSide::Upper,
            (BoundSide::Upper, true) => BoundSide::Lower,
        }
    }

    pub fn status(self) -> VarStatus {
        match self {
            BoundSide::Lower => VarStatus::AtLower,
            BoundSide::Upper => VarStatus::AtUpper,
        }
    }
}

/// A solution and its basis over the original's rows and columns; only the restored parts are
/// meaningful.
pub(super) struct PostsolveState {
    pub x: Vec<f64>,
    pub y: Vec<f64>,
    pub d: Vec<f64>,
    pub col: Vec<VarStatus>,
    pub row: Vec<VarStatus>,
    /// True if `y` is a dual ray instead of a dual solution.
    pub ray: bool,
}

impl PostsolveState {
    /// The cost to use: zero for a ray.
    pub fn cost(&self, c: f64) -> f64 {
        if self.ray { 0.0 } else { c }
    }

    /// Reduced cost `c - sum a_i y_i` over the given entries.
    pub fn reduced_cost(&self, c: f64, entries: &[(u32, f64)]) -> f64 {
        entries
            .iter()
            .fold(self.cost(c), |d, &(i, a)| d - a * self.y[i as usize])
    }

    /// The bound at which a column is, if any. If both bounds are equal, the sign of the reduced
    /// cost decides.
    pub fn col_side(&self, j: usize, fixed: bool) -> Option<BoundSide> {
        side(self.col[j], self.d[j], fixed, self.ray)
    }

    /// The bound at which a row's activity is, if any.
    pub fn row_side(&self, i: usize, fixed: bool) -> Option<BoundSide> {
        side(self.row[i], self.y[i], fixed, self.ray)
    }

    /// Makes a row basic with dual zero.
    pub fn row_is_slack(&mut self, i: usize) {
        self.y[i] = 0.0;
        self.row[i] = VarStatus::Basic;
    }
}

fn side(status: VarStatus, dual: f64, fixed: bool, ray: bool) -> Option<BoundSide> {
    if ray {
        return match dual {
            d if d > 0.0 => Some(BoundSide::Lower),
            d if d < 0.0 => Some(BoundSide::Upper),
            _ => None,
        };
    }
    match status {
        VarStatus::Basic | VarStatus::Free => None,
        _ if fixed => Some(if dual < 0.0 {
            BoundSide::Upper
        } else {
            BoundSide::Lower
        }),
        VarStatus::AtLower => Some(BoundSide::Lower),
        VarStatus::AtUpper => Some(BoundSide::Upper),
    }
}

/// `sum a_j x_j`, compensated.
pub(super) fn dot(entries: &[(u32, f64)], x: &[f64]) -> f64 {
    let mut sum = crate::sum2::Sum2::default();
    for &(j, a) in entries {
        sum.add_product(a, x[j as usize]);
    }
    sum.value()
}
