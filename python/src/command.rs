//! The command line, run from Python: what the program `remat-bb` of the package is.

use pyo3::prelude::*;
use std::ffi::OsString;
use std::io::Write;

/// Exit code of a program that a panic ended, as Rust's own have it.
const PANICKED: u8 = 101;

/// Runs the command line with its arguments, the program's name first, and returns its exit code.
///
/// The process counts as the program from then on: signals and an end of memory end it.
#[pyfunction]
pub fn run_command(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    py.detach(|| {
        // The message of a panic has gone to standard error.
        let run = || remat_bb::run(arguments) as u8;
        let code = std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)).unwrap_or(PANICKED);
        // Python's end does not flush Rust's output. A reader that went away is no failure.
        let _ = std::io::stdout().flush();
        code
    })
}
