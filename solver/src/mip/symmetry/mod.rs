//! Symmetry of a program: permutations of its columns that preserve it, and the bounds they imply
//! at nodes of the tree.
//!
//! Generators come from colour refinement with individualisation ([`generators`]), each checked
//! against the program ([`permutation`]). Of each orbit, a node keeps a point that is greatest in
//! the columns branched on above it, in the order of the branchings. A node's order starts with its
//! parent's order (van Doornmalen & Hojny 2022, *A unified framework for symmetry handling*). Two
//! consequences are used: lexicographic reduction for each permutation, and orbital fixing (Margot
//! 2003; Ostrowski, Linderoth, Rossi & Smriglio 2011) for permutations that keep the columns
//! branched upwards ([`reduction`]).
//!
//! The rest of the search does not depend on this. Learned rows, cuts of the root and global bounds
//! hold for the program without symmetry reduction. Deductions that only exclude points no better
//! than the incumbent exclude whole orbits.

mod generators;
mod graph;
mod partition;
mod permutation;
mod reduction;
#[cfg(test)]
mod tests;

use crate::mip::problem::Problem;
use permutation::Permutation;
use std::collections::BTreeSet;

/// Limit on the permutations examined at each node.
const PERMUTATION_LIMIT: usize = 1_000;

/// Effect of a permutation on a column.
#[derive(Clone, Copy, Debug)]
struct Touch {
    permutation: u32,
    /// Column that the permutation moves to this one.
    from: u32,
    /// Column to which the permutation moves this one.
    to: u32,
}

/// Permutations of the columns that preserve a program.
#[derive(Debug)]
pub(crate) struct Symmetry {
    permutations: usize,
    /// Numbers of generators found, and of orbits of integer columns.
    pub generators: usize,
    pub orbits: usize,
    /// Permutations that move a column: `touches[start[j]..start[j + 1]]`.
    start: Vec<u32>,
    touches: Vec<Touch>,
    /// Bounds of the columns in the program.
    lower: Vec<f64>,
}

impl Symmetry {
    /// Finds the symmetry of a program within a limit of ticks. Also returns the ticks used. `None`
    /// if no integer column can be moved.
    pub fn find(p: &Problem, ticks_limit: u64) -> (Option<Symmetry>, u64) {
        let found = generators::search(p, ticks_limit);
        if found.generators.is_empty() {
            return (None, found.ticks);
        }
        let (all, spent) = conjugates(&found.generators, 20 * p.num_cols() + 10_000);
        let symmetry = Symmetry::new(p, found.generators.len(), &all);
        (Some(symmetry), found.ticks + spent)
    }

    fn new(p: &Problem, generators: usize, all: &[Permutation]) -> Symmetry {
        let n = p.num_cols();
        let mut start = vec![0u32; n + 1];
        for g in all {
            for &(j, _) in &g.moved {
                start[j as usize + 1] += 1;
            }
        }
        for j in 0..n {
            start[j + 1] += start[j];
        }
        let nothing = Touch {
            permutation: 0,
            from: 0,
            to: 0,
        };
        let mut next = start.clone();
        let mut touches = vec![nothing; start[n] as usize];
        let mut orbits = Orbits::new(n);
        for (k, g) in all.iter().enumerate() {
            let back = g.inverse();
            for (&(j, to), &(_, from)) in g.moved.iter().zip(&back.moved) {
                let at = &mut next[j as usize];
                touches[*at as usize] = Touch {
                    permutation: k as u32,
                    from,
                    to,
                };
                *at += 1;
                orbits.join(j as usize, to as usize);
            }
        }
        let moved = |j: usize| start[j] < start[j + 1];
        let orbits = (0..n)
            .filter(|&j| p.integer[j] && moved(j) && orbits.find(j) == j)
            .count();
        Symmetry {
            permutations: all.len(),
            generators,
            orbits,
            start,
            touches,
            lower: p.lower.clone(),
        }
    }

    fn touches(&self, j: usize) -> &[Touch] {
        &self.touches[self.start[j] as usize..self.start[j + 1] as usize]
    }
}

/// Generators, their inverses and conjugates, up to a limit on entries. For interchangeable
/// machines, these are all exchanges of two machines: the exchanges that fix some machines generate
/// the whole subgroup that fixes them.
fn conjugates(generators: &[Permutation], entries_limit: usize) -> (Vec<Permutation>, u64) {
    let mut all: Vec<Permutation> = Vec::new();
    let mut known: BTreeSet<Vec<(u32, u32)>> = BTreeSet::new();
    let mut entries = 0;
    let mut add = |g: Permutation, all: &mut Vec<Permutation>, entries: &mut usize| {
        let fits = *entries + g.moved.len() <= entries_limit && all.len() < PERMUTATION_LIMIT;
        if !g.moved.is_empty() && fits && known.insert(g.moved.clone()) {
            *entries += g.moved.len();
            all.push(g);
        }
        fits
    };
    let mut ticks = 0;
    for g in generators {
        add(g.clone(), &mut all, &mut entries);
    }
    for g in generators {
        add(g.inverse(), &mut all, &mut entries);
    }
    let mut at = 0;
    while at < all.len() && ticks < 50 * entries_limit as u64 {
        for h in generators {
            let g = &all[at];
            ticks += g.moved.len() as u64 + 10;
            if !g.meets(h) || g == h {
                continue;
            }
            let new = g.conjugate(h);
            ticks += 10 * new.moved.len() as u64;
            if !add(new, &mut all, &mut entries) {
                return (all, ticks);
            }
        }
        at += 1;
    }
    (all, ticks)
}

/// Disjoint sets of columns, each identified by its least column.
struct Orbits(Vec<u32>);

impl Orbits {
    fn new(n: usize) -> Orbits {
        Orbits((0..n as u32).collect())
    }

    fn find(&mut self, mut j: usize) -> usize {
        while self.0[j] as usize != j {
            let up = self.0[self.0[j] as usize];
            self.0[j] = up;
            j = up as usize;
        }
        j
    }

    fn join(&mut self, a: usize, b: usize) {
        let (a, b) = (self.find(a), self.find(b));
        self.0[a.max(b)] = a.min(b) as u32;
    }
}
