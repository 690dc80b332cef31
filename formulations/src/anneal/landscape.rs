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

    /// Time of a move, in that of a move of Checkmate's annealing, about.
    const MOVE_WEIGHT: u64 = 1;

    /// Number of nodes; the work of a run grows with it.
    fn nodes(&self) -> usize;

    /// One annealing run from given retained sets, and how it ended. `stop` is asked often.
    fn attempt(
        &self,
        start: &BitMatrix,
        random: Random,
        run: ChainSettings,
        stop: &dyn Fn() -> bool,
        watch: &Watch,
    ) -> End;

    /// The same; the best schedule that fits.
    fn anneal(
        &self,
        start: &BitMatrix,
        random: Random,
        run: ChainSettings,
        stop: &dyn Fn() -> bool,
        watch: &Watch,
    ) -> Option<Found> {
        match self.attempt(start, random, run, stop, watch) {
            End::Fits(found) => Some(found),
            End::Near(..) | End::Nothing => None,
        }
    }
}

impl Landscape for Graph {
    const SEEKS: bool = true;

    fn nodes(&self) -> usize {
        self.n
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
