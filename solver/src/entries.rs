//! Lists of entries: keys with values that add up.

use std::ops::AddAssign;

/// Adds up neighbours of one key; the first of them stays.
///
/// ```
/// let mut entries = vec![(1, 2.0), (1, 0.5), (4, 1.0)];
/// remat_solver::entries::add_up(&mut entries);
/// assert_eq!(entries, [(1, 2.5), (4, 1.0)]);
/// ```
pub fn add_up<K: PartialEq, V: AddAssign + Copy>(entries: &mut Vec<(K, V)>) {
    entries.dedup_by(|later, first| {
        let same = later.0 == first.0;
        if same {
            first.1 += later.1;
        }
        same
    });
}
