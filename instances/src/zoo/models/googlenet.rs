//! GoogLeNet (Szegedy et al., "Going deeper with convolutions", CVPR 2015). This is the batch-norm
//! variant of torchvision and of the published profiles: no biases, and 3x3 in place of 5x5 in the
//! third branch.

use super::{ModelBuild, ZooModel, classes, classifier, conv_norm, dropout, flatten, images, size};
use crate::zoo::spec::{FLAG, parameter};
use crate::zoo::{Activation, Convolution, ModelSpec, Network, Pooling, Tensor, ZooError};

pub(super) const GOOGLENET: ZooModel = ZooModel {
    name: "googlenet",
    description: "GoogLeNet with batch norm (Szegedy et al., CVPR 2015), auxiliary heads on demand",
    own: &[
        size("224"),
        classes("1000"),
        dropout("true"),
        parameter(
            "aux",
            FLAG,
            "false",
            "with the two auxiliary heads in the loss",
        ),
    ],
    defaults: &[],
    builder: ModelBuild::Network(googlenet),
};

/// Name, then channels of: 1x1; reduction and 3x3; reduction and second 3x3; after the pool. Table
/// 1 of the paper.
const INCEPTIONS: [(&str, [u64; 6]); 9] = [
    ("inception3a", [64, 96, 128, 16, 32, 32]),
    ("inception3b", [128, 128, 192, 32, 96, 64]),
    ("inception4a", [192, 96, 208, 16, 48, 64]),
    ("inception4b", [160, 112, 224, 24, 64, 64]),
    ("inception4c", [128, 128, 256, 24, 64, 64]),
    ("inception4d", [112, 144, 288, 32, 64, 64]),
    ("inception4e", [256, 160, 320, 32, 128, 128]),
    ("inception5a", [256, 160, 320, 32, 128, 128]),
    ("inception5b", [384, 192, 384, 48, 128, 128]),
];

fn unit(
    net: &mut Network,
    at: &str,
    x: Tensor,
    convolution: Convolution,
) -> Result<Tensor, ZooError> {
    let names = [
        format!("{at}.conv"),
        format!("{at}.bn"),
        format!("{at}.relu"),
    ];
    let [conv, norm, relu] = &names;
    conv_norm(
        net,
        [conv, norm, relu],
        x,
        convolution.bias(false),
        Activation::Relu,
    )
}

fn googlenet(spec: &ModelSpec) -> Result<Network, ZooError> {
    let (mut network, x) = images(spec)?;
    let net = &mut network;
    let x = unit(
        net,
        "conv1",
        x,
        Convolution::new(64, 7).stride(2).padding(3),
    )?;
    let x = net.max_pool("maxpool1", x, Pooling::new(3, 2).ceil())?;
    let x = unit(net, "conv2", x, Convolution::new(64, 1))?;
    let x = unit(net, "conv3", x, Convolution::new(192, 3).padding(1))?;
    let mut x = net.max_pool("maxpool2", x, Pooling::new(3, 2).ceil())?;
    let mut logits = Vec::new();
    for (at, channels) in INCEPTIONS {
        x = inception(net, at, x, channels)?;
        match at {
            "inception3b" => x = net.max_pool("maxpool3", x, Pooling::new(3, 2).ceil())?,
            "inception4e" => x = net.max_pool("maxpool4", x, Pooling::new(2, 2).ceil())?,
            "inception4a" if spec.flag("aux") => logits.push(auxiliary(net, "aux1", x, spec)?),
            "inception4d" if spec.flag("aux") => logits.push(auxiliary(net, "aux2", x, spec)?),
            _ => {}
        }
    }
    logits.push(classifier(
        net,
        x,
        spec.integer("classes"),
        spec.flag("dropout"),
    )?);
    net.cross_entropy("loss", &logits)?;
    Ok(network)
}

fn inception(
    net: &mut Network,
    at: &str,
    x: Tensor,
    [one, reduce3, three, reduce5, five, pooled]: [u64; 6],
) -> Result<Tensor, ZooError> {
    let square = |channels| Convolution::new(channels, 3).padding(1);
    let point = |channels| Convolution::new(channels, 1);
    let first = unit(net, &format!("{at}.branch1"), x, point(one))?;
    let second = unit(net, &format!("{at}.branch2.0"), x, point(reduce3))?;
    let second = unit(net, &format!("{at}.branch2.1"), second, square(three))?;
    let third = unit(net, &format!("{at}.branch3.0"), x, point(reduce5))?;
    let third = unit(net, &format!("{at}.branch3.1"), third, square(five))?;
    let pooling = Pooling::new(3, 1).padding(1).ceil();
    let fourth = net.max_pool(&format!("{at}.branch4.0"), x, pooling)?;
    let fourth = unit(net, &format!("{at}.branch4.1"), fourth, point(pooled))?;
    net.concat(&format!("{at}.concat"), &[first, second, third, fourth])
}

fn auxiliary(net: &mut Network, at: &str, x: Tensor, spec: &ModelSpec) -> Result<Tensor, ZooError> {
    let x = net.adaptive_average_pool(&format!("{at}.avgpool"), x, 4)?;
    let x = unit(net, at, x, Convolution::new(128, 1))?;
    let x = flatten(net, &format!("{at}.flatten"), x)?;
    let x = net.linear(&format!("{at}.fc1"), x, 1024, true)?;
    let mut x = net.relu(&format!("{at}.fc1.relu"), x)?;
    if spec.flag("dropout") {
        x = net.dropout(&format!("{at}.dropout"), x)?;
    }
    net.linear(&format!("{at}.fc2"), x, spec.integer("classes"), true)
}
