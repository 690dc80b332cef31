//! The way back: every reduction leaves a record that turns an optimal solution and basis of the
//! problem after it into one of the problem before it. Undone in reverse, the records lead back to
//! the original.
//!
//! All of it is in minimised form: a row at its lower bound has a dual `>= 0`, a column at its
//! lower bound a reduced cost `>= 0`. A record may rely on everything that was alive when it was
//! made being restored when it is undone.
//!
//! The same records carry a dual ray (a proof of infeasibility) back: a ray is a dual solution of
//! the problem with costs zero, so costs are dropped and the side a variable rests on is read from
//! the sign of its dual.

use crate::outcome::VarStatus;

/// A way back across one reduction.
pub(super) trait ReductionRecord: Send + Sync {
    /// Restores what the reduction removed.
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
    /// The end that this end becomes under multiplication by `a`.
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

/// A solution and its basis over the original's rows and columns, of which only those restored so
/// far mean anything.
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
    /// The cost to reckon with: a ray knows none.
    pub fn cost(&self, c: f64) -> f64 {
        if self.ray { 0.0 } else { c }
    }

    /// Cost less what the rows pay for: `c - sum a_i y_i` over the given entries.
    pub fn reduced_cost(&self, c: f64, entries: &[(u32, f64)]) -> f64 {
        entries
            .iter()
            .fold(self.cost(c), |d, &(i, a)| d - a * self.y[i as usize])
    }

    /// The bound a column rests on, if any. Where both bounds are one, the sign of the reduced cost
    /// decides.
    pub fn col_side(&self, j: usize, fixed: bool) -> Option<BoundSide> {
        side(self.col[j], self.d[j], fixed, self.ray)
    }

    /// The bound a row's activity rests on, if any.
    pub fn row_side(&self, i: usize, fixed: bool) -> Option<BoundSide> {
        side(self.row[i], self.y[i], fixed, self.ray)
    }

    /// A row that does not matter: basic, dual zero.
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
