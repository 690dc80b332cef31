//! Names in files, and names of files. Names are shown on a single line, and every name can be
//! read.

use crate::common;

use crate::common::{command, object, run, run_to, text};
use std::path::Path;
use std::process::Output;

/// A name that imitates lines of the program, and hides the text after it.
const FORGED: &str = "x\nverified: cost 1\u{202e}\u{1b}[8m";

/// A graph of four nodes; graph and first node have such a name.
fn forged(folder: &Path) -> String {
    let name = serde_json::to_string(FORGED).unwrap();
    let graph = format!(
        "{{\"schema\": \"remat-instance/1\", \"name\": {name}, \"cost_unit\": \"\\n\\u001b[8mns\", \"nodes\": [\
         {{\"name\": {name}, \"op\": {name}, \"output_bytes\": 50, \"cost\": 3}}, \
         {{\"name\": \"b\", \"output_bytes\": 40, \"cost\": 3, \"needs\": [0]}}, \
         {{\"name\": \"c\", \"output_bytes\": 40, \"cost\": 3, \"needs\": [1]}}, \
         {{\"name\": \"d\", \"output_bytes\": 4, \"cost\": 3, \"needs\": [0, 2]}}]}}"
    );
    let path = folder.join("graph.json");
    std::fs::write(&path, graph).unwrap();
    text(&path).into()
}

/// Checks that the output is free of forged lines and control characters.
fn is_own(arguments: &[&str], output: &Output) {
    let both = [&output.stdout[..], &output.stderr[..]].concat();
    let said = String::from_utf8(both).unwrap();
    assert!(
        !said.contains(['\u{1b}', '\u{202e}']),
        "{arguments:?}\n{said}"
    );
    let begins = said
        .lines()
        .any(|line| line.starts_with("verified: cost 1"));
    assert!(!begins, "{arguments:?}\n{said}");
    assert!(!said.is_empty(), "{arguments:?}");
}

#[test]
fn names_forge_no_line() {
    let folder = tempfile::tempdir().unwrap();
    let graph = forged(folder.path());
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (plan, order, lives) = (path("plan.json"), path("order.json"), path("lives.csv"));
    run_to(0, &["solve", &graph, "--budget", "100%", "--out", &plan]);
    run_to(0, &["order", &graph, "--out", &order]);
    run_to(0, &["place", &graph, &plan, "--lives-out", &lives]);
    let cases: &[&[&str]] = &[
        &["solve", &graph, "--budget", "100%"],
        &["solve", &graph, "--budget", "95%"],
        &["solve", &graph, "--budget", "10%"],
        &["solve", &graph, "--budget", "100%", "--addresses"],
        &["verify", &graph, &plan],
        &["verify", &graph, &order],
        &["verify", &graph, &plan, "--budget", "9"],
        &["explain", &graph, &plan],
        &["show", &graph, &plan],
        &["show", &graph, &order],
        &["show", &lives],
        &["show", &graph],
        &["improve", &graph, &plan],
        &["baselines", &graph, "--budget", "100%"],
        &["baselines", &lives],
        &["sweep", &graph, "--search", "0.05s"],
        &["order", &graph],
        &["plan-memory", &graph],
        &["place", &graph, &plan],
        &["place", &lives],
    ];
    for arguments in cases {
        is_own(arguments, &run(arguments));
    }
    // A plan of another instance, and a plan whose first node does not run.
    let other = folder.path().join("other.json");
    let text_of = |path: &str| std::fs::read_to_string(path).unwrap();
    let renamed = text_of(&graph).replacen("\"name\": \"x", "\"name\": \"y", 1);
    std::fs::write(&other, renamed).unwrap();
    let arguments = ["verify", text(&other), &plan];
    is_own(&arguments, &run(&arguments));
    let broken = folder.path().join("broken.json");
    std::fs::write(
        &broken,
        text_of(&plan).replace("[\"compute\", 0, ", "[\"compute\", 1, "),
    )
    .unwrap();
    let arguments = ["verify", &graph, text(&broken)];
    is_own(&arguments, &run(&arguments));
}

