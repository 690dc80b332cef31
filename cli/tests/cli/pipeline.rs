//! Pipelines, end to end: plans, their replay, refuted claims, bad values and pictures.

use crate::common::{has_its_schema, object, run_to, text};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

const GRAPH: &str = "zoo:chain?n=8";

/// A pipeline of the graph on two devices, with further arguments: its object and its file.
fn pipeline(folder: &Path, further: &[&str]) -> (Value, PathBuf) {
    let path = folder.join("pipeline.json");
    let solve = ["pipeline", GRAPH, "--stages", "2", "--microbatches", "4"];
    let files = ["--out", text(&path), "--json"];
    let found = object(&run_to(0, &[&solve[..], further, &files].concat()).0);
    has_its_schema("pipeline", &found);
    (found, path)
}

/// The file of a pipeline with a piece of its text replaced once.
fn forged(path: &Path, old: &str, new: &str) -> PathBuf {
    let given = std::fs::read_to_string(path).unwrap();
    let changed = given.replacen(old, new, 1);
    assert_ne!(given, changed, "{old:?} is not in {given}");
    let path = path.with_file_name("forged.json");
    std::fs::write(&path, changed).unwrap();
    path
}

#[test]
fn a_pipeline_is_optimal_and_its_replay_confirms_it() {
    let folder = tempfile::tempdir().unwrap();
    let (found, path) = pipeline(folder.path(), &["--budget", "60%", "--threads", "1"]);
    assert_eq!(found["status"], "optimal");
    // Both stages compute two layers again: 8 layers of 0.1 ms forward and 0.2 ms backward.
    assert_eq!(found["objective"], 7_500_000);
    assert!(found["bound"].as_u64() <= found["objective"].as_u64());
    assert!(found["gap"].as_f64().unwrap() <= 1e-3);
    let stages = found["stages"].as_array().unwrap();
    let in_flight: Vec<&Value> = stages.iter().map(|stage| &stage["in_flight"]).collect();
    assert_eq!(in_flight, [2, 1]);
    for device in found["devices"].as_array().unwrap() {
        assert!(device["peak_memory_bytes"].as_u64() <= device["budget_bytes"].as_u64());
    }
    let verified = object(&run_to(0, &["verify", GRAPH, text(&path), "--json"]).0);
    has_its_schema("verify", &verified);
    assert_eq!(verified["verified"], true);
    for field in ["objective", "makespan", "devices", "stages", "schedule"] {
        assert_eq!(verified[field], found[field], "{field}");
    }
    let written = std::fs::read_to_string(&path).unwrap();
    let schema = include_str!("../../../instances/schema/remat-pipeline-1.schema.json");
    let schema: Value = serde_json::from_str(schema).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    assert!(validator.is_valid(&object(&written)), "{written}");
    // The same file on two threads.
    pipeline(folder.path(), &["--budget", "60%", "--threads", "2"]);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), written);
}

#[test]
fn one_stage_and_one_micro_batch_is_a_plan_of_one_device() {
    let budget = ["--budget", "60%", "--threads", "1", "--json"];
    let alone = ["pipeline", GRAPH, "--stages", "1", "--microbatches", "1"];
    let alone = object(&run_to(0, &[&alone[..], &budget].concat()).0);
    let plan = object(&run_to(0, &[&["solve", GRAPH][..], &budget].concat()).0);
    for field in ["objective", "bound", "budget_bytes"] {
        assert_eq!(alone[field], plan[field], "{field}");
    }
    assert_eq!(alone["makespan"], plan["objective"]);
}

#[test]
fn every_schedule_and_unlike_devices_are_replayed() {
    let folder = tempfile::tempdir().unwrap();
    let link = ["--link", "1GB/s", "--link-latency", "10us"];
    let unlike = ["--budget", "8MiB,6MiB", "--speed", "1,2"];
    let cases: [&[&str]; 4] = [
        &["--schedule", "gpipe", "--budget", "100%"],
        &["--schedule", "interleaved:2", "--budget", "100%"],
        &[&["--budget", "60%"][..], &link].concat(),
        &unlike,
    ];
    for further in cases {
        let (found, path) = pipeline(folder.path(), further);
        let verified = object(&run_to(0, &["verify", GRAPH, text(&path), "--json"]).0);
        assert_eq!(verified["makespan"], found["makespan"], "{further:?}");
        assert!(found["bound"].as_u64() <= found["objective"].as_u64());
    }
}

