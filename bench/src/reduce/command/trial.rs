//! Tries: a command run on a file, its output watched for texts, its time limited.

use remat_bb::failure::Failure;
use remat_bb::{files, interrupt};
use remat_lp::temporary::Temporary;
use std::ffi::OsString;
use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Longest pause between two checks of a running command.
const LONGEST_PAUSE: Duration = Duration::from_millis(20);

/// Word that stands for the file in a command.
const FILE: &str = "{}";

/// Word that stands for the settings.
const PARAMS: &str = "{params}";

/// End of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// With an exit code.
    Code(i32),
    /// By a signal.
    Signal(i32),
    /// By the limit of a try.
    TimedOut,
    /// By the end of the reduction: the run does not count.
    Stopped,
}

impl std::fmt::Display for Ended {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Ended::Code(code) => write!(f, "exit code {code}"),
            Ended::Signal(signal) => write!(f, "signal {signal}"),
            Ended::TimedOut => write!(f, "the limit of a try"),
            Ended::Stopped => write!(f, "an interrupt"),
        }
    }
}

/// A run: its end, and the texts that its output had.
#[derive(Clone, Debug)]
pub struct Ran {
    /// Its end.
    pub ended: Ended,
    /// For each text of interest, whether the output had it.
    seen: Vec<bool>,
    /// Time of the run.
    pub time: Duration,
}

/// Runs that count as failing.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// Accepted ends; empty if every end is accepted.
    pub exits: Vec<Ended>,
    /// Texts that must all be in the output.
    pub texts: Vec<String>,
    /// Texts that must not be in the output.
    pub without: Vec<String>,
    /// True if a run that exceeds the limit of a try counts.
    pub timeout: bool,
}

impl Wanted {
    /// Returns whether a condition other than the time limit is stated.
    pub fn is_stated(&self) -> bool {
        !(self.exits.is_empty() && self.texts.is_empty() && self.without.is_empty())
    }

    /// Reason why a run's output does not match, as the end of a sentence.
    pub fn missing(&self, ran: &Ran) -> String {
        let (texts, without) = ran.seen.split_at(self.texts.len());
        let absent = self.texts.iter().zip(texts).filter(|(_, seen)| !**seen);
        let present = self.without.iter().zip(without).filter(|(_, seen)| **seen);
        let absent = absent.map(|(text, _)| format!(", its output has no {text:?}"));
        let present = present.map(|(text, _)| format!(", its output has {text:?}"));
        absent.chain(present).collect()
    }

    /// Returns whether a run failed in the wanted way.
    pub fn holds(&self, ran: &Ran) -> bool {
        match ran.ended {
            Ended::TimedOut => self.timeout,
            Ended::Stopped => false,
            ended => {
                let (texts, without) = ran.seen.split_at(self.texts.len());
                self.is_stated()
                    && (self.exits.is_empty() || self.exits.contains(&ended))
                    && texts.iter().all(|seen| *seen)
                    && !without.iter().any(|seen| *seen)
            }
        }
    }
}

/// The command, and the state of its tries.
pub struct Trials {
    command: Vec<OsString>,
    /// Runs that count as failing.
    pub wanted: Wanted,
    /// Time of a try.
    pub limit: Option<Duration>,
    /// Moment at which the reduction ends.
    pub deadline: Option<Instant>,
    /// Set by an interrupt, or at the deadline.
    pub stop: std::sync::Arc<AtomicBool>,
    /// Deleted when the tries have ended.
    folder: Temporary,
    count: AtomicU64,
}

impl Trials {
    /// Tries of a command, in a new folder among the temporary files.
    ///
    /// # Errors
    /// [`Failure`] if settings and `{params}` are not given together, or if the folder cannot be
    /// made.
    pub fn new(command: &[OsString], has_params: bool, wanted: Wanted) -> Result<Self, Failure> {
        let names = |what: &str| {
            let mut words = command.iter();
            words.any(|word| word.to_string_lossy().contains(what))
        };
        if has_params != names(PARAMS) {
            let problem = match has_params {
                true => "there are settings, and COMMAND has no {params} for their file",
                false => "COMMAND has {params}, and there are no settings",
            };
            return Err(Failure::Usage {
                problem: problem.into(),
                remedy: "give both: --params FILE, and {params} in COMMAND".into(),
            });
        }
        let mut command = command.to_vec();
        if !names(FILE) {
            command.push(FILE.into());
        }
        let folder = files::temporary_folder();
        let folder = folder.map_err(|e| unwritten(&std::env::temp_dir(), &e))?;
        Ok(Trials {
            command,
            wanted,
            limit: None,
            deadline: None,
            stop: interrupt::flag(),
            folder,
            count: AtomicU64::new(0),
        })
    }

