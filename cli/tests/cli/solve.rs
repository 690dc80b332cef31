//! `remat-bb solve` and `verify`, end to end: exit codes, the JSON object, files, and Ctrl-C.

use crate::common::{chain, command, object, run_to, text};
use remat_instances::instance::{CostUnit, Implementation, Instance, InstanceData, Node, NodeId};
use remat_instances::write_instance;
use serde_json::Value;
use std::process::Stdio;

#[test]
fn a_solved_plan_verifies_and_the_object_says_what_was_found() {
    let folder = tempfile::tempdir().unwrap();
    let graph = chain(folder.path(), 8);
    let (plan, schedule) = (
        folder.path().join("plan.json"),
        folder.path().join("s.json"),
    );
    let (out, err) = run_to(
        0,
        &[
            "solve",
            text(&graph),
            "--budget",
            "600",
            "--time-limit",
            "1",
            "--json",
            "--out",
            text(&plan),
            "--schedule-out",
            text(&schedule),
        ],
    );
    let found = object(&out);
    assert!(!err.contains('{'), "{err}");
    let number = |value: &Value, key: &str| value[key].as_u64().unwrap();
    assert_eq!(number(&found, "base_cost"), 240);
    assert_eq!(number(&found, "budget_bytes"), 600);
    assert!(number(&found, "peak_memory_bytes") <= 600);
    // Eight tensors of 100 do not fit, so the plan has recomputations.
    assert!(number(&found, "objective") > 240);
    assert!(number(&found, "bound") <= number(&found, "objective"));

    for file in [&plan, &schedule] {
        let (out, _) = run_to(0, &["verify", text(&graph), text(file), "--json"]);
        let verified = object(&out);
        assert_eq!(verified["verified"], true);
        assert_eq!(verified["cost"], found["objective"]);
        assert!(number(&verified, "peak_memory_bytes") <= 600);
    }
    let (out, _) = run_to(0, &["verify", text(&graph), text(&plan)]);
    assert!(out.contains("verified: the replay confirms"), "{out}");
    // All commands print the share of the budget in the same words.
    for name in ["solve", "baselines"] {
        let arguments = [
            name,
            text(&graph),
            "--budget",
            "600",
            "--time-limit",
            "50ms",
        ];
        let (out, _) = run_to(0, &arguments);
        let share = "% of the 801 B without recomputation under checkmate)";
        assert!(out.lines().next().unwrap().contains(share), "{out}");
    }
    // Neither belongs to another instance, even one of the same shape.
    let other = folder.path().join("other.json");
    std::fs::copy(&graph, &other).unwrap();
    for file in [&plan, &schedule] {
        let (_, err) = run_to(2, &["verify", text(&other), text(file)]);
        assert!(err.contains("chain") && err.contains("other"), "{err}");
    }
    // The same plan does not fit a smaller budget, which is an error.
    let (_, err) = run_to(2, &["verify", text(&graph), text(&plan), "--budget", "150"]);
    assert!(
        err.contains("plan.json") && err.contains("more than the budget of 150 B"),
        "{err}"
    );
}

#[test]
fn an_embedded_model_is_solved_and_verified() {
    let folder = tempfile::tempdir().unwrap();
    let plan = folder.path().join("plan.json");
    let model = "zoo:unet?size=64";
    let (out, err) = run_to(
        0,
        &[
            "solve",
            model,
            "--budget",
            "75%",
            "--time-limit",
            "1s",
            "--quiet",
            "--out",
            text(&plan),
        ],
    );
    assert!(out.contains("cost") && out.contains("bound"), "{out}");
    assert_eq!(err, "", "--quiet says nothing");
    run_to(0, &["verify", model, text(&plan)]);
    let (statements, _) = run_to(0, &["show", model, text(&plan), "--statements"]);
    assert!(statements.starts_with("%0 = allocate "), "{statements}");
}

#[test]
fn a_budget_that_nothing_fits_is_proven_infeasible() {
    let folder = tempfile::tempdir().unwrap();
    let graph = chain(folder.path(), 8);
    let plan = folder.path().join("plan.json");
    let arguments = [
        "solve",
        text(&graph),
        "--budget",
        "50",
        "--json",
        "--out",
        text(&plan),
    ];
    let (out, _) = run_to(3, &arguments);
    let found = object(&out);
    assert_eq!(found["status"], "infeasible");
    assert!(found["objective"].is_null() && found["bound"].is_null());
    assert!(found["infeasible_because"].as_str().unwrap().len() > 10);
    assert!(!plan.exists());
}

#[test]
fn a_formulation_that_does_not_apply_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let graph = chain(folder.path(), 3);
    let (out, err) = run_to(
        2,
        &[
            "solve",
            text(&graph),
            "--budget",
            "90%",
            "--formulation",
            "monet",
        ],
    );
    assert_eq!(out, "");
    assert!(err.contains("it has no loss node"), "{err}");
}

