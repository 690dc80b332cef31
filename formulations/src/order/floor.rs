//! Memory that every order needs from an executed set on: minimum cuts at single operators of what
//! is left.
//!
//! When `v` runs, all that is before it has run, and nothing behind it has. The least memory of the
//! sets in which that is so, by a minimum cut, with what `v` takes, bounds every order.

use super::bits;
use super::reach::{Around, Reach};
use super::side::{Run, Side};
use super::valley::{Least, Valley};

/// A cut at an operator.
pub(super) struct NodeCut {
    /// Bytes that every order needs when the operator runs.
    pub bytes: u64,
    /// The cut.
    pub least: Least,
}

/// The cut at an operator that has not run, over the orders that go on from where `run` is to the
/// end of `goal`. The run is at the same set afterwards.
pub(super) fn node_cut(
    run: &mut Run<'_>,
    valley: &mut Valley,
    around: Around<'_>,
    goal: &[u64],
    v: u32,
) -> NodeCut {
    let side = run.side;
    let Around { ahead, behind } = around;
    let mut ran = Vec::new();
    let mut free = Vec::new();
    for &u in &side.topological {
        if run.done[u as usize] || u == v {
            continue;
        }
        if bits::has(ahead, u) {
            run.run(u);
            ran.push(u);
        } else if !bits::has(behind, u) && bits::has(goal, u) {
            free.push(u);
        }
    }
    let least = valley.least(run, &free, side.makes.row(v));
    for u in ran.iter().rev() {
        run.undo(*u);
    }
    NodeCut {
        bytes: least.bytes + side.workspace[v as usize],
        least,
    }
}

/// Floors of executed sets, by cuts at the operators that gave floors last.
pub(super) struct Floors<'a> {
    reach: &'a Reach,
    goal: Vec<u64>,
    valley: Valley,
    run: Run<'a>,
    /// Operators whose cuts are tried, the best first.
    watched: Vec<u32>,
    /// Cuts that are still worth trying: each that raises a floor pays for others.
    credit: i64,
    gain: i64,
}

impl<'a> Floors<'a> {
    /// Floors by cuts at some operators; `gain` cuts more are tried for each that raised a floor.
    pub fn new(
        side: &'a Side,
        reach: &'a Reach,
        goal: Vec<u64>,
        watched: Vec<u32>,
        gain: u32,
    ) -> Self {
        Floors {
            reach,
            goal,
            valley: Valley::new(side.len, side.bytes.len()),
            run: Run::new(side),
            watched,
            credit: i64::from(gain),
            gain: i64::from(gain),
        }
    }

    /// A floor of the set that `at` is at, and the operator of its cut: above `level` if a cut is.
    pub fn at(&mut self, at: &Run<'_>, known: u64, level: u64) -> (u64, u32) {
        let none = super::states::NONE;
        if known > level || self.credit <= 0 {
            return (known, none);
        }
        self.run.load(&super::level::set_of(at));
        for k in 0..self.watched.len() {
            let v = self.watched[k];
            if at.done[v as usize] {
                continue;
            }
            self.credit -= 1;
            let around = self.reach.around(at.side.direction, v);
            let cut = node_cut(&mut self.run, &mut self.valley, around, &self.goal, v);
            if cut.bytes > level {
                self.credit += self.gain;
                self.watched[..=k].rotate_right(1);
                return (cut.bytes, v);
            }
        }
        (known, none)
    }
}
