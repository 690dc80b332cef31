//! Files and standard streams: [`input`] reads, [`output`] writes, [`plans`] is a folder of plans.
//!
//! `-` is standard input or standard output. Inputs are read once, so they may be pipes. Outputs
//! are tested before the work begins, and are whole or missing. If the final write fails, the
//! result goes to another place.

mod input;
mod output;
mod plans;

pub use input::{Input, document, input_name, text};
pub use output::{Files, each, print, printed};
pub use plans::{PlanFolder, batch_name, budget_name};

use remat_lp::temporary::Temporary;

/// A new folder among the temporary files.
///
/// # Errors
/// The error of the system.
pub fn temporary_folder() -> std::io::Result<Temporary> {
    Temporary::folder(&std::env::temp_dir(), "remat-bb-")
}
