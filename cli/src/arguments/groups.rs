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

/// Weights of a zoo network sharded over devices.
#[derive(Args, Clone, Debug, Default)]
pub struct ShardsOption {
    /// Shard weights, gradients and optimizer states of a zoo network over this many devices
    ///
    /// Weights are then gathered and gradients scattered, a group of each block at a time (FSDP).
    /// The same as the parameter shards=N of the network.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..))]
    pub shards: Option<u32>,
}
