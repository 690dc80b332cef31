//! Stages between two downsets, at every number of micro-batches in flight.

use super::network::Network;
use super::stage::{Decision, Stage};
use remat_pipeline::path::IMPOSSIBLE;

/// Limit on the number of stages that are counted, of 24 bytes each.
const MOST_PLACES: usize = 1 << 25;

/// Choice of the layers that a stage recomputes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recomputation {
    /// Every layer or no layer of a stage.
    Whole,
    /// Any layers.
    Layers,
}

/// Times of one stage, [`IMPOSSIBLE`] if it does not fit.
#[derive(Clone, Copy, Debug)]
pub struct Times {
    /// Lower bound on the least time.
    pub bound: u64,
    /// The least time found.
    pub least: u64,
    /// Time by Piper's own rule.
    pub piper: u64,
}

/// Times of all stages. Positions are indices of downsets.
pub struct Intervals<'a> {
    network: &'a Network,
    sets: Vec<Vec<bool>>,
    recomputation: Recomputation,
    budget: u64,
    most_in_flight: u64,
    /// Times by micro-batches in flight, begin and end.
    times: Vec<Times>,
    /// True if all bounds are the least times.
    exact: bool,
}

impl<'a> Intervals<'a> {
    /// Counts every stage with up to `most_in_flight` micro-batches.
    ///
    /// # Errors
    /// The reason, if the network has a cycle, or too many downsets for the devices.
    pub fn new(
        network: &'a Network,
        recomputation: Recomputation,
        budget: u64,
        most_in_flight: u64,
    ) -> Result<Intervals<'a>, String> {
        let sets = network.downsets()?;
        let places = sets.len() * sets.len() * most_in_flight as usize;
        if places > MOST_PLACES {
            let downsets = sets.len();
            return Err(format!(
                "{downsets} downsets are too many for {most_in_flight} stages"
            ));
        }
        let impossible = Times {
            bound: IMPOSSIBLE,
            least: IMPOSSIBLE,
            piper: IMPOSSIBLE,
        };
        let mut intervals = Intervals {
            network,
            sets,
            recomputation,
            budget,
            most_in_flight,
            times: vec![impossible; places],
            exact: true,
        };
        for begin in 0..intervals.positions() {
            for end in begin + 1..intervals.positions() {
                if intervals.is_stage(begin, end) {
                    intervals.count(begin, end);
                }
            }
        }
        Ok(intervals)
    }

    /// Number of positions.
    pub fn positions(&self) -> usize {
        self.sets.len()
    }

    /// Times of a stage.
    pub fn times(&self, in_flight: u64, begin: usize, end: usize) -> Times {
        self.times[self.place(in_flight, begin, end)]
    }

    /// Returns whether all bounds are the least times.
    pub fn is_exact(&self) -> bool {
        self.exact
    }

    /// Layers of a stage.
    pub fn layers(&self, begin: usize, end: usize) -> Vec<usize> {
        let is_new = |&v: &usize| self.sets[end][v] && !self.sets[begin][v];
        (0..self.network.layers.len()).filter(is_new).collect()
    }

    /// The layers of a stage that change, by the best rule or by Piper's; `None` if the stage does
    /// not fit.
    pub fn decide(&self, is_piper: bool, in_flight: u64, at: (usize, usize)) -> Option<Decision> {
        let (layers, sends) = (self.layers(at.0, at.1), self.sends(at.0, at.1));
        let stage = Stage::new(self.network, &layers, sends, in_flight, self.budget);
        match (self.recomputation, is_piper) {
            (Recomputation::Whole, _) => stage.whole(),
            (Recomputation::Layers, true) => stage.greedy(),
            (Recomputation::Layers, false) => stage.least(),
        }
    }

    fn place(&self, in_flight: u64, begin: usize, end: usize) -> usize {
        let n = self.positions();
        ((in_flight as usize - 1) * n + begin) * n + end
    }

    /// Returns whether the begin is a part of the end.
    fn is_stage(&self, begin: usize, end: usize) -> bool {
        let (before, after) = (&self.sets[begin], &self.sets[end]);
        before.iter().zip(after).all(|(&b, &a)| a || !b)
    }

    /// Time of the sends into a stage and out of it.
    fn sends(&self, begin: usize, end: usize) -> u64 {
        let is_in = |v: usize| self.sets[end][v] && !self.sets[begin][v];
        let edges = self.network.edges.iter();
        let crossing = edges.filter(|e| is_in(e.from) != is_in(e.to));
        crossing.map(|e| e.time).sum()
    }

    /// Counts a stage at every number of micro-batches in flight. If it does not fit, it does not
    /// fit with more of them either.
    fn count(&mut self, begin: usize, end: usize) {
        let (layers, sends) = (self.layers(begin, end), self.sends(begin, end));
        for in_flight in 1..=self.most_in_flight {
            let stage = Stage::new(self.network, &layers, sends, in_flight, self.budget);
            let found = match self.recomputation {
                Recomputation::Whole => stage.whole().map(|whole| (whole.time, whole)),
                Recomputation::Layers => {
                    let greedy = stage.greedy();
                    greedy.and_then(|greedy| Some((greedy.time, stage.least()?)))
                }
            };
            let Some((piper, Decision { bound, time, .. })) = found else {
                return;
            };
            let place = self.place(in_flight, begin, end);
            self.times[place] = Times {
                bound,
                least: time,
                piper,
            };
            self.exact &= bound == time;
        }
    }
}
