//! Answers of the commands, compared word by word: standard output, exit code and the files
//! written.
//!
//! `golden/*.txt` holds command lines, each with its exit code and its output. They run one after
//! another in a folder with the files of `golden/inputs`; `cat FILE` shows a file that a command
//! has written. `REMAT_GOLDEN=write` writes the answers anew. Times, versions and numbers of
//! threads are left out: everything else is the same on every machine.

use crate::common::{has_its_schema, object, run_in};
use serde_json::Value;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden")
}

/// Runs the commands of a file anew and compares their answers with it.
fn same_answers(name: &str) {
    let path = folder().join(format!("{name}.txt"));
    let kept = std::fs::read_to_string(&path).unwrap();
    let run = tempfile::tempdir().unwrap();
    for entry in std::fs::read_dir(folder().join("inputs")).unwrap() {
        let from = entry.unwrap().path();
        std::fs::copy(&from, run.path().join(from.file_name().unwrap())).unwrap();
    }
    let mut found = String::new();
    for line in kept.lines().filter_map(|line| line.strip_prefix("$ ")) {
        let _ = write!(found, "$ {line}\n{}\n", answer(run.path(), line));
    }
    if std::env::var_os("REMAT_GOLDEN").is_some_and(|v| v == "write") {
        std::fs::write(&path, found).unwrap();
        return;
    }
    let block = |text: &str| -> Vec<String> { text.split("\n$ ").map(Into::into).collect() };
    for (kept, found) in block(&kept).iter().zip(block(&found)) {
        let command = found.lines().next().unwrap_or_default().to_owned();
        let (kept, found) = (kept.trim_end(), found.trim_end());
        let lines = kept.lines().zip(found.lines());
        for (k, (kept, found)) in lines.enumerate() {
            assert_eq!(kept, found, "{name}: line {k} of {command}");
        }
        assert_eq!(kept.lines().count(), found.lines().count(), "{command}");
    }
}

fn answer(folder: &Path, line: &str) -> String {
    let words: Vec<&str> = line.split_whitespace().collect();
    match words[..] {
        ["cat", file] => shown(&std::fs::read_to_string(folder.join(file)).unwrap()),
        ["remat-bb", ref arguments @ ..] => {
            let output = run_in(folder, arguments);
            let code = output.status.code().expect("an exit code");
            let out = String::from_utf8(output.stdout).expect("output is UTF-8");
            if arguments.contains(&"--json") {
                has_its_schema(arguments[0], &object(&out));
            }
            format!("exit {code}\n{}", shown(&out))
        }
        _ => panic!("{line}: neither remat-bb nor cat"),
    }
}

/// An output without the parts that differ from run to run.
fn shown(text: &str) -> String {
    match serde_json::from_str::<Value>(text) {
        Ok(mut value) if value.is_object() => {
            without_times(&mut value);
            serde_json::to_string_pretty(&value).unwrap() + "\n"
        }
        _ => text.lines().fold(String::new(), |mut all, line| {
            let _ = writeln!(all, "{}", without_seconds(line));
            all
        }),
    }
}

/// Fields whose values depend on the machine, the moment or the version.
fn without_times(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                let is_other = ["version", "threads"];
                if key.contains("seconds") && !key.contains("limit") || is_other.contains(&&**key) {
                    *value = Value::from("any");
                } else if let ("incumbents", Value::Array(list)) = (&**key, &mut *value) {
                    // Threads find intermediate solutions in any order: only the last one, the
                    // answer, is compared.
                    list.drain(..list.len().saturating_sub(1));
                    list.iter_mut()
                        .for_each(|pair| pair[0] = Value::from("any"));
                } else {
                    without_times(value);
                }
            }
        }
        Value::Array(list) => list.iter_mut().for_each(without_times),
        _ => {}
    }
}

/// A line with its durations in seconds, versions and numbers of threads replaced.
fn without_seconds(line: &str) -> String {
    let words: Vec<&str> = line.split(' ').collect();
    let is_number = |word: &str| word.parse::<f64>().is_ok();
    let mut shown: Vec<String> = Vec::with_capacity(words.len());
    for (k, word) in words.iter().enumerate() {
        let next = words.get(k + 1).copied().unwrap_or_default();
        let is_time = next.trim_end_matches(',') == "s" || next.starts_with("thread");
        let joined = word.trim_end_matches(',').strip_suffix('s');
        match *word {
            _ if is_number(word) && is_time => shown.push("_".into()),
            _ if joined.is_some_and(is_number) => shown.push("_".into()),
            _ if *word == concat!(env!("CARGO_PKG_VERSION"), ":") => shown.push("_".into()),
            word => shown.push(word.into()),
        }
    }
    shown.join(" ")
}

#[test]
fn plans() {
    same_answers("plans");
}

#[test]
fn programs() {
    same_answers("programs");
}

#[test]
fn orders_and_addresses() {
    same_answers("orders-and-addresses");
}

#[test]
fn refusals() {
    same_answers("refusals");
}

/// Runs with enough work to show a changed search: nodes, pivots, moves, objective and bound.
#[test]
fn runs() {
    same_answers("runs");
}
