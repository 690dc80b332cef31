//! Addresses of an allocator that knows no future.

/// Addresses by first fit: each life, as it begins, takes the lowest free address with enough room.
///
/// `lives` has the first moment, the first moment after it, and the bytes of each. Returns the
/// offsets in their order.
pub fn first_fit(lives: &[(usize, usize, u64)]) -> Vec<u64> {
    let mut order: Vec<usize> = (0..lives.len()).collect();
    order.sort_by_key(|&k| (lives[k].0, k));
    let mut offsets = vec![0; lives.len()];
    // Address, end of the addresses and end of the life, by address.
    let mut used: Vec<(u64, u64, usize)> = Vec::new();
    for k in order {
        let (begin, end, bytes) = lives[k];
        used.retain(|&(_, _, until)| until > begin);
        let mut address = 0;
        let mut at = used.len();
        for (position, &(start, stop, _)) in used.iter().enumerate() {
            if start - address >= bytes {
                at = position;
                break;
            }
            address = stop;
        }
        used.insert(at, (address, address + bytes, end));
        offsets[k] = address;
    }
    offsets
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_life_takes_the_lowest_gap_that_is_wide_enough() {
        let lives = [
            (0, 2, 4),
            (0, 9, 8),
            (2, 9, 6),
            (2, 9, 3),
            (3, 9, 1),
            (9, 10, 20),
        ];
        assert_eq!(first_fit(&lives), [0, 4, 12, 0, 3, 0]);
    }
}
