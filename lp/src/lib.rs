//! Sparse linear programming for branch and bound.
//!
//! A bounded dual simplex and a primal simplex on one factorised basis, made for warm starts. When
//! bounds and costs change or rows and columns are added and deleted, the valid parts of the basis,
//! its factorisation and its pricing weights are kept. A barrier method with crossover to such a
//! basis is the alternative. Every outcome carries its proof, and [`certificate`] checks it against
//! the original model without sharing code with the simplex.
//!
//! # The interface in one place
//!
//! - [`ModelBuilder`] -> [`Model`]: a valid program, stored by columns and by rows;
//!   [`mps::read`]/[`mps::write`], [`lp_format::read`]/[`lp_format::write`];
//!   [`solution_file::SolutionFile`] for answers.
//! - [`Solver::new`]`(model, settings)`, [`Solver::solve`] -> [`LpOutcome`].
//! - Changes, which all keep the valid parts of the state: [`Solver::set_col_bounds`],
//!   [`Solver::set_row_bounds`], [`Solver::set_cost`], [`Solver::add_rows`], [`Solver::add_cols`],
//!   [`Solver::delete_rows`], [`Solver::delete_cols`].
//! - [`Solver::basis`] / [`Solver::set_basis`]: snapshot and restore a [`Basis`].
//! - [`refine::refine`], or [`Settings::refine`]: residuals as small as double precision allows.
//! - [`Limits`]: iterations, ticks, objective cutoff, interrupt flag.
//! - [`Quadratic`] and [`qp::solve`]: convex quadratic objectives.
//! - [`Algorithm::Barrier`], or [`Barrier`] without crossover: central duals.
//! - [`solve()`]: the same with a presolve before and a postsolve, basis included, after.
//! - [`certificate::check`], [`certificate::safe_bound`], [`proven_bound`]: independent
//!   verification.
//!
//! # Events
//!
//! The library prints no output. The readers emit a warning named `file remark` (`line`, `text`)
//! for content that is ignored or may be a mistake. Examples are text behind the end of a file, and
//! sets of a section after the first. A solve emits `tracing` events named `simplex`, target
//! `remat_lp`, level `DEBUG`: one at each rebuild of the working state and one, with `last = true`,
//! at its end. The events come from the solving thread and cost no time without a subscriber. Their
//! fields:
//! - `algorithm`: the running method, `"dual"` or `"primal"`.
//! - `phase`: 1 until that method has a basis feasible for it, then 2.
//! - `iterations`: pivots since the solver was made.
//! - `objective`: objective of the present basic solution under the true costs, in the model's
//!   sense and units, offset included.
//! - `primal_count`, `primal_sum`: basic variables outside the working bounds, as their number and
//!   the sum of their violations in the scaled program.
//! - `dual_count`, `dual_sum`: the same for reduced costs of the wrong sign. In phase 1 of the
//!   primal they refer to the sum of infeasibilities, otherwise to the working costs (which may be
//!   perturbed).
//! - `last`: whether the solve is over.
//!
//! The barrier method emits one event named `barrier` an iteration, and one at its end:
//! - `algorithm`: `"barrier"`.
//! - `iterations`: iterations of the method so far.
//! - `objective`, `dual_objective`: objectives of the iterate, in the model's sense and units,
//!   offset included.
//! - `primal_residual`, `dual_residual`: largest residuals of rows and bounds, and of reduced
//!   costs, relative to one plus the largest right-hand side and cost, in the scaled program.
//! - `mu`: average product of a distance to a bound and its multiplier.
//! - `last`: whether the method is over.
//!
//! ```
//! use remat_lp::{LpOutcome, ModelBuilder, NewRow, Sense, Settings, Solver};
//!
//! // max 3x + 2y, x + y <= 4, x + 3y <= 6, x <= 3
//! let mut b = ModelBuilder::new(Sense::Maximise);
//! let x = b.add_col(3.0, 0.0..=3.0);
//! let y = b.add_col(2.0, 0.0..);
//! b.add_row(..=4.0, [(x, 1.0), (y, 1.0)]);
//! b.add_row(..=6.0, [(x, 1.0), (y, 3.0)]);
//! let mut solver = Solver::new(b.build()?, Settings::default());
//! let LpOutcome::Optimal(s) = solver.solve() else { panic!() };
//! assert!((s.objective - 11.0).abs() < 1e-9);
//!
//! // A cut arrives: the old basis is dual feasible, a pivot or two repairs it.
//! solver.add_rows(&[NewRow::new(..=2.5, [(x, 1.0)])])?;
//! let LpOutcome::Optimal(s) = solver.solve() else { panic!() };
//! assert!((s.objective - (7.5 + 2.0 * 3.5 / 3.0)).abs() < 1e-9);
//! # Ok::<(), remat_lp::ModelError>(())
//! ```
#![deny(missing_docs)]
#![deny(clippy::print_stdout, clippy::print_stderr, clippy::dbg_macro)]

mod barrier;
pub mod certificate;
mod compressed;
mod crossover;
mod decimal;
mod factor;
mod first_order;
mod ids;
#[doc(hidden)]
pub mod kernels;
pub mod lp_format;
mod model;
pub mod model_file;
pub mod mps;
pub mod nl;
mod outcome;
pub mod presolve;
mod proven;
pub mod qp;
mod quadratic;
pub mod random;
pub mod rational;
mod scaling;
mod settings;
mod simplex;
pub mod solution_file;
mod solver;
mod sparse_vec;
mod sum2;
pub mod temporary;
mod text_file;
pub mod waiting;
pub mod whole_file;

pub use barrier::{Barrier, BarrierEnd, BarrierPoint, BarrierSettings, BarrierTuning};
pub use compressed::Compressed;
pub use decimal::RoundedNumber;
pub use first_order::{FirstOrder, FirstOrderPoint, RowOrder};
pub use ids::{Bounds, ColId, RowId};
pub use model::{
    CONTRADICTION, Crossed, Model, ModelBuilder, ModelError, NewCol, NewRow, Permutation, Sense,
    SparseMatrix,
};
pub use model_file::{Implication, ModelFile, NotLinear, OrderedSet, Specials};
pub use outcome::{Basis, FarkasRay, LimitKind, LpOutcome, Ray, Solution, VarStatus};
pub use proven::proven_bound;
pub use quadratic::{NotConvex, Quadratic};
pub use scaling::cost_scale;
pub use settings::{Algorithm, Limits, Settings};
pub use solver::{Solved, Solver, Stats, refine, solve};
pub use sprs;
pub use text_file::{decode, encode};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
