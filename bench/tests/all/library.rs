//! The benchmark library end to end: programs, runs, tables, and the folders for MIPLIB.

use crate::common::{command, ends, remat_bb, run_to, text};
use remat_bench::library::check::{Checked, check_file};
use remat_bench::library::index;
use remat_bench::library::results::{self, ResultRow};
use remat_bench::others::{Limits, Solver, Status, Task};
use remat_bench::part;
use remat_lp::solution_file::SolutionFile;
use remat_lp::{lp_format, mps};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A Python that does not exist.
const NO_PYTHON: &str = "no-such-python";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap()
}

/// Runs both of this program's ways on a folder of programs.
fn runs(programs: &Path, out: &Path, more: &[&str]) -> (Vec<ResultRow>, String) {
    let fixed = [
        "library",
        "run",
        text(programs),
        "--solvers",
        "remat-bb,remat-bb-general,cp-sat",
        "--python",
        NO_PYTHON,
        "--time-limit",
        "60s",
        "--out",
        text(out),
    ];
    let (_, err) = run_to(0, &[&fixed[..], more].concat());
    let rows = results::parse("results.csv", &read(out)).unwrap();
    (rows, err)
}

#[test]
fn a_choice_of_nothing_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("programs");
    let fixed = ["library", "export", "--out", text(&out)];
    let choice = ["--size", "small", "--only", "no-such"];
    let (_, err) = run_to(2, &[&fixed[..], &choice].concat());
    let entries = index::built_in().unwrap();
    let small = entries.iter().find(|e| e.size == "small").unwrap();
    assert!(
        err.contains("no-such") && err.contains(&small.name),
        "{err}"
    );
    assert!(!out.exists());
}

#[test]
fn small_programs_are_what_the_index_says() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("programs");
    run_to(
        0,
        &["library", "export", "--size", "small", "--out", text(&out)],
    );
    let entries = index::built_in().unwrap();
    let small = entries.iter().filter(|e| e.size == "small");
    let mut count = 0;
    for entry in small {
        let path = out.join(format!("{}.mps.gz", entry.name));
        let packed = std::fs::read(&path).unwrap();
        let text = remat_lp::decode(packed).unwrap();
        assert_eq!(index::sha256(&text), entry.sha256, "{}", entry.name);
        // The command in the index makes the same program.
        let words = entry.command.split_whitespace();
        let words: Vec<&str> = words.map(|w| w.trim_matches('\'')).collect();
        let ([program, words @ ..], last) = words.split_at(words.len() - 1) else {
            panic!("{}", entry.command);
        };
        let again = folder.path().join(last[0]);
        let mut export = match *program {
            "remat-bench" => command(&[]),
            _ => Command::new(remat_bb()),
        };
        export.args(words).arg(&again);
        ends(0, export);
        let packed = std::fs::read(&again).unwrap();
        assert!(remat_lp::decode(packed).unwrap() == text, "{}", entry.name);
        count += 1;
    }
    assert!(count >= 20, "{count}");
}

