//! Memory over the stages, with ranges that are lowered and queries for the maximum.

/// Bytes of each stage, with ranges that are lowered: a tree over the stages, with updates and
/// queries in logarithmic time.
#[derive(Clone, Debug)]
pub(super) struct Profile {
    /// Leaves, a power of two.
    width: usize,
    /// Most bytes below each node of the tree, without the lowering of the nodes above it. The root
    /// is at 1, the children of `k` at `2 k` and `2 k + 1`.
    most: Vec<i64>,
    /// Bytes by which the whole of each node is lowered, included in its own `most`.
    lowered: Vec<i64>,
}

impl Profile {
    pub fn new(bytes: &[u64]) -> Self {
        let width = bytes.len().next_power_of_two();
        let mut most = vec![0; 2 * width];
        for (leaf, bytes) in most[width..].iter_mut().zip(bytes) {
            *leaf = *bytes as i64;
        }
        for k in (1..width).rev() {
            most[k] = most[2 * k].max(most[2 * k + 1]);
        }
        Profile {
            width,
            lowered: vec![0; most.len()],
            most,
        }
    }

    /// The most bytes of any stage.
    pub fn most(&self) -> u64 {
        self.most[1].max(0) as u64
    }

    /// The most bytes of the stages from the first to the last, both included.
    pub fn most_in(&self, range: [usize; 2]) -> u64 {
        self.ask(1, [0, self.width - 1], range).max(0) as u64
    }

    /// Lowers the stages from the first to the last.
    pub fn lower(&mut self, range: [usize; 2], bytes: u64) {
        self.change(1, [0, self.width - 1], range, bytes as i64);
    }

    fn ask(&self, k: usize, [from, to]: [usize; 2], range: [usize; 2]) -> i64 {
        if range[0] <= from && to <= range[1] {
            return self.most[k];
        }
        if to < range[0] || range[1] < from {
            return i64::MIN / 2;
        }
        let middle = (from + to) / 2;
        let left = self.ask(2 * k, [from, middle], range);
        let right = self.ask(2 * k + 1, [middle + 1, to], range);
        left.max(right) - self.lowered[k]
    }

    fn change(&mut self, k: usize, [from, to]: [usize; 2], range: [usize; 2], bytes: i64) {
        if to < range[0] || range[1] < from {
            return;
        }
        if range[0] <= from && to <= range[1] {
            self.lowered[k] += bytes;
            self.most[k] -= bytes;
            return;
        }
        let middle = (from + to) / 2;
        self.change(2 * k, [from, middle], range, bytes);
        self.change(2 * k + 1, [middle + 1, to], range, bytes);
        self.most[k] = self.most[2 * k].max(self.most[2 * k + 1]) - self.lowered[k];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn ranges_are_those_of_a_plain_list(
            bytes in prop::collection::vec(0..99u64, 1..40),
            changes in prop::collection::vec((0..40usize, 0..40usize, 0..9u64), 0..20),
        ) {
            let mut profile = Profile::new(&bytes);
            let mut list: Vec<i64> = bytes.iter().map(|b| *b as i64).collect();
            for (a, b, less) in changes {
                let (from, to) = (a.min(b) % list.len(), a.max(b) % list.len());
                let (from, to) = (from.min(to), from.max(to));
                profile.lower([from, to], less);
                list[from..=to].iter_mut().for_each(|l| *l -= less as i64);
                let most = list[from..=to].iter().max().map_or(0, |m| *m.max(&0));
                prop_assert_eq!(profile.most_in([from, to]), most as u64);
                let all = list.iter().max().map_or(0, |m| *m.max(&0));
                prop_assert!(profile.most() == all as u64 || list.len() < profile.width);
            }
        }
    }
}
