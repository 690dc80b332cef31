//! GPT-2 (Radford et al., "Language models are unsupervised multitask learners", 2019).

use super::transformer::{
    d_model, equal_heads, fused_attention, heads, layers, positions, residual, seq, shape, vocab,
};
use super::{ModelBuild, ZooModel, dropout, flash};
use crate::zoo::spec::{FLAG, parameter};
use crate::zoo::{Activation, ModelSpec, Network, Tensor, ZooError};

pub(super) const GPT2: ZooModel = ZooModel {
    name: "gpt2",
    description: "GPT-2, small by default (Radford et al., 2019); medium is layers=24&d_model=1024&heads=16",
    own: &[
        layers("12"),
        d_model("768"),
        heads("12"),
        seq("1024"),
        vocab("50257"),
        positions("1024"),
        dropout("true"),
        flash("flash"),
        parameter(
            "tied",
            FLAG,
            "true",
            "output projection shares the token embeddings",
        ),
    ],
    defaults: &[("batch", "8")],
    builder: ModelBuild::Network(gpt2),
};

fn gpt2(spec: &ModelSpec) -> Result<Network, ZooError> {
    let places = spec.integer("positions");
    let [batch, seq, d] = shape(spec, Some(places))?;
    let vocab = spec.integer("vocab");
    let drop = spec.flag("dropout");
    let mut net = Network::new(spec.to_string(), spec.precision());
    let ids = net.integer_input("ids", &[batch, seq])?;
    let table = net.parameter("wte", &[vocab, d])?;
    let x = net.embedding("wte", ids, table, d)?;
    let mut x = net.add_parameter("wpe", x, &[places, d])?;
    if drop {
        x = net.dropout("drop", x)?;
    }
    for k in 0..spec.integer("layers") {
        x = block(&mut net, spec, &format!("h.{k}"), x, d)?;
    }
    x = net.layer_norm("ln_f", x)?;
    x = match spec.flag("tied") {
        true => net.linear_shared("lm_head", x, vocab, table, false)?,
        false => net.linear("lm_head", x, vocab, false)?,
    };
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
    let heads = equal_heads(spec, true);
    let x = net.layer_norm(&format!("{at}.ln_1"), stream)?;
    let x = net.linear(&format!("{at}.attn.c_attn"), x, 3 * d, true)?;
    let x = fused_attention(net, spec, &format!("{at}.attn"), x, heads, drop)?;
    let x = net.linear(&format!("{at}.attn.c_proj"), x, d, true)?;
    let stream = residual(net, &format!("{at}.attn.resid"), stream, x, drop)?;
    let x = net.layer_norm(&format!("{at}.ln_2"), stream)?;
    let x = net.linear(&format!("{at}.mlp.c_fc"), x, 4 * d, true)?;
    let x = net.activation(&format!("{at}.mlp.gelu"), x, Activation::Gelu)?;
    let x = net.linear(&format!("{at}.mlp.c_proj"), x, d, true)?;
    residual(net, &format!("{at}.mlp.resid"), stream, x, drop)
}
