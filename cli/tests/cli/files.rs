//! Inputs and outputs through the binary: standard streams, pipes, links, names, and outputs that
//! must not be lost.

use crate::common::{command, object, run_to, text};
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};

/// Runs the binary with `input` on standard input.
fn run_with(input: &[u8], arguments: &[&str]) -> Output {
    let mut child = command(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    // It may end before it has read all input.
    let _ = child
        .stdin
        .take()
        .expect("there is a pipe")
        .write_all(input);
    child.wait_with_output().expect("the binary ends")
}

fn packed(bytes: &[u8]) -> Vec<u8> {
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gz.write_all(bytes).unwrap();
    gz.finish().unwrap()
}

fn unpacked(path: &Path) -> String {
    let mut text = String::new();
    let bytes = std::fs::read(path).unwrap();
    let mut gz = flate2::read::GzDecoder::new(&bytes[..]);
    gz.read_to_string(&mut text).unwrap();
    text
}

/// An instance and a plan for it.
fn planned(folder: &Path) -> (PathBuf, PathBuf) {
    let (graph, plan) = (folder.join("graph.json"), folder.join("plan.json"));
    run_to(
        0,
        &["zoo", "export", "zoo:chain?n=6", "--out", text(&graph)],
    );
    run_to(
        0,
        &[
            "solve",
            text(&graph),
            "--budget",
            "80%",
            "-q",
            "--out",
            text(&plan),
        ],
    );
    (graph, plan)
}

const MODEL: &str = "max\n 2 a + 3 b\nst\n a + b <= 1\nbinary\n a b\nend\n";

#[test]
fn every_reader_takes_standard_input_packed_or_not() {
    let folder = tempfile::tempdir().unwrap();
    let (graph, plan) = planned(folder.path());
    let model = folder.path().join("m.mps");
    std::fs::write(
        &model,
        "NAME m\nROWS\n N c\n G r\nCOLUMNS\n x c 1 r 1\nRHS\n s r 2\nENDATA\n",
    )
    .unwrap();
    let [proof, vipr, start, settings] =
        ["p.proof", "m.vipr", "s.sol", "s.toml"].map(|n| folder.path().join(n));
    let solve = [
        "solve",
        text(&graph),
        "--budget",
        "80%",
        "-q",
        "--formulation",
        "checkmate",
    ];
    run_to(0, &[&solve[..], &["--certificate", text(&proof)]].concat());
    run_to(
        0,
        &["mip", text(&model), "-q", "--certificate", text(&vipr)],
    );
    std::fs::write(&start, "x 2\n").unwrap();
    std::fs::write(&settings, "seed = 7\n").unwrap();
    let cases: [(&Path, Vec<&str>); 10] = [
        (&graph, vec!["show", "-"]),
        (&graph, vec!["verify", "-", text(&plan)]),
        (&plan, vec!["verify", text(&graph), "-"]),
        (&plan, vec!["explain", text(&graph), "-"]),
        (&model, vec!["lp", "-", "-q"]),
        (&model, vec!["mip", "-", "-q"]),
        (&start, vec!["mip", text(&model), "-q", "--start", "-"]),
        (&settings, vec!["mip", text(&model), "-q", "--params", "-"]),
        (&vipr, vec!["check-certificate", "-", text(&model)]),
        (&proof, vec!["check-certificate", "-", text(&graph)]),
    ];
    for (file, arguments) in cases {
        let bytes = std::fs::read(file).unwrap();
        let mut ways = vec![bytes.clone(), packed(&bytes)];
        ways.truncate(if file == settings { 1 } else { 2 });
        for input in ways {
            let output = run_with(&input, &arguments);
            let told = String::from_utf8_lossy(&output.stderr).into_owned();
            assert_eq!(output.status.code(), Some(0), "{arguments:?}\n{told}");
        }
        let output = run_with(b"\x01 nonsense\n", &arguments);
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}\n{told}");
        assert!(
            told.contains("standard input") || file == settings,
            "{arguments:?}\n{told}"
        );
    }
    let output = run_with(b"", &["verify", "-", "-"]);
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2));
    assert!(told.contains("standard input"), "{told}");
    // A model's format is detected from its content.
    let output = run_with(MODEL.as_bytes(), &["mip", "-", "-q", "--json"]);
    let result = object(&String::from_utf8(output.stdout).unwrap());
    assert_eq!(result["objective"], 3.0);
}

