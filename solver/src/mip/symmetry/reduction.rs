//! Bounds implied by symmetry at a node.

use super::{Symmetry, Touch};
use crate::mip::domain::Domain;
use crate::mip::problem::Problem;

/// Marks a column outside the order of branchings.
const NONE: u32 = u32::MAX;

impl Symmetry {
    /// Tightens bounds at a node. `order` lists the columns branched on, each once, in the order of
    /// the first branching on it. Returns the number of tightened bounds; the domain may become
    /// infeasible.
    pub fn reduce(&self, p: &Problem, d: &mut Domain, order: &[u32]) -> u64 {
        let before = d.mark();
        self.reduce_orbits(p, d, order);
        if !d.infeasible {
            self.reduce_lexicographically(p, d, order);
        }
        (d.mark() - before) as u64
    }

    /// Tightens bounds by permutations that keep the columns branched on before. A column branched
    /// on is then at least as large as its whole orbit.
    ///
    /// A column fixed at its least value imposes no condition, because its image cannot be smaller.
    /// A permutation must map columns fixed at the same larger value to each other, and keep all
    /// others.
    fn reduce_orbits(&self, p: &Problem, d: &mut Domain, order: &[u32]) {
        let mut place = vec![NONE; p.num_cols()];
        let mut seen = vec![NONE; p.num_cols()];
        // Number of columns in the order so far that each permutation does not keep.
        let mut moved = vec![0u32; self.permutations];
        let mut orbit: Vec<u32> = Vec::new();
        d.ticks += (p.num_cols() + self.permutations) as u64 / 4;
        for (t, &b) in order.iter().enumerate() {
            let touches = self.touches(b as usize);
            if touches.is_empty() {
                continue;
            }
            orbit.clear();
            orbit.push(b);
            seen[b as usize] = t as u32;
            let mut at = 0;
            while at < orbit.len() {
                let touches = self.touches(orbit[at] as usize);
                d.ticks += touches.len() as u64;
                for touch in touches {
                    let next = touch.to as usize;
                    if moved[touch.permutation as usize] == 0 && seen[next] != t as u32 {
                        seen[next] = t as u32;
                        orbit.push(touch.to);
                    }
                }
                at += 1;
            }
            let b = b as usize;
            for &j in &orbit[1..] {
                d.tighten_lower(p, b, d.lower[j as usize]);
                if !d.infeasible {
                    d.tighten_upper(p, j as usize, d.upper[b]);
                }
                if d.infeasible {
                    return;
                }
            }
            if d.upper[b] == self.lower[b] {
                continue;
            }
            let fixed = d.is_fixed(b);
            let same = |place: &[u32], j: u32| {
                fixed
                    && place[j as usize] != NONE
                    && d.is_fixed(j as usize)
                    && d.lower[j as usize] == d.lower[b]
            };
            // Earlier columns of equal value that a permutation maps here are kept after all.
            for Touch {
                permutation, to, ..
            } in touches
            {
                if same(&place, *to) {
                    moved[*permutation as usize] -= 1;
                }
            }
            place[b] = t as u32;
            for Touch {
                permutation, from, ..
            } in touches
            {
                if !same(&place, *from) {
                    moved[*permutation as usize] += 1;
                }
            }
        }
    }

    /// Keeps, for each permutation, only points that are not smaller than their images.
    fn reduce_lexicographically(&self, p: &Problem, d: &mut Domain, order: &[u32]) {
        let mut pairs: Vec<(u32, u32, u32)> = Vec::new();
        for &b in order {
            let touches = self.touches(b as usize);
            pairs.extend(touches.iter().map(|t| (t.permutation, b, t.from)));
        }
        // The sort is stable, so the order of the branchings remains.
        pairs.sort_by_key(|e| e.0);
        d.ticks += 8 * pairs.len() as u64;
        for sequence in pairs.chunk_by(|a, b| a.0 == b.0) {
            reduce_sequence(p, d, sequence);
            if d.infeasible {
                return;
            }
        }
    }
}

/// Keeps the points at which the first columns of the pairs are lexicographically not smaller than
/// the second ones.
fn reduce_sequence(p: &Problem, d: &mut Domain, sequence: &[(u32, u32, u32)]) {
    let equal =
        |d: &Domain, a: usize, b: usize| d.is_fixed(a) && d.is_fixed(b) && d.lower[a] == d.lower[b];
    for (k, &(_, a, b)) in sequence.iter().enumerate() {
        let (a, b) = (a as usize, b as usize);
        d.tighten_lower(p, a, d.lower[b]);
        if !d.infeasible {
            d.tighten_upper(p, b, d.upper[a]);
        }
        if d.infeasible || d.lower[a] > d.upper[b] {
            return;
        }
        if equal(d, a, b) {
            continue;
        }
        // Equality here may make the following pairs infeasible.
        for &(_, u, v) in &sequence[k + 1..] {
            let (u, v) = (u as usize, v as usize);
            if d.upper[u] < d.lower[v] {
                d.tighten_lower(p, a, d.lower[b] + 1.0);
                if !d.infeasible {
                    d.tighten_upper(p, b, d.upper[a] - 1.0);
                }
                return;
            }
            if !equal(d, u, v) {
                return;
            }
        }
        return;
    }
}
