//! Like tensors, counted together. Networks repeat themselves: if it does not matter which of some
//! like tensors is dropped, it still matters how many are.

use std::collections::{BTreeMap, BTreeSet};

/// Branching weight of a count over a class, as a multiple of the weight of a count over one
/// member.
pub(crate) const CLASS_WEIGHT: f64 = 1.5;

/// Tensors or backward nodes that are counted together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Group {
    /// One tensor, or the backward node of a stage.
    One(u32),
    /// A class of like members, by its index.
    Class(u32),
}

impl Group {
    /// The members, ascending.
    pub fn list<'a>(&'a self, classes: &'a [Vec<u32>]) -> &'a [u32] {
        match self {
            Group::One(node) => std::slice::from_ref(node),
            Group::Class(class) => &classes[*class as usize],
        }
    }
}

/// Classes of like elements, at least two in each, from all elements in ascending order with their
/// keys.
pub(crate) fn classes<K: Ord>(all: impl Iterator<Item = (u32, K)>) -> Vec<Vec<u32>> {
    let mut like: BTreeMap<K, Vec<u32>> = BTreeMap::new();
    for (one, key) in all {
        like.entry(key).or_default().push(one);
    }
    // The same elements may be alike by several keys.
    let classes: BTreeSet<Vec<u32>> = like.into_values().filter(|c| c.len() > 1).collect();
    classes.into_iter().collect()
}

/// Tensors of the same size, and of the same size and cost of recomputation, from (tensor, size,
/// cost). Tensors without size are left out.
pub(crate) fn classes_of_tensors(all: impl Iterator<Item = (u32, u64, u64)>) -> Vec<Vec<u32>> {
    let sized = all.filter(|t| t.1 > 0);
    classes(sized.flat_map(|(i, bytes, cost)| [(i, (bytes, None)), (i, (bytes, Some(cost)))]))
}

#[cfg(test)]
mod tests {
    use super::classes_of_tensors;

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
        let found = classes_of_tensors(tensors.into_iter());
        assert_eq!(found, [vec![0, 3, 5], vec![0, 5], vec![4, 7]]);
    }
}
