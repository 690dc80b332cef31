//! Addresses of plans end to end: written, shown, verified, and refused if they are wrong.

use crate::common::{chain, object, run_to, text};
use serde_json::{Value, json};
use std::path::Path;

fn json_of(exit: i32, arguments: &[&str]) -> Value {
    object(&run_to(exit, &[arguments, &["--json"]].concat()).0)
}

fn changed(from: &Path, to: &Path, change: impl FnOnce(&mut Value)) {
    let mut value: Value = serde_json::from_slice(&std::fs::read(from).unwrap()).unwrap();
    change(&mut value);
    std::fs::write(to, value.to_string()).unwrap();
}

#[test]
fn a_solved_plan_gets_addresses_that_are_verified_and_drawn() {
    let folder = tempfile::tempdir().unwrap();
    let graph = chain(folder.path(), 8);
    let path = |name: &str| folder.path().join(name);
    let (graph, placed) = (text(&graph), path("placed.json"));
    let placed = text(&placed);
    let solve = ["solve", graph, "--budget", "500", "--threads", "1"];
    let out = ["--addresses", "--out", placed];
    let solved = json_of(0, &[&solve[..], &out].concat());
    let peak = solved["plan_peak_bytes"].as_u64().unwrap();
    assert!(peak <= 500);
    assert_eq!(solved["arena_bytes"], peak);
    assert_eq!(solved["arena_bound_bytes"], peak);
    assert_eq!(solved["fragmentation"], 0.0);
    let verified = json_of(0, &["verify", graph, placed, "--budget", "500"]);
    assert_eq!(
        (&verified["arena_bytes"], &verified["verified"]),
        (&json!(peak), &json!(true))
    );
    let svg = path("addresses.svg");
    let show = ["show", graph, placed, "--svg-addresses", text(&svg)];
    assert_eq!(json_of(0, &show)["arena_bytes"], peak);
    let drawn = std::fs::read_to_string(&svg).unwrap();
    assert!(drawn.contains("<svg") && drawn.contains("f3 ("));
    let (words, _) = run_to(0, &["show", graph, placed]);
    assert!(
        words.contains("nothing is lost to fragmentation"),
        "{words}"
    );
    // The statements equal the statements of the same plan without addresses.
    let plain = path("plain.json");
    run_to(0, &[&solve[..], &["--out", text(&plain)]].concat());
    changed(Path::new(placed), &path("without.json"), |plan| {
        let fields = plan.as_object_mut().unwrap();
        for name in [
            "addresses_schema",
            "alignment_bytes",
            "arena_bytes",
            "addresses",
        ] {
            assert!(fields.remove(name).is_some(), "{name}");
        }
    });
    let read = |name: &str| -> Value {
        serde_json::from_slice(&std::fs::read(path(name)).unwrap()).unwrap()
    };
    assert_eq!(read("without.json"), read("plain.json"));
    // A plan without addresses has no picture of them.
    let picture = ["show", graph, text(&plain), "--svg-addresses", text(&svg)];
    let (_, error) = run_to(2, &picture);
    assert!(error.contains("remat-bb place INSTANCE PLAN"), "{error}");
    assert_eq!(
        json_of(0, &["verify", graph, text(&plain)])["arena_bytes"],
        Value::Null
    );
}

