//! The arrows between the crates, as `docs/architecture.md` says they are.

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

/// The workspace's crates that each of them depends on in the product: not for tests, not for
/// building.
fn arrows() -> BTreeMap<String, BTreeSet<String>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let output = Command::new(env!("CARGO"))
        .args([
            "metadata",
            "--format-version",
            "1",
            "--no-deps",
            "--offline",
        ])
        .current_dir(root)
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{output:?}");
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let packages = metadata["packages"].as_array().expect("packages");
    let names: BTreeSet<String> = packages.iter().map(|p| text(&p["name"])).collect();
    let of = |package: &Value| {
        let all = package["dependencies"].as_array().expect("dependencies");
        let product = all.iter().filter(|d| d["kind"].is_null());
        let own = product.map(|d| text(&d["name"]));
        own.filter(|name| names.contains(name)).collect()
    };
    packages
        .iter()
        .map(|package| (text(&package["name"]), of(package)))
        .collect()
}

#[test]
fn the_judges_depend_on_instances_alone_and_no_arrow_runs_back() {
    let arrows = arrows();
    let of = |name: &str| -> Vec<&str> { arrows[name].iter().map(String::as_str).collect() };
    assert_eq!(of("remat-check"), ["remat-instances"]);
    assert_eq!(of("remat-lp"), [""; 0]);
    assert_eq!(of("remat-instances"), [""; 0]);
    assert_eq!(of("remat-solver"), ["remat-lp"]);
    let engine = ["remat-instances", "remat-lp"];
    let above = |floors: &[&'static str]| [&engine[..], floors].concat();
    let floors = ["remat-search", "remat-solver"];
    assert_eq!(of("remat-search"), above(&["remat-solver"]));
    assert_eq!(of("remat-memory"), above(&floors));
    assert_eq!(
        of("remat-formulations"),
        above(&["remat-memory", "remat-search", "remat-solver"])
    );
    let models = [
        "remat-formulations",
        "remat-lp",
        "remat-memory",
        "remat-search",
        "remat-solver",
    ];
    assert_eq!(of("remat-models"), models);
    let outside = [
        "remat-formulations",
        "remat-instances",
        "remat-search",
        "remat-solver",
    ];
    assert_eq!(of("remat-outside"), outside);
    assert!(!arrows["remat-gpu-exec"].contains("remat-bb"));
}
