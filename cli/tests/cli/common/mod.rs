//! Shared code of the end-to-end tests: running the binary, and small instances.
// Every test file uses a part of this module.
#![allow(dead_code)]

use remat_bb::commands::schema;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The binary with arguments.
pub fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_remat-bb"));
    command.args(arguments);
    command
}

/// Runs the binary to its end.
pub fn run(arguments: &[&str]) -> Output {
    command(arguments).output().expect("the binary starts")
}

/// Runs the binary in a folder, to its end.
pub fn run_in(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = command(arguments);
    command.current_dir(folder);
    command.output().expect("the binary starts")
}

/// Runs the binary and expects an exit code.
pub fn run_to(code: i32, arguments: &[&str]) -> (String, String) {
    let output = run(arguments);
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("output is UTF-8");
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(
        output.status.code(),
        Some(code),
        "{arguments:?}\n{out}\n{err}"
    );
    (out, err)
}

/// The one JSON object that standard output must be.
pub fn object(out: &str) -> Value {
    let value: Value = serde_json::from_str(out).expect("standard output is one JSON value");
    assert!(value.is_object(), "{out}");
    value
}

/// Checks a command's object against the schema that `remat-bb schema` prints.
pub fn has_its_schema(command: &str, object: &Value) {
    let name = match object["status"] == "error" {
        true => "error",
        false => command,
    };
    let schema = schema::of_command(name).unwrap_or_else(|| panic!("{name} has no schema"));
    let validator = jsonschema::validator_for(&schema).expect("a schema");
    let problems: Vec<String> = validator
        .iter_errors(object)
        .map(|e| e.to_string())
        .collect();
    assert!(problems.is_empty(), "{command}: {problems:?} in {object:#}");
    // Validators accept further fields, and optional ones may be missing; printed objects have all.
    let keys = |value: &Value| -> BTreeSet<String> {
        let fields = value.as_object().into_iter().flatten();
        fields.map(|(key, _)| key.clone()).collect()
    };
    let described = |one: &Value| {
        let at = one["$ref"].as_str().and_then(|path| path.strip_prefix('#'));
        let object = at.map_or(one, |at| schema.pointer(at).expect("a definition"));
        keys(&object["properties"])
    };
    let all = schema["anyOf"].as_array().expect("a list of objects");
    let is_whole = all.iter().any(|one| described(one) == keys(object));
    assert!(
        is_whole,
        "{command} prints other fields than its schema has: {object:#}"
    );
    let unknown = serde_json::json!({"colour": "red"});
    assert!(!validator.is_valid(&unknown), "{name} allows any object");
}

/// A path as an argument.
pub fn text(path: &Path) -> &str {
    path.to_str().expect("test paths are UTF-8")
}

/// Writes a training graph of a chain of `n` layers as a NetworkX node-link file: forward f0..,
/// then b0.. which read the gradient before and the activation of their layer.
pub fn chain(folder: &Path, n: usize) -> PathBuf {
    let mut nodes = Vec::new();
    let mut links = Vec::new();
    for i in 0..n {
        nodes.push(format!(r#"{{"id": "f{i}", "time": 10, "size": 100}}"#));
        if i > 0 {
            links.push((format!("f{}", i - 1), format!("f{i}")));
        }
    }
    for i in (0..n).rev() {
        nodes.push(format!(r#"{{"id": "b{i}", "time": 20, "size": 1}}"#));
        let before = if i + 1 < n {
            format!("b{}", i + 1)
        } else {
            format!("f{i}")
        };
        links.push((before, format!("b{i}")));
        if i > 0 {
            links.push((format!("f{}", i - 1), format!("b{i}")));
        }
    }
    let links: Vec<String> = links
        .iter()
        .map(|(from, to)| format!(r#"{{"source": "{from}", "target": "{to}"}}"#))
        .collect();
    let graph = format!(
        "{{\"directed\": true, \"nodes\": [{}], \"links\": [{}]}}",
        nodes.join(", "),
        links.join(", ")
    );
    let path = folder.join("chain.json");
    std::fs::write(&path, graph).expect("the temporary folder can be written");
    path
}

/// Writes a knapsack whose profits follow the weights. Its solve has a tree with restricted
/// programs, and a log of some lines.
pub fn knapsack(folder: &Path) -> PathBuf {
    let weight = |k: u32| 20 + k * k * 7 % 61;
    let sum = |of: &dyn Fn(u32) -> u32| -> String {
        (0..25).fold(String::new(), |mut out, k| {
            let _ = write!(out, " + {} x{k}", of(k));
            out
        })
    };
    let names: String = (0..25).map(|k| format!(" x{k}")).collect();
    let out = format!(
        "Maximize\n profit:{}\nSubject To\n w:{} <= 503\n n:{} <= 11\nBinary\n{names}\nEnd\n",
        sum(&|k| weight(k) + k % 5),
        sum(&weight),
        sum(&|_| 1)
    );
    let path = folder.join("knapsack.lp");
    std::fs::write(&path, out).unwrap();
    path
}

/// Writes a knapsack of three rows. Without cuts and restricted programs ([`TREE`]) its tree has
/// some hundred nodes.
pub fn three_rows(folder: &Path) -> PathBuf {
    let weight = |row: u32, k: u32| {
        let (square, linear) = [(7, 13), (11, 5), (3, 29)][row as usize];
        10 + (k * k * square + k * linear) % 89
    };
    let sum = |of: &dyn Fn(u32) -> u32| -> String {
        (0..20).map(|k| format!(" + {} x{k}", of(k))).collect()
    };
    let profit = |k| (0..3).map(|row| weight(row, k)).sum::<u32>() + k * k % 20;
    let mut out = format!("Maximize\n p:{}\nSubject To\n", sum(&profit));
    for row in 0..3 {
        let half = (0..20).map(|k| weight(row, k)).sum::<u32>() / 2;
        // Writing to a string cannot fail.
        let _ = writeln!(out, " w{row}:{} <= {half}", sum(&|k| weight(row, k)));
    }
    let names: String = (0..20).map(|k| format!(" x{k}")).collect();
    out += &format!("Binary\n{names}\nEnd\n");
    let path = folder.join("three_rows.lp");
    std::fs::write(&path, out).unwrap();
    path
}

/// Options of `mip` that leave only the tree of a search.
pub const TREE: [&str; 6] = [
    "--set",
    "cuts=false",
    "--set",
    "sub_mips=false",
    "--threads",
    "1",
];