#[cfg(unix)]
#[test]
fn pipes_are_read_once() {
    let folder = tempfile::tempdir().unwrap();
    let (graph, plan) = planned(folder.path());
    let [first, second] = ["first", "second"].map(|n| folder.path().join(n));
    for pipe in [&first, &second] {
        let made = std::process::Command::new("mkfifo").arg(pipe).status();
        if !made.is_ok_and(|s| s.success()) {
            println!("skipped: there is no mkfifo");
            return;
        }
    }
    let feed = |from: &Path, to: &Path| {
        let (bytes, to) = (std::fs::read(from).unwrap(), to.to_path_buf());
        std::thread::spawn(move || std::fs::write(to, bytes).unwrap())
    };
    let fed = [feed(&graph, &first), feed(&plan, &second)];
    let (out, _) = run_to(0, &["verify", text(&first), text(&second)]);
    assert!(out.contains("verified"), "{out}");
    fed.into_iter().for_each(|thread| thread.join().unwrap());
}

#[test]
fn a_file_on_standard_output_leaves_the_summary_to_standard_error() {
    let folder = tempfile::tempdir().unwrap();
    let (graph, plan) = planned(folder.path());
    let solve = ["solve", text(&graph), "--budget", "80%", "-q", "--out", "-"];
    let (out, err) = run_to(0, &solve);
    assert_eq!(out, std::fs::read_to_string(&plan).unwrap());
    assert!(
        err.contains("plan      standard output") && err.contains("optimal"),
        "{err}"
    );
    let model = folder.path().join("m.lp");
    std::fs::write(&model, MODEL).unwrap();
    let (out, _) = run_to(0, &["mip", text(&model), "-q", "--solution", "-"]);
    assert!(
        out.starts_with("# Model") && out.ends_with("a 0.0\nb 1.0\n"),
        "{out}"
    );
    for more in [&["--json"][..], &["--schedule-out", "-"]] {
        let (out, err) = run_to(2, &[&solve[..], more].concat());
        assert!(err.contains(more[0]), "{err}");
        // The only object of --json is the error's.
        let json = more[0] == "--json";
        assert_eq!(json, !out.is_empty(), "{out}");
        assert!(!json || object(&out)["status"] == "error", "{out}");
    }
    for more in [["--checkpoint", "-"], ["--certificate", "-"]] {
        let (_, err) = run_to(2, &[&["mip", text(&model)][..], &more].concat());
        assert!(err.contains(more[0]), "{err}");
    }
}

