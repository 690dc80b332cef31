//! Cliques of literals: binaries that exclude each other, derived from rows.
//!
//! Some items of a row form a clique if its two lightest ones do not fit together (Johnson &
//! Padberg 1982; Achterberg 2007, section 8.5).

use crate::mip::problem::Problem;

/// A binary column or its complement: `2 * column`, plus one for the complement.
pub(crate) type Literal = u32;

/// The literal of a binary column, or of its complement.
pub(crate) fn literal(column: u32, complement: bool) -> Literal {
    2 * column + u32::from(complement)
}

pub(crate) fn column(l: Literal) -> usize {
    (l >> 1) as usize
}

pub(crate) fn is_complement(l: Literal) -> bool {
    l & 1 == 1
}

/// Value of a literal at a point.
pub(crate) fn value(l: Literal, x: &[f64]) -> f64 {
    let v = x[column(l)];
    if is_complement(l) { 1.0 - v } else { v }
}

/// Sets of literals of which at most one is true.
#[derive(Clone, Debug, Default)]
pub(crate) struct CliqueTable {
    start: Vec<usize>,
    members: Vec<Literal>,
    /// Cliques of each literal.
    of_start: Vec<usize>,
    of: Vec<u32>,
}

impl CliqueTable {
    /// The cliques of the rows under the given bounds, and other pairs of literals that exclude
    /// each other.
    pub fn new(p: &Problem, lower: &[f64], upper: &[f64], pairs: &[[Literal; 2]]) -> CliqueTable {
        let mut t = CliqueTable {
            start: vec![0],
            ..Default::default()
        };
        // Enough for every set-partitioning row of a large model; more would only use memory.
        let most = 4 * p.rows.index.len() + 100_000;
        let mut items: Vec<(f64, Literal)> = Vec::new();
        for i in 0..p.num_rows() {
            for (side, sign) in [(p.row_upper[i], 1.0), (p.row_lower[i], -1.0)] {
                if !side.is_finite() || t.members.len() > most {
                    continue;
                }
                let mut capacity = sign * side;
                items.clear();
                for (j, a) in p.rows.iter(i) {
                    let a = sign * a;
                    if p.integer[j] && lower[j] == 0.0 && upper[j] == 1.0 {
                        if a < 0.0 {
                            capacity -= a;
                        }
                        items.push((a.abs(), literal(j as u32, a < 0.0)));
                    } else {
                        capacity -= if a > 0.0 { a * lower[j] } else { a * upper[j] };
                    }
                }
                if capacity.is_finite() && items.len() >= 2 {
                    t.read(&mut items, capacity);
                }
            }
        }
        for pair in pairs {
            t.members.extend(pair);
            t.start.push(t.members.len());
        }
        t.index(p.num_cols());
        t
    }

    /// Cliques of a knapsack.
    fn read(&mut self, items: &mut [(f64, Literal)], capacity: f64) {
        let margin = 1e-6 * capacity.abs().max(1.0);
        let excluded = |a: f64, b: f64| a + b > capacity + margin;
        items.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        if !excluded(items[0].0, items[1].0) {
            return;
        }
        // The longest prefix that is a clique.
        let mut k = 2;
        while k < items.len() && excluded(items[k - 1].0, items[k].0) {
            k += 1;
        }
        self.members.extend(items[..k].iter().map(|e| e.1));
        self.start.push(self.members.len());
        // Each lighter item with the heavy items that exclude it.
        let mut heavy = k - 1;
        for e in items[k..].iter().take(50) {
            while heavy > 0 && !excluded(items[heavy - 1].0, e.0) {
                heavy -= 1;
            }
            if heavy == 0 {
                break;
            }
            self.members.extend(items[..heavy].iter().map(|e| e.1));
            self.members.push(e.1);
            self.start.push(self.members.len());
        }
    }

    fn index(&mut self, n: usize) {
        let mut count = vec![0usize; 2 * n + 1];
        for &l in &self.members {
            count[l as usize + 1] += 1;
        }
        for l in 0..2 * n {
            count[l + 1] += count[l];
        }
        self.of = vec![0; self.members.len()];
        let mut next = count.clone();
        for c in 0..self.len() {
            for k in self.start[c]..self.start[c + 1] {
                let l = self.members[k] as usize;
                self.of[next[l]] = c as u32;
                next[l] += 1;
            }
        }
        self.of_start = count;
    }

    /// Number of cliques.
    pub fn len(&self) -> usize {
        self.start.len() - 1
    }

    pub fn clique(&self, c: usize) -> &[Literal] {
        &self.members[self.start[c]..self.start[c + 1]]
    }

    /// The cliques that contain a literal.
    pub fn of(&self, l: Literal) -> &[u32] {
        &self.of[self.of_start[l as usize]..self.of_start[l as usize + 1]]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use remat_lp::{ModelBuilder, Sense};

    #[test]
    fn cliques_of_a_knapsack_are_its_pairs_that_do_not_fit() {
        let mut b = ModelBuilder::new(Sense::Minimise);
        let c: Vec<_> = (0..5)
            .map(|_| {
                let c = b.add_col(1.0, 0.0..=1.0);
                b.set_integer(c, true);
                c
            })
            .collect();
        let weights = [6.0, 5.0, -5.0, 3.0, 1.0];
        b.add_row(..=4.0, c.iter().copied().zip(weights));
        let p = Problem::from_model(&b.build().unwrap());
        let t = CliqueTable::new(&p, &p.lower, &p.upper, &[]);
        // Capacity 9 with the third column complemented.
        let weight = |l: Literal| weights[column(l)].abs();
        let mut pairs = std::collections::BTreeSet::new();
        for k in 0..t.len() {
            for &a in t.clique(k) {
                assert!(t.of(a).contains(&(k as u32)));
                for &b in t.clique(k) {
                    if a < b {
                        assert!(weight(a) + weight(b) > 9.0, "{a} {b}");
                        pairs.insert((a, b));
                    }
                }
            }
        }
        let expected = [(0, 2), (0, 5), (2, 5)];
        assert_eq!(pairs.into_iter().collect::<Vec<_>>(), expected);
    }
}
