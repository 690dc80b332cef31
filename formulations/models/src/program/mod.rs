//! Programs that are edited, solved, and edited again: the features that modelling languages and
//! their users need, on top of the entry point for raw models ([`crate::solve_model`]).
//!
//! | module | concept |
//! |---|---|
//! | `edit` | [`Program`]: columns and rows under handles that stay valid |
//! | `numbers` | numbers that a program accepts |
//! | `special` | [`Special`]: implications, functions, ordered sets and products, under handles |
//! | `violation` | special constraints at a point, by their definitions |
//! | `lower` | special constraints as rows and columns of a linear model |
//! | `compile` | [`Compiled`]: the linear model of a program, with the handles behind it |
//! | `file` | programs of LP and MPS files, and such files of programs |
//! | `integer` | [`solve_whole`]: a program in the terms of a search |
//! | `answer` | [`Answer`]: status, points, bound, duals and rays under the program's handles |
//! | `starts` | starts, completed if they have gaps |
//! | `objectives` | [`Objective`]: several objectives, by priority |
//! | `open` | branching on conditional rows |
//! | `best` | [`BestPoints`]: several best points in place of one |
//! | `separating` | [`Cut`]s and points of a watcher |
//! | `repair` | points that tolerances moved off a special constraint |
//! | `stages` | limits that several solves share |
//! | `iis` | [`find_iis`]: the reason why there is no point |
//! | `sensitivity` | [`Sensitivity`]: ranges in which a basis stays optimal |
//! | `solve` | [`solve_program`]: from a program to an answer |
//!
//! ```
//! use std::sync::Arc;
//! use remat_models::program::{Kind, Program, ProgramSettings, solve_program};
//!
//! let mut program = Program::default();
//! let x = program.add_col(0.0, 9.0, -3.0, Kind::Integer, None)?;
//! let row = program.add_row(&[(x, 2.0)], f64::NEG_INFINITY, 5.0, None)?;
//! let answer = solve_program(&program, &ProgramSettings::default(), Arc::new(()))?;
//! assert_eq!(answer.points[0].x[x.index()], 2.0);
//! program.set_row_bounds(row, f64::NEG_INFINITY, 7.0)?;
//! let answer = solve_program(&program, &ProgramSettings::default(), Arc::new(()))?;
//! assert_eq!(answer.points[0].objective, -9.0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod answer;
mod best;
mod compile;
mod edit;
mod error;
mod file;
mod iis;
mod integer;
mod lower;
mod numbers;
mod objectives;
mod open;
#[cfg(test)]
mod open_tests;
#[cfg(test)]
mod plan_tests;
#[cfg(test)]
mod quadratic_tests;
mod repair;
mod sensitivity;
#[cfg(test)]
mod sensitivity_tests;
mod separating;
mod solve;
mod special;
#[cfg(test)]
mod special_tests;
mod stages;
mod starts;
#[cfg(test)]
mod tests;
mod violation;

pub use answer::{Answer, Duals, Ending, Exact, Point};
pub use best::BestPoints;
pub use compile::Compiled;
pub use edit::{Col, Kind, Program, Row};
pub use error::ProgramError;
pub use file::check_ending;
pub use iis::{Iis, find_iis};
pub use integer::solve_whole;
pub use numbers::{INFINITE, are_bounds};
pub use objectives::Objective;
pub use sensitivity::{Range, Sensitivity, sensitivity};
pub use separating::{Cut, Role};
pub use solve::{ProgramSettings, Watcher, solve_compiled, solve_program};
pub use special::{Norm, Product, SosType, Special, SpecialId};
pub use starts::{check_start, complete_start};
pub use violation::SPECIAL_TOLERANCE;
