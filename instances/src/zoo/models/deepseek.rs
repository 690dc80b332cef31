//! DeepSeek-V3 (DeepSeek-AI, "DeepSeek-V3 Technical Report", 2024): multi-head latent attention,
//! mixtures with a shared expert, and a module that predicts one more token.

use super::llama::{layer, swiglu};
use super::mixtral::{Experts, experts, mixture, top_k};
use super::transformer::{d_model, equal_heads, ffn, heads, layers, seq, vocab};
use super::{ModelBuild, ZooModel, flash};
use crate::zoo::spec::{FLAG, ParameterInfo, integer, parameter};
use crate::zoo::{ModelSpec, Network, Slice, Tensor, ZooError};

pub(super) const DEEPSEEK_V3: ZooModel = ZooModel {
    name: "deepseek_v3",
    description: "mixture-of-experts decoder with latent attention, DeepSeek-V3 by default (DeepSeek-AI, 2024)",
    own: &[
        layers("61"),
        integer(
            "dense_layers",
            [0, 10_000],
            "3",
            "layers at the beginning without a mixture",
        ),
        d_model("7168"),
        heads("128"),
        features("q_lora", "1536", "latent features of the queries"),
        features("kv_lora", "512", "latent features of keys and values"),
        features(
            "qk_nope",
            "128",
            "features of a query and key head without position",
        ),
        features(
            "qk_rope",
            "64",
            "features of a query and key head with rotary position",
        ),
        features("v_head", "128", "features of a value head"),
        ffn("18432"),
        experts("256"),
        top_k("8"),
        integer("shared", [0, 1 << 10], "1", "experts of every token"),
        integer("moe_ffn", [1, 1 << 24], "2048", "features inside an expert"),
        integer(
            "expert_parallel",
            [1, 1 << 16],
            "1",
            "devices that divide the experts of a mixture among them; the graph is one device's",
        ),
        seq("4096"),
        vocab("129280"),
        parameter(
            "mtp",
            FLAG,
            "true",
            "with the module that predicts one more token, and its loss",
        ),
        flash("flash"),
    ],
    defaults: &[("batch", "1"), ("dtype", "bf16"), ("device", "h100")],
    builder: ModelBuild::Network(deepseek_v3),
};

const fn features(
    name: &'static str,
    default: &'static str,
    description: &'static str,
) -> ParameterInfo {
    integer(name, [1, 1 << 16], default, description)
}

fn deepseek_v3(spec: &ModelSpec) -> Result<Network, ZooError> {
    let experts = held_experts(spec)?;
    let [batch, seq, d, vocab] =
        ["batch", "seq", "d_model", "vocab"].map(|name| spec.integer(name));
    let mut net = Network::new(spec.to_string(), spec.precision());
    let ids = net.integer_input("ids", &[batch, seq])?;
    let table = net.parameter("embed_tokens", &[vocab, d])?;
    let mut stream = net.embedding("embed_tokens", ids, table, d)?;
    for k in 0..spec.integer("layers") {
        let at = format!("layers.{k}");
        let experts = (k >= spec.integer("dense_layers")).then_some(experts);
        stream = block(&mut net, spec, &at, stream, experts)?;
    }
    let head = net.parameter("lm_head", &[vocab, d])?;
    let x = net.rms_norm("norm", stream)?;
    let mut logits = vec![net.linear_shared("lm_head", x, vocab, head, false)?];
    if spec.flag("mtp") {
        let next = net.integer_input("next_ids", &[batch, seq])?;
        let next = net.embedding("mtp.embed_tokens", next, table, d)?;
        let x = one_more_token(&mut net, spec, [next, stream], experts)?;
        logits.push(net.linear_shared("mtp.lm_head", x, vocab, head, false)?);
    }
    net.cross_entropy("loss", &logits)?;
    Ok(net)
}

/// The experts of a mixture, of which each of `expert_parallel` devices holds an equal share.
fn held_experts(spec: &ModelSpec) -> Result<Experts, ZooError> {
    let devices = spec.integer("expert_parallel");
    let experts = Experts::of(spec)?;
    if !experts.all.is_multiple_of(devices) {
        return Err(spec.conflict(
            format!(
                "expert_parallel={devices} does not divide experts={}",
                experts.all
            ),
            "choose a divisor of experts",
        ));
    }
    Ok(Experts {
        held: experts.all / devices,
        ..experts
    })
}

/// A layer: with a mixture, or with a dense feed-forward part if there are no experts.
fn block(
    net: &mut Network,
    spec: &ModelSpec,
    at: &str,
    stream: Tensor,
    experts: Option<Experts>,
) -> Result<Tensor, ZooError> {
    let [d, ffn] = ["d_model", "ffn"].map(|name| spec.integer(name));
    layer(
        net,
        at,
        stream,
        |net, x| latent_attention(net, spec, &format!("{at}.attn"), x),
        |net, x| match experts {
            Some(experts) => shared_mixture(net, spec, &format!("{at}.moe"), x, experts),
            None => swiglu(net, &format!("{at}.mlp"), x, d, ffn),
        },
    )
}

/// Sum of a mixture and the experts of every token, which are one SwiGLU (section 2.1.2).
fn shared_mixture(
    net: &mut Network,
    spec: &ModelSpec,
    at: &str,
    x: Tensor,
    experts: Experts,
) -> Result<Tensor, ZooError> {
    let [d, ffn, shared] = ["d_model", "moe_ffn", "shared"].map(|name| spec.integer(name));
    let routed = mixture(net, at, x, experts, ffn)?;
    if shared == 0 {
        return Ok(routed);
    }
    let shared = swiglu(net, &format!("{at}.shared"), x, d, shared * ffn)?;
    net.add(&format!("{at}.add"), routed, shared)
}

