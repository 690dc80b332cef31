//! Items that are live together with an item, listed without a table of all pairs.

use super::super::problem::{Lists, PlaceProblem};

/// Stretches by their first section, and by the nodes of a tree that they cover.
pub(super) struct Clashes {
    /// First section and item of each stretch, ascending.
    begins: Vec<(u32, u32)>,
    /// Leaves of the tree, a power of two.
    leaves: usize,
    /// Items with a stretch that covers each node, and not the node above.
    cover: Lists<u32>,
}

impl Clashes {
    pub fn new(problem: &PlaceProblem) -> Self {
        let leaves = problem.sections.next_power_of_two().max(1);
        let mut begins = Vec::new();
        let mut cover = vec![Vec::new(); 2 * leaves];
        for item in 0..problem.items.len() {
            for &(from, to) in problem.stretches.list(item) {
                begins.push((from, item as u32));
                let (mut low, mut high) = (leaves + from as usize, leaves + to as usize);
                while low < high {
                    if low % 2 == 1 {
                        cover[low].push(item as u32);
                        low += 1;
                    }
                    if high % 2 == 1 {
                        high -= 1;
                        cover[high].push(item as u32);
                    }
                    low /= 2;
                    high /= 2;
                }
            }
        }
        begins.sort_unstable();
        let mut lists = Lists::new();
        for list in cover {
            lists.push(list);
        }
        Clashes {
            begins,
            leaves,
            cover: lists,
        }
    }

    /// Calls `see` with each other item that shares a section with an item, once for each pair of
    /// stretches that meet.
    pub fn each(&self, problem: &PlaceProblem, item: usize, mut see: impl FnMut(usize)) {
        let mut tell = |other: u32| {
            if other as usize != item {
                see(other as usize);
            }
        };
        for &(from, to) in problem.stretches.list(item) {
            // Stretches that are live at the first section, then those that begin later.
            let mut node = self.leaves + from as usize;
            while node > 0 {
                self.cover.list(node).iter().copied().for_each(&mut tell);
                node /= 2;
            }
            let low = self.begins.partition_point(|begin| begin.0 <= from);
            let high = self.begins.partition_point(|begin| begin.0 < to);
            self.begins[low..high]
                .iter()
                .for_each(|begin| tell(begin.1));
        }
    }
}
