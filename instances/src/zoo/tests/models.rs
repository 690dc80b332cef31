//! Every model: published counts and sizes, and properties common to all models.

use super::{find, instance, net};
use crate::instance::{Instance, NodeKind};
use crate::schedule::CheckmateSchedule;
use crate::simulate;
use crate::zoo::list;

/// Sources of the numbers: torchvision's model table and paper tables for the networks on images
/// (trainable parameters), Hugging Face's checkpoints for the transformers, the 3D U-Net paper
/// (without batch norm parameters), arithmetic of the layer tables for FCN-8s and SegNet.
#[test]
fn parameter_counts_are_the_published_ones() {
    for (text, published) in [
        ("vgg16", 138_357_544),
        ("vgg19", 143_667_240),
        ("resnet18", 11_689_512),
        ("resnet50", 25_557_032),
        ("resnet101", 44_549_160),
        ("resnet152", 60_192_808),
        ("mobilenet_v1", 4_231_976),
        ("mobilenet_v2", 3_504_872),
        ("googlenet", 6_624_904),
        ("googlenet?aux=true", 13_004_888),
        ("inception_v3", 23_834_568),
        ("inception_v3?aux=true", 27_161_264),
        ("densenet121", 7_978_856),
        // U-Net of the published profile: 4 bytes x (parameters + 8,832 running statistics).
        ("unet", 17_276_225 - 8_832),
        ("unet3d", 19_069_955 + 4_672),
        ("gpt2", 124_439_808),
        ("gpt2?layers=24&d_model=1024&heads=16", 354_823_168),
        ("bert?classes=0", 109_482_240),
        ("bert", 109_483_778),
        ("bert?task=mlm", 109_514_298),
        (
            "bert?layers=24&d_model=1024&heads=16&ffn=4096&classes=0",
            335_141_888,
        ),
        ("vit", 86_567_656),
        ("vit?layers=24&d_model=1024&heads=16&ffn=4096", 304_326_632),
        ("llama", 6_738_415_616),
        ("llama?kv_heads=8&ffn=14336&vocab=128256", 8_030_261_248),
        ("mixtral", 46_702_792_704),
    ] {
        assert_eq!(net(text).parameter_count(), published, "{text}");
    }
    // The VGG-16 convolutions, fc6 to score_fr, two more scores, three upsampling kernels.
    let scores = 4096 * 21 + 21 + 256 * 21 + 21 + 512 * 21 + 21;
    let heads = 512 * 49 * 4096 + 4096 + 4096 * 4096 + 4096 + scores;
    let fcn8 = 14_714_688 + heads + 21 * 21 * (16 + 16 + 256);
    assert_eq!(net("fcn8").parameter_count(), fcn8);
    let batch_norm: u64 = 2 * 4224;
    let decoder = [
        (512, 512, 4),
        (512, 256, 1),
        (256, 256, 2),
        (256, 128, 1),
        (128, 128, 1),
        (128, 64, 1),
        (64, 64, 1),
    ];
    // The decoder mirrors 512-512-512, 512-512-256, 256-256-128, 128-64, 64-classes.
    let decoder: u64 = [(512, 512, 1)]
        .into_iter()
        .chain(decoder)
        .map(|(a, b, times)| times * (9 * a * b + b + 2 * b))
        .sum();
    let segnet = 14_714_688 + batch_norm + decoder + 9 * 64 * 12 + 12;
    assert_eq!(net("segnet").parameter_count(), segnet);
}

/// A token of Mixtral 8x7B uses 12.9 billion parameters (its paper, section 2). All of them are in
/// products, except for the scales and the embeddings, of which a token reads one row.
#[test]
fn active_parameters_are_the_published_ones() {
    let mixtral = net("mixtral?batch=1&seq=1");
    let (layers, d, vocab) = (32, 4096, 32_000);
    // For one position attending to itself: half of two products each.
    let attention = layers * d;
    let active = mixtral.multiply_adds() as u64 - attention + vocab * d + (2 * layers + 1) * d;
    assert_eq!((active + 50_000_000) / 100_000_000, 129, "{active}");
    let idle = layers * (8 - 2) * 3 * d * 14_336;
    assert_eq!(active, mixtral.parameter_count() - idle);
    // With alternating layers, half of them have one feed-forward part instead of eight and a
    // router.
    let turns = net("mixtral?every=2").parameter_count();
    let mixtures = layers / 2 * (7 * 3 * d * 14_336 + 8 * d);
    assert_eq!(turns, mixtral.parameter_count() - mixtures);
    let dense = net("mixtral?every=10000").parameter_count();
    let llama = net("llama?kv_heads=8&ffn=14336").parameter_count();
    assert_eq!(dense, llama);
}

