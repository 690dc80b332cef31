//! Minimal sets of tensors whose memory is enough.

use super::set::{Set, one};
use std::ops::ControlFlow;

/// Calls `take` with each minimal set of tensors that frees `needed_bytes`, until `take` breaks;
/// with the empty set if no bytes are needed.
///
/// With the largest tensors first, a set is complete as soon as its sum is enough, so only minimal
/// sets are found.
pub(super) fn smallest_sets<B>(
    mut tensors: Vec<(u64, usize)>,
    needed_bytes: u64,
    take: &mut dyn FnMut(Set) -> ControlFlow<B>,
) -> ControlFlow<B> {
    if needed_bytes == 0 {
        return take(0);
    }
    tensors.sort_unstable_by(|a, b| b.cmp(a));
    let all = tensors.iter().map(|t| t.0).sum();
    extend(&tensors, needed_bytes, all, 0, take)
}

fn extend<B>(
    tensors: &[(u64, usize)],
    needed: u64,
    all: u64,
    chosen: Set,
    take: &mut dyn FnMut(Set) -> ControlFlow<B>,
) -> ControlFlow<B> {
    let Some(((bytes, i), rest)) = tensors.split_first() else {
        return ControlFlow::Continue(());
    };
    if all < needed {
        return ControlFlow::Continue(());
    }
    match *bytes >= needed {
        true => take(chosen | one(*i)),
        false => extend(rest, needed - bytes, all - bytes, chosen | one(*i), take),
    }?;
    extend(rest, needed, all - bytes, chosen, take)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_are_enough_and_none_has_a_smaller_one() {
        let bytes = [3u64, 1, 4, 1, 5, 2];
        let sum = |set: Set| {
            (0..6)
                .filter(|i| set >> i & 1 != 0)
                .map(|i| bytes[i])
                .sum::<u64>()
        };
        for needed in 0..18 {
            let mut found = Vec::new();
            let tensors = (0..6).map(|i| (bytes[i], i)).collect();
            let flow = smallest_sets(tensors, needed, &mut |set| {
                found.push(set);
                ControlFlow::<()>::Continue(())
            });
            assert!(flow.is_continue());
            found.sort_unstable();
            let is_smallest = |set: &Set| {
                let less = (0..6)
                    .filter(|i| set >> i & 1 != 0)
                    .map(|i| sum(set & !one(i)));
                sum(*set) >= needed && less.into_iter().all(|s| s < needed)
            };
            let wanted: Vec<Set> = (0..64).filter(is_smallest).collect();
            assert_eq!(found, wanted, "{needed}");
        }
    }
}
