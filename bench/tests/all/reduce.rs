//! `remat-bench reduce` through the binary: models, instances, lines and settings, reduced by
//! commands of the shell.

use crate::common::{command, ends, object, remat_bb, run_to, text};
use remat_lp::{RowId, lp_format, mps};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// A program with 12 columns and 20 rows; its row `need` has the columns `a` and `b`.
fn program(folder: &Path) -> PathBuf {
    let mut out = String::from("Maximize\n obj: 3.25 a + 2.5 b + 7 x0\nSubject To\n");
    for i in 0..19 {
        let (j, k) = (i % 10, (3 * i + 1) % 10);
        out += &format!(" r{i}: 1.75 x{j} + {}.5 a - 2 x{k} <= {}\n", i + 1, 40 + i);
    }
    out = out.replace("1.75 x3 + 4.5 a - 2 x0", "1.75 x3 + 4.5 a - 2 x1");
    out += " need: 12.375 a - 4.125 b >= -17.25\nBounds\n a <= 8\n 1 <= b <= 6\n x0 <= 1000000\n";
    out += "General\n a x0 x1 x2\nEnd\n";
    let path = folder.join("fails.lp");
    std::fs::write(&path, out).unwrap();
    path
}

/// A training graph of eight layers with tensors of 100 bytes, and their gradients of one.
fn chain(folder: &Path) -> PathBuf {
    let node = |k: usize| match k {
        0..8 => format!(r#"{{"id": {k}, "time": 10, "size": 100}}"#),
        _ => format!(r#"{{"id": {k}, "time": 20, "size": 1}}"#),
    };
    let link = |from: usize, to: usize| format!(r#"{{"source": {from}, "target": {to}}}"#);
    let nodes: Vec<String> = (0..16).map(node).collect();
    let steps = (1..16).map(|k| link(k - 1, k));
    let kept = (0..7).map(|k| link(k, 14 - k));
    let links: Vec<String> = steps.chain(kept).collect();
    let (nodes, links) = (nodes.join(", "), links.join(", "));
    let graph = format!(r#"{{"directed": true, "nodes": [{nodes}], "links": [{links}]}}"#);
    let path = folder.join("chain.json");
    std::fs::write(&path, graph).unwrap();
    path
}

/// Arguments of a reduction by a line for the shell.
fn by_shell<'a>(file: &'a Path, out: &'a Path, more: &[&'a str], line: &'a str) -> Vec<&'a str> {
    let first = ["reduce", text(file), "--out", text(out), "--quiet"];
    [&first[..], more, &["--", "sh", "-c", line]].concat()
}

#[test]
fn a_model_shrinks_to_what_the_command_needs() {
    let folder = tempfile::tempdir().unwrap();
    let file = program(folder.path());
    let before = std::fs::read(&file).unwrap();
    let out = folder.path().join("small.lp");
    // The row `need` with both of its columns.
    let line = "! grep -q 'need:.* a .* b' {}";
    let (json, _) = run_to(0, &by_shell(&file, &out, &["--json"], line));
    let found = object(&json);
    assert_eq!(found["status"], "minimal", "{json}");
    assert_eq!(found["confirmed"], true);
    assert_eq!(found["kind"], "model");
    assert_eq!(found["keeps"]["exits"], serde_json::json!(["exit code 1"]));
    assert_eq!(found["before"]["rows"], 20);
    let model = lp_format::read(&out).unwrap();
    assert_eq!((model.num_rows(), model.num_cols()), (1, 2));
    assert_eq!(model.row_name(RowId(0)), "need");
    let row: Vec<f64> = model.row(RowId(0)).map(|e| e.1).collect();
    assert_eq!(row, [1.0, -1.0]);
    assert!(model.costs().iter().all(|&c| c == 0.0));
    assert!(model.col_upper().iter().all(|u| *u == f64::INFINITY));
    assert_eq!(model.row_lower(), [0.0]);
    assert_eq!(found["after"]["integers"], 0);
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/inside/reduce.md");
    let page = std::fs::read_to_string(page).unwrap();
    for field in found.as_object().unwrap().keys() {
        assert!(page.contains(&format!("`{field}`")), "{field}");
    }
    let steps = found["steps"].as_array().unwrap();
    let tries: u64 = steps.iter().map(|s| s["tries"].as_u64().unwrap()).sum();
    assert_eq!(found["tries"], tries);
    assert_eq!(std::fs::read(&file).unwrap(), before);
    // The same in another format, and side by side.
    let other = folder.path().join("small.mps.gz");
    let more = ["--keep-exit", "0", "--json", "--jobs", "3"];
    let line = "(gzip -dc {} 2>/dev/null || cat {}) | grep -q need";
    let (json, _) = run_to(0, &by_shell(&file, &other, &more, line));
    let found = object(&json);
    assert_eq!(found["after"]["rows"], 1, "{json}");
    let model = mps::read(&other).unwrap();
    assert_eq!((model.num_rows(), model.num_cols()), (1, 0));
}

#[test]
fn a_wrong_solver_is_caught_by_its_output() {
    let folder = tempfile::tempdir().unwrap();
    let file = program(folder.path());
    let out = folder.path().join("small.lp");
    let binary = remat_bb();
    let first = [
        "reduce",
        text(&file),
        "--out",
        text(&out),
        "--quiet",
        "--json",
    ];
    let keep = [
        "--keep-text",
        "\"status\":\"optimal\"",
        "--without-text",
        "\"objective\":0.0",
    ];
    let solve = ["--", text(&binary), "mip", "{}", "--quiet", "--json"];
    let (json, _) = run_to(0, &[&first[..], &keep, &solve].concat());
    assert_eq!(object(&json)["status"], "minimal", "{json}");
    let model = lp_format::read(&out).unwrap();
    // The failure needs only a bound other than 0 and a cost, or a constant.
    assert!(model.num_rows() <= 1 && model.num_cols() <= 1, "{model:?}");
    let mut again = Command::new(&binary);
    again.args(["mip", text(&out), "--quiet", "--json"]);
    let (solved, _) = ends(0, again);
    let solved = object(&solved);
    assert_eq!(solved["status"], "optimal");
    assert_ne!(solved["objective"], 0.0);
}

#[test]
fn settings_go_back_to_their_defaults() {
    let folder = tempfile::tempdir().unwrap();
    let file = program(folder.path());
    let out = folder.path().join("small.lp");
    let params = folder.path().join("all.toml");
    let left = folder.path().join("left.toml");
    let all = "cuts = false\nseed = 5\n[limits]\nnodes = 9\nseconds = -1.0\n";
    std::fs::write(&params, all).unwrap();
    let more = [
        "--params",
        text(&params),
        "--params-out",
        text(&left),
        "--keep-text",
        "`limits.seconds` is -1",
        "--steps",
        "settings",
        "--json",
    ];
    let first = ["reduce", text(&file), "--out", text(&out), "--quiet"];
    let binary = remat_bb();
    let solve = [
        "--",
        text(&binary),
        "mip",
        "{}",
        "--params",
        "{params}",
        "--set",
        "presolve=false",
    ];
    let (json, _) = run_to(0, &[&first[..], &more, &solve].concat());
    assert_eq!(
        std::fs::read_to_string(&left).unwrap(),
        "limits.seconds = -1.0\n",
        "{json}"
    );
    let found = object(&json);
    assert_eq!(found["before"]["settings"], 4);
    assert_eq!(found["after"]["settings"], 1);
    assert_eq!(found["after"]["rows"], 20);
    assert_eq!(std::fs::read_to_string(&params).unwrap(), all);
    // Other solvers have a setting a line.
    let params = folder.path().join("scip.set");
    std::fs::write(&params, "# SCIP\nlimits/time = 3\nlp/threads = 1\n").unwrap();
    let left = folder.path().join("left.set");
    let more = ["--params", text(&params), "--params-out", text(&left)];
    let line = "! grep -q threads {params} {}";
    run_to(2, &by_shell(&file, &out, &more[..2], line));
    let line = "grep -q threads {params}; test $? -eq 1";
    run_to(0, &by_shell(&file, &out, &more, line));
    assert_eq!(std::fs::read_to_string(&left).unwrap(), "lp/threads = 1\n");
    run_to(2, &by_shell(&file, &out, &more, "exit 3"));
    run_to(2, &by_shell(&file, &out, &[], "echo {params}; exit 3"));
}

#[test]
fn instances_and_lines_shrink_too() {
    let folder = tempfile::tempdir().unwrap();
    let graph = chain(folder.path());
    let out = folder.path().join("small.json");
    let binary = remat_bb();
    let line = format!(
        "! {} solve {{}} --budget 50 --quiet --json | grep -q '\"infeasible\"'",
        binary.display()
    );
    let (json, _) = run_to(0, &by_shell(&graph, &out, &["--json"], &line));
    let found = object(&json);
    assert_eq!(found["kind"], "instance");
    assert_eq!(found["before"]["nodes"], 16);
    // One tensor of more than 50 bytes.
    assert_eq!(found["after"]["nodes"], 1, "{json}");
    let small = remat_instances::read(&out).unwrap();
    assert_eq!(small.data().nodes[0].output_bytes, 100);
    assert_eq!(small.base_cost(), 0);
    let lines = folder.path().join("long.txt");
    let many: String = (0..200).map(|k| format!("line {k}\n")).collect();
    std::fs::write(&lines, many).unwrap();
    let out = folder.path().join("short.txt");
    let line = "grep -q 'line 17$' {} && grep -q 'line 170$' {} && exit 9; exit 0";
    let (json, _) = run_to(
        0,
        &by_shell(&lines, &out, &["--as", "lines", "--json"], line),
    );
    assert_eq!(
        std::fs::read_to_string(&out).unwrap(),
        "line 17\nline 170\n"
    );
    let found = object(&json);
    assert!(found["tries"].as_u64().unwrap() < 60, "{json}");
}

#[test]
fn what_does_not_fail_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = program(folder.path());
    let out = folder.path().join("small.lp");
    let refused = |more: &[&str], line: &str, says: &str| {
        let (_, err) = run_to(2, &by_shell(&file, &out, more, line));
        assert!(err.contains(says), "{line}: {err}");
        assert!(!out.exists());
    };
    refused(&[], "exit 0", "the command ends with exit code 0");
    refused(&[], "no-such-program-here", "exit code 127");
    refused(&["--keep-exit", "4"], "exit 3", "it ends with exit code 3");
    refused(
        &["--keep-text", "wrong"],
        "echo right; exit 3",
        "its output has no \"wrong\"",
    );
    refused(
        &["--without-text", "right"],
        "echo right; exit 3",
        "its output has \"right\"",
    );
    refused(
        &["--try-limit", "100ms", "--keep-timeout"],
        "exit 3",
        "exit code 3",
    );
    refused(&["--keep-timeout"], "exit 3", "--try-limit");
    refused(
        &["--steps", "rows,colums"],
        "exit 3",
        "there is no such step",
    );
    // The failure depends on how the file is written.
    refused(
        &[],
        "grep -q '1.75 x3 + 4.5 a' {} && exit 0; test -s {} && ! grep -q '17.25$' {}",
        "",
    );
    let (_, err) = run_to(
        2,
        &["reduce", text(&file), "--out", text(&file), "--", "false"],
    );
    assert!(err.contains("it is an input"), "{err}");
    let (_, err) = run_to(2, &["reduce", text(&file), "--out", "-", "--", "false"]);
    assert!(err.contains("standard output"), "{err}");
    let (_, err) = run_to(
        2,
        &[
            "reduce",
            text(&file),
            "--out",
            text(&out),
            "--",
            "./nothing",
        ],
    );
    assert!(err.contains("cannot run `./nothing`"), "{err}");
    let (_, err) = run_to(2, &["reduce", text(&file), "--out", text(&out)]);
    assert!(err.contains("COMMAND"), "{err}");
    // A `--json` after `--` belongs to the command.
    let (json, _) = run_to(
        2,
        &[
            "reduce",
            text(&file),
            "--out",
            text(&out),
            "--",
            "true",
            "--json",
        ],
    );
    assert_eq!(json, "");
}

#[test]
fn tries_that_hang_are_ended_and_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("slow.lp");
    let rows: String = (0..5).map(|i| format!(" r{i}: x + {i} y <= 9\n")).collect();
    std::fs::write(&file, format!("Minimize\n obj: x\nSubject To\n{rows}End\n")).unwrap();
    let out = folder.path().join("small.lp");
    // If the row `r3` is there, it hangs, in a process that it starts.
    let line = "if grep -q r3: {}; then sleep 100 & wait; fi";
    let limit = ["--try-limit", "700ms", "--steps", "rows", "--jobs", "2"];
    let more = [&limit[..], &["--keep-timeout", "--json"]].concat();
    let (json, _) = run_to(0, &by_shell(&file, &out, &more, line));
    let found = object(&json);
    assert_eq!(found["after"]["rows"], 1, "{json}");
    assert_eq!(found["keeps"]["timeout"], true);
    // Without the option, a run that hangs does not fail: r1 is needed, and without r3 the run
    // hangs.
    let line = "grep -q r3: {} || sleep 100; ! grep -q r1: {}";
    run_to(2, &by_shell(&file, &out, &limit, "sleep 100"));
    let wanted = [&limit[..], &["--keep-exit", "1"]].concat();
    run_to(0, &by_shell(&file, &out, &wanted, line));
    let left = std::fs::read_to_string(&out).unwrap();
    assert!(left.contains("r3:") && left.contains("r1:"), "{left}");
}

#[test]
fn limits_and_interrupts_leave_the_smallest_so_far() {
    let folder = tempfile::tempdir().unwrap();
    let file = program(folder.path());
    let out = folder.path().join("small.lp");
    let line = "grep -q need: {}";
    let more = ["--keep-exit", "0", "--tries", "9", "--json"];
    let (json, _) = run_to(0, &by_shell(&file, &out, &more, line));
    let found = object(&json);
    assert_eq!(
        (&found["status"], &found["tries"]),
        (&"limit".into(), &9.into())
    );
    let model = lp_format::read(&out).unwrap();
    assert_eq!(found["after"]["rows"], model.num_rows());
    assert!(model.num_rows() < 20 || model.num_cols() < 12, "{json}");
    let more = ["--keep-exit", "0", "--time-limit", "1s", "--json"];
    let slow = "sleep 0.2; grep -q need: {}";
    let (json, _) = run_to(0, &by_shell(&file, &out, &more, slow));
    assert_eq!(object(&json)["status"], "limit", "{json}");
    assert!(lp_format::read(&out).is_ok());
    // Interrupted once the first try is under way.
    let started = folder.path().join("started");
    let slow = format!("touch {}; sleep 0.2; grep -q need: {{}}", started.display());
    let more = ["--keep-exit", "0", "--json"];
    let child = command(&by_shell(&file, &out, &more, &slow))
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    std::fs::remove_file(&out).unwrap();
    while !out.exists() {
        std::thread::sleep(Duration::from_millis(20));
    }
    let pid = child.id().to_string();
    let sent = Command::new("kill").args(["-INT", &pid]).status();
    assert!(sent.unwrap().success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    let found = object(std::str::from_utf8(&output.stdout).unwrap());
    assert_eq!(found["status"], "interrupted");
    assert_eq!(found["confirmed"], serde_json::Value::Null);
    let text = std::fs::read_to_string(&out).unwrap();
    assert!(text.contains("need:"), "{text}");
}

/// A run that waits for input that never comes.
#[test]
fn a_signal_ends_what_waits_for_its_input() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("small.lp");
    for signal in ["-INT", "-TERM"] {
        let waiting = ["reduce", "-", "--out", text(&out), "--", "false"];
        let mut child = command(&waiting)
            .stdin(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(300));
        assert!(child.try_wait().unwrap().is_none(), "it does not wait");
        // Waiting for the end would close it.
        let input = child.stdin.take();
        let pid = child.id().to_string();
        let sent = Command::new("kill").args([signal, &pid]).status();
        assert!(sent.unwrap().success());
        assert_eq!(child.wait().unwrap().code(), Some(130), "{signal}");
        drop(input);
    }
}
