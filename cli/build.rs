//! Tells the program of which commit it is, and where libtorch is when it is built with it.

use std::path::Path;
use std::process::Command;

/// Crates that the program is made of.
const CRATES: [&str; 11] = [
    "check",
    "cli",
    "formulations/memory",
    "formulations/models",
    "formulations/search",
    "formulations/training",
    "gpu-exec",
    "instances",
    "lp",
    "report",
    "solver",
];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // Told by remat-gpu-exec's build script, with the feature `torch`.
    if let Ok(lib) = std::env::var("DEP_REMAT_SHIM_LIBTORCH_LIB") {
        println!("cargo::rustc-link-arg=-Wl,-rpath,{lib}");
    }
    // Builds for tests have no commit: they would be compiled again after each.
    if std::env::var("PROFILE").is_ok_and(|profile| profile == "release") {
        tell_commit();
    }
}

/// Tells the commit where this crate lies in its repository: not as a package, which may lie in somebody else's.
fn tell_commit() {
    let root = Path::new("..").canonicalize().ok();
    let of_git =
        git(&["rev-parse", "--show-toplevel"]).and_then(|p| Path::new(&p).canonicalize().ok());
    if root.is_none() || root != of_git {
        return;
    }
    for name in CRATES {
        println!("cargo::rerun-if-changed=../{name}/src");
    }
    if let Some(log) = git(&["rev-parse", "--git-path", "logs/HEAD"]) {
        println!("cargo::rerun-if-changed={log}");
    }
    if let Some(commit) = git(&["describe", "--always", "--dirty"]) {
        println!("cargo::rustc-env=REMAT_BB_COMMIT={commit}");
        let version = std::env::var("CARGO_PKG_VERSION").unwrap_or_default();
        println!("cargo::rustc-env=REMAT_BB_VERSION={version} ({commit})");
    }
}

/// What a command of git prints; nothing where it fails.
fn git(words: &[&str]) -> Option<String> {
    let output = Command::new("git").args(words).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    (output.status.success() && !text.trim().is_empty()).then(|| text.trim().to_owned())
}