#[test]
fn false_claims_and_plans_that_cannot_run_are_refuted() {
    let folder = tempfile::tempdir().unwrap();
    let (_, path) = pipeline(folder.path(), &["--budget", "60%"]);
    let refuted = [
        (
            r#""objective": 7500000"#,
            r#""objective": 7400000"#,
            "7400000",
        ),
        (
            r#""makespan": 7500000"#,
            r#""makespan": 7400000"#,
            "7400000",
        ),
        (
            r#""objective": 1500000"#,
            r#""objective": 1400000"#,
            "stage 0",
        ),
        (
            r#""budget_bytes": 5033164}"#,
            r#""budget_bytes": 1048576}"#,
            "device 0",
        ),
    ];
    for (old, new, words) in refuted {
        let forged = forged(&path, old, new);
        let (out, err) = run_to(2, &["verify", GRAPH, text(&forged), "--json"]);
        let judged = object(&out);
        has_its_schema("verify", &judged);
        assert_eq!(judged["verified"], false, "{new}");
        assert!(
            judged["differences"].to_string().contains(words),
            "{judged}"
        );
        assert!(err.contains(words), "{err}");
    }
    let broken = [
        // A gradient that was never received.
        (
            r#"["compute", "receive layer4.grad", 6],"#,
            "",
            "layer3.grad",
        ),
        (r#""begin": "layer4""#, r#""begin": "layer5""#, "stage 0"),
        (
            r#""instance": "chain?n=8""#,
            r#""instance": "other""#,
            "chain?n=8",
        ),
        (r#""schedule": "1f1b""#, r#""schedule": "2f2b""#, "2f2b"),
        (
            r#""microbatches": 4"#,
            r#""microbatches": 0"#,
            "microbatches",
        ),
    ];
    for (old, new, words) in broken {
        let forged = forged(&path, old, new);
        let (out, err) = run_to(2, &["verify", GRAPH, text(&forged)]);
        assert!(out.is_empty() && err.contains(words), "{new}: {out}\n{err}");
    }
}

#[test]
fn budgets_that_no_pipeline_keeps_are_proven() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pipeline.json");
    let solve = ["pipeline", GRAPH, "--stages", "2", "--microbatches", "4"];
    let further = ["--budget", "1MiB", "--out", text(&path), "--json"];
    let found = object(&run_to(3, &[&solve[..], &further].concat()).0);
    has_its_schema("pipeline", &found);
    assert_eq!(
        (&found["status"], &found["bound"]),
        (&json!("infeasible"), &Value::Null)
    );
    assert!(found["infeasible_because"].is_string() && !path.exists());
}

#[test]
fn bad_values_name_their_option_and_the_value() {
    let plain = ["--stages", "2", "--microbatches", "4", "--budget", "8MiB"];
    let cases = [
        ("--stages", "0", "0"),
        ("--stages", "20", "20 stages"),
        ("--microbatches", "0", "0"),
        ("--schedule", "zero", "zero"),
        ("--budget", "60 apples", "60 apples"),
        ("--budget", "1MiB,2MiB,3MiB", "3 values for 2 devices"),
        ("--speed", "0", "0"),
        ("--speed", "1,2,3", "3 values for 2 devices"),
        ("--link", "5apples", "5apples"),
        ("--gap", "2", "2"),
        ("--cut-before", "layer9", "layer9"),
    ];
    for (option, value, words) in cases {
        let mut arguments: Vec<&str> = vec!["pipeline", GRAPH];
        for pair in plain.chunks(2).filter(|pair| pair[0] != option) {
            arguments.extend(pair);
        }
        arguments.extend([option, value]);
        let (out, err) = run_to(2, &arguments);
        assert!(
            out.is_empty() && err.contains(words),
            "{arguments:?}: {err}"
        );
        let names = err.contains(option) || words.contains("stages");
        assert!(names, "{arguments:?}: {err}");
    }
    let few = ["--schedule", "interleaved:2", "--microbatches", "5"];
    let solve = ["pipeline", GRAPH, "--stages", "2", "--budget", "8MiB"];
    let (_, err) = run_to(2, &[&solve[..], &few].concat());
    assert!(
        err.contains("--microbatches") && err.contains('5') && err.contains('6'),
        "{err}"
    );
}

#[test]
fn cuts_are_where_the_user_names_them() {
    let folder = tempfile::tempdir().unwrap();
    let named = ["--budget", "100%", "--cut-before", "layer3,layer6"];
    let (found, _) = pipeline(folder.path(), &named);
    // The loss and six layers, against two layers more evenly cut.
    assert!(["layer3", "layer6"].contains(&found["stages"][1]["begin"].as_str().unwrap()));
    assert!(
        found["bound_scope"]
            .as_str()
            .unwrap()
            .contains("2 positions")
    );
    let alone = ["--budget", "100%", "--cut-before", "layer6"];
    assert_eq!(
        pipeline(folder.path(), &alone).0["stages"][1]["begin"],
        "layer6"
    );
}

#[test]
fn pictures_show_passes_bubbles_and_waiting_micro_batches() {
    let folder = tempfile::tempdir().unwrap();
    let (found, path) = pipeline(folder.path(), &["--budget", "60%"]);
    let [passes, memory] = ["passes.svg", "memory.svg"].map(|name| folder.path().join(name));
    let show = ["show", GRAPH, text(&path)];
    let pictures = [
        "--svg-schedule",
        text(&passes),
        "--svg-memory",
        text(&memory),
    ];
    let (out, _) = run_to(0, &[&show[..], &pictures].concat());
    assert!(
        out.contains("2 stages on 2 devices, 1f1b, 4 micro-batches"),
        "{out}"
    );
    assert!(out.contains("idle") && out.contains("4.80 MiB"), "{out}");
    let read = |path: &Path| std::fs::read_to_string(path).unwrap();
    let (passes, memory) = (read(&passes), read(&memory));
    for words in [
        "device 1, stage 1, forward of micro-batch 3:",
        "device 0, stage 0, backward of micro-batch 1: 3.400 to 4.500 ms",
        "27.3% recomputing",
        "\nidle\n",
    ] {
        assert!(passes.contains(words), "{words}: {passes}");
    }
    for words in [
        "waiting micro-batches",
        "device 0: peak 4.00 MiB",
        "1.00 MiB waiting",
        "budget",
    ] {
        assert!(memory.contains(words), "{words}: {memory}");
    }
    let shown = object(&run_to(0, &[&show[..], &["--json"]].concat()).0);
    has_its_schema("show", &shown);
    assert_eq!(shown["makespan"], found["makespan"]);
    for (device, of) in shown["devices"].as_array().unwrap().iter().enumerate() {
        let passes = of["passes"].as_array().unwrap();
        assert_eq!(passes.len(), 8);
        let bytes = |pass: &Value| {
            let of = |field: &str| pass[field].as_u64().unwrap();
            of("waiting_bytes") + of("running_bytes")
        };
        let fixed = of["fixed_bytes"].as_u64().unwrap();
        let peak = passes.iter().map(bytes).max().unwrap() + fixed;
        assert_eq!(json!(peak), found["devices"][device]["peak_memory_bytes"]);
    }
    for unfit in [&["--statements"][..], &["--budget", "1MiB"]] {
        let (_, err) = run_to(2, &[&show[..], unfit].concat());
        assert!(err.contains(unfit[0]), "{err}");
    }
    run_to(2, &["show", "zoo:chain?n=9", text(&path)]);
}

#[test]
fn the_picture_of_a_plan_has_a_band_of_other_micro_batches() {
    let folder = tempfile::tempdir().unwrap();
    let [plan, memory] = ["plan.json", "memory.svg"].map(|name| folder.path().join(name));
    let band = |in_flight: &str| {
        let budget = ["--budget", "20MiB", "--in-flight", in_flight];
        let solve = ["solve", GRAPH, "--out", text(&plan)];
        run_to(0, &[&solve[..], &budget].concat());
        run_to(
            0,
            &["show", GRAPH, text(&plan), "--svg-memory", text(&memory)],
        );
        let svg = std::fs::read_to_string(&memory).unwrap();
        svg.contains("saved by other micro-batches") && svg.matches("#B296DC").count() > 1
    };
    assert!(band("2") && !band("1"));
}
