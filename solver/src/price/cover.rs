//! Lifted cover inequalities: rows on sets of items that exceed a capacity.
//!
//! Tensors of sizes `m_i` share a capacity at one moment, and each is present or not. A set of them
//! that exceeds the capacity, a *cover*, is never present as a whole; a relaxation has all but a
//! slice of it. Where few large tensors fill the memory, these rows account for most of the
//! relaxation's gain. Let `N_1` be the items that a fractional point has whole, and `C` a minimal
//! cover of the capacity left by `N_1`, chosen from the fractional items. Then `sum_C x <= |C| - 1`
//! holds while all of `N_1` is present. Every other item is *lifted*: it gets the largest weight
//! with which the row stays valid. An item of `N_1` gets the weight that fits in addition without
//! it. (Balas 1975; Gu, Nemhauser & Savelsbergh 1998.)
//!
//! Lifting is exact. `least[v]` is the fewest bytes of items with total weight `v`, so it yields
//! the largest weight in any capacity. One more item updates it as in the knapsack's dynamic
//! program. It also proves the row: items of total weight `most + 1` have more bytes than the
//! capacity.

/// An item of a knapsack.
#[derive(Clone, Copy, Debug)]
pub struct CoverItem {
    /// Its name.
    pub name: u32,
    /// Its size, more than 0.
    pub bytes: u64,
    /// Its value in a fractional point, from 0 to 1.
    pub value: f64,
}

/// `sum weight x <= most`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cover {
    /// Names and weights of the items with a weight, by name.
    pub weights: Vec<(u32, u32)>,
    /// The right side.
    pub most: u32,
}

impl Cover {
    /// Takes an item out and returns its weight.
    pub fn take(&mut self, name: u32) -> u32 {
        let at = self.weights.binary_search_by_key(&name, |w| w.0);
        at.map_or(0, |at| self.weights.remove(at).1)
    }

    /// The weight of an item.
    pub fn weight(&self, name: u32) -> u32 {
        let at = self.weights.binary_search_by_key(&name, |w| w.0);
        at.map_or(0, |at| self.weights[at].1)
    }

    /// The sum of the weights of all items and the right side.
    pub fn total(&self) -> f64 {
        let weights = self.weights.iter().map(|w| f64::from(w.1));
        weights.sum::<f64>() + f64::from(self.most)
    }
}

/// Violation below which a row is discarded, as a share of its norm.
pub const VIOLATION: f64 = 0.01;
/// Tolerance within which a value counts as 0 or 1.
const VALUE_TOLERANCE: f64 = 1e-6;
/// Limit on the sum of weights: a heavier row would nearly be the knapsack row itself.
const HEAVIEST: usize = 4096;

/// Items with weights.
struct Lifted {
    weights: Vec<(CoverItem, u32)>,
    /// Fewest bytes for each weight.
    least: Vec<u64>,
}

impl Lifted {
    /// The largest weight that fits.
    fn most(&self, capacity: u64) -> usize {
        self.least.partition_point(|bytes| *bytes <= capacity) - 1
    }

    /// Adds an item; `None` if the total weight gets too large.
    fn add(&mut self, item: &CoverItem, weight: usize) -> Option<()> {
        if weight == 0 {
            return Some(());
        }
        self.weights.push((*item, weight as u32));
        self.least.resize(self.least.len() + weight, u64::MAX);
        for v in (1..self.least.len()).rev() {
            let without = self.least[v.saturating_sub(weight)];
            self.least[v] = self.least[v].min(without.saturating_add(item.bytes));
        }
        (self.least.len() <= HEAVIEST).then_some(())
    }
}

/// Finds a row that the items' values violate by more than `violation` of its norm, with the
/// violation.
///
/// Values are between 0 and 1, approximately. Returns `None` if the items with value 1 exceed the
/// capacity.
pub fn separate(items: &[CoverItem], capacity: u64, violation: f64) -> Option<(f64, Cover)> {
    let whole = |item: &&CoverItem| item.value > 1.0 - VALUE_TOLERANCE;
    let there: u64 = items.iter().filter(whole).map(|i| i.bytes).sum();
    let room = capacity.checked_sub(there)?;
    let mut fractional: Vec<CoverItem> = items
        .iter()
        .filter(|i| !whole(i) && i.value > VALUE_TOLERANCE)
        .copied()
        .collect();
    // Items that lack much per byte come last, so that the cover lacks as little as possible.
    fractional.sort_by(|a, b| {
        let lack = |i: &CoverItem| (1.0 - i.value) / i.bytes as f64;
        lack(a).total_cmp(&lack(b)).then(a.name.cmp(&b.name))
    });
    let mut filled = 0;
    let mut length = fractional.len();
    for (k, item) in fractional.iter().enumerate() {
        filled += item.bytes;
        if filled > room {
            length = k + 1;
            break;
        }
    }
    if filled <= room {
        return None;
    }
    // Makes the cover minimal: the items with the smallest values are removed first.
    let mut cover: Vec<CoverItem> = fractional.drain(..length).collect();
    cover.sort_by(|a, b| a.value.total_cmp(&b.value).then(a.name.cmp(&b.name)));
    let mut others = fractional;
    cover.retain(|item| {
        let spare = filled - item.bytes > room;
        if spare {
            filled -= item.bytes;
            others.push(*item);
        }
        !spare
    });
    let (mut lifted, most) = lift(items, &cover, others, room, violation)?;
    lifted.sort_unstable_by_key(|l| l.0.name);
    let (over, norm) = excess(&lifted, most);
    let share = over / norm;
    let row = || Cover {
        weights: lifted.iter().map(|l| (l.0.name, l.1)).collect(),
        most: most as u32,
    };
    (share > violation).then(|| (share, row()))
}