#[test]
fn runs_are_checked_kept_and_gone_on_with() {
    let folder = tempfile::tempdir().unwrap();
    let [programs, out, kept] = ["programs", "results.csv", "kept"].map(|n| folder.path().join(n));
    let choice = [
        "library", "export", "--size", "small", "--only", "chain4", "--out",
    ];
    run_to(0, &[&choice[..], &[text(&programs)]].concat());
    // A user's program without an integer point.
    let own =
        "maximize x + y\nst\n c: 2 x + 2 y = 3\nbounds\n x <= 1\n y <= 1\ngenerals\n x y\nend\n";
    std::fs::write(programs.join("own.lp"), own).unwrap();
    let (rows, err) = runs(&programs, &out, &["--solutions", text(&kept)]);
    assert!(err.contains("left out: CP-SAT is not installed"), "{err}");
    let names = ["ckpt-life-chain4", "joint-chain4", "own", "place-chain4"];
    assert_eq!(rows.len(), 2 * names.len());
    for (pair, name) in rows.chunks(2).zip(names) {
        let [first, second] = pair else {
            panic!("two solvers");
        };
        assert_eq!((&*first.program, &*second.program), (name, name));
        let solvers = (first.solver, second.solver);
        assert_eq!(solvers, (Solver::RematBb, Solver::RematBbGeneral));
        assert_eq!(first.checked, second.checked, "{name}");
        if name == "own" {
            assert_eq!(first.status, Status::Infeasible);
            continue;
        }
        assert_eq!((first.status, &*first.check), (Status::Optimal, "feasible"));
        let last = second.incumbents.last().map(|(_, v)| *v);
        assert_eq!((last, second.objective), (first.checked, first.checked));
        let solution = kept.join(format!("{name}.sol.gz"));
        let model = remat_lp::mps::read(programs.join(format!("{name}.mps.gz"))).unwrap();
        let (verdict, _) = check_file(&model, &solution);
        assert_eq!(verdict.objective(), first.checked);
    }
    // The table has all runs, so no run is repeated.
    let (again, _) = runs(&programs, &out, &["--resume"]);
    assert_eq!(again, rows);
    let [tables, picture] = ["page.md", "profile.svg"].map(|n| folder.path().join(n));
    std::fs::write(&tables, format!("# T\n{}\n{}\n", part::BEGIN, part::END)).unwrap();
    let made = ["library", "table", text(&out), "--page", text(&tables)];
    run_to(0, &[&made[..], &["--svg", text(&picture)]].concat());
    let page = read(&tables);
    assert!(
        page.contains(concat!(
            "| remat-bb | ",
            env!("CARGO_PKG_VERSION"),
            " | 4 / 4 | 3 / 3 |"
        )),
        "{page}"
    );
    assert!(page.contains("| `own` | -, 0."), "{page}");
    assert!(read(&picture).contains("<svg"));
    // A known point of the program without integer points would make both answers wrong.
    assert!(!page.contains("is known"), "{page}");
    let solu = folder.path().join("known.solu");
    std::fs::write(&solu, "=best= own 1\n").unwrap();
    run_to(0, &[&made[..], &["--known", text(&solu)]].concat());
    let wrong = "it claims that there is no solution; a solution of 1 is known";
    assert_eq!(read(&tables).matches(wrong).count(), 2);
}

/// Runs git in a folder.
fn git(folder: &Path, words: &[&str]) {
    let mut command = Command::new("git");
    let person = [
        "-c",
        "user.name=a",
        "-c",
        "user.email=a@b",
        "-c",
        "commit.gpgsign=false",
    ];
    command.arg("-C").arg(folder).args(person).args(words);
    ends(0, command);
}

#[test]
fn one_command_runs_the_library_and_names_changes() {
    let folder = tempfile::tempdir().unwrap();
    let checkout = folder.path();
    for name in [
        "bench/library/index.csv",
        "docs/inside/library.md",
        "README.md",
    ] {
        let path = checkout.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::copy(root().join(name), path).unwrap();
    }
    std::fs::create_dir_all(checkout.join("bench/results")).unwrap();
    git(checkout, &["init", "--quiet"]);
    git(checkout, &["add", "."]);
    git(checkout, &["commit", "--quiet", "-m", "a"]);
    let programs = checkout.join("programs");
    let choice = [
        "--only",
        "joint-chain4",
        "--solvers",
        "remat-bb",
        "--python",
        NO_PYTHON,
    ];
    let fixed = [
        "library",
        "run-all",
        "--checkout",
        text(checkout),
        "--time-limit",
        "60s",
    ];
    let words = [&fixed[..], &choice].concat();
    let plain = |err: &str| err.replace(['│', '\n'], " ");
    // Programs for tests have no commit.
    let (_, err) = run_to(2, &words);
    assert!(
        plain(&err).contains("was built from an unknown commit"),
        "{err}"
    );
    std::fs::write(checkout.join("README.md"), "changed").unwrap();
    let (_, err) = run_to(2, &words);
    assert!(
        plain(&err).contains("uncommitted changes in 1 files"),
        "{err}"
    );
    assert!(err.contains("README.md"), "{err}");
    let table = checkout.join("bench/results/library.csv");
    assert!(!table.exists());
    let more = ["--uncommitted", "--programs", text(&programs)];
    run_to(0, &[&words[..], &more].concat());
    let rows = results::parse("library.csv", &read(&table)).unwrap();
    let [row] = &rows[..] else {
        panic!("{rows:?}");
    };
    assert_eq!(
        (&*row.program, row.status),
        ("joint-chain4", Status::Optimal)
    );
    assert!(programs.join("joint-chain4.mps.gz").exists());
    let page = read(&checkout.join("docs/inside/library.md"));
    assert!(
        page.contains("The source had uncommitted changes."),
        "{page}"
    );
    assert!(
        page.contains(concat!(
            "| remat-bb | ",
            env!("CARGO_PKG_VERSION"),
            " | 1 / 1 | 1 / 1 |"
        )),
        "{page}"
    );
    assert!(read(&checkout.join("docs/inside/library.svg")).contains("<svg"));
    let entries = index::parse("i", &read(&checkout.join("bench/library/index.csv"))).unwrap();
    assert_eq!(entries.len(), index::built_in().unwrap().len());
}

