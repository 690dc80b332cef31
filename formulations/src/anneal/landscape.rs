//! What the portfolio needs to know of the program whose schedules it anneals.

use super::chain::{Chain, ChainSettings, Found};
use super::graph::Graph;
use super::random::Random;
use super::watch::Watch;
use crate::schedule::BitMatrix;

/// How a run ended.
#[derive(Clone, Debug)]
pub enum End {
    /// The best schedule that fits.
    Fits(Found),
    /// Nothing it saw fitted: excess and retained sets where it stands, to go on from.
    Near(f64, BitMatrix),
    /// Nothing it saw fitted.
    Nothing,
}

/// A program whose schedules follow from their retained sets, and can be annealed.
pub trait Landscape: Sync {
    /// Whether runs heed [`ChainSettings::seek`] and say where they ended.
    const SEEKS: bool = false;

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

    /// The same, with where the run ended if nothing fitted.
    fn attempt(
        &self,
        start: &BitMatrix,
        random: Random,
        run: ChainSettings,
        stop: &dyn Fn() -> bool,
        watch: &Watch,
    ) -> End {
        self.anneal(start, random, run, stop, watch)
            .map_or(End::Nothing, End::Fits)
    }
}

impl Landscape for Graph {
    const SEEKS: bool = true;

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

    fn attempt(
        &self,
        start: &BitMatrix,
        random: Random,
        run: ChainSettings,
        stop: &dyn Fn() -> bool,
        watch: &Watch,
    ) -> End {
        let mut chain = Chain::new(self, start, random);
        chain.run(run, stop, watch);
        match chain.best() {
            Some(found) => End::Fits(found.clone()),
            None => End::Near(chain.excess(), chain.retained()),
        }
    }
}
