//! Which operators come behind which.

use super::bits::Matrix;
use super::side::{Direction, Side};

/// Transitive precedence: for each operator the sets before and behind it.
#[derive(Clone, Debug)]
pub(super) struct Reach {
    ancestors: Matrix,
    descendants: Matrix,
}

impl Reach {
    /// Works the sets out from the forward side, in `edges * operators / 64` steps.
    pub fn of(forward: &Side) -> Self {
        let mut ancestors = Matrix::new(forward.len);
        let mut descendants = Matrix::new(forward.len);
        for &v in &forward.topological {
            for &u in forward.before.row(v) {
                ancestors.absorb(v, u);
            }
        }
        for &v in forward.topological.iter().rev() {
            for &w in forward.after.row(v) {
                descendants.absorb(v, w);
            }
        }
        Reach {
            ancestors,
            descendants,
        }
    }

    /// Operators that are run behind one, as a side sees it.
    pub fn behind(&self, direction: Direction, v: u32) -> &[u64] {
        match direction {
            Direction::Forward => self.descendants.row(v),
            Direction::Backward => self.ancestors.row(v),
        }
    }

    /// Operators that are run before one, as a side sees it.
    pub fn ahead(&self, direction: Direction, v: u32) -> &[u64] {
        match direction {
            Direction::Forward => self.ancestors.row(v),
            Direction::Backward => self.descendants.row(v),
        }
    }
}