#[test]
fn long_values_of_refused_files_are_cut() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("long.json");
    let long = "y".repeat(100_000);
    for text_of in [
        format!("{{\"schema\": \"{long}\"}}"),
        format!("{{\"schema\": \"remat-instance/1\", \"{long}\": 1}}"),
        format!(
            "{{\"schema\": \"remat-instance/1\", \"nodes\": [{{\"name\": \"{long}\", \"output_bytes\": 1, \
             \"cost\": 1}}, {{\"name\": \"{long}\", \"output_bytes\": 1, \"cost\": 1}}]}}"
        ),
        format!(
            "{{\"nodes\": [{{\"id\": \"{long}\", \"cost\": \"a\", \"size\": 1}}], \"links\": []}}"
        ),
        format!(
            "{{\"schema\": \"remat-instance/1\", \"nodes\": [{{\"name\": \"a\", \"output_bytes\": 1, \
             \"cost\": 1, \"needs\": [\"{long}\"]}}]}}"
        ),
    ] {
        std::fs::write(&path, text_of).unwrap();
        let (_, error) = run_to(2, &["solve", text(&path), "--budget", "1"]);
        assert!(error.len() < 4_000, "{} characters", error.len());
        assert!(error.contains(['…', '.']), "{error}");
    }
}

#[test]
fn ids_that_are_tuples_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("graph.json");
    let graph = r#"{"directed": true, "nodes": [{"id": ["a", 0], "cost": 1, "size": 5},
        {"id": ["b", [0, 1]], "cost": 1, "size": 5}],
        "links": [{"source": ["a", 0], "target": ["b", [0, 1]]}]}"#;
    std::fs::write(&path, graph).unwrap();
    let solved = run_to(0, &["solve", text(&path), "--budget", "100%", "--json"]);
    assert_eq!(object(&solved.0)["objective"], 2);
    let (shown, _) = run_to(0, &["show", text(&path)]);
    assert!(shown.contains("('b', (0, 1))"), "{shown}");
}

#[cfg(unix)]
#[test]
fn paths_that_are_not_utf_8_are_paths() {
    use std::os::unix::ffi::OsStrExt;
    let folder = tempfile::tempdir().unwrap();
    let graph = common::chain(folder.path(), 4);
    let strange = |end: &[u8]| {
        let name = [b"na\xffme", end].concat();
        folder.path().join(std::ffi::OsStr::from_bytes(&name))
    };
    let (instance, plan, proof) = (
        strange(b".json"),
        strange(b"-plan.json"),
        strange(b".proof"),
    );
    std::fs::rename(graph, &instance).unwrap();
    let ends = |words: &[&str], paths: &[&Path]| {
        let output = command(words).args(paths).output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(0), "{words:?} {error}");
        String::from_utf8(output.stdout).unwrap()
    };
    let out = Path::new("--out");
    let certificate = Path::new("--certificate");
    let solve = ["solve", "--budget", "350"];
    ends(&solve, &[&instance, out, &plan, certificate, &proof]);
    assert!(plan.is_file() && proof.is_file());
    let verified = ends(&["verify"], &[&instance, &plan]);
    assert!(verified.contains("verified"), "{verified}");
    ends(&["check-certificate"], &[&proof, &instance]);
    for word in ["explain", "show", "improve", "place"] {
        ends(&[word], &[&instance, &plan]);
    }
    for words in [
        &["order"][..],
        &["plan-memory"],
        &["baselines", "--budget", "90%"],
    ] {
        ends(words, &[&instance]);
    }
    let lives = strange(b".csv");
    std::fs::write(
        &lives,
        "id,lower,upper,size\na,-5,2,4\nb,-1,9223372036854775807,4\n",
    )
    .unwrap();
    let placed = ends(&["place", "--json"], &[&lives]);
    assert_eq!(object(&placed)["objective"], 8);
    ends(
        &["export", "--formulation", "olla-place"],
        &[&lives, &strange(b".lp")],
    );
}

#[test]
fn text_that_is_not_utf_8_is_refused_with_its_offset() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("graph.json");
    let lives = folder.path().join("lives.csv");
    let graph = b"{\"nodes\": [{\"id\": \"a\xff\", \"cost\": 1, \"size\": 5}], \"links\": []}";
    std::fs::write(&path, graph).unwrap();
    let (_, error) = run_to(2, &["solve", text(&path), "--budget", "9"]);
    assert!(error.contains("byte 0xff at offset 20"), "{error}");
    let halves = String::from_utf8_lossy(graph).replace('\u{fffd}', "\\udcff");
    std::fs::write(&path, halves).unwrap();
    let (_, error) = run_to(2, &["solve", text(&path), "--budget", "9"]);
    assert!(error.contains("`\\udcff` at offset 20"), "{error}");
    std::fs::write(&lives, b"id,lower,upper,size\nx\xff,0,1,2\n").unwrap();
    let (_, error) = run_to(2, &["place", text(&lives)]);
    assert!(error.contains("byte 0xff at offset 21"), "{error}");
}
