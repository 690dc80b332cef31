//! Pseudo-costs: gains of branchings by kind of quantity and direction.

use crate::price::{Open, Program};
use std::collections::BTreeMap;

/// Gains of branchings by kind and direction. Trials overestimate gains, because the restricted
/// master lacks columns. Once a child is solved, its true gain replaces the estimate.
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

/// True gains after which a pseudo-cost replaces trials.
const RELIABLE_GAINS: u32 = 8;
/// Lower limit on distances: a smaller distance would inflate the gain per unit.
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

    /// Gains expected from the true gains of such branchings, where they are known.
    pub fn expect_gained<P: Program>(&self, open: &Open<P::Quantity>) -> [Option<f64>; 2] {
        [false, true].map(|up| {
            let average = self.gained.get(&(P::kind(&open.quantity), up))?;
            Some(average.at(open.distance(up)))
        })
    }

    /// Returns whether a trial is unnecessary.
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

    /// Notes the true gain of a branching.
    pub fn note<P: Program>(&mut self, open: &Open<P::Quantity>, up: bool, gain: f64) {
        let average = self
            .gained
            .entry((P::kind(&open.quantity), up))
            .or_default();
        average.add(gain, open.distance(up));
    }
}
