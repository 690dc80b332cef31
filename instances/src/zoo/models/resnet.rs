//! ResNet (He et al., "Deep residual learning for image recognition", CVPR 2016). The stride of a
//! bottleneck is in its 3x3 convolution, as in the published profiles and in torchvision (often
//! called v1.5).

use super::{ModelBuild, ZooModel, classes, classifier, images, size};
use crate::zoo::{Convolution, ModelSpec, Network, Pooling, Tensor, ZooError};

macro_rules! resnet {
    ($name:ident, $text:literal, $title:literal, $bottleneck:expr, $depths:expr) => {
        pub(super) const $name: ZooModel = ZooModel {
            name: $text,
            description: concat!(
                $title,
                " (He et al., CVPR 2016; stride in the 3x3 convolutions)"
            ),
            own: &[size("224"), classes("1000")],
            defaults: &[],
            builder: ModelBuild::Network(|spec| resnet(spec, $bottleneck, $depths)),
        };
    };
}

resnet!(RESNET18, "resnet18", "ResNet-18", false, [2, 2, 2, 2]);
resnet!(RESNET50, "resnet50", "ResNet-50", true, [3, 4, 6, 3]);
resnet!(RESNET101, "resnet101", "ResNet-101", true, [3, 4, 23, 3]);
resnet!(RESNET152, "resnet152", "ResNet-152", true, [3, 8, 36, 3]);

fn resnet(spec: &ModelSpec, bottleneck: bool, depths: [u64; 4]) -> Result<Network, ZooError> {
    let (mut net, x) = images(spec)?;
    let stem = Convolution::new(64, 7).stride(2).padding(3).bias(false);
    let x = net.conv("conv1", x, stem)?;
    let x = net.batch_norm("bn1", x)?;
    let x = net.relu("relu", x)?;
    let mut x = net.max_pool("maxpool", x, Pooling::new(3, 2).padding(1))?;
    for (stage, depth) in depths.into_iter().enumerate() {
        for k in 0..depth {
            let at = format!("layer{}.{k}", stage + 1);
            let stride = if stage > 0 && k == 0 { 2 } else { 1 };
            x = block(&mut net, &at, x, 64 << stage, stride, bottleneck)?;
        }
    }
    let x = classifier(&mut net, x, spec.integer("classes"), false)?;
    net.cross_entropy("loss", &[x])?;
    Ok(net)
}

/// A residual block of `width` channels (four times as many at its output with a bottleneck).
fn block(
    net: &mut Network,
    at: &str,
    input: Tensor,
    width: u64,
    stride: u64,
    bottleneck: bool,
) -> Result<Tensor, ZooError> {
    // Channels, kernel, stride of each convolution.
    let convolutions: &[(u64, u64, u64)] = match bottleneck {
        true => &[(width, 1, 1), (width, 3, stride), (4 * width, 1, 1)],
        false => &[(width, 3, stride), (width, 3, 1)],
    };
    let mut x = input;
    for (k, &(channels, kernel, stride)) in convolutions.iter().enumerate() {
        let k = k + 1;
        let convolution = Convolution::new(channels, kernel)
            .stride(stride)
            .padding(kernel / 2)
            .bias(false);
        x = net.conv(&format!("{at}.conv{k}"), x, convolution)?;
        x = net.batch_norm(&format!("{at}.bn{k}"), x)?;
        if k < convolutions.len() {
            x = net.relu(&format!("{at}.relu{k}"), x)?;
        }
    }
    let mut shortcut = input;
    if net.shape(x) != net.shape(input) {
        let channels = net.shape(x)[1];
        let projection = Convolution::new(channels, 1).stride(stride).bias(false);
        shortcut = net.conv(&format!("{at}.downsample.conv"), input, projection)?;
        shortcut = net.batch_norm(&format!("{at}.downsample.bn"), shortcut)?;
    }
    let x = net.add(&format!("{at}.add"), x, shortcut)?;
    net.relu(&format!("{at}.relu"), x)
}
