//! Outputs: files that are whole or missing, and standard output, whose reader may close it.

use super::temporary_folder;
use crate::colour;
use crate::failure::{self, Failure, note};
use crate::interrupt;
use crate::visible::{is_stream, shown, visible};
use remat_lp::{encode, whole_file};
use std::borrow::Cow;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

/// Writes text to standard output. A closed pipe is no error.
///
/// # Errors
/// [`Failure::Write`] for other errors, such as a full disk behind a redirection.
pub fn print(text: &str) -> Result<(), Failure> {
    let text = colour::on_terminal(visible(text).to_string());
    print_bytes(text.as_bytes())
}

/// True after the first output to standard output.
static PRINTED: AtomicBool = AtomicBool::new(false);

/// Returns whether standard output has a result, which an error must not follow.
pub fn printed() -> bool {
    PRINTED.load(Ordering::Relaxed)
}

fn print_bytes(bytes: &[u8]) -> Result<(), Failure> {
    PRINTED.store(true, Ordering::Relaxed);
    let mut out = std::io::stdout().lock();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Err(e) if e.kind() != ErrorKind::BrokenPipe => {
            Err(unwritten(Path::new("standard output"), e.to_string(), None))
        }
        _ => Ok(()),
    }
}

/// The outcome of several outputs: all results, or the last failure. Earlier failures are shown.
///
/// # Errors
/// The last of the failures.
pub fn each<T>(outcomes: impl IntoIterator<Item = Result<T, Failure>>) -> Result<Vec<T>, Failure> {
    let mut done = Vec::new();
    let mut failed = None;
    for outcome in outcomes {
        match outcome {
            Ok(one) => done.push(one),
            Err(problem) => {
                if let Some(earlier) = failed.replace(problem) {
                    failure::show(earlier);
                }
            }
        }
    }
    match failed {
        Some(problem) => Err(problem),
        None => Ok(done),
    }
}

/// The tested outputs of a command.
#[derive(Clone, Copy, Debug)]
pub struct Files {
    /// True if results are one JSON object on standard output.
    json: bool,
    /// True if a file goes to standard output.
    streams: bool,
}

impl Files {
    /// Tests the outputs of a command before long work; each has the option that names it. Their
    /// folders must exist and accept files. An output may not be an input or another output, under
    /// any name, and at most one goes to standard output.
    ///
    /// # Errors
    /// [`Failure::Write`] and [`Failure::Usage`].
    pub fn tried(
        json: bool,
        inputs: &[&Path],
        outputs: &[(&str, Option<&Path>)],
    ) -> Result<Self, Failure> {
        let outputs = || {
            let named = outputs.iter();
            named.filter_map(|&(option, path)| Some((option, path?)))
        };
        interrupt::discard_parts();
        let mut streams = outputs().filter(|(_, path)| is_stream(path));
        let files = Files {
            json,
            streams: streams.next().is_some(),
        };
        let second = streams.next().map(|(option, _)| option);
        if let Some(other) = second.or((files.streams && json).then_some("--json")) {
            return Err(Failure::Usage {
                problem: format!(
                    "`-` is standard output, which one output can go to: {other} is another"
                ),
                remedy: "name a file".into(),
            });
        }
        let mut known: Vec<(Identity, String)> = Vec::new();
        for input in inputs {
            known.extend(Identity::of(input).map(|id| (id, "it is an input".into())));
        }
        for (option, path) in outputs() {
            if is_stream(path) {
                continue;
            }
            whole_file::attempt(path).map_err(|e| {
                let remedy = "name a file in a folder that is there and that you may write to";
                unwritten(path, e.to_string(), Some(remedy.into()))
            })?;
            let Some(id) = Identity::of(path) else {
                continue;
            };
            if let Some((_, problem)) = known.iter().find(|(other, _)| *other == id) {
                let remedy = "give it a name of its own";
                return Err(unwritten(path, problem.clone(), Some(remedy.into())));
            }
            known.push((id, format!("{option} goes to the same file")));
        }
        Ok(files)
    }

    /// Prints a command's results on standard output, or on standard error if a file goes to
    /// standard output.
    ///
    /// # Errors
    /// As [`print()`].
    pub fn print(&self, text: &str) -> Result<(), Failure> {
        if self.streams {
            // If this fails, there is no other place for it.
            let _ = std::io::stderr().write_all(visible(text).as_bytes());
            return Ok(());
        }
        print(text)
    }

    /// Writes a file, gzipped if its name ends in `.gz`. If that fails, the text goes to a new
    /// folder among the temporary files, or to standard output, and the failure names the place.
    ///
    /// # Errors
    /// [`Failure::Write`] has the message of the system.
    pub fn write(&self, path: &Path, text: &str) -> Result<(), Failure> {
        if is_stream(path) {
            return print_bytes(text.as_bytes());
        }
        self.whole(path, text.as_bytes(), |path| encode(path, text))
    }

    /// Writes a file of bytes as they are. If that fails, they go where those of
    /// [`write`](Self::write) go.
    ///
    /// # Errors
    /// [`Failure::Write`] has the message of the system.
    pub fn write_bytes(&self, path: &Path, bytes: &[u8]) -> Result<(), Failure> {
        if is_stream(path) {
            return print_bytes(bytes);
        }
        self.whole(path, bytes, |_| Ok(bytes.into()))
    }

    fn whole<'t>(
        &self,
        path: &Path,
        plain: &[u8],
        encoded: impl Fn(&Path) -> std::io::Result<Cow<'t, [u8]>>,
    ) -> Result<(), Failure> {
        interrupt::discard_parts();
        let write = |path: &Path| whole_file::write(path, &[&encoded(path)?]);
        let elsewhere = || -> std::io::Result<PathBuf> {
            let folder = temporary_folder()?;
            let name = path.file_name().unwrap_or_default();
            write(&folder.path().join(name))?;
            Ok(folder.keep().join(name))
        };
        write(path).map_err(|e| {
            let remedy = match elsewhere() {
                Ok(other) => format!("it was written to {} instead", shown(&other)),
                Err(_) if self.json || self.streams => "it is lost".into(),
                Err(_) => match print_bytes(plain) {
                    Ok(()) => "it was written to standard output instead".into(),
                    Err(_) => "it is lost".into(),
                },
            };
            unwritten(path, e.to_string(), Some(remedy))
        })
    }

    /// Notes that a run without a result keeps the file of an earlier run.
    pub fn left(&self, path: &Path) {
        if !is_stream(path) && path.is_file() {
            let text = format!("{} is of an earlier run and was left as it is", shown(path));
            note(&text, false);
        }
    }
}

fn unwritten(file: &Path, problem: String, remedy: Option<String>) -> Failure {
    Failure::Write {
        file: file.into(),
        problem,
        remedy,
    }
}

/// The identity of a file under any name: its node on the disk, or the path of a new file.
#[derive(PartialEq)]
enum Identity {
    #[cfg(unix)]
    There {
        device: u64,
        node: u64,
    },
    Name(PathBuf),
}

impl Identity {
    /// The identity of a regular or new file; `None` for others, such as a device.
    fn of(path: &Path) -> Option<Self> {
        let target = whole_file::target(path).ok()?;
        if let Ok(found) = std::fs::metadata(&target) {
            if !found.is_file() {
                return None;
            }
            #[cfg(unix)]
            {
                use std::os::unix::fs::MetadataExt;
                return Some(Identity::There {
                    device: found.dev(),
                    node: found.ino(),
                });
            }
        }
        let folder = target.parent().filter(|p| !p.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new(".")).canonicalize().ok()?;
        Some(Identity::Name(folder.join(target.file_name()?)))
    }
}
