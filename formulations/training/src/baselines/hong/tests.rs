use super::*;
use proptest::prelude::*;
use remat_instances::instance::{CostUnit, InstanceData, Node, NodeId};
use remat_instances::simulate;

fn sizes(bytes: &[u64]) -> LayerSizes {
    LayerSizes::new(bytes.to_vec()).unwrap()
}

/// The least value of a measure over all checkpoint sets.
fn brute_force(sizes: &LayerSizes, peak: impl Fn(&[usize]) -> u64) -> u64 {
    let n = sizes.last();
    (0u32..1 << n.saturating_sub(1))
        .map(|set| {
            let mut list = vec![0];
            list.extend((1..n).filter(|i| set >> (i - 1) & 1 != 0));
            if n > 0 {
                list.push(n);
            }
            peak(&list)
        })
        .min()
        .unwrap()
}

/// Layers 0 to 14; small ranges make ties and zeros frequent, the large one makes them rare.
fn any_sizes() -> impl Strategy<Value = Vec<u64>> {
    prop_oneof![
        proptest::collection::vec(0u64..3, 1..=15),
        proptest::collection::vec(0u64..10, 1..=15),
        proptest::collection::vec(1u64..1_000_000, 1..=15),
        proptest::collection::vec(prop_oneof![Just(0u64), 1u64..50], 1..=15),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn selection_is_optimal_under_equation_6(bytes in any_sizes()) {
        let sizes = sizes(&bytes);
        let found = checkpoint_selection(&sizes);
        prop_assert_eq!(sizes.static_peak(&found.checkpoints), Ok(found.peak_bytes));
        let best = brute_force(&sizes, |c| sizes.static_peak(c).unwrap());
        prop_assert_eq!(found.peak_bytes, best);
    }

    #[test]
    fn both_dynamic_selections_are_optimal_under_equation_9(bytes in any_sizes()) {
        let sizes = sizes(&bytes);
        let best = brute_force(&sizes, |c| sizes.dynamic_peak(c).unwrap());
        for found in [dynamic_selection_quadratic(&sizes), dynamic_selection(&sizes)] {
            prop_assert_eq!(sizes.dynamic_peak(&found.checkpoints), Ok(found.peak_bytes));
            prop_assert_eq!(found.peak_bytes, best);
        }
    }

    #[test]
    fn the_linear_algorithm_agrees_with_the_quadratic_one_on_long_chains(
        bytes in prop_oneof![
            proptest::collection::vec(0u64..4, 1..600),
            proptest::collection::vec(0u64..1_000, 1..600),
            proptest::collection::vec(0u64..1 << 40, 1..600),
        ],
        falls in any::<bool>(),
    ) {
        let mut bytes = bytes;
        if falls {
            bytes.sort_unstable_by(|a, b| b.cmp(a));
        }
        let sizes = sizes(&bytes);
        let (slow, fast) = (dynamic_selection_quadratic(&sizes), dynamic_selection(&sizes));
        prop_assert_eq!(slow.peak_bytes, fast.peak_bytes);
        prop_assert_eq!(sizes.dynamic_peak(&fast.checkpoints), Ok(fast.peak_bytes));
    }

    #[test]
    fn schedules_hold_checkpoints_and_one_segment_and_recompute_the_rest_once(
        layers in proptest::collection::vec((0u64..9, 0u64..9), 1..16),
        set in any::<u16>(),
    ) {
        let instance = linear(&layers);
        let training = chain::extract(&instance).unwrap();
        let n = layers.len();
        prop_assert!(training.is_linear());
        let mut checkpoints = vec![0];
        checkpoints.extend((1..n).filter(|i| set >> (i - 1) & 1 != 0));
        checkpoints.push(n);
        let sizes = layer_sizes(&training, StageSize::Output).unwrap();
        let replay = simulate::checkmate(&instance, &schedule(&training, &checkpoints).unwrap()).unwrap();

        // Gradients take no memory in this graph: equation 9 without its buffer, exactly.
        let mut kept = 0;
        let mut expected = 0;
        for pair in checkpoints.windows(2) {
            kept += sizes.size(pair[1]);
            expected = expected.max(kept + sizes.sum(pair[0] + 1, pair[1]));
        }
        prop_assert_eq!(replay.peak_bytes, expected + instance.static_bytes());
        prop_assert!(expected <= sizes.dynamic_peak(&checkpoints).unwrap());
        let kept_from = checkpoints[checkpoints.len() - 2];
        let again: u64 = (1..kept_from)
            .filter(|l| !checkpoints.contains(l))
            .map(|l| layers[l - 1].0)
            .sum();
        prop_assert_eq!(replay.cost, instance.base_cost() + again);
    }
}

/// A linear network of (cost, bytes), whose backward nodes read input, output and a gradient
/// without size.
fn linear(layers: &[(u64, u64)]) -> Instance {
    let n = layers.len();
    let mut nodes = Vec::new();
    for (i, &(cost, bytes)) in layers.iter().enumerate() {
        let needs = (i.saturating_sub(1)..i).map(NodeId::from).collect();
        let mut node = Node::forward(format!("f{i}"), needs, cost, bytes);
        node.fixed_bytes = 100;
        nodes.push(node);
    }
    nodes.push(Node::loss("loss", vec![NodeId::from(n - 1)], 1, 0));
    for (k, i) in (0..n).rev().enumerate() {
        let needs = (i.saturating_sub(1)..=i)
            .chain([n + k])
            .map(NodeId::from)
            .collect();
        let twin = Some(NodeId::from(i));
        nodes.push(Node::backward(format!("b{i}"), twin, needs, layers[i].0, 0));
    }
    let data = InstanceData {
        name: "linear".into(),
        cost_unit: CostUnit::arbitrary(),
        host_link: None,
        in_flight: 1,
        nodes,
    };
    Instance::new(data).unwrap()
}

#[test]
fn the_output_is_a_checkpoint_of_every_set() {
    // Left in the last segment it would give 1 + 1 + 4 = 6, the value of the paper's M(n, s).
    let found = checkpoint_selection(&sizes(&[1, 4, 1, 1]));
    assert_eq!(found.peak_bytes, 7);
    assert_eq!(found.checkpoints.last(), Some(&3));
}

#[test]
fn the_input_counts_and_layer_1_need_not_be_a_checkpoint() {
    let sizes = sizes(&[2, 10, 1, 9, 9, 9]);
    let found = dynamic_selection(&sizes);
    assert!(!found.checkpoints.contains(&1));
    let with_layer_1 = brute_force(&sizes, |c| match c.contains(&1) {
        true => sizes.dynamic_peak(c).unwrap(),
        false => u64::MAX,
    });
    assert!(found.peak_bytes < with_layer_1);
    let without_input = LayerSizes::new(vec![0, 10, 1, 9, 9, 9]).unwrap();
    assert_eq!(
        dynamic_selection(&without_input).peak_bytes + 2,
        found.peak_bytes
    );
}

#[test]
fn networks_without_layers_hold_their_input() {
    let alone = Selection {
        checkpoints: vec![0],
        peak_bytes: 9,
    };
    let sizes = sizes(&[9]);
    assert_eq!(checkpoint_selection(&sizes), alone);
    assert_eq!(dynamic_selection(&sizes), alone);
    assert_eq!(dynamic_selection_quadratic(&sizes), alone);
}

/// VGG-19 at 224 x 224, batch 128, activations in MiB: 16 convolutions, 5 poolings, 3 fully
/// connected layers. In table 2 the measured peak of Algorithm 6 is below the peak of Algorithm 3;
/// the model must agree.
#[test]
fn on_vgg_19_the_dynamic_selection_beats_the_static_one() {
    let image = |channels: u64, side: u64| 128 * channels * side * side * 4;
    let mut bytes = vec![image(3, 224)];
    for (side, channels, convolutions) in [
        (224, 64, 2),
        (112, 128, 2),
        (56, 256, 4),
        (28, 512, 4),
        (14, 512, 4),
    ] {
        bytes.extend((0..convolutions).map(|_| image(channels, side)));
        bytes.push(image(channels, side / 2));
    }
    bytes.extend([128 * 4096 * 4, 128 * 4096 * 4, 128 * 1000 * 4]);
    let sizes = sizes(&bytes);
    assert_eq!(sizes.last(), 24);
    let (fixed, free) = (checkpoint_selection(&sizes), dynamic_selection(&sizes));
    let fixed_in_pytorch = sizes.dynamic_peak(&fixed.checkpoints).unwrap();
    assert!(free.peak_bytes < fixed_in_pytorch);
    // The sets that the paper publishes are no better than ours under its own equations.
    let published = [0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 23, 24];
    assert_eq!(free.peak_bytes, sizes.dynamic_peak(&published).unwrap());
    assert_eq!(fixed.checkpoints, [0, 3, 6, 24]);
}

#[test]
fn run_lowers_the_peak_of_a_linear_network() {
    let layers: Vec<(u64, u64)> = (0..40).map(|i| (1 + i % 3, 10 + i % 7)).collect();
    let instance = linear(&layers);
    let schedule = run(&instance, 0).unwrap();
    let replay = simulate::checkmate(&instance, &schedule).unwrap();
    let all = CheckmateSchedule::checkpoint_all(&instance);
    let most = simulate::checkmate(&instance, &all).unwrap().peak_bytes;
    assert!((replay.peak_bytes - 100) * 2 < most - 100);
    assert!(replay.cost < 2 * instance.base_cost());
}
