//! The dependencies between the crates, compared with `docs/inside/architecture.md`.

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

/// Folders of the crates.
const FOLDERS: [&str; 16] = [
    "lp",
    "solver",
    "instances",
    "check",
    "formulations/search",
    "formulations/memory",
    "formulations/training",
    "formulations/pipeline",
    "formulations/models",
    "report",
    "gpu-exec",
    "cli",
    "capi",
    "python",
    "bench",
    "tests",
];

/// For each crate, the workspace's crates that the product depends on, not counting tests and build
/// scripts.
fn arrows() -> BTreeMap<String, BTreeSet<String>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let output = Command::new(env!("CARGO"))
        .args([
            "metadata",
            "--format-version",
            "1",
            "--no-deps",
            "--offline",
        ])
        .current_dir(root)
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{output:?}");
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let packages = metadata["packages"].as_array().expect("packages");
    let names: BTreeSet<String> = packages.iter().map(|p| text(&p["name"])).collect();
    let of = |package: &Value| {
        let all = package["dependencies"].as_array().expect("dependencies");
        let product = all.iter().filter(|d| d["kind"].is_null());
        let own = product.map(|d| text(&d["name"]));
        own.filter(|name| names.contains(name)).collect()
    };
    packages
        .iter()
        .map(|package| (text(&package["name"]), of(package)))
        .collect()
}

#[test]
fn the_judges_depend_on_instances_alone_and_no_arrow_runs_back() {
    let arrows = arrows();
    let of = |name: &str| -> Vec<&str> { arrows[name].iter().map(String::as_str).collect() };
    assert_eq!(of("remat-check"), ["remat-instances"]);
    assert_eq!(of("remat-lp"), [""; 0]);
    assert_eq!(of("remat-instances"), [""; 0]);
    assert_eq!(of("remat-solver"), ["remat-lp"]);
    let engine = ["remat-instances", "remat-lp"];
    let above = |floors: &[&'static str]| [&engine[..], floors].concat();
    assert_eq!(of("remat-search"), above(&["remat-solver"]));
    assert_eq!(of("remat-memory"), above(&["remat-search"]));
    assert_eq!(
        of("remat-formulations"),
        above(&["remat-memory", "remat-search", "remat-solver"])
    );
    let pipeline = ["remat-formulations", "remat-instances", "remat-search"];
    assert_eq!(of("remat-pipeline"), pipeline);
    let grid = [
        "remat-formulations",
        "remat-instances",
        "remat-lp",
        "remat-pipeline",
        "remat-search",
    ];
    assert_eq!(of("remat-grid"), grid);
    let shown = [
        "remat-formulations",
        "remat-grid",
        "remat-instances",
        "remat-memory",
        "remat-pipeline",
        "remat-search",
    ];
    assert_eq!(of("remat-report"), shown);
    let models = [
        "remat-formulations",
        "remat-lp",
        "remat-memory",
        "remat-search",
        "remat-solver",
    ];
    assert_eq!(of("remat-models"), models);
    let outside = [
        "remat-formulations",
        "remat-instances",
        "remat-search",
        "remat-solver",
    ];
    assert_eq!(of("remat-outside"), outside);
    assert!(!arrows["remat-gpu-exec"].contains("remat-bb"));
}

/// Names after a prefix in a source: `crate::a::b` and `crate::{a::b, c}` name `a`, and `a` and
/// `c`, after `crate::`.
fn named(source: &str, prefix: &str) -> BTreeSet<String> {
    let name = |text: &str| -> String {
        let letters = |c: &char| c.is_alphanumeric() || *c == '_';
        text.trim_start().chars().take_while(letters).collect()
    };
    let mut names = BTreeSet::new();
    for (at, found) in source.match_indices(prefix) {
        let rest = &source[at + found.len()..];
        if !rest.starts_with('{') {
            names.insert(name(rest));
            continue;
        }
        let mut depth = 0;
        for (k, c) in rest.char_indices() {
            match c {
                '{' => depth += 1,
                '}' => depth -= 1,
                _ => {}
            }
            if (c == '{' || c == ',') && depth == 1 {
                names.insert(name(&rest[k + 1..]));
            }
            if depth == 0 {
                break;
            }
        }
    }
    names
}

/// The source without comments and without its tests.
fn product(source: &str) -> String {
    let product = source.split("#[cfg(test)]\nmod").next().unwrap_or_default();
    let code = product
        .lines()
        .map(|l| l.split("//").next().unwrap_or_default());
    code.collect::<Vec<_>>().join("\n")
}

/// The modules of a folder, each with the modules that it names; `prefix` is the folder's path in
/// its crate.
fn modules(source: &Path, prefix: &str) -> BTreeMap<String, BTreeSet<String>> {
    let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut folders = vec![source.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let inside = path.strip_prefix(source).expect("inside");
            let first = inside.components().next().expect("a name");
            let module = Path::new(first.as_os_str()).with_extension("");
            let module = module.to_string_lossy().into_owned();
            let file = path.file_stem().unwrap_or_default().to_string_lossy();
            let is_test = file.contains("tests") || file == "fixtures";
            let is_source = path.extension().is_some_and(|end| end == "rs") && !is_test;
            if !is_source || ["lib", "main", "mod"].contains(&module.as_str()) {
                continue;
            }
            let text = product(&std::fs::read_to_string(&path).expect("a source"));
            let depth = inside.components().count() - usize::from(file == "mod");
            let names = found.entry(module).or_default();
            names.extend(named(&text, prefix));
            names.extend(named(&text, &"super::".repeat(depth)));
        }
    }
    found
}

