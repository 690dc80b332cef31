//! Bounds by refuting a level: the precedence that it implies.
//!
//! Suppose an order stays within a level. Let every set at which `v` can run, and that holds `u`,
//! need more when `v` runs. Then `u` runs behind `v` in such an order. If every such set *without*
//! `u` needs more, `u` runs ahead of `v`. The new precedence makes the cuts at other operators
//! larger, until it implies no more, or no set is left for some operator. Then no order stays within
//! the level. Scheduling calls this immediate selection (Carlier and Pinson, Management Science
//! 1989) and destructive improvement (Klein and Scholl, EJOR 1999).
//!
//! One cut answers for many operators: the set that it finds is a witness that its members may run
//! ahead, and all others behind.

use super::bits;
use super::bounds::Needs;
use super::cut::{NodeCut, node_cut};
use super::ends::Ends;
use super::reach::{Around, Reach};
use super::side::{Direction, Side, SideRun};
use super::valley::{Least, Valley};

/// A step of a refutation. No set at which operator `v` can run within the level is left that
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Claim {
    /// holds `u`: `u` runs behind `v`.
    Behind { v: u32, u: u32 },
    /// lacks `u`: `u` runs ahead of `v`.
    Ahead { v: u32, u: u32 },
    /// holds or lacks anything: the level is refuted.
    Nowhere { v: u32 },
}

/// Receives each claim, with the cut that proves it, before its precedence is added.
pub(super) type Recorder<'a> = dyn FnMut(Claim, &Side, &Least) + 'a;

/// Limits of a refutation.
pub(super) struct Effort<'a> {
    /// Cuts.
    pub cuts: usize,
    /// Operators in a row that may imply nothing.
    pub idle: usize,
    pub is_over: &'a dyn Fn() -> bool,
}

/// A level with the precedence that it implies.
pub(super) struct Refutation<'a> {
    ends: &'a Ends,
    reach: Reach,
    valley: Valley,
    /// All operators.
    goal: Vec<u64>,
    level: u64,
    /// Pairs that were added since the side was built.
    new: Vec<[u32; 2]>,
    /// The least need of all refuted cases.
    least: u64,
    /// Computed cuts.
    pub cuts: usize,
}

impl<'a> Refutation<'a> {
    /// A level in bytes, without implied precedence.
    pub fn of(ends: &'a Ends, level: u64) -> Self {
        Refutation {
            valley: Valley::new(ends.forward.len, ends.forward.bytes.len()),
            goal: bits::full(ends.forward.len),
            ends,
            reach: ends.reach.clone(),
            level,
            new: Vec::new(),
            least: u64::MAX,
            cuts: 0,
        }
    }

    /// Adds precedence until the level is refuted, or nothing new follows. Operators
    /// with most `needs` come first. Returns a proven bound above the level, if it is refuted.
    pub fn run(
        &mut self,
        needs: &Needs,
        effort: &Effort<'_>,
        record: &mut Recorder<'_>,
    ) -> Option<u64> {
        let mut side = self.ends.forward.clone();
        let mut candidates: Vec<u32> = (0..side.len as u32).collect();
        candidates.sort_by_key(|v| std::cmp::Reverse(needs.bytes[*v as usize]));
        loop {
            let mut is_news = false;
            let mut idle = 0;
            for &v in &candidates {
                if self.cuts >= effort.cuts || (effort.is_over)() {
                    return None;
                }
                idle += 1;
                if idle > effort.idle {
                    break;
                }
                if self.look_at(&side, v, record) {
                    return Some(self.least);
                }
                if self.new.is_empty() {
                    continue;
                }
                (is_news, idle) = (true, 0);
                let new = std::mem::take(&mut self.new);
                side = side.with_precedence(&new);
                // Operators with new precedence have fewer sets left, perhaps none.
                for u in new.into_iter().flatten().filter(|u| *u != v) {
                    if self.first(&mut SideRun::new(&side), u, record).is_none() {
                        return Some(self.least);
                    }
                }
            }
            if !is_news {
                return None;
            }
        }
    }

