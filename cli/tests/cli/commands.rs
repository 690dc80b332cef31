//! The other subcommands, end to end: bad input, tables, pictures, the zoo, completions.

use crate::common::{chain, command, object, run_to, text};
use std::process::Stdio;

#[test]
fn bad_input_names_the_file_and_leaves_standard_output_empty() {
    let folder = tempfile::tempdir().unwrap();
    let graph = chain(folder.path(), 3);
    let file = |name: &str, content: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, content).unwrap();
        text(&path).to_owned()
    };
    let empty = file("empty.json", "");
    let broken = file("broken.json", "{\"nodes\": [");
    let other = file("other.json", "{\"schema\": \"remat-plan/9\"}");
    let missing = folder.path().join("missing.json");
    let nowhere = folder.path().join("no/where.json");
    let cases: [(&[&str], &str); 13] = [
        (&["solve", text(&missing), "-b", "1GiB"], "missing.json"),
        (&["solve", &empty, "-b", "1GiB"], "empty.json"),
        (&["solve", &broken, "-b", "1GiB"], "broken.json:1:"),
        (&["solve", text(&graph), "-b", "60 apples"], "60 apples"),
        (
            &["solve", text(&graph), "-b", "1", "-o", text(&nowhere)],
            "where.json",
        ),
        (&["solve", "vgg16", "-b", "60%"], "zoo:vgg16"),
        (&["solve", "zoo:vgg17", "-b", "60%"], "vgg16"),
        (&["solve", text(&graph), "-b", "1", "--gap", "2"], "--gap"),
        (&["verify", text(&graph), &empty], "empty.json"),
        (&["verify", text(&graph), &other], "other.json"),
        (&["verify", text(&graph), text(&graph)], "chain.json"),
        (
            &[
                "zoo", "export", "vgg16", "--set", "batch=0", "--out", "x.json",
            ],
            "batch=0",
        ),
        (&["frobnicate"], "frobnicate"),
    ];
    for (arguments, words) in cases {
        let (out, err) = run_to(2, arguments);
        assert_eq!(out, "", "{arguments:?}");
        assert!(err.contains(words), "{arguments:?}: {err}");
        assert!(!err.contains("panicked"), "{err}");
    }
}

#[test]
fn baselines_sort_what_fits_first_and_write_picture_and_table() {
    let folder = tempfile::tempdir().unwrap();
    let (svg, csv) = (folder.path().join("t.svg"), folder.path().join("t.csv"));
    let (out, _) = run_to(
        0,
        &[
            "baselines",
            "zoo:resnet18?batch=8&size=64",
            "--budget",
            "96%",
            "--json",
            "--points",
            "5",
            "--svg",
            text(&svg),
            "--csv",
            text(&csv),
        ],
    );
    let found = object(&out);
    let list = found["strategies"].as_array().unwrap();
    assert!(list.len() >= 8);
    let rank = |v: &serde_json::Value| {
        let class = match (&v["fits"], v["cost"].is_null()) {
            (serde_json::Value::Bool(true), _) => 0,
            (_, false) => 1,
            _ => 2,
        };
        (class, if class == 0 { v["cost"].as_u64() } else { None })
    };
    assert!(list.windows(2).all(|w| rank(&w[0]) <= rank(&w[1])), "{out}");
    let plain = list.iter().find(|v| v["name"] == "checkpoint-all").unwrap();
    assert_eq!(plain["cost"], found["base_cost"]);
    assert_eq!(plain["peak_memory_bytes"], found["plain_peak_bytes"]);
    let svg = std::fs::read_to_string(svg).unwrap();
    let best = list[0]["name"].as_str().unwrap();
    assert!(
        svg.contains("<svg") && svg.contains("peak ") && svg.contains(best),
        "{svg}"
    );
    let csv = std::fs::read_to_string(csv).unwrap();
    assert_eq!(csv.lines().count(), 1 + 5 * list.len());
    assert!(csv.starts_with("budget_bytes,name,fits,cost,overhead_percent,peak_bytes\n"));
}

#[test]
fn pictures_of_a_plan_show_its_recomputations_and_its_budget() {
    let folder = tempfile::tempdir().unwrap();
    let graph = chain(folder.path(), 6);
    let plan = folder.path().join("plan.json");
    run_to(
        0,
        &[
            "solve",
            text(&graph),
            "-b",
            "400",
            "-t",
            "1",
            "-o",
            text(&plan),
        ],
    );
    let (schedule, memory) = (folder.path().join("s.svg"), folder.path().join("m.svg"));
    let (out, _) = run_to(
        0,
        &[
            "show",
            text(&graph),
            text(&plan),
            "--svg-schedule",
            text(&schedule),
            "--svg-memory",
            text(&memory),
        ],
    );
    assert!(
        out.contains("computed again") && out.contains("budget    400 B (") && out.contains("kept"),
        "{out}"
    );
    let read = |path| std::fs::read_to_string(path).unwrap();
    let (schedule, memory) = (read(schedule), read(memory));
    assert!(schedule.contains("computed again") && schedule.contains("stage"));
    assert!(memory.contains("budget 400 B") && memory.contains("memory (bytes)"));
    // Recomputations are orange in both pictures, in addition to the legend.
    for svg in [&schedule, &memory] {
        assert!(svg.matches("#D55E00").count() > 1, "{svg}");
    }
    // Without a plan the step has no recomputations.
    let (out, _) = run_to(0, &["show", text(&graph)]);
    assert!(out.contains("nothing is computed again"), "{out}");
}

#[test]
fn exported_models_are_read_back_as_the_same_instance() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("r.json");
    run_to(
        0,
        &[
            "zoo",
            "export",
            "resnet18",
            "--batch",
            "4",
            "--device",
            "a100",
            "--set",
            "size=64",
            "--out",
            text(&file),
        ],
    );
    let model = "zoo:resnet18?batch=4&device=a100&size=64";
    let tables = |instance: &str| {
        let (out, _) = run_to(0, &["baselines", instance, "--budget", "97%", "--json"]);
        let mut value = object(&out);
        value.as_object_mut().unwrap().remove("instance");
        // The program's own search has a time limit, so its plan depends on the machine.
        let strategies = value["strategies"].as_array_mut().unwrap();
        strategies.retain(|row| row["name"] != "remat-bb");
        value
    };
    assert_eq!(tables(text(&file)), tables(model));
    let (out, _) = run_to(0, &["zoo", "list"]);
    assert!(out.contains("resnet50") && out.contains("unet"));
    let (out, _) = run_to(0, &["zoo", "list", "resnet50"]);
    assert!(out.contains("batch") && out.contains("device"));
}

#[test]
fn help_and_completions_go_to_standard_output() {
    let (out, err) = run_to(0, &["--help"]);
    assert!(
        out.contains("Exit codes") && out.contains("baselines"),
        "{out}"
    );
    assert_eq!(err, "");
    for sub in ["solve", "verify", "baselines", "show"] {
        let (out, _) = run_to(0, &[sub, "--help"]);
        assert!(out.contains("Examples:"), "{out}");
        // The first paragraph is the short description; another one explains.
        assert!(
            out.split("Usage:").next().unwrap().lines().count() > 4,
            "{out}"
        );
    }
    for shell in ["bash", "zsh", "fish"] {
        let (out, _) = run_to(0, &["completions", shell]);
        assert!(out.contains("baselines"));
    }
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let mut child = command(&["show", "zoo:resnet50", "--statements"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}
