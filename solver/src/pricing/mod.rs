//! Branch-price-and-cut: branch and bound over programs with more columns (and rows) than can be written down.
//!
//! A [`Domain`] describes columns and rows by its own types; the search holds a *restricted master* with some of them.
//! At a node it is solved, violated rows are added, then columns that pay (column generation: Gilmore & Gomory 1961; Desaulniers,
//! Desrosiers & Solomon 2005; Lübbecke & Desrosiers 2005), until the node's bound closes it or nothing is left to add:
//! `node.rs` is that loop, on a page. What makes it quick and safe:
//!
//! - **Descriptors**: a row gives any column its coefficient, priced before or after it; so cuts and branchings are rows
//!   like others, which the pricer is told of with their duals ("robust" branching on original decisions, Vanderbeck 2011;
//!   Ryan & Foster 1981 where the pricer enforces them), and a basis is stored by what it is made of.
//! - **Farkas pricing**: a restricted master that is infeasible gives prices, too; either a column breaks the proof, or
//!   the proof holds for all columns and the node is infeasible. No artificial columns, no big-M.
//! - **Lagrangian bounds** ([`Pricer::bound`]) hold for any duals (Farley's bound, Farley 1990, is one of them), so a node is
//!   closed before its columns are complete; they come from the domain in safe arithmetic ([`FixedPoint`] helps), and
//!   nothing is pruned by the objective of a linear program.
//! - **Smoothing** of duals (Wentges 1997; Pessoa et al. 2018), **purging** of columns and rows into a pool that is looked
//!   through before anything is priced or separated.
//! - **Heuristics**: diving with pricing, the restricted master as an integer program (Sadykov et al. 2019), and
//!   [`Domain::round`].
//! - Rounds of plunges by several workers, merged in order: same tree on any number of threads.
//!
//! # Example: bin packing of three items
//!
//! ```
//! use remat_lp::Bounds;
//! use remat_solver::mip::SolveStatus;
//! use remat_solver::pricing::*;
//!
//! /// Items of sizes 4, 4 and 3 in bins of 8; a column is a set of items (a bit mask), a row is an item.
//! struct Bins;
//! const SIZES: [u32; 3] = [4, 4, 3];
//!
//! impl Bins {
//!     fn sets() -> impl Iterator<Item = u8> {
//!         let size = |set: u8| (0..3).filter(|i| set >> i & 1 == 1).map(|i| SIZES[i]).sum::<u32>();
//!         (1..8).filter(move |&set| size(set) <= 8)
//!     }
//! }
//!
//! impl Pricer for Bins {
//!     type Column = u8;
//!     type Row = u8;
//!     fn cost(&self, _: &u8) -> f64 { 1.0 }
//!     fn row_bounds(&self, _: &u8) -> Bounds { (1.0..).into() }
//!     fn coefficient(&self, row: &u8, column: &u8) -> f64 { f64::from(column >> row & 1) }
//!     fn price(&self, prices: &Prices<'_, u8>) -> Priced<u8> {
//!         let cost = if prices.phase == Phase::Cost { 1.0 } else { 0.0 };
//!         let worth = |set: u8| prices.iter().map(|p| p.dual * self.coefficient(p.row, &set)).sum::<f64>();
//!         let columns = Bins::sets().filter(|&s| worth(s) > cost).collect();
//!         Priced { columns, estimate: f64::NEG_INFINITY }
//!     }
//!     fn bound(&self, prices: &Prices<'_, u8>) -> f64 {
//!         // At most three bins, so the least reduced cost counts at most three times.
//!         let f = FixedPoint::new(40);
//!         let duals: Vec<(u8, i128)> = prices.iter().map(|p| (*p.row, f.dual(p.dual))).collect();
//!         let cost = if prices.phase == Phase::Cost { f.one() } else { 0 };
//!         let worth = |set: u8| duals.iter().filter(|d| set >> d.0 & 1 == 1).map(|d| d.1).sum::<i128>();
//!         let least = Bins::sets().map(|s| cost - worth(s)).min().unwrap_or(0).min(0);
//!         f.down(duals.iter().map(|d| d.1).sum::<i128>() + 3 * least)
//!     }
//! }
//!
//! impl Domain for Bins {
//!     fn rows(&self) -> Vec<u8> { vec![0, 1, 2] }
//!     fn objective_step(&self) -> f64 { 1.0 }
//!     // Never needed here.
//!     fn branch(&self, _: &Point<'_, Self>) -> Vec<Branching<u8>> { Vec::new() }
//!     fn check(&self, columns: &[(u8, f64)]) -> Option<f64> {
//!         let covered = columns.iter().fold(0, |s, (c, _)| s | c);
//!         (covered == 7).then(|| columns.iter().map(|(_, v)| v).sum())
//!     }
//! }
//!
//! let result = BranchAndPrice::new(&Bins, PriceSettings::default()).run()?;
//! assert_eq!(result.status, SolveStatus::Optimal);
//! assert_eq!(result.incumbent.unwrap().objective, 2.0);
//! assert_eq!(result.bound, 2.0);
//! # Ok::<(), PriceError>(())
//! ```
//!
//! Larger ones, with branching, are in `solver/examples`: cutting stock and generalised assignment.

mod bound;
mod domain;
mod heuristic;
mod master;
mod node;
mod pool;
mod search;
mod settings;
mod smoothing;
mod tree;
mod worker;

pub use bound::FixedPoint;
pub use domain::{Branching, Domain, Phase, Point, Priced, Pricer, Prices, Progress, RowPrice};
pub use search::BranchAndPrice;
pub use settings::{Incumbent, PriceError, PriceInfo, PriceResult, PriceSettings};
