//! Common parts of the transformers.

use crate::zoo::spec::{ParameterInfo, integer};
use crate::zoo::{Heads, ModelSpec, Network, Slice, Tensor, ZooError};

pub(super) const fn layers(default: &'static str) -> ParameterInfo {
    integer("layers", [1, 10_000], default, "number of blocks")
}

pub(super) const fn d_model(default: &'static str) -> ParameterInfo {
    integer("d_model", [1, 1 << 20], default, "features of a position")
}

pub(super) const fn heads(default: &'static str) -> ParameterInfo {
    integer("heads", [1, 1 << 16], default, "attention heads")
}

pub(super) const fn seq(default: &'static str) -> ParameterInfo {
    integer("seq", [1, 1 << 24], default, "positions of a sequence")
}

pub(super) const fn vocab(default: &'static str) -> ParameterInfo {
    integer("vocab", [1, 1 << 28], default, "tokens in the vocabulary")
}

pub(super) const fn positions(default: &'static str) -> ParameterInfo {
    integer(
        "positions",
        [1, 1 << 24],
        default,
        "learned position embeddings",
    )
}

pub(super) const fn ffn(default: &'static str) -> ParameterInfo {
    integer(
        "ffn",
        [1, 1 << 24],
        default,
        "features inside a feed-forward layer",
    )
}

/// Batch, positions and features, checked against the heads and against position embeddings, if
/// any.
pub(super) fn shape(spec: &ModelSpec, positions: Option<u64>) -> Result<[u64; 3], ZooError> {
    let (seq, d, heads) = (
        spec.integer("seq"),
        spec.integer("d_model"),
        spec.integer("heads"),
    );
    check_heads(spec, d, heads)?;
    if let Some(positions) = positions
        && seq > positions
    {
        return Err(spec.conflict(
            format!("seq={seq} is longer than the {positions} position embeddings"),
            format!("set positions={seq} or a seq of at most {positions}"),
        ));
    }
    Ok([spec.integer("batch"), seq, d])
}

pub(super) fn check_heads(spec: &ModelSpec, d: u64, heads: u64) -> Result<(), ZooError> {
    if !d.is_multiple_of(heads) {
        return Err(spec.conflict(
            format!("{heads} heads do not divide d_model={d}"),
            "choose a divisor of d_model",
        ));
    }
    Ok(())
}

/// Attention over a fused projection `[batch, positions, 3 d]`, whose thirds are views.
pub(super) fn fused_attention(
    net: &mut Network,
    spec: &ModelSpec,
    at: &str,
    qkv: Tensor,
    heads: Heads,
    dropout: bool,
) -> Result<Tensor, ZooError> {
    let length = net.shape(qkv).last().map_or(0, |features| features / 3);
    let mut third = |what: &str, k: u64| {
        let slice = Slice {
            axis: 2,
            start: k * length,
            length,
        };
        net.slice(&format!("{at}.{what}"), qkv, slice)
    };
    let (query, key, value) = (third("query", 0)?, third("key", 1)?, third("value", 2)?);
    let flash = spec.choice("attention") == "flash";
    net.attention(at, [query, key, value], heads, flash, dropout)
}

/// Features of the first position: `[batch, positions, d]` to `[batch, d]`.
pub(super) fn first_position(net: &mut Network, name: &str, x: Tensor) -> Result<Tensor, ZooError> {
    let [batch, _, d] = net.shape(x).try_into().unwrap_or([0; 3]);
    let slice = Slice {
        axis: 1,
        start: 0,
        length: 1,
    };
    let x = net.slice(name, x, slice)?;
    net.view(&format!("{name}.features"), x, &[batch, d])
}

/// Heads with as many key heads as query heads: the parameter `heads`.
pub(super) fn equal_heads(spec: &ModelSpec, causal: bool) -> Heads {
    let heads = spec.integer("heads");
    Heads {
        query: heads,
        key_value: heads,
        causal,
    }
}

/// Adds a branch to the residual stream, optionally with dropout on the branch.
pub(super) fn residual(
    net: &mut Network,
    at: &str,
    stream: Tensor,
    mut branch: Tensor,
    dropout: bool,
) -> Result<Tensor, ZooError> {
    if dropout {
        branch = net.dropout(&format!("{at}.dropout"), branch)?;
    }
    net.add(&format!("{at}.add"), stream, branch)
}
