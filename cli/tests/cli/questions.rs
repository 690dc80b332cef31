//! `remat-bb sweep`, `max-batch`, `explain` and the picture of a solve, through the binary.

use crate::common::{chain, object, run_to, text};
use serde_json::Value;
use std::path::Path;

fn number(value: &Value, key: &str) -> u64 {
    value[key]
        .as_u64()
        .unwrap_or_else(|| panic!("{key} of {value}"))
}

#[test]
fn a_sweep_is_monotone_and_its_files_say_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let graph = chain(folder.path(), 8);
    let (csv, svg) = (folder.path().join("s.csv"), folder.path().join("s.svg"));
    let (out, err) = run_to(
        0,
        &[
            "sweep",
            text(&graph),
            "--budgets",
            "20%..100%:6",
            "--time-limit",
            "300ms",
            "--csv",
            text(&csv),
            "--svg",
            text(&svg),
            "--json",
            "--quiet",
        ],
    );
    assert_eq!(err, "");
    let found = object(&out);
    let points = found["points"].as_array().unwrap();
    assert_eq!(points.len(), 6);
    let plain = number(&found, "plain_peak_bytes");
    assert_eq!(number(&points[5], "budget_bytes"), plain);
    assert_eq!(number(&points[5], "objective"), number(&found, "base_cost"));
    assert_eq!(points[5]["status"], "optimal");
    let mut last = u64::MAX;
    for point in points {
        if let Some(objective) = point["objective"].as_u64() {
            assert!(objective <= last && number(point, "bound") <= objective);
            assert!(number(point, "peak_memory_bytes") <= number(point, "budget_bytes"));
            // Every heuristic is at or above the bound.
            for other in point["baselines"].as_array().unwrap() {
                assert!(number(other, "cost") >= number(point, "bound"), "{point}");
            }
            last = objective;
        }
    }
    let lines = std::fs::read_to_string(&csv).unwrap();
    let ours: Vec<&str> = lines.lines().filter(|l| l.contains(",remat-bb,")).collect();
    assert_eq!(ours.len(), 6);
    for (line, point) in ours.iter().zip(points) {
        let cells: Vec<&str> = line.split(',').collect();
        assert_eq!(cells.len(), 9, "{line}");
        assert_eq!(cells[0], number(point, "budget_bytes").to_string());
        let cost = point["objective"].as_u64();
        assert_eq!(cells[3], cost.map_or_else(String::new, |c| c.to_string()));
    }
    let all = lines.lines().map(|l| l.split(',').count());
    assert!(all.collect::<std::collections::BTreeSet<_>>().len() == 1);
    let drawn = std::fs::read_to_string(&svg).unwrap();
    assert!(drawn.contains("</svg>") && drawn.contains("remat-bb") && drawn.contains("proven"));
    let list = ["sweep", text(&graph), "--budgets", "10", "--quiet"];
    run_to(3, &list);
}

#[test]
fn budgets_of_a_sweep_that_make_no_sense_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let graph = chain(folder.path(), 3);
    for (budgets, words) in [
        ("40%..100%", "the number of budgets is missing"),
        ("40%..100%:0", "not a number from 1 to 1000"),
        ("90%..40%:3", "above the last"),
        ("40%..much:3", "much"),
        ("1,two", "two"),
    ] {
        let (_, err) = run_to(2, &["sweep", text(&graph), "--budgets", budgets]);
        assert!(err.contains("--budgets") && err.contains(words), "{err}");
    }
}

