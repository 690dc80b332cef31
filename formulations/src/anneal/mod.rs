//! A primal heuristic: simulated annealing over the retained sets, with incremental evaluation of
//! stages.

mod chain;
mod generations;
mod graph;
mod landscape;
mod long;
mod moves;
mod observer;
mod polish;
mod population;
mod portfolio;
pub(crate) mod price;
mod sparse;
mod stage;
mod state;
mod undo;

pub use chain::{Chain, ChainSettings, Found};
pub use generations::Generations;
pub use graph::CheckmateLandscape;
pub use landscape::{CheckmateWalk, Landscape, Walk};
pub(crate) use moves::CheckmateProposer;
pub use observer::Observer;
pub use polish::{POLISH_MOVES_PER_NODE, POLISH_RUNS, PolishSettings, polish};
pub use population::Population;
pub use portfolio::{Annealed, PortfolioSettings, search};
pub use remat_lp::random::Xoshiro256;
pub use sparse::{StretchSettings, Stretched, improve, seek};
pub(crate) use stage::{CheckmateStageScratch, evaluate};
pub use state::{CheckmateState, Delta, Flip};
pub(crate) use undo::Undo;
