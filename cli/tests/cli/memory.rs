//! `order`, `place` and `plan-memory` end to end: written files are verified and proven, and
//! changed files are refused.

use crate::common::{object, run_to, text};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// A graph of four operators whose program order is not the best one.
fn graph(folder: &Path) -> PathBuf {
    let path = folder.join("four.json");
    let graph = json!({
        "schema": "remat-order/1",
        "name": "four",
        "operators": [
            {"outputs": [0, 1]}, {"inputs": [0], "outputs": [2], "workspace_bytes": 1},
            {"inputs": [1]}, {"inputs": [2]}
        ],
        "tensors": [{"bytes": 4}, {"bytes": 6}, {"bytes": 9}],
    });
    std::fs::write(&path, graph.to_string()).unwrap();
    path
}

fn json_of(exit: i32, arguments: &[&str]) -> Value {
    object(&run_to(exit, &[arguments, &["--json"]].concat()).0)
}

fn changed(path: &Path, change: impl FnOnce(&mut Value)) {
    let mut value: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    change(&mut value);
    std::fs::write(path, value.to_string()).unwrap();
}

#[test]
fn orders_are_verified_and_proven() {
    let folder = tempfile::tempdir().unwrap();
    let graph = graph(folder.path());
    let graph = text(&graph);
    let (order, proof) = (
        folder.path().join("order.json"),
        folder.path().join("order.proof"),
    );
    let written = ["--out", text(&order), "--certificate", text(&proof)];
    let found = json_of(0, &[&["order", graph], &written[..]].concat());
    assert_eq!(found["status"], "optimal");
    assert_eq!(
        (&found["objective"], &found["program_peak_bytes"]),
        (&json!(14), &json!(20))
    );
    let verified = json_of(0, &["verify", graph, text(&order)]);
    assert_eq!(
        (&verified["verified"], &verified["kind"]),
        (&json!(true), &json!("order"))
    );
    assert_eq!(verified["peak_memory_bytes"], 14);
    let accepted = json_of(0, &["check-certificate", text(&proof), graph]);
    assert_eq!(
        (&accepted["claim"], &accepted["lower"]),
        (&json!("bound"), &json!(14))
    );
    // A bound that is too high, and an order that cannot run.
    let bold = std::fs::read_to_string(&proof)
        .unwrap()
        .replace("bound 14", "bound 15");
    std::fs::write(&proof, bold).unwrap();
    run_to(2, &["check-certificate", text(&proof), graph]);
    changed(&order, |plan| plan["order"] = json!([3, 2, 1, 0]));
    let (_, message) = run_to(2, &["verify", graph, text(&order)]);
    assert!(message.contains("has not made yet"), "{message}");
}

#[test]
fn budgets_of_orders_are_met_or_refuted() {
    let folder = tempfile::tempdir().unwrap();
    let graph = graph(folder.path());
    let graph = text(&graph);
    assert_eq!(
        json_of(0, &["order", graph, "--budget", "15"])["budget_bytes"],
        15
    );
    let none = json_of(3, &["order", graph, "--budget", "13"]);
    assert_eq!(
        (&none["status"], &none["bound"]),
        (&json!("infeasible"), &json!(14))
    );
    let program = json_of(0, &["order", graph, "--baseline", "program"]);
    assert_eq!(
        (&program["objective"], &program["bound"]),
        (&json!(20), &Value::Null)
    );
}

#[test]
fn memory_plans_are_verified() {
    let folder = tempfile::tempdir().unwrap();
    let graph = graph(folder.path());
    let (plan, picture) = (folder.path().join("plan.json"), folder.path().join("a.svg"));
    let graph = text(&graph);
    let written = ["--out", text(&plan), "--svg", text(&picture)];
    let found = json_of(0, &[&["plan-memory", graph], &written[..]].concat());
    assert_eq!(
        (&found["objective"], &found["bound"]),
        (&json!(14), &json!(14))
    );
    assert!(std::fs::read_to_string(&picture).unwrap().contains("<svg"));
    let verified = json_of(0, &["verify", graph, text(&plan)]);
    assert_eq!(
        (&verified["kind"], &verified["height_bytes"]),
        (&json!("memory plan"), &json!(14))
    );
    changed(&plan, |plan| {
        for address in plan["addresses"].as_array_mut().unwrap() {
            address["offset_bytes"] = json!(0);
        }
    });
    let (_, message) = run_to(2, &["verify", graph, text(&plan)]);
    assert!(message.contains("share the addresses"), "{message}");
}

#[test]
fn placements_are_verified_and_proven() {
    let folder = tempfile::tempdir().unwrap();
    let lives = folder.path().join("lives.csv");
    std::fs::write(&lives, "id,lower,upper,size\nx,0,2,4\ny,1,3,8\nz,2,4,4\n").unwrap();
    let (placed, proof) = (
        folder.path().join("placed.csv"),
        folder.path().join("bound.txt"),
    );
    let lives = text(&lives);
    let written = ["--out", text(&placed), "--certificate", text(&proof)];
    let found = json_of(0, &[&["place", lives], &written[..]].concat());
    assert_eq!(
        (&found["status"], &found["objective"]),
        (&json!("optimal"), &json!(12))
    );
    let verified = json_of(0, &["verify", lives, text(&placed)]);
    assert_eq!(
        (&verified["kind"], &verified["height_bytes"]),
        (&json!("placement"), &json!(12))
    );
    let accepted = json_of(0, &["check-certificate", text(&proof), lives]);
    assert_eq!(
        (&accepted["lower"], &accepted["evidence"]),
        (&json!(12), &json!("the load of a moment"))
    );
    assert_eq!(
        json_of(3, &["place", lives, "--capacity", "11"])["status"],
        "infeasible"
    );
    let (_, message) = run_to(2, &["place", "nowhere.csv"]);
    assert!(message.contains("nowhere.csv"), "{message}");
    std::fs::write(&placed, "id,offset\nx,0\ny,3\nz,0\n").unwrap();
    let (_, message) = run_to(2, &["verify", lives, text(&placed)]);
    assert!(message.contains("share the addresses"), "{message}");
}

