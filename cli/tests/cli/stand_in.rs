//! The binary under the names of other solvers, and as a solver for AMPL.

use crate::common::{run_to, text};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// `max 3x + 2y, 2x + y <= 7.5, x + 3y <= 6` with an integer `x`: 11 at (3, 1).
const SMALL: &str = "Maximize\n obj: 3 x + 2 y\nSubject To\n first: 2 x + y <= 7.5\n second: x + 3 y <= 6\n\
                     Bounds\n x <= 9\nGeneral\n x\nEnd\n";

fn written(folder: &Path, name: &str, content: &str) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, content).unwrap();
    path
}

fn lines(path: &Path) -> Vec<Vec<String>> {
    let text = std::fs::read_to_string(path).unwrap();
    let words = |line: &str| line.split_whitespace().map(str::to_owned).collect();
    text.lines().map(words).collect()
}

/// `min |x| + 2 y` with `<<3; -1, 2>> x + y >= 2`, `x` from -9 to 9: the function falls to -3 at 3
/// and rises from there.
const PIECES: &str = "g3 1 1 0\n 2 1 1 0 0\n 1 1\n 0 0\n 1 1 1\n 0 0 0 1\n 0 0 0 0 0\n 2 2\n 0 0\n 0 0 0 0 0\n\
                      C0\no64\n2\nn-1\nn3\nn2\nv0\nO0 0\no15\nv0\nr\n2 2\nb\n0 -9 9\n2 0\nk1\n1\nJ0 2\n0 0\n1 \
                      1\nG0 2\n0 0\n1 2\n";

#[test]
fn ampl_gives_terms_by_pieces() {
    let folder = tempfile::tempdir().unwrap();
    let stub = written(folder.path(), "a.nl", PIECES);
    // At x = -2 the function is 2, so y is 0.
    let (out, _) = run_to(0, &[text(&stub), "-AMPL", "mipgap=0"]);
    assert!(out.contains("optimal solution; objective 2"), "{out}");
    let solution = lines(&folder.path().join("a.sol"));
    let words: Vec<_> = solution.iter().map(|l| l.join(" ")).collect();
    let options = words.iter().position(|l| l == "Options").unwrap();
    assert_eq!(
        words[options + 1..].join(" "),
        "3 1 1 0 1 0 2 2 -2 0 objno 0 0"
    );
}

/// Solves a model under the name `cbc` with some options; returns the solution file.
fn cbc(folder: &Path, model: &str, options: &[&str]) -> Vec<Vec<String>> {
    let model = written(folder, "model.lp", model);
    let solution = folder.join("out.sol");
    let mut arguments = vec!["cbc", text(&model)];
    arguments.extend(options);
    arguments.extend(["-solve", "-solution", text(&solution)]);
    run_to(0, &arguments);
    lines(&solution)
}

#[test]
fn cbc_writes_a_solution_as_its_readers_parse_it() {
    let folder = tempfile::tempdir().unwrap();
    let all = cbc(
        folder.path(),
        SMALL,
        &["-sec", "20", "-ratio", "1e-6", "-printingOptions", "all"],
    );
    assert_eq!(all[0].join(" "), "Optimal - objective value 11.00000000");
    let entries: Vec<_> = all[1..]
        .iter()
        .map(|l| (l[0].as_str(), l[1].as_str(), l[2].as_str()))
        .collect();
    assert_eq!(
        entries,
        [
            ("0", "first", "7"),
            ("1", "second", "6"),
            ("0", "x", "3"),
            ("1", "y", "1")
        ]
    );
    // Duals of the relaxation: 1.4 and 0.2.
    let relaxed = cbc(
        folder.path(),
        SMALL,
        &["-initialSolve", "-printingOptions", "all"],
    );
    let dual = |k: usize| relaxed[k][3].parse::<f64>().unwrap();
    assert!(
        (dual(1) - 1.4).abs() < 1e-9 && (dual(2) - 0.2).abs() < 1e-9,
        "{relaxed:?}"
    );
    // The other sense, and only nonzero values.
    let least = cbc(
        folder.path(),
        SMALL,
        &["-min", "--threads", "1", "-unheard", "3"],
    );
    assert_eq!(
        least,
        [["Optimal", "-", "objective", "value", "0.00000000"]]
    );
}