/// Billions of multiply-adds for one image (torchvision's table of models; MobileNet v1: 569
/// million in its paper).
#[test]
fn multiply_adds_are_the_published_ones() {
    for (text, published) in [
        ("vgg16", 15.47),
        ("vgg19", 19.63),
        ("resnet18", 1.81),
        ("resnet50", 4.09),
        ("resnet101", 7.80),
        ("resnet152", 11.51),
        ("mobilenet_v1", 0.569),
        ("mobilenet_v2", 0.30),
        ("googlenet", 1.50),
        ("inception_v3", 5.71),
        ("densenet121", 2.83),
        ("vit?attention=plain", 17.56),
    ] {
        let found = net(&format!(
            "{text}{}batch=1",
            if text.contains('?') { '&' } else { '?' }
        ))
        .multiply_adds() as f64
            / 1e9;
        assert!(
            (found / published - 1.0).abs() < 0.01,
            "{text}: {found} against {published}"
        );
    }
    // A causal fused attention does half the products of a plain one.
    let [fused, plain] = ["flash", "plain"]
        .map(|kind| net(&format!("gpt2?batch=1&attention={kind}")).multiply_adds());
    assert_eq!(plain - fused, 12 * 1024 * 1024 * 768);
}

#[test]
fn known_layers_have_known_sizes() {
    let vgg = instance("vgg16?batch=1");
    let first = vgg.node(find(&vgg, "conv1_1"));
    assert_eq!(
        (first.output_bytes, &first.shape[..]),
        (12_845_056, &[1, 64, 224, 224][..])
    );
    assert_eq!(vgg.node(find(&vgg, "pool5")).shape, [1, 512, 7, 7]);
    let resnet = instance("resnet50?batch=2&dtype=bf16");
    for (name, shape) in [
        ("conv1", [2, 64, 112, 112]),
        ("maxpool", [2, 64, 56, 56]),
        ("layer1.2.relu", [2, 256, 56, 56]),
        ("layer2.0.conv1", [2, 128, 56, 56]),
        ("layer2.0.conv2", [2, 128, 28, 28]),
        ("layer3.5.add", [2, 1024, 14, 14]),
        ("layer4.0.downsample.conv", [2, 2048, 7, 7]),
        ("avgpool", [2, 2048, 1, 1]),
    ] {
        let node = resnet.node(find(&resnet, name));
        assert_eq!(node.shape, shape, "{name}");
        assert_eq!(node.output_bytes, 2 * shape.iter().product::<u64>());
    }
    let google = instance("googlenet?batch=1");
    for (name, channels, side) in [
        ("inception3b.concat", 480, 28),
        ("inception4e.concat", 832, 14),
        ("inception5b.concat", 1024, 7),
    ] {
        assert_eq!(
            google.node(find(&google, name)).shape,
            [1, channels, side, side]
        );
    }
    let inception = instance("inception_v3?batch=1");
    for (name, channels, side) in [
        ("Conv2d_2b_3x3.relu", 64, 147),
        ("Conv2d_4a_3x3.relu", 192, 71),
        ("Mixed_5d.concat", 288, 35),
        ("Mixed_6b.branch7x7_2.relu", 128, 17),
        ("Mixed_6e.concat", 768, 17),
        ("Mixed_7a.concat", 1280, 8),
        ("Mixed_7c.concat", 2048, 8),
    ] {
        assert_eq!(
            inception.node(find(&inception, name)).shape,
            [1, channels, side, side]
        );
    }
    let mobile = instance("mobilenet_v2?batch=1");
    assert_eq!(
        mobile.node(find(&mobile, "features.18.relu6")).shape,
        [1, 1280, 7, 7]
    );
    let dense = instance("densenet121?batch=1");
    assert_eq!(
        dense.node(find(&dense, "denseblock3.24.concat")).shape,
        [1, 1024, 14, 14]
    );
    let gpt2 = instance("gpt2?batch=2&attention=plain&dtype=fp16");
    let scores = gpt2.node(find(&gpt2, "h.0.attn.scores"));
    assert_eq!(scores.shape, [2, 12, 1024, 1024]);
    assert_eq!(
        gpt2.node(find(&gpt2, "loss")).output_bytes,
        2 * 2 * 1024 * 50257
    );
    let llama = instance("llama?layers=1&kv_heads=8&seq=128");
    assert_eq!(
        llama.node(find(&llama, "layers.0.attn.k_proj")).shape,
        [1, 128, 1024]
    );
    let mixtral = instance("mixtral?layers=1&batch=3&seq=128");
    for (name, shape, element_bytes) in [
        ("layers.0.moe.router", &[3, 128, 8][..], 2),
        ("layers.0.moe.route", &[3, 128, 2][..], 8),
        ("layers.0.moe.softmax", &[3, 128, 2][..], 2),
        ("layers.0.moe.dispatch", &[3 * 128 * 2, 4096][..], 2),
        ("layers.0.moe.up_proj", &[3 * 128 * 2, 14_336][..], 2),
        ("layers.0.moe.combine", &[3, 128, 4096][..], 2),
    ] {
        let node = mixtral.node(find(&mixtral, name));
        assert_eq!(node.shape, shape, "{name}");
        assert_eq!(
            node.output_bytes,
            element_bytes * shape.iter().product::<u64>()
        );
    }
    // Fused attention keeps 4 bytes per query and head beside its output.
    assert_eq!(
        llama.node(find(&llama, "layers.0.attn")).output_bytes,
        2 * 128 * 4096 + 4 * 32 * 128
    );
}

