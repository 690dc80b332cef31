//! `remat-bb mip` through the binary: results and files, settings, interrupts, and states that
//! survive SIGKILL.

use crate::common::{command, object, run_to, text};
use remat_lp::solution_file::SolutionFile;
use remat_lp::{Model, lp_format};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

/// A small generator (Knuth's constants): the tests need the same numbers every time, not good
/// ones.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = (self.0.wrapping_mul(6364136223846793005)).wrapping_add(1442695040888963407);
        (self.0 >> 33) % n
    }
}

/// A knapsack of three rows whose profits follow the weights: thousands of nodes without cuts.
fn knapsack(folder: &Path, items: u64, seed: u64) -> PathBuf {
    let mut dice = Dice(seed);
    let weights: Vec<Vec<u64>> = (0..3)
        .map(|_| (0..items).map(|_| 10 + dice.below(90)).collect())
        .collect();
    let sum = |out: &mut String, of: &dyn Fn(usize) -> u64| {
        for k in 0..items as usize {
            let _ = write!(out, " + {} x{k}", of(k));
        }
    };
    let mut out = String::from("Maximize\n profit:");
    let extra: Vec<u64> = (0..items).map(|_| dice.below(20)).collect();
    sum(&mut out, &|k| {
        weights.iter().map(|w| w[k]).sum::<u64>() + extra[k]
    });
    out += "\nSubject To\n";
    for (i, w) in weights.iter().enumerate() {
        let _ = write!(out, " w{i}:");
        sum(&mut out, &|k| w[k]);
        let _ = writeln!(out, " <= {}", w.iter().sum::<u64>() / 2);
    }
    out += "Binary\n";
    for k in 0..items {
        let _ = write!(out, " x{k}");
    }
    out += "\nEnd\n";
    let path = folder.join(format!("knapsack{items}-{seed}.lp"));
    std::fs::write(&path, out).unwrap();
    path
}

/// The objective of a solution file over a model, recomputed; its point must satisfy every row and
/// be integral.
fn objective_of(model: &Model, path: &Path) -> f64 {
    let file = SolutionFile::read(path).unwrap();
    let x = file.point(model).unwrap();
    remat_solver::mip::check_point(model, &x, 1e-6).unwrap()
}

#[test]
fn the_result_its_files_and_its_pool_agree() {
    let folder = tempfile::tempdir().unwrap();
    let file = knapsack(folder.path(), 14, 1);
    let model = lp_format::read(&file).unwrap();
    // All points, for the true optimum.
    let mut best: Vec<f64> = (0..1u32 << 14)
        .filter_map(|bits| {
            let x: Vec<f64> = (0..14).map(|k| f64::from((bits >> k) & 1)).collect();
            remat_solver::mip::check_point(&model, &x, 0.0).ok()
        })
        .collect();
    best.sort_by(|a, b| b.total_cmp(a));
    let sol = folder.path().join("best.sol");
    let (out, err) = run_to(
        0,
        &[
            "mip",
            text(&file),
            "--solution",
            text(&sol),
            "--json",
            "--pool",
            "3",
        ],
    );
    let result = object(&out);
    assert_eq!(result["status"], "optimal");
    assert_eq!(result["objective"].as_f64(), Some(best[0]));
    assert_eq!(result["gap"].as_f64(), Some(0.0));
    assert_eq!(result["integers"], 14);
    assert!(err.contains("nodes") && err.contains("memory"), "{err}");
    assert_eq!(objective_of(&model, &sol), best[0]);
    let pool: Vec<f64> = (result["pool"].as_array().unwrap().iter())
        .map(|v| v.as_f64().unwrap())
        .collect();
    assert!(pool.len() <= 3 && pool[0] == best[0], "{pool:?}");
    for (k, v) in pool.iter().enumerate().skip(1) {
        let path = folder.path().join(format!("best.{}.sol", k + 1));
        assert_eq!(objective_of(&model, &path), *v);
        assert!(*v <= pool[k - 1]);
    }
    // The best solution as a start, without a search: the start alone finds it again.
    let (out, err) = run_to(
        0,
        &[
            "mip",
            text(&file),
            "--start",
            text(&sol),
            "--json",
            "--quiet",
            "--node-limit",
            "0",
            "--set",
            "cuts=false",
            "--set",
            "heuristics=false",
        ],
    );
    let result = object(&out);
    assert_eq!(result["found_by"], "start");
    assert_eq!(result["objective"].as_f64(), Some(best[0]));
    assert_eq!(err, "");
}

