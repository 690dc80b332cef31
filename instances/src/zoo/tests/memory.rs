//! Fixed memory by node, and optimizer states.

use super::{find, instance, net};
use crate::instance::{Instance, NodeKind, Resident};
use crate::{read_bytes, write_instance};

/// Small networks, and the bytes of an input batch of 3.
const NETWORKS: [(&str, u64); 7] = [
    ("vgg16?size=32", 3 * 3 * 32 * 32 * 4),
    ("resnet18?size=64", 3 * 3 * 64 * 64 * 4),
    ("googlenet?size=96&aux=true", 3 * 3 * 96 * 96 * 4),
    ("gpt2?layers=2&seq=64", 3 * 64 * 8),
    // Token ids and types.
    ("bert?layers=2&seq=64&task=mlm", 2 * 3 * 64 * 8),
    ("vit?layers=2&size=64", 3 * 3 * 64 * 64 * 4),
    (
        "mixtral?layers=2&seq=64&d_model=256&ffn=512&every=2&dtype=fp32",
        3 * 64 * 8,
    ),
];

fn residents_of_all(instance: &Instance) -> u64 {
    instance.resident_bytes(instance.ids())
}

#[test]
fn residents_and_input_batch_are_the_fixed_memory() {
    for (network, batch_bytes) in NETWORKS {
        for more in [
            "",
            "&backward=false",
            "&optimizer=sgd",
            "&optimizer=momentum&param_dtype=bf16",
            "&optimizer=adamw&master=true&grad_dtype=bf16",
            "&gradients=split&grad_add=implicit&optimizer=adamw",
            "&implementations=monet&master=true",
        ] {
            let text = format!("{network}&batch=3{more}");
            let graph = instance(&text);
            assert_eq!(
                residents_of_all(&graph) + batch_bytes,
                graph.static_bytes(),
                "{text}"
            );
            for node in graph.nodes() {
                let is_forward = matches!(node.kind, NodeKind::Forward);
                assert!(
                    is_forward || node.resident.is_empty(),
                    "{text} {}",
                    node.name
                );
            }
        }
    }
}

#[test]
fn states_have_the_bytes_of_their_optimizer() {
    let text = "bert?layers=1&seq=8&batch=1&classes=0";
    let parameters = net(text).parameter_count();
    let plain = instance(text);
    for (more, bytes) in [
        ("&optimizer=none", 0),
        ("&optimizer=sgd", 0),
        ("&optimizer=momentum", 4),
        ("&optimizer=adamw", 8),
        ("&master=true", 4),
        ("&optimizer=adamw&master=true", 12),
    ] {
        let graph = instance(&format!("{text}{more}"));
        // States are there from the first node on.
        for (a, b) in plain.nodes().iter().zip(graph.nodes()) {
            assert_eq!(a.fixed_bytes + bytes * parameters, b.fixed_bytes, "{more}");
        }
        assert_eq!(
            residents_of_all(&graph) - residents_of_all(&plain),
            bytes * parameters
        );
    }
    let forward = instance(&format!(
        "{text}&backward=false&optimizer=adamw&master=true"
    ));
    assert_eq!(residents_of_all(&forward), 4 * parameters);
}

#[test]
fn entries_belong_to_their_nodes() {
    let graph = instance("resnet18?size=64&batch=1&optimizer=momentum");
    let entry = |name: &str, bytes: u64| Resident {
        name: name.into(),
        bytes,
    };
    let residents = |name: &str| graph.node(find(&graph, name)).resident.clone();
    let stem = 64 * 3 * 49;
    assert_eq!(residents("conv1"), [entry("conv1", 12 * stem)]);
    // Scale and shift with gradient and state; mean and variance alone.
    assert_eq!(residents("bn1"), [entry("bn1", (12 + 4) * 2 * 64)]);
    assert_eq!(residents("relu"), []);
    assert_eq!(residents("fc"), [entry("fc", 12 * (512 * 1000 + 1000))]);
    // A shared table counts once on a device, and once on each of two devices.
    let tied = instance("bert?layers=1&seq=8&batch=1&task=mlm&dtype=bf16");
    let users = tied.ids().filter(|id| {
        let mut entries = tied.node(*id).resident.iter();
        entries.any(|entry| entry.bytes == 2 * 2 * 30_522 * 768)
    });
    let users: Vec<_> = users.collect();
    let [first, last] = users[..] else {
        panic!("{users:?}")
    };
    let bias = 2 * 2 * 30_522;
    let table = tied.resident_bytes([first]);
    assert_eq!(tied.resident_bytes([last]), table + bias);
    assert_eq!(tied.resident_bytes([first, last, first]), table + bias);
    assert!(tied.states_residents());
    assert!(!instance("chain?n=3").states_residents());
}

#[test]
fn files_and_digests_cover_residents() {
    let graph = instance("gpt2?layers=1&seq=8&batch=1");
    let text = write_instance(&graph);
    assert_eq!(read_bytes("gpt2", text.as_bytes()).unwrap(), graph);
    let mut data = graph.data().clone();
    for node in &mut data.nodes {
        node.resident.clear();
    }
    let bare = Instance::new(data.clone()).unwrap();
    assert!(!write_instance(&bare).contains("resident"));
    assert_ne!(bare, graph);
    assert_ne!(bare.digest(), graph.digest());
    data.nodes[2].resident = vec![Resident {
        name: "wte".into(),
        bytes: 7,
    }];
    let other = Instance::new(data).unwrap();
    assert_ne!(other.digest(), bare.digest());
    // A graph without residents has the digest that it had before there were residents.
    let known = "0efc3fdf9f58b6d66f7bd76f46137808310c53f62f3e31db0146ad2880f6975f";
    assert_eq!(instance("chain?n=24").digest(), known);
}
