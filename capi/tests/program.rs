//! Programs in C against the shared and the static library, and the example of the guide. Without a
//! C compiler they are skipped with a message.

use serde_json::Value;
use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Flags of every program: warnings are errors.
const FLAGS: [&str; 6] = [
    "-std=c99",
    "-Wall",
    "-Wextra",
    "-Werror",
    "-pedantic",
    "-O1",
];
/// Libraries of the system that the static library needs.
const SYSTEM: [&str; 3] = ["-lpthread", "-ldl", "-lm"];

/// Form of the library.
#[derive(Clone, Copy, Debug)]
enum Form {
    Shared,
    Static,
}

fn here(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

/// A program that exists; otherwise prints a message and returns `None`.
fn tool(variable: &str, name: &str) -> Option<String> {
    let name = env::var(variable).unwrap_or_else(|_| name.into());
    let found = Command::new(&name).arg("--version").output();
    if found.is_ok_and(|out| out.status.success()) {
        return Some(name);
    }
    println!("skipped: there is no {name}");
    None
}

/// Folder of the libraries that cargo built for this test.
fn libraries() -> PathBuf {
    let me = env::current_exe().unwrap();
    me.parent().unwrap().parent().unwrap().join("examples")
}

fn done(command: &mut Command) -> Output {
    let out = command
        .output()
        .unwrap_or_else(|e| panic!("{command:?}: {e}"));
    assert!(
        out.status.success(),
        "{command:?}: {}\n{}{}",
        out.status,
        String::from_utf8_lossy(&out.stdout),
        String::from_utf8_lossy(&out.stderr)
    );
    out
}

/// Compiles and links a program into the file `name` in the folder.
fn compiled(cc: &str, sources: &[PathBuf], form: Form, folder: &Path, name: &str) -> PathBuf {
    let (program, libraries) = (folder.join(name), libraries());
    let mut command = Command::new(cc);
    command
        .args(FLAGS)
        .arg("-I")
        .arg(here("include"))
        .args(sources);
    match form {
        Form::Shared => {
            let rpath = format!("-Wl,-rpath,{}", libraries.display());
            let shared = libraries.join(format!(
                "{}c_library{}",
                env::consts::DLL_PREFIX,
                env::consts::DLL_SUFFIX
            ));
            assert!(
                shared.is_file(),
                "{} is not built: run all tests of the crate",
                shared.display()
            );
            command
                .arg("-L")
                .arg(&libraries)
                .args(["-lc_library", &rpath]);
        }
        Form::Static => {
            command.arg(libraries.join("libc_library.a"));
        }
    }
    done(command.args(SYSTEM).arg("-o").arg(&program));
    program
}

fn text(out: &Output) -> String {
    String::from_utf8(out.stdout.clone()).unwrap()
}

/// Files of the program that calls every function.
const API: [&str; 4] = [
    "tests/api.c",
    "tests/calls.c",
    "tests/check.c",
    "tests/search.c",
];
/// Files of the program that calls every function wrongly.
const HOSTILE: [&str; 3] = [
    "tests/check.c",
    "tests/hostile.c",
    "tests/hostile_threads.c",
];

fn runs_against(files: &[&str], form: Form) {
    let Some(cc) = tool("CC", "cc") else { return };
    let folder = tempfile::tempdir().unwrap();
    let program = compiled(&cc, &sources(files), form, folder.path(), "program");
    let out = done(Command::new(program).arg(folder.path()));
    assert_eq!(text(&out), "all right\n");
}

fn sources(files: &[&str]) -> Vec<PathBuf> {
    files.iter().map(|name| here(name)).collect()
}

#[test]
fn every_function_answers_right_from_the_shared_library() {
    runs_against(&API, Form::Shared);
}

#[test]
fn every_function_answers_right_from_the_static_library() {
    runs_against(&API, Form::Static);
}

#[test]
fn wrong_calls_and_calls_at_a_bad_time_are_errors() {
    runs_against(&HOSTILE, Form::Shared);
}

fn runs_under_valgrind(files: &[&str]) {
    let (Some(cc), Some(valgrind)) = (tool("CC", "cc"), tool("VALGRIND", "valgrind")) else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let program = compiled(&cc, &sources(files), Form::Shared, folder.path(), "program");
    let mut command = Command::new(valgrind);
    command.args(["--quiet", "--error-exitcode=9", "--leak-check=full"]);
    command.args([
        "--errors-for-leak-kinds=definite",
        "--show-leak-kinds=definite",
    ]);
    let out = done(command.arg(program).arg(folder.path()));
    assert_eq!(text(&out), "all right\n");
}

#[test]
fn nothing_is_read_or_written_where_it_must_not_be() {
    runs_under_valgrind(&API);
}

#[test]
fn wrong_calls_read_and_write_nothing_where_they_must_not() {
    runs_under_valgrind(&HOSTILE);
}

#[test]
fn the_header_is_one_of_c_plus_plus() {
    let Some(cxx) = tool("CXX", "c++") else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("include.cpp");
    let text = "#include \"remat_bb.h\"\nint main() { return remat_free(nullptr); }\n";
    std::fs::write(&source, text).unwrap();
    let flags = [
        "-std=c++11",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-pedantic",
        "-fsyntax-only",
    ];
    done(
        Command::new(cxx)
            .args(flags)
            .arg("-I")
            .arg(here("include"))
            .arg(source),
    );
}

/// `--name value` as the pair `name`, `value`; a switch is `true`. Names have `_` for `-`.
fn pairs(words: &[&str]) -> Vec<String> {
    let mut pairs = Vec::new();
    for (k, word) in words.iter().enumerate() {
        let Some(name) = word.strip_prefix("--") else {
            continue;
        };
        let value = words.get(k + 1).filter(|next| !next.starts_with("--"));
        pairs.extend([name.replace('-', "_"), value.unwrap_or(&"true").to_string()]);
    }
    pairs
}

#[test]
fn plans_have_the_answers_of_the_command_line() {
    let Some(cc) = tool("CC", "cc") else { return };
    let golden = here("../cli/tests/golden");
    let kept = std::fs::read_to_string(golden.join("plans.txt")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let files = sources(&["tests/answer.c", "tests/check.c"]);
    let program = compiled(&cc, &files, Form::Shared, folder.path(), "answer");
    let mut compared = 0;
    for block in kept.split("$ remat-bb solve ").skip(1) {
        let (line, rest) = block.split_once('\n').unwrap();
        let Some((graph, options)) = line.split_once(" --budget ") else {
            continue;
        };
        let Some(options) = options.strip_suffix(" --json") else {
            continue;
        };
        let words: Vec<&str> = options.split(' ').collect();
        if words.contains(&"--out") {
            continue;
        }
        let mut command = Command::new(&program);
        command.arg(golden.join("inputs").join(graph)).arg(words[0]);
        let answer = text(&done(command.args(pairs(&words[1..]))));
        let answer: Value = serde_json::from_str(&answer).unwrap();
        let kept = rest.split_once('\n').unwrap().1.split("\n$ ").next();
        let kept: Value = serde_json::from_str(kept.unwrap()).unwrap();
        for (field, value) in kept.as_object().unwrap() {
            assert!(
                *value == "any" || answer[field] == *value,
                "{line}: {field} is {}, not {value}",
                answer[field]
            );
        }
        compared += 1;
    }
    assert!(compared >= 3, "{compared} calls");
}

#[test]
fn the_example_of_the_guide_prints_what_the_guide_says() {
    let Some(cc) = tool("CC", "cc") else { return };
    let guide = std::fs::read_to_string(here("../docs/reference/c-api.md")).unwrap();
    let block = |kind: &str| {
        let start = guide
            .split_once(kind)
            .unwrap_or_else(|| panic!("no {kind}"))
            .1;
        start
            .split_once("```")
            .unwrap()
            .0
            .trim_start_matches('\n')
            .to_owned()
    };
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("example.c");
    std::fs::write(&source, block("```c\n")).unwrap();
    let program = compiled(&cc, &[source], Form::Shared, folder.path(), "example");
    assert_eq!(text(&done(&mut Command::new(program))), block("```text\n"));
}
