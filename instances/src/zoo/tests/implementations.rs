//! Implementation sets: the plain graph is contained unchanged, and the additions match the table.

use super::{find, instance};
use crate::instance::NodeKind;
use crate::schedule::MonetSchedule;
use crate::simulate;
use crate::zoo::{self, Action, ModelSpec};

#[test]
fn the_first_implementations_are_the_plain_graph() {
    for model in [
        "vgg16",
        "resnet18",
        "unet",
        "googlenet",
        "inception_v3",
        "mobilenet_v2",
        "gpt2",
        "segnet",
    ] {
        for layout in [
            "",
            "&gradients=split&grad_add=implicit&relu_saves=input",
            "&backward=false",
        ] {
            let plain = instance(&format!("{model}?batch=2{layout}"));
            let whole = instance(&format!("{model}?batch=2{layout}&implementations=monet"));
            let view = whole.single_implementation().0;
            assert_eq!(plain.len(), view.len(), "{model}{layout}");
            for (a, b) in plain.nodes().iter().zip(view.nodes()) {
                assert_eq!(
                    (
                        &a.name,
                        a.output_bytes,
                        a.fixed_bytes,
                        a.needs(),
                        a.cost(),
                        &a.passing
                    ),
                    (
                        &b.name,
                        b.output_bytes,
                        b.fixed_bytes,
                        b.needs(),
                        b.cost(),
                        &b.passing
                    ),
                    "{model}{layout}"
                );
            }
            let Some(schedule) = MonetSchedule::checkpoint_all(&whole) else {
                assert_eq!(layout, "&backward=false");
                continue;
            };
            let replay = simulate::monet(&whole, &schedule).unwrap();
            assert_eq!(replay.cost, plain.base_cost(), "{model}{layout}");
        }
    }
}

#[test]
fn vgg_has_algorithms_masks_and_in_place_activations() {
    let vgg = instance("vgg16?batch=4&implementations=monet");
    assert!(vgg.has_choices());
    let names = |node: &str| -> Vec<&str> {
        let node = vgg.node(find(&vgg, node));
        node.implementations
            .iter()
            .map(|p| p.name.as_str())
            .collect()
    };
    assert_eq!(
        names("conv1_2"),
        [
            "implicit_gemm",
            "gemm",
            "winograd",
            "winograd_nonfused",
            "fft"
        ]
    );
    assert_eq!(
        names("conv1_2.grad"),
        ["implicit_gemm", "winograd", "winograd_nonfused", "fft"]
    );
    assert_eq!(names("relu1_2.grad"), ["output", "input", "mask"]);
    assert_eq!(names("pool1.grad"), ["input", "mask"]);
    let relu = find(&vgg, "relu1_2");
    let mask = vgg.node(find(&vgg, "relu1_2.mask"));
    assert_eq!(mask.kind, NodeKind::ByProduct { parent: relu });
    assert_eq!(mask.output_bytes * 32, vgg.node(relu).output_bytes);
    let on = vgg.node(relu).in_place.as_ref().unwrap().on;
    assert_eq!(on, find(&vgg, "conv1_2"));
    let reads = |p: usize| {
        vgg.node(find(&vgg, "relu1_2.grad")).implementations[p]
            .needs
            .clone()
    };
    assert!(reads(0).contains(&relu) && reads(1).contains(&on));
    assert!(reads(2).contains(&find(&vgg, "relu1_2.mask")) && !reads(2).contains(&relu));
    let indices = vgg.node(find(&vgg, "pool1.mask"));
    assert_eq!(
        indices.output_bytes * 4,
        vgg.node(find(&vgg, "pool1")).output_bytes
    );
    // Winograd is faster than plain products and needs little workspace; strided and 1x1
    // convolutions do not have it.
    let conv = vgg.node(find(&vgg, "conv3_2"));
    assert!(conv.implementations[2].cost < conv.cost());
    let resnet = instance("resnet50?batch=4&implementations=monet");
    let stem = resnet.node(find(&resnet, "conv1"));
    let stem: Vec<&str> = stem
        .implementations
        .iter()
        .map(|p| p.name.as_str())
        .collect();
    assert_eq!(stem, ["implicit_gemm", "gemm"]);
}

/// By-products belong to the forward pass, and the other nodes have the same actions as in the
/// plain graph, under their new ids.
#[test]
fn programs_know_what_each_node_computes() {
    for model in ["vgg16?batch=2", "unet?batch=1", "gpt2?batch=1&layers=1"] {
        let program = |text: &str| {
            let spec: ModelSpec = text.parse().unwrap();
            zoo::program(&spec).unwrap().unwrap()
        };
        let (plain, whole) = (
            program(model),
            program(&format!("{model}&implementations=monet")),
        );
        assert_eq!(whole.instance.len(), whole.actions.len());
        let by_product =
            |id: &crate::NodeId| matches!(whole.actions[id.index()], Action::ByProduct { .. });
        let kept: Vec<_> = whole.instance.ids().filter(|id| !by_product(id)).collect();
        assert_eq!(kept.len(), plain.instance.len(), "{model}");
        for (id, action) in kept.iter().zip(&plain.actions) {
            let moved = action.renumbered(&kept);
            assert_eq!(moved, whole.actions[id.index()], "{model}, node {id}");
        }
        for id in whole.instance.ids().filter(by_product) {
            let NodeKind::ByProduct { parent } = whole.instance.node(id).kind else {
                panic!("{model}: node {id} is no by-product");
            };
            let Action::ByProduct { operation } = whole.actions[id.index()] else {
                panic!("{model}: node {id} is no by-product");
            };
            assert_eq!(
                whole.actions[parent.index()],
                Action::Forward { operation },
                "{model}"
            );
        }
    }
}