/// Folders inside crates whose modules may not form cycles either, with their paths.
const ROOMS: [(&str, &str); 2] = [
    ("solver/src/mip", "crate::mip::"),
    ("check/src/proof", "crate::proof::"),
];

#[test]
fn no_modules_of_a_crate_or_a_room_need_each_other() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let crates = FOLDERS.map(|folder| (format!("{folder}/src"), "crate::"));
    let rooms = ROOMS.map(|(folder, prefix)| (folder.to_owned(), prefix));
    for (folder, prefix) in crates.into_iter().chain(rooms) {
        let modules = modules(&root.join(&folder), prefix);
        // Modules without dependencies are removed again and again; the rest has a cycle.
        let mut left: BTreeSet<&str> = modules.keys().map(String::as_str).collect();
        while let Some(free) = left.iter().copied().find(|name| {
            let mut needs = modules[*name].iter().map(String::as_str);
            !needs.any(|other| other != *name && left.contains(other))
        }) {
            left.remove(free);
        }
        assert!(
            left.is_empty(),
            "{folder}: {left:?} go round, or need those that do"
        );
    }
}

/// Dependencies of a manifest's section `[dependencies]`, as code names them.
fn dependencies(manifest: &str) -> Vec<String> {
    let section = manifest.split("\n[dependencies]\n").nth(1).unwrap_or("");
    let section = section.split("\n[").next().unwrap_or("");
    let names = section
        .lines()
        .filter(|line| !line.starts_with('#') && !line.contains("optional"));
    let name = |line: &str| {
        let end = line.find(['.', ' ', '=']);
        end.map(|end| line[..end].replace('-', "_"))
    };
    names.filter_map(name).collect()
}

/// All sources of a folder, one after another.
fn sources(folder: &Path) -> String {
    let mut text = String::new();
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            text += &sources(&path);
        } else if path.extension().is_some_and(|end| end == "rs") {
            text += &std::fs::read_to_string(&path).expect("a source");
        }
    }
    text
}

#[test]
fn no_crate_has_a_dependency_that_it_does_not_use() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for folder in FOLDERS {
        let folder = root.join(folder);
        let manifest = std::fs::read_to_string(folder.join("Cargo.toml")).expect("a manifest");
        let text = sources(&folder.join("src"));
        for name in dependencies(&manifest) {
            let uses = [format!("{name}::"), format!("use {name};")];
            // An allocator is used by its type name alone.
            let is_used = uses.iter().any(|u| text.contains(u)) || name == "mimalloc";
            assert!(is_used, "{}: {name}", folder.display());
        }
    }
}
