//! Time shared by the tree and the primal heuristic: work of the tree adds a debt, and moves of the
//! heuristic pay it off.

/// Approximate number of LP ticks in the time of a move of the primal heuristic.
const TICKS_PER_MOVE: u64 = 400;
/// Gap above which a better solution is worth more than the tree: the heuristic starts with half of
/// the time.
const WIDE_GAP: f64 = 0.01;
/// Gap below which improvements are rare.
const NARROW_GAP: f64 = 5e-4;
/// The tree's time in multiples of the heuristic's: the first value (unless the gap is wide), and
/// the limit.
const TREE_SHARE: u32 = 2;
const TREE_SHARE_LIMIT: u32 = 5;
const TREE_SHARE_LIMIT_IF_NARROW: u32 = 20;
/// Calls of the heuristic without an improvement between two rises of the tree's share.
const IDLE_CALLS_PER_RISE: u32 = 2;

/// The work that the primal heuristic is owed, and its number of calls without an improvement.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Share {
    /// In ticks of the LP solver.
    owed: i64,
    idle: u32,
}

impl Share {
    /// Adds a debt for work of the tree, at these values of the best cost and the bound.
    pub fn owe(&mut self, ticks: u64, best: Option<u64>, bound: u64) {
        self.owed += (ticks / u64::from(self.of_tree(best, bound))) as i64;
    }

    /// Returns whether it is the primal heuristic's turn.
    pub fn is_due(&self) -> bool {
        self.owed > 0
    }

    /// Pays for `moves` of the heuristic; `better` if they found a better solution.
    pub fn pay(&mut self, moves: u64, better: bool) {
        self.owed -= (moves * TICKS_PER_MOVE) as i64;
        self.idle = if better { 0 } else { self.idle + 1 };
    }

    /// The tree's work in multiples of the primal heuristic's.
    fn of_tree(&self, best: Option<u64>, bound: u64) -> u32 {
        let (least, most) = match best.map_or(f64::INFINITY, |best| gap(best, bound)) {
            gap if gap > WIDE_GAP => (1, TREE_SHARE_LIMIT),
            gap if gap > NARROW_GAP => (TREE_SHARE, TREE_SHARE_LIMIT),
            _ => (TREE_SHARE, TREE_SHARE_LIMIT_IF_NARROW),
        };
        (least + self.idle / IDLE_CALLS_PER_RISE).min(most)
    }
}

/// Returns whether the gap is so wide that a better solution is worth more than the tree.
pub fn is_far(best: u64, bound: u64) -> bool {
    gap(best, bound) > WIDE_GAP
}

fn gap(best: u64, bound: u64) -> f64 {
    best.saturating_sub(bound) as f64 / best.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tree_gets_more_the_narrower_the_gap_and_the_longer_nothing_is_found() {
        let mut share = Share::default();
        let of_tree = |share: &Share| {
            let bounds = [9_000, 9_950, 9_999];
            bounds.map(|bound| share.of_tree(Some(10_000), bound))
        };
        assert_eq!(of_tree(&share), [1, 2, 2]);
        assert_eq!(share.of_tree(None, 9_999), 1);
        (0..6).for_each(|_| share.pay(0, false));
        assert_eq!(of_tree(&share), [4, 5, 5]);
        (0..60).for_each(|_| share.pay(0, false));
        assert_eq!(of_tree(&share), [5, 5, 20]);
        share.pay(0, true);
        assert_eq!(of_tree(&share), [1, 2, 2]);
    }

    #[test]
    fn the_annealing_is_due_until_its_moves_match_what_is_owed() {
        let mut share = Share::default();
        assert!(!share.is_due());
        share.owe(10 * TICKS_PER_MOVE, Some(10_000), 9_950);
        share.pay(4, false);
        assert!(share.is_due());
        share.pay(1, false);
        assert!(!share.is_due());
    }
}
