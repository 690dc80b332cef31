//! Plans that copy to the host, through the commands.

mod common;

use common::{object, run_to, text};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Instance and plan of the page on offloading, as files.
fn example(folder: &Path) -> [PathBuf; 2] {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/offload.md");
    let page = std::fs::read_to_string(page).unwrap();
    ["three.json", "plan.json"].map(|name| {
        let (_, block) = page
            .split_once(&format!("<!-- file {name} -->\n```json\n"))
            .unwrap();
        let path = folder.join(name);
        std::fs::write(&path, block.split("```").next().unwrap()).unwrap();
        path
    })
}

/// The same files with a change.
fn changed(path: &Path, name: &str, change: impl FnOnce(&mut Value)) -> PathBuf {
    let text = std::fs::read_to_string(path).unwrap();
    let mut value: Value = serde_json::from_str(&text).unwrap();
    change(&mut value);
    let path = path.with_file_name(name);
    std::fs::write(&path, value.to_string()).unwrap();
    path
}

#[test]
fn verify_has_a_clock_and_the_host() {
    let folder = tempfile::tempdir().unwrap();
    let [graph, plan] = example(folder.path());
    let (out, _) = run_to(0, &["verify", text(&graph), text(&plan), "--json"]);
    let found = object(&out);
    for (field, value) in [
        ("cost", 47),
        ("compute_cost", 35),
        ("idle", 12),
        ("makespan", 47),
        ("recorded_objective", 47),
        ("peak_memory_bytes", 15),
        ("to_host_bytes", 6),
        ("from_host_bytes", 6),
        ("host_peak_bytes", 6),
    ] {
        assert_eq!(found[field], value, "{field}");
    }
    assert_eq!(found["verified"], true);
    assert_eq!(found["stage_schedule"], false);
    assert_eq!(found["stage_schedule_in_own_order"], false);
    assert_eq!(found["stage_schedule_with_copies"], true);
    assert_eq!(found["host_memory_bytes"], Value::Null);
    let (out, _) = run_to(0, &["verify", text(&graph), text(&plan)]);
    assert!(out.contains("12.000 ns waiting for copies"), "{out}");
    assert!(out.contains("without a link do not hold for it"), "{out}");
    assert!(out.contains("stage schedules with copies"), "{out}");
    assert!(out.contains("verified: the replay confirms"), "{out}");

    let cost = changed(&plan, "cost.json", |plan| plan["objective"] = 35.into());
    let (out, err) = run_to(2, &["verify", text(&graph), text(&cost), "--json"]);
    assert_eq!(
        object(&out)["differences"][0],
        "it records a makespan of 35, the replay takes 47"
    );
    assert!(err.contains("a makespan of 35"), "{err}");
    let little = changed(&graph, "little.json", |graph| {
        graph["host_link"]["host_memory_bytes"] = 5.into();
    });
    let (out, err) = run_to(2, &["verify", text(&little), text(&plan), "--json"]);
    assert_eq!(object(&out)["host_memory_bytes"], 5);
    assert!(err.contains("its link has 5 B of host memory"), "{err}");
    let none = changed(&graph, "none.json", |graph| {
        graph["host_link"] = Value::Null
    });
    let (_, err) = run_to(2, &["verify", text(&none), text(&plan)]);
    assert!(err.contains("\"host_link\""), "{err}");
}

#[test]
fn verify_replays_over_another_link() {
    let folder = tempfile::tempdir().unwrap();
    let [graph, plan] = example(folder.path());
    let (graph, plan) = (text(&graph), text(&plan));
    let verify = ["verify", graph, plan, "--json", "--offload"];
    let over = |code, rest: &[&str]| {
        let (out, err) = run_to(code, &[&verify[..], rest].concat());
        (object(&out), err)
    };
    let own = over(0, &["on"]).0;
    assert_eq!(
        (&own["makespan"], &own["verified"]),
        (&47.into(), &true.into())
    );
    // To the host from 10 to 13, back from 30 to 33.
    let fast = over(0, &["2GB/s", "--host-memory", "6"]).0;
    assert_eq!((&fast["makespan"], &fast["idle"]), (&38.into(), &3.into()));
    assert_eq!(fast["host_memory_bytes"], 6);
    assert_eq!(fast["instance_sha256"], own["instance_sha256"]);
    // To the host from 10 to 116, back from 116 to 228.
    let slow = over(0, &["on", "--link-latency", "100ns", "--duplex", "half"]).0;
    assert_eq!(slow["makespan"], 233);
    let (full, err) = over(2, &["on", "--host-memory", "5"]);
    assert_eq!(
        (&full["verified"], &full["differences"]),
        (&false.into(), &Value::Array(vec![]))
    );
    assert!(err.contains("more than the 5 B that there is"), "{err}");

    let flops = changed(Path::new(graph), "flops.json", |graph| {
        graph["cost_unit"] = "FLOP".into()
    });
    let none = changed(Path::new(graph), "none.json", |graph| {
        graph["host_link"] = Value::Null
    });
    for (arguments, words) in [
        (
            &["verify", text(&flops), plan, "--offload", "on"][..],
            "\"FLOP\"",
        ),
        (
            &["verify", text(&none), plan, "--offload", "on"],
            "has no \"host_link\"",
        ),
        (
            &["verify", graph, plan, "--host-memory", "1GiB"],
            "--offload",
        ),
        (
            &["verify", graph, plan, "--offload", "warp9"],
            "24GB/s,50GB/s",
        ),
        (
            &[
                "verify",
                graph,
                plan,
                "--offload",
                "on",
                "--link-latency",
                "3",
            ],
            "has no unit",
        ),
    ] {
        let (_, err) = run_to(2, arguments);
        assert!(err.contains(words), "{arguments:?}: {err}");
    }
    run_to(0, &["verify", text(&none), plan, "--offload", "pcie3"]);
}

