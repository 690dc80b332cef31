//! The best item that is live in a section and within a range of sections.

/// A tree over items by their first section. Each node has its items by last section, with a tree
/// of the best ranks. Taken items have no rank.
pub(super) struct ChoiceTree {
    /// Leaves, a power of two.
    leaves: usize,
    /// First section of the item of each leaf.
    begins: Vec<u32>,
    nodes: Vec<ChoiceNode>,
    /// Leaf of each item.
    leaf: Vec<u32>,
    /// Item of each rank.
    items: Vec<u32>,
    ends: Vec<u32>,
}

/// Items of a node.
struct ChoiceNode {
    /// Last section and item, ascending.
    ends: Vec<(u32, u32)>,
    /// Best rank of ranges of these: leaves are the second half.
    best: Vec<u32>,
}

const TAKEN: u32 = u32::MAX;

impl ChoiceTree {
    /// Some of the items, by the spans and ranks of all.
    pub fn new(spans: &[(u32, u32)], chosen: &[u32], ranks: &[u32]) -> Self {
        let leaves = chosen.len().next_power_of_two().max(1);
        let mut order: Vec<u32> = chosen.to_vec();
        order.sort_unstable_by_key(|&item| (spans[item as usize].0, item));
        let mut leaf = vec![0; spans.len()];
        let mut lists: Vec<Vec<(u32, u32)>> = vec![Vec::new(); 2 * leaves];
        for (position, &item) in order.iter().enumerate() {
            leaf[item as usize] = position as u32;
            let mut node = leaves + position;
            while node > 0 {
                lists[node].push((spans[item as usize].1, item));
                node /= 2;
            }
        }
        let nodes = lists.into_iter().map(|mut ends| {
            ends.sort_unstable();
            let mut best = vec![TAKEN; 2 * ends.len()];
            for (position, &(_, item)) in ends.iter().enumerate() {
                best[ends.len() + position] = ranks[item as usize];
            }
            for k in (1..ends.len()).rev() {
                best[k] = best[2 * k].min(best[2 * k + 1]);
            }
            ChoiceNode { ends, best }
        });
        let nodes = nodes.collect();
        let mut items = vec![0; spans.len()];
        for (item, &rank) in ranks.iter().enumerate() {
            items[rank as usize] = item as u32;
        }
        let begins = order.iter().map(|&item| spans[item as usize].0).collect();
        let ends = spans.iter().map(|span| span.1).collect();
        ChoiceTree {
            leaves,
            begins,
            nodes,
            leaf,
            items,
            ends,
        }
    }

    /// The item of best rank whose first section is in one range and whose end is in another. Both
    /// ranges include their last value.
    pub fn best(&self, begins: (u32, u32), ends: (u32, u32)) -> Option<u32> {
        let mut low = self.leaves + self.begins.partition_point(|&begin| begin < begins.0);
        let mut high = self.leaves + self.begins.partition_point(|&begin| begin <= begins.1);
        let (section, to) = (ends.0 - 1, ends.1);
        let mut best = TAKEN;
        while low < high {
            if low % 2 == 1 {
                best = best.min(self.nodes[low].best(section, to));
                low += 1;
            }
            if high % 2 == 1 {
                high -= 1;
                best = best.min(self.nodes[high].best(section, to));
            }
            low /= 2;
            high /= 2;
        }
        (best != TAKEN).then(|| self.items[best as usize])
    }

    /// First section from `from` on at which an item begins that ends by `to`; `to` if there is no
    /// such item.
    pub fn next_begin(&self, from: u32, to: u32) -> u32 {
        let low = self.begins.partition_point(|&begin| begin < from);
        let has_item = |node: usize| self.nodes[node].best(from, to) != TAKEN;
        // Up from the first leaf to a node with such an item, then down to its first leaf.
        let mut node = self.leaves + low;
        if low >= self.begins.len() {
            return to;
        }
        while !has_item(node) {
            while node % 2 == 1 {
                node /= 2;
            }
            if node == 0 {
                return to;
            }
            node += 1;
        }
        while node < self.leaves {
            node = if has_item(2 * node) {
                2 * node
            } else {
                2 * node + 1
            };
        }
        self.begins[node - self.leaves].min(to)
    }

    /// Removes an item.
    pub fn take(&mut self, item: u32) {
        let end = self.ends[item as usize];
        let mut node = self.leaves + self.leaf[item as usize] as usize;
        while node > 0 {
            self.nodes[node].take(end, item);
            node /= 2;
        }
    }
}

impl ChoiceNode {
    /// The best rank of the items that end after a section and by `to`.
    fn best(&self, section: u32, to: u32) -> u32 {
        let count = self.ends.len();
        let mut low = count + self.ends.partition_point(|&(end, _)| end <= section);
        let mut high = count + self.ends.partition_point(|&(end, _)| end <= to);
        let mut best = TAKEN;
        while low < high {
            if low % 2 == 1 {
                best = best.min(self.best[low]);
                low += 1;
            }
            if high % 2 == 1 {
                high -= 1;
                best = best.min(self.best[high]);
            }
            low /= 2;
            high /= 2;
        }
        best
    }

    fn take(&mut self, end: u32, item: u32) {
        let Ok(position) = self.ends.binary_search(&(end, item)) else {
            return;
        };
        let mut k = self.ends.len() + position;
        self.best[k] = TAKEN;
        while k > 1 {
            k /= 2;
            self.best[k] = self.best[2 * k].min(self.best[2 * k + 1]);
        }
    }
}
