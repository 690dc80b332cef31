//! Processes that end when their time is over.

use std::fs::File;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Time between two checks of a process.
const PAUSE: Duration = Duration::from_millis(10);

/// Output of a process that ended.
pub(super) struct Output {
    pub status: ExitStatus,
    /// Standard output.
    pub out: String,
    /// Standard error.
    pub err: String,
    /// Seconds from its start to its end.
    pub seconds: f64,
    /// Processor seconds spent on it, where the system reports them. They are less than `seconds`
    /// times its threads if other processes were running.
    pub cpu_seconds: Option<f64>,
}

impl Output {
    /// The status and the last line of its output, for an answer that cannot be read.
    pub fn complaint(&self) -> String {
        let said = self.err.lines().chain(self.out.lines());
        let mut said = said.filter(|line| !line.trim().is_empty());
        match said.next_back() {
            Some(line) => format!("{}: {line}", self.status),
            None => self.status.to_string(),
        }
    }
}

/// Runs a command to its end, or for `limit_seconds`, and returns its output. `folder` is for its
/// files.
///
/// # Errors
/// A message in words if it could not be started or did not end in time.
pub(super) fn output(
    command: &mut Command,
    folder: &Path,
    limit_seconds: f64,
) -> Result<Output, String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let fail = |e: std::io::Error| format!("{program}: {e}");
    let [out, err] = ["out", "err"].map(|name| folder.join(name));
    command
        .stdin(Stdio::null())
        .stdout(File::create(&out).map_err(fail)?)
        .stderr(File::create(&err).map_err(fail)?);
    let before = children_seconds();
    let begun = Instant::now();
    let mut child = command.spawn().map_err(fail)?;
    let status = loop {
        if let Some(status) = child.try_wait().map_err(fail)? {
            break status;
        }
        if begun.elapsed().as_secs_f64() > limit_seconds {
            child.kill().map_err(fail)?;
            child.wait().map_err(fail)?;
            return Err(format!("killed after {limit_seconds} s"));
        }
        std::thread::sleep(PAUSE);
    };
    let seconds = begun.elapsed().as_secs_f64();
    let text = |path: &Path| {
        let bytes = std::fs::read(path).map_err(fail)?;
        Ok::<_, String>(String::from_utf8_lossy(&bytes).into_owned())
    };
    Ok(Output {
        status,
        out: text(&out)?,
        err: text(&err)?,
        seconds,
        cpu_seconds: children_seconds().zip(before).map(|(now, then)| now - then),
    })
}

/// Processor seconds of this process's children that ended: Linux reports them, in hundredths.
fn children_seconds() -> Option<f64> {
    const TICKS_PER_SECOND: f64 = 100.0;
    let text = std::fs::read_to_string("/proc/self/stat").ok()?;
    // The name may have spaces. Fields after it count from 3; 16 and 17 are read.
    let (_, fields) = text.rsplit_once(')')?;
    let ticks = fields.split_whitespace().skip(13).take(2);
    let ticks: f64 = ticks.map(|t| t.parse().unwrap_or(0.0)).sum();
    Some(ticks / TICKS_PER_SECOND)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_process_ends_in_time_or_is_ended() {
        let folder = tempfile::tempdir().expect("a folder");
        let run = |script: &str, limit| {
            let mut command = Command::new("sh");
            output(command.args(["-c", script]), folder.path(), limit)
        };
        let done = run("echo one; echo two >&2; exit 3", 60.0).expect("an end");
        assert_eq!((done.out.as_str(), done.err.as_str()), ("one\n", "two\n"));
        assert_eq!(done.status.code(), Some(3));
        assert!(done.complaint().ends_with(": one"), "{}", done.complaint());
        let problem = run("exec sleep 60", 0.05).err();
        assert_eq!(problem.as_deref(), Some("killed after 0.05 s"));
    }
}
