//! DenseNet-121 (Huang et al., "Densely connected convolutional networks", CVPR 2017).

use super::{ModelBuild, ZooModel, classes, classifier, images, size};
use crate::zoo::{Convolution, ModelSpec, Network, Pooling, Tensor, ZooError};

pub(super) const DENSENET121: ZooModel = ZooModel {
    name: "densenet121",
    description: "DenseNet-121, growth 32 (Huang et al., CVPR 2017)",
    own: &[size("224"), classes("1000")],
    defaults: &[],
    builder: ModelBuild::Network(densenet),
};

const GROWTH: u64 = 32;

fn densenet(spec: &ModelSpec) -> Result<Network, ZooError> {
    let (mut net, x) = images(spec)?;
    let stem = Convolution::new(64, 7).stride(2).padding(3).bias(false);
    let x = net.conv("conv0", x, stem)?;
    let x = net.batch_norm("norm0", x)?;
    let x = net.relu("relu0", x)?;
    let mut x = net.max_pool("pool0", x, Pooling::new(3, 2).padding(1))?;
    for (b, layers) in [6, 12, 24, 16].into_iter().enumerate() {
        let b = b + 1;
        for k in 1..=layers {
            x = dense_layer(&mut net, &format!("denseblock{b}.{k}"), x)?;
        }
        if b < 4 {
            let at = format!("transition{b}");
            let half = Convolution::new(net.shape(x)[1] / 2, 1).bias(false);
            x = net.batch_norm(&format!("{at}.norm"), x)?;
            x = net.relu(&format!("{at}.relu"), x)?;
            x = net.conv(&format!("{at}.conv"), x, half)?;
            x = net.average_pool(&format!("{at}.pool"), x, Pooling::new(2, 2))?;
        }
    }
    let x = net.batch_norm("norm5", x)?;
    let x = net.relu("relu5", x)?;
    let x = classifier(&mut net, x, spec.integer("classes"), false)?;
    net.cross_entropy("loss", &[x])?;
    Ok(net)
}

/// A layer appends its new features to its input by one concatenation of two tensors, which copies
/// all earlier features. Keras builds it this way; the memory use is the same as in the paper's
/// formulation.
fn dense_layer(net: &mut Network, at: &str, input: Tensor) -> Result<Tensor, ZooError> {
    let x = net.batch_norm(&format!("{at}.norm1"), input)?;
    let x = net.relu(&format!("{at}.relu1"), x)?;
    let bottleneck = Convolution::new(4 * GROWTH, 1).bias(false);
    let x = net.conv(&format!("{at}.conv1"), x, bottleneck)?;
    let x = net.batch_norm(&format!("{at}.norm2"), x)?;
    let x = net.relu(&format!("{at}.relu2"), x)?;
    let grow = Convolution::new(GROWTH, 3).padding(1).bias(false);
    let x = net.conv(&format!("{at}.conv2"), x, grow)?;
    net.concat(&format!("{at}.concat"), &[input, x])
}
