//! Ctrl-C and SIGTERM for runs that wait for input that never comes.
#![cfg(unix)]

use crate::common::{chain, command, knapsack, text};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Lines whose last word is an input that they wait for.
fn lines<'a>(model: &'a str, graph: &'a str) -> Vec<Vec<&'a str>> {
    vec![
        vec!["mip"],
        vec!["mip", model, "--start"],
        vec!["mip", model, "--params"],
        vec!["mip", model, "--resume"],
        vec!["lp"],
        vec!["solve", "--budget", "60%", "--out", "plan.json"],
        vec!["improve", graph, "--budget", "60%"],
        vec!["baselines"],
        vec!["order"],
        vec!["verify", graph],
    ]
}

/// Starts a line, sends it a signal while it waits, and checks its end.
fn ends(line: &[&str], folder: &Path, signal: &str) {
    let mut child = command(line)
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_millis(150));
    let before = child.try_wait().unwrap();
    assert!(before.is_none(), "{line:?} does not wait: {before:?}");
    let sent = Command::new("kill")
        .args([signal, &child.id().to_string()])
        .status();
    assert!(sent.unwrap().success());
    let begun = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if begun.elapsed() > Duration::from_secs(20) {
            let _ = child.kill();
            panic!("a hang: {line:?} after {signal}");
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    // Commands without work to save may end by the signal itself.
    let by_signal = matches!(status.signal(), Some(2 | 15));
    assert!(
        status.code() == Some(130) || by_signal,
        "{line:?}: {status}"
    );
}

#[test]
fn an_interrupt_ends_a_run_that_waits_for_its_input() {
    let folder = tempfile::tempdir().unwrap();
    let (model, graph) = (knapsack(folder.path()), chain(folder.path(), 6));
    let pipe = folder.path().join("pipe");
    let made = Command::new("mkfifo").arg(&pipe).status();
    assert!(made.unwrap().success());
    for mut line in lines(text(&model), text(&graph)) {
        line.push(text(&pipe));
        ends(&line, folder.path(), "-INT");
        ends(&line, folder.path(), "-TERM");
        // A state is read from regular files only.
        if !line.contains(&"--resume") {
            let waits = line.iter().position(|word| *word == text(&pipe));
            line[waits.unwrap()] = "-";
            ends(&line, folder.path(), "-TERM");
        }
    }
}
