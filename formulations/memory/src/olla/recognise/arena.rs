//! Sizes if memory is an arena: items in memory have addresses, and pairs lie apart.
//!
//! If every two items in memory at a step lie apart, the arena is at least as high as the sum of
//! their sizes. A row has to state that two items lie apart, unless no order has the two in memory
//! together. Without such a row, the smaller of the two gets size 0.

use super::apart::Apart;
use super::graph::{Sizes, TimedTensor};
use super::place::Addresses;
use super::roles::{NONE, Roles};
use super::steps::StepsRead;
use std::collections::{BTreeMap, BTreeSet};

/// Votes of a row which states that two addresses of one tensor are equal, in rows of pairs.
const LINK_VOTES: u32 = 1 << 16;

/// Sizes by items of an arena.
pub(super) struct SizesByItems<'r> {
    addresses: &'r Addresses,
    apart: &'r Apart,
    /// Number of steps.
    steps: u32,
    /// By column: items that are in memory if it is 1.
    items: Vec<Vec<u32>>,
}

/// An item in memory for some steps: a tensor, or memory that its operator takes beside it.
struct ArenaPiece {
    /// Tensor or, behind all tensors, run of an operator.
    owner: u32,
    /// Operator that brings it, and the operators of which the last ends it.
    operator: u32,
    ends: Vec<u32>,
    /// True if it stays to the end.
    is_kept: bool,
    /// First and last step, the column of its presence then, and its item.
    at: Vec<(u32, u32, u32, Option<u32>)>,
    size: f64,
}

/// Steps and columns of the operators without outputs.
type Runs = [(u32, Vec<(u32, u32)>)];

impl<'r> SizesByItems<'r> {
    pub fn new(
        roles: &Roles,
        addresses: &'r Addresses,
        apart: &'r Apart,
        steps: &StepsRead,
    ) -> Self {
        SizesByItems {
            addresses,
            apart,
            steps: steps.len as u32,
            items: items(roles, addresses, apart),
        }
    }

    /// Parts of all tensors, each followed by the part beside it; then the parts of runs.
    fn parts(&self, tensors: &[TimedTensor], runs: &Runs) -> Vec<ArenaPiece> {
        let mut parts = Vec::with_capacity(2 * tensors.len() + runs.len());
        for (e, tensor) in (0..).zip(tensors) {
            let made: Vec<_> = tensor.made.iter().map(|&(t, c)| (t, t, c)).collect();
            let staying = tensor.stays.iter().flat_map(|s| &self.items[s.2 as usize]);
            let staying: BTreeSet<u32> = staying.copied().collect();
            let only = staying.first().filter(|_| staying.len() == 1).copied();
            let main = |c: u32| {
                let here = &self.items[c as usize];
                let stays = here.iter().find(|i| staying.contains(i));
                only.or(stays.or(here.first()).copied())
            };
            let beside = |c: u32| {
                let mut here = self.items[c as usize].iter();
                let others = here.find(|i| Some(**i) != main(c) && !staying.contains(i));
                others.copied()
            };
            let all = made.iter().chain(&tensor.stays);
            let ends = match tensor.readers.is_empty() {
                true => vec![tensor.operator],
                false => tensor.readers.clone(),
            };
            let part = ArenaPiece {
                owner: e,
                operator: tensor.operator,
                ends,
                is_kept: tensor.is_kept(self.steps),
                at: all.map(|&(a, b, c)| (a, b, c, main(c))).collect(),
                size: 0.0,
            };
            parts.push(part);
            parts.push(ArenaPiece {
                owner: e,
                operator: tensor.operator,
                ends: vec![tensor.operator],
                is_kept: false,
                at: made.iter().map(|&(a, b, c)| (a, b, c, beside(c))).collect(),
                size: 0.0,
            });
        }
        for (k, (operator, run)) in (tensors.len() as u32..).zip(runs) {
            let item = |c: u32| self.items[c as usize].first().copied();
            parts.push(ArenaPiece {
                owner: k,
                operator: *operator,
                ends: vec![*operator],
                is_kept: false,
                at: run.iter().map(|&(t, c)| (t, t, c, item(c))).collect(),
                size: 0.0,
            });
        }
        for part in &mut parts {
            let items = part.at.iter().filter_map(|at| at.3);
            let sizes = items.map(|i| self.addresses.items[i as usize].size);
            let least = sizes.fold(f64::INFINITY, f64::min);
            part.size = if least.is_finite() { least } else { 0.0 };
        }
        parts
    }

    /// Returns whether two parts lie apart at every step that they share.
    fn are_apart(&self, a: &ArenaPiece, b: &ArenaPiece) -> bool {
        a.at.iter().all(|&(first, last, x, i)| {
            let meets = b.at.iter().filter(|at| at.0 <= last && first <= at.1);
            // At a step, only one column of a tensor counts.
            let mut meets = meets.filter(|at| a.owner != b.owner || at.2 == x);
            meets.all(|&(.., y, j)| match (i, j) {
                (Some(i), Some(j)) if i != j => {
                    let items = (i.min(j), i.max(j));
                    self.addresses.always.contains(&items) || self.apart.says((x, y), items)
                }
                _ => false,
            })
        })
    }
}

impl Sizes for SizesByItems<'_> {
    fn numbers(&self, tensors: &[TimedTensor], runs: &Runs) -> Vec<f64> {
        let mut parts = self.parts(tensors, runs);
        let before = Before::new(tensors, &parts);
        for a in 1..parts.len() {
            for b in 0..a {
                let (low, high) = (&parts[b], &parts[a]);
                let counts = low.size > 0.0 && high.size > 0.0;
                let may_meet = || !before.is_over(low, high) && !before.is_over(high, low);
                if counts && may_meet() && !self.are_apart(low, high) {
                    let smaller = if low.size < high.size { b } else { a };
                    parts[smaller].size = 0.0;
                }
            }
        }
        let (of_tensors, of_runs) = parts.split_at(2 * tensors.len());
        let pairs = of_tensors.chunks_exact(2);
        let sizes = pairs.flat_map(|pair| [pair[0].size, pair[0].size + pair[1].size]);
        let runs = of_runs.iter().map(|part| part.size);
        // An arena has no resident part.
        sizes.chain(runs).chain([0.0]).collect()
    }
}

