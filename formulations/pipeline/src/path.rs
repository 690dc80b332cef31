//! Cuts of least total time, from the times of all intervals.
//!
//! With `n` micro-batches the objective is `sum_s T_s + (n - 1) max_s T_s`, plus sends. For a limit
//! on the maximum the rest is a shortest path over intervals, one edge a stage.

use crate::limits::{self, Limited};

/// Time of an interval that no stage can have.
pub const IMPOSSIBLE: u64 = u64::MAX;

/// What a cut costs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CutTime {
    /// Time of both sends for one micro-batch: part of the sum.
    pub sum: u64,
    /// Time of the slower lane for one micro-batch: part of the maximum.
    pub lane: u64,
}

/// The outer problem.
pub struct Outer<'a, T> {
    /// Number of stages.
    pub stages: usize,
    /// Time of a cut at each point, from the begin to the end of the model; both ends are no cuts.
    pub points: &'a [CutTime],
    /// Weight of the maximum: micro-batches behind the first one.
    pub steps: u64,
    /// Time of a stage between two points, or [`IMPOSSIBLE`].
    pub time: T,
}

/// Cuts with their objective.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cuts {
    /// Points of the cuts, ascending.
    pub at: Vec<usize>,
    /// The objective.
    pub objective: u64,
}

impl<T: Fn(usize, usize, usize) -> u64> Outer<'_, T> {
    /// Cuts of least objective; `None` if every choice has an impossible stage.
    pub fn best(&self) -> Option<Cuts> {
        let least = self.least_maximum()?;
        let found = limits::best(self.steps, least, |limit| {
            let (sum, at) = self.least_sum(limit)?;
            Some(Limited {
                sum,
                maximum: self.maximum(&at),
                choice: at,
            })
        });
        found.map(|(objective, at)| Cuts { at, objective })
    }

    /// Lower bound on the objective by two paths: the least sum and the least maximum. `None` if
    /// every choice has an impossible stage.
    pub fn quick_bound(&self) -> Option<u64> {
        let (sum, _) = self.shortest()?;
        let steady = self.steps.saturating_mul(self.least_maximum()?);
        Some(sum.saturating_add(steady))
    }

    /// Cuts whose sum is least; the maximum has no weight.
    pub fn shortest(&self) -> Option<(u64, Vec<usize>)> {
        self.least_sum(IMPOSSIBLE - 1)
    }

    fn end(&self) -> usize {
        self.points.len() - 1
    }

    fn maximum(&self, at: &[usize]) -> u64 {
        let begins = std::iter::once(0).chain(at.iter().copied());
        let ends = at.iter().copied().chain([self.end()]);
        let times = begins
            .zip(ends)
            .enumerate()
            .map(|(s, (i, j))| (self.time)(s, i, j));
        let lanes = at.iter().map(|&p| self.points[p].lane);
        times.chain(lanes).max().unwrap_or(0)
    }

    /// Points at which stage `s` can end.
    fn ends(&self, s: usize) -> std::ops::RangeInclusive<usize> {
        match s + 1 == self.stages {
            true => self.end()..=self.end(),
            false => s + 1..=self.end() + s + 1 - self.stages,
        }
    }

    /// Points at which stage `s` can begin.
    fn begins(&self, s: usize) -> std::ops::RangeInclusive<usize> {
        match s {
            0 => 0..=0,
            _ => self.ends(s - 1),
        }
    }

    /// The least maximum of any choice of cuts.
    fn least_maximum(&self) -> Option<u64> {
        if self.end() < self.stages {
            return None;
        }
        let mut before = vec![IMPOSSIBLE; self.points.len()];
        before[0] = 0;
        for s in 0..self.stages {
            let mut now = vec![IMPOSSIBLE; self.points.len()];
            for j in self.ends(s) {
                let through = |i: usize| {
                    let lane = if s == 0 { 0 } else { self.points[i].lane };
                    before[i].max(lane).max((self.time)(s, i, j))
                };
                let begins = self.begins(s).take_while(|&i| i < j);
                now[j] = begins.map(through).min().unwrap_or(IMPOSSIBLE);
            }
            before = now;
        }
        Some(before[self.end()]).filter(|&least| least < IMPOSSIBLE)
    }

    /// The least sum with a limit on the maximum, and its cuts. Of equal sums the earliest cuts
    /// count.
    fn least_sum(&self, limit: u64) -> Option<(u64, Vec<usize>)> {
        if self.end() < self.stages {
            return None;
        }
        let mut before = vec![IMPOSSIBLE; self.points.len()];
        before[0] = 0;
        let mut from = vec![vec![0usize; self.points.len()]; self.stages];
        for (s, from) in from.iter_mut().enumerate() {
            let mut now = vec![IMPOSSIBLE; self.points.len()];
            for j in self.ends(s) {
                for i in self.begins(s).take_while(|&i| i < j) {
                    let cut = match s {
                        0 => CutTime::default(),
                        _ => self.points[i],
                    };
                    let time = (self.time)(s, i, j);
                    if before[i] == IMPOSSIBLE || time.max(cut.lane) > limit {
                        continue;
                    }
                    let sum = before[i].saturating_add(time).saturating_add(cut.sum);
                    if sum < now[j] {
                        (now[j], from[j]) = (sum, i);
                    }
                }
            }
            before = now;
        }
        let sum = before[self.end()];
        if sum == IMPOSSIBLE {
            return None;
        }
        let mut at = Vec::with_capacity(self.stages - 1);
        let mut j = self.end();
        for s in (1..self.stages).rev() {
            j = from[s][j];
            at.push(j);
        }
        at.reverse();
        Some((sum, at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// All choices of cuts.
    fn every(stages: usize, end: usize) -> Vec<Vec<usize>> {
        let mut all = vec![vec![]];
        for _ in 1..stages {
            all = all
                .iter()
                .flat_map(|at: &Vec<usize>| {
                    let next = at.last().map_or(1, |last| last + 1);
                    (next..end).map(|p| [&at[..], &[p]].concat())
                })
                .collect();
        }
        all
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]
        #[test]
        fn cuts_are_the_best_of_all(
            stages in 1usize..5,
            end in 1usize..8,
            steps in 0u64..9,
            values in prop::collection::vec(prop_oneof![9 => 0u64..30, 1 => Just(IMPOSSIBLE)], 256),
            sends in prop::collection::vec((0u64..5, 0u64..40), 9),
        ) {
            let cuts = sends[..=end].iter().map(|&(sum, lane)| CutTime { sum, lane });
            let points: Vec<CutTime> = cuts.collect();
            let time = |s: usize, i: usize, j: usize| values[(s * 8 + i) * 8 + j - 1];
            let outer = Outer { stages, points: &points, steps, time };
            let objective = |at: &Vec<usize>| -> Option<u64> {
                let begins = std::iter::once(0).chain(at.iter().copied());
                let ends = at.iter().copied().chain([end]);
                let times: Vec<u64> = begins.zip(ends).enumerate().map(|(s, (i, j))| time(s, i, j)).collect();
                if times.contains(&IMPOSSIBLE) {
                    return None;
                }
                let lanes = at.iter().map(|&p| points[p].lane);
                let maximum = times.iter().copied().chain(lanes).max()?;
                let sent: u64 = at.iter().map(|&p| points[p].sum).sum();
                Some(times.iter().sum::<u64>() + sent + steps * maximum)
            };
            prop_assert!(outer.quick_bound() <= outer.best().map(|found| found.objective));
            let expected = match end >= stages {
                true => every(stages, end).iter().filter_map(objective).min(),
                false => None,
            };
            let found = outer.best();
            prop_assert_eq!(found.as_ref().map(|f| f.objective), expected);
            if let Some(found) = found {
                prop_assert_eq!(objective(&found.at), Some(found.objective));
            }
        }
    }
}