#[test]
fn outputs_are_packed_by_name_follow_links_and_keep_permissions() {
    let folder = tempfile::tempdir().unwrap();
    let (graph, plan) = planned(folder.path());
    let at = |name: &str| folder.path().join(name);
    let solve = |more: &[&str]| {
        let line = ["solve", text(&graph), "--budget", "80%", "-q"];
        run_to(0, &[&line[..], more].concat())
    };
    let long = at(&format!("{}.json", "x".repeat(245)));
    let [packed_plan, packed_schedule] = ["p.json.gz", "s.json.gz"].map(at);
    solve(&[
        "--out",
        text(&packed_plan),
        "--schedule-out",
        text(&packed_schedule),
    ]);
    let expected = std::fs::read_to_string(&plan).unwrap();
    assert_eq!(unpacked(&packed_plan), expected);
    for file in [&packed_plan, &packed_schedule] {
        run_to(0, &["verify", text(&graph), text(file)]);
    }
    solve(&["--out", text(&long)]);
    assert_eq!(std::fs::read_to_string(&long).unwrap(), expected);
    #[cfg(unix)]
    {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let [secret, link] = ["secret.json", "link.json"].map(at);
        std::fs::write(&secret, "old").unwrap();
        std::fs::set_permissions(&secret, std::fs::Permissions::from_mode(0o600)).unwrap();
        symlink("secret.json", &link).unwrap();
        solve(&["--out", text(&link)]);
        assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(std::fs::read_to_string(&secret).unwrap(), expected);
        let mode = std::fs::metadata(&secret).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
    let left = std::fs::read_dir(folder.path()).unwrap();
    let left = left.filter(|e| {
        e.as_ref()
            .unwrap()
            .file_name()
            .to_string_lossy()
            .contains("part")
    });
    assert_eq!(left.count(), 0);
}

#[test]
fn inputs_and_other_outputs_are_not_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    let (graph, _) = planned(folder.path());
    let before = std::fs::read(&graph).unwrap();
    let [one, hard, model] = ["one.json", "hard.json", "m.lp"].map(|n| folder.path().join(n));
    std::fs::hard_link(&graph, &hard).unwrap();
    std::fs::write(&model, MODEL).unwrap();
    let other = folder.path().join("./one.json");
    let solve = ["solve", text(&graph), "--budget", "80%", "-q", "--out"];
    for (out, more, part) in [
        (&graph, vec![], "it is an input"),
        (&hard, vec![], "it is an input"),
        (
            &one,
            vec!["--schedule-out", text(&other)],
            "--out goes to the same file",
        ),
    ] {
        let (_, err) = run_to(2, &[&solve[..], &[text(out)], &more].concat());
        assert!(err.contains(part), "{err}");
    }
    let (_, err) = run_to(2, &["lp", text(&model), "--solution", text(&model)]);
    assert!(err.contains("it is an input"), "{err}");
    let both = ["--solution", text(&one), "--certificate", text(&one)];
    let (_, err) = run_to(2, &[&["mip", text(&model)][..], &both].concat());
    assert!(err.contains("--solution goes to the same file"), "{err}");
    let [best, second] = ["m.sol", "m.2.sol"].map(|n| folder.path().join(n));
    std::fs::write(&second, "a 1\n").unwrap();
    let mip = ["mip", text(&model), "-q", "--solution", text(&best)];
    let pool = ["--pool", "2", "--start", text(&second)];
    let (_, err) = run_to(2, &[&mip[..], &pool].concat());
    assert!(err.contains("m.2.sol: it is an input"), "{err}");
    // A pool with fewer solutions than it may hold.
    std::fs::write(&model, MODEL.replace("<= 1", ">= 2")).unwrap();
    let (_, err) = run_to(0, &[&mip[..], &pool[..2]].concat());
    assert!(err.contains("m.2.sol is of an earlier run"), "{err}");
    std::fs::write(&model, MODEL).unwrap();
    assert_eq!(std::fs::read(&graph).unwrap(), before);
    assert_eq!(std::fs::read_to_string(&model).unwrap(), MODEL);
    assert!(!one.exists());
}

