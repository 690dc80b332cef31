//! Annealing over retained sets, for any [`Landscape`]: runs, portfolios of runs, and populations.

mod chain;
mod flip;
mod generations;
mod landscape;
mod long;
mod observer;
mod polish;
mod population;
mod portfolio;
mod price;
mod undo;

pub use chain::{Chain, ChainSettings, Found, SEEK_FROM};
pub use flip::{Delta, Flip};
pub use generations::Generations;
pub use landscape::{Landscape, StretchSettings, Walk};
pub use long::LongRuns;
pub use observer::{Observer, Until};
pub use polish::{POLISH_MOVES_PER_NODE, POLISH_RUNS, PolishSettings, polish};
pub use population::Population;
pub use portfolio::{Annealed, PortfolioSettings, search};
pub use price::{Price, press};
pub use remat_lp::random::Xoshiro256;
pub use undo::Undo;