#[test]
fn plans_that_exist_are_placed_and_large_alignments_told() {
    let folder = tempfile::tempdir().unwrap();
    let graph = chain(folder.path(), 6);
    let path = |name: &str| folder.path().join(name);
    let (graph, plan, placed) = (text(&graph), path("plan.json"), path("placed.json"));
    let (plan, placed) = (text(&plan), text(&placed));
    let schedule = path("schedule.json");
    let solve = [
        "solve",
        graph,
        "--budget",
        "450",
        "--threads",
        "1",
        "--quiet",
    ];
    let out = ["--out", plan, "--schedule-out", text(&schedule)];
    run_to(0, &[&solve[..], &out].concat());
    let lives = path("lives.csv");
    let place = ["place", graph, plan, "--out", placed];
    let found = json_of(0, &[&place[..], &["--lives-out", text(&lives)]].concat());
    assert_eq!(found["status"], "optimal");
    assert_eq!(found["objective"], found["plan_peak_bytes"]);
    run_to(0, &["verify", graph, placed]);
    let again = json_of(0, &["place", text(&lives)]);
    assert_eq!(again["objective"], found["objective"]);
    let of_schedule = json_of(0, &["place", graph, text(&schedule)]);
    assert!(of_schedule["objective"].as_u64() >= found["objective"].as_u64());
    // Tensors of 100 bytes at multiples of 256.
    let (words, _) = run_to(0, &[&place[..], &["--alignment", "256"]].concat());
    assert!(words.contains("ABOVE THE BUDGET of"), "{words}");
    assert!(
        words.contains("no arena at this alignment is smaller"),
        "{words}"
    );
    run_to(0, &["verify", graph, placed]);
    let (_, error) = run_to(2, &["verify", graph, placed, "--budget", "450"]);
    assert!(error.contains("more than the budget"), "{error}");
    let none = json_of(3, &["place", graph, plan, "--capacity", "100"]);
    assert_eq!(none["status"], "infeasible");
    for (wrong, words) in [
        (&["--alignment", "48"][..], "power of two"),
        (&["--alignment", "4GiB"], "power of two"),
        (&["--certificate", "x"], "cannot be used with"),
    ] {
        let (_, error) = run_to(2, &[&place[..], wrong].concat());
        assert!(error.contains(words), "{error}");
    }
    let (_, error) = run_to(2, &["place", text(&lives), "--alignment", "64"]);
    assert!(error.contains("PLAN"), "{error}");
}

#[test]
fn an_arena_above_the_budget_is_no_success() {
    let folder = tempfile::tempdir().unwrap();
    let graph = chain(folder.path(), 6);
    let (graph, plan) = (text(&graph), folder.path().join("plan.json"));
    let solve = ["solve", graph, "--budget", "450", "--threads", "1"];
    let addresses = ["--addresses", "--alignment", "256", "--out", text(&plan)];
    let found = json_of(4, &[&solve[..], &addresses].concat());
    assert_eq!(found["status"], "limit");
    assert!(found["plan_peak_bytes"].as_u64() <= Some(450));
    assert!(found["arena_bytes"].as_u64() > Some(450));
    let (words, _) = run_to(4, &[&solve[..], &addresses].concat());
    let wanted = [
        "status    limit: a plan, but its addresses need",
        "ABOVE THE BUDGET",
    ];
    assert!(wanted.iter().all(|part| words.contains(part)), "{words}");
    assert!(!words.contains("proven best"), "{words}");
    // The same plan fits at an alignment of 0, which counts as 1.
    let fits = [&solve[..], &["--addresses", "--alignment", "0"]].concat();
    let found = json_of(0, &fits);
    assert_eq!(
        (&found["status"], &found["alignment_bytes"]),
        (&json!("optimal"), &json!(1))
    );
}

#[test]
fn addresses_that_are_wrong_are_refused_everywhere() {
    let folder = tempfile::tempdir().unwrap();
    let graph = chain(folder.path(), 6);
    let path = |name: &str| folder.path().join(name);
    let (graph, placed) = (text(&graph), path("placed.json"));
    let solve = [
        "solve",
        graph,
        "--budget",
        "450",
        "--threads",
        "1",
        "--quiet",
    ];
    let out = ["--addresses", "--alignment", "4", "--out", text(&placed)];
    run_to(0, &[&solve[..], &out].concat());
    let wrong = path("wrong.json");
    type Change = fn(&mut Value);
    let cases: [(Change, &str); 6] = [
        (
            |plan| plan["addresses"][1][2] = plan["addresses"][0][2].clone(),
            "share the addresses",
        ),
        (
            |plan| plan["addresses"][0][2] = json!(3),
            "give a multiple of 4",
        ),
        (|plan| plan["addresses"][0][3] = json!(8), "the plan takes"),
        (
            |plan| drop(plan["addresses"].as_array_mut().unwrap().pop()),
            "is for nothing",
        ),
        (
            |plan| plan["arena_bytes"] = json!(1 << 20),
            "records an arena of 1048576 bytes",
        ),
        (
            |plan| plan["alignment_bytes"] = json!(1 << 20),
            "give a multiple of 1048576",
        ),
    ];
    for (change, words) in cases {
        changed(&placed, &wrong, change);
        // New addresses are the remedy.
        run_to(0, &["place", graph, text(&wrong)]);
        for command in ["verify", "show", "explain"] {
            let found = json_of(2, &[command, graph, text(&wrong)]);
            let message = found["message"].as_str().unwrap();
            assert!(message.contains(words), "{command}: {message}");
            assert!(found["remedy"].as_str().unwrap().contains("remat-bb place"));
        }
    }
}
