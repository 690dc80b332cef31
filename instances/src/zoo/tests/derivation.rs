//! The backward pass of small networks, node by node.

use super::{instance, needs};
use crate::instance::Instance;
use crate::zoo::{
    Activation, Convolution, DType, Device, Heads, Network, Pooling, Precision, Slice,
    TrainingOptions, ZooError,
};

fn network() -> Network {
    Network::new("tiny", Precision::uniform(DType::Fp32))
}

fn train(net: &Network) -> Instance {
    net.training_instance(&Device::v100(), &TrainingOptions::default())
        .unwrap()
}

fn names(instance: &Instance) -> Vec<&str> {
    instance
        .nodes()
        .iter()
        .map(|node| node.name.as_str())
        .collect()
}

/// A residual block with a pooled classifier.
fn residual() -> Result<Network, ZooError> {
    let mut net = network();
    let x = net.input("images", &[2, 3, 8, 8])?;
    let stem = net.conv("stem", x, Convolution::new(4, 3).padding(1))?;
    let x = net.batch_norm("bn", stem)?;
    let x = net.relu("relu", x)?;
    let x = net.conv("conv", x, Convolution::new(4, 3).padding(1))?;
    let x = net.add("add", x, stem)?;
    let x = net.max_pool("pool", x, Pooling::new(2, 2))?;
    let x = net.dropout("drop", x)?;
    let x = net.view("flatten", x, &[2, 64])?;
    let x = net.linear("fc", x, 5, true)?;
    net.cross_entropy("loss", &[x])?;
    Ok(net)
}

#[test]
fn a_residual_block() {
    let net = residual().unwrap();
    let graph = train(&net);
    assert_eq!(
        names(&graph),
        [
            "stem",
            "bn",
            "relu",
            "conv",
            "add",
            "pool",
            "drop.mask",
            "drop",
            "fc",
            "loss",
            "fc.grad",
            "drop.grad",
            "pool.grad",
            "conv.grad",
            "relu.grad",
            "bn.grad",
            "stem.grad_add",
            "stem.grad"
        ]
    );
    for (name, expected) in [
        ("stem", &[][..]),
        ("add", &["stem", "conv"]),
        ("drop.mask", &[]),
        ("drop", &["pool", "drop.mask"]),
        ("fc", &["drop"]),
        ("loss", &["fc"]),
        // The flattened input is the dropout's output.
        ("fc.grad", &["drop", "loss"]),
        ("drop.grad", &["drop.mask", "fc.grad"]),
        ("pool.grad", &["add", "drop.grad"]),
        // The sum passes its gradient on to both sides, without a node of its own.
        ("conv.grad", &["relu", "pool.grad"]),
        ("relu.grad", &["relu", "conv.grad"]),
        ("bn.grad", &["stem", "relu.grad"]),
        ("stem.grad_add", &["pool.grad", "bn.grad"]),
        // The stem reads the batch, which is fixed memory.
        ("stem.grad", &["stem.grad_add"]),
    ] {
        assert_eq!(needs(&graph, name), expected, "{name}");
    }
    let size = |name: &str| graph.node(super::find(&graph, name)).output_bytes;
    assert_eq!(size("stem.grad"), 0);
    assert_eq!(size("conv.grad"), size("relu"));
    assert_eq!(size("drop.mask"), size("pool") / 4);
    assert_eq!(size("fc.grad"), size("drop"));
}

#[test]
fn the_other_layouts() {
    let net = residual().unwrap();
    let options = TrainingOptions {
        split_gradients: true,
        explicit_sums: false,
        relu_reads_input: true,
        ..TrainingOptions::default()
    };
    let graph = net.training_instance(&Device::v100(), &options).unwrap();
    assert_eq!(needs(&graph, "conv.grad_weight"), ["relu", "pool.grad"]);
    assert_eq!(needs(&graph, "conv.grad_input"), ["pool.grad"]);
    assert_eq!(needs(&graph, "relu.grad"), ["bn", "conv.grad_input"]);
    assert_eq!(needs(&graph, "stem.grad_weight"), ["pool.grad", "bn.grad"]);
    assert!(!names(&graph).contains(&"stem.grad_input"));
    // One node for both gradients costs as much as two separate nodes.
    let joint = train(&net);
    let cost = |graph: &Instance, name: &str| graph.node(super::find(graph, name)).cost();
    assert_eq!(
        cost(&joint, "conv.grad"),
        cost(&graph, "conv.grad_weight") + cost(&graph, "conv.grad_input")
    );
}

