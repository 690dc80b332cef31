//! VGG (Simonyan and Zisserman, "Very deep convolutional networks for large-scale image
//! recognition", ICLR 2015).

use super::{ModelBuild, ZooModel, classes, dropout, flatten, hidden, images, size};
use crate::zoo::{Convolution, ModelSpec, Network, ParameterInfo, Pooling, Tensor, ZooError};

const PARAMETERS: &[ParameterInfo] = &[
    size("224"),
    classes("1000"),
    hidden("4096"),
    dropout("true"),
];

pub(super) const VGG16: ZooModel = ZooModel {
    name: "vgg16",
    description: "VGG-16, configuration D, without batch norm (Simonyan and Zisserman, ICLR 2015)",
    own: PARAMETERS,
    defaults: &[],
    builder: ModelBuild::Network(|spec| vgg(spec, [2, 2, 3, 3, 3])),
};

pub(super) const VGG19: ZooModel = ZooModel {
    name: "vgg19",
    description: "VGG-19, configuration E, without batch norm (Simonyan and Zisserman, ICLR 2015)",
    own: PARAMETERS,
    defaults: &[],
    builder: ModelBuild::Network(|spec| vgg(spec, [2, 2, 4, 4, 4])),
};

/// Channels of the five blocks.
pub(super) const CHANNELS: [u64; 5] = [64, 128, 256, 512, 512];

/// Block `b` (from 0) of 3x3 convolutions, without its pooling.
pub(super) fn block(
    net: &mut Network,
    mut x: Tensor,
    b: usize,
    convolutions: usize,
    batch_norm: bool,
) -> Result<Tensor, ZooError> {
    for k in 1..=convolutions {
        let at = format!("{}_{k}", b + 1);
        let convolution = Convolution::new(CHANNELS[b], 3).padding(1);
        x = net.conv(&format!("conv{at}"), x, convolution)?;
        if batch_norm {
            x = net.batch_norm(&format!("bn{at}"), x)?;
        }
        x = net.relu(&format!("relu{at}"), x)?;
    }
    Ok(x)
}

fn vgg(spec: &ModelSpec, depths: [usize; 5]) -> Result<Network, ZooError> {
    let (mut net, mut x) = images(spec)?;
    for (b, depth) in depths.into_iter().enumerate() {
        x = block(&mut net, x, b, depth, false)?;
        x = net.max_pool(&format!("pool{}", b + 1), x, Pooling::new(2, 2))?;
    }
    x = net.adaptive_average_pool("avgpool", x, 7)?;
    x = flatten(&mut net, "flatten", x)?;
    for layer in [6, 7] {
        x = net.linear(&format!("fc{layer}"), x, spec.integer("hidden"), true)?;
        x = net.relu(&format!("relu{layer}"), x)?;
        if spec.flag("dropout") {
            x = net.dropout(&format!("dropout{layer}"), x)?;
        }
    }
    x = net.linear("fc8", x, spec.integer("classes"), true)?;
    net.cross_entropy("loss", &[x])?;
    Ok(net)
}
