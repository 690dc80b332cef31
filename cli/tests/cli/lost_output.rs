//! Standard output and error that cannot be written: closed pipes and full disks do not end a run.

use crate::common::{chain, command, knapsack, object, text};
use std::fs::OpenOptions;
use std::io::Read as _;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Waits for the end; a hang fails the test.
fn end(mut child: Child, what: &str) -> ExitStatus {
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(60) {
        if let Some(status) = child.try_wait().unwrap() {
            return status;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    let _ = child.kill();
    panic!("a hang: {what}");
}

/// Commands that write to standard error while they work, with a time limit if they have one: the
/// thread of the clock has to end as well.
fn commands(folder: &Path) -> Vec<Command> {
    let (model, graph) = (knapsack(folder), chain(folder, 6));
    let lines = [
        vec!["mip", text(&model), "--json"],
        vec!["mip", text(&model), "--json", "--time-limit", "100s"],
        vec!["mip", text(&model), "--json", "--threads", "2"],
        vec![
            "mip",
            text(&model),
            "--json",
            "--threads",
            "2",
            "--opportunistic",
        ],
        vec!["lp", text(&model), "--json", "--time-limit", "100s"],
        vec![
            "solve",
            text(&graph),
            "--budget",
            "60%",
            "--json",
            "--time-limit",
            "100s",
        ],
    ];
    lines.iter().map(|line| command(line)).collect()
}

#[test]
fn a_reader_that_went_away_ends_no_work() {
    let folder = tempfile::tempdir().unwrap();
    for mut command in commands(folder.path()) {
        let what = format!("{command:?}");
        // As in `2>&1 | head -1`.
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        command.stderr(writer.try_clone().unwrap()).stdout(writer);
        let status = end(command.spawn().unwrap(), &what);
        assert_eq!(status.code(), Some(0), "{what}");
    }
}

#[test]
fn a_log_on_a_full_disk_ends_no_work() {
    let Ok(full) = OpenOptions::new().write(true).open("/dev/full") else {
        println!("skipped: this system has no /dev/full");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    for mut command in commands(folder.path()) {
        let what = format!("{command:?}");
        command
            .stderr(full.try_clone().unwrap())
            .stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut out = child.stdout.take().unwrap();
        let status = end(child, &what);
        assert_eq!(status.code(), Some(0), "{what}");
        let mut result = String::new();
        out.read_to_string(&mut result).unwrap();
        assert!(
            object(&result)["objective"].is_number() || result.contains("cost"),
            "{result}"
        );
    }
}

#[test]
fn a_result_on_a_full_disk_is_a_failure() {
    let Ok(full) = OpenOptions::new().write(true).open("/dev/full") else {
        println!("skipped: this system has no /dev/full");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    for mut command in commands(folder.path()) {
        let what = format!("{command:?}");
        command.stdout(full.try_clone().unwrap());
        let output = command.stderr(Stdio::piped()).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{what}");
        let err = String::from_utf8(output.stderr).unwrap();
        assert!(
            err.contains("standard output") && !err.contains("panicked"),
            "{err}"
        );
    }
}