/// Excess of the weighted values over `most`, and the norm of the weights.
fn excess(weights: &[(CoverItem, u32)], most: usize) -> (f64, f64) {
    let (mut over, mut norm) = (-(most as f64), 0.0);
    for &(item, weight) in weights {
        over += f64::from(weight) * item.value;
        norm += f64::from(weight) * f64::from(weight);
    }
    (over, norm.sqrt())
}

/// Lifts `sum_cover x <= |cover| - 1`, valid for a capacity of `room`: first the fractional
/// `others`, then the items with value 1, then those with value 0. Returns weights and right side;
/// `None` if the violation is below `violation` times the norm.
fn lift(
    items: &[CoverItem],
    cover: &[CoverItem],
    mut others: Vec<CoverItem>,
    mut room: u64,
    violation: f64,
) -> Option<(Vec<(CoverItem, u32)>, usize)> {
    let mut lifted = Lifted {
        weights: Vec::new(),
        least: vec![0],
    };
    for item in cover {
        lifted.add(item, 1)?;
    }
    let mut most = cover.len() - 1;
    let large_first = |some: &dyn Fn(&CoverItem) -> bool| {
        let mut list: Vec<CoverItem> = items.iter().filter(|i| some(i)).copied().collect();
        list.sort_by(|a, b| b.bytes.cmp(&a.bytes).then(a.name.cmp(&b.name)));
        list
    };
    let up = |item: &CoverItem, most: usize, room: u64, lifted: &Lifted| match room
        .checked_sub(item.bytes)
    {
        Some(beside) => most - lifted.most(beside).min(most),
        // The item does not fit beside the whole items: any weight is valid.
        None => most + 1,
    };
    others.sort_by(|a, b| b.value.total_cmp(&a.value).then(a.name.cmp(&b.name)));
    for item in &others {
        let weight = up(item, most, room, &lifted);
        lifted.add(item, weight)?;
    }
    for item in large_first(&|i| i.value > 1.0 - VALUE_TOLERANCE) {
        room += item.bytes;
        let weight = lifted.most(room) - most;
        most += weight;
        lifted.add(&item, weight)?;
    }
    let absent = large_first(&|i| i.value <= VALUE_TOLERANCE);
    // Absent items add almost no violation, but increase the norm.
    let (over, norm) = excess(&lifted.weights, most);
    let gain = VALUE_TOLERANCE * (absent.len() * (most + 1)) as f64;
    if over + gain < violation * norm {
        return None;
    }
    for item in absent {
        let weight = up(&item, most, room, &lifted);
        lifted.add(&item, weight)?;
    }
    Some((lifted.weights, most))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_hold_for_all_that_fits_and_cut_the_point_off() {
        let mut state = 11u64;
        let mut below = |n: u64| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1);
            (state >> 33) % n
        };
        let (mut found, mut tight) = (0, 0);
        for _ in 0..3_000 {
            let count = 4 + below(7) as u32;
            let sizes: Vec<u64> = (0..count).map(|_| 1 + below(30)).collect();
            let capacity = 10 + below(sizes.iter().sum::<u64>());
            // A vertex of the relaxation, by random prices.
            let mut order: Vec<u32> = (0..count).collect();
            order.sort_by_key(|_| below(1000));
            let mut left = capacity as f64;
            let mut values = vec![0.0; count as usize];
            for i in order {
                let size = sizes[i as usize] as f64;
                values[i as usize] = (left / size).clamp(0.0, 1.0);
                left -= values[i as usize] * size;
            }
            let item = |i: u32| CoverItem {
                name: i,
                bytes: sizes[i as usize],
                value: values[i as usize],
            };
            let items: Vec<CoverItem> = (0..count).map(item).collect();
            let Some((share, row)) = separate(&items, capacity, 1e-6) else {
                continue;
            };
            assert!(share > 0.0);
            found += 1;
            let mut reached = 0;
            for set in 0u32..1 << count {
                let has = |i: u32| set >> i & 1 == 1;
                let bytes: u64 = (0..count)
                    .filter(|i| has(*i))
                    .map(|i| sizes[i as usize])
                    .sum();
                if bytes > capacity {
                    continue;
                }
                let there = row.weights.iter().filter(|w| has(w.0));
                let weight: u32 = there.map(|w| w.1).sum();
                assert!(weight <= row.most, "{sizes:?} {capacity} {row:?} {set:b}");
                reached = reached.max(weight);
            }
            tight += u32::from(reached == row.most);
        }
        assert!(found > 1_000, "{found}");
        assert_eq!(tight, found);
    }
}