#[test]
fn exit_codes_tell_results_limits_and_bad_input_apart() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, content: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, content).unwrap();
        text(&path).to_owned()
    };
    let infeasible = write(
        "a.lp",
        "Minimize\n c: x + y\nSubject To\n r: 2 x - 2 y = 1\nBounds\n x <= 9\n y <= 9\nGeneral\n x y\nEnd\n",
    );
    let (out, _) = run_to(3, &["mip", &infeasible, "--json", "-q"]);
    assert_eq!(object(&out)["status"], "infeasible");
    let unbounded = write(
        "b.lp",
        "Minimize\n c: x + y\nSubject To\n r: x - y >= -4.5\nBounds\n x free\n y free\nGeneral\n x y\nEnd\n",
    );
    let (out, _) = run_to(0, &["mip", &unbounded, "--json", "-q"]);
    assert_eq!(object(&out)["status"], "unbounded");
    let file = knapsack(folder.path(), 40, 3);
    let (out, _) = run_to(
        4,
        &[
            "mip",
            text(&file),
            "--json",
            "-q",
            "--node-limit",
            "0",
            "--set",
            "heuristics=false",
            "--set",
            "cuts=false",
        ],
    );
    let result = object(&out);
    assert_eq!(
        (&result["status"], &result["end"]),
        (&"limit".into(), &"node limit".into())
    );
    assert!(result["objective"].is_null() && result["bound"].is_f64());
    let broken = write("c.lp", "Minimize\n x +\nEnd\n");
    let params = write("p.toml", "cuts = false\nseed = \"seven\"\n");
    let state = write("s.state", "rematbbS but nothing else");
    let missing = folder.path().join("no/where.sol");
    let cases: [(&[&str], &str); 6] = [
        (&[&broken], "c.lp"),
        (&[text(&file), "--params", &params], "p.toml"),
        (&[text(&file), "--set", "cutz=false"], "cutz"),
        (&[text(&file), "--resume", &state], "s.state"),
        (&[text(&file), "-o", text(&missing)], "where.sol"),
        (&[text(&file), "--set", "relative_gap=-1.0"], "relative_gap"),
    ];
    for (more, words) in cases {
        let arguments: Vec<&str> = std::iter::once("mip").chain(more.iter().copied()).collect();
        let (out, err) = run_to(2, &arguments);
        assert_eq!(out, "", "{more:?}");
        assert!(
            err.contains(words) && !err.contains("panicked"),
            "{more:?}: {err}"
        );
    }
}

#[test]
fn parameters_come_from_the_file_then_set_then_options() {
    let folder = tempfile::tempdir().unwrap();
    let file = knapsack(folder.path(), 30, 5);
    let params = folder.path().join("p.toml");
    std::fs::write(
        &params,
        "cuts = false\nheuristics = false\nnode_selection = \"best-bound\"\nseed = 5\n[limits]\nnodes = 7\n",
    )
    .unwrap();
    let nodes = |more: &[&str]| {
        let mut arguments = vec![
            "mip",
            text(&file),
            "--json",
            "-q",
            "--params",
            text(&params),
        ];
        arguments.extend(more);
        let output = command(&arguments).output().unwrap();
        let result = object(std::str::from_utf8(&output.stdout).unwrap());
        (result["nodes"].as_u64().unwrap(), result["seed"].as_u64())
    };
    assert_eq!(nodes(&[]), (7, Some(5)));
    assert_eq!(
        nodes(&["--set", "limits.nodes=9", "--seed", "6"]),
        (9, Some(6))
    );
    assert_eq!(
        nodes(&["--set", "limits.nodes=9", "--node-limit", "11"]).0,
        11
    );
}

