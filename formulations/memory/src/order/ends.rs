//! A problem from both of its ends, and the parts that both searches share.

use super::bits;
use super::block::Blocks;
use super::lazy::lazy;
use super::level::{Caps, Level, falling, set_of};
use super::reach::Reach;
use super::settings::OrderTuning;
use super::side::{Direction, Side, SideRun};
use remat_instances::order::OrderProblem;

/// A problem from both ends, with transitive precedence.
pub(super) struct Ends {
    pub forward: Side,
    pub backward: Side,
    pub reach: Reach,
}

/// Inputs of a level search.
#[derive(Clone, Copy)]
pub(super) struct How<'a> {
    /// A known order: its steps are tried first.
    pub known: &'a [u32],
    /// A proven or assumed bound: the first level, in bytes.
    pub bound: u64,
    /// The level that is not exceeded, in bytes.
    pub cap: u64,
    pub tuning: &'a OrderTuning,
}

/// Operators at the beginning and at the end of some best order.
#[derive(Clone, Debug)]
pub(super) struct Caught {
    /// The first operators, in order.
    pub head: Vec<u32>,
    /// The last operators, the very last first.
    pub tail: Vec<u32>,
}

impl Ends {
    /// Both sides of a problem.
    pub fn of(problem: &OrderProblem) -> Self {
        let forward = Side::forward(problem);
        Ends {
            backward: Side::backward(problem),
            reach: Reach::of(&forward),
            forward,
        }
    }

    /// The side of a direction.
    pub fn side(&self, direction: Direction) -> &Side {
        match direction {
            Direction::Forward => &self.forward,
            Direction::Backward => &self.backward,
        }
    }

    /// Operators that free at least the bytes they take, from either end on, and fit into the
    /// level.
    pub fn caught(&self, level: u64) -> Caught {
        let mut caught = Caught {
            head: Vec::new(),
            tail: Vec::new(),
        };
        let all = |side: &Side| side.topological.clone();
        let mut run = SideRun::new(&self.forward);
        falling(&mut run, &all(&self.forward), level, &mut caught.head);
        let done = set_of(&run);
        let mut inside = all(&self.backward);
        inside.retain(|v| !bits::has(&done, *v));
        let mut run = SideRun::new(&self.backward);
        falling(&mut run, &inside, level, &mut caught.tail);
        caught
    }

    /// A level search over the orders between the caught operators.
    pub fn level(&self, direction: Direction, caught: &Caught, how: How<'_>) -> Level<'_> {
        let side = self.side(direction);
        let (near, far) = match direction {
            Direction::Forward => (&caught.head, &caught.tail),
            Direction::Backward => (&caught.tail, &caught.head),
        };
        let mut start = bits::empty(side.len);
        let mut goal = bits::full(side.len);
        near.iter().for_each(|v| bits::insert(&mut start, *v));
        far.iter().for_each(|v| bits::remove(&mut goal, *v));
        self.window(direction, &start, goal, how)
    }

    /// A level search from one executed set to another.
    pub fn window(
        &self,
        direction: Direction,
        start: &[u64],
        goal: Vec<u64>,
        how: How<'_>,
    ) -> Level<'_> {
        let side = self.side(direction);
        let tuning = how.tuning;
        let lazy = lazy(side, &self.reach, start, &goal);
        let ranks = side.ranks(how.known);
        let blocks = Blocks::new(side, lazy, start, &goal, ranks, tuning.block_operators);
        let caps = Caps {
            level: how.cap,
            state_bytes: tuning.state_bytes,
        };
        Level::new(side, start, goal, blocks, how.bound, caps)
    }

    /// The whole order for the middle part that a search found.
    pub fn whole(&self, direction: Direction, caught: &Caught, middle: Vec<u32>) -> Vec<u32> {
        let middle = self.side(direction).turned(middle);
        let tail = caught.tail.iter().rev().copied();
        caught
            .head
            .iter()
            .copied()
            .chain(middle)
            .chain(tail)
            .collect()
    }
}
