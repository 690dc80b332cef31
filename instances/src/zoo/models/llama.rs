//! Llama-style decoder (Touvron et al., "LLaMA", 2023, and "Llama 2", 2023): RMS norm, rotary
//! positions, SwiGLU, grouped queries.

use super::transformer::{d_model, ffn, heads, layers, residual, seq, shape, vocab};
use super::{ModelBuild, ZooModel, flash};
use crate::zoo::spec::{FLAG, ParameterInfo, integer, parameter};
use crate::zoo::{Activation, Heads, ModelSpec, Network, Tensor, ZooError};

pub(super) const LLAMA: ZooModel = ZooModel {
    name: "llama",
    description: "Llama-style decoder, Llama-2-7B by default (Touvron et al., 2023); Llama-3-8B is kv_heads=8&ffn=14336&vocab=128256",
    own: &[
        layers("32"),
        d_model("4096"),
        heads("32"),
        kv_heads("0"),
        ffn("11008"),
        seq("2048"),
        vocab("32000"),
        flash("flash"),
        tied("false"),
    ],
    defaults: &[("batch", "1"), ("dtype", "bf16"), ("device", "a100")],
    builder: ModelBuild::Network(llama),
};

pub(super) const fn kv_heads(default: &'static str) -> ParameterInfo {
    integer(
        "kv_heads",
        [0, 1 << 16],
        default,
        "key and value heads, a divisor of heads; 0 for as many as heads",
    )
}

pub(super) const fn tied(default: &'static str) -> ParameterInfo {
    parameter(
        "tied",
        FLAG,
        default,
        "output projection shares the token embeddings",
    )
}

fn llama(spec: &ModelSpec) -> Result<Network, ZooError> {
    let (d, ffn) = (spec.integer("d_model"), spec.integer("ffn"));
    decoder(spec, |net, _, at, x| {
        swiglu(net, &format!("{at}.mlp"), x, d, ffn)
    })
}

/// Decoder. `feed_forward` builds the feed-forward part of each layer from the network, the layer's
/// number and name, and its normalised input.
pub(super) fn decoder(
    spec: &ModelSpec,
    feed_forward: impl Fn(&mut Network, u64, &str, Tensor) -> Result<Tensor, ZooError>,
) -> Result<Network, ZooError> {
    let [batch, seq, d] = shape(spec, None)?;
    let query = spec.integer("heads");
    let key_value = match spec.integer("kv_heads") {
        0 => query,
        given => given,
    };
    if !query.is_multiple_of(key_value) {
        return Err(spec.conflict(
            format!("kv_heads={key_value} does not divide heads={query}"),
            "choose a divisor of heads",
        ));
    }
    let heads = Heads {
        query,
        key_value,
        causal: true,
    };
    let vocab = spec.integer("vocab");
    let mut net = Network::new(spec.to_string(), spec.precision());
    let ids = net.integer_input("ids", &[batch, seq])?;
    let table = net.parameter("embed_tokens", &[vocab, d])?;
    let mut x = net.embedding("embed_tokens", ids, table, d)?;
    for k in 0..spec.integer("layers") {
        let at = format!("layers.{k}");
        x = layer(
            &mut net,
            &at,
            x,
            |net, x| attention(net, spec, &format!("{at}.attn"), x, heads),
            |net, x| feed_forward(net, k, &at, x),
        )?;
    }
    x = net.rms_norm("norm", x)?;
    x = match spec.flag("tied") {
        true => net.linear_shared("lm_head", x, vocab, table, false)?,
        false => net.linear("lm_head", x, vocab, false)?,
    };
    net.cross_entropy("loss", &[x])?;
    Ok(net)
}

/// A layer: the residual stream after an attention part and a feed-forward part, each of which
/// takes the normalised stream.
pub(super) fn layer(
    net: &mut Network,
    at: &str,
    stream: Tensor,
    attention: impl FnOnce(&mut Network, Tensor) -> Result<Tensor, ZooError>,
    feed_forward: impl FnOnce(&mut Network, Tensor) -> Result<Tensor, ZooError>,
) -> Result<Tensor, ZooError> {
    let x = net.rms_norm(&format!("{at}.input_norm"), stream)?;
    let x = attention(net, x)?;
    let stream = residual(net, &format!("{at}.attn.resid"), stream, x, false)?;
    let x = net.rms_norm(&format!("{at}.post_norm"), stream)?;
    let x = feed_forward(net, x)?;
    residual(net, &format!("{at}.mlp.resid"), stream, x, false)
}

/// Attention with grouped queries.
fn attention(
    net: &mut Network,
    spec: &ModelSpec,
    at: &str,
    x: Tensor,
    heads: Heads,
) -> Result<Tensor, ZooError> {
    let d = spec.integer("d_model");
    let narrow = d / heads.query * heads.key_value;
    let query = net.linear(&format!("{at}.q_proj"), x, d, false)?;
    let key = net.linear(&format!("{at}.k_proj"), x, narrow, false)?;
    let value = net.linear(&format!("{at}.v_proj"), x, narrow, false)?;
    let query = net.rotary(&format!("{at}.q_rotary"), query)?;
    let key = net.rotary(&format!("{at}.k_rotary"), key)?;
    let flash = spec.choice("attention") == "flash";
    let x = net.attention(at, [query, key, value], heads, flash, false)?;
    net.linear(&format!("{at}.o_proj"), x, d, false)
}

/// Dense feed-forward part of a layer: `ffn` features inside, `d` outside.
pub(super) fn swiglu(
    net: &mut Network,
    at: &str,
    x: Tensor,
    d: u64,
    ffn: u64,
) -> Result<Tensor, ZooError> {
    let gate = net.linear(&format!("{at}.gate_proj"), x, ffn, false)?;
    let gate = net.activation(&format!("{at}.silu"), gate, Activation::Silu)?;
    let up = net.linear(&format!("{at}.up_proj"), x, ffn, false)?;
    let x = net.multiply(&format!("{at}.mul"), gate, up)?;
    net.linear(&format!("{at}.down_proj"), x, d, false)
}
