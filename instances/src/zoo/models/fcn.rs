//! FCN-8s on VGG-16 (Long, Shelhamer, Darrell, "Fully convolutional networks for semantic
//! segmentation", CVPR 2015).

use super::{ModelBuild, ZooModel, classes, dropout, hidden, images, size, vgg};
use crate::zoo::{Convolution, ModelSpec, Network, Pooling, Tensor, ZooError};

pub(super) const FCN8: ZooModel = ZooModel {
    name: "fcn8",
    description: "FCN-8s with a VGG-16 backbone, sides a multiple of 32 (Long et al., CVPR 2015)",
    own: &[
        size("416x608"),
        classes("21"),
        hidden("4096"),
        dropout("true"),
    ],
    defaults: &[("batch", "8")],
    builder: ModelBuild::Network(fcn8),
};

fn fcn8(spec: &ModelSpec) -> Result<Network, ZooError> {
    if let Some(side) = spec.extents("size").iter().find(|side| *side % 32 != 0) {
        return Err(spec.conflict(
            format!(
                "a side of {side} is no multiple of 32, so that the skip connections do not meet"
            ),
            format!(
                "use {} or {}",
                (side / 32).max(1) * 32,
                (side / 32 + 1) * 32
            ),
        ));
    }
    let classes = spec.integer("classes");
    let hidden = spec.integer("hidden");
    let (mut net, mut x) = images(spec)?;
    let mut pools = Vec::new();
    for (b, depth) in [2, 2, 3, 3, 3].into_iter().enumerate() {
        x = vgg::block(&mut net, x, b, depth, false)?;
        x = net.max_pool(&format!("pool{}", b + 1), x, Pooling::new(2, 2))?;
        pools.push(x);
    }
    for (layer, convolution) in [
        (6, Convolution::new(hidden, 7).padding(3)),
        (7, Convolution::new(hidden, 1)),
    ] {
        x = net.conv(&format!("fc{layer}"), x, convolution)?;
        x = net.relu(&format!("relu{layer}"), x)?;
        if spec.flag("dropout") {
            x = net.dropout(&format!("dropout{layer}"), x)?;
        }
    }
    let point = Convolution::new(classes, 1);
    let twice = Convolution::transposed(classes, 4, 2)
        .padding(1)
        .bias(false);
    x = net.conv("score_fr", x, point)?;
    let fuse = |net: &mut Network, x: Tensor, up: &str, skip: Tensor, at: &str| {
        let x = net.conv(up, x, twice)?;
        let score = net.conv(&format!("score_{at}"), skip, point)?;
        net.add(&format!("fuse_{at}"), x, score)
    };
    x = fuse(&mut net, x, "upscore2", pools[3], "pool4")?;
    x = fuse(&mut net, x, "upscore_pool4", pools[2], "pool3")?;
    let eight = Convolution::transposed(classes, 16, 8)
        .padding(4)
        .bias(false);
    x = net.conv("upscore8", x, eight)?;
    net.cross_entropy("loss", &[x])?;
    Ok(net)
}