/// Parameters, running statistics, input batch, and at the end all parameter gradients.
#[test]
fn fixed_memory_is_exact() {
    let parameters = 25_557_032;
    let (statistics, images) = (4 * 53_120, 8 * 3 * 224 * 224);
    for (text, parameter, gradient, input) in [
        ("resnet50?batch=8", 4, 4, 4),
        ("resnet50?batch=8&dtype=bf16", 2, 2, 2),
        ("resnet50?batch=8&dtype=fp16&param_dtype=fp32", 4, 4, 2),
        ("resnet50?batch=8&dtype=fp16&grad_dtype=fp32", 2, 4, 2),
    ] {
        let instance = instance(text);
        let before = parameter * parameters + statistics + input * images;
        let first = instance.node(0.into()).fixed_bytes;
        assert_eq!(first, before, "{text}");
        assert_eq!(
            instance.static_bytes(),
            before + gradient * parameters,
            "{text}"
        );
        let loss = instance.loss().unwrap();
        assert_eq!(instance.node(loss).fixed_bytes, before);
        // 2048 x 1000 weights and 1000 biases come first.
        let fc = instance.node(find(&instance, "fc.grad"));
        assert_eq!(fc.fixed_bytes, before + gradient * 2_049_000);
    }
    // Tied embeddings count once: their gradient exists from the output projection on.
    let tied = instance("gpt2?batch=1&seq=64&layers=1");
    let table = 4 * 50257 * 768;
    let loss = tied.node(tied.loss().unwrap()).fixed_bytes;
    assert_eq!(
        tied.node(find(&tied, "lm_head.grad")).fixed_bytes,
        loss + table
    );
    let last = [find(&tied, "wpe.grad"), find(&tied, "wte.grad")].map(|id| tied.node(id));
    assert_eq!(last[0].fixed_bytes, last[1].fixed_bytes);
    assert_eq!(
        tied.static_bytes() - loss,
        4 * net("gpt2?layers=1").parameter_count()
    );
}

/// Small settings for every model.
fn small() -> Vec<String> {
    let sizes = |name: &str| match name {
        "chain" => "n=40",
        "random_layered" => "n=40",
        "randwire" => "size=64&nodes=8",
        "gpt2" => "layers=2&seq=64",
        "bert" => "layers=2&seq=64",
        "vit" => "layers=2&size=64",
        "llama" => "layers=2&seq=64&d_model=256&heads=8&kv_heads=2&ffn=512",
        "mixtral" => "layers=2&seq=64&d_model=256&heads=8&kv_heads=2&ffn=512&every=2",
        "deepseek_v3" => {
            "layers=3&dense_layers=1&d_model=64&heads=4&q_lora=24&kv_lora=16&qk_nope=8&qk_rope=4&v_head=12&ffn=96&moe_ffn=32&experts=8&top_k=3&seq=16&vocab=50"
        }
        "unet3d" => "size=16x32x32",
        "unet" | "fcn8" | "segnet" => "size=64x96",
        "googlenet" => "size=96&aux=true",
        "inception_v3" => "size=299&aux=true",
        _ => "size=64",
    };
    list()
        .iter()
        .map(|model| format!("{}?{}", model.name, sizes(model.name)))
        .collect()
}

