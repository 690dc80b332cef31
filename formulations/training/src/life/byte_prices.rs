//! Payments for a byte from moment to moment.

use remat_solver::price::Number;

/// Payments for a byte at moments, measured by one gauge: moment `stage * turns + turn` is a turn
/// in a stage. Few of the moments have one.
#[derive(Clone, Debug)]
pub(crate) struct BytePrices<T> {
    /// Measure of sizes.
    pub gauge: u32,
    /// First paid moment of every stage, and the end.
    first: Vec<u32>,
    /// The turns of the paid moments, ascending in each stage.
    turns: Vec<u32>,
    /// Sum of the payments before each of them, and of all.
    before: Vec<T>,
}

impl<T: Number> BytePrices<T> {
    /// Payments at moments, in any order, of so many turns in each of so many stages.
    pub fn new(gauge: u32, stages: usize, turns: usize, mut paid: Vec<(u32, T)>) -> Self {
        paid.sort_by_key(|p| p.0);
        let place = |moment: u32| (moment as usize / turns, moment as usize % turns);
        let mut first = vec![0; stages + 1];
        for p in &paid {
            first[place(p.0).0 + 1] += 1;
        }
        for t in 0..stages {
            first[t + 1] += first[t];
        }
        let mut sum = T::ZERO;
        let mut before = vec![sum];
        before.extend(paid.iter().map(|p| {
            sum = sum + p.1;
            sum
        }));
        BytePrices {
            gauge,
            first,
            turns: paid.iter().map(|p| place(p.0).1 as u32).collect(),
            before,
        }
    }

    /// Payment for a byte over all moments before a turn in a stage together.
    #[inline]
    pub fn before(&self, stage: u32, turn: u32) -> T {
        let stage = stage as usize;
        let first = self.first[stage] as usize;
        let own = &self.turns[first..self.first[stage + 1] as usize];
        self.before[first + own.partition_point(|k| *k < turn)]
    }

    /// Stages with paid moments, ascending.
    pub fn stages(&self) -> impl Iterator<Item = u32> + '_ {
        let is_paid = |t: &usize| self.first[*t] < self.first[t + 1];
        (0..self.first.len() - 1).filter(is_paid).map(|t| t as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn before_a_turn_are_all_moments_of_earlier_stages_and_earlier_turns() {
        let paid: Vec<(u32, i128)> = vec![(16, 40), (5, 1), (15, 20), (6, 3), (24, 7)];
        let prices = BytePrices::new(0, 5, 5, paid.clone());
        for stage in 0..5 {
            for turn in 0..=5 {
                let sum = paid.iter().filter(|p| (p.0 / 5, p.0 % 5) < (stage, turn));
                assert_eq!(
                    prices.before(stage, turn),
                    sum.map(|p| p.1).sum::<i128>(),
                    "before ({stage}, {turn})"
                );
            }
        }
        assert_eq!(prices.stages().collect::<Vec<_>>(), [1, 3, 4]);
    }
}
