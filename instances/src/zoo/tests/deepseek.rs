//! DeepSeek-V3: its published numbers, its graph, and its experts on several devices.

use super::{find, instance, needs, net};
use crate::zoo::{ModelSpec, ZooError, build};

/// Sizes of a small network, in which no two numbers of features are equal.
const SMALL: &str = "deepseek_v3?layers=2&dense_layers=1&d_model=64&heads=4&q_lora=24&kv_lora=16&\
                     qk_nope=8&qk_rope=4&v_head=10&ffn=96&moe_ffn=20&experts=8&top_k=3&seq=16&vocab=50";

fn is_near(found: u64, published: f64, tolerance: f64) -> bool {
    (found as f64 / published - 1.0).abs() < tolerance
}

/// Section 1 of the report: 671 billion parameters, of which a token uses 37 billion. The published
/// weights have 11.5 billion more for the module that predicts one more token, and 685 billion with
/// its copies of the embeddings and of the output projection.
#[test]
fn parameters_are_the_published_ones() {
    let main = net("deepseek_v3?mtp=false").parameter_count();
    let whole = net("deepseek_v3").parameter_count();
    assert!(is_near(main, 671.0e9, 1e-3), "{main}");
    assert!(is_near(whole - main, 11.5e9, 1e-2), "{whole}");
    let (d, vocab) = (7168, 129_280);
    let copies = 2 * d * vocab;
    assert!(is_near(whole + copies, 685.0e9, 1e-3), "{whole}");
    // The same by the report's table of shapes.
    let attention = d * 1536 + 1536 + 1536 * 128 * 192 + d * 576 + 512 + 512 * 128 * 256;
    let attention = attention + 128 * 128 * d;
    let (expert, router, norms) = (3 * d * 2048, d * 256, 2 * d);
    let mixture = attention + 257 * expert + router + norms;
    let dense = attention + 3 * d * 18_432 + norms;
    assert_eq!(main, 3 * dense + 58 * mixture + 2 * d * vocab + d);
    assert_eq!(whole - main, mixture + 2 * d * d + 3 * d);
    // A token meets 8 of 256 experts.
    let active = main - 58 * 248 * expert;
    assert!(is_near(active, 37.0e9, 2e-2), "{active}");
    // All parameters of a token are in products, except for scales and embeddings. One position
    // attends to itself: half of a product with 192 and half of one with 128 features a head.
    let products = net("deepseek_v3?mtp=false&seq=1").multiply_adds() as u64;
    let scales = 61 * (norms + 1536 + 512) + d;
    assert_eq!(products, active - scales - d * vocab + 61 * 128 * 160);
}

#[test]
fn latent_attention_is_made_of_narrow_parts() {
    let graph = instance(SMALL);
    let attn = |name: &str| format!("layers.0.attn{name}");
    let shape = |name: &str| graph.node(find(&graph, &attn(name))).shape.clone();
    assert_eq!(shape(".q_b_proj"), [1, 16, 4 * 12]);
    assert_eq!(shape(".kv_a_proj"), [1, 16, 16 + 4]);
    assert_eq!(shape(".kv_b_proj"), [1, 16, 4 * 18]);
    assert_eq!(shape(".k_expand"), [1, 16, 4, 4]);
    assert_eq!(shape(".k_concat"), [16 * 4, 12]);
    assert_eq!(shape(""), [1, 16, 4 * 10]);
    let reads = |name: &str, inputs: &[&str]| {
        let wanted: Vec<String> = inputs.iter().map(|input| attn(input)).collect();
        assert_eq!(needs(&graph, &attn(name)), wanted, "{name}");
    };
    reads(".kv_a_norm", &[".kv_a_proj"]);
    reads(".k_rotary", &[".kv_a_proj"]);
    reads(".q_concat", &[".q_b_proj", ".q_rotary"]);
    reads(".k_concat", &[".kv_b_proj", ".k_expand"]);
    reads("", &[".kv_b_proj", ".q_concat", ".k_concat"]);
    reads(".o_proj", &[""]);
    // The gradients of keys and values come from one node, but not side by side.
    reads(".kv_b_proj.grad_cat", &[".grad"]);
    reads(".k_expand.grad", &[".grad"]);
    reads(".k_rotary.grad", &[".k_expand.grad"]);
    reads(
        ".kv_a_proj.grad_cat",
        &[".k_rotary.grad", ".kv_a_norm.grad"],
    );
    reads(".q_b_proj.grad_cat", &[".grad", ".q_rotary.grad"]);
    // Gradients of query, key and value.
    let fused = graph.node(find(&graph, &attn(".grad")));
    assert_eq!(fused.output_bytes, 2 * 16 * 4 * (12 + 12 + 10));
    // Plain attention: the context has the features of the values.
    let plain = instance(&format!("{SMALL}&attention=plain"));
    let node = |name: &str| plain.node(find(&plain, &attn(name)));
    assert_eq!(node(".scores").shape, [1, 4, 16, 16]);
    assert_eq!(node(".context").shape, [1, 16, 4 * 10]);
}

