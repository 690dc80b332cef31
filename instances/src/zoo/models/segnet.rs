//! SegNet (Badrinarayanan, Kendall, Cipolla, TPAMI 2017).

use super::{ModelBuild, ZooModel, classes, images, size, vgg};
use crate::zoo::spec::{ParameterKind, parameter};
use crate::zoo::{Convolution, ModelSpec, Network, Pooling, ZooError};

pub(super) const SEGNET: ZooModel = ZooModel {
    name: "segnet",
    description: "SegNet: VGG-16 encoder with batch norm and its mirror (Badrinarayanan et al., TPAMI 2017)",
    own: &[
        size("416x608"),
        classes("12"),
        parameter(
            "unpool",
            ParameterKind::Choice(&["indices", "upsample"]),
            "indices",
            "decoder by the positions of the maxima (as in the paper) or by plain upsampling",
        ),
    ],
    defaults: &[("batch", "8")],
    builder: ModelBuild::Network(segnet),
};

/// Channels of the decoder's convolutions, from the bottom; the last entry is replaced by the
/// classes.
const DECODER: [&[u64]; 5] = [
    &[512, 512, 512],
    &[512, 512, 256],
    &[256, 256, 128],
    &[128, 64],
    &[64, 0],
];

fn segnet(spec: &ModelSpec) -> Result<Network, ZooError> {
    let indices = spec.choice("unpool") == "indices";
    let (mut net, mut x) = images(spec)?;
    let mut levels = Vec::new();
    for (b, depth) in [2, 2, 3, 3, 3].into_iter().enumerate() {
        x = vgg::block(&mut net, x, b, depth, true)?;
        let spatial = net.shape(x)[2..].to_vec();
        let (name, pooling) = (format!("pool{}", b + 1), Pooling::new(2, 2));
        let pooled = net.max_pool(&name, x, pooling)?;
        let positions = match indices {
            true => Some(net.pool_indices(&format!("{name}.indices"), x, pooling)?),
            false => None,
        };
        levels.push((spatial, positions));
        x = pooled;
    }
    for (block, widths) in DECODER.into_iter().enumerate() {
        let level = 5 - block;
        let (spatial, positions) = &levels[level - 1];
        x = match positions {
            Some(positions) => net.unpool(&format!("unpool{level}"), x, *positions, spatial)?,
            None => net.upsample(&format!("upsample{level}"), x, spatial)?,
        };
        for (k, &channels) in widths.iter().enumerate() {
            // Numbers count downwards, mirroring the encoder.
            let at = format!("{level}_{}d", widths.len() - k);
            if channels == 0 {
                let last = Convolution::new(spec.integer("classes"), 3).padding(1);
                x = net.conv(&format!("conv{at}"), x, last)?;
            } else {
                let convolution = Convolution::new(channels, 3).padding(1);
                x = net.conv(&format!("conv{at}"), x, convolution)?;
                x = net.batch_norm(&format!("bn{at}"), x)?;
                x = net.relu(&format!("relu{at}"), x)?;
            }
        }
    }
    net.cross_entropy("loss", &[x])?;
    Ok(net)
}
