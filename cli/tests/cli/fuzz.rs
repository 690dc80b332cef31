//! Random command lines: options right and wrong, files whole and damaged, pipes, signals. The
//! program ends in time, without a panic, with an exit code documented in
//! docs/reference/cli/index.md, and with one object if the line has `--json`.
//!
//! `REMAT_FUZZ=START,COUNT` runs other lines, or more; `REMAT_BB` names another binary.

use crate::common::chain;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{RngCore, SeedableRng};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// A run that takes longer hangs: every search has a time limit below a second.
const LONGEST: Duration = Duration::from_secs(30);

struct Dice(Xoshiro256PlusPlus);

impl Dice {
    fn below(&mut self, n: usize) -> usize {
        (self.0.next_u64() % n as u64) as usize
    }

    fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())]
    }
}

const BUDGETS: [&str; 18] = [
    "60%",
    "100%",
    "45%",
    "600",
    "1KiB",
    "6G",
    "1e3",
    "0",
    "-1",
    "nan",
    "inf%",
    "",
    "1e400",
    "60 apples",
    "0%",
    "99999999999999999999",
    "1_000",
    "%",
];
const TIMES: [&str; 14] = [
    "0.1",
    "100ms",
    "0.3s",
    "0",
    "1e-9",
    "-1",
    "nan",
    "1h30",
    "s",
    "",
    "99999999999999999999h",
    "1e400",
    "0.2",
    "0.05s",
];
const NUMBERS: [&str; 14] = [
    "0",
    "1",
    "2",
    "3",
    "255",
    "1024",
    "65536",
    "-1",
    "18446744073709551616",
    "x",
    "",
    "1e3",
    "0x10",
    "nan",
];
const GAPS: [&str; 9] = ["0", "0.01", "1%", "100%", "nan", "-1", "", "inf", "50%"];
const SETTINGS: [&str; 22] = [
    "cuts=false",
    "cuts",
    "cutoff=nan",
    "cutoff=1",
    "cutoff=-inf",
    "limits.seconds=0.1",
    "limits.seconds=nan",
    "limits.nodes=3",
    "threads=0",
    "threads=1e15",
    "threads=20000",
    "pool_size=0",
    "round_width=0",
    "relative_gap=inf",
    "seed=-1",
    "node_selection=depth-first",
    "node_selection=3",
    "=",
    "=1",
    "limits=1",
    "a.b.c=1",
    "presolve=\"yes\"",
];
const MODELS: [&str; 10] = [
    "zoo:chain?n=6",
    "zoo:vgg16",
    "zoo:nothing",
    "zoo:",
    "zoo:chain?n=0",
    "zoo:chain?n=x",
    "zoo:chain?m=3",
    "zoo:vgg16?batch=2&batch=3",
    "zoo:chain?n=12&",
    "zoo:unet?",
];
const SPECS: [&str; 6] = [
    "40%..100%:3",
    "100%..40%:2",
    "1..2:0",
    "60%,70%",
    ",",
    "5GiB..:3",
];

/// A folder of files for command lines.
struct Place {
    folder: tempfile::TempDir,
    files: Vec<PathBuf>,
}

impl Place {
    fn new() -> Place {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let mut files = vec![chain(folder.path(), 5)];
        let run = |arguments: &[&str]| {
            let output = Command::new(binary()).args(arguments).output().unwrap();
            assert!(output.status.success(), "{arguments:?}");
        };
        let graph = files[0].display().to_string();
        let text = |path: &Path| path.display().to_string();
        let (plan, schedule, proof) = (at("plan.json"), at("schedule.json.gz"), at("bound.proof"));
        run(&[
            "solve",
            &graph,
            "--budget",
            "400",
            "-q",
            "--out",
            &text(&plan),
            "--schedule-out",
            &text(&schedule),
            "--certificate",
            &text(&proof),
            "--formulation",
            "checkmate",
        ]);
        let model = at("m.lp");
        std::fs::write(
            &model,
            "max\n 3 a + 2 b + 5 c\nst\n r: 2 a + b + 4 c <= 6\n s: a + b + c <= 3\nbounds\n c <= 2\ngeneral\n a b c\nend\n",
        )
        .unwrap();
        let (solution, vipr, state, mps) = (at("m.sol"), at("m.vipr"), at("m.state"), at("p.mps"));
        run(&[
            "mip",
            &text(&model),
            "-q",
            "--solution",
            &text(&solution),
            "--certificate",
            &text(&vipr),
            "--checkpoint",
            &text(&state),
        ]);
        run(&[
            "export",
            &graph,
            &text(&mps),
            "--budget",
            "400",
            "--formulation",
            "checkmate-interval",
        ]);
        let parameters = at("p.toml");
        std::fs::write(&parameters, "cuts = false\n[limits]\nseconds = 0.2\n").unwrap();
        files.extend([
            plan, schedule, proof, model, solution, vipr, state, mps, parameters,
        ]);
        Place { folder, files }
    }