#[test]
fn the_largest_batch_fits_and_the_next_does_not() {
    let model = "zoo:vgg16?batch=4";
    let ask = |overhead: &str| {
        let arguments = [
            "max-batch",
            model,
            "--budget",
            "4GiB",
            "--overhead",
            overhead,
            "--time-limit",
            "500ms",
            "--json",
            "--quiet",
        ];
        object(&run_to(0, &arguments).0)
    };
    let (none, one) = (ask("0x"), ask("1.0x"));
    let of = |found: &Value, name: &str| -> Value {
        let all = found["strategies"].as_array().unwrap();
        all.iter().find(|s| s["name"] == name).unwrap().clone()
    };
    let plain = of(&none, "checkpoint-all");
    let ours = of(&none, "remat-bb");
    // Without recomputation keeping everything is optimal.
    assert_eq!(ours["batch"], plain["batch"]);
    assert!(number(&ours, "batch") > 4);
    assert_eq!(ours["overhead_percent"], 0.0);
    let more = of(&one, "remat-bb");
    assert!(number(&more, "batch") > number(&ours, "batch"), "{more}");
    assert!(number(&more, "peak_memory_bytes") <= 4 << 30);
    for strategy in one["strategies"].as_array().unwrap() {
        assert!(
            strategy["batch"].as_u64().unwrap_or(0) <= number(&more, "batch"),
            "{strategy}"
        );
    }
    // The plan exists: solving for that batch keeps both limits.
    let spec = format!("zoo:vgg16?batch={}", number(&more, "batch"));
    let solve = [
        "solve",
        &spec,
        "--budget",
        "4GiB",
        "--time-limit",
        "2",
        "--json",
        "--quiet",
    ];
    let solved = object(&run_to(0, &solve).0);
    assert!(number(&solved, "objective") <= number(&more, "cost"));
}

#[test]
fn questions_about_batches_that_make_no_sense_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let graph = chain(folder.path(), 3);
    for (model, budget, words) in [
        (text(&graph), "1GiB", "cannot be changed"),
        ("zoo:vgg16", "50%", "--budget"),
        ("zoo:vgg17", "1GiB", "vgg17"),
        ("zoo:vgg16", "lots", "--budget"),
    ] {
        let (_, err) = run_to(2, &["max-batch", model, "--budget", budget]);
        assert!(err.contains(words), "{err}");
    }
    run_to(
        3,
        &["max-batch", "zoo:vgg16", "--budget", "1MiB", "--quiet"],
    );
}

fn solved(folder: &Path, graph: &Path) -> std::path::PathBuf {
    let plan = folder.join("plan.json");
    let svg = folder.join("progress.svg");
    let (out, _) = run_to(
        0,
        &[
            "solve",
            text(graph),
            "--budget",
            "600",
            "--time-limit",
            "1",
            "--out",
            text(&plan),
            "--progress-svg",
            text(&svg),
        ],
    );
    assert!(out.contains("progress.svg"), "{out}");
    let drawn = std::fs::read_to_string(&svg).unwrap();
    assert!(
        drawn.contains("cost and bound over time") && drawn.contains("gap"),
        "{drawn}"
    );
    plan
}

#[test]
fn an_explanation_adds_up_to_the_plans_cost() {
    let folder = tempfile::tempdir().unwrap();
    let graph = chain(folder.path(), 8);
    let plan = solved(folder.path(), &graph);
    let told = object(&run_to(0, &["explain", text(&graph), text(&plan), "--json"]).0);
    let recomputed = told["recomputed"].as_array().unwrap();
    let extra: u64 = recomputed.iter().map(|r| number(r, "cost")).sum();
    assert!(extra > 0);
    assert_eq!(number(&told, "cost"), number(&told, "base_cost") + extra);
    assert_eq!(number(&told, "budget_bytes"), 600);
    for one in recomputed {
        for absence in one["absences"].as_array().unwrap() {
            let fullest = absence["fullest_bytes"].as_u64().unwrap_or(0);
            let stays = fullest + number(one, "bytes") <= 600;
            assert_eq!(absence["could_have_stayed"], stays, "{absence}");
        }
    }
    let (words, _) = run_to(0, &["explain", text(&graph), text(&plan), "--all"]);
    let name = recomputed[0]["node"].as_str().unwrap();
    assert!(words.contains(&format!("{name} (")), "{words}");
    assert!(
        words.contains("dropped after") && words.contains("made again for"),
        "{words}"
    );
    let (_, err) = run_to(2, &["explain", text(&graph), "no-plan.json"]);
    assert!(err.contains("no-plan.json"), "{err}");
}
