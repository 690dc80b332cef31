//! How the tree and the annealing beside it share the time: work of the tree is owed, moves of the annealing pay for it.

/// Ticks of the LP solver in the time of a move of Checkmate's annealing, about.
const TICKS_PER_MOVE: u64 = 400;
/// Where the gap is wider than this share, a better schedule is worth more: half of the time is annealed at first.
const FAR: f64 = 0.01;
/// Elsewhere the tree has so many times as much as the annealing; more by one after every `IDLE` calls of it that find nothing, up to
/// `MOST`, and up to `MOST_NEAR` where the gap is less than the share `NEAR`: there is little left to find.
const SHARE: u32 = 2;
const IDLE: u32 = 2;
const MOST: u32 = 5;
const NEAR: f64 = 5e-4;
const MOST_NEAR: u32 = 20;

/// What the annealing is still owed, and how long it has found nothing.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Share {
    /// In ticks of the LP solver.
    owed: i64,
    idle: u32,
}

impl Share {
    /// Notes work of the tree, done when the best cost and the bound were these.
    pub fn owe(&mut self, ticks: u64, best: Option<u64>, bound: u64) {
        self.owed += (ticks / u64::from(self.of_tree(best, bound))) as i64;
    }

    /// Whether it is the annealing's turn.
    pub fn is_due(&self) -> bool {
        self.owed > 0
    }

    /// Notes so many moves, and whether they found a better schedule.
    pub fn pay(&mut self, moves: u64, better: bool) {
        self.owed -= (moves * TICKS_PER_MOVE) as i64;
        self.idle = if better { 0 } else { self.idle + 1 };
    }

    /// How many times as much work as the annealing the tree gets.
    fn of_tree(&self, best: Option<u64>, bound: u64) -> u32 {
        let (least, most) = match best.map_or(f64::INFINITY, |best| gap(best, bound)) {
            gap if gap > FAR => (1, MOST),
            gap if gap > NEAR => (SHARE, MOST),
            _ => (SHARE, MOST_NEAR),
        };
        (least + self.idle / IDLE).min(most)
    }
}

/// Whether the best schedule costs so much more than the bound that a better one is worth more than the tree.
pub(crate) fn is_far(best: u64, bound: u64) -> bool {
    gap(best, bound) > FAR
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