#[test]
fn choices_that_only_monet_knows_are_left_out_with_a_note() {
    let folder = tempfile::tempdir().unwrap();
    let mut nodes = vec![
        Node::forward("a", vec![], 10, 100),
        Node::forward("b", vec![NodeId(0)], 10, 100),
    ];
    nodes[1]
        .implementations
        .push(Implementation::new(vec![], 5, 0));
    let instance = Instance::new(InstanceData {
        name: "choices".into(),
        cost_unit: CostUnit::arbitrary(),
        host_link: None,
        in_flight: 1,
        nodes,
    })
    .unwrap();
    let graph = folder.path().join("choices.json");
    std::fs::write(&graph, write_instance(&instance)).unwrap();
    let solve = ["solve", text(&graph), "--budget", "100%", "--json"];
    let (out, err) = run_to(0, &solve);
    assert!(err.contains("note: ") && err.contains("monet"), "{err}");
    let found = object(&out);
    assert_eq!(
        (&found["formulation"], &found["objective"]),
        (&"checkmate".into(), &20.into())
    );
    let (_, err) = run_to(0, &[&solve[..], &["--formulation", "checkmate"]].concat());
    assert!(!err.contains("note: "), "{err}");
}

#[test]
fn tampered_plans_are_refuted_with_what_differs() {
    let folder = tempfile::tempdir().unwrap();
    let graph = chain(folder.path(), 4);
    let plan = folder.path().join("plan.json");
    run_to(
        0,
        &[
            "solve",
            text(&graph),
            "--budget",
            "100%",
            "--out",
            text(&plan),
        ],
    );
    let good = std::fs::read_to_string(&plan).unwrap();
    let tampered = |from: &str, to: &str, words: &[&str]| {
        assert!(good.contains(from), "{from} in {good}");
        let path = folder.path().join("tampered.json");
        std::fs::write(&path, good.replacen(from, to, 1)).unwrap();
        let (_, err) = run_to(2, &["verify", text(&graph), text(&path)]);
        assert!(err.contains("tampered.json"), "{err}");
        assert!(words.iter().all(|word| err.contains(word)), "{err}");
    };
    tampered("\"objective\": 120", "\"objective\": 119", &["119", "120"]);
    tampered(
        "\"peak_bytes\": 4",
        "\"peak_bytes\": 3",
        &["records a peak"],
    );
    tampered(
        "[\"compute\", \"f0\", 0],",
        "",
        &["cannot be executed", "f1"],
    );
    tampered("\"f0\"", "\"f9\"", &["no such node", "f9"]);
}

#[cfg(unix)]
#[test]
fn an_interrupt_ends_the_search_with_the_best_plan_so_far() {
    use std::io::{BufRead, BufReader, Read};
    let folder = tempfile::tempdir().unwrap();
    let plan = folder.path().join("plan.json");
    let model = "zoo:densenet121";
    let mut child = command(&[
        "solve",
        model,
        "--budget",
        "60%",
        "--time-limit",
        "10m",
        "--json",
        "--out",
        text(&plan),
    ])
    .stdout(Stdio::piped())
    .stderr(Stdio::piped())
    .spawn()
    .unwrap();
    // Wait until the search reports a plan; the handler is in place by then.
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let seen = lines
        .by_ref()
        .map_while(Result::ok)
        .any(|line| line.contains("best "));
    assert!(seen, "the search ended before it reported a plan");
    let signal = std::process::Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status()
        .unwrap();
    assert!(signal.success());
    let rest = std::thread::spawn(move || lines.map_while(Result::ok).count());
    let mut out = String::new();
    child
        .stdout
        .take()
        .unwrap()
        .read_to_string(&mut out)
        .unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0), "{out}");
    rest.join().unwrap();
    assert_eq!(object(&out)["status"], "interrupted");
    run_to(0, &["verify", model, text(&plan)]);
}

#[test]
fn errors_are_objects_for_scripts() {
    let folder = tempfile::tempdir().unwrap();
    let bad = folder.path().join("bad.json");
    std::fs::write(&bad, "{\"schema\": \"remat-instance/1\",\n \"nodes\": 3}").unwrap();
    let place = format!("{}:2:11", bad.display());
    for (arguments, message, at) in [
        (
            &["solve", "nope.json", "--budget", "60%"][..],
            "there is no such file",
            Some("nope.json"),
        ),
        (
            &["solve", text(&bad), "--budget", "60%"],
            "nodes",
            Some(&place),
        ),
        (
            &["solve", "zoo:vgg16", "--budget", "much"],
            "budget",
            Some("--budget"),
        ),
        (&["solve", "zoo:vgg16", "--budgt", "3"], "--budgt", None),
        (&["mip", "nope.lp", "--set", "cutoff=nan"], "cutoff", None),
    ] {
        let (out, err) = run_to(2, &[arguments, &["--json"]].concat());
        let found = object(&out);
        assert_eq!(
            (&found["status"], &found["code"]),
            (&"error".into(), &2.into())
        );
        assert!(
            found["message"].as_str().unwrap().contains(message),
            "{out}"
        );
        assert_eq!(found["place"].as_str(), at, "{out}");
        assert!(err.contains(message), "{err}");
    }
}

