//! Commands on a system with few threads left, or without any.
//!
//! Stacks of threads are so large that only a few fit the memory.
#![cfg(unix)]

use crate::common::{chain, knapsack, object, text};
use std::process::{Command, Output};

/// Bytes of a thread's stack.
const STACK: u64 = 1 << 30;

/// Runs the binary with memory for a number of stacks besides everything else.
fn run_with_room_for(stacks: u64, arguments: &[&str]) -> Output {
    let kib = ((stacks << 30) + (3 << 28)) >> 10;
    let line = format!("ulimit -v {kib}; exec \"$0\" \"$@\"");
    let output = Command::new("sh")
        .args(["-c", &line, env!("CARGO_BIN_EXE_remat-bb")])
        .args(arguments)
        .env("RUST_MIN_STACK", STACK.to_string())
        // Each thread would reserve a separate arena.
        .env("MALLOC_ARENA_MAX", "1")
        .output();
    output.expect("the binary starts")
}

const MODEL: &str = "maximize 5 x + 4 y + 3 z
st
 a: 2 x + 3 y + z <= 5
 b: 4 x + y + 2 z <= 11
 c: 3 x + 4 y + 2 z <= 8
bounds
 x <= 4
 y <= 4
 z <= 4
generals
 x y z
end
";

#[test]
fn work_goes_on_with_the_threads_that_there_are() {
    let folder = tempfile::tempdir().unwrap();
    let graph = chain(folder.path(), 12);
    let model = folder.path().join("m.lp");
    std::fs::write(&model, MODEL).unwrap();
    let (graph, model) = (text(&graph), text(&model));
    let tree = knapsack(folder.path());
    let tree = text(&tree);
    let commands = [
        vec!["solve", graph, "--budget", "600"],
        vec!["sweep", graph, "--budgets", "600"],
        vec!["baselines", graph, "--budget", "600", "--search", "0"],
        vec!["mip", model],
        vec!["mip", model, "--opportunistic"],
        vec!["mip", tree],
        vec!["mip", tree, "--opportunistic"],
    ];
    for command in commands {
        let of = |stacks| {
            let output = run_with_room_for(
                stacks,
                &[&command[..], &["--json", "--threads", "16"]].concat(),
            );
            let told = String::from_utf8(output.stderr).unwrap();
            assert_eq!(
                output.status.code(),
                Some(0),
                "{command:?}, {stacks}: {told}"
            );
            let mut found = object(&String::from_utf8(output.stdout).unwrap());
            // Times differ, and so does the work of an opportunistic search.
            if let Some(points) = found.get_mut("points") {
                points[0]["seconds"] = 0.into();
            }
            let fields = ["objective", "status", "points", "strategies", "bound"];
            fields.map(|name| found[name].clone())
        };
        assert_eq!(of(5), of(40), "{command:?}");
    }
}

#[test]
fn no_thread_at_all_is_an_error_in_words() {
    let folder = tempfile::tempdir().unwrap();
    let graph = chain(folder.path(), 12);
    let graph = text(&graph);
    for command in [
        ["solve", graph, "--budget", "600"],
        ["sweep", graph, "--budgets", "600"],
        ["baselines", graph, "--budget", "600"],
        ["max-batch", "zoo:vgg16", "--budget", "4GiB"],
    ] {
        let output = run_with_room_for(0, &[&command[..], &["--threads", "16"]].concat());
        let told = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{command:?}: {told}");
        assert!(told.contains("thread"), "{command:?}: {told}");
    }
}