    /// Finds the operators that run ahead of `v` or behind it; true if `v` can run nowhere.
    fn look_at(&mut self, side: &Side, v: u32, record: &mut Recorder<'_>) -> bool {
        let mut run = SideRun::new(side);
        let Some(first) = self.first(&mut run, v, record) else {
            return true;
        };
        let forward = Direction::Forward;
        for held in [true, false] {
            let Around { ahead, behind } = self.reach.around(forward, v);
            let free = |u: &u32| *u != v && !bits::has(ahead, *u) && !bits::has(behind, *u);
            let free: Vec<u32> = side.topological.iter().copied().filter(free).collect();
            // Operators without a witness that they may run ahead, or behind.
            let mut open = bits::empty(side.len);
            free.iter().for_each(|u| bits::insert(&mut open, *u));
            witness(&first, held, &mut open);
            let mut parts = vec![free];
            while let Some(mut part) = parts.pop() {
                part.retain(|u| bits::has(&open, *u));
                if part.is_empty() {
                    continue;
                }
                let cut = self.cut(&mut run, v, Some((&part, held)));
                if cut.bytes <= self.level {
                    witness(&cut, held, &mut open);
                    part.iter().for_each(|u| bits::remove(&mut open, *u));
                } else if let [u] = part[..] {
                    let (claim, settled) = match held {
                        true => (Claim::Behind { v, u }, self.reach.behind(forward, u)),
                        false => (Claim::Ahead { v, u }, self.reach.ahead(forward, u)),
                    };
                    bits::remove(&mut open, u);
                    open.iter_mut().zip(settled).for_each(|(o, s)| *o &= !s);
                    self.claim(claim, side, &cut, record);
                } else {
                    // What cannot run ahead takes those behind it along, and the other way round.
                    let rest = part.split_off(part.len() / 2);
                    parts.extend(match held {
                        true => [rest, part],
                        false => [part, rest],
                    });
                }
            }
        }
        false
    }

    /// The cut at an operator. `None`, with a claim, if it can run nowhere within the level.
    fn first(
        &mut self,
        run: &mut SideRun<'_>,
        v: u32,
        record: &mut Recorder<'_>,
    ) -> Option<NodeCut> {
        let cut = self.cut(run, v, None);
        if cut.bytes <= self.level {
            return Some(cut);
        }
        self.claim(Claim::Nowhere { v }, run.side, &cut, record);
        None
    }

    /// The cut at an operator, over sets that hold all of others, or that lack them.
    fn cut(&mut self, run: &mut SideRun<'_>, v: u32, case: Option<(&[u32], bool)>) -> NodeCut {
        self.cuts += 1;
        let forward = Direction::Forward;
        let (mut ahead, mut behind) = (
            self.reach.ahead(forward, v).to_vec(),
            self.reach.behind(forward, v).to_vec(),
        );
        for &u in case.map_or(&[][..], |(list, _)| list) {
            let (set, more) = match case {
                Some((_, true)) => (&mut ahead, self.reach.ahead(forward, u)),
                _ => (&mut behind, self.reach.behind(forward, u)),
            };
            set.iter_mut().zip(more).for_each(|(all, one)| *all |= one);
            bits::insert(set, u);
        }
        let around = Around {
            ahead: &ahead,
            behind: &behind,
        };
        node_cut(run, &mut self.valley, around, &self.goal, v)
    }

    fn claim(&mut self, claim: Claim, side: &Side, cut: &NodeCut, record: &mut Recorder<'_>) {
        self.least = self.least.min(cut.bytes);
        record(claim, side, &cut.least);
        let pair = match claim {
            Claim::Behind { v, u } => [v, u],
            Claim::Ahead { v, u } => [u, v],
            Claim::Nowhere { .. } => return,
        };
        self.reach.add(pair);
        self.new.push(pair);
    }
}

/// Takes out the operators that the set of a cut holds, or those that it lacks.
fn witness(cut: &NodeCut, held: bool, open: &mut [u64]) {
    let mut executed = vec![0; open.len()];
    cut.least
        .executed()
        .for_each(|v| bits::insert(&mut executed, v));
    open.iter_mut().zip(executed).for_each(|(open, executed)| {
        *open &= if held { !executed } else { executed };
    });
}
