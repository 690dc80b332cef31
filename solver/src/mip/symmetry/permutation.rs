//! Permutations of columns, and the test whether they preserve a program.

use crate::mip::problem::Problem;

/// A permutation of columns: the moved columns in order, each with its image.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Permutation {
    pub moved: Vec<(u32, u32)>,
}

impl Permutation {
    /// The permutation with these images.
    pub fn new(images: impl Iterator<Item = (u32, u32)>) -> Permutation {
        let mut moved: Vec<(u32, u32)> = images.filter(|(j, to)| j != to).collect();
        moved.sort_unstable();
        Permutation { moved }
    }

    pub fn image(&self, j: u32) -> u32 {
        match self.moved.binary_search_by_key(&j, |e| e.0) {
            Ok(k) => self.moved[k].1,
            Err(_) => j,
        }
    }

    pub fn inverse(&self) -> Permutation {
        Permutation::new(self.moved.iter().map(|&(j, to)| (to, j)))
    }

    /// Returns whether some column is moved by both.
    pub fn meets(&self, other: &Permutation) -> bool {
        let mut rest = other.moved.iter().peekable();
        self.moved.iter().any(|&(j, _)| {
            while rest.next_if(|e| e.0 < j).is_some() {}
            rest.peek().is_some_and(|e| e.0 == j)
        })
    }

    /// The permutation that acts on the images under `h` as this one acts on the columns.
    pub fn conjugate(&self, h: &Permutation) -> Permutation {
        let moved = self.moved.iter();
        Permutation::new(moved.map(|&(j, to)| (h.image(j), h.image(to))))
    }

    /// Returns whether a program is preserved exactly. Columns must be mapped to columns with the
    /// same cost, bounds and integrality, and the set of rows to itself.
    pub fn keeps(&self, p: &Problem, ticks: &mut u64) -> bool {
        let mut images: Vec<u32> = self.moved.iter().map(|e| e.1).collect();
        images.sort_unstable();
        let is_permutation = images.iter().eq(self.moved.iter().map(|(j, _)| j));
        let same_columns = self.moved.iter().all(|&(j, to)| {
            let (j, to) = (j as usize, to as usize);
            p.cost[j] == p.cost[to]
                && p.lower[j] == p.lower[to]
                && p.upper[j] == p.upper[to]
                && p.integer[j] == p.integer[to]
                && p.cols.len(j) == p.cols.len(to)
        });
        if !is_permutation || !same_columns {
            return false;
        }
        let mut rows: Vec<u32> = (self.moved.iter())
            .flat_map(|&(j, _)| p.cols.vector(j as usize).0.iter().copied())
            .collect();
        rows.sort_unstable();
        rows.dedup();
        // Sides and entries of each row, before and after.
        type Row = (Vec<(u32, u64)>, u64, u64, bool);
        let bits = |v: f64| if v == 0.0 { 0 } else { v.to_bits() };
        let row = |i: u32, image: &dyn Fn(u32) -> u32| -> Row {
            let i = i as usize;
            let entries = p.rows.iter(i).map(|(j, v)| (image(j as u32), bits(v)));
            let mut entries: Vec<(u32, u64)> = entries.collect();
            entries.sort_unstable();
            let sides = (bits(p.row_lower[i]), bits(p.row_upper[i]));
            (entries, sides.0, sides.1, p.exact[i])
        };
        let mut before: Vec<Row> = rows.iter().map(|&i| row(i, &|j| j)).collect();
        let mut after: Vec<Row> = rows.iter().map(|&i| row(i, &|j| self.image(j))).collect();
        *ticks += 20 * before.iter().map(|r| r.0.len() as u64 + 1).sum::<u64>();
        before.sort_unstable();
        after.sort_unstable();
        before == after
    }
}
