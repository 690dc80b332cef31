//! Options of several commands, each with one name, one type and one default.

use clap::Args;
use std::path::PathBuf;

/// The folder for plans.
#[derive(Args, Clone, Debug)]
pub struct PlansOption {
    /// Write each plan into this folder, as remat-plan/1 JSON
    ///
    /// File names have the strategy and the budget or batch. The folder is made if necessary.
    #[arg(long, value_name = "FOLDER")]
    pub plans: Option<PathBuf>,
}
