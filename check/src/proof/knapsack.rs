//! Weights of sets that fit (`docs/theory/proof/covers.md`).

/// Larger weights are refused: checking takes as many steps for each item.
const WEIGHT_LIMIT: u32 = 1 << 20;

/// Checks that a right side is within the limit.
///
/// # Errors
/// Names the limit.
pub(super) fn check_weight(most: u32) -> Result<(), String> {
    match most <= WEIGHT_LIMIT {
        true => Ok(()),
        false => Err(format!("the weight {most} is more than {WEIGHT_LIMIT}")),
    }
}

/// Returns whether items, given as (bytes, weight), that fit into `room` may weigh more than
/// `most`. False if there is no room.
pub(super) fn fits_more(
    items: impl Iterator<Item = (u64, u32)>,
    room: Option<u64>,
    most: u32,
) -> bool {
    let Some(room) = room else {
        return false;
    };
    // Fewest bytes that weigh so much.
    let mut least = vec![u64::MAX; most as usize + 2];
    least[0] = 0;
    for (bytes, weight) in items {
        for v in (1..least.len()).rev() {
            let without = least[v.saturating_sub(weight as usize)];
            least[v] = least[v].min(without.saturating_add(bytes));
        }
    }
    least.last().is_some_and(|bytes| *bytes <= room)
}

#[cfg(test)]
mod tests {
    use super::fits_more;

    #[test]
    fn weights_are_those_of_enumeration() {
        let items = [(5, 2), (3, 1), (7, 4), (1, 0), (2, 1)];
        for room in 0..20 {
            for most in 0..9 {
                let heavier = (0u32..1 << items.len()).any(|set| {
                    let in_it = |k: &usize| set >> k & 1 == 1;
                    let chosen: Vec<_> = (0..items.len()).filter(in_it).map(|k| items[k]).collect();
                    let bytes: u64 = chosen.iter().map(|i| i.0).sum();
                    let weight: u32 = chosen.iter().map(|i| i.1).sum();
                    bytes <= room && weight > most
                });
                let all = items.into_iter();
                assert_eq!(fits_more(all, Some(room), most), heavier, "{room} {most}");
            }
        }
        assert!(!fits_more(items.into_iter(), None, 0));
    }
}