#[test]
fn rules_are_compared_with_the_proven_optimum() {
    let folder = tempfile::tempdir().unwrap();
    let graph = graph(folder.path());
    let found = json_of(0, &["baselines", text(&graph)]);
    assert_eq!(
        (&found["kind"], &found["bound"]),
        (&json!("orders"), &json!(14))
    );
    let of = |found: &Value, name: &str| {
        let all = found["strategies"].as_array().unwrap().iter();
        all.clone().find(|way| way["name"] == name).unwrap().clone()
    };
    let program = of(&found, "program");
    assert_eq!(program["peak_memory_bytes"], 20);
    assert!((program["gap"].as_f64().unwrap() - 0.3).abs() < 1e-9);
    assert_eq!(of(&found, "remat-bb")["peak_memory_bytes"], 14);
    assert_eq!(found["strategies"].as_array().unwrap().len(), 7);
    let free = json_of(0, &["baselines", text(&graph), "--variant", "free"]);
    assert_eq!(free["variant"], "free");
    json_of(3, &["baselines", text(&graph), "--budget", "13"]);
    // Buffers: 8 at address 0 leave a hole that the others do not fill.
    let lives = folder.path().join("lives.csv");
    std::fs::write(&lives, "id,lower,upper,size\nx,0,2,4\ny,1,3,8\nz,2,4,4\n").unwrap();
    let placed = json_of(0, &["baselines", text(&lives), "--budget", "12"]);
    assert_eq!(
        (&placed["kind"], &placed["bound"]),
        (&json!("placements"), &json!(12))
    );
    for name in [
        "first fit",
        "best fit",
        "XLA heap",
        "TVM hill climb",
        "pyramid",
        "remat-bb",
    ] {
        let way = of(&placed, name);
        let height = way["peak_memory_bytes"].as_u64().unwrap();
        assert!(height >= 12 && way["fits"] == (height <= 12), "{way}");
    }
    let (words, _) = run_to(0, &["baselines", text(&lives)]);
    assert!(
        words.contains("Proven: none of the placements needs less than 12 bytes"),
        "{words}"
    );
    let (_, error) = run_to(2, &["baselines", text(&lives), "--csv", "x.csv"]);
    assert!(error.contains("--csv is for"), "{error}");
    let (_, error) = run_to(2, &["baselines", "zoo:chain?n=4"]);
    assert!(error.contains("add --budget"), "{error}");
}

#[test]
fn orders_memory_plans_and_placements_are_shown() {
    let folder = tempfile::tempdir().unwrap();
    let graph = graph(folder.path());
    let path = |name: &str| folder.path().join(name);
    let (graph, order, memory) = (text(&graph), path("order.json"), path("memory.json"));
    run_to(0, &["order", graph, "--out", text(&order)]);
    run_to(0, &["plan-memory", graph, "--out", text(&memory)]);
    let program = json_of(0, &["show", graph]);
    assert_eq!(
        (&program["kind"], &program["peak_memory_bytes"]),
        (&json!("program order"), &json!(20))
    );
    let svg = path("order.svg");
    let shown = json_of(0, &["show", graph, text(&order), "--svg", text(&svg)]);
    assert_eq!(
        (&shown["kind"], &shown["peak_memory_bytes"]),
        (&json!("order"), &json!(14))
    );
    assert_eq!(shown["program_peak_bytes"], 20);
    let steps = shown["step_bytes"].as_array().unwrap();
    assert_eq!(steps.iter().filter_map(Value::as_u64).max(), Some(14));
    let drawn = std::fs::read_to_string(&svg).unwrap();
    assert!(drawn.contains("memory step by step (order)"));
    let addresses = path("memory.svg");
    let planned = json_of(
        0,
        &["show", graph, text(&memory), "--svg", text(&addresses)],
    );
    assert_eq!(
        (&planned["kind"], &planned["height_bytes"]),
        (&json!("memory plan"), &json!(14))
    );
    assert!(
        std::fs::read_to_string(&addresses)
            .unwrap()
            .contains("addresses over time")
    );
    let (lives, placed) = (path("lives.csv"), path("placed.csv"));
    std::fs::write(&lives, "id,lower,upper,size\nx,0,2,4\ny,1,3,8\nz,2,4,4\n").unwrap();
    run_to(0, &["place", text(&lives), "--out", text(&placed)]);
    let picture = path("placed.svg");
    let found = json_of(
        0,
        &["show", text(&lives), text(&placed), "--svg", text(&picture)],
    );
    assert_eq!(
        (&found["kind"], &found["height_bytes"]),
        (&json!("placement"), &json!(12))
    );
    assert_eq!(found["at_peak"], json!(["y", "x"]));
    assert_eq!(json_of(0, &["show", text(&lives)])["load_bytes"], 12);
    // Options that do not go together.
    let (_, error) = run_to(
        2,
        &["show", graph, text(&order), "--svg-addresses", text(&svg)],
    );
    assert!(error.contains("no addresses"), "{error}");
    let (_, error) = run_to(2, &["show", text(&lives), "--svg-memory", text(&svg)]);
    assert!(error.contains("no operators"), "{error}");
    let (_, error) = run_to(2, &["show", graph, text(&order), "--statements"]);
    assert!(error.contains("--statements is for"), "{error}");
    changed(&order, |plan| plan["order"] = json!([3, 2, 1, 0]));
    run_to(2, &["show", graph, text(&order)]);
}
