//! `remat-bb completions`

use crate::arguments::{Arguments, CompletionsArguments};
use crate::failure::{Exit, Failure};
use crate::files;
use clap::CommandFactory;

/// Prints the completions for a shell.
///
/// # Errors
/// [`Failure::Write`] if standard output cannot be written.
pub fn run(arguments: &CompletionsArguments) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    let mut command = Arguments::command();
    clap_complete::generate(arguments.shell, &mut command, "remat-bb", &mut script);
    files::print(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Done)
}
