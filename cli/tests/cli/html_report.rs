//! `remat-bb report`: pages of plans, pipelines, orders and placements.

use crate::common::{has_its_schema, object, run_to, text};
use serde_json::Value;
use std::path::Path;

/// Runs `report` on a subject, and returns its object and the data of its page.
fn report(folder: &Path, words: &[&str]) -> (Value, Value) {
    let html = folder.join("page.html");
    let mut line = vec!["report"];
    line.extend(words);
    line.extend(["--html", text(&html), "--json"]);
    let found = object(&run_to(0, &line).0);
    has_its_schema("report", &found);
    let page = std::fs::read_to_string(&html).unwrap();
    assert_eq!(found["html_bytes"], page.len());
    let data = page.split_once("id=\"data\">").unwrap().1;
    let data = serde_json::from_str(data.split_once("</script>").unwrap().0).unwrap();
    (found, data)
}

#[test]
fn a_page_has_plans_their_bounds_and_the_step_without_recomputation() {
    let folder = tempfile::tempdir().unwrap();
    let [plan, solved] = ["plan.json", "solve.json"].map(|name| folder.path().join(name));
    let graph = "zoo:resnet18?batch=16";
    let solve = [
        "solve",
        graph,
        "--budget",
        "80%",
        "--time-limit",
        "1",
        "--json",
        "--out",
    ];
    let (out, _) = run_to(0, &[&solve[..], &[text(&plan)]].concat());
    std::fs::write(&solved, &out).unwrap();
    let words = [graph, text(&plan), "--log", text(&solved)];
    let (found, data) = report(folder.path(), &words);
    assert_eq!(
        (&found["kind"], &found["plans"]),
        (&"plans".into(), &2.into())
    );
    let plans = &data["subjects"][0]["plans"];
    let solved = object(&out);
    assert_eq!(plans[0]["name"], "plan.json");
    assert_eq!(plans[0]["cost"], solved["objective"]);
    assert_eq!(plans[0]["peak_bytes"], solved["peak_memory_bytes"]);
    assert_eq!(plans[0]["bound"]["cost"], solved["bound"]);
    assert_eq!(plans[1]["is_plain"], true);
    assert_eq!(plans[1]["cost"], solved["base_cost"]);
    // Without plans the step without recomputation alone is shown.
    let (found, _) = report(folder.path(), &[graph]);
    assert_eq!(found["plans"], 1);
    let words = [
        "report",
        graph,
        text(&plan),
        "--log",
        text(&plan),
        "--html",
        "never.html",
    ];
    let (_, errors) = run_to(2, &words);
    assert!(errors.contains("no findings of a search"), "{errors}");
    assert!(!Path::new("never.html").exists());
}

#[test]
fn pipelines_have_stages_and_passes() {
    let folder = tempfile::tempdir().unwrap();
    let plan = folder.path().join("pipeline.json");
    let graph = "zoo:chain?n=8";
    let words = [
        "pipeline",
        graph,
        "--stages",
        "2",
        "--microbatches",
        "4",
        "--budget",
        "100%",
        "--out",
        text(&plan),
        "--time-limit",
        "5",
    ];
    run_to(0, &words);
    let (found, data) = report(folder.path(), &[graph, text(&plan)]);
    assert_eq!(
        (&found["kind"], &found["plans"]),
        (&"pipeline".into(), &2.into())
    );
    let devices = data["pipeline"]["devices"].as_array().unwrap();
    assert_eq!(devices.len(), 2);
    let passes = devices
        .iter()
        .map(|d| d["passes"].as_array().unwrap().len());
    assert_eq!(passes.sum::<usize>(), 2 * 2 * 4);
    // The replay of a stage has the device's peak, as each device has one stage.
    for (device, subject) in devices.iter().zip(data["subjects"].as_array().unwrap()) {
        assert!(subject["plans"][0]["peak_bytes"].as_u64() >= device["peak_bytes"].as_u64());
    }
}

#[test]
fn orders_and_placements_have_addresses() {
    let folder = tempfile::tempdir().unwrap();
    let [memory, lives, placed] =
        ["memory.json", "lives.csv", "placed.csv"].map(|name| folder.path().join(name));
    let graph = "zoo:resnet18?batch=1";
    let plan = [
        "plan-memory",
        graph,
        "--time-limit",
        "1",
        "--out",
        text(&memory),
        "--json",
    ];
    let solved = object(&run_to(0, &plan).0);
    let (found, data) = report(folder.path(), &[graph, text(&memory)]);
    assert_eq!(found["kind"], "order");
    let own = &data["subjects"][0]["plans"][0];
    assert_eq!(own["peak_bytes"], solved["peak_memory_bytes"]);
    assert!(own["pieces"]["offset"].is_array());
    std::fs::write(&lives, "id,lower,upper,size\na,0,2,8\nb,2,5,4\nc,1,3,4\n").unwrap();
    run_to(0, &["place", text(&lives), "--out", text(&placed)]);
    let (_, data) = report(folder.path(), &[text(&lives), text(&placed)]);
    let own = &data["subjects"][0]["plans"][0];
    assert_eq!(
        (&own["peak_bytes"], &own["arena_bytes"]),
        (&12.into(), &12.into())
    );
    assert_eq!(own["pieces"]["names"].to_string(), r#"["a","b","c"]"#);
    let words = [
        "report",
        text(&lives),
        "--budget",
        "9B",
        "--html",
        text(&placed),
    ];
    let (_, errors) = run_to(2, &words);
    assert!(
        errors.contains("--budget is for plans that recompute"),
        "{errors}"
    );
}
