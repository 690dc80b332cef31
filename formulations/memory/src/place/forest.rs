//! First fit of very many buffers: occupied addresses in a tree over sections.
//!
//! A buffer covers `O(log n)` nodes. Each node has the addresses that are taken in all of its
//! sections, and those that are taken in any of them. The lowest free place of a buffer is found by
//! one pass over the lists of its nodes, which neighbours have merged: far fewer entries than
//! buffers that are live together with it.

use super::problem::{PlaceProblem, align};
use super::search::LaneStop;

/// Ranges of addresses, ascending and disjoint.
type Ranges = Vec<(u64, u64)>;

/// A tree of occupied addresses.
struct Forest {
    /// Leaves, a power of two.
    leaves: usize,
    /// Addresses taken in all sections of a node, by buffers that no node above has.
    everywhere: Vec<Ranges>,
    /// Addresses taken in some section of a node, without the buffers of nodes above.
    somewhere: Vec<Ranges>,
}

/// Places items by first fit in an order, fixed ones first. `None` after so many steps over lists,
/// or if it is stopped.
pub(super) fn first_fit(
    problem: &PlaceProblem,
    order: impl IntoIterator<Item = u32>,
    steps_limit: u64,
    stop: &LaneStop<'_>,
) -> Option<Vec<u64>> {
    let mut forest = Forest::new(problem.sections);
    let mut offsets = vec![0; problem.items.len()];
    for (item, of) in problem.items.iter().enumerate() {
        if let Some(offset) = of.fixed {
            forest.insert(problem, item, offset);
            offsets[item] = offset;
        }
    }
    let mut steps = 0;
    for item in order {
        let k = item as usize;
        if problem.items[k].fixed.is_none() {
            offsets[k] = forest.lowest(problem, k, &mut steps);
            forest.insert(problem, k, offsets[k]);
            let is_late = item.is_multiple_of(1024) && stop.is_over();
            if steps > steps_limit || is_late {
                return None;
            }
        }
    }
    Some(offsets)
}

impl Forest {
    fn new(sections: usize) -> Self {
        let leaves = sections.next_power_of_two().max(1);
        let empty = || vec![Vec::new(); 2 * leaves];
        Forest {
            leaves,
            everywhere: empty(),
            somewhere: empty(),
        }
    }

    fn insert(&mut self, problem: &PlaceProblem, item: usize, offset: u64) {
        let range = (offset, offset + problem.items[item].size);
        let (own, above) = nodes(self.leaves, problem, item);
        for &node in &own {
            add(&mut self.everywhere[node], range);
        }
        for node in own.into_iter().chain(above) {
            add(&mut self.somewhere[node], range);
        }
    }

    /// The lowest offset at which an item is free.
    fn lowest(&self, problem: &PlaceProblem, item: usize, steps: &mut u64) -> u64 {
        let of = &problem.items[item];
        let (own, above) = nodes(self.leaves, problem, item);
        let own = own.iter().map(|&node| &self.somewhere[node][..]);
        let above = above.iter().map(|&node| &self.everywhere[node][..]);
        let mut lists: Vec<&[(u64, u64)]> =
            own.chain(above).filter(|list| !list.is_empty()).collect();
        let mut offset = 0;
        // Lists in turn, until all of them are free at one offset.
        let (mut free, mut turn) = (0, 0);
        while free < lists.len() {
            let list = &mut lists[turn];
            *list = behind(list, offset);
            free += 1;
            while let Some(&(from, to)) = list.first()
                && from < offset + of.size
            {
                offset = align(to, of.alignment);
                *list = behind(list, offset);
                free = 1;
                *steps += 1;
            }
            *steps += 1;
            turn = (turn + 1) % lists.len();
        }
        offset
    }
}

/// Nodes that cover the stretches of an item, and the nodes above them.
fn nodes(leaves: usize, problem: &PlaceProblem, item: usize) -> (Vec<usize>, Vec<usize>) {
    let mut own = Vec::new();
    for &(from, to) in problem.stretches.list(item) {
        let (mut low, mut high) = (leaves + from as usize, leaves + to as usize);
        while low < high {
            if low % 2 == 1 {
                own.push(low);
                low += 1;
            }
            if high % 2 == 1 {
                high -= 1;
                own.push(high);
            }
            low /= 2;
            high /= 2;
        }
    }
    let mut above = Vec::new();
    for &node in &own {
        let mut node = node / 2;
        while node > 0 && !above.contains(&node) {
            above.push(node);
            node /= 2;
        }
    }
    (own, above)
}

/// The ranges that end behind an offset. Doubling steps find the first.
fn behind(list: &[(u64, u64)], offset: u64) -> &[(u64, u64)] {
    let mut step = 1;
    while step <= list.len() && list[step - 1].1 <= offset {
        step *= 2;
    }
    let (low, high) = (step / 2, (step - 1).min(list.len()));
    let first = low + list[low..high].partition_point(|range| range.1 <= offset);
    &list[first..]
}

/// Adds a range and merges it with those that it meets.
fn add(list: &mut Ranges, (from, to): (u64, u64)) {
    let first = list.partition_point(|range| range.1 < from);
    let met = list[first..].iter().take_while(|range| range.0 <= to);
    let end = first + met.count();
    if first == end {
        list.insert(first, (from, to));
        return;
    }
    list[first] = (from.min(list[first].0), to.max(list[end - 1].1));
    list.drain(first + 1..end);
}

#[cfg(test)]
mod tests {
    use super::super::fit::{Fitter, Rule};
    use super::super::problem::PlaceProblem;
    use super::super::search::LaneStop;
    use super::first_fit;
    use remat_instances::place::{Buffer, Gap, Lives};
    use remat_search::random::SplitMix64;

    /// Compares the tree with a search over all neighbours, with gaps, alignments and fixed
    /// offsets.
    #[test]
    fn first_fit_in_the_tree_equals_first_fit_over_neighbours() {
        for seed in 0..200 {
            let mut random = SplitMix64(seed);
            let mut below = |limit: u64| random.next() % limit;
            let buffers = (0..40).map(|k| {
                let (lower, length) = (below(60), 1 + below(20));
                let mut buffer = Buffer::new(k.to_string(), lower, lower + length, 1 + below(9));
                if length > 4 && below(3) == 0 {
                    buffer.gaps = vec![Gap {
                        lower: lower + 1,
                        upper: lower + 3,
                        window: None,
                    }];
                }
                buffer.alignment = [1, 1, 4, 6][below(4) as usize];
                buffer.offset = (k == 0).then_some(12);
                buffer
            });
            let lives = Lives::new(buffers.collect()).unwrap();
            let order: Vec<u32> = (0..40).collect();
            let problem = PlaceProblem::new(&lives, &order);
            let fitter = Fitter::new(&lives, usize::MAX).unwrap();
            let offsets = first_fit(&problem, 0..40, u64::MAX, &LaneStop::default()).unwrap();
            let bytes: Vec<u64> = offsets.iter().map(|offset| offset * problem.unit).collect();
            assert_eq!(bytes, fitter.place(&order, Rule::First), "seed {seed}");
            assert_eq!(first_fit(&problem, 0..40, 3, &LaneStop::default()), None);
        }
    }
}
