//! Runs of `remat-bench`, and of the `remat-bb` beside it.
// Every test file uses a part of this module.
#![allow(dead_code)]

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// `remat-bench` with arguments.
pub fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_remat-bench"));
    command.args(arguments);
    command
}

/// The program `remat-bb`, which a build of the whole workspace leaves beside `remat-bench`.
pub fn remat_bb() -> PathBuf {
    let beside = Path::new(env!("CARGO_BIN_EXE_remat-bench")).with_file_name("remat-bb");
    let remedy = "build the whole workspace: cargo build --workspace";
    assert!(
        beside.is_file(),
        "{} is not there: {remedy}",
        beside.display()
    );
    beside
}

/// Runs a command and expects an exit code.
pub fn ends(code: i32, mut command: Command) -> (String, String) {
    let output = command.output().expect("the program starts");
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("output is UTF-8");
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(
        output.status.code(),
        Some(code),
        "{command:?}\n{out}\n{err}"
    );
    (out, err)
}

/// Runs `remat-bench` and expects an exit code.
pub fn run_to(code: i32, arguments: &[&str]) -> (String, String) {
    ends(code, command(arguments))
}

/// The one JSON object that standard output must be.
pub fn object(out: &str) -> Value {
    let value: Value = serde_json::from_str(out).expect("standard output is one JSON value");
    assert!(value.is_object(), "{out}");
    value
}

/// A path as an argument.
pub fn text(path: &Path) -> &str {
    path.to_str().expect("test paths are UTF-8")
}
