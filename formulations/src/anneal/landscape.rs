//! What the portfolio needs to know of the program whose schedules it anneals.

use super::chain::{Chain, ChainSettings, Found};
use super::graph::Graph;
use super::random::Random;
use super::watch::Watch;
use crate::schedule::BitMatrix;

/// A program whose schedules follow from their retained sets, and can be annealed.
pub trait Landscape: Sync {
    /// Number of nodes; the work of a run grows with it.
    fn nodes(&self) -> usize;

    /// One annealing run from given retained sets; the best schedule that fits. `stop` is asked often.
    fn anneal(
        &self,
        start: &BitMatrix,
        random: Random,
        run: ChainSettings,
        stop: &dyn Fn() -> bool,
        watch: &Watch,
    ) -> Option<Found>;
}

impl Landscape for Graph {
    fn nodes(&self) -> usize {
        self.n
    }

    fn anneal(
        &self,
        start: &BitMatrix,
        random: Random,
        run: ChainSettings,
        stop: &dyn Fn() -> bool,
        watch: &Watch,
    ) -> Option<Found> {
        let mut chain = Chain::new(self, start, random);
        chain.run(run, stop, watch);
        chain.best().cloned()
    }
}
