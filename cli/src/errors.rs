//! Errors as JSON.

use crate::failure::{Exit, Failure};
use crate::files;
use miette::Diagnostic;
use remat_report::results::{VERSION, json};
use schemars::JsonSchema;
use serde::Serialize;

/// The object that `--json` prints in place of a result.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ErrorJson<'a> {
    /// Always `error`.
    status: &'a str,
    /// Exit code.
    code: u8,
    /// Description of the error.
    message: &'a str,
    /// Correct alternative; null if unknown.
    remedy: Option<&'a str>,
    /// File with the error, with line and column if known; null for an error without a place.
    place: Option<&'a str>,
    /// Version of this program.
    version: &'a str,
}

/// Prints a failure as one JSON object on standard output.
pub fn print_failure(failure: &Failure) {
    let message = failure.to_string();
    let remedy = failure.help().map(|h| h.to_string());
    print_error(&message, remedy.as_deref(), failure.place().as_deref());
}

/// Prints an error as one JSON object on standard output: message, remedy, and the file or the
/// place in a file.
pub fn print_error(message: &str, remedy: Option<&str>, place: Option<&str>) {
    let text = json(&ErrorJson {
        status: "error",
        code: Exit::BadInput as u8,
        message,
        remedy,
        place,
        version: VERSION,
    });
    // Standard error has the message as well.
    let _ = files::print(&text);
}
