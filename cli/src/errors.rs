//! Errors as JSON.

use crate::failure::{Exit, Failure};
use crate::files;
use miette::Diagnostic;
use remat_report::results::{VERSION, json};
use schemars::JsonSchema;
use serde::Serialize;

/// The object that `--json` prints where there is no result.
#[derive(Serialize, JsonSchema)]
pub(crate) struct ErrorJson<'a> {
    status: &'a str,
    code: u8,
    message: &'a str,
    remedy: Option<&'a str>,
    place: Option<&'a str>,
    version: &'a str,
}

/// Prints a failure as one JSON object on standard output.
pub fn print_failure(failure: &Failure) {
    let message = failure.to_string();
    let remedy = failure.help().map(|h| h.to_string());
    print_error(&message, remedy.as_deref(), failure.place().as_deref());
}

/// Prints an error as one JSON object on standard output: what is wrong, what would be right, and
/// the file or place in a file.
pub fn print_error(message: &str, remedy: Option<&str>, place: Option<&str>) {
    let text = json(&ErrorJson {
        status: "error",
        code: Exit::BadInput as u8,
        message,
        remedy,
        place,
        version: VERSION,
    });
    // Standard error tells it, too.
    let _ = files::print(&text);
}
