//! Options of several commands, each with one name, one type and one default.

use super::Options;
use crate::failure::Failure;
use crate::source::zoo_text;
use clap::Args;
use remat_instances::instance::{HostLink, LinkChoice};
use std::path::{Path, PathBuf};

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

impl ShardsOption {
    /// The source with its shards; sets the link between devices among the options.
    ///
    /// # Errors
    /// [`Failure::Usage`] for a source that is no zoo network.
    pub fn applied<const GROUPS: u32>(
        &self,
        source: &Path,
        link: Option<&HostLink>,
        options: &mut Options<GROUPS>,
    ) -> Result<PathBuf, Failure> {
        let Some(shards) = self.shards else {
            return Ok(source.into());
        };
        let Some(text) = zoo_text(source) else {
            return Err(Failure::Usage {
                problem: format!("--shards {shards}: {} is no zoo network", source.display()),
                remedy: "give zoo:MODEL, or gather_bytes and scatter_bytes in the instance".into(),
            });
        };
        if let Some(link) = link {
            options.0.offload = Some(LinkChoice::Given(link.clone()));
        }
        let joint = if text.contains('?') { '&' } else { '?' };
        Ok(format!("{text}{joint}shards={shards}").into())
    }
}
