//! U-Net (Ronneberger, Fischer, Brox, MICCAI 2015), padded and with batch norm.

use super::{ModelBuild, ZooModel, classes, images, size};
use crate::zoo::spec::{ParameterKind, parameter};
use crate::zoo::{Convolution, ModelSpec, Network, Pooling, Tensor, ZooError};

pub(super) const UNET: ZooModel = ZooModel {
    name: "unet",
    description: "U-Net, padded, with batch norm (Ronneberger et al., MICCAI 2015)",
    own: &[
        size("416x608"),
        classes("1"),
        parameter(
            "up",
            ParameterKind::Choice(&["interpolate", "transposed"]),
            "interpolate",
            "upsampling by interpolation (512 channels at the bottom, as in the published profiles) or by transposed convolutions (1024, as in the paper)",
        ),
    ],
    defaults: &[("batch", "8")],
    builder: ModelBuild::Network(unet),
};

/// Two convolutions with batch norm and ReLU.
fn double(
    net: &mut Network,
    at: &str,
    mut x: Tensor,
    channels: [u64; 2],
) -> Result<Tensor, ZooError> {
    for (k, channels) in (1..).zip(channels) {
        let convolution = Convolution::new(channels, 3).padding(1);
        x = net.conv(&format!("{at}.conv{k}"), x, convolution)?;
        x = net.batch_norm(&format!("{at}.bn{k}"), x)?;
        x = net.relu(&format!("{at}.relu{k}"), x)?;
    }
    Ok(x)
}

fn unet(spec: &ModelSpec) -> Result<Network, ZooError> {
    let (mut net, x) = images(spec)?;
    let transposed = spec.choice("up") == "transposed";
    let bottom = if transposed { 1024 } else { 512 };
    let mut x = double(&mut net, "down0", x, [64, 64])?;
    let mut skips = Vec::new();
    for (k, channels) in [128, 256, 512, bottom].into_iter().enumerate() {
        let at = format!("down{}", k + 1);
        skips.push(x);
        x = net.max_pool(&format!("{at}.pool"), x, Pooling::new(2, 2))?;
        x = double(&mut net, &at, x, [channels, channels])?;
    }
    let channels: [[u64; 2]; 4] = match transposed {
        true => [[512, 512], [256, 256], [128, 128], [64, 64]],
        false => [[512, 256], [256, 128], [128, 64], [64, 64]],
    };
    for (k, channels) in channels.into_iter().enumerate() {
        let at = format!("up{}", k + 1);
        let skip = skips[3 - k];
        let up = format!("{at}.up");
        x = match transposed {
            true => net.conv(&up, x, Convolution::transposed(channels[0], 2, 2))?,
            false => {
                let spatial = net.shape(skip)[2..].to_vec();
                net.upsample(&up, x, &spatial)?
            }
        };
        x = net.concat(&format!("{at}.concat"), &[skip, x])?;
        x = double(&mut net, &at, x, channels)?;
    }
    let x = net.conv("out", x, Convolution::new(spec.integer("classes"), 1))?;
    net.cross_entropy("loss", &[x])?;
    Ok(net)
}
