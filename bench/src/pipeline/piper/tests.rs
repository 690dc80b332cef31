//! Small networks beside brute force.

use super::intervals::Recomputation;
use super::network::{Edge, Layer, Network, Variant};
use super::plan::{Plan, PlanStage, Problem};
use super::stage::Stage;
use crate::random::SplitMix64;

/// Two branches from the first layer to the last one.
const TINY: &str = r#"{
    "maxMemoryPerDevice": 10.5, "mbsInBatch": 4, "bandwidth": 4, "maxDevices": 2,
    "nodes": [NODES],
    "edges": [{"sourceId": 7, "destId": 5, "communicationCost": 2},
              {"sourceId": 7, "destId": 6, "communicationCost": 1},
              {"sourceId": 5, "destId": 4, "communicationCost": 1},
              {"sourceId": 6, "destId": 4, "communicationCost": 0}]
}"#;

fn tiny() -> String {
    let node = |id| {
        format!(
            r#"{{"id": {id}, "TMPCs": {{"1": [
                {{"id": "vanilla", "timePerSample": 2, "memoryUsageA": 2, "memoryUsageB": 1}},
                {{"id": "activation recomp", "timePerSample": 3, "memoryUsageA": 1,
                  "memoryUsageB": 1.25}}]}}}}"#
        )
    };
    TINY.replace("NODES", &[4, 5, 6, 7].map(node).join(","))
}

fn problem(network: &Network, recomputation: Recomputation, microbatches: u64) -> Problem<'_> {
    Problem {
        network,
        recomputation,
        budget: network.memory,
        devices: 3,
        microbatches,
    }
}

#[test]
fn a_network_is_read_with_its_downsets() {
    let network = Network::parse("tiny", &tiny()).unwrap();
    assert_eq!((network.memory, network.microbatches), (1050, 4));
    let plain = Variant {
        time: 2_000_000_000,
        each: 200,
        fixed: 100,
    };
    assert_eq!(network.layers[0].plain, plain);
    assert_eq!(network.layers[0].recomputed.memory(2), 325);
    let edge = Edge {
        from: 3,
        to: 1,
        time: 1_000_000_000,
    };
    assert_eq!(network.edges[0], edge);
    // The empty set, the first layer, with each branch, with both, all layers.
    assert_eq!(network.downsets().unwrap().len(), 6);
}

#[test]
fn a_tiny_network_has_the_plans_counted_by_hand() {
    let network = Network::parse("tiny", &tiny()).unwrap();
    // On one device: all layers without recomputation need 12 bytes, and each saves 0.75.
    let one = |recomputation| {
        let (ours, piper) = Problem {
            devices: 1,
            ..problem(&network, recomputation, 4)
        }
        .solve()
        .unwrap();
        [ours.unwrap(), piper.unwrap()].map(|plan| plan.stages[0].changed.len())
    };
    assert_eq!(one(Recomputation::Whole), [4, 4]);
    assert_eq!(one(Recomputation::Layers), [2, 2]);
    // On three devices the last two stages have a layer each, or one has two: the sends count on
    // both sides.
    let layers = problem(&network, Recomputation::Layers, 4);
    let ours = layers.solve().unwrap().0.unwrap();
    let counted = layers.replay(&ours).unwrap();
    assert_eq!(Some(counted.objective), brute(&layers));
}

#[test]
fn wrong_networks_and_plans_are_named() {
    let said =
        |from: &str, to: &str| Network::parse("tiny", &tiny().replace(from, to)).unwrap_err();
    assert_eq!(
        said("\"vanilla\"", "\"other\""),
        "node 4: TMPCs has no \"vanilla\" of degree 1"
    );
    assert_eq!(said("\"destId\": 5", "\"destId\": 9").split(',').next(), {
        Some("an edge names the node 9")
    });
    assert!(said("\"bandwidth\": 4", "\"bandwidth\": -4").contains("bandwidth is -4"));
    let cycle = tiny().replace(
        "\"sourceId\": 6, \"destId\": 4",
        "\"sourceId\": 6, \"destId\": 7",
    );
    let cycle = Network::parse("tiny", &cycle).unwrap();
    assert!(cycle.downsets().unwrap_err().contains("cycle"));

    let network = Network::parse("tiny", &tiny()).unwrap();
    let layers = problem(&network, Recomputation::Layers, 4);
    let said = |stages: &[(&[usize], &[usize])]| {
        let stage = |&(layers, changed): &(&[usize], &[usize])| PlanStage {
            layers: layers.to_vec(),
            changed: changed.to_vec(),
        };
        let stages = stages.iter().map(stage).collect();
        layers.replay(&Plan { stages, bound: 0 }).unwrap_err()
    };
    assert_eq!(said(&[(&[0, 1, 2], &[])]), "layer 3 is on no stage");
    assert!(said(&[(&[0, 1, 2, 3], &[])]).contains("too large"));
    assert!(said(&[(&[0, 1], &[]), (&[2, 3], &[])]).contains("back to stage 0"));
}

