//! Every command on an instance with implementations, masks and in-place operators, among which
//! MONeT's program chooses.

use crate::common::{chain, object, run_to, text};
use remat_instances::instance::{
    CostUnit, Gradient, Implementation, InPlace, Instance, InstanceData, Node, NodeId, NodeKind,
    passing_in_plain_order,
};
use remat_instances::write_instance;
use std::path::{Path, PathBuf};

fn named(name: &str, needs: Vec<NodeId>, cost: u64, workspace_bytes: i64) -> Implementation {
    Implementation {
        name: name.into(),
        ..Implementation::new(needs, cost, workspace_bytes)
    }
}

/// `layers` times a convolution with two algorithms and an activation that may overwrite it, with a
/// mask for its backward.
fn network(folder: &Path, layers: usize) -> PathBuf {
    let mut nodes: Vec<Node> = Vec::new();
    let id = |i: usize| NodeId::from(i);
    for k in 0..layers {
        let input: Vec<NodeId> = (k > 0).then(|| id(3 * k - 2)).into_iter().collect();
        let mut conv = Node::forward(format!("conv{k}"), input.clone(), 0, 1000);
        conv.implementations = vec![
            named("direct", input.clone(), 100, 0),
            named("fft", input, 40, 1500),
        ];
        let mut act = Node::forward(format!("act{k}"), vec![id(3 * k)], 10, 1000);
        act.in_place = Some(InPlace {
            on: id(3 * k),
            cost_delta: -1,
            workspace_bytes: -1000,
        });
        let mut mask = Node::forward(format!("mask{k}"), vec![id(3 * k + 1)], 2, 32);
        mask.kind = NodeKind::ByProduct {
            parent: id(3 * k + 1),
        };
        mask.in_place = Some(InPlace {
            on: id(3 * k),
            cost_delta: 0,
            workspace_bytes: -1000,
        });
        nodes.extend([conv, act, mask]);
    }
    let loss = nodes.len();
    nodes.push(Node::loss("loss", vec![id(loss - 2)], 1, 4));
    let mut gradient = id(loss);
    for k in (0..layers).rev() {
        let mut act = Node::backward(format!("dact{k}"), Some(id(3 * k + 1)), vec![], 0, 1000);
        act.implementations = vec![
            named("input", vec![id(3 * k), gradient], 15, 0),
            named("output", vec![id(3 * k + 1), gradient], 15, 0),
            named("mask", vec![id(3 * k + 2), gradient], 17, 0),
        ];
        nodes.push(act);
        let act = id(nodes.len() - 1);
        let mut needs = vec![act];
        if k > 0 {
            needs.insert(0, id(3 * k - 2));
        }
        let mut conv = Node::backward(format!("dconv{k}"), Some(id(3 * k)), vec![], 0, 1000);
        conv.kind = NodeKind::Backward {
            forward: Some(id(3 * k)),
            gradient: Gradient::All,
        };
        conv.implementations = vec![
            named("direct", needs.clone(), 180, 0),
            named("fft", needs, 90, 1500),
        ];
        nodes.push(conv);
        gradient = id(nodes.len() - 1);
    }
    let passing = passing_in_plain_order(&nodes);
    for (node, passing) in nodes.iter_mut().zip(passing) {
        node.passing = passing;
    }
    let instance = Instance::new(InstanceData {
        name: "network".into(),
        cost_unit: CostUnit::arbitrary(),
        host_link: None,
        in_flight: 1,
        nodes,
    })
    .expect("a valid instance");
    let path = folder.join("network.json");
    std::fs::write(&path, write_instance(&instance)).expect("the folder is writable");
    path
}