    /// Runs the command on a file with these bytes and this name, and on settings.
    ///
    /// # Errors
    /// [`Failure`] for files that cannot be written and commands that cannot be run.
    pub fn run(&self, file: (&str, &[u8]), params: Option<(&str, &str)>) -> Result<Ran, Failure> {
        let count = self.count.fetch_add(1, Ordering::Relaxed);
        let folder = self.folder.path().join(count.to_string());
        let ran = self.run_in(&folder, file, params);
        // Files that the command left there are deleted too.
        let _ = std::fs::remove_dir_all(&folder);
        ran
    }

    fn run_in(
        &self,
        folder: &Path,
        (name, bytes): (&str, &[u8]),
        params: Option<(&str, &str)>,
    ) -> Result<Ran, Failure> {
        let write = |path: &Path, bytes: &[u8]| {
            let folder = path.parent().unwrap_or(path);
            let written =
                std::fs::create_dir_all(folder).and_then(|()| std::fs::write(path, bytes));
            written.map_err(|e| unwritten(path, &e))
        };
        let file = folder.join(name);
        write(&file, bytes)?;
        // A separate folder, because both files may have the same name.
        let settings = params.map(|(name, _)| folder.join("params").join(name));
        if let (Some(path), Some((_, text))) = (&settings, params) {
            write(path, text.as_bytes())?;
        }
        let words: Vec<OsString> = (self.command.iter())
            .map(|word| placed(word, &file, settings.as_deref()))
            .collect();
        self.watch(&words)
    }

    /// Runs a command to its end.
    fn watch(&self, words: &[OsString]) -> Result<Ran, Failure> {
        let begun = Instant::now();
        let mut command = Command::new(&words[0]);
        command
            .args(&words[1..])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        // A separate process group, so that its descendants can be ended with it.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let mut child = command.spawn().map_err(|e| Failure::Usage {
            problem: format!("cannot run `{}`: {e}", words[0].to_string_lossy()),
            remedy: "give a program that is there, with its arguments, behind `--`; a line for a \
                     shell as sh -c 'LINE'"
                .into(),
        })?;
        let (out, err) = (child.stdout.take(), child.stderr.take());
        let texts: Vec<&str> = (self.wanted.texts.iter())
            .chain(&self.wanted.without)
            .map(String::as_str)
            .collect();
        let (ended, seen) = std::thread::scope(|scope| {
            let texts = &texts;
            let out = scope.spawn(move || found(out, texts));
            let err = scope.spawn(move || found(err, texts));
            let ended = self.wait(&mut child, begun);
            // A descendant that is still running would keep the output open.
            end(&mut child);
            let (out, err) = (out.join(), err.join());
            let seen = out.unwrap_or_default().into_iter();
            let both = seen.zip(err.unwrap_or_default());
            (ended, both.map(|(out, err)| out || err).collect())
        });
        let ended = ended.map_err(|e| Failure::Usage {
            problem: format!("`{}`: {e}", words[0].to_string_lossy()),
            remedy: "allow more processes (`ulimit -a`)".into(),
        })?;
        Ok(Ran {
            ended,
            seen,
            time: begun.elapsed(),
        })
    }

    /// Waits for the end of a command, or for a reason to end it.
    fn wait(&self, child: &mut Child, begun: Instant) -> std::io::Result<Ended> {
        let mut pause = Duration::from_millis(1);
        loop {
            if let Some(status) = child.try_wait()? {
                return Ok(ended(status));
            }
            let now = Instant::now();
            if self.deadline.is_some_and(|deadline| now >= deadline) {
                self.stop.store(true, Ordering::Relaxed);
            }
            if self.stop.load(Ordering::Relaxed) {
                return Ok(Ended::Stopped);
            }
            if self.limit.is_some_and(|limit| now - begun >= limit) {
                return Ok(Ended::TimedOut);
            }
            std::thread::sleep(pause);
            pause = LONGEST_PAUSE.min(2 * pause);
        }
    }
}

