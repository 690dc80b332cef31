//! Like tensors, counted together: networks repeat themselves, and where it does not matter which of some like tensors is
//! dropped, it matters how many are.

use std::collections::{BTreeMap, BTreeSet};

/// What is counted together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Tensors {
    /// One tensor.
    One(u32),
    /// A class of like ones, by its place among the classes.
    Class(u32),
}

impl Tensors {
    /// They, ascending.
    pub fn list<'a>(&'a self, classes: &'a [Vec<u32>]) -> &'a [u32] {
        match self {
            Tensors::One(node) => std::slice::from_ref(node),
            Tensors::Class(class) => &classes[*class as usize],
        }
    }
}

/// Tensors of the same size, and of the same size and cost of recomputation, from all (tensor, size, cost) in ascending order: at
/// least two in each class.
pub(crate) fn classes(tensors: impl Iterator<Item = (u32, u64, u64)>) -> Vec<Vec<u32>> {
    let mut by_size: BTreeMap<(u64, Option<u64>), Vec<u32>> = BTreeMap::new();
    for (tensor, bytes, cost) in tensors.filter(|t| t.1 > 0) {
        for key in [None, Some(cost)] {
            by_size.entry((bytes, key)).or_default().push(tensor);
        }
    }
    // Where all of a size cost the same, once is enough.
    let classes: BTreeSet<Vec<u32>> = by_size.into_values().filter(|c| c.len() > 1).collect();
    classes.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::classes;

    #[test]
    fn like_tensors_are_together() {
        let tensors = [
            (0, 8, 1),
            (2, 0, 5),
            (3, 8, 2),
            (4, 4, 1),
            (5, 8, 1),
            (7, 4, 1),
            (8, 0, 5),
        ];
        let found = classes(tensors.into_iter());
        assert_eq!(found, [vec![0, 3, 5], vec![0, 5], vec![4, 7]]);
    }
}