const LONG: [&str; 6] = [
    "--set",
    "cuts=false",
    "--set",
    "sub_mips=false",
    "--set",
    "reliability=0",
];

#[test]
fn an_interrupt_writes_the_best_solution_and_a_state_to_go_on_from() {
    let folder = tempfile::tempdir().unwrap();
    let file = knapsack(folder.path(), 300, 7);
    let model = lp_format::read(&file).unwrap();
    let (sol, state) = (folder.path().join("b.sol"), folder.path().join("b.state"));
    let mut arguments = vec![
        "mip",
        text(&file),
        "--json",
        "-o",
        text(&sol),
        "--checkpoint",
        text(&state),
    ];
    arguments.extend(LONG);
    let mut child = command(&arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // The first line with a solution shows that the search is under way.
    let mut err = std::io::BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    while !line.contains('%') {
        line.clear();
        let read = std::io::BufRead::read_line(&mut err, &mut line).unwrap();
        assert!(read > 0, "ended before the first solution");
    }
    let drain = std::thread::spawn(move || std::io::copy(&mut err, &mut std::io::sink()));
    let killed = std::process::Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status()
        .unwrap();
    assert!(killed.success());
    let output = child.wait_with_output().unwrap();
    drain.join().unwrap().unwrap();
    assert_eq!(output.status.code(), Some(0));
    let result = object(std::str::from_utf8(&output.stdout).unwrap());
    assert_eq!(result["status"], "interrupted");
    assert_eq!(
        result["objective"].as_f64(),
        Some(objective_of(&model, &sol))
    );
    let nodes = result["nodes"].as_u64().unwrap();
    let limit = (nodes + 200).to_string();
    let (out, _) = run_to(
        0,
        &[
            "mip",
            text(&file),
            "--json",
            "-q",
            "--resume",
            text(&state),
            "--node-limit",
            &limit,
        ],
    );
    let after = object(&out);
    assert!(after["nodes"].as_u64().unwrap() >= nodes);
    assert!(after["objective"].as_f64() >= result["objective"].as_f64());
    assert!(after["bound"].as_f64() <= result["bound"].as_f64());
}

/// Killed twenty times at random moments, and resumed each time from the last state.
#[test]
fn killed_and_resumed_searches_end_with_the_same_objective() {
    let folder = tempfile::tempdir().unwrap();
    let file = knapsack(folder.path(), 34, 11);
    let state = folder.path().join("k.state");
    let mut plain = vec!["mip", text(&file), "--json", "-q"];
    plain.extend(LONG);
    let start = Instant::now();
    let (out, _) = run_to(0, &plain);
    let whole = start.elapsed();
    let truth = object(&out);
    assert_eq!(truth["status"], "optimal");
    assert!(truth["nodes"].as_u64().unwrap() > 1000, "{truth}");
    let mut dice = Dice(5);
    let mut kills = 0;
    while kills < 20 {
        let _ = std::fs::remove_file(&state);
        let mut killed = true;
        let mut nodes = 0;
        while killed {
            let mut arguments = plain.clone();
            arguments.extend(["--checkpoint", text(&state), "--checkpoint-every", "1ms"]);
            if state.exists() {
                arguments.extend(["--resume", text(&state)]);
            }
            let mut child = command(&arguments)
                .stdout(Stdio::piped())
                .stderr(Stdio::null())
                .spawn()
                .unwrap();
            let share = dice.below(1000) as f64 / 1000.0;
            let patience = whole.mul_f64(share) + Duration::from_millis(1);
            let begin = Instant::now();
            while begin.elapsed() < patience && child.try_wait().unwrap().is_none() {
                std::thread::sleep(Duration::from_millis(1));
            }
            // SIGKILL; a child that has already ended has its answer in the pipe.
            let _ = child.kill();
            let output = child.wait_with_output().unwrap();
            killed = output.status.code().is_none();
            if killed {
                kills += 1;
                continue;
            }
            assert_eq!(output.status.code(), Some(0));
            let result = object(std::str::from_utf8(&output.stdout).unwrap());
            assert_eq!(result["status"], "optimal");
            assert_eq!(result["objective"], truth["objective"]);
            assert_eq!(result["bound"], truth["bound"]);
            nodes = result["nodes"].as_u64().unwrap();
        }
        assert!(nodes > 100, "{nodes}");
    }
}

/// The list of settings in the documentation is complete, and has the right defaults.
#[test]
fn the_documented_settings_are_those_there_are() {
    let docs = include_str!("../../../docs/reference/cli/programs.md");
    let start = docs.find("```toml\n").unwrap() + 8;
    let block = &docs[start..start + docs[start..].find("```").unwrap()];
    let documented: toml::Table = block.parse().unwrap();
    let settings: remat_solver::mip::Settings = documented.clone().try_into().unwrap();
    let defaults = remat_solver::mip::Settings::default();
    assert_eq!(
        toml::Table::try_from(&settings).unwrap(),
        toml::Table::try_from(&defaults).unwrap()
    );
    // Settings without a default are in comments.
    let all: toml::Table = block.replace("\n# ", "\n").parse().unwrap();
    let _: remat_solver::mip::Settings = all.clone().try_into().unwrap();
    for name in toml::Table::try_from(&defaults).unwrap().keys() {
        let internal = name == "log" || name == "limits";
        assert!(
            internal || documented.contains_key(name),
            "{name} is not documented"
        );
    }
}

#[test]
fn starts_are_read_as_other_solvers_write_them() {
    let folder = tempfile::tempdir().unwrap();
    let model = folder.path().join("m.lp");
    let lines = "maximize\n 2 a + 3 b + 4 c\nst\n 3 a + 4 b + 5 c <= 9\nbinary\n a b c\nend\n";
    std::fs::write(&model, lines).unwrap();
    let start = folder.path().join("start.sol");
    let solve = |code: i32, text_of_start: &str| {
        std::fs::write(&start, text_of_start).unwrap();
        let arguments = ["mip", text(&model), "--start", text(&start), "--json", "-q"];
        run_to(code, &arguments)
    };
    // The optimum is found by the start in every format.
    for file in [
        "# Objective value = 7\nb 1\nc 1\n",
        "=obj= 7\nb 1\nc 1\n",
        "solution status: optimal solution found\nobjective value:    7\nb     1 \t(obj:3)\nc   1 \t(obj:4)\n",
        "Optimal - objective value 7.0\n      1 b        1            3\n      2 c     1       4\n",
        "Model status\nOptimal\n\n# Primal solution values\nFeasible\nObjective 7\n# Columns 3\na 0\nb 1\nc 1\n# Rows 1\nR0 9\n",
        "<?xml version=\"1.0\"?>\n<CPLEXSolution><variables><variable name=\"b\" value=\"1\"/><variable name=\"c\" value=\"1\"/>\n\
         </variables></CPLEXSolution>\n",
    ] {
        let (out, _) = solve(0, file);
        let result = object(&out);
        assert_eq!(
            (&result["objective"], &result["found_by"]),
            (&7.0.into(), &"start".into()),
            "{file}"
        );
    }
    let (_, err) = solve(2, "b 1\nghost 1\n");
    assert!(
        err.contains("start.sol: the model has no column `ghost`"),
        "{err}"
    );
    let (_, err) = run_to(2, &["mip", text(&model), "--start", "nope.sol"]);
    assert_eq!(err.matches("nope.sol").count(), 1, "{err}");
}