#[test]
fn choices_are_made_by_default_and_the_plan_holds() {
    let folder = tempfile::tempdir().unwrap();
    let graph = network(folder.path(), 4);
    let plan = folder.path().join("plan.json");
    let schedule = folder.path().join("schedule.json");
    let files = ["--out", text(&plan), "--schedule-out", text(&schedule)];
    let solve = ["solve", text(&graph), "--budget", "6000", "--json"];
    let (out, err) = run_to(0, &[&solve[..], &files].concat());
    assert!(!err.contains("note: "), "{err}");
    let found = object(&out);
    assert_eq!(found["formulation"], "monet");
    let cost = found["objective"].as_u64().unwrap();
    assert!(found["peak_memory_bytes"].as_u64().unwrap() <= 6000);
    assert!(found["bound"].as_u64().unwrap() <= cost);
    for file in [&plan, &schedule] {
        let (out, _) = run_to(0, &["verify", text(&graph), text(file), "--json"]);
        let verified = object(&out);
        assert_eq!(verified["semantics"], "monet");
        assert_eq!(verified["verified"], true);
        assert!(verified["cost"].as_u64().unwrap() <= cost);
    }
    // The same instance without choices costs more: slower algorithms, larger tensors.
    let (out, _) = run_to(0, &[&solve[..], &["--formulation", "checkmate"]].concat());
    let checkmate = object(&out);
    assert_eq!(checkmate["formulation"], "checkmate");
    assert!(
        checkmate["objective"]
            .as_u64()
            .is_none_or(|other| cost < other)
    );
    let (statements, _) = run_to(0, &["show", text(&graph), text(&plan), "--statements"]);
    assert!(statements.contains("[fft]"), "{statements}");
    assert!(statements.contains("in place"), "{statements}");
    let svg = folder.path().join("memory.svg");
    let draw = [
        "show",
        text(&graph),
        text(&plan),
        "--svg-memory",
        text(&svg),
    ];
    run_to(0, &draw);
    assert!(svg.exists());
    let (words, _) = run_to(0, &["explain", text(&graph), text(&plan)]);
    assert!(words.contains("network: "), "{words}");
    let told = object(&run_to(0, &["explain", text(&graph), text(&plan), "--json"]).0);
    let sum = |list: &str| -> u64 {
        let costs = told[list].as_array().unwrap().iter();
        costs.map(|one| one["cost"].as_u64().unwrap()).sum()
    };
    let cost = |name: &str| told[name].as_u64().unwrap();
    assert_eq!(
        cost("cost") + cost("saved_cost"),
        cost("base_cost") + sum("recomputed") + sum("slower")
    );
    // Both commands report the same about one plan.
    let shown = object(&run_to(0, &["show", text(&graph), text(&plan), "--json"]).0);
    for field in ["cost", "base_cost", "overhead_percent", "peak_memory_bytes"] {
        assert_eq!(shown[field], told[field], "{field}");
    }
    assert_eq!(shown["plain_peak_bytes"], told["plain_peak_bytes"]);
    let again = |found: &serde_json::Value| -> Vec<(String, u64)> {
        let list = found["recomputed"].as_array().unwrap().iter();
        list.map(|r| (r["node"].to_string(), r["cost"].as_u64().unwrap()))
            .collect()
    };
    assert_eq!(again(&shown), again(&told));
}

#[test]
fn the_bound_comes_with_a_proof_of_its_instance() {
    let folder = tempfile::tempdir().unwrap();
    let graph = network(folder.path(), 4);
    for (name, budget, code) in [
        ("tree.proof", "5300", 0),
        ("packed.proof.gz", "6000", 0),
        ("everything.proof", "200%", 0),
        ("none.proof", "2000", 3),
    ] {
        let proof = folder.path().join(name);
        let solve = ["solve", text(&graph), "--budget", budget, "--json", "-q"];
        let certificate = ["--certificate", text(&proof)];
        let (out, _) = run_to(code, &[&solve[..], &certificate].concat());
        let result = object(&out);
        let check = ["check-certificate", text(&proof), text(&graph)];
        let (out, _) = run_to(0, &[&check[..], &["--json"]].concat());
        let verdict = object(&out);
        assert_eq!(verdict["verdict"], "accepted", "{name}");
        assert_eq!(verdict["formulation"], "monet", "{name}");
        assert_eq!(verdict["budget_bytes"], result["budget_bytes"], "{name}");
        match code {
            3 => assert_eq!(verdict["claim"], "infeasible"),
            _ => assert_eq!(verdict["lower"], result["bound"], "{name}"),
        }
    }
    let proof = folder.path().join("tree.proof");
    let lines = std::fs::read_to_string(&proof).unwrap();
    let claim = lines
        .lines()
        .find(|l| l.starts_with("claim bound"))
        .unwrap();
    let bound: u64 = claim["claim bound ".len()..].parse().unwrap();
    let forged = folder.path().join("forged.proof");
    let raised = format!("claim bound {}", bound + 1);
    std::fs::write(&forged, lines.replacen(claim, &raised, 1)).unwrap();
    let (_, err) = run_to(2, &["check-certificate", text(&forged), text(&graph)]);
    assert!(err.contains("multipliers prove"), "{err}");
    // An instance without a loss has no such program.
    let chain = chain(folder.path(), 4);
    let (_, err) = run_to(2, &["check-certificate", text(&proof), text(&chain)]);
    assert!(err.contains("no loss node"), "{err}");
}

