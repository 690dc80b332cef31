//! Transitive precedence of operators.

use super::bits::{self, Matrix};
use super::side::{Direction, NumberLists, Side};

/// For each operator the sets before and behind it.
#[derive(Clone, Debug)]
pub(super) struct Reach {
    ancestors: Matrix,
    descendants: Matrix,
}

impl Reach {
    /// Computes the sets from the forward side, in `edges * operators / 64` steps.
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

    /// Adds that the first of two operators runs before the second, forwards.
    pub fn add(&mut self, [a, b]: [u32; 2]) {
        let firsts: Vec<u32> = bits::ones(self.ancestors.row(a)).chain([a]).collect();
        let lasts: Vec<u32> = bits::ones(self.descendants.row(b)).chain([b]).collect();
        firsts.iter().for_each(|u| self.descendants.absorb(*u, b));
        lasts.iter().for_each(|u| self.ancestors.absorb(*u, a));
    }

    /// Operators before and behind one, as a side sees it.
    pub fn around(&self, direction: Direction, v: u32) -> Around<'_> {
        Around {
            ahead: self.ahead(direction, v),
            behind: self.behind(direction, v),
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

/// The operators before and behind one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Around<'a> {
    pub ahead: &'a [u64],
    pub behind: &'a [u64],
}

/// Operators reachable through `lists` from one, without the operator itself.
pub(super) fn led_to(lists: &NumberLists, len: usize, v: u32) -> Vec<u64> {
    let mut set = bits::empty(len);
    let mut open = vec![v];
    while let Some(at) = open.pop() {
        for &next in lists.row(at) {
            if !bits::has(&set, next) {
                bits::insert(&mut set, next);
                open.push(next);
            }
        }
    }
    set
}