    /// A file argument: a whole, damaged, missing or empty file, a folder, or a model.
    fn input(&self, dice: &mut Dice, wanted: &[usize]) -> String {
        let k = if dice.chance(85) {
            dice.pick(wanted)
        } else {
            dice.below(self.files.len())
        };
        let file = &self.files[k];
        match dice.below(20) {
            0 => "nope.json".into(),
            1 => self.folder.path().display().to_string(),
            2 => "/dev/null".into(),
            3 => dice.pick(&MODELS).into(),
            4..=8 => self.damaged(dice, file).display().to_string(),
            _ => file.display().to_string(),
        }
    }

    fn damaged(&self, dice: &mut Dice, file: &Path) -> PathBuf {
        let mut bytes = std::fs::read(file).unwrap();
        for _ in 0..=dice.below(4) {
            let at = dice.below(bytes.len().max(1));
            match dice.below(5) {
                0 => bytes.truncate(at),
                1 if at < bytes.len() => bytes[at] = dice.0.next_u64() as u8,
                2 if at < bytes.len() => bytes[at] = dice.pick(b"0123456789-+.e\"{}[],: \n"),
                3 => {
                    let piece: Vec<u8> = bytes[at..].iter().take(40).copied().collect();
                    bytes.splice(at..at, piece);
                }
                _ => {
                    let end = (at + dice.below(9)).min(bytes.len());
                    bytes.drain(at.min(end)..end);
                }
            }
        }
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        let path = self.folder.path().join(format!("damaged-{name}"));
        std::fs::write(&path, bytes).unwrap();
        path
    }

    fn output(&self, dice: &mut Dice) -> String {
        let name = |name: &str| self.folder.path().join(name).display().to_string();
        match dice.below(12) {
            0 => "-".into(),
            1 => "/dev/full".into(),
            2 => "/nowhere/at/all".into(),
            3 => self.folder.path().display().to_string(),
            4 => name("out.json.gz"),
            5 => name(&"x".repeat(250)),
            6 => self.files[0].display().to_string(),
            7 => String::new(),
            _ => name(dice.pick(&["out.json", "out.svg", "out.sol"])),
        }
    }
}

fn binary() -> PathBuf {
    std::env::var_os("REMAT_BB").map_or(env!("CARGO_BIN_EXE_remat-bb").into(), PathBuf::from)
}

/// Positions of the files in [`Place::files`].
const GRAPH: [usize; 1] = [0];
const PLANS: [usize; 2] = [1, 2];
const MODEL_FILES: [usize; 2] = [4, 8];
const PROOFS: [usize; 2] = [3, 6];

/// A command line.
fn arguments(place: &Place, dice: &mut Dice) -> Vec<String> {
    let command = dice.pick(&[
        "solve",
        "solve",
        "verify",
        "baselines",
        "sweep",
        "max-batch",
        "show",
        "explain",
        "export",
        "lp",
        "mip",
        "mip",
        "check-certificate",
        "zoo",
        "completions",
        "exec",
        "profile",
        "nothing",
    ]);
    let mut line: Vec<String> = vec![command.into()];
    let words = |line: &mut Vec<String>, of: &[&str]| line.extend(of.iter().map(|w| w.to_string()));
    match command {
        "solve" | "baselines" | "sweep" | "max-batch" | "show" | "explain" | "export" | "exec" => {
            line.push(place.input(dice, &GRAPH));
        }
        "verify" => line.extend([place.input(dice, &GRAPH), place.input(dice, &PLANS)]),
        "lp" | "mip" => line.push(place.input(dice, &MODEL_FILES)),
        "check-certificate" => {
            line.push(place.input(dice, &PROOFS));
            if dice.chance(70) {
                line.push(place.input(dice, &[0, 4, 8]));
            }
        }
        "zoo" => words(
            &mut line,
            dice.pick(&[&["list"][..], &["export", "chain?n=4"], &["export"]]),
        ),
        _ => {}
    }
    match command {
        "show" | "explain" | "exec" if dice.chance(70) => line.push(place.input(dice, &PLANS)),
        "export" => line.push(place.output(dice)),
        _ => {}
    }
    // Options that keep a search short. A second limit may follow, and is refused as given twice.
    match command {
        "solve" | "sweep" | "max-batch" | "mip" | "lp" => {
            words(&mut line, &["--time-limit", "0.1"])
        }
        "baselines" => words(&mut line, &["--time-limit", "0.02", "--points", "3"]),
        _ => {}
    }
    if ["solve", "baselines", "max-batch", "export", "exec"].contains(&command) && dice.chance(95) {
        line.extend(["--budget".into(), dice.pick(&BUDGETS).into()]);
    }
    if command == "sweep" {
        line.extend(["--budgets".into(), dice.pick(&SPECS).into()]);
    }
    for _ in 0..dice.below(4) {
        let (name, value): (&str, Option<String>) = match dice.below(24) {
            0 | 1 => ("--json", None),
            2 => ("--quiet", None),
            3 | 4 => ("--out", Some(place.output(dice))),
            5 => ("--solution", Some(place.output(dice))),
            6 => ("--schedule-out", Some(place.output(dice))),
            7 => ("--certificate", Some(place.output(dice))),
            8 => ("--progress-svg", Some(place.output(dice))),
            9 => ("--svg", Some(place.output(dice))),
            10 => ("--csv", Some(place.output(dice))),
            11 => ("--threads", Some(dice.pick(&NUMBERS).into())),
            12 => ("--seed", Some(dice.pick(&NUMBERS).into())),
            13 => ("--gap", Some(dice.pick(&GAPS).into())),
            14 | 15 => ("--set", Some(dice.pick(&SETTINGS).into())),
            16 => ("--start", Some(place.input(dice, &[5]))),
            17 => ("--params", Some(place.input(dice, &[9]))),
            18 => ("--resume", Some(place.input(dice, &[7]))),
            19 => ("--checkpoint", Some(place.output(dice))),
            20 => (
                "--formulation",
                Some(
                    dice.pick(&["checkmate", "monet", "x", "checkmate-original"])
                        .into(),
                ),
            ),
            21 => ("--budget", Some(dice.pick(&BUDGETS).into())),
            22 => ("--time-limit", Some(dice.pick(&TIMES).into())),
            _ => (
                dice.pick(&[
                    "--help",
                    "--version",
                    "--nothing",
                    "--",
                    "-",
                    "--pool=3",
                    "-qq",
                    "--plans=",
                    "--refine",
                ]),
                None,
            ),
        };
        line.push(name.into());
        line.extend(value);
    }
    if dice.chance(3) {
        let at = 1 + dice.below(line.len());
        line.insert(at.min(line.len()), "\u{1b}[2J\u{7}".into());
    }
    line
}

