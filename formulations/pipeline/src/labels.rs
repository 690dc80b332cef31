//! Cuts where every stage offers several trade-offs between time and delta.
//!
//! A stage takes one *offer*: a number of layers, a time `t` for each micro-batch, and a delta `d`,
//! the time that it needs once in a step. With `n` micro-batches the objective is
//! `(n - 1) max_s t_s + sum_s t_s + max_s (d_s - sum_{r < s} t_r)`: the stages before hide a delta
//! (Mist, EuroSys 2025, inter-stage program).
//!
//! The last two terms are `max_s (d_s + sum_{r >= s} t_r)`. A label of the first stages is
//! therefore one value, `e' = max(e, d) + t`. It grows with `e`, so of two labels with equally many
//! layers the smaller value dominates. The maximum is limited as for cuts ([`crate::path`]).

use crate::limits::{self, Limited};
use crate::path::IMPOSSIBLE;

/// One choice of a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offer {
    /// Number of layers.
    pub layers: usize,
    /// Time for one micro-batch.
    pub time: u64,
    /// Time needed once, hidden behind the stages before.
    pub delta: u64,
}

/// The problem: one offer for each stage, with all layers in total.
#[derive(Clone, Copy, Debug)]
pub struct Offers<'a> {
    /// Offers of each stage, from first to last.
    pub stages: &'a [Vec<Offer>],
    /// Number of layers in total.
    pub layers: usize,
    /// Weight of the maximum: micro-batches behind the first one.
    pub steps: u64,
}

/// An offer for each stage, with the objective.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// Index of the offer of each stage.
    pub offers: Vec<usize>,
    /// The objective.
    pub objective: u64,
}

impl Offers<'_> {
    /// The choice of least objective; `None` if no choice has all layers.
    ///
    /// ```
    /// use remat_pipeline::labels::{Offer, Offers};
    ///
    /// let offer = |layers, time, delta| Offer { layers, time, delta };
    /// let stages = [vec![offer(1, 5, 1), offer(2, 9, 2)], vec![offer(1, 4, 0), offer(2, 8, 6)]];
    /// let problem = Offers { stages: &stages, layers: 3, steps: 7 };
    /// let choice = problem.best().expect("the layers add up");
    /// // 7 * 8 + 13 + max(1, 6 - 5)
    /// assert_eq!((choice.offers, choice.objective), (vec![0, 1], 70));
    /// ```
    pub fn best(&self) -> Option<Choice> {
        let useful: Vec<Vec<usize>> = self.stages.iter().map(|stage| useful(stage)).collect();
        let least = self.least_maximum(&useful)?;
        let found = limits::best(self.steps, least, |limit| {
            let (sum, offers) = self.least_value(&useful, limit)?;
            Some(Limited {
                sum,
                maximum: self.maximum(&offers),
                choice: offers,
            })
        });
        found.map(|(objective, offers)| Choice { offers, objective })
    }

    /// The objective of one offer for each stage, by its published formula.
    ///
    /// `None` if an index is out of range or the layers do not add up.
    pub fn objective(&self, offers: &[usize]) -> Option<u64> {
        if offers.len() != self.stages.len() {
            return None;
        }
        let taken = self.stages.iter().zip(offers);
        let taken: Option<Vec<&Offer>> = taken.map(|(stage, &o)| stage.get(o)).collect();
        let taken = taken?;
        if taken.iter().map(|o| o.layers).sum::<usize>() != self.layers {
            return None;
        }
        let (mut sum, mut exposed, mut maximum) = (0u64, 0, 0);
        for offer in taken {
            exposed = offer.delta.saturating_sub(sum).max(exposed);
            sum = sum.saturating_add(offer.time);
            maximum = offer.time.max(maximum);
        }
        let steady = self.steps.saturating_mul(maximum);
        Some(steady.saturating_add(sum).saturating_add(exposed))
    }

    fn maximum(&self, offers: &[usize]) -> u64 {
        let times = self.stages.iter().zip(offers).map(|(s, &o)| s[o].time);
        times.max().unwrap_or(0)
    }

    /// The least maximum of times of any choice.
    fn least_maximum(&self, useful: &[Vec<usize>]) -> Option<u64> {
        let (value, _) = self.labels(useful, |before, offer| before.max(offer.time))?;
        Some(value)
    }

    /// The least value with a limit on times, and its choice.
    fn least_value(&self, useful: &[Vec<usize>], limit: u64) -> Option<(u64, Vec<usize>)> {
        self.labels(useful, |before, offer| match offer.time <= limit {
            true => before.max(offer.delta).saturating_add(offer.time),
            false => IMPOSSIBLE,
        })
    }

    /// Sets the least label of every number of layers, stage by stage; `extend` is monotone in the
    /// value before. Of equal values the first offer counts.
    fn labels(
        &self,
        useful: &[Vec<usize>],
        extend: impl Fn(u64, &Offer) -> u64,
    ) -> Option<(u64, Vec<usize>)> {
        let mut before = vec![IMPOSSIBLE; self.layers + 1];
        before[0] = 0;
        let mut from = vec![vec![0usize; self.layers + 1]; self.stages.len()];
        for (s, stage) in self.stages.iter().enumerate() {
            let mut now = vec![IMPOSSIBLE; self.layers + 1];
            for &o in &useful[s] {
                let offer = &stage[o];
                for layers in offer.layers..=self.layers {
                    let value = before[layers - offer.layers];
                    if value == IMPOSSIBLE {
                        continue;
                    }
                    let value = extend(value, offer);
                    if value < now[layers] {
                        (now[layers], from[s][layers]) = (value, o);
                    }
                }
            }
            before = now;
        }
        let value = before[self.layers];
        if value == IMPOSSIBLE {
            return None;
        }
        let mut layers = self.layers;
        let mut offers = Vec::with_capacity(self.stages.len());
        for (s, stage) in self.stages.iter().enumerate().rev() {
            let o = from[s][layers];
            offers.push(o);
            layers -= stage[o].layers;
        }
        offers.reverse();
        Some((value, offers))
    }
}

