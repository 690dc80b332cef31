//! 3D U-Net (Cicek et al., "3D U-Net: learning dense volumetric segmentation from sparse
//! annotation", MICCAI 2016), padded.

use super::{ModelBuild, ZooModel, classes};
use crate::zoo::spec::{ParameterKind, integer, parameter};
use crate::zoo::{Convolution, ModelSpec, Network, Pooling, Tensor, ZooError};

pub(super) const UNET3D: ZooModel = ZooModel {
    name: "unet3d",
    description: "3D U-Net, padded, with batch norm (Cicek et al., MICCAI 2016)",
    own: &[
        parameter(
            "size",
            ParameterKind::Size { axes: 3 },
            "64x128x128",
            "depth x height x width of the volume",
        ),
        integer("channels", [1, 1 << 16], "3", "channels of the volume"),
        classes("3"),
    ],
    defaults: &[("batch", "2")],
    builder: ModelBuild::Network(unet3d),
};

fn unit(net: &mut Network, at: &str, k: u64, x: Tensor, channels: u64) -> Result<Tensor, ZooError> {
    let convolution = Convolution::new(channels, 3).padding(1);
    let x = net.conv(&format!("{at}.conv{k}"), x, convolution)?;
    let x = net.batch_norm(&format!("{at}.bn{k}"), x)?;
    net.relu(&format!("{at}.relu{k}"), x)
}

/// The paper states 19,069,955 parameters, with batch norm without scale and shift; here there are
/// 4,672 more.
///
/// Channels double before a pooling, not after it ("to avoid bottlenecks"): figure 2 of the paper.
fn unet3d(spec: &ModelSpec) -> Result<Network, ZooError> {
    if let Some(side) = spec.extents("size").iter().find(|side| *side % 8 != 0) {
        return Err(spec.conflict(
            format!(
                "a side of {side} is no multiple of 8, so that the skip connections do not meet"
            ),
            format!("use {} or {}", (side / 8).max(1) * 8, (side / 8 + 1) * 8),
        ));
    }
    let mut net = Network::new(spec.to_string(), spec.precision());
    let mut shape = vec![spec.integer("batch"), spec.integer("channels")];
    shape.extend(spec.extents("size"));
    let mut x = net.input("volumes", &shape)?;
    let mut skips = Vec::new();
    for level in 0..4u64 {
        let at = format!("down{level}");
        if level > 0 {
            x = net.max_pool(&format!("{at}.pool"), x, Pooling::new(2, 2))?;
        }
        x = unit(&mut net, &at, 1, x, 32 << level)?;
        x = unit(&mut net, &at, 2, x, 64 << level)?;
        skips.push(x);
    }
    for level in (0..3u64).rev() {
        let at = format!("up{level}");
        let channels = net.shape(x)[1];
        x = net.conv(
            &format!("{at}.up"),
            x,
            Convolution::transposed(channels, 2, 2).bias(false),
        )?;
        x = net.concat(&format!("{at}.concat"), &[skips[level as usize], x])?;
        x = unit(&mut net, &at, 1, x, 64 << level)?;
        x = unit(&mut net, &at, 2, x, 64 << level)?;
    }
    let x = net.conv("out", x, Convolution::new(spec.integer("classes"), 1))?;
    net.cross_entropy("loss", &[x])?;
    Ok(net)
}
