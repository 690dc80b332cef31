//! `--plans`: a plan for each answer of `sweep`, `baselines` and `max-batch`.

use crate::common::{chain, object, run_to, text};
use serde_json::Value;
use std::path::Path;

/// The entries of a list that have a plan, each plan verified for an instance.
fn verified<'a>(list: &'a Value, instance: &str) -> Vec<&'a Value> {
    let all = list.as_array().unwrap().iter();
    let with: Vec<&Value> = all.filter(|one| one["plan"].is_string()).collect();
    for one in &with {
        let plan = one["plan"].as_str().unwrap();
        let (out, _) = run_to(0, &["verify", instance, plan, "--json"]);
        let found = object(&out);
        assert_eq!(found["verified"], true, "{plan}");
        // Plans leave out useless computations of their schedule.
        let cost = one.get("cost").unwrap_or(&one["objective"]);
        assert!(found["cost"].as_u64() <= cost.as_u64(), "{plan}");
    }
    with
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<String> = entries
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn each_budget_of_a_sweep_has_its_plan() {
    let folder = tempfile::tempdir().unwrap();
    let graph = chain(folder.path(), 6);
    let plans = folder.path().join("made/of/plans");
    let sweep = [
        "sweep",
        text(&graph),
        "--budgets",
        "100,400,500,600",
        "--json",
        "--quiet",
        "--plans",
        text(&plans),
    ];
    // A second run writes the same plans again.
    for _ in 0..2 {
        let found = object(&run_to(0, &sweep).0);
        let with = verified(&found["points"], text(&graph));
        let solved = found["points"].as_array().unwrap().iter();
        let solved = solved.filter(|p| !p["objective"].is_null()).count();
        assert!(with.len() == solved && solved >= 2, "{found}");
        assert!(found["points"][0]["plan"].is_null());
        assert_eq!(names(&plans).len(), solved);
        assert!(names(&plans).contains(&"remat-bb-600B.json".into()));
    }
}

#[test]
fn each_strategy_that_fits_has_its_plan() {
    let folder = tempfile::tempdir().unwrap();
    let plans = folder.path().join("plans");
    let model = "zoo:vgg16?batch=2&device=p100&implementations=monet";
    for (formulation, instance) in [("checkmate", "zoo:chain?n=8"), ("monet", model)] {
        let (out, _) = run_to(
            0,
            &[
                "baselines",
                instance,
                "--budget",
                "99%",
                "--json",
                "--plans",
                text(&plans),
            ],
        );
        let found = object(&out);
        assert_eq!(found["formulation"], formulation);
        let with = verified(&found["strategies"], instance);
        assert!(!with.is_empty());
        let all = found["strategies"].as_array().unwrap();
        for one in all {
            assert_eq!(one["fits"] == true, one["plan"].is_string(), "{one}");
        }
        let budget = found["budget_bytes"].as_u64().unwrap();
        assert!(names(&plans).contains(&format!("remat-bb-{budget}B.json")));
    }
}

#[test]
fn each_strategys_largest_batch_has_its_plan() {
    let folder = tempfile::tempdir().unwrap();
    let plans = folder.path().join("plans");
    let (out, _) = run_to(
        0,
        &[
            "max-batch",
            "zoo:vgg16?batch=4",
            "--budget",
            "4GiB",
            "--time-limit",
            "500ms",
            "--json",
            "--quiet",
            "--plans",
            text(&plans),
        ],
    );
    let found = object(&out);
    let all = found["strategies"].as_array().unwrap();
    for one in all {
        assert_eq!(one["batch"].is_null(), one["plan"].is_null(), "{one}");
        let Some(batch) = one["batch"].as_u64() else {
            continue;
        };
        let name = format!("{}-batch-{batch}.json", one["name"].as_str().unwrap());
        assert!(names(&plans).contains(&name), "{name}");
        let list = Value::Array(vec![one.clone()]);
        let instance = format!("zoo:vgg16?batch={batch}");
        assert_eq!(verified(&list, &instance).len(), 1);
    }
}

#[test]
fn nothing_but_plans_is_overwritten_and_folders_are_tried_first() {
    let folder = tempfile::tempdir().unwrap();
    let graph = chain(folder.path(), 6);
    let other = folder.path().join("remat-bb-600B.json");
    std::fs::write(&other, "{\"notes\": 1}").unwrap();
    let sweep = |plans: &Path| {
        let arguments = ["sweep", text(&graph), "--budgets", "600", "--plans"];
        run_to(2, &[&arguments[..], &[text(plans)]].concat()).1
    };
    let err = sweep(folder.path());
    assert!(
        err.contains("remat-bb-600B.json") && err.contains("no plan"),
        "{err}"
    );
    assert_eq!(std::fs::read_to_string(&other).unwrap(), "{\"notes\": 1}");
    let err = sweep(&graph);
    assert!(err.contains("--plans"), "{err}");
    assert!(sweep(Path::new("-")).contains("standard output"));
}

#[test]
fn baselines_that_nothing_fits_are_infeasible() {
    let folder = tempfile::tempdir().unwrap();
    let graph = chain(folder.path(), 6);
    let (out, _) = run_to(3, &["baselines", text(&graph), "--budget", "50", "--json"]);
    let found = object(&out);
    assert!(found["infeasible_because"].is_string(), "{out}");
    // The heuristics alone, with the options of a solve.
    let rest = ["--search", "0", "--threads", "1", "--seed", "3"];
    let arguments = ["baselines", text(&graph), "--budget", "302"];
    let (out, _) = run_to(0, &[&arguments[..], &rest].concat());
    assert!(
        !out.contains("No stage schedule fits") && !out.contains("remat-bb"),
        "{out}"
    );
}
