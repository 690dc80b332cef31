//! Figures and tables of the pages against the recorded results.

use crate::common::{command, ends, run_to, text};
use std::path::Path;
use std::process::Command;

#[test]
fn every_figure_is_what_its_results_give() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let bench = command(&[]).get_program().to_owned();
    if Command::new("python3").arg("--version").output().is_err() {
        println!("skipped: python3 is not here, only the figures of remat-bench are checked");
        run_to(0, &["figures", "--check", "--checkout", text(&root)]);
        return;
    }
    let mut script = Command::new(root.join("scripts/results"));
    script.args(["--check", "--bench"]).arg(bench);
    ends(0, script);
}

#[test]
fn a_figure_of_other_results_is_named_and_drawn_again() {
    let folder = tempfile::tempdir().unwrap();
    let checkout = folder.path();
    let results = checkout.join("bench/results");
    std::fs::create_dir_all(&results).unwrap();
    let recorded = Path::new(env!("CARGO_MANIFEST_DIR")).join("results/order.csv");
    let table = std::fs::read_to_string(recorded).unwrap();
    let write = |table: &str| std::fs::write(results.join("order.csv"), table).unwrap();
    let words = ["figures", "--checkout", text(checkout)];
    let check = [&words[..], &["--check"]].concat();
    write(&table);
    let (_, err) = run_to(2, &check);
    assert!(err.contains("bench/results/order.svg differs"), "{err}");
    run_to(0, &words);
    let (out, _) = run_to(0, &check);
    assert_eq!(out, "");
    // Another peak of a graph is another picture.
    let other = table.replace(
        "resnet152?batch=1,sound,1651,559193664",
        "resnet152?batch=1,sound,1651,1",
    );
    assert_ne!(other, table);
    write(&other);
    run_to(2, &check);
    write("graph\n");
    let (_, err) = run_to(2, &check);
    assert!(err.contains("order.csv, line 1: the columns are"), "{err}");
}
