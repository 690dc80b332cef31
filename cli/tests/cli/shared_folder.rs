//! Runs in containers, each with the process number 1, that write into one folder at a time.
#![cfg(unix)]

use crate::common::{TREE, object, text, three_rows};
use std::path::Path;
use std::process::{Child, Command, Stdio};

const PAIRS: usize = 60;

/// A run in a separate process namespace.
fn contained(model: &Path, folder: &Path, name: &str) -> Child {
    let file = |end: &str| folder.join(format!("{name}.{end}"));
    Command::new("unshare")
        .args(["-pf", "--mount-proc", env!("CARGO_BIN_EXE_remat-bb")])
        .args(["mip", text(model), "--json", "-q"])
        .args(TREE)
        .args(["--checkpoint-every", "1ms", "--memory-limit", "20kB"])
        .arg("--checkpoint")
        .arg(file("state"))
        .arg("--solution")
        .arg(file("sol"))
        .arg("--curve")
        .arg(file("csv"))
        .arg("--node-files")
        .arg(folder.join("nodes"))
        .env("TMPDIR", folder)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

#[test]
fn runs_with_one_process_number_lose_no_file() {
    let mut alone = Command::new("unshare");
    let isolated = alone.args(["-pf", "--mount-proc", "true"]).output();
    if !isolated.as_ref().is_ok_and(|o| o.status.success()) {
        println!("skipped: process namespaces are not permitted: {isolated:?}");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let model = three_rows(folder.path());
    let mut bad = Vec::new();
    for pair in 0..PAIRS {
        let place = folder.path().join(pair.to_string());
        let nodes = place.join("nodes");
        std::fs::create_dir_all(&nodes).unwrap();
        // Different names, or the same ones.
        let names = if pair % 2 == 0 {
            ["a", "b"]
        } else {
            ["a", "a"]
        };
        let runs = names.map(|name| contained(&model, &place, name));
        for run in runs {
            let output = run.wait_with_output().unwrap();
            let err = String::from_utf8(output.stderr).unwrap();
            if output.status.code() != Some(0) || !err.is_empty() {
                bad.push(format!("pair {pair}: {}, {err}", output.status));
                continue;
            }
            let result = object(std::str::from_utf8(&output.stdout).unwrap());
            if result["status"] != "optimal" || result["checkpoint"] != true {
                bad.push(format!("pair {pair}: {result}"));
            }
        }
        // It fails unless the folder is empty.
        let emptied = std::fs::remove_dir(&nodes);
        let entries = std::fs::read_dir(&place).unwrap();
        let entries = entries.map(|e| e.unwrap().file_name().into_string().unwrap());
        let mut found: Vec<String> = entries.collect();
        found.sort();
        let ends = ["csv", "sol", "state"];
        let wanted = names
            .iter()
            .flat_map(|n| ends.map(|end| format!("{n}.{end}")));
        let mut wanted: Vec<String> = wanted.collect();
        wanted.dedup();
        wanted.truncate(if pair % 2 == 0 { 6 } else { 3 });
        if found != wanted || emptied.is_err() {
            bad.push(format!("pair {pair}: {found:?}, {emptied:?}"));
        }
    }
    assert!(bad.is_empty(), "{} of them: {bad:#?}", bad.len());
}
