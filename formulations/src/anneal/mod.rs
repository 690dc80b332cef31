//! A primal heuristic: simulated annealing over the retained sets, with incremental evaluation of stages.

mod chain;
mod graph;
mod landscape;
mod moves;
mod polish;
mod population;
mod portfolio;
pub(crate) mod price;
mod stage;
mod state;
mod undo;
mod watch;

pub use chain::{Chain, ChainSettings, Found};
pub use graph::Graph;
pub use landscape::{CheckmateWalk, Landscape, Walk};
pub use polish::{POLISH_MOVES_PER_NODE, POLISH_RUNS, PolishSettings, polish};
pub use population::Population;
pub use portfolio::{Annealed, Guide, PortfolioSettings, search};
pub(crate) use stage::{StageScratch, evaluate};
pub use state::{Delta, Flip, State};
pub(crate) use undo::Undo;
pub use watch::Watch;
