//! The lazy rule: operators that can wait until right before the first one that needs them.
//!
//! Let `c` take at least as much as it can ever free. Let every operator that may be the first
//! behind `c` take, with its workspace, at least the bytes that `c` can free and the workspace of
//! `c`. Then running `c` right before the first of them makes no step larger. Until there, memory
//! is lower by the bytes of `c` and higher by at most the bytes that it frees. While `c` runs
//! there, memory is at most the memory while the next operator runs. So some best order has every
//! such `c` right before the operator that needs it, and a search branches on the others alone
//! (`docs/theory/order.md`, "Lazy operators").

use super::bits;
use super::reach::Reach;
use super::side::Side;

/// Returns which operators of the set difference `goal - start` are lazy in orders from `start` to
/// `goal`.
pub(super) fn lazy(side: &Side, reach: &Reach, start: &[u64], goal: &[u64]) -> Vec<bool> {
    let inside = |v: u32| bits::has(goal, v) && !bits::has(start, v);
    let frees: Vec<u64> = (0..side.len as u32)
        .map(|c| frees_at_most(side, reach, c))
        .collect();
    let takes: Vec<u64> = (0..side.len as u32)
        .map(|c| takes_at_least(side, reach, c))
        .collect();
    let is_lazy = |c: u32| {
        if !inside(c) || takes[c as usize] < frees[c as usize] {
            return false;
        }
        let behind: Vec<u32> = side
            .after
            .row(c)
            .iter()
            .copied()
            .filter(|u| inside(*u))
            .collect();
        let need = frees[c as usize] + side.workspace[c as usize];
        let enough = |u: &u32| takes[*u as usize] + side.workspace[*u as usize] >= need;
        let is_first = |u: &u32| {
            let mut others = behind.iter().filter(|w| *w != u);
            !others.any(|w| bits::has(reach.behind(side.direction, *w), *u))
        };
        !behind.is_empty() && behind.iter().all(|u| enough(u) || !is_first(u))
    };
    (0..side.len as u32).map(is_lazy).collect()
}

/// Upper bound on the bytes that an operator can free: storages without users behind it.
fn frees_at_most(side: &Side, reach: &Reach, c: u32) -> u64 {
    let behind = reach.behind(side.direction, c);
    let uses = side.uses.row(c).iter().filter(|t| {
        let mut users = side.users.row(**t).iter();
        !side.stays[**t as usize] && !users.any(|u| bits::has(behind, *u))
    });
    uses.map(|t| side.bytes[*t as usize]).sum()
}

/// Lower bound on the bytes that an operator takes: storages whose other makers are behind it.
fn takes_at_least(side: &Side, reach: &Reach, c: u32) -> u64 {
    let behind = reach.behind(side.direction, c);
    let makes = side.makes.row(c).iter().filter(|t| {
        let mut makers = side.makers.row(**t).iter();
        !side.there[**t as usize] && makers.all(|u| *u == c || bits::has(behind, *u))
    });
    makes.map(|t| side.bytes[*t as usize]).sum()
}
