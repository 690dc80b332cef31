//! Orders of first computations chosen by `solve --reorder`, and steps put in order by `improve`.

use crate::common::{chain, object, run_to, text};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// Two large tensors that are made one after the other, and read one after the other.
fn pairs(folder: &Path) -> PathBuf {
    let nodes = [("a", 8), ("b", 8), ("of a", 1), ("of b", 1), ("end", 1)];
    let nodes = nodes.map(|(id, size)| json!({"id": id, "time": 5, "size": size}));
    let links = [
        ("a", "of a"),
        ("b", "of b"),
        ("of a", "end"),
        ("of b", "end"),
    ];
    let links = links.map(|(from, to)| json!({"source": from, "target": to}));
    let graph = json!({"directed": true, "nodes": nodes, "links": links});
    let path = folder.join("pairs.json");
    std::fs::write(&path, graph.to_string()).unwrap();
    path
}

#[test]
fn a_plan_in_another_order_is_one_of_the_instance() {
    let folder = tempfile::tempdir().unwrap();
    let graph = pairs(folder.path());
    let [plan, own, sets] =
        ["plan.json", "own.json", "sets.json"].map(|name| folder.path().join(name));
    let (graph, plan) = (text(&graph), text(&plan));
    let solve = ["solve", graph, "--budget", "12", "--threads", "1"];
    let given = object(&run_to(0, &[&solve[..], &["--json"]].concat()).0);
    assert_eq!(
        (&given["reorder"], &given["objective"]),
        (&Value::Null, &json!(35))
    );
    let files = [
        "--out",
        plan,
        "--reordered-out",
        text(&own),
        "--schedule-out",
        text(&sets),
    ];
    let arguments = [&solve[..], &["--reorder", "--json"], &files].concat();
    let found = object(&run_to(0, &arguments).0);
    assert_eq!(
        (&found["objective"], &found["bound"]),
        (&json!(25), &json!(25))
    );
    assert_eq!(found["status"], "optimal");
    assert_eq!(found["bound_scope"], "all-plans");
    let reorder = &found["reorder"];
    assert_eq!(
        (&reorder["order"], &reorder["given_objective"]),
        (&json!("found"), &json!(35))
    );
    assert_eq!(reorder["any_order_bound"], 25);
    assert_eq!(found["instance_sha256"], given["instance_sha256"]);
    let verified = object(&run_to(0, &["verify", graph, plan, "--json"]).0);
    assert_eq!(verified["cost"], 25);
    let stages = (
        &verified["stage_schedule"],
        &verified["stage_schedule_in_own_order"],
    );
    assert_eq!(stages, (&json!(false), &json!(true)));
    let words = run_to(0, &["verify", graph, plan]).0;
    assert!(words.contains("in an order of its own"), "{words}");
    // The schedule is of the instance in the order found.
    let verified = object(&run_to(0, &["verify", text(&own), text(&sets), "--json"]).0);
    assert_eq!(
        (&verified["cost"], &verified["stage_schedule"]),
        (&json!(25), &json!(true))
    );
    let words = run_to(0, &[&solve[..], &["--reorder"]].concat()).0;
    assert!(
        words.contains("another one") && words.contains("no plan costs less"),
        "{words}"
    );
}

#[test]
fn what_is_of_another_order_is_refused_without_it() {
    let folder = tempfile::tempdir().unwrap();
    let graph = pairs(folder.path());
    let solve = ["solve", text(&graph), "--budget", "12"];
    let out = folder.path().join("out.json");
    let out = text(&out);
    for (options, words) in [
        (&["--reorder", "--schedule-out", out][..], "--reordered-out"),
        (&["--reorder", "--certificate", out], "--reordered-out"),
        (&["--reordered-out", out], "--reorder"),
    ] {
        let (_, error) = run_to(2, &[&solve[..], options].concat());
        assert!(error.contains(words), "{error}");
    }
    let (_, error) = run_to(3, &["solve", text(&graph), "--budget", "3", "--reorder"]);
    assert!(!error.contains("panicked"), "{error}");
}

#[test]
fn a_chain_keeps_its_order() {
    let folder = tempfile::tempdir().unwrap();
    let graph = chain(folder.path(), 6);
    let solve = [
        "solve",
        text(&graph),
        "--budget",
        "500",
        "--threads",
        "1",
        "--json",
    ];
    let plain = object(&run_to(0, &solve).0);
    let found = object(&run_to(0, &[&solve[..], &["--reorder"]].concat()).0);
    assert_eq!(found["objective"], plain["objective"]);
    assert_eq!(found["reorder"]["order"], "given");
}

#[test]
fn steps_in_order_need_less() {
    let folder = tempfile::tempdir().unwrap();
    let graph = pairs(folder.path());
    let [plan, better] = ["plan.json", "better.json"].map(|name| folder.path().join(name));
    let (graph, plan, better) = (text(&graph), text(&plan), text(&better));
    run_to(0, &["solve", graph, "--budget", "100%", "--out", plan]);
    let lower = [
        "improve", graph, plan, "--budget", "12", "--out", better, "--json",
    ];
    let found = object(&run_to(0, &lower).0);
    assert_eq!(
        (&found["peak_before_bytes"], &found["objective"]),
        (&json!(17), &json!(25))
    );
    assert!(found["peak_memory_bytes"].as_u64() <= Some(12));
    run_to(0, &["verify", graph, better, "--budget", "12"]);
    // The recomputation of a plan is removed.
    run_to(0, &["solve", graph, "--budget", "12", "--out", plan]);
    let found = object(&run_to(0, &["improve", graph, plan, "--json"]).0);
    assert_eq!(
        [
            &found["objective_before"],
            &found["objective"],
            &found["dropped"]
        ],
        [&json!(35), &json!(25), &json!(2)]
    );
    let words = run_to(4, &["improve", graph, plan, "--budget", "5"]).0;
    assert!(words.contains("above the budget"), "{words}");
    let (_, error) = run_to(2, &["improve", graph, graph]);
    assert!(error.contains("plan"), "{error}");
}