#[test]
fn all_the_memory_of_the_step_without_recomputation_costs_nothing_more() {
    let folder = tempfile::tempdir().unwrap();
    let graph = network(folder.path(), 4);
    let (out, _) = run_to(0, &["solve", text(&graph), "--budget", "100%", "--json"]);
    let found = object(&out);
    assert_eq!(found["status"], "optimal");
    assert_eq!(found["overhead_percent"], 0.0);
    let shown = object(&run_to(0, &["show", text(&graph), "--json"]).0);
    assert_eq!(shown["cost"], found["base_cost"]);
    assert_eq!(shown["peak_memory_bytes"], found["budget_bytes"]);
    assert_eq!(shown["recomputed"].as_array().unwrap().len(), 0);
}

#[test]
fn threads_do_not_change_the_answer_and_seeds_are_reproducible() {
    let folder = tempfile::tempdir().unwrap();
    let graph = network(folder.path(), 4);
    let plan = |threads: &str, name: &str| {
        let out = folder.path().join(name);
        let solve = ["solve", text(&graph), "--budget", "5600", "--seed", "3"];
        let rest = ["--threads", threads, "--out", text(&out), "--quiet"];
        run_to(0, &[&solve[..], &rest].concat());
        std::fs::read(out).unwrap()
    };
    let one = plan("1", "one.json");
    assert_eq!(one, plan("2", "two.json"));
    assert_eq!(one, plan("1", "again.json"));
}

#[test]
fn budgets_that_are_too_small_are_infeasible_and_say_why() {
    let folder = tempfile::tempdir().unwrap();
    let graph = network(folder.path(), 3);
    let solve = ["solve", text(&graph), "--budget", "2000", "--json"];
    let (out, _) = run_to(3, &solve);
    let found = object(&out);
    assert_eq!(found["status"], "infeasible");
    let reason = found["infeasible_because"].as_str().unwrap();
    assert!(reason.contains("smallest implementation"), "{reason}");
}

#[test]
fn baselines_and_sweeps_know_the_choices() {
    let folder = tempfile::tempdir().unwrap();
    let graph = network(folder.path(), 4);
    let (out, _) = run_to(
        0,
        &["baselines", text(&graph), "--budget", "9100", "--json"],
    );
    let found = object(&out);
    let all = found["strategies"].as_array().unwrap();
    let cost = |name: &str| {
        let one = all.iter().find(|s| s["name"] == name).unwrap();
        assert_eq!(one["fits"], true, "{out}");
        one["cost"].as_u64().unwrap()
    };
    assert!(cost("remat-bb") <= cost("checkpoint-all"));
    assert!(cost("checkpoint-all") >= found["base_cost"].as_u64().unwrap());
    let sweep = ["sweep", text(&graph), "--budgets", "4600,5200,6000,20000"];
    let (out, _) = run_to(
        0,
        &[&sweep[..], &["--json", "--quiet", "--time-limit", "1s"]].concat(),
    );
    let points = object(&out);
    let points = points["points"].as_array().unwrap();
    let costs: Vec<u64> = points
        .iter()
        .filter_map(|p| p["objective"].as_u64())
        .collect();
    assert_eq!(costs.len(), 4, "{out}");
    assert!(
        costs.windows(2).all(|w| w[1] <= w[0]) && costs[3] < costs[0],
        "{out}"
    );
    // With memory for all tensors every operator runs by its cheapest implementation.
    assert_eq!(points[3]["status"], "optimal");
}
