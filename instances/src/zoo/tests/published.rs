//! The zoo compared with the graphs and profiles published with MONeT.

use super::instance;
use crate::instance::{Instance, NodeId, NodeKind};
use serde_json::Value;
use std::collections::BTreeSet;

fn published(name: &str) -> Option<Value> {
    let path = format!(
        "{}/../../shared/data/zoo/graphs/{name}.json",
        env!("CARGO_MANIFEST_DIR")
    );
    let Ok(text) = std::fs::read_to_string(&path) else {
        println!("skipped: {path} is not there");
        return None;
    };
    Some(serde_json::from_str(&text).unwrap())
}

/// Returns whether a published node has no counterpart here: views, gradients that are views, and
/// the input gradient of the first layer.
fn is_elided(node: &Value) -> bool {
    let op = node["op"].as_str().unwrap();
    matches!(op, "flatten" | "flatten_bwd" | "add__bwd" | "cat_bwd")
        || (node["grad"] == "input" && node["bytes"] == 0)
}

/// Compares node by node: sizes, fixed memory, and inputs. Elided nodes stand for their inputs. The
/// mask that our dropout saves stands for the output that the published one saves.
fn compare(name: &str, ours: &Instance) {
    let Some(graph) = published(name) else {
        return;
    };
    let list = graph["nodes"].as_array().unwrap();
    let mut mine = ours.ids().filter(|id| ours.node(*id).op != "dropout_mask");
    // Our nodes that correspond to each published one.
    let mut stand_ins: Vec<BTreeSet<NodeId>> = Vec::new();
    for (k, node) in list.iter().enumerate() {
        let mut inputs = BTreeSet::new();
        for need in node["deps"][0].as_array().unwrap() {
            inputs.extend(stand_ins[need.as_u64().unwrap() as usize].iter().copied());
        }
        if is_elided(node) {
            // A view keeps its gradient, not the tensor that it views.
            inputs.retain(|id| {
                k < graph["counts"]["L"].as_u64().unwrap() as usize
                    || ours.node(*id).is_backward()
                    || Some(*id) == ours.loss()
            });
            stand_ins.push(inputs);
            continue;
        }
        let id = mine.next().unwrap();
        stand_ins.push(BTreeSet::from([id]));
        let own = ours.node(id);
        let at = format!("{name}: {k} ({}) and {id} ({})", node["op"], own.name);
        assert_eq!(own.output_bytes, node["bytes"].as_u64().unwrap(), "{at}");
        assert_eq!(
            own.fixed_bytes,
            node["fixed_bytes"].as_u64().unwrap(),
            "{at}"
        );
        assert_eq!(own.is_backward(), node["kind"] == "bwd", "{at}");
        let needs: BTreeSet<NodeId> = own
            .needs()
            .iter()
            .filter(|need| own.op != "dropout" || ours.node(**need).op != "dropout_mask")
            .map(|need| match ours.node(*need).op.as_str() {
                "dropout_mask" => NodeId(need.0 + 1),
                _ => *need,
            })
            .collect();
        assert_eq!(needs, inputs, "{at}");
        if let NodeKind::Backward { forward, .. } = own.kind {
            let twin = &stand_ins[node["fwd"].as_u64().unwrap() as usize];
            assert_eq!(forward.as_ref(), twin.first(), "{at}");
        }
    }
    assert_eq!(mine.next(), None);
}

const LAYOUT: &str = "gradients=split&grad_add=implicit&relu_saves=input";

#[test]
fn vgg16_is_the_published_graph() {
    compare(
        "vgg16_176_normal",
        &instance(&format!("vgg16?batch=176&{LAYOUT}")),
    );
}

#[test]
fn resnet50_is_the_published_graph() {
    compare(
        "resnet50_184_normal",
        &instance(&format!("resnet50?batch=184&{LAYOUT}")),
    );
}

#[test]
fn unet_is_the_published_graph() {
    compare(
        "unet_11_normal",
        &instance(&format!("unet?batch=11&{LAYOUT}")),
    );
}

/// Fixed memory at the end of the published GoogLeNet: parameters with both auxiliary heads,
/// statistics, images, gradients.
#[test]
fn googlenet_has_the_published_fixed_memory() {
    let ours = instance("googlenet?batch=320&aux=true");
    assert_eq!(ours.node(0.into()).fixed_bytes, 244_755_680);
    assert_eq!(ours.static_bytes(), 296_775_232);
}

/// Sums of the published profiles in units of 10 microseconds (P100, fp32, forward and backward).
/// The model is fitted to them as a whole; it underestimates GoogLeNet's many small 1x1
/// convolutions and 3x3 pools of stride 1.
#[test]
fn costs_are_near_the_published_profiles() {
    for (text, published, least) in [
        ("vgg16?batch=176", 245_618.0, 0.85),
        ("resnet50?batch=184", 101_898.0, 0.85),
        ("unet?batch=11", 188_252.0, 0.85),
        ("googlenet?batch=320&aux=true", 84_436.0, 0.75),
    ] {
        let cost = instance(&format!("{text}&device=p100")).base_cost() as f64 / 1e4;
        let ratio = cost / published;
        println!("{text}: {ratio:.3} of the profile");
        assert!((least..1.15).contains(&ratio), "{text}: {ratio}");
    }
}