/// A network of up to six layers with random edges.
fn drawn(random: &mut SplitMix64) -> Network {
    let mut below = |n: u64| random.below(n);
    let count = 1 + below(6) as usize;
    let layers = (0..count).map(|_| {
        let mut variant = |time| Variant {
            time,
            each: below(12),
            fixed: below(8),
        };
        let (plain, recomputed) = (variant(0), variant(0));
        let time = below(9);
        let more = below(4);
        Layer {
            plain: Variant { time, ..plain },
            recomputed: Variant {
                time: time + more,
                ..recomputed
            },
        }
    });
    let layers = layers.collect();
    let mut edges = Vec::new();
    for to in 0..count {
        for from in 0..to {
            if below(3) == 0 {
                let time = below(3);
                edges.push(Edge { from, to, time });
            }
        }
    }
    Network {
        name: "drawn".into(),
        microbatches: 4,
        memory: below(120),
        layers,
        edges,
    }
}

/// The least objective of all plans; with `Whole` the layers of a stage that save memory change
/// together.
fn brute(problem: &Problem<'_>) -> Option<u64> {
    let count = problem.network.layers.len();
    let mut best = None;
    for stages in 1..=problem.devices.min(problem.microbatches) as usize {
        for code in 0..stages.pow(count as u32) {
            let stage_of = |v: usize| code / stages.pow(v as u32) % stages;
            let layers = |s| (0..count).filter(|&v| stage_of(v) == s).collect::<Vec<_>>();
            if (0..stages).any(|s| layers(s).is_empty()) {
                continue;
            }
            for changed in 0..1usize << count {
                let stage = |s| {
                    let is_changed = |v: &usize| changed >> v & 1 == 1;
                    PlanStage {
                        layers: layers(s),
                        changed: layers(s).into_iter().filter(is_changed).collect(),
                    }
                };
                let stages: Vec<PlanStage> = (0..stages).map(stage).collect();
                if problem.recomputation == Recomputation::Whole && !is_whole(problem, &stages) {
                    continue;
                }
                if let Ok(counted) = problem.replay(&Plan { stages, bound: 0 }) {
                    let least: u64 = best.unwrap_or(u64::MAX);
                    best = Some(counted.objective.min(least));
                }
            }
        }
    }
    best
}

/// Returns whether each stage changes no layer, or every layer that saves memory.
fn is_whole(problem: &Problem<'_>, stages: &[PlanStage]) -> bool {
    stages.iter().enumerate().all(|(s, stage)| {
        let in_flight = (stages.len() - s) as u64;
        let saves = |v: &&usize| {
            let (faster, slower) = problem.network.layers[**v].by_time();
            slower.memory(in_flight) < faster.memory(in_flight)
        };
        stage.changed.is_empty() || stage.layers.iter().filter(saves).eq(&stage.changed)
    })
}

#[test]
fn plans_of_drawn_networks_are_the_best_of_all() {
    let mut random = SplitMix64(7);
    let mut found = 0;
    for _ in 0..150 {
        let network = drawn(&mut random);
        let microbatches = 1 + random.below(9);
        for recomputation in [Recomputation::Whole, Recomputation::Layers] {
            let problem = problem(&network, recomputation, microbatches);
            let (ours, piper) = problem.solve().unwrap();
            assert_eq!(ours.is_some(), piper.is_some(), "{problem:?}");
            let (Some(ours), Some(piper)) = (ours, piper) else {
                assert_eq!(brute(&problem), None, "{problem:?}");
                continue;
            };
            found += 1;
            let our = problem.replay(&ours).unwrap();
            assert_eq!(Some(our.objective), brute(&problem), "{problem:?}");
            assert_eq!(ours.bound, our.objective, "{problem:?}");
            let their = problem.replay(&piper).unwrap();
            assert!(our.objective <= their.objective, "{problem:?}");
            if recomputation == Recomputation::Whole {
                assert!(their.slowest <= our.slowest, "{problem:?}");
            }
        }
    }
    assert!(found > 100, "{found}");
}

#[test]
fn a_stage_of_many_layers_takes_the_least_time() {
    let mut random = SplitMix64(3);
    for _ in 0..200 {
        let network = drawn(&mut random);
        let layers: Vec<usize> = (0..network.layers.len()).collect();
        let stage = Stage::new(&network, &layers, 0, 2, network.memory);
        let times = (0..1usize << layers.len()).filter_map(|changed| {
            let (mut time, mut memory) = (0, 0);
            for (v, layer) in network.layers.iter().enumerate() {
                let (faster, slower) = layer.by_time();
                let variant = if changed >> v & 1 == 1 {
                    slower
                } else {
                    faster
                };
                time += variant.time;
                memory += variant.memory(2);
            }
            (memory <= network.memory).then_some(time)
        });
        let least = stage.least().map(|decision| decision.time);
        assert_eq!(least, times.min());
        assert_eq!(stage.greedy().is_some(), least.is_some());
        for most_labels in 0..20 {
            let cut = stage.least_within(most_labels);
            assert!(cut.as_ref().map(|cut| cut.bound) <= least);
            assert!(cut.map(|cut| cut.time) >= least);
        }
        assert!(stage.greedy().map(|greedy| greedy.time) >= least);
    }
}
