//! Options that several commands share, each with one name, one type and one default.

use clap::Args;
use std::path::PathBuf;

/// The folder for plans.
#[derive(Args, Clone, Debug)]
pub struct PlansOption {
    /// Write each plan that was found into this folder, as remat-plan/1 JSON, under names that tell
    /// strategy and budget (or batch); it is made where it is missing
    #[arg(long, value_name = "FOLDER")]
    pub plans: Option<PathBuf>,
}