#[test]
fn what_cannot_be_written_is_told_before_the_search_or_put_elsewhere() {
    let folder = tempfile::tempdir().unwrap();
    let (graph, plan) = planned(folder.path());
    let solve = ["solve", text(&graph), "--budget", "80%", "-q", "--out"];
    let absent = folder.path().join("absent/plan.json");
    let long = folder.path().join("x".repeat(300));
    for bad in [folder.path(), &absent, &long, &plan.join("plan.json")] {
        let (out, err) = run_to(2, &[&solve[..], &[text(bad)]].concat());
        assert!(out.is_empty() && err.contains("cannot write"), "{err}");
    }
    if !Path::new("/dev/full").exists() {
        println!("skipped: there is no /dev/full");
        return;
    }
    let temporary = folder.path().join("temporary");
    std::fs::create_dir(&temporary).unwrap();
    let full = [&solve[..], &["/dev/full", "--schedule-out", "/dev/full"]].concat();
    let run = |temporary: &Path| {
        let output = command(&full).env("TMPDIR", temporary).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (text(output.stdout), text(output.stderr))
    };
    let (out, err) = run(&temporary);
    assert!(out.contains("optimal"), "{out}");
    assert_eq!(err.matches("instead").count(), 2, "{err}");
    for own in std::fs::read_dir(&temporary).unwrap() {
        let found = own.unwrap().path().join("full");
        assert!(err.contains(text(&found)), "{err}");
        run_to(0, &["verify", text(&graph), text(&found)]);
    }
    let (out, err) = run(&folder.path().join("absent"));
    assert!(err.contains("standard output instead"), "{err}");
    assert!(
        out.contains(&std::fs::read_to_string(&plan).unwrap()),
        "{out}"
    );
}

#[test]
fn a_file_of_an_earlier_run_is_told_where_nothing_was_found() {
    let folder = tempfile::tempdir().unwrap();
    let (graph, plan) = planned(folder.path());
    let before = std::fs::read(&plan).unwrap();
    let arguments = [
        "solve",
        text(&graph),
        "--budget",
        "1",
        "-q",
        "--out",
        text(&plan),
    ];
    let (_, err) = run_to(3, &arguments);
    assert!(
        err.contains("plan.json is of an earlier run and was left as it is"),
        "{err}"
    );
    assert_eq!(std::fs::read(&plan).unwrap(), before);
    let (model, solution) = (folder.path().join("m.lp"), folder.path().join("m.sol"));
    std::fs::write(&model, MODEL.replace("<= 1", ">= 3")).unwrap();
    std::fs::write(&solution, "a 1\n").unwrap();
    for solver in ["lp", "mip"] {
        let (_, err) = run_to(
            3,
            &[solver, text(&model), "-q", "--solution", text(&solution)],
        );
        assert!(err.contains("m.sol is of an earlier run"), "{err}");
    }
}

#[cfg(unix)]
#[test]
fn a_program_without_memory_ends_in_words() {
    let folder = tempfile::tempdir().unwrap();
    let model = folder.path().join("large.lp");
    // A gigabyte that takes no space on the disk.
    std::fs::File::create(&model)
        .unwrap()
        .set_len(1 << 30)
        .unwrap();
    let line = "ulimit -v 400000; exec \"$0\" lp \"$1\"";
    let output = std::process::Command::new("sh")
        .args(["-c", line, env!("CARGO_BIN_EXE_remat-bb")])
        .arg(&model)
        .output()
        .unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(5), "{told}");
    assert_eq!(told.lines().count(), 1, "{told}");
    assert!(told.starts_with("out of memory"), "{told}");
}

#[cfg(unix)]
#[test]
fn a_search_without_memory_leaves_its_best_plan() {
    let folder = tempfile::tempdir().unwrap();
    let plan = folder.path().join("plan.json");
    let instance = "zoo:densenet121?batch=64";
    // At one of these limits the first plan is found before the relaxation runs out of memory. The
    // right one differs between machines.
    let rescued = [170, 190, 210, 240, 280, 330].into_iter().any(|megabytes| {
        let line = format!(
            "ulimit -v {megabytes}000; exec \"$0\" solve \"$1\" --budget 60% -t 10s --threads 2 -q --out \"$2\""
        );
        let output = std::process::Command::new("sh")
            .args(["-c", &line, env!("CARGO_BIN_EXE_remat-bb"), instance])
            .arg(&plan)
            .output()
            .unwrap();
        let told = String::from_utf8(output.stderr).unwrap();
        output.status.code() == Some(5) && told.contains("the best plan so far is in")
    });
    assert!(rescued);
    let (out, _) = run_to(0, &["verify", instance, text(&plan)]);
    assert!(out.contains("verified"), "{out}");
}
