//! Grids of solves: thousands of jobs from one file, shared by any number of processes.
//!
//! A [`Grid`] is the product of its axes. Jobs are numbered, and runs of neighbours form *chains*,
//! in which plans start the next jobs and bounds settle jobs between them. Each result is a file
//! whose name is a hash of the job's content and of its place in the chain, so the answer does not
//! depend on who solved it, or on results that were there before.
//!
//! | module | concept |
//! |---|---|
//! | `grid`, `axes`, `values` | [`Grid`]: the file |
//! | `jobs` | from numbers to jobs and chains |
//! | `subject` | instances as jobs solve them |
//! | `survey` | [`Survey`]: budgets in bytes, and keys |
//! | `record` | [`Record`]: a result file |
//! | `folder` | [`Folder`]: the results of a grid; [`Store`]: any place for them |
//! | `solve`, `work` | [`Work`]: solves chains |
//! | `merge`, `table` | [`Merged`]: monotone frontiers as one table |
#![deny(missing_docs)]
#![forbid(unsafe_code)]

mod axes;
mod error;
mod folder;
mod grid;
mod jobs;
mod merge;
mod record;
mod solve;
mod subject;
mod survey;
mod table;
mod values;
mod work;

pub use error::GridError;
pub use folder::{Folder, Store, get, put};
pub use grid::Grid;
pub use merge::{MISSING, Merged, MergedRow, merge};
pub use record::{FAILED, Record};
pub use subject::{Facts, Sources};
pub use survey::{Survey, Visit};
pub use work::{Tally, Work, missing};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