#[test]
fn concatenations_products_and_shared_inputs() {
    let mut net = network();
    let x = net.input("images", &[2, 3, 8, 8]).unwrap();
    let a = net.conv("a", x, Convolution::new(4, 1)).unwrap();
    let b = net.activation("b", a, Activation::Silu).unwrap();
    let c = net.multiply("c", a, b).unwrap();
    let d = net.concat("d", &[a, c]).unwrap();
    let e = net.softmax("e", d).unwrap();
    let f = net.add("f", e, e).unwrap();
    net.cross_entropy("loss", &[f, c]).unwrap();
    let graph = train(&net);
    for (name, expected) in [
        ("loss", &["c", "f"][..]),
        // The sum of a tensor with itself: it receives its gradient twice.
        ("e.grad_add", &["loss"]),
        ("e.grad", &["e", "e.grad_add"]),
        // Two readers of c: the loss, and a part of d.
        ("c.grad_add", &["loss", "e.grad"]),
        ("c.grad_0", &["b", "c.grad_add"]),
        ("c.grad_1", &["a", "c.grad_add"]),
        ("b.grad", &["a", "c.grad_1"]),
        ("a.grad_add", &["e.grad", "c.grad_0"]),
        ("a.grad_add2", &["a.grad_add", "b.grad"]),
        ("a.grad", &["a.grad_add2"]),
    ] {
        assert_eq!(needs(&graph, name), expected, "{name}");
    }
}

#[test]
fn attention_fused_and_plain() {
    let text = "gpt2?layers=1&seq=8&batch=1&vocab=11&d_model=12&heads=3";
    let fused = instance(text);
    for (name, expected) in [
        ("h.0.attn", &["h.0.attn.c_attn"][..]),
        // Output and normalisers are read as well; the result is the packed gradient of the
        // projection.
        (
            "h.0.attn.grad",
            &["h.0.attn.c_attn", "h.0.attn", "h.0.attn.c_proj.grad"],
        ),
        ("h.0.attn.c_attn.grad", &["h.0.ln_1", "h.0.attn.grad"]),
        // Ids are fixed memory.
        ("wte", &[]),
        ("wte.grad", &["drop.grad"]),
        ("wpe.grad", &["drop.grad"]),
        ("lm_head.grad", &["ln_f", "loss"]),
    ] {
        assert_eq!(needs(&fused, name), expected, "{name}");
    }
    let plain = instance(&format!("{text}&attention=plain&dropout=false"));
    for (name, expected) in [
        (
            "h.0.attn.context",
            &["h.0.attn.c_attn", "h.0.attn.softmax"][..],
        ),
        (
            "h.0.attn.context.grad_0",
            &["h.0.attn.c_attn", "h.0.attn.c_proj.grad"],
        ),
        (
            "h.0.attn.context.grad_1",
            &["h.0.attn.softmax", "h.0.attn.c_proj.grad"],
        ),
        (
            "h.0.attn.softmax.grad",
            &["h.0.attn.softmax", "h.0.attn.context.grad_0"],
        ),
        // Three parts from three nodes are assembled.
        (
            "h.0.attn.c_attn.grad_cat",
            &[
                "h.0.attn.context.grad_1",
                "h.0.attn.scores.grad_0",
                "h.0.attn.scores.grad_1",
            ],
        ),
        (
            "h.0.attn.c_attn.grad",
            &["h.0.ln_1", "h.0.attn.c_attn.grad_cat"],
        ),
        // The stream's gradient bypasses the branch.
        ("h.0.mlp.c_proj.grad", &["h.0.mlp.gelu", "ln_f.grad"]),
        (
            "h.0.attn.resid.add.grad_add",
            &["ln_f.grad", "h.0.ln_2.grad"],
        ),
    ] {
        assert_eq!(needs(&plain, name), expected, "{name}");
    }
    // A class token is a part of the last layer's output; the rest of the gradient is zero and must
    // be written.
    let vit = instance("vit?layers=1&size=32");
    assert_eq!(needs(&vit, "encoder.ln.grad_cat"), ["head.grad"]);
    assert_eq!(
        needs(&vit, "encoder.ln.grad"),
        ["encoder.0.mlp.resid.add", "encoder.ln.grad_cat"]
    );
    assert_eq!(
        needs(&vit, "conv_proj.grad"),
        needs(&vit, "class_token.grad"),
    );
}