/// Waits for the end, and kills a run that hangs.
fn ended(mut child: Child, line: &[String]) -> Output {
    let clock = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if clock.elapsed() > LONGEST {
            let _ = child.kill();
            panic!("{line:?} had not ended after {LONGEST:?}");
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    child.wait_with_output().unwrap()
}

fn run(place: &Place, seed: u64) {
    let mut dice = Dice(Xoshiro256PlusPlus::seed_from_u64(seed));
    let mut line = arguments(place, &mut dice);
    let mut command = Command::new(binary());
    // Some lines read an input through standard input.
    let piped = dice.chance(12) && line.len() > 1 && Path::new(&line[1]).is_file();
    if piped {
        let file = std::fs::File::open(&line[1]).unwrap();
        line[1] = dice.pick(&["-", "/dev/stdin"]).into();
        command.stdin(file);
    } else {
        command.stdin(Stdio::null());
    }
    let folder = place.folder.path().join("here");
    std::fs::create_dir_all(&folder).unwrap();
    command.args(&line).current_dir(&folder);
    // Outputs go to files, so that they need not be read before the end.
    let out = tempfile::NamedTempFile::new().unwrap();
    let err = tempfile::NamedTempFile::new().unwrap();
    command
        .stdout(out.reopen().unwrap())
        .stderr(err.reopen().unwrap());
    let child = command.spawn().unwrap();
    let mut signals = 0;
    if dice.chance(6) {
        for _ in 0..=dice.below(2) {
            std::thread::sleep(Duration::from_millis(dice.below(40) as u64));
            let signal = dice.pick(&["-INT", "-TERM"]);
            let _ = Command::new("kill")
                .args([signal, &child.id().to_string()])
                .stderr(Stdio::null())
                .status();
            signals += 1;
        }
    }
    let output = ended(child, &line);
    let (out, err) = (
        std::fs::read(out.path()).unwrap(),
        std::fs::read(err.path()).unwrap(),
    );
    let told = format!(
        "seed {seed}: {line:?}\n{}\n{}",
        String::from_utf8_lossy(&out),
        String::from_utf8_lossy(&err)
    );
    match output.status.code() {
        Some(0 | 2 | 3 | 4 | 5) => {}
        Some(130) | None if signals > 0 => {}
        other => panic!("exit code {other:?}, {told}"),
    }
    assert!(
        !told.contains("panicked at") && !told.contains("RUST_BACKTRACE"),
        "{told}"
    );
    assert!(!err.contains(&0x07) && !out.contains(&0x07), "{told}");
    let json = line.iter().any(|a| a == "--json");
    let help = line
        .iter()
        .any(|a| ["--help", "--version", "completions", "-"].contains(&a.as_str()));
    if json && !help && signals == 0 && !line.contains(&"/dev/stdout".into()) {
        let value: serde_json::Value =
            serde_json::from_slice(&out).unwrap_or_else(|e| panic!("{e}, {told}"));
        assert!(value.is_object() || value.is_array(), "{told}");
    }
}

#[test]
fn any_command_line_ends_in_time_with_a_documented_exit_code() {
    let range = std::env::var("REMAT_FUZZ").ok();
    let (start, count) = range
        .as_deref()
        .and_then(|r| r.split_once(','))
        .and_then(|(a, b)| Some((a.parse::<u64>().ok()?, b.parse::<u64>().ok()?)))
        .unwrap_or((0, 300));
    let place = Place::new();
    for seed in start..start + count {
        run(&place, seed);
    }
}
