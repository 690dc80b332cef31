//! Commands in the pages and in every `--help`, run as they are printed.
//!
//! Blocks of a page run in order in one fresh folder, the examples of a `--help` in another. Times
//! are cut short, and the user's own files that an example reads get a stand-in. Commands that need
//! libtorch are left out, and so are blocks after a comment `<!-- not run: REASON -->`. A block
//! after `<!-- exit N -->` ends with that code, every other with 0. A block after
//! `<!-- file NAME -->` is that file. In a block that starts with `$ `, the lines below a command
//! must be among its output; `...` stands for any lines.

use crate::common::remat_bb;
use clap::CommandFactory;
use remat_bb::arguments::Arguments;
use remat_bench::arguments::Cli;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Commands that only builds with libtorch have.
const TORCH: [&str; 3] = ["profile", "exec", "train-check"];

/// Returns whether a line is a command of one of the programs.
fn is_command(line: &str) -> bool {
    line.starts_with("remat-bb ") || line.starts_with("remat-bench ")
}

/// A command with the part of its output that the page shows, and its exit code.
#[derive(Debug)]
struct Example {
    /// Files that the page shows before it: name and text.
    files: Vec<(String, String)>,
    line: String,
    shown: Vec<String>,
    code: i32,
}

impl Example {
    fn words(&self) -> Vec<&str> {
        let words = self.line.split_whitespace();
        words.map(|word| word.trim_matches('\'')).collect()
    }

    fn is_torch(&self) -> bool {
        let is_python = self.words().iter().any(|word| word.contains(".py:"));
        is_python || self.words().get(1).is_some_and(|word| TORCH.contains(word))
    }

    /// The line with times cut short.
    fn cut(&self) -> String {
        let mut words: Vec<String> = self.line.split(' ').map(str::to_owned).collect();
        let limit = words.iter().position(|word| word == "--time-limit");
        match (limit, self.words().get(1)) {
            (Some(at), _) => words[at + 1] = "500ms".into(),
            // The output of a pipeline that a page shows is of a fixed amount of work.
            (None, Some(&"pipeline")) if !self.shown.is_empty() => {}
            (None, Some(&("solve" | "mip" | "pipeline"))) => {
                words.extend(["--time-limit", "500ms"].map(Into::into))
            }
            // A grid has its limits in its file.
            (None, Some(&"sweep")) if self.line.contains(".toml") => {}
            (None, Some(&("sweep" | "max-batch" | "baselines"))) => {
                words.extend(["--time-limit", "200ms"].map(Into::into));
            }
            _ => {}
        }
        words.join(" ")
    }
}

/// The commands in the blocks of a page.
fn of_page(text: &str) -> Vec<Example> {
    let mut found: Vec<Example> = Vec::new();
    let mut files = Vec::new();
    let mut before = "";
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if !line.starts_with("```") {
            before = if line.trim().is_empty() { before } else { line };
            continue;
        }
        let block: Vec<&str> = lines
            .by_ref()
            .take_while(|l| !l.starts_with("```"))
            .collect();
        let comment = before
            .strip_prefix("<!-- ")
            .and_then(|c| c.strip_suffix(" -->"));
        before = "";
        let code = comment.and_then(|c| c.strip_prefix("exit ")?.parse().ok());
        if comment.is_some_and(|c| c.starts_with("not run:")) {
            continue;
        }
        if let Some(name) = comment.and_then(|c| c.strip_prefix("file ")) {
            files.push((name.to_owned(), block.join("\n")));
            continue;
        }
        let session = block.first().is_some_and(|line| line.starts_with("$ "));
        for line in block {
            let command = line.trim_start_matches("$ ");
            if line.starts_with("$ ") == session && is_command(command) {
                found.push(Example {
                    files: std::mem::take(&mut files),
                    line: command.split(" #").next().unwrap_or(command).trim().into(),
                    shown: Vec::new(),
                    code: code.unwrap_or(0),
                });
            } else if let Some(last) = found.last_mut().filter(|_| session) {
                last.shown.push(line.into());
            }
        }
    }
    found
}

/// The examples of a command's `--help`.
fn of_help(command: &clap::Command) -> Vec<Example> {
    let text = command.get_after_long_help().map(ToString::to_string);
    let text = text.unwrap_or_default();
    let lines = text.lines().filter_map(|line| line.strip_prefix("  "));
    lines
        .filter(|line| is_command(line))
        .map(|line| Example {
            files: Vec::new(),
            line: line.into(),
            shown: Vec::new(),
            code: 0,
        })
        .collect()
}

/// A grid that takes no time.
const GRID: &str = "models = ['zoo:chain?n=4']
budgets = '60%..100%:3'
[settings]
effort = 'quick'
";

