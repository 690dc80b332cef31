//! Mixture-of-experts decoder (Jiang et al., "Mixtral of Experts", 2024): Llama's decoder, with a
//! mixture as the feed-forward part of some or all layers.

use super::llama::{decoder, kv_heads, swiglu, tied};
use super::transformer::{d_model, ffn, heads, layers, seq, vocab};
use super::{ModelBuild, ZooModel, flash};
use crate::zoo::spec::{ParameterInfo, integer};
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
        experts("8"),
        top_k("2"),
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

pub(super) const fn experts(default: &'static str) -> ParameterInfo {
    integer("experts", [1, 1 << 16], default, "experts of a mixture")
}

pub(super) const fn top_k(default: &'static str) -> ParameterInfo {
    integer(
        "top_k",
        [1, 1 << 16],
        default,
        "experts of a token, at most as many as there are",
    )
}

fn mixtral(spec: &ModelSpec) -> Result<Network, ZooError> {
    let [d, ffn, every] = ["d_model", "ffn", "every"].map(|name| spec.integer(name));
    let experts = Experts::of(spec)?;
    decoder(spec, |net, k, at, x| match (k + 1).is_multiple_of(every) {
        true => mixture(net, &format!("{at}.moe"), x, experts, ffn),
        false => swiglu(net, &format!("{at}.mlp"), x, d, ffn),
    })
}

/// Experts of a mixture.
#[derive(Clone, Copy, Debug)]
pub(super) struct Experts {
    /// Experts to which a token may go.
    pub all: u64,
    /// Experts whose parameters the device holds.
    pub held: u64,
    /// Experts of a token.
    pub top_k: u64,
}

impl Experts {
    /// The parameters `experts` and `top_k`; the device holds all experts.
    pub fn of(spec: &ModelSpec) -> Result<Self, ZooError> {
        let (all, top_k) = (spec.integer("experts"), spec.integer("top_k"));
        if top_k > all {
            return Err(spec.conflict(
                format!("a token cannot go to top_k={top_k} of {all} experts"),
                format!("set experts={top_k} or a top_k of at most {all}"),
            ));
        }
        Ok(Experts {
            all,
            held: all,
            top_k,
        })
    }
}

/// Mixture of experts, each a SwiGLU with `ffn` features inside, without dropped tokens or padded
/// experts.
pub(super) fn mixture(
    net: &mut Network,
    at: &str,
    x: Tensor,
    experts: Experts,
    ffn: u64,
) -> Result<Tensor, ZooError> {
    let d = net.shape(x).last().copied().unwrap_or(1);
    let scores = net.linear(&format!("{at}.router"), x, experts.all, false)?;
    let (routes, weights) = net.gate(at, scores, experts.top_k)?;
    let rows = net.dispatch(&format!("{at}.dispatch"), x, routes)?;
    let mut expert = |what: &str, rows, features| {
        let name = format!("{at}.{what}_proj");
        net.grouped_linear(&name, rows, routes, experts.held, features)
    };
    let (gate, up) = (expert("gate", rows, ffn)?, expert("up", rows, ffn)?);
    let gate = net.activation(&format!("{at}.silu"), gate, Activation::Silu)?;
    let rows = net.multiply(&format!("{at}.mul"), gate, up)?;
    let name = format!("{at}.down_proj");
    let rows = net.grouped_linear(&name, rows, routes, experts.held, d)?;
    net.combine(&format!("{at}.combine"), rows, weights, routes)
}