#[test]
fn copies_are_shown_explained_and_placed() {
    let folder = tempfile::tempdir().unwrap();
    let [graph, plan] = example(folder.path());
    let half = changed(&graph, "half.json", |graph| {
        graph["host_link"]["duplex"] = "half".into();
    });
    let picture = folder.path().join("memory.svg");
    let stages = folder.path().join("stages.svg");
    let svg = [
        "--svg-memory",
        text(&picture),
        "--svg-schedule",
        text(&stages),
    ];
    let mut lanes = Vec::new();
    for graph in [&graph, &half] {
        let show = ["show", text(graph), text(&plan)];
        let (out, _) = run_to(0, &[&show[..], &svg].concat());
        let words =
            "a  6 B  back         30.000 ns  to  42.000 ns  for c; computations wait 12.000 ns";
        assert!(out.contains(words), "{out}");
        let svg = std::fs::read_to_string(&picture).unwrap();
        let hover = "<title>a back: 6 B, 30.000 to 42.000 ns; computations wait 12.000 ns</title>";
        assert!(svg.contains(hover), "{svg}");
        lanes.push(
            ["to host", "back", "link"].map(|lane| svg.matches(&format!("\n{lane}\n")).count()),
        );
        let stages = std::fs::read_to_string(&stages).unwrap();
        assert!(stages.contains("on the host alone"), "{stages}");
    }
    // Two lanes, or one with a legend of its colours.
    assert_eq!(lanes, [[1, 1, 0], [1, 1, 1]]);
    let shown = object(&run_to(0, &["show", text(&graph), text(&plan), "--json"]).0);
    assert_eq!(shown["copies"][1]["begin"], 30);
    assert_eq!(shown["copies"][1]["to_host"], false);
    assert_eq!(shown["copies"][1]["idle"], 12);

    let (out, _) = run_to(0, &["explain", text(&graph), text(&plan)]);
    for words in [
        "a (6 B): left for the host at 10.000 ns, there at 16.000 ns",
        "back for c from 30.000 ns to 42.000 ns; computations wait 12.000 ns for that",
        "the link back is busy for 12.000 ns (25.5% of the step)",
        "1 tensor is copied to the host (6 B) and back (6 B)",
    ] {
        assert!(out.contains(words), "{out}");
    }
    let told = object(&run_to(0, &["explain", text(&graph), text(&plan), "--json"]).0);
    assert_eq!(told["from_host_busy"], 12);
    assert_eq!(told["departures"][0]["returns"][0]["made_for"], "c");

    let placed = folder.path().join("placed.json");
    run_to(
        0,
        &["place", text(&graph), text(&plan), "--out", text(&placed)],
    );
    let found = object(&run_to(0, &["verify", text(&graph), text(&placed), "--json"]).0);
    assert_eq!(
        (&found["arena_bytes"], &found["makespan"]),
        (&15.into(), &47.into())
    );
    // Two pieces at one place.
    let shared = changed(&placed, "shared.json", |plan| {
        for piece in plan["addresses"].as_array_mut().unwrap() {
            piece[2] = 0.into();
        }
    });
    let (_, err) = run_to(2, &["verify", text(&graph), text(&shared)]);
    assert!(err.contains("shared.json"), "{err}");
}

#[test]
fn commands_that_know_no_copies_say_so() {
    let folder = tempfile::tempdir().unwrap();
    let [graph, plan] = example(folder.path());
    let out = folder.path().join("better.json");
    let (_, err) = run_to(
        2,
        &["improve", text(&graph), text(&plan), "--out", text(&out)],
    );
    assert!(
        err.contains("statement 2 copies a tensor to the host"),
        "{err}"
    );
    assert!(!out.exists());
}