#[test]
fn unpooling_reads_positions() {
    let graph = instance("segnet?size=32");
    assert_eq!(needs(&graph, "unpool5"), ["pool5", "pool5.indices"]);
    assert_eq!(needs(&graph, "pool5.indices"), ["relu5_3"]);
    assert_eq!(
        needs(&graph, "unpool5.grad"),
        ["pool5.indices", "conv5_3d.grad"]
    );
    assert_eq!(needs(&graph, "pool5.grad"), ["relu5_3", "unpool5.grad"]);
}

/// Queries of several heads share a key. Rotated or not, each part has its own gradient in the
/// fused node's output.
#[test]
fn grouped_queries() {
    let graph = instance("llama?layers=1&seq=8&d_model=16&heads=4&kv_heads=2&ffn=8&vocab=5");
    let fused = graph.node(super::find(&graph, "layers.0.attn.grad"));
    assert_eq!(fused.output_bytes, 2 * 8 * (16 + 8 + 8));
    assert_eq!(
        needs(&graph, "layers.0.attn.q_rotary.grad"),
        ["layers.0.attn.grad"]
    );
    assert_eq!(
        needs(&graph, "layers.0.attn.v_proj.grad"),
        ["layers.0.input_norm", "layers.0.attn.grad"]
    );
    // Three projections read the normalised stream: two sums.
    assert_eq!(
        needs(&graph, "layers.0.input_norm.grad"),
        ["embed_tokens", "layers.0.input_norm.grad_add2"]
    );
}

/// The backward pass of a mixture reads the routes, not the scores; the router's gradient passes
/// through the weights.
#[test]
fn routes_are_constants_and_weights_are_not() {
    let sizes = "layers=1&batch=3&seq=8&d_model=16&heads=4&kv_heads=2&ffn=8&vocab=5";
    let graph = instance(&format!("mixtral?{sizes}"));
    let moe = |name: &str| format!("layers.0.moe.{name}");
    let reads = |name: &str, inputs: &[&str]| {
        let wanted: Vec<String> = inputs.iter().map(|input| moe(input)).collect();
        assert_eq!(needs(&graph, &moe(name)), wanted, "{name}");
    };
    reads("route", &["router"]);
    reads("chosen", &["router", "route"]);
    reads("softmax", &["chosen"]);
    reads("up_proj", &["route", "dispatch"]);
    reads("combine", &["route", "softmax", "down_proj"]);
    let mixed = "layers.0.mlp.resid.add";
    assert_eq!(
        needs(&graph, mixed),
        ["layers.0.attn.resid.add", "layers.0.moe.combine"]
    );
    // The gradient of the sum is also the gradient of the mixture.
    let sum = "norm.grad";
    for (name, other) in [
        ("combine.grad_0", "softmax"),
        ("combine.grad_1", "down_proj"),
    ] {
        let wanted = [moe("route"), moe(other), sum.to_string()];
        assert_eq!(needs(&graph, &moe(name)), wanted);
    }
    reads("down_proj.grad", &["route", "mul", "combine.grad_0"]);
    reads("softmax.grad", &["softmax", "combine.grad_1"]);
    reads("chosen.grad", &["route", "softmax.grad"]);
    reads("dispatch.grad", &["route", "dispatch.grad_add"]);
    assert_eq!(
        needs(&graph, &moe("router.grad")),
        ["layers.0.post_norm".to_string(), moe("chosen.grad")]
    );
    let node = |name: &str| graph.node(super::find(&graph, &moe(name)));
    assert_eq!(node("chosen.grad").shape, node("router").shape);
    assert!(
        graph
            .nodes()
            .iter()
            .all(|node| node.name != moe("route.grad"))
    );
    // Separate nodes for matrices and rows: both read the destinations of the rows.
    let split = instance(&format!("mixtral?{sizes}&gradients=split"));
    assert_eq!(
        needs(&split, &moe("down_proj.grad_weight")),
        ["route", "mul", "combine.grad_0"].map(moe)
    );
    assert_eq!(
        needs(&split, &moe("down_proj.grad_input")),
        ["route", "combine.grad_0"].map(moe)
    );
    // With one expert per token, its weight is its share among all experts.
    let one = instance(&format!("mixtral?{sizes}&top_k=1"));
    assert_eq!(needs(&one, &moe("softmax")), [moe("router")]);
    assert_eq!(needs(&one, &moe("chosen")), ["route", "softmax"].map(moe));
}

