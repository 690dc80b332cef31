//! Sets of nodes in one machine word.

/// A set of nodes: bit `i` for node `i`.
pub(super) type Set = u128;

/// Largest number of nodes in a set.
pub(super) const NODES_LIMIT: usize = Set::BITS as usize;

/// The set of one node.
#[inline]
pub(super) fn one(i: usize) -> Set {
    1 << i
}

/// Returns whether a node is in a set.
#[inline]
pub(super) fn has(set: Set, i: usize) -> bool {
    set >> i & 1 != 0
}

/// The nodes before `i`.
#[inline]
pub(super) fn before(i: usize) -> Set {
    match i < NODES_LIMIT {
        true => one(i) - 1,
        false => Set::MAX,
    }
}

/// The nodes of a set, ascending.
#[inline]
pub(super) fn members(mut set: Set) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let i = set.trailing_zeros() as usize;
        (set != 0).then(|| {
            set &= set - 1;
            i
        })
    })
}