/// Writes stand-ins for files that an example reads and that do not exist yet.
fn stand_in(folder: &Path, example: &Example) {
    let words = example.words();
    let reads =
        |k: usize| !["--out", "-o", ">"].contains(&words[k - 1]) && !words[k].contains("zoo:");
    for k in (2..words.len()).filter(|k| reads(*k)) {
        let path = folder.join(words[k]);
        let name = words[k].trim_end_matches(".gz");
        if words[1] == "merge" && k == 2 {
            // Examples before may have solved a shard.
            std::fs::write(folder.join("grid.toml"), GRID).unwrap();
            shell(folder, &format!("remat-bb sweep grid.toml --resume {name}"));
        }
        if path.exists() || words[k - 1].starts_with("--") {
            continue;
        }
        if name.ends_with(".toml") {
            std::fs::write(path, GRID).unwrap();
        } else if name.ends_with("placed.json") {
            let line = format!(
                "remat-bb solve '{}' --budget 95% -t 500ms --addresses --out {name}",
                words[2]
            );
            shell(folder, &line);
        } else if name.ends_with("pipeline.json") {
            let counts = "--stages 2 --microbatches 2 --budget 100%";
            let line = format!("remat-bb pipeline '{}' {counts} --out {name}", words[2]);
            shell(folder, &line);
        } else if name.ends_with("plan.json") || name.ends_with("schedule.json") {
            let out = if name.ends_with("plan.json") {
                "--out"
            } else {
                "--schedule-out"
            };
            let line = format!(
                "remat-bb solve '{}' --budget 95% -t 500ms {out} {name}",
                words[2]
            );
            shell(folder, &line);
        } else if k == 2 && name.ends_with(".json") {
            shell(
                folder,
                &format!("remat-bb zoo export 'chain?n=8' --out {}", words[k]),
            );
        } else if k == 2 && name.ends_with(".csv") {
            std::fs::write(path, "id,lower,upper,size\nx,0,2,4\ny,1,3,8\n").unwrap();
        } else if k == 2
            && words[1] != "export"
            && (name.ends_with(".mps") || name.ends_with(".lp"))
        {
            let rows = "maximize 3 x + 2 y\nst\n c: 2 x + 3 y <= 7\nbounds\n x <= 3\n y <= 3\n";
            let lp = folder.join("small.lp");
            std::fs::write(&lp, format!("{rows}generals\n x y\nend\n")).unwrap();
            let mps = remat_lp::mps::to_string(&remat_lp::lp_format::read(&lp).unwrap());
            let text = if name.ends_with(".lp") {
                std::fs::read_to_string(&lp).unwrap()
            } else {
                mps
            };
            std::fs::write(path, text).unwrap();
        }
    }
}

/// Runs a line by the shell, with a pager that only prints.
fn shell(folder: &Path, line: &str) -> (Option<i32>, String, String) {
    let binary = remat_bb();
    let path = std::env::var("PATH").unwrap_or_default();
    let output = Command::new("sh")
        .args(["-c", &format!("less() {{ cat; }}\n{line}")])
        .current_dir(folder)
        .env("HOME", folder)
        .env(
            "PATH",
            format!("{}:{path}", binary.parent().unwrap().display()),
        )
        .output()
        .expect("there is a shell");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (
        output.status.code(),
        text(&output.stdout),
        text(&output.stderr),
    )
}

/// Runs examples in a fresh folder, and returns their number.
fn run(of: &str, examples: &[Example]) -> usize {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(
        folder
            .path()
            .join(".local/share/bash-completion/completions"),
    )
    .unwrap();
    let mut count = 0;
    for example in examples.iter().filter(|example| !example.is_torch()) {
        for (name, text) in &example.files {
            std::fs::write(folder.path().join(name), text).unwrap();
        }
        stand_in(folder.path(), example);
        let line = example.cut();
        let (code, out, err) = shell(folder.path(), &line);
        // The cut limit may be over before a busy machine has a first solution.
        let is_late = code == Some(4) && line.contains("500ms") && example.code == 0;
        let ended = is_late || code == Some(example.code);
        assert!(ended, "{of}: {line} ends with {code:?}\n{out}\n{err}");
        let plain = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let lines: Vec<String> = out.lines().map(plain).collect();
        for shown in &example.shown {
            let shown = plain(shown);
            let own = is_command(&shown) || shown == "..." || shown.is_empty();
            assert!(
                own || lines.contains(&shown),
                "{of}: {line} does not print {shown:?}\n{out}"
            );
        }
        count += 1;
    }
    count
}

/// The pages of a folder and of the folders in it, decisions left out.
fn pages(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.ends_with("decisions") {
            found.extend(pages(&path));
        } else if path.extension().is_some_and(|e| e == "md") {
            found.push(path);
        }
    }
    found.sort();
    found
}

#[test]
fn commands_of_every_page_do_what_it_says() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut pages = pages(&root.join("docs"));
    pages.extend(["README.md", "cli/README.md"].map(|name| root.join(name)));
    let mut count = 0;
    for page in &pages {
        let examples = of_page(&std::fs::read_to_string(page).unwrap());
        count += run(&page.display().to_string(), &examples);
    }
    assert!(count > 80, "{count}");
}

#[test]
fn examples_of_every_help_run() {
    let mut commands = vec![Arguments::command(), Cli::command()];
    let mut count = 0;
    while let Some(command) = commands.pop() {
        count += run(command.get_name(), &of_help(&command));
        commands.extend(command.get_subcommands().cloned());
    }
    assert!(count > 30, "{count}");
}