#[test]
fn what_cannot_be_built_is_refused() {
    let mut net = network();
    let x = net.input("x", &[2, 8, 12]).unwrap();
    let y = net.input("y", &[2, 8, 6]).unwrap();
    let heads = |query, key_value| Heads {
        query,
        key_value,
        causal: false,
    };
    assert!(net.add("add", x, y).is_err());
    assert!(
        net.attention("a", [x, x, x], heads(5, 5), true, false)
            .is_err()
    );
    assert!(
        net.attention("a", [x, x, x], heads(4, 3), true, false)
            .is_err()
    );
    assert!(
        net.attention("a", [x, x, x], heads(0, 1), true, false)
            .is_err()
    );
    // Values of other positions, and values that the key heads do not divide.
    for shape in [[2, 7, 6], [2, 8, 5]] {
        let value = net.input("value", &shape).unwrap();
        assert!(
            net.attention("a", [x, y, value], heads(4, 2), true, false)
                .is_err()
        );
    }
    assert!(net.expand("e", x, 1, 3).is_err());
    assert!(net.expand("e", x, 3, 3).is_err());
    assert!(net.view("v", x, &[3, 8]).is_err());
    let beyond = Slice {
        axis: 1,
        start: 1,
        length: 8,
    };
    assert!(net.slice("s", y, beyond).is_err());
    assert!(net.upsample("u", y, &[2, 3]).is_err());
    assert!(net.concat("c", &[]).is_err());
    let table = net.parameter("table", &[7, 5]).unwrap();
    assert!(net.embedding("e", x, table, 6).is_err());
    assert!(net.linear_shared("l", x, 7, table, false).is_err());
    assert!(net.gate("g", x, 0).is_err());
    assert!(net.gate("g", x, 13).is_err());
    let (routes, weights) = net.gate("gate", y, 2).unwrap();
    let other = net.input("other", &[2, 7, 12]).unwrap();
    assert!(net.dispatch("d", other, routes).is_err());
    let rows = net.dispatch("rows", x, routes).unwrap();
    assert!(net.grouped_linear("e", x, routes, 6, 5).is_err());
    assert!(net.combine("c", rows, x, routes).is_err());
    assert!(net.combine("c", x, weights, routes).is_err());
    // There is no loss, and a name is repeated.
    let z = net.linear("fc", x, 3, false).unwrap();
    let device = Device::v100();
    let options = TrainingOptions::default();
    assert!(matches!(
        net.training_instance(&device, &options),
        Err(ZooError::Layer { .. })
    ));
    let z = net.linear("fc", z, 3, false).unwrap();
    net.cross_entropy("loss", &[z]).unwrap();
    assert!(matches!(
        net.training_instance(&device, &options),
        Err(ZooError::Structure(_))
    ));
}
