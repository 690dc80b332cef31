//! Vision transformer (Dosovitskiy et al., "An image is worth 16x16 words", ICLR 2021).

use super::transformer::{
    check_heads, d_model, equal_heads, ffn, first_position, fused_attention, heads, layers,
    residual,
};
use super::{ModelBuild, ZooModel, classes, dropout, flash, images, size};
use crate::zoo::spec::integer;
use crate::zoo::{Activation, Convolution, ModelSpec, Network, Tensor, ZooError};

pub(super) const VIT: ZooModel = ZooModel {
    name: "vit",
    description: "Vision transformer, B/16 by default (Dosovitskiy et al., ICLR 2021); L/16 is layers=24&d_model=1024&heads=16&ffn=4096",
    own: &[
        size("224"),
        integer("patch", [1, 1 << 12], "16", "side of a patch in pixels"),
        layers("12"),
        d_model("768"),
        heads("12"),
        ffn("3072"),
        classes("1000"),
        dropout("false"),
        flash("flash"),
    ],
    defaults: &[],
    builder: ModelBuild::Network(vit),
};

fn vit(spec: &ModelSpec) -> Result<Network, ZooError> {
    let (d, patch, drop) = (
        spec.integer("d_model"),
        spec.integer("patch"),
        spec.flag("dropout"),
    );
    check_heads(spec, d, spec.integer("heads"))?;
    if let Some(side) = spec.extents("size").iter().find(|side| *side % patch != 0) {
        return Err(spec.conflict(
            format!("a side of {side} is no multiple of the patch side {patch}"),
            format!(
                "use {} or {}",
                (side / patch).max(1) * patch,
                (side / patch + 1) * patch
            ),
        ));
    }
    let (mut net, x) = images(spec)?;
    let batch = spec.integer("batch");
    let x = net.conv("conv_proj", x, Convolution::new(d, patch).stride(patch))?;
    let patches: u64 = net.shape(x)[2..].iter().product();
    let x = net.view("patches", x, &[batch, patches, d])?;
    let x = net.prepend_parameter("class_token", x)?;
    let mut x = net.add_parameter("pos_embedding", x, &[patches + 1, d])?;
    if drop {
        x = net.dropout("encoder.dropout", x)?;
    }
    for k in 0..spec.integer("layers") {
        x = block(&mut net, spec, &format!("encoder.{k}"), x, d)?;
    }
    let x = net.layer_norm("encoder.ln", x)?;
    let x = first_position(&mut net, "first", x)?;
    let x = net.linear("head", x, spec.integer("classes"), true)?;
    net.cross_entropy("loss", &[x])?;
    Ok(net)
}

fn block(
    net: &mut Network,
    spec: &ModelSpec,
    at: &str,
    stream: Tensor,
    d: u64,
) -> Result<Tensor, ZooError> {
    let drop = spec.flag("dropout");
    let heads = equal_heads(spec, false);
    let x = net.layer_norm(&format!("{at}.ln_1"), stream)?;
    let x = net.linear(&format!("{at}.attention.in_proj"), x, 3 * d, true)?;
    let x = fused_attention(net, spec, &format!("{at}.attention"), x, heads, drop)?;
    let x = net.linear(&format!("{at}.attention.out_proj"), x, d, true)?;
    let stream = residual(net, &format!("{at}.attention.resid"), stream, x, drop)?;
    let x = net.layer_norm(&format!("{at}.ln_2"), stream)?;
    let x = net.linear(&format!("{at}.mlp.fc1"), x, spec.integer("ffn"), true)?;
    let mut x = net.activation(&format!("{at}.mlp.gelu"), x, Activation::Gelu)?;
    if drop {
        x = net.dropout(&format!("{at}.mlp.dropout"), x)?;
    }
    let x = net.linear(&format!("{at}.mlp.fc2"), x, d, true)?;
    residual(net, &format!("{at}.mlp.resid"), stream, x, drop)
}
