//! Cross-crate tests: published schedules, brute force, malformed input, and the binary end to end.
//!
//! The tests are in `tests/tests/`; this library has their shared code.
#![deny(missing_docs)]
#![forbid(unsafe_code)]

pub mod alone;
pub mod brute;
pub mod chains;
pub mod class;
pub mod compact;
pub mod ends;
pub mod families;
pub mod graphs;
pub mod linked;
pub mod models;
pub mod monet;
pub mod monet_optimum;
pub mod orders;
pub mod place;
pub mod poet;
pub mod reorders;
pub mod traced;
pub mod whole;

/// Pages whose programs are run.
#[cfg(doctest)]
mod pages {
    #[doc = include_str!("../../docs/inside/extending/branching.md")]
    struct Branching;
    #[doc = include_str!("../../docs/inside/extending/cut.md")]
    struct Cut;
    #[doc = include_str!("../../docs/inside/extending/heuristic.md")]
    struct Heuristic;
    #[doc = include_str!("../../docs/inside/extending/presolve.md")]
    struct Presolve;
    #[doc = include_str!("../../docs/inside/extending/pricer.md")]
    struct Pricer;
    #[doc = include_str!("../../docs/inside/extending/propagator.md")]
    struct Propagator;
    #[doc = include_str!("../../docs/start/write-a-cut.md")]
    struct WriteACut;
}

use remat_instances::{Instance, Semantics};
use std::path::{Path, PathBuf};

/// A folder of the shared data, or `None` (and a printed reason) if the data are missing.
///
/// The data are beside the repository, in `../shared/data`; they are not part of it.
pub fn shared_data(folder: &str) -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let path = root.join("shared/data").join(folder);
    if path.is_dir() {
        return Some(path);
    }
    println!("skipped: {} is not there", path.display());
    None
}

/// The files of a folder with an extension, sorted by name.
pub fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return Vec::new();
    };
    let mut files: Vec<_> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|e| e == extension))
        .collect();
    files.sort();
    files
}

/// The instance of a file, as the program of a schedule or plan sees it.
///
/// # Panics
/// If the file cannot be read.
pub fn instance_seen_by(path: &Path, semantics: Semantics) -> Instance {
    let instance = remat_instances::read(path).unwrap_or_else(|e| panic!("{e}"));
    match semantics {
        Semantics::Checkmate => instance.single_implementation_view(),
        Semantics::Monet => instance,
    }
}
