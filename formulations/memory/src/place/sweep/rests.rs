//! Units that are left to place in each section, and the sections with the most.

use super::super::problem::PlaceProblem;

/// A tree of largest rests over the sections, with updates of ranges.
#[derive(Clone)]
pub(super) struct Rests {
    /// Leaves, a power of two.
    leaves: usize,
    /// Largest rest below each node, without the changes above it.
    largest: Vec<u64>,
    /// Units placed in the whole range of each node.
    placed: Vec<u64>,
}

impl Rests {
    /// The rests before the first placement; gaps count as life.
    pub fn new(spans: &[(u32, u32)], problem: &PlaceProblem) -> Self {
        let leaves = problem.sections.next_power_of_two().max(1);
        let mut changes = vec![0i64; leaves + 1];
        for (span, item) in spans.iter().zip(&problem.items) {
            changes[span.0 as usize] += item.size as i64;
            changes[span.1 as usize] -= item.size as i64;
        }
        let mut largest = vec![0; 2 * leaves];
        let mut sum = 0;
        for (section, change) in changes[..leaves].iter().enumerate() {
            sum += change;
            largest[leaves + section] = sum as u64;
        }
        for node in (1..leaves).rev() {
            largest[node] = largest[2 * node].max(largest[2 * node + 1]);
        }
        Rests {
            leaves,
            largest,
            placed: vec![0; 2 * leaves],
        }
    }

    /// Takes the units of a placed item out of its sections.
    pub fn place(&mut self, (from, to): (u32, u32), size: u64) {
        self.subtract(1, 0, self.leaves, from as usize, to as usize, size);
    }

    fn subtract(
        &mut self,
        node: usize,
        low: usize,
        high: usize,
        from: usize,
        to: usize,
        size: u64,
    ) {
        if to <= low || high <= from {
            return;
        }
        if from <= low && high <= to {
            self.placed[node] += size;
            self.largest[node] -= size;
            return;
        }
        let middle = usize::midpoint(low, high);
        self.subtract(2 * node, low, middle, from, to, size);
        self.subtract(2 * node + 1, middle, high, from, to, size);
        let below = self.largest[2 * node].max(self.largest[2 * node + 1]);
        self.largest[node] = below - self.placed[node];
    }

    /// The section of a range with the largest rest, the first of these, and its rest.
    pub fn fullest(&self, from: u32, to: u32) -> (u32, u64) {
        let range = (from as usize, to as usize);
        let mut best = (from, None);
        self.search(1, (0, self.leaves), range, 0, &mut best);
        (best.0, best.1.unwrap_or(0))
    }

    /// The first section below a node with its largest rest.
    fn leaf(&self, mut node: usize, mut low: usize, mut high: usize) -> usize {
        while high - low > 1 {
            let middle = usize::midpoint(low, high);
            let is_left = self.largest[2 * node] >= self.largest[2 * node + 1];
            node = 2 * node + usize::from(!is_left);
            (low, high) = if is_left {
                (low, middle)
            } else {
                (middle, high)
            };
        }
        low
    }

    fn search(
        &self,
        node: usize,
        (low, high): (usize, usize),
        (from, to): (usize, usize),
        above: u64,
        best: &mut (u32, Option<u64>),
    ) {
        if to <= low || high <= from || best.1 >= Some(self.largest[node] - above) {
            return;
        }
        if from <= low && high <= to {
            *best = (
                self.leaf(node, low, high) as u32,
                Some(self.largest[node] - above),
            );
            return;
        }
        let middle = usize::midpoint(low, high);
        let above = above + self.placed[node];
        self.search(2 * node, (low, middle), (from, to), above, best);
        self.search(2 * node + 1, (middle, high), (from, to), above, best);
    }
}