#[test]
fn cbc_tells_infeasible_unbounded_and_stopped_apart() {
    let folder = tempfile::tempdir().unwrap();
    let first = |model: &str, options: &[&str]| cbc(folder.path(), model, options)[0].join(" ");
    let infeasible = SMALL.replace("x <= 9", "8 <= x <= 9");
    assert!(first(&infeasible, &[]).starts_with("Integer infeasible - objective value"));
    let relaxed = first(&infeasible, &["-initialSolve"]);
    assert!(
        relaxed.starts_with("Infeasible - objective value"),
        "{relaxed}"
    );
    let unbounded = "Maximize\n x\nSubject To\n c: x - y <= 1\nEnd\n";
    assert!(first(unbounded, &[]).starts_with("Unbounded - objective value"));
    // Market split: 0 seconds are too short for a proof of optimality.
    let mut hard =
        String::from("Minimize\n obj: s0 + s1 + s2 + s3 + t0 + t1 + t2 + t3\nSubject To\n");
    for i in 0..4u64 {
        let _ = write!(hard, " c{i}: s{i} - t{i}");
        (0..40u64).for_each(|k| {
            let _ = write!(
                hard,
                " + {} b{k}",
                (k * k * 7919 + i * 104_729 + k * 31) % 100
            );
        });
        hard += " = 991\n";
    }
    hard += "Binary\n";
    (0..40).for_each(|k| {
        let _ = write!(hard, " b{k}");
    });
    hard += "\nEnd\n";
    let stopped = first(&hard, &["-maxNodes", "0"]);
    let ok = [
        "Stopped on nodes - objective value",
        "Optimal - objective value",
    ];
    assert!(
        ok.iter().any(|words| stopped.starts_with(words)),
        "{stopped}"
    );
    let none = first(&hard, &["-sec", "0"]);
    assert!(none.starts_with("Stopped on time"), "{none}");
}

#[test]
fn cbc_starts_from_a_point() {
    let folder = tempfile::tempdir().unwrap();
    let start = "Stopped on time - objective value 0\n      0 x               3                       0\n      1 y               1                       0\n";
    let start = written(folder.path(), "start.mst", start);
    let found = cbc(folder.path(), SMALL, &["-mips", text(&start), "-maxN", "0"]);
    assert_eq!(found[1][1..3], ["x", "3"]);
    let missing = folder.path().join("nix.mst");
    let (_, err) = run_to(
        2,
        &[
            "cbc",
            text(&folder.path().join("model.lp")),
            "-mips",
            text(&missing),
        ],
    );
    assert!(err.contains("nix.mst"), "{err}");
}

#[test]
fn gurobi_cl_takes_parameters_and_writes_result_files() {
    let folder = tempfile::tempdir().unwrap();
    let model = written(folder.path(), "model.lp", SMALL);
    let solution = folder.path().join("out.sol");
    let result = format!("ResultFile={}", text(&solution));
    let (out, err) = run_to(
        0,
        &[
            "gurobi_cl",
            "TimeLimit=20",
            "MIPGap=0",
            "MIPFocus=1",
            &result,
            text(&model),
        ],
    );
    assert!(
        out.contains("this is not Gurobi") && out.contains("Optimal solution found"),
        "{out}"
    );
    assert!(err.contains("MIPFocus has no effect"), "{err}");
    let found = lines(&solution);
    assert_eq!(found[1].join(" "), "# Objective value = 11");
    assert_eq!(found[2..], [["x", "3"], ["y", "1"]]);
    // An infeasible model has no solution file.
    std::fs::remove_file(&solution).unwrap();
    let model = written(
        folder.path(),
        "model.lp",
        &SMALL.replace("x <= 9", "8 <= x <= 9"),
    );
    let (out, _) = run_to(0, &["gurobi_cl", &result, text(&model)]);
    assert!(
        out.contains("Model is infeasible") && !solution.exists(),
        "{out}"
    );
    let (_, err) = run_to(2, &["gurobi_cl", "TimeLimit=soon", text(&model)]);
    assert!(err.contains("TimeLimit: \"soon\" is no number"), "{err}");
}