#[test]
fn a_program_for_miplib_has_a_solution_and_metadata() {
    let folder = tempfile::tempdir().unwrap();
    let solutions = root().join("bench/library/solutions");
    let out = folder.path().join("miplib");
    let arguments = ["library", "export", "--only", "place-vit1", "--miplib"];
    let more = [text(&out), "--solutions", text(&solutions)];
    run_to(0, &[&arguments[..], &more].concat());
    let own = out.join("place-vit1");
    let model = remat_lp::mps::read(own.join("place-vit1.mps.gz")).unwrap();
    let entries = index::built_in().unwrap();
    let entry = entries.iter().find(|e| e.name == "place-vit1").unwrap();
    let (verdict, _) = check_file(&model, &own.join("place-vit1.sol.gz"));
    assert_eq!(verdict, Checked::Feasible(entry.best.unwrap()));
    let metadata: toml::Table = read(&own.join("metadata.toml")).parse().unwrap();
    assert_eq!(metadata["objective"].as_float(), entry.best);
    assert_eq!(metadata["mps_sha256"].as_str(), Some(&*entry.sha256));
    assert!(read(&own.join("description.md")).contains(&entry.command));
    // Without solutions the error names the command that makes them.
    let (_, err) = run_to(
        2,
        &[&arguments[..], &[text(&out), "--solutions", "nowhere"]].concat(),
    );
    assert!(err.contains("library run --solutions"), "{err}");
}

#[test]
fn mistakes_are_named() {
    let (_, err) = run_to(
        2,
        &["library", "export", "--family", "knapsack", "--out", "x"],
    );
    assert!(err.contains("there is no family \"knapsack\""), "{err}");
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("r.csv");
    let nothing = ["library", "run", text(folder.path()), "--out", text(&out)];
    let (_, err) = run_to(2, &nothing);
    assert!(err.contains("there is no program to run on"), "{err}");
    std::fs::write(&out, "program\n").unwrap();
    let (_, err) = run_to(2, &["library", "table", text(&out)]);
    assert!(err.contains("line 1: the columns are"), "{err}");
}

#[test]
fn solvers_that_are_here_find_an_optimum() {
    let text = "Minimize\n c: - 3 x - 2 y\nSubject To\n r: 2 x + 2 y <= 7\nBounds\n x <= 2\n y <= 9\nGeneral\n x\n y\nEnd\n";
    let model = lp_format::parse(text, "case").expect("a program");
    let folder = tempfile::tempdir().expect("a folder");
    let program = folder.path().join("case.mps");
    mps::write(&model, &program).expect("written");
    for solver in Solver::ALL {
        let there = match solver.find("python3") {
            Ok(there) => there,
            Err(reason) => {
                println!("skipped: {reason}");
                continue;
            }
        };
        for threads in [1, 2] {
            let solution = folder.path().join(format!("{}.sol", solver.key()));
            let task = Task {
                program: &program,
                sense: model.sense(),
                solution: Some(&solution),
            };
            let limits = Limits {
                seconds: 10.0,
                threads,
                gap: 0.0,
                seed: 1,
            };
            let run = there.solve(&task, &limits).expect("a run");
            assert_eq!(run.status, Status::Optimal, "{solver:?}");
            assert_eq!(run.objective.map(f64::round), Some(-8.0), "{solver:?}");
            let file = SolutionFile::read(&solution).expect("a solution");
            let x = file.point(&model).expect("of the model");
            assert!((model.objective(&x) + 8.0).abs() < 1e-6, "{solver:?}");
        }
    }
}
