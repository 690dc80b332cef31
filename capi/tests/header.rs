//! The header compared with the code: functions, callbacks, structures and numbers.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

fn read(path: impl AsRef<Path>) -> String {
    fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.as_ref().display()))
}

/// Texts of all Rust files of a folder and its subfolders, without comments.
fn code(folder: &Path) -> String {
    let mut all = String::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => all += &code(&path),
            false => {
                let lines = read(&path);
                let lines = lines.lines().filter(|l| !l.trim_start().starts_with("//"));
                all.extend(lines.flat_map(|line| [line, "\n"]));
            }
        }
    }
    all
}

/// The header without comments and lines for the preprocessor.
fn header() -> String {
    let text = read(folder("include/remat_bb.h"));
    let mut rest = text.as_str();
    let mut plain = String::new();
    while let Some((before, after)) = rest.split_once("/*") {
        plain += before;
        rest = after.split_once("*/").expect("a comment without an end").1;
    }
    plain += rest;
    let lines = plain.lines().filter(|l| !l.starts_with('#'));
    lines.collect::<Vec<_>>().join("\n")
}

/// Words with single spaces, without spaces beside a star.
fn tidy(text: &str) -> String {
    let text = text.replace('*', " * ");
    let words: Vec<&str> = text.split_whitespace().collect();
    words
        .join(" ")
        .replace(" * ", "*")
        .replace(" *", "*")
        .replace("* ", "*")
}

/// The C type of a Rust type.
fn in_c(of: &str) -> String {
    let of = of.trim();
    if let Some(to) = of.strip_prefix("*const ") {
        return match to.trim().starts_with('*') {
            true => format!("{}const*", in_c(to)),
            false => format!("const {}*", in_c(to)),
        };
    }
    if let Some(to) = of.strip_prefix("*mut ") {
        return format!("{}*", in_c(to));
    }
    let name = match of {
        "i32" => "int32_t",
        "i64" => "int64_t",
        "u64" => "uint64_t",
        "usize" => "size_t",
        "f64" => "double",
        "c_int" => "int",
        "c_char" => "char",
        "c_void" => "void",
        "" => "void",
        other if other.starts_with("Remat") => other,
        other => panic!("{other} is no type of the header's"),
    };
    name.into()
}

/// Parameters, each as `name: type`, in C.
fn rust_parameters(text: &str) -> Vec<(String, String)> {
    let parts = text.split(',').map(str::trim).filter(|p| !p.is_empty());
    let one = |part: &str| {
        let (name, of) = part.split_once(':').expect("a name and a type");
        (name.trim().to_owned(), in_c(of))
    };
    parts.map(one).collect()
}

/// Declarations of C, each as `type name`.
fn c_parameters(text: &str) -> Vec<(String, String)> {
    let parts = text.split(',').map(tidy).filter(|p| p != "void");
    let one = |part: String| {
        let at = part.rfind([' ', '*']).expect("a type and a name") + 1;
        (part[at..].to_owned(), part[..at].trim().to_owned())
    };
    parts.map(one).collect()
}

/// Return type, and names and types of parameters.
type Signature = (String, Vec<(String, String)>);

/// Text between `text` and the end that follows it, and the rest.
fn until<'a>(text: &'a str, end: &str) -> (&'a str, &'a str) {
    text.split_once(end)
        .unwrap_or_else(|| panic!("no {end:?} after {:?}", &text[..60]))
}

fn functions_of_rust(code: &str) -> BTreeMap<String, Signature> {
    let mut all = BTreeMap::new();
    for part in code.split("#[unsafe(no_mangle)]").skip(1) {
        let (_, part) = until(part, "extern \"C\" fn ");
        let (name, part) = until(part, "(");
        let (parameters, part) = until(part, ")");
        let (result, _) = until(part, "{");
        let result = in_c(result.trim().trim_start_matches("->"));
        let old = all.insert(name.to_owned(), (result, rust_parameters(parameters)));
        assert!(old.is_none(), "{name} is there twice");
    }
    all
}

fn functions_of_c(header: &str) -> BTreeMap<String, Signature> {
    let mut all = BTreeMap::new();
    for part in header.split(';').filter(|p| !p.contains("typedef")) {
        let Some((before, rest)) = part.split_once('(') else {
            continue;
        };
        let before = tidy(before);
        let at = before.rfind([' ', '*']).expect("a type and a name") + 1;
        let (name, result) = (before[at..].to_owned(), before[..at].trim());
        // The brace of `extern "C"` stands before the first function.
        let result = result
            .rsplit('{')
            .next()
            .unwrap_or(result)
            .trim()
            .to_owned();
        let (parameters, _) = until(rest, ")");
        all.insert(name, (result, c_parameters(parameters)));
    }
    all
}