#[cfg(unix)]
#[test]
fn links_answer_to_their_names() {
    let folder = tempfile::tempdir().unwrap();
    let model = written(folder.path(), "model.lp", SMALL);
    for (name, words) in [
        ("cbc", "Optimal solution found"),
        ("gurobi_cl", "Best objective 1.1"),
    ] {
        let link = folder.path().join(name);
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_remat-bb"), &link).unwrap();
        let output = Command::new(&link).arg(&model).output().unwrap();
        let out = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success() && out.contains(words), "{out}");
    }
}

/// SMALL as AMPL writes it: continuous columns first, so y is column 0.
const NL: &str = "g3 1 1 0\n 2 2 1 0 0\n 0 0\n 0 0\n 0 0 0\n 0 0 0 1\n 0 1 0 0 0\n 4 2\n 0 0\n 0 0 0 0 0\n\
                  C0\nn0\nC1\nn0\nO0 1\nn0\nr\n1 7.5\n1 6\nb\n2 0\n0 0 9\nk1\n2\nJ0 2\n0 1\n1 2\nJ1 2\n0 3\n1 1\nG0 2\n0 2\n1 3\n";

#[test]
fn ampl_gets_a_solution_file() {
    let folder = tempfile::tempdir().unwrap();
    let stub = written(folder.path(), "a.nl", NL);
    let stub = text(&stub).strip_suffix(".nl").unwrap().to_owned();
    let (out, _) = run_to(0, &[&stub, "-AMPL", "timelimit=20", "mipgap=0"]);
    assert!(out.contains("optimal solution; objective 11"), "{out}");
    let solution: Vec<String> = lines(&folder.path().join("a.sol"))
        .iter()
        .map(|l| l.join(" "))
        .collect();
    let options = solution.iter().position(|l| l == "Options").unwrap();
    assert!(solution[options - 1].is_empty());
    assert_eq!(
        solution[options + 1..].join(" "),
        "3 1 1 0 2 0 2 2 1 3 objno 0 0"
    );
    // The relaxation has duals.
    run_to(0, &[&stub, "-AMPL", "relax=1", "outlev=0"]);
    let solution = lines(&folder.path().join("a.sol"));
    let numbers = solution
        .iter()
        .rev()
        .skip(1)
        .take(4)
        .map(|l| l[0].parse::<f64>().unwrap());
    let expected = [3.3, 0.9, 0.2, 1.4];
    assert!(
        numbers.zip(expected).all(|(a, b)| (a - b).abs() < 1e-9),
        "{solution:?}"
    );
    written(folder.path(), "a.nl", &NL.replace("0 0 9", "0 8 9"));
    run_to(0, &[&stub, "-AMPL"]);
    let last = lines(&folder.path().join("a.sol")).pop().unwrap();
    assert_eq!(last.join(" "), "objno 0 200");
    let wrong = written(
        folder.path(),
        "a.nl",
        &NL.replace("C1\nn0", "C1\no2\nv0\nv1"),
    );
    let (_, err) = run_to(2, &[text(&wrong), "-AMPL"]);
    assert!(err.contains("nonlinear expression o2"), "{err}");
    let (out, _) = run_to(0, &["-v"]);
    assert!(out.starts_with("remat-bb "), "{out}");
}
