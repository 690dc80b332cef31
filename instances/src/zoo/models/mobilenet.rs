//! MobileNet of width 1: v1 (Howard et al., arXiv 1704.04861, 2017) and v2 (Sandler et al., CVPR
//! 2018).

use super::{ModelBuild, ZooModel, classes, classifier, conv_norm, dropout, images, size};
use crate::zoo::{Activation, Convolution, ModelSpec, Network, Tensor, ZooError};

pub(super) const V1: ZooModel = ZooModel {
    name: "mobilenet_v1",
    description: "MobileNet v1, width 1 (Howard et al., 2017)",
    own: &[size("224"), classes("1000"), dropout("false")],
    defaults: &[],
    builder: ModelBuild::Network(v1),
};

pub(super) const V2: ZooModel = ZooModel {
    name: "mobilenet_v2",
    description: "MobileNet v2, width 1 (Sandler et al., CVPR 2018)",
    own: &[size("224"), classes("1000"), dropout("true")],
    defaults: &[],
    builder: ModelBuild::Network(v2),
};

/// Convolution without bias, batch norm and activation, with a common name prefix.
fn unit(
    net: &mut Network,
    at: &str,
    x: Tensor,
    convolution: Convolution,
    function: Activation,
) -> Result<Tensor, ZooError> {
    let names = [
        format!("{at}.conv"),
        format!("{at}.bn"),
        format!("{at}.{}", function.name()),
    ];
    let [conv, norm, activation] = &names;
    conv_norm(
        net,
        [conv, norm, activation],
        x,
        convolution.bias(false),
        function,
    )
}

fn depthwise(net: &Network, x: Tensor, stride: u64) -> Convolution {
    let channels = net.shape(x)[1];
    Convolution::new(channels, 3)
        .stride(stride)
        .padding(1)
        .groups(channels)
}

fn v1(spec: &ModelSpec) -> Result<Network, ZooError> {
    let (mut net, x) = images(spec)?;
    let relu = Activation::Relu;
    let stem = Convolution::new(32, 3).stride(2).padding(1);
    let mut x = unit(&mut net, "stem", x, stem, relu)?;
    let channels = [
        64, 128, 128, 256, 256, 512, 512, 512, 512, 512, 512, 1024, 1024,
    ];
    for (k, channels) in channels.into_iter().enumerate() {
        let stride = if matches!(k, 1 | 3 | 5 | 11) { 2 } else { 1 };
        let spatial = depthwise(&net, x, stride);
        x = unit(&mut net, &format!("block{k}.depthwise"), x, spatial, relu)?;
        let point = Convolution::new(channels, 1);
        x = unit(&mut net, &format!("block{k}.pointwise"), x, point, relu)?;
    }
    let x = classifier(&mut net, x, spec.integer("classes"), spec.flag("dropout"))?;
    net.cross_entropy("loss", &[x])?;
    Ok(net)
}

fn v2(spec: &ModelSpec) -> Result<Network, ZooError> {
    let (mut net, x) = images(spec)?;
    let relu = Activation::Relu6;
    let stem = Convolution::new(32, 3).stride(2).padding(1);
    let mut x = unit(&mut net, "features.0", x, stem, relu)?;
    // Expansion, output channels, repetitions, first stride: table 2 of the paper.
    let stages = [
        (1, 16, 1, 1),
        (6, 24, 2, 2),
        (6, 32, 3, 2),
        (6, 64, 4, 2),
        (6, 96, 3, 1),
        (6, 160, 3, 2),
        (6, 320, 1, 1),
    ];
    let mut k = 1;
    for (expansion, channels, repetitions, first) in stages {
        for r in 0..repetitions {
            let stride = if r == 0 { first } else { 1 };
            let at = format!("features.{k}");
            x = inverted_residual(&mut net, &at, x, expansion, channels, stride)?;
            k += 1;
        }
    }
    x = unit(&mut net, "features.18", x, Convolution::new(1280, 1), relu)?;
    let x = classifier(&mut net, x, spec.integer("classes"), spec.flag("dropout"))?;
    net.cross_entropy("loss", &[x])?;
    Ok(net)
}

fn inverted_residual(
    net: &mut Network,
    at: &str,
    input: Tensor,
    expansion: u64,
    channels: u64,
    stride: u64,
) -> Result<Tensor, ZooError> {
    let relu = Activation::Relu6;
    let mut x = input;
    if expansion > 1 {
        let wide = Convolution::new(expansion * net.shape(input)[1], 1);
        x = unit(net, &format!("{at}.expand"), x, wide, relu)?;
    }
    let spatial = depthwise(net, x, stride);
    x = unit(net, &format!("{at}.depthwise"), x, spatial, relu)?;
    let narrow = Convolution::new(channels, 1).bias(false);
    x = net.conv(&format!("{at}.project.conv"), x, narrow)?;
    x = net.batch_norm(&format!("{at}.project.bn"), x)?;
    if stride == 1 && net.shape(x) == net.shape(input) {
        x = net.add(&format!("{at}.add"), input, x)?;
    }
    Ok(x)
}
