//! Files and standard streams: [`input`] is what commands read, [`output`] what they write,
//! [`plans`] a folder of plans.
//!
//! `-` is standard input or standard output. Inputs are read once, so that they may be pipes.
//! Outputs are tried before the work begins, written whole or not at all, and not lost where their
//! place cannot be written to in the end.

mod input;
mod output;
mod plans;

pub use input::{Input, document, input_name, text};
pub use output::{Files, each, print, printed};
pub use plans::{PlanFolder, batch_name, budget_name};

use remat_lp::temporary::Temporary;

/// A folder of its own among the temporary files.
///
/// # Errors
/// The words of the system.
pub fn temporary_folder() -> std::io::Result<Temporary> {
    Temporary::folder(&std::env::temp_dir(), "remat-bb-")
}