/// Returns whether the model is a network, which has a backward pass in several layouts, or only a
/// graph.
fn is_network(text: &str) -> bool {
    crate::zoo::network(&text.parse().unwrap())
        .unwrap()
        .is_some()
}

fn check_shape_of_graph(instance: &Instance, text: &str) {
    let loss = instance.loss().unwrap();
    for id in instance.ids() {
        let node = instance.node(id);
        // Every tensor has a reader: a training graph has no useless computations, and parameter
        // gradients are in fixed memory.
        if node.output_bytes > 0 {
            assert!(
                !instance.users(id).is_empty(),
                "{text}: {} has no reader",
                node.name
            );
        }
        if id > loss {
            assert!(node.is_backward());
            assert!(
                instance.needs(id).iter().any(|need| *need >= loss),
                "{text}: {} reads no gradient",
                node.name
            );
        }
        if let NodeKind::Backward {
            forward: Some(twin),
            ..
        } = node.kind
        {
            assert!(twin < loss);
            assert!(
                node.name.starts_with(instance.node(twin).name.as_str()),
                "{}",
                node.name
            );
        }
    }
    let schedule = CheckmateSchedule::checkpoint_all(instance);
    let replay = simulate::checkmate(instance, &schedule).unwrap();
    assert_eq!(replay.cost, instance.base_cost());
    let held: u64 = instance.nodes().iter().map(|node| node.output_bytes).sum();
    assert!(replay.peak_bytes <= held + instance.static_bytes());
}

#[test]
fn every_model_builds_in_every_layout() {
    for text in small() {
        if !is_network(&text) {
            continue;
        }
        let layouts = [
            "",
            "&gradients=split",
            "&grad_add=implicit",
            "&gradients=split&grad_add=implicit&relu_saves=input",
        ];
        for layout in layouts {
            let full = format!("{text}{layout}");
            check_shape_of_graph(&instance(&full), &full);
        }
        let forward = instance(&format!("{text}&backward=false"));
        assert_eq!(forward.loss(), None);
        assert!(
            forward
                .nodes()
                .iter()
                .all(|node| node.kind == NodeKind::Forward)
        );
        let plain = instance(&text);
        let loss = plain.loss().unwrap().index();
        assert_eq!(forward.len(), loss);
        for (a, b) in forward.nodes().iter().zip(plain.nodes()) {
            assert_eq!(
                (&a.name, a.needs(), a.cost()),
                (&b.name, b.needs(), b.cost())
            );
        }
    }
    for text in [
        "chain?n=40",
        "gpt2?layers=2&seq=64&attention=plain",
        "gpt2?layers=1&seq=64&dropout=false&tied=false",
        "bert?layers=2&seq=64&attention=flash&task=mlm",
        "vit?layers=1&attention=plain&dropout=true&size=64",
        "llama?layers=1&seq=64&attention=plain&tied=true",
        "mixtral?layers=2&seq=64&attention=plain&tied=true&top_k=1",
        "mixtral?layers=1&seq=64&experts=3&top_k=3",
        "unet?size=64&up=transposed",
        "unet?size=100x75",
        "segnet?size=75x64&unpool=upsample",
    ] {
        check_shape_of_graph(&instance(text), text);
    }
}

/// Twice the batch gives twice every activation and gradient and the same parameters, with costs in
/// between.
#[test]
fn sizes_scale_with_the_batch_and_the_element() {
    for text in small().iter().filter(|text| is_network(text)) {
        for dtype in ["fp32", "bf16"] {
            let [one, two] =
                [3, 6].map(|batch| instance(&format!("{text}&batch={batch}&dtype={dtype}")));
            assert_eq!(one.len(), two.len());
            let growth = two.node(0.into()).fixed_bytes - one.node(0.into()).fixed_bytes;
            assert!(growth > 0);
            for (a, b) in one.nodes().iter().zip(two.nodes()) {
                assert_eq!((&a.name, a.needs()), (&b.name, b.needs()));
                assert_eq!(2 * a.output_bytes, b.output_bytes, "{text} {}", a.name);
                assert_eq!(a.fixed_bytes + growth, b.fixed_bytes, "{text} {}", a.name);
                assert!(a.cost() <= b.cost() && b.cost() <= 2 * a.cost());
            }
        }
        let [full, half] =
            ["fp32", "bf16"].map(|dtype| instance(&format!("{text}&batch=4&dtype={dtype}")));
        for (a, b) in full.nodes().iter().zip(half.nodes()) {
            // Masks, positions and row normalisers have a fixed element size.
            let other = [
                "dropout_mask",
                "max_pool2d_indices",
                "flash_attention",
                "route",
            ];
            if !other.contains(&a.op.as_str()) {
                assert_eq!(a.output_bytes, 2 * b.output_bytes, "{text} {}", a.name);
            }
        }
    }
}