/// Indices of offers that no other one with equally many layers dominates.
fn useful(stage: &[Offer]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..stage.len()).collect();
    order.sort_by_key(|&o| (stage[o].layers, stage[o].time, stage[o].delta, o));
    let mut kept: Vec<usize> = Vec::new();
    for o in order {
        let is_better = |&last: &usize| {
            stage[last].layers == stage[o].layers && stage[last].delta <= stage[o].delta
        };
        if !kept.last().is_some_and(is_better) {
            kept.push(o);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The least objective of all choices.
    fn of_all(problem: &Offers<'_>) -> Option<u64> {
        let mut all = vec![vec![]];
        for stage in problem.stages {
            let longer = |choice: &Vec<usize>| {
                let each = (0..stage.len()).map(|o| [&choice[..], &[o]].concat());
                each.collect::<Vec<_>>()
            };
            all = all.iter().flat_map(longer).collect();
        }
        all.iter()
            .filter_map(|offers| problem.objective(offers))
            .min()
    }

    fn offer() -> impl Strategy<Value = Offer> {
        let parts = (0usize..4, 0u64..30, 0u64..60);
        parts.prop_map(|(layers, time, delta)| Offer {
            layers,
            time,
            delta,
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]
        #[test]
        fn choices_are_the_best_of_all(
            stages in prop::collection::vec(prop::collection::vec(offer(), 0..7), 1..5),
            layers in 0usize..9,
            steps in 0u64..9,
        ) {
            let problem = Offers { stages: &stages, layers, steps };
            let found = problem.best();
            prop_assert_eq!(found.as_ref().map(|f| f.objective), of_all(&problem));
            if let Some(found) = found {
                prop_assert_eq!(problem.objective(&found.offers), Some(found.objective));
            }
        }
    }

    #[test]
    fn stages_before_hide_a_delta() {
        let offer = |time, delta| Offer {
            layers: 1,
            time,
            delta,
        };
        let stages = [vec![offer(5, 0)], vec![offer(4, 9), offer(6, 3)]];
        let problem = |steps| Offers {
            stages: &stages,
            layers: 2,
            steps,
        };
        // 9 + 4 with the first offer, 11 + 0 with the second one.
        assert_eq!(problem(0).best().map(|c| c.objective), Some(11));
        assert_eq!(problem(3).best().map(|c| c.offers), Some(vec![0, 0]));
    }
}
