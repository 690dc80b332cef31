//! Plans that copy, on the nodes of graphs: recorded optima, random graphs, and limits.

use remat_formulations::offload::CopyPhase;
use remat_formulations::offload::nodes::{Offload, Offloaded, layer_fractions};
use remat_formulations::{AnyFormulation, zoo};
use remat_instances::instance::{CostUnit, Duplex, HostLink, Instance, NodeKind};
use remat_instances::{Semantics, read_bytes, simulate};
use remat_search::{Settings, Status};
use remat_tests::graphs::{self, Numbers};
use remat_tests::shared_data;
use serde_json::Value;

/// Solves within a budget in bytes, and checks the answer's claims.
fn solved(instance: &Instance, budget: u64, phase: CopyPhase) -> Offloaded {
    let formulation = AnyFormulation::of(instance, Semantics::Checkmate).unwrap();
    let settings = Settings {
        rounds: 2,
        iterations: 60_000,
        threads: 2,
        ..Settings::default()
    };
    let offload = Offload::new(formulation, budget)
        .phase(phase)
        .settings(settings);
    let answer = offload.run().unwrap();
    if let Some(document) = &answer.plan {
        let replay = simulate::plan(instance, &document.plan).unwrap();
        assert_eq!(Some(replay.makespan), answer.outcome.cost());
        assert!(replay.peak_bytes <= budget);
        let host = instance.host_link().unwrap().host_memory_bytes;
        assert!(replay.transfers.host_peak_bytes <= host.unwrap_or(u64::MAX));
        assert!(answer.outcome.bound <= replay.makespan);
        if phase == CopyPhase::Loss
            && let Some(loss) = instance.loss()
        {
            let point = replay
                .timeline
                .iter()
                .find(|p| p.at.node == Some(loss))
                .unwrap();
            let begin = point.clock - instance.node(loss).cost();
            for span in &replay.transfers.spans {
                assert!(match span.to_host {
                    true => span.end <= begin,
                    false => span.begin >= point.clock,
                });
            }
        }
    }
    answer
}

/// Every recorded optimum is between the bound and the plan found.
#[test]
fn recorded_optima_lie_between_bound_and_plan() {
    let Some(folder) = shared_data("offload") else {
        return;
    };
    let text = std::fs::read_to_string(folder.join("vectors.json")).unwrap();
    let vectors: Value = serde_json::from_str(&text).unwrap();
    let (mut cases, mut met) = (0, 0);
    for graph in vectors["graphs"].as_array().unwrap() {
        let name = graph["name"].as_str().unwrap();
        let own = read_bytes(name, graph["instance"].to_string().as_bytes()).unwrap();
        let link = HostLink {
            latency_ns: graph["latency_ns"].as_u64().unwrap(),
            ..own.host_link().unwrap().clone()
        };
        let budget = graph["budget_bytes"].as_u64().unwrap();
        let expected = &graph["expected"];
        let mut check = |link: HostLink, phase, optimum: &Value| {
            let instance = own.with_host_link(Some(link)).unwrap();
            let answer = solved(&instance, budget, phase);
            let Some(optimum) = optimum.as_u64() else {
                assert_eq!(answer.plan, None, "{name}: nothing fits");
                return;
            };
            cases += 1;
            assert!(
                answer.outcome.bound <= optimum,
                "{name}: {}",
                answer.outcome.bound
            );
            if let Some(cost) = answer.outcome.cost() {
                assert!(cost >= optimum, "{name}: {cost} below {optimum}");
                met += usize::from(cost == optimum);
            }
        };
        check(
            link.clone(),
            CopyPhase::Any,
            &expected["recompute_and_copies"],
        );
        let half = HostLink {
            duplex: Duplex::Half,
            ..link.clone()
        };
        check(half, CopyPhase::Any, &expected["half_duplex"]);
        if expected["out_before_back_after_loss"].is_u64() {
            let loss = &expected["out_before_back_after_loss"];
            check(link.clone(), CopyPhase::Loss, loss);
        }
        for limit in expected["host_limit"].as_array().unwrap() {
            let host_memory_bytes = limit["host_bytes"].as_u64();
            let limited = HostLink {
                host_memory_bytes,
                ..link.clone()
            };
            check(limited, CopyPhase::Any, &limit["makespan"]);
        }
    }
    assert_eq!(met, cases, "graphs so small are searched exactly");
}

fn linked(instance: &Instance, link: HostLink) -> Instance {
    let mut data = instance.data().clone();
    data.cost_unit = CostUnit::nanoseconds();
    data.host_link = Some(link);
    Instance::new(data).unwrap()
}