/// Predecessors of each operator in every order, as rows of bits.
struct Before {
    words: usize,
    bits: Vec<u64>,
}

impl Before {
    fn new(tensors: &[TimedTensor], parts: &[ArenaPiece]) -> Before {
        let n = parts.iter().map(|p| p.operator + 1).max().unwrap_or(0) as usize;
        let words = n.div_ceil(64);
        let mut arcs = BTreeSet::new();
        for tensor in tensors {
            let readers = tensor.readers.iter();
            arcs.extend(readers.map(|v| (tensor.operator, *v)));
        }
        let mut waits = vec![0u32; n];
        let mut after = vec![Vec::new(); n];
        for &(u, v) in &arcs {
            waits[v as usize] += 1;
            after[u as usize].push(v as usize);
        }
        let mut bits = vec![0u64; words * n];
        let mut ready: Vec<usize> = (0..n).filter(|v| waits[*v] == 0).collect();
        // Operators on a cycle count as before no other operator; such graphs are refused.
        while let Some(u) = ready.pop() {
            for &v in &after[u] {
                for k in 0..words {
                    bits[v * words + k] |= bits[u * words + k];
                }
                bits[v * words + u / 64] |= 1 << (u % 64);
                waits[v] -= 1;
                if waits[v] == 0 {
                    ready.push(v);
                }
            }
        }
        Before { words, bits }
    }

    /// Returns whether, in every order, a part is over before another one begins.
    fn is_over(&self, part: &ArenaPiece, other: &ArenaPiece) -> bool {
        let row = other.operator as usize * self.words;
        let has = |v: &u32| self.bits[row + *v as usize / 64] >> (v % 64) & 1 != 0;
        !part.is_kept && part.ends.iter().all(has)
    }
}

/// Items in memory if each column is 1: a guess by the owner that is in the rows of an item most
/// often. All conclusions from the guess are checked against rows.
fn items(roles: &Roles, addresses: &Addresses, apart: &Apart) -> Vec<Vec<u32>> {
    let tensors = roles.made.len() as u32;
    let owner_of = |c: u32| match roles.tensor_of[c as usize] {
        NONE => tensors + roles.run_of[c as usize],
        tensor => tensor,
    };
    let rows = || apart.rows.iter().filter_map(|row| Some((row, row.items?)));
    let mut votes: Vec<BTreeMap<u32, u32>> = vec![BTreeMap::new(); addresses.items.len()];
    let mut partners: BTreeSet<(u32, u32)> = BTreeSet::new();
    for (row, (i, j)) in rows() {
        let owners: BTreeSet<u32> = row.there.iter().map(|e| owner_of(e.0)).collect();
        for owner in &owners {
            *votes[i as usize].entry(*owner).or_default() += 1;
            *votes[j as usize].entry(*owner).or_default() += 1;
        }
        if owners.len() > 1 {
            partners.extend([(i, j), (j, i)]);
        }
    }
    // Addresses that are equal while a tensor stays are that tensor's.
    for link in &addresses.links {
        if roles.stays(link.column) {
            for i in [link.items.0, link.items.1] {
                *votes[i as usize].entry(owner_of(link.column)).or_default() += LINK_VOTES;
            }
        }
    }
    let most = |votes: &BTreeMap<u32, u32>| {
        let most = votes.values().copied().max();
        let all = votes.iter().filter(|v| Some(*v.1) == most);
        all.map(|v| *v.0).collect::<Vec<u32>>()
    };
    let candidates: Vec<Vec<u32>> = votes.iter().map(most).collect();
    let mut owner: Vec<Option<u32>> = candidates
        .iter()
        .map(|of| of.first().filter(|_| of.len() == 1).copied())
        .collect();
    // If two items in a row have two owners, each has one.
    for i in (0..owner.len()).filter(|i| candidates[*i].len() > 1) {
        let with = partners.range((i as u32, 0)..=(i as u32, u32::MAX));
        let taken: Vec<u32> = with.filter_map(|p| owner[p.1 as usize]).collect();
        let mut free = candidates[i].iter();
        let free = free.find(|o| !taken.contains(o));
        owner[i] = free.or(candidates[i].first()).copied();
    }
    let mut of: Vec<BTreeSet<u32>> = vec![BTreeSet::new(); roles.tensor_of.len()];
    let mut alone: Vec<bool> = vec![true; owner.len()];
    for (row, (i, j)) in rows() {
        for (i, j) in [(i as usize, j as usize), (j as usize, i as usize)] {
            if owner[i] != owner[j] {
                alone[i] = false;
                let own = row.there.iter().map(|e| e.0);
                let own = own.filter(|c| Some(owner_of(*c)) == owner[i]);
                own.for_each(|c| of[c as usize].extend([i as u32]));
            }
        }
    }
    // Both are in memory if one column alone sets them apart.
    for (row, (i, j)) in rows() {
        for i in [i, j].into_iter().filter(|i| alone[*i as usize]) {
            let both = row.there.iter().map(|e| e.0);
            let both = both.filter(|c| apart.says((*c, *c), row.items.unwrap_or((i, i))));
            both.for_each(|c| of[c as usize].extend([i]));
        }
    }
    of.into_iter()
        .map(|items| items.into_iter().collect())
        .collect()
}
