//! Positions that a sparse pass has yet to visit.

/// A set of positions, as bits, empty between passes. Positions are numbered in elimination order.
/// A pass that always takes the lowest (or highest) position and marks those it reaches visits all
/// of them in the right order. So it needs no search beforehand, unlike Gilbert & Peierls 1988, and
/// its result is sorted. Skipping unmarked positions costs one word per 64 positions.
#[derive(Clone, Debug, Default)]
pub(super) struct PendingSet {
    words: Vec<u64>,
}

impl PendingSet {
    /// Makes room for positions below `m`, all unmarked.
    pub fn resize(&mut self, m: usize) {
        self.words.clear();
        self.words.resize(m.div_ceil(64), 0);
    }

    #[inline(always)]
    pub fn mark(&mut self, position: u32) {
        self.words[position as usize / 64] |= 1 << (position % 64);
    }

    pub fn mark_all(&mut self, positions: &[u32]) {
        for &p in positions {
            self.mark(p);
        }
    }

    /// Takes all positions out in ascending order; `visit` may mark higher ones.
    #[inline(always)]
    pub fn ascending(&mut self, mut visit: impl FnMut(&mut PendingSet, u32)) {
        for w in 0..self.words.len() {
            while self.words[w] != 0 {
                let bit = self.words[w].trailing_zeros();
                self.words[w] &= self.words[w] - 1;
                visit(self, 64 * w as u32 + bit);
            }
        }
    }

    /// Takes all positions out in descending order; `visit` may mark lower ones.
    #[inline(always)]
    pub fn descending(&mut self, mut visit: impl FnMut(&mut PendingSet, u32)) {
        for w in (0..self.words.len()).rev() {
            while self.words[w] != 0 {
                let bit = 63 - self.words[w].leading_zeros();
                self.words[w] &= !(1 << bit);
                visit(self, 64 * w as u32 + bit);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_marked_on_the_way_is_visited_in_order() {
        let mut pending = PendingSet::default();
        pending.resize(200);
        pending.mark_all(&[130, 3, 64, 3]);
        let mut up = Vec::new();
        pending.ascending(|pending, p| {
            up.push(p);
            if p < 100 {
                pending.mark(p + 1 + p % 2 * 90);
            }
        });
        assert_eq!(up, [3, 64, 65, 94, 95, 130, 156, 186]);
        pending.mark_all(&[199, 0]);
        let mut down = Vec::new();
        pending.descending(|pending, p| {
            down.push(p);
            if p > 150 {
                pending.mark(p - 36);
            }
        });
        assert_eq!(down, [199, 163, 127, 0]);
        pending.ascending(|_, p| panic!("{p} is still marked"));
    }
}