/// Without bandwidth the optimum is the one of recomputation alone. With huge bandwidth it is the
/// base cost, if each computation fits.
#[test]
fn limits_of_the_bandwidth_are_those_of_recomputation_and_of_none() {
    let mut numbers = Numbers::new(11);
    for case in 0..24 {
        let plain = graphs::general(5 + case % 6, &mut numbers);
        let single = |id| -> u64 {
            let inputs = plain.needs(id).iter().map(|d| plain.node(*d).output_bytes);
            inputs.sum::<u64>() + plain.node(id).output_bytes + plain.node(id).workspace_bytes()
        };
        let least = plain.static_bytes() + plain.ids().map(single).max().unwrap();
        let budget = least + case as u64 % 4;
        let none = linked(&plain, HostLink::new(0, 0));
        let answer = solved(&none, budget, CopyPhase::Any);
        let formulation = AnyFormulation::of(&plain, Semantics::Checkmate).unwrap();
        use remat_search::Solvable;
        let settings = Settings::default();
        let without = formulation.solve(budget, &[], &settings, &()).unwrap();
        assert_eq!(answer.outcome.cost(), without.cost(), "case {case}");
        let fast = linked(&plain, HostLink::new(1 << 50, 1 << 50));
        let answer = solved(&fast, budget, CopyPhase::Any);
        let waits = answer.outcome.cost().map(|cost| cost - plain.base_cost());
        // A copy takes a nanosecond at least.
        assert!(
            waits.is_some_and(|w| w <= 2 * plain.len() as u64),
            "case {case}: {waits:?}"
        );
    }
}

/// A network: far below the cost without a link, proven within a small gap.
#[test]
fn a_network_leaves_most_of_its_overhead_to_the_link() {
    let instance =
        remat_instances::zoo::build(&"zoo:resnet18?batch=16&device=v100".parse().unwrap());
    let instance = instance.unwrap().single_implementation_view();
    let instance = instance
        .with_host_link(Some("pcie3".parse().unwrap()))
        .unwrap();
    let plain = instance.plain_replay(Semantics::Checkmate).unwrap();
    let answer = solved(&instance, plain.peak_bytes * 65 / 100, CopyPhase::Any);
    let (cost, without) = (answer.objective().unwrap(), answer.without_cost.unwrap());
    let base = instance.base_cost();
    assert!(
        2 * (cost - base) <= without - base,
        "{cost} of {without} over {base}"
    );
    assert!(
        answer.outcome.gap.unwrap() < 0.02,
        "{:?}",
        answer.outcome.gap
    );
    assert_ne!(answer.outcome.status, Status::Infeasible);
}

#[test]
fn copies_around_the_loss_need_one() {
    let instance = zoo::build(&"zoo:chain?n=6".parse().unwrap()).unwrap();
    let mut data = instance.data().clone();
    data.host_link = Some(HostLink::new(1_000_000_000, 1_000_000_000));
    for node in data.nodes.iter_mut().filter(|v| v.kind == NodeKind::Loss) {
        node.kind = NodeKind::Forward;
    }
    let instance = Instance::new(data).unwrap();
    let formulation = AnyFormulation::of(&instance, Semantics::Checkmate).unwrap();
    let offload = Offload::new(formulation, u64::MAX >> 12).phase(CopyPhase::Loss);
    let error = offload.run().unwrap_err().to_string();
    assert!(error.contains("it has no loss"), "{error}");
}

#[test]
fn fractions_of_layers_fit_and_copy_more_where_there_is_less() {
    let mut found = 0;
    for spec in [
        "zoo:resnet18?batch=16&device=v100",
        "zoo:gpt2?layers=4&device=a100",
    ] {
        let instance = zoo::build(&spec.parse().unwrap()).unwrap();
        let link = HostLink {
            host_memory_bytes: Some(1 << 30),
            ..HostLink::new(12_000_000_000, 24_000_000_000)
        };
        let instance = instance.with_host_link(Some(link)).unwrap();
        let peak = instance
            .plain_replay(Semantics::Checkmate)
            .unwrap()
            .peak_bytes;
        for (percent, phase) in [
            (95, CopyPhase::Any),
            (85, CopyPhase::Loss),
            (75, CopyPhase::Any),
        ] {
            let budget = peak * percent / 100;
            let Some((plan, said)) = layer_fractions(&instance, budget, phase).unwrap() else {
                continue;
            };
            let replay = simulate::plan(&instance, &plan).unwrap();
            assert_eq!(replay.makespan, said.makespan, "{spec} {percent}");
            assert!(replay.peak_bytes <= budget && phase.admits(&instance, &replay));
            assert!(replay.transfers.host_peak_bytes <= 1 << 30);
            println!(
                "{spec} {percent}%: {:.2}%, {} bytes to the host",
                replay.overhead_percent(),
                replay.transfers.to_host_bytes
            );
            found += u32::from(replay.transfers.to_host_bytes > 0);
        }
    }
    assert!(found >= 3, "{found}");
}