/// Forward 2 products and backward 5, on half of the pairs of positions each.
#[test]
fn products_of_attention_know_both_sizes_of_heads() {
    let (seq, heads) = (1 << 14, 128);
    let text = "deepseek_v3?layers=1&mtp=false&d_model=128&q_lora=1&kv_lora=1&ffn=1&vocab=1";
    let graph = instance(&format!("{text}&seq={seq}"));
    let cost = |name: &str| graph.node(find(&graph, name)).cost() as f64;
    // 989.4 TFLOP/s, of which 45% are reached, 70% of them by a fused attention.
    let time = |features: u64| {
        let flops = (seq * seq * heads * features) as f64;
        flops / (989.4e3 * 0.45 * 0.7) + 4000.0
    };
    let [forward, backward] = [192 + 128, 3 * 192 + 2 * 128].map(time);
    assert!((cost("layers.0.attn") / forward - 1.0).abs() < 1e-6);
    assert!((cost("layers.0.attn.grad") / backward - 1.0).abs() < 1e-6);
}

#[test]
fn one_more_token_shares_embeddings_and_projection() {
    let graph = instance(SMALL);
    for (name, wanted) in [
        ("mtp.concat", &["mtp.enorm", "mtp.hnorm"][..]),
        ("mtp.enorm", &["mtp.embed_tokens"]),
        ("mtp.hnorm", &["layers.1.mlp.resid.add"]),
        ("mtp.lm_head", &["mtp.norm"]),
        ("loss", &["lm_head", "mtp.lm_head"]),
    ] {
        assert_eq!(needs(&graph, name), wanted, "{name}");
    }
    let residents = |name: &str| &graph.node(find(&graph, name)).resident;
    assert_eq!(residents("embed_tokens"), residents("mtp.embed_tokens"));
    assert_eq!(residents("lm_head"), residents("mtp.lm_head"));
    let loss = graph.node(graph.loss().unwrap());
    assert_eq!(loss.output_bytes, 2 * 2 * 16 * 50);
    // The token ids and the next ones.
    let all = graph.resident_bytes(graph.ids());
    assert_eq!(all + 2 * 16 * 8, graph.static_bytes());
    let without = instance(&format!("{SMALL}&mtp=false"));
    assert!(without.nodes().iter().all(|v| !v.name.starts_with("mtp")));
}

/// A device holds its share of the experts and computes as many rows as before.
#[test]
fn devices_divide_experts() {
    let text = SMALL.replace("layers=2", "layers=4");
    let whole = instance(&text);
    let share = instance(&format!("{text}&expert_parallel=4"));
    assert_eq!(whole.len(), share.len());
    let expert = 3 * 64 * 20;
    // Three layers and the one of the further token; parameters and gradients in 2 bytes.
    let saved = 4 * (8 - 2) * expert * (2 + 2);
    assert_eq!(whole.static_bytes() - share.static_bytes(), saved);
    let all = |graph: &crate::instance::Instance| graph.resident_bytes(graph.ids());
    assert_eq!(all(&whole) - all(&share), saved);
    for (a, b) in whole.nodes().iter().zip(share.nodes()) {
        assert_eq!(
            (&a.name, &a.shape, a.output_bytes),
            (&b.name, &b.shape, b.output_bytes)
        );
        assert!(b.cost() <= a.cost());
        let grouped = a.op == "grouped_linear";
        assert_eq!(a.resident == b.resident, !grouped, "{}", a.name);
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let error = |more: &str| {
        let spec: ModelSpec = format!("deepseek_v3?{more}").parse().unwrap();
        build(&spec).unwrap_err()
    };
    let text = error("expert_parallel=3").to_string();
    assert!(
        text.contains("expert_parallel=3 does not divide experts=256"),
        "{text}"
    );
    let text = error("top_k=300").to_string();
    assert!(text.contains("top_k=300 of 256 experts"), "{text}");
    let large =
        "heads=65536&qk_nope=65536&qk_rope=65536&v_head=65536&seq=16777216&batch=1073741824";
    assert!(matches!(error(large), ZooError::TooLarge { .. }));
    // Any number of heads goes with any number of features.
    let odd = SMALL.replace("heads=4", "heads=5");
    assert!(
        build(
            &format!("{odd}&qk_rope=3")
                .replace("&qk_rope=4", "")
                .parse()
                .unwrap()
        )
        .is_ok()
    );
    for more in [
        "shared=0",
        "shared=2",
        "dense_layers=9",
        "dense_layers=0",
        "top_k=1",
    ] {
        let text = SMALL.replace("&dense_layers=1", "").replace("&top_k=3", "");
        instance(&format!("{text}&{more}"));
    }
}
