//! Mixture-of-experts decoder (Jiang et al., "Mixtral of Experts", 2024): Llama's decoder, with a
//! mixture as the feed-forward part of some or all layers.

use super::llama::{decoder, kv_heads, swiglu, tied};
use super::transformer::{d_model, ffn, heads, layers, seq, vocab};
use super::{ModelBuild, ZooModel, flash};
use crate::zoo::spec::integer;
use crate::zoo::{Activation, ModelSpec, Network, Tensor, ZooError};

pub(super) const MIXTRAL: ZooModel = ZooModel {
    name: "mixtral",
    description: "mixture-of-experts decoder, Mixtral 8x7B by default (Jiang et al., 2024); every=2 has dense and mixture layers by turns, as GShard has",
    own: &[
        layers("32"),
        d_model("4096"),
        heads("32"),
        kv_heads("8"),
        ffn("14336"),
        integer("experts", [1, 1 << 16], "8", "experts of a mixture"),
        integer(
            "top_k",
            [1, 1 << 16],
            "2",
            "experts of a token, at most as many as there are",
        ),
        integer(
            "every",
            [1, 10_000],
            "1",
            "every so many layers is a mixture, the others are dense",
        ),
        seq("2048"),
        vocab("32000"),
        flash("flash"),
        tied("false"),
    ],
    defaults: &[("dtype", "bf16"), ("device", "a100")],
    builder: ModelBuild::Network(mixtral),
};

fn mixtral(spec: &ModelSpec) -> Result<Network, ZooError> {
    let (experts, top_k) = (spec.integer("experts"), spec.integer("top_k"));
    if top_k > experts {
        return Err(spec.conflict(
            format!("a token cannot go to top_k={top_k} of {experts} experts"),
            format!("set experts={top_k} or a top_k of at most {experts}"),
        ));
    }
    let every = spec.integer("every");
    decoder(spec, |net, k, at, x| match (k + 1).is_multiple_of(every) {
        true => mixture(net, spec, at, x),
        false => swiglu(net, spec, at, x),
    })
}

/// Mixture of experts, each a SwiGLU, without dropped tokens or padded experts.
fn mixture(net: &mut Network, spec: &ModelSpec, at: &str, x: Tensor) -> Result<Tensor, ZooError> {
    let [d, ffn, experts] = ["d_model", "ffn", "experts"].map(|name| spec.integer(name));
    let scores = net.linear(&format!("{at}.moe.router"), x, experts, false)?;
    let (routes, weights) = net.gate(&format!("{at}.moe"), scores, spec.integer("top_k"))?;
    let rows = net.dispatch(&format!("{at}.moe.dispatch"), x, routes)?;
    let mut expert = |what: &str, rows, features| {
        let name = format!("{at}.moe.{what}_proj");
        net.grouped_linear(&name, rows, routes, experts, features)
    };
    let (gate, up) = (expert("gate", rows, ffn)?, expert("up", rows, ffn)?);
    let gate = net.activation(&format!("{at}.moe.silu"), gate, Activation::Silu)?;
    let rows = net.multiply(&format!("{at}.moe.mul"), gate, up)?;
    let name = format!("{at}.moe.down_proj");
    let rows = net.grouped_linear(&name, rows, routes, experts, d)?;
    net.combine(&format!("{at}.moe.combine"), rows, weights, routes)
}
