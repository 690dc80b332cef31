//! Output: files that are whole or not there, and standard output whose reader may go away.

use crate::failure::Failure;
use crate::visible::visible;
use std::io::{ErrorKind, Write};
use std::path::Path;

/// Writes text to standard output. A reader that went away (a closed pipe) is no error.
///
/// # Errors
/// [`Failure::Write`] for anything else, such as a full disk behind a redirection.
pub fn print(text: &str) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    match out
        .write_all(visible(text).as_bytes())
        .and_then(|()| out.flush())
    {
        Err(e) if e.kind() != ErrorKind::BrokenPipe => Err(Failure::Write {
            file: "standard output".into(),
            problem: e.to_string(),
            remedy: None,
        }),
        _ => Ok(()),
    }
}

/// Checks, before long work, that a file can be made where it is wanted.
///
/// # Errors
/// [`Failure::Write`] where the folder is missing or the name is a folder.
pub fn check_writable(path: &Path) -> Result<(), Failure> {
    let fail = |problem: &str, remedy: &str| {
        Err(Failure::Write {
            file: path.into(),
            problem: problem.into(),
            remedy: Some(remedy.into()),
        })
    };
    if path.is_dir() {
        return fail("it is a folder", "give the name of a file in it");
    }
    if path.file_name().is_none() {
        return fail("it has no file name", "give the name of a file");
    }
    if !folder(path).is_dir() {
        return fail("its folder does not exist", "make the folder first");
    }
    Ok(())
}

/// Has `make` write a file under a name beside `path`, with the same ending, and moves it there, so
/// that nobody ever sees half of it. `make` says in words what went wrong.
///
/// # Errors
/// [`Failure::Write`].
pub fn write_by(
    path: &Path,
    make: impl FnOnce(&Path) -> Result<(), String>,
) -> Result<(), Failure> {
    check_writable(path)?;
    let fail = |problem: String| Failure::Write {
        file: path.into(),
        problem,
        remedy: None,
    };
    if path.exists() && !path.is_file() {
        return make(path).map_err(fail);
    }
    let mut name = std::ffi::OsString::from(format!(".{}.part.", std::process::id()));
    name.push(path.file_name().unwrap_or_default());
    let part = folder(path).join(name);
    let moved = |()| std::fs::rename(&part, path).map_err(|e| e.to_string());
    make(&part).and_then(moved).map_err(|problem| {
        let _ = std::fs::remove_file(&part);
        fail(problem)
    })
}

/// Writes a file as [`write()`] does, gzipped if its name ends in `.gz`.
///
/// # Errors
/// As [`write()`].
pub fn write_packed(path: &Path, text: &str) -> Result<(), Failure> {
    if path.extension().is_none_or(|e| e != "gz") {
        return write(path, text);
    }
    write_by(path, |part| {
        let pack = || -> std::io::Result<()> {
            let file = std::fs::File::create(part)?;
            let mut packed = flate2::write::GzEncoder::new(file, flate2::Compression::default());
            packed.write_all(text.as_bytes())?;
            packed.finish()?.sync_all()
        };
        pack().map_err(|e| e.to_string())
    })
}

/// Writes a file: first beside it, then moved over it, so that nobody ever sees half of it.
///
/// # Errors
/// [`Failure::Write`] says what the system said.
pub fn write(path: &Path, text: &str) -> Result<(), Failure> {
    check_writable(path)?;
    let fail = |e: std::io::Error| Failure::Write {
        file: path.into(),
        problem: e.to_string(),
        remedy: None,
    };
    // A device or a pipe is written to, not replaced.
    if path.exists() && !path.is_file() {
        return std::fs::write(path, text).map_err(fail);
    }
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(format!(".{}.part", std::process::id()));
    let part = folder(path).join(name);
    let written = std::fs::write(&part, text).and_then(|()| std::fs::rename(&part, path));
    written.map_err(|e| {
        let _ = std::fs::remove_file(&part);
        fail(e)
    })
}

fn folder(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}