#[test]
fn verify_tells_stage_schedules_from_other_plans() {
    let folder = tempfile::tempdir().unwrap();
    let graph = folder.path().join("g.json");
    // b and c read a; d reads both.
    let nodes = r#"{"name": "a", "output_bytes": 10, "cost": 1}, {"name": "b", "output_bytes": 10, "cost": 1, "needs": ["a"]},
        {"name": "c", "output_bytes": 10, "cost": 1, "needs": ["a"]}, {"name": "d", "output_bytes": 1, "cost": 1, "needs": ["b", "c"]}"#;
    let instance = format!(r#"{{"schema": "remat-instance/1", "name": "g", "nodes": [{nodes}]}}"#);
    std::fs::write(&graph, instance).unwrap();
    let plan = |order: &str, objective: u32| {
        let mut steps = String::new();
        for (k, name) in order.chars().enumerate() {
            steps += &format!(r#"["allocate", {k}, "{name}"], ["compute", "{name}", {k}], "#);
        }
        for k in 0..order.len() {
            steps += &format!(
                r#"["deallocate", {k}]{}"#,
                if k + 1 < order.len() { ", " } else { "" }
            );
        }
        let peak = order.len() * 10 - 9;
        let path = folder.path().join(format!("{order}.json"));
        let text = format!(
            r#"{{"schema": "remat-plan/1", "instance": "g", "semantics": "checkmate", "budget_bytes": 100, "objective": {objective}, "steps": [{steps}], "peak_bytes": {peak}}}"#
        );
        std::fs::write(&path, text).unwrap();
        path
    };
    for (order, cost, because) in [
        ("abcd", 4, None),
        ("abacd", 5, None),
        ("abcaad", 6, Some("a runs twice in the stage of d")),
        ("abcbad", 6, Some("a runs after b")),
    ] {
        let path = plan(order, cost);
        let (out, _) = run_to(0, &["verify", text(&graph), text(&path), "--json"]);
        let found = object(&out);
        assert_eq!(found["stage_schedule"], because.is_none(), "{out}");
        let (words, _) = run_to(0, &["verify", text(&graph), text(&path)]);
        match because {
            None => assert!(words.contains("a stage schedule in this order"), "{words}"),
            Some(because) => {
                let reason = found["no_stage_schedule_because"].as_str().unwrap();
                assert!(reason.contains(because), "{out}");
                assert!(words.contains("do not hold for it"), "{words}");
            }
        }
    }
    // A valid file, and a budget that is too small for it.
    let path = plan("abcd", 4);
    let (_, err) = run_to(2, &["verify", text(&graph), text(&path), "--budget", "20"]);
    assert!(
        err.contains("needs 31 B, more than the budget of 20 B"),
        "{err}"
    );
}

#[test]
fn plans_and_schedules_are_started_from() {
    let folder = tempfile::tempdir().unwrap();
    let (graph, other) = (chain(folder.path(), 8), folder.path().join("other.json"));
    let [plan, schedule] = ["plan.json", "s.json"].map(|name| folder.path().join(name));
    let solve = ["solve", text(&graph), "--budget", "600", "--json"];
    let out = ["--out", text(&plan), "--schedule-out", text(&schedule)];
    let (first, _) = run_to(0, &[&solve[..], &out].concat());
    let (again, _) = {
        let starts = ["--start", text(&plan), "--start", text(&schedule)];
        run_to(0, &[&solve[..], &starts].concat())
    };
    assert_eq!(object(&again)["objective"], object(&first)["objective"]);
    let copies = ["solve", "zoo:chain?n=6", "--budget", "70%", "--json"];
    let cost = |more: &[&str]| {
        let (out, _) = run_to(0, &[&copies[..], more].concat());
        object(&out)["objective"].as_u64().unwrap()
    };
    let plain = cost(&["--out", text(&plan)]);
    assert!(cost(&["--offload", "pcie4", "--start", text(&plan)]) < plain);
    let data = InstanceData {
        name: "chain".into(),
        cost_unit: CostUnit::nanoseconds(),
        host_link: None,
        in_flight: 1,
        nodes: vec![Node::forward("alone", vec![], 1, 1)],
    };
    std::fs::write(&other, write_instance(&Instance::new(data).unwrap())).unwrap();
    let foreign = [
        "solve",
        text(&other),
        "--budget",
        "60",
        "--start",
        text(&plan),
    ];
    let (_, err) = run_to(2, &foreign);
    assert!(err.contains("plan.json"), "{err}");
}
