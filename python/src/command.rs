//! The command line, run from Python, as the package's program `remat-bb`.

use pyo3::prelude::*;
use std::ffi::OsString;
use std::io::Write;

/// Exit code of a program that a panic ended, as in Rust's own programs.
const PANICKED: u8 = 101;

/// Runs the command line with its arguments, the program's name first, and returns its exit code.
///
/// From then on the process is the program: signals and exhausted memory end it.
#[pyfunction]
pub fn run_command(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    py.detach(|| {
        // The message of a panic went to standard error.
        let run = || remat_bb::run(arguments) as u8;
        let code = std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)).unwrap_or(PANICKED);
        // The exit of Python does not flush Rust's output. A reader that has gone away is no
        // failure.
        let _ = std::io::stdout().flush();
        code
    })
}
