//! The network of a command whose weights are sharded over devices.

use crate::arguments::{Options, PipelineShape, ShardsOption};
use crate::failure::Failure;
use crate::source::zoo_text;
use remat_instances::instance::{HostLink, LinkChoice};
use std::path::{Path, PathBuf};

impl ShardsOption {
    /// Checks that a link between devices has devices: shards, or the stages of a pipeline.
    ///
    /// # Errors
    /// [`Failure::Usage`] for a link without either.
    pub fn check_link(&self, pipeline: &PipelineShape) -> Result<(), Failure> {
        match pipeline.link.is_some() && self.shards.is_none() && !pipeline.is_asked() {
            false => Ok(()),
            true => Err(Failure::Usage {
                problem: "--link without devices to link".into(),
                remedy: "add --shards or --stages; --offload is the link to host memory".into(),
            }),
        }
    }

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