#[test]
fn devices_rank_as_they_should() {
    for text in ["resnet50?dtype=fp16", "gpt2?layers=2&dtype=fp16"] {
        let costs = ["cpu", "p100", "v100", "a100", "h100", "h200"]
            .map(|device| instance(&format!("{text}&device={device}")).base_cost());
        assert!(costs.windows(2).all(|pair| pair[0] > pair[1]), "{costs:?}");
        let [single, half] = ["fp32", "fp16"].map(|dtype| {
            let text = text.replace("fp16", dtype);
            instance(&format!("{text}&device=a100")).base_cost()
        });
        assert!(half < single);
    }
}

#[test]
fn a_long_chain() {
    let chain = instance("chain?n=100000&bytes=7&cost=3&backward_cost=5");
    assert_eq!(chain.len(), 200_001);
    assert_eq!(chain.base_cost(), 800_000);
    assert_eq!(chain.node(100_001.into()).name, "layer99999.grad");
    assert_eq!(
        chain.needs(100_001.into()),
        &[99_998.into(), 100_000.into()]
    );
    assert_eq!(chain.needs(200_000.into()), &[199_999.into()]);
    assert_eq!(chain.node(200_000.into()).output_bytes, 0);
    let replay = |n: usize| {
        let chain = instance(&format!("chain?n={n}&bytes=7"));
        simulate::checkmate(&chain, &CheckmateSchedule::checkpoint_all(&chain))
            .unwrap()
            .peak_bytes
    };
    // All n outputs and the loss; the backward pass frees them one by one.
    assert_eq!(replay(50), 7 * 51);
}

/// Table 3 of the paper (small regime): 583 million multiply-adds and 5.6 million parameters, for
/// any wiring.
#[test]
fn randomly_wired_networks_have_the_size_of_the_paper() {
    for seed in 1..=5 {
        let network = net(&format!("randwire?batch=1&seed={seed}"));
        let parameters = network.parameter_count() as f64 / 5.6e6;
        assert!((parameters - 1.0).abs() < 0.05, "{seed}: {parameters}");
        let products = network.multiply_adds() as f64 / 583e6;
        assert!((products - 1.0).abs() < 0.1, "{seed}: {products}");
    }
    assert_ne!(instance("randwire?seed=1"), instance("randwire?seed=2"));
    let small = "randwire?nodes=3&neighbours=1000&rewired=100&stages=5&channels=1";
    assert!(instance(small).loss().is_some());
}

/// Checks that numbers of edges are close to the graphs published with Moccasin (236, 2,461 and
/// 5,875), that every node but the first has an input, and that every node but the last has a
/// reader.
#[test]
fn random_layered_graphs_are_like_the_published_ones() {
    for (n, published) in [(100, 236), (500, 2461), (1000, 5875)] {
        let graph = instance(&format!("random_layered?n={n}&seed=7"));
        assert_eq!(graph.len(), n);
        let edges: usize = graph.ids().map(|k| graph.needs(k).len()).sum();
        let times = edges as f64 / published as f64;
        assert!((0.7..1.4).contains(&times), "{n}: {edges}");
        for k in graph.ids() {
            assert_eq!(graph.needs(k).is_empty(), k.index() == 0);
            assert_eq!(graph.users(k).is_empty(), k.index() == n - 1);
        }
    }
    let text = "random_layered?n=100&seed=3";
    assert_eq!(instance(text), instance(text));
    assert_ne!(
        instance(text).data().nodes,
        instance("random_layered?n=100&seed=4").data().nodes
    );
    assert_eq!(instance("random_layered?n=3&density=0&skips=1000").len(), 3);
}