/// Multi-head latent attention (section 2.1.1): queries, and keys with values, come from narrow
/// latent features. Each head of a query and key has a part without position and a part with rotary
/// position; all heads of a key share the latter.
///
/// The columns of the projections are in the order of these parts, each with all heads.
fn latent_attention(
    net: &mut Network,
    spec: &ModelSpec,
    at: &str,
    x: Tensor,
) -> Result<Tensor, ZooError> {
    let [d, heads, q_lora, kv_lora] =
        ["d_model", "heads", "q_lora", "kv_lora"].map(|name| spec.integer(name));
    let [nope, rope, v_head] = ["qk_nope", "qk_rope", "v_head"].map(|name| spec.integer(name));
    let q = net.linear(&format!("{at}.q_a_proj"), x, q_lora, false)?;
    let q = net.rms_norm(&format!("{at}.q_a_norm"), q)?;
    let q = net.linear(&format!("{at}.q_b_proj"), q, heads * (nope + rope), false)?;
    let latent = net.linear(&format!("{at}.kv_a_proj"), x, kv_lora + rope, false)?;
    let kv = part(net, &format!("{at}.kv_latent"), latent, 0, kv_lora)?;
    let kv = net.rms_norm(&format!("{at}.kv_a_norm"), kv)?;
    let kv = net.linear(
        &format!("{at}.kv_b_proj"),
        kv,
        heads * (nope + v_head),
        false,
    )?;

    let turned = part(net, &format!("{at}.q_rope"), q, heads * nope, heads * rope)?;
    let turned = net.rotary(&format!("{at}.q_rotary"), turned)?;
    let plain = part(net, &format!("{at}.q_nope"), q, 0, heads * nope)?;
    let query = by_head(
        net,
        &format!("{at}.q"),
        [(plain, nope), (turned, rope)],
        heads,
    )?;

    let turned = part(net, &format!("{at}.k_rope"), latent, kv_lora, rope)?;
    let turned = net.rotary(&format!("{at}.k_rotary"), turned)?;
    let [batch, seq, _] = net.shape(turned).try_into().unwrap_or([0; 3]);
    let turned = net.view(&format!("{at}.k_one"), turned, &[batch, seq, 1, rope])?;
    let turned = net.expand(&format!("{at}.k_expand"), turned, 2, heads)?;
    let plain = part(net, &format!("{at}.k_nope"), kv, 0, heads * nope)?;
    let key = by_head(
        net,
        &format!("{at}.k"),
        [(plain, nope), (turned, rope)],
        heads,
    )?;
    let value = part(net, &format!("{at}.v"), kv, heads * nope, heads * v_head)?;

    let flash = spec.choice("attention") == "flash";
    let heads = equal_heads(spec, true);
    let x = net.attention(at, [query, key, value], heads, flash, false)?;
    net.linear(&format!("{at}.o_proj"), x, d, false)
}

/// A range of the features of `[batch, positions, features]`.
fn part(
    net: &mut Network,
    name: &str,
    x: Tensor,
    start: u64,
    length: u64,
) -> Result<Tensor, ZooError> {
    let slice = Slice {
        axis: 2,
        start,
        length,
    };
    net.slice(name, x, slice)
}

/// Two tensors with some features a head, joined head by head: `[batch, positions, features]`.
fn by_head(
    net: &mut Network,
    name: &str,
    parts: [(Tensor, u64); 2],
    heads: u64,
) -> Result<Tensor, ZooError> {
    let [batch, seq] = net.shape(parts[0].0)[..2].try_into().unwrap_or([0; 2]);
    let features = heads * (parts[0].1 + parts[1].1);
    let mut rows = |k: usize| {
        let (x, each) = parts[k];
        let rows = batch.saturating_mul(seq).saturating_mul(heads);
        net.view(&format!("{name}_rows_{k}"), x, &[rows, each])
    };
    let rows = [rows(0)?, rows(1)?];
    let joined = net.concat(&format!("{name}_concat"), &rows)?;
    net.view(&format!("{name}_heads"), joined, &[batch, seq, features])
}

/// The module that predicts one more token (section 2.2), up to its norm: the embeddings of the
/// next tokens and the stream, each normalised, are joined, projected, and pass through a layer.
fn one_more_token(
    net: &mut Network,
    spec: &ModelSpec,
    [next, stream]: [Tensor; 2],
    experts: Experts,
) -> Result<Tensor, ZooError> {
    let shape = net.shape(stream).to_vec();
    let d = spec.integer("d_model");
    let positions = shape[0].saturating_mul(shape[1]);
    let next = net.rms_norm("mtp.enorm", next)?;
    let stream = net.rms_norm("mtp.hnorm", stream)?;
    let next = net.view("mtp.enorm_rows", next, &[positions, d])?;
    let stream = net.view("mtp.hnorm_rows", stream, &[positions, d])?;
    let x = net.concat("mtp.concat", &[next, stream])?;
    let x = net.linear("mtp.proj", x, d, false)?;
    let x = net.view("mtp.stream", x, &shape)?;
    let x = block(net, spec, "mtp.layer", x, Some(experts))?;
    net.rms_norm("mtp.norm", x)
}
