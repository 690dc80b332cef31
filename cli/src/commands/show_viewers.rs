//! Files of `remat-bb show` for viewers: trace events, memory snapshots and CSV.

use crate::arguments::ShowArguments;
use crate::failure::Failure;
use crate::files::Files;
use std::path::Path;

/// Contents of the files, made when they are requested.
pub struct Contents<T, S, C> {
    pub trace: T,
    pub snapshot: S,
    pub csv: C,
}

/// The requested files, each with the option that names it.
pub fn outputs(arguments: &ShowArguments) -> [(&'static str, Option<&Path>); 3] {
    [
        ("--trace", arguments.trace.as_deref()),
        ("--snapshot", arguments.snapshot.as_deref()),
        ("--csv", arguments.csv.as_deref()),
    ]
}

/// Checks that the viewer can read the requested files.
///
/// # Errors
/// [`Failure::Usage`] for a gzipped snapshot.
pub fn check(arguments: &ShowArguments) -> Result<(), Failure> {
    let snapshot = arguments.snapshot.as_deref();
    match snapshot.and_then(Path::extension) {
        Some(ending) if ending == "gz" => Err(Failure::Usage {
            problem: "--snapshot: the viewers of PyTorch read no gzipped file".into(),
            remedy: "name it without .gz, for example memory.pickle".into(),
        }),
        _ => Ok(()),
    }
}

/// Writes the requested files.
///
/// # Errors
/// [`Failure`] for contents that cannot be made, and files that cannot be written.
pub fn write(
    files: &Files,
    arguments: &ShowArguments,
    contents: Contents<
        impl FnOnce() -> Result<String, Failure>,
        impl FnOnce() -> Result<Vec<u8>, Failure>,
        impl FnOnce() -> String,
    >,
) -> Result<(), Failure> {
    if let Some(path) = &arguments.trace {
        files.write(path, &(contents.trace)()?)?;
    }
    if let Some(path) = &arguments.snapshot {
        files.write_bytes(path, &(contents.snapshot)()?)?;
    }
    if let Some(path) = &arguments.csv {
        files.write(path, &(contents.csv)())?;
    }
    Ok(())
}
