//! Inception v3 (Szegedy et al., "Rethinking the Inception architecture for computer vision", CVPR
//! 2016), with the names and layers of torchvision.

use super::{ModelBuild, ZooModel, classes, classifier, conv_norm, dropout, flatten, images, size};
use crate::zoo::spec::{FLAG, parameter};
use crate::zoo::{Activation, Convolution, ModelSpec, Network, Pooling, Tensor, ZooError};

pub(super) const INCEPTION_V3: ZooModel = ZooModel {
    name: "inception_v3",
    description: "Inception v3 (Szegedy et al., CVPR 2016), auxiliary head on demand",
    own: &[
        size("299"),
        classes("1000"),
        dropout("true"),
        parameter("aux", FLAG, "false", "with the auxiliary head in the loss"),
    ],
    defaults: &[],
    builder: ModelBuild::Network(inception),
};

fn inception(spec: &ModelSpec) -> Result<Network, ZooError> {
    let (mut network, x) = images(spec)?;
    let net = &mut network;
    let x = unit(net, "Conv2d_1a_3x3", x, Convolution::new(32, 3).stride(2))?;
    let x = unit(net, "Conv2d_2a_3x3", x, Convolution::new(32, 3))?;
    let x = unit(net, "Conv2d_2b_3x3", x, square(64, 3))?;
    let x = net.max_pool("maxpool1", x, Pooling::new(3, 2))?;
    let x = unit(net, "Conv2d_3b_1x1", x, square(80, 1))?;
    let x = unit(net, "Conv2d_4a_3x3", x, Convolution::new(192, 3))?;
    let mut x = net.max_pool("maxpool2", x, Pooling::new(3, 2))?;
    for (at, pooled) in [("Mixed_5b", 32), ("Mixed_5c", 64), ("Mixed_5d", 64)] {
        x = mixed_5(net, at, x, pooled)?;
    }
    x = reduction_6(net, "Mixed_6a", x)?;
    for (at, inner) in [
        ("Mixed_6b", 128),
        ("Mixed_6c", 160),
        ("Mixed_6d", 160),
        ("Mixed_6e", 192),
    ] {
        x = mixed_6(net, at, x, inner)?;
    }
    let mut logits = Vec::new();
    if spec.flag("aux") {
        logits.push(auxiliary(net, "AuxLogits", x, spec.integer("classes"))?);
    }
    x = reduction_7(net, "Mixed_7a", x)?;
    for at in ["Mixed_7b", "Mixed_7c"] {
        x = mixed_7(net, at, x)?;
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

/// A convolution that keeps the size.
fn square(channels: u64, kernel: u64) -> Convolution {
    Convolution::new(channels, kernel).padding(kernel / 2)
}

/// A convolution along one axis (0: height, 1: width) that keeps the size.
fn line(channels: u64, kernel: u64, axis: usize) -> Convolution {
    square(channels, kernel).along(axis)
}

fn unit(
    net: &mut Network,
    at: &str,
    x: Tensor,
    convolution: Convolution,
) -> Result<Tensor, ZooError> {
    let names = ["conv", "bn", "relu"].map(|part| format!("{at}.{part}"));
    conv_norm(
        net,
        [&names[0], &names[1], &names[2]],
        x,
        convolution.bias(false),
        Activation::Relu,
    )
}

/// Convolutions one after the other, each with the suffix of its name.
fn branch(
    net: &mut Network,
    at: &str,
    mut x: Tensor,
    units: &[(&str, Convolution)],
) -> Result<Tensor, ZooError> {
    for (name, convolution) in units {
        x = unit(net, &format!("{at}.branch{name}"), x, *convolution)?;
    }
    Ok(x)
}

/// Mean over 3x3 and a 1x1 convolution.
fn pooled(net: &mut Network, at: &str, x: Tensor, channels: u64) -> Result<Tensor, ZooError> {
    let pooling = Pooling::new(3, 1).padding(1);
    let x = net.average_pool(&format!("{at}.avgpool"), x, pooling)?;
    branch(net, at, x, &[("_pool", square(channels, 1))])
}

/// `InceptionA`: figure 5 of the paper.
fn mixed_5(net: &mut Network, at: &str, x: Tensor, last: u64) -> Result<Tensor, ZooError> {
    let all = [
        branch(net, at, x, &[("1x1", square(64, 1))])?,
        branch(
            net,
            at,
            x,
            &[("5x5_1", square(48, 1)), ("5x5_2", square(64, 5))],
        )?,
        branch(
            net,
            at,
            x,
            &[
                ("3x3dbl_1", square(64, 1)),
                ("3x3dbl_2", square(96, 3)),
                ("3x3dbl_3", square(96, 3)),
            ],
        )?,
        pooled(net, at, x, last)?,
    ];
    net.concat(&format!("{at}.concat"), &all)
}

/// `InceptionB`: halves the size.
fn reduction_6(net: &mut Network, at: &str, x: Tensor) -> Result<Tensor, ZooError> {
    let half = |channels| Convolution::new(channels, 3).stride(2);
    let all = [
        branch(net, at, x, &[("3x3", half(384))])?,
        branch(
            net,
            at,
            x,
            &[
                ("3x3dbl_1", square(64, 1)),
                ("3x3dbl_2", square(96, 3)),
                ("3x3dbl_3", half(96)),
            ],
        )?,
        net.max_pool(&format!("{at}.maxpool"), x, Pooling::new(3, 2))?,
    ];
    net.concat(&format!("{at}.concat"), &all)
}

/// `InceptionC`: figure 6 of the paper.
fn mixed_6(net: &mut Network, at: &str, x: Tensor, inner: u64) -> Result<Tensor, ZooError> {
    let all = [
        branch(net, at, x, &[("1x1", square(192, 1))])?,
        branch(
            net,
            at,
            x,
            &[
                ("7x7_1", square(inner, 1)),
                ("7x7_2", line(inner, 7, 1)),
                ("7x7_3", line(192, 7, 0)),
            ],
        )?,
        branch(
            net,
            at,
            x,
            &[
                ("7x7dbl_1", square(inner, 1)),
                ("7x7dbl_2", line(inner, 7, 0)),
                ("7x7dbl_3", line(inner, 7, 1)),
                ("7x7dbl_4", line(inner, 7, 0)),
                ("7x7dbl_5", line(192, 7, 1)),
            ],
        )?,
        pooled(net, at, x, 192)?,
    ];
    net.concat(&format!("{at}.concat"), &all)
}

/// `InceptionD`: halves the size.
fn reduction_7(net: &mut Network, at: &str, x: Tensor) -> Result<Tensor, ZooError> {
    let half = |channels| Convolution::new(channels, 3).stride(2);
    let all = [
        branch(
            net,
            at,
            x,
            &[("3x3_1", square(192, 1)), ("3x3_2", half(320))],
        )?,
        branch(
            net,
            at,
            x,
            &[
                ("7x7x3_1", square(192, 1)),
                ("7x7x3_2", line(192, 7, 1)),
                ("7x7x3_3", line(192, 7, 0)),
                ("7x7x3_4", half(192)),
            ],
        )?,
        net.max_pool(&format!("{at}.maxpool"), x, Pooling::new(3, 2))?,
    ];
    net.concat(&format!("{at}.concat"), &all)
}

/// `InceptionE`: figure 7 of the paper; the ends of two branches are split in two.
fn mixed_7(net: &mut Network, at: &str, x: Tensor) -> Result<Tensor, ZooError> {
    let one = branch(net, at, x, &[("1x1", square(320, 1))])?;
    let three = branch(net, at, x, &[("3x3_1", square(384, 1))])?;
    let three = split(net, at, three, ["3x3_2a", "3x3_2b"])?;
    let double = branch(
        net,
        at,
        x,
        &[("3x3dbl_1", square(448, 1)), ("3x3dbl_2", square(384, 3))],
    )?;
    let double = split(net, at, double, ["3x3dbl_3a", "3x3dbl_3b"])?;
    let last = pooled(net, at, x, 192)?;
    net.concat(&format!("{at}.concat"), &[one, three, double, last])
}

/// A row and a column convolution of extent three, side by side.
fn split(
    net: &mut Network,
    at: &str,
    x: Tensor,
    [row, column]: [&str; 2],
) -> Result<Tensor, ZooError> {
    let both = [
        branch(net, at, x, &[(row, line(384, 3, 1))])?,
        branch(net, at, x, &[(column, line(384, 3, 0))])?,
    ];
    net.concat(&format!("{at}.branch{}", &row[..row.len() - 3]), &both)
}

fn auxiliary(net: &mut Network, at: &str, x: Tensor, classes: u64) -> Result<Tensor, ZooError> {
    let x = net.average_pool(&format!("{at}.avgpool"), x, Pooling::new(5, 3))?;
    let x = unit(net, &format!("{at}.conv0"), x, square(128, 1))?;
    let x = unit(net, &format!("{at}.conv1"), x, Convolution::new(768, 5))?;
    let x = net.adaptive_average_pool(&format!("{at}.mean"), x, 1)?;
    let x = flatten(net, &format!("{at}.flatten"), x)?;
    net.linear(&format!("{at}.fc"), x, classes, true)
}
