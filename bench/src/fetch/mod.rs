//! Data of others: downloads, and checks of size and hash.
//!
//! | module | concept |
//! |---|---|
//! | [`arguments`] | arguments of `remat-bench fetch` |
//! | [`manifest`] | suites, addresses and hashes; `bench/data.toml` is built in |

pub mod arguments;
pub mod manifest;

use crate::library::index::sha256;
use arguments::FetchArguments;
use manifest::{DataFile, Manifest, Suite};
use remat_bb::failure::{Exit, Failure};
use remat_bb::files::{self, Files};
use remat_bb::visible::shown;
use remat_lp::whole_file;
use std::path::Path;
use std::process::{Command, Stdio};

/// Faults that one message lists; the others are counted.
const FAULTS_LISTED_LIMIT: usize = 5;

/// Downloads suites, or checks them.
///
/// # Errors
/// [`Failure::Usage`] for unknown suites, and for files that are missing or wrong, with expected
/// and found hash; [`Failure::Write`] for files that cannot be written.
pub fn run(arguments: &FetchArguments) -> Result<Exit, Failure> {
    let manifest = match &arguments.manifest {
        Some(path) => {
            let input = files::text(path)?;
            let text = String::from_utf8_lossy(&input.bytes);
            Manifest::parse(&input.name, &text)?
        }
        None => Manifest::built_in()?,
    };
    let chosen = manifest.chosen(&arguments.suites)?;
    let files = Files::tried(false, &[], &[])?;
    let mut faults = Vec::new();
    for suite in chosen {
        let folder = arguments.into.join(&suite.name);
        if !arguments.check {
            std::fs::create_dir_all(&folder).map_err(|e| unwritten(&folder, &e))?;
        }
        let mut fetched = 0;
        let before = faults.len();
        for file in &suite.files {
            let path = folder.join(&file.name);
            match found(&path)? {
                Some(bytes) => faults.extend(fault(&shown(&path), file, &bytes)),
                None if arguments.check => faults.push(format!("{} is missing", shown(&path))),
                None => {
                    download(suite, file, &path)?;
                    fetched += 1;
                }
            }
        }
        let (all, wrong) = (suite.files.len(), faults.len() - before);
        files.print(&format!(
            "{}: {} of {all} files are right, {fetched} downloaded\n",
            suite.name,
            all - wrong
        ))?;
    }
    if arguments.suites.is_empty() {
        for suite in manifest.suites.iter().filter(|s| s.source.is_none()) {
            let Suite { name, page, .. } = suite;
            files.print(&format!("{name}: no stable address; ask at {page}\n"))?;
        }
    }
    match faults.is_empty() {
        true => Ok(Exit::Done),
        false => Err(refused(&faults, arguments.check)),
    }
}

/// The content of a file; `None` if it is missing.
fn found(path: &Path) -> Result<Option<Vec<u8>>, Failure> {
    match std::fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(e) => Err(Failure::Open {
            file: shown(path),
            problem: e.to_string(),
            remedy: None,
        }),
    }
}

/// The difference between content and manifest in words; `None` if they agree.
fn fault(name: &dyn std::fmt::Display, file: &DataFile, bytes: &[u8]) -> Option<String> {
    let hash = sha256(bytes);
    (hash != file.sha256).then(|| {
        let (expected, count) = (&file.sha256, bytes.len());
        format!(
            "{name} has {count} bytes with the SHA-256 {hash}, expected are {} with {expected}",
            file.bytes
        )
    })
}

fn unwritten(path: &Path, error: &std::io::Error) -> Failure {
    Failure::Write {
        file: path.into(),
        problem: error.to_string(),
        remedy: Some("name a folder that you may write to".into()),
    }
}

/// The failure that lists faults of files in a folder.
fn refused(faults: &[String], is_check: bool) -> Failure {
    let listed = faults.len().min(FAULTS_LISTED_LIMIT);
    let mut problem = faults[..listed].join("\n");
    if faults.len() > listed {
        problem += &format!("\nand {} other files", faults.len() - listed);
    }
    let remedy = match is_check {
        true => "delete wrong files, and call `remat-bench fetch` without --check",
        false => "delete wrong files, and call `remat-bench fetch` again",
    };
    Failure::Usage {
        problem,
        remedy: remedy.into(),
    }
}

/// Downloads a file, checks it, and writes it whole.
fn download(suite: &Suite, file: &DataFile, path: &Path) -> Result<(), Failure> {
    let Some(address) = suite.address(file) else {
        return Ok(());
    };
    let ask = |problem: String| Failure::Usage {
        problem,
        remedy: format!(
            "call the command again; the page of the suite is {}",
            suite.page
        ),
    };
    let mut curl = Command::new("curl");
    curl.args(["--fail", "--silent", "--show-error", "--location"])
        .args([
            "--proto",
            "=https,file",
            "--connect-timeout",
            "30",
            "--",
            &address,
        ])
        .stdin(Stdio::null());
    let output = curl.output().map_err(|e| Failure::Open {
        file: "curl".into(),
        problem: e.to_string(),
        remedy: Some("install curl: it downloads the files".into()),
    })?;
    if !output.status.success() {
        let words = String::from_utf8_lossy(&output.stderr);
        return Err(ask(format!("{address}: {}", words.trim())));
    }
    match fault(&address, file, &output.stdout) {
        Some(problem) => Err(ask(problem)),
        None => whole_file::write(path, &[&output.stdout]).map_err(|e| unwritten(path, &e)),
    }
}