fn names<T>(of: &BTreeMap<String, T>) -> BTreeSet<&str> {
    of.keys().map(String::as_str).collect()
}

#[test]
fn prototypes_are_those_of_the_functions() {
    let (rust, c) = (
        functions_of_rust(&code(&folder("src"))),
        functions_of_c(&header()),
    );
    assert!(rust.len() > 60, "{} functions", rust.len());
    assert_eq!(names(&rust), names(&c));
    for (name, signature) in &rust {
        assert_eq!(signature, &c[name], "{name}");
    }
}

#[test]
fn callbacks_are_those_of_the_code() {
    let (code, header) = (code(&folder("src")), header());
    let mut rust = BTreeMap::new();
    for part in code.split("pub type ").skip(1) {
        let (name, part) = until(part, "=");
        let (parameters, part) = until(until(part, "extern \"C\" fn(").1, ")");
        let result = until(part, ">;").0.trim();
        let result = result.trim_start_matches("->").trim_end_matches(',');
        rust.insert(
            name.trim().to_owned(),
            (in_c(result), rust_parameters(parameters)),
        );
    }
    let mut c = BTreeMap::new();
    for part in header.split("typedef ").skip(1) {
        let part = until(part, ";").0;
        if let Some((result, rest)) = part.split_once("(*") {
            let (name, rest) = until(rest, ")(");
            let signature = (tidy(result), c_parameters(until(rest, ")").0));
            c.insert(name.to_owned(), signature);
        }
    }
    assert_eq!(rust.len(), 3);
    assert_eq!(rust, c);
}

#[test]
fn a_look_has_the_members_of_the_code() {
    let (code, header) = (code(&folder("src")), header());
    let rust = until(until(&code, "pub struct RematProgress {").1, "}").0;
    let rust = rust_parameters(&rust.replace("pub ", ""));
    let c = until(until(&header, "typedef struct RematProgress {").1, "}").0;
    assert_eq!(rust.len(), 6);
    assert_eq!(
        rust,
        c_parameters(c.trim().trim_end_matches(';').replace(';', ",").as_str())
    );
}

#[test]
fn numbers_are_those_of_the_code() {
    let mut rust = BTreeMap::new();
    for part in code(&folder("src")).split("pub const REMAT_").skip(1) {
        let (name, part) = until(part, ": c_int = ");
        let value: i32 = until(part, ";").0.parse().unwrap();
        rust.insert(format!("REMAT_{name}"), value);
    }
    let mut c = BTreeMap::new();
    for part in header().split("enum {").skip(1) {
        for each in until(part, "}").0.split(',') {
            let (name, value) = until(each, "=");
            c.insert(name.trim().to_owned(), value.trim().parse::<i32>().unwrap());
        }
    }
    assert!(rust.len() > 25, "{} numbers", rust.len());
    assert_eq!(rust, c);
}

fn assert_all_are_in(files: &[&str], is_called: impl Fn(&str, &str) -> bool) {
    let program: String = files.iter().map(|name| read(folder(name))).collect();
    let functions = functions_of_c(&header());
    let missing: Vec<_> = functions
        .keys()
        .filter(|name| !is_called(&program, name))
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn the_program_in_c_calls_every_function() {
    let files = ["tests/api.c", "tests/calls.c", "tests/search.c"];
    assert_all_are_in(&files, |program, name| {
        program.contains(&format!("{name}("))
    });
}

#[test]
fn the_hostile_program_calls_every_function_wrongly() {
    // These have no argument that can be wrong.
    let harmless = ["remat_create", "remat_last_error", "remat_version"];
    assert_all_are_in(&["tests/hostile.c"], |program, name| {
        let calls = [
            format!("{name}("),
            format!("CALL({name})"),
            format!("call_{name}("),
        ];
        harmless.contains(&name) || calls.iter().any(|call| program.contains(call))
    });
}

#[test]
fn every_option_is_explained() {
    let text = read(folder("include/remat_bb.h"));
    let options = read(folder("src/options.rs"));
    let place = until(until(&options, "fn place").1, "_ => return").0;
    let names: Vec<&str> = place.split('"').skip(1).step_by(2).collect();
    assert!(names.len() > 20, "{names:?}");
    let section = until(until(&text, "---- Options").1, "*/").0;
    let words: BTreeSet<&str> = section
        .split(|c: char| !(c == '_' || c.is_alphabetic()))
        .collect();
    for name in names {
        assert!(words.contains(name), "{name} is not explained");
    }
}
