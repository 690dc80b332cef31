//! Pseudo-costs: gains of branchings by kind of quantity and direction.

use crate::price::{Open, Program};
use std::collections::BTreeMap;

/// Gains of branchings by kind and direction. What a trial gains in the restricted master is more
/// than what is left of it once new columns are in, so what was gained in truth counts as soon as
/// it is known.
#[derive(Default)]
pub(super) struct PseudoCosts {
    trials: BTreeMap<PseudocostKey, Average>,
    gained: BTreeMap<PseudocostKey, Average>,
}

/// Kind of quantity, direction.
type PseudocostKey = ((u32, u8), bool);

/// Gains per unit of distance.
#[derive(Clone, Copy, Default)]
struct Average {
    sum: f64,
    number: u32,
}

impl Average {
    fn add(&mut self, gain: f64, distance: f64) {
        self.sum += gain / distance.max(DISTANCE_FLOOR);
        self.number += 1;
    }

    fn at(&self, distance: f64) -> f64 {
        self.sum / f64::from(self.number) * distance
    }
}

/// Gains after which pseudo-costs are believed without a trial.
const RELIABLE_GAINS: u32 = 8;
/// Distances below this one count as it: a gain per unit of distance has no use of smaller ones.
const DISTANCE_FLOOR: f64 = 0.05;

impl PseudoCosts {
    /// Expected gains of a branching, down and up.
    pub fn expect<P: Program>(&self, open: &Open<P::Quantity>) -> [f64; 2] {
        [false, true].map(|up| {
            let key = (P::kind(&open.quantity), up);
            let known = self.gained.get(&key).or_else(|| self.trials.get(&key));
            known.map_or(open.score, |average| average.at(open.distance(up)))
        })
    }

    /// Gains expected from what such branchings have gained in truth, where that is known.
    pub fn expect_gained<P: Program>(&self, open: &Open<P::Quantity>) -> [Option<f64>; 2] {
        [false, true].map(|up| {
            let average = self.gained.get(&(P::kind(&open.quantity), up))?;
            Some(average.at(open.distance(up)))
        })
    }

    /// Returns whether there is no need for a trial.
    pub fn is_reliable<P: Program>(&self, open: &Open<P::Quantity>) -> bool {
        [false, true].iter().all(|up| {
            let known = self.gained.get(&(P::kind(&open.quantity), *up));
            known.is_some_and(|k| k.number >= RELIABLE_GAINS)
        })
    }

    /// Notes the gains of a trial.
    pub fn note_trial<P: Program>(&mut self, open: &Open<P::Quantity>, gains: [f64; 2]) {
        for (up, gain) in [false, true].into_iter().zip(gains) {
            let average = self
                .trials
                .entry((P::kind(&open.quantity), up))
                .or_default();
            average.add(gain, open.distance(up));
        }
    }

    /// Notes what a branching gained in truth.
    pub fn note<P: Program>(&mut self, open: &Open<P::Quantity>, up: bool, gain: f64) {
        let average = self
            .gained
            .entry((P::kind(&open.quantity), up))
            .or_default();
        average.add(gain, open.distance(up));
    }
}
