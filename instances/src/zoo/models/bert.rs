//! BERT (Devlin et al., NAACL 2019).

use super::transformer::{
    d_model, equal_heads, ffn, first_position, heads, layers, positions, residual, seq, shape,
    vocab,
};
use super::{ModelBuild, ZooModel, dropout, flash};
use crate::zoo::spec::{ParameterKind, integer, parameter};
use crate::zoo::{Activation, ModelSpec, Network, Tensor, ZooError};

pub(super) const BERT: ZooModel = ZooModel {
    name: "bert",
    description: "BERT, base by default (Devlin et al., NAACL 2019); large is layers=24&d_model=1024&heads=16&ffn=4096",
    own: &[
        layers("12"),
        d_model("768"),
        heads("12"),
        ffn("3072"),
        seq("512"),
        vocab("30522"),
        positions("512"),
        dropout("true"),
        flash("plain"),
        parameter(
            "task",
            ParameterKind::Choice(&["classification", "mlm"]),
            "classification",
            "pooled first position and a linear classifier, or masked language modelling over all positions",
        ),
        integer(
            "classes",
            [0, 1 << 24],
            "2",
            "classes of the classifier; 0 puts the loss on the pooled output",
        ),
    ],
    defaults: &[],
    builder: ModelBuild::Network(bert),
};

fn bert(spec: &ModelSpec) -> Result<Network, ZooError> {
    let places = spec.integer("positions");
    let [batch, seq, d] = shape(spec, Some(places))?;
    let (vocab, drop) = (spec.integer("vocab"), spec.flag("dropout"));
    let mut net = Network::new(spec.to_string(), spec.precision());
    let ids = net.integer_input("ids", &[batch, seq])?;
    net.integer_input("token_types", &[batch, seq])?;
    let table = net.parameter("embeddings.word", &[vocab, d])?;
    let x = net.embedding("embeddings.word", ids, table, d)?;
    let x = net.add_parameter("embeddings.token_type", x, &[2, d])?;
    let x = net.add_parameter("embeddings.position", x, &[places, d])?;
    let mut x = net.layer_norm("embeddings.norm", x)?;
    if drop {
        x = net.dropout("embeddings.dropout", x)?;
    }
    for k in 0..spec.integer("layers") {
        x = block(&mut net, spec, &format!("encoder.{k}"), x, d)?;
    }
    if spec.choice("task") == "mlm" {
        x = net.linear("head.transform", x, d, true)?;
        x = net.activation("head.gelu", x, Activation::Gelu)?;
        x = net.layer_norm("head.norm", x)?;
        x = net.linear_shared("head.decoder", x, vocab, table, true)?;
    } else {
        x = first_position(&mut net, "pooler.first", x)?;
        x = net.linear("pooler.dense", x, d, true)?;
        x = net.activation("pooler.tanh", x, Activation::Tanh)?;
        let classes = spec.integer("classes");
        if classes > 0 {
            if drop {
                x = net.dropout("dropout", x)?;
            }
            x = net.linear("classifier", x, classes, true)?;
        }
    }
    net.cross_entropy("loss", &[x])?;
    Ok(net)
}

/// A transformer layer; normalisation comes after each residual sum.
fn block(
    net: &mut Network,
    spec: &ModelSpec,
    at: &str,
    stream: Tensor,
    d: u64,
) -> Result<Tensor, ZooError> {
    let drop = spec.flag("dropout");
    let heads = equal_heads(spec, false);
    let query = net.linear(&format!("{at}.attention.query"), stream, d, true)?;
    let key = net.linear(&format!("{at}.attention.key"), stream, d, true)?;
    let value = net.linear(&format!("{at}.attention.value"), stream, d, true)?;
    let flash = spec.choice("attention") == "flash";
    let attention = format!("{at}.attention");
    let x = net.attention(&attention, [query, key, value], heads, flash, drop)?;
    let x = net.linear(&format!("{at}.attention.dense"), x, d, true)?;
    let x = residual(net, &format!("{at}.attention.resid"), stream, x, drop)?;
    let stream = net.layer_norm(&format!("{at}.attention.norm"), x)?;
    let x = net.linear(
        &format!("{at}.ffn.intermediate"),
        stream,
        spec.integer("ffn"),
        true,
    )?;
    let x = net.activation(&format!("{at}.ffn.gelu"), x, Activation::Gelu)?;
    let x = net.linear(&format!("{at}.ffn.dense"), x, d, true)?;
    let x = residual(net, &format!("{at}.ffn.resid"), stream, x, drop)?;
    net.layer_norm(&format!("{at}.ffn.norm"), x)
}