fn ended(status: ExitStatus) -> Ended {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return Ended::Signal(signal);
    }
    Ended::Code(status.code().unwrap_or(-1))
}

/// Ends a command and, on Unix, its descendants.
fn end(child: &mut Child) {
    #[cfg(unix)]
    {
        use nix::sys::signal::{Signal, killpg};
        use nix::unistd::Pid;
        // Usually all have ended.
        let _ = killpg(Pid::from_raw(child.id() as i32), Signal::SIGKILL);
    }
    let _ = child.kill();
    let _ = child.wait();
}

/// A word of a command with the files in their places.
fn placed(word: &OsString, file: &Path, params: Option<&Path>) -> OsString {
    let Some(text) = word.to_str() else {
        return word.clone();
    };
    if text == FILE {
        return file.into();
    }
    let text = match params {
        Some(params) => text.replace(PARAMS, &params.to_string_lossy()),
        None => text.into(),
    };
    text.replace(FILE, &file.to_string_lossy()).into()
}

/// Reads an output to its end, and returns for each text whether it was found. The memory needed
/// does not depend on the output's length.
fn found(output: Option<impl Read>, texts: &[&str]) -> Vec<bool> {
    let mut seen = vec![false; texts.len()];
    let longest = texts.iter().map(|text| text.len()).max().unwrap_or(0);
    let Some(mut output) = output else {
        return seen;
    };
    let (mut buffer, mut filled) = (vec![0; longest + (1 << 16)], 0);
    loop {
        let read = match output.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(read) => read,
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(_) => break,
        };
        filled += read;
        for (seen, text) in seen.iter_mut().zip(texts) {
            *seen = *seen || contains(&buffer[..filled], text.as_bytes());
        }
        // A text may continue in the next read.
        let kept = filled.min(longest.saturating_sub(1));
        buffer.copy_within(filled - kept..filled, 0);
        filled = kept;
    }
    seen
}

fn contains(bytes: &[u8], text: &[u8]) -> bool {
    let Some(&first) = text.first() else {
        return true;
    };
    let starts = (0..bytes.len()).filter(|&k| bytes[k] == first);
    starts.into_iter().any(|k| bytes[k..].starts_with(text))
}

fn unwritten(path: &Path, error: &std::io::Error) -> Failure {
    Failure::Write {
        file: path.into(),
        problem: error.to_string(),
        remedy: Some("TMPDIR names a folder for temporary files".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives a few bytes at a time.
    struct Drops<'a>(&'a [u8], usize);

    impl Read for Drops<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            let read = self.1.min(self.0.len()).min(buffer.len());
            buffer[..read].copy_from_slice(&self.0[..read]);
            self.0 = &self.0[read..];
            Ok(read)
        }
    }

    #[test]
    fn texts_are_found_wherever_the_output_is_cut() {
        let output = b"one line\nassertion failed: x < 3\nthe end";
        let texts = ["assertion failed", "the end", "one", "x < 4", "e\na", ""];
        for size in 1..=output.len() {
            let seen = found(Some(Drops(output, size)), &texts);
            assert_eq!(seen, [true, true, true, false, true, true], "{size}");
        }
    }

    #[test]
    fn ends_and_texts_decide_together() {
        let ran = |ended, seen: &[bool]| Ran {
            ended,
            seen: seen.to_vec(),
            time: Duration::ZERO,
        };
        let wanted = Wanted {
            exits: vec![Ended::Code(1), Ended::Signal(6)],
            texts: vec!["wrong".into()],
            without: vec!["memory".into()],
            timeout: false,
        };
        assert!(wanted.holds(&ran(Ended::Code(1), &[true, false])));
        assert!(wanted.holds(&ran(Ended::Signal(6), &[true, false])));
        assert!(!wanted.holds(&ran(Ended::Code(2), &[true, false])));
        assert!(!wanted.holds(&ran(Ended::Code(1), &[false, false])));
        assert!(!wanted.holds(&ran(Ended::Code(1), &[true, true])));
        assert!(!wanted.holds(&ran(Ended::TimedOut, &[true, false])));
        let slow = Wanted {
            timeout: true,
            ..Wanted::default()
        };
        assert!(slow.holds(&ran(Ended::TimedOut, &[])));
        assert!(!slow.holds(&ran(Ended::Code(1), &[])));
    }
}
