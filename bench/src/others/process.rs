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
    /// Share of the machine's processor time that other processes used meanwhile, from 0 to 1.
    /// `None` where the system does not report it, and for less than [`LOAD_TICKS`].
    pub foreign_load: Option<f64>,
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
    let before = Usage::now();
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
    let used = Usage::now().zip(before).map(|(now, then)| now.since(&then));
    Ok(Output {
        status,
        out: text(&out)?,
        err: text(&err)?,
        seconds,
        cpu_seconds: used.as_ref().map(|u| u.children as f64 / TICKS_PER_SECOND),
        foreign_load: used.as_ref().and_then(Usage::foreign_load),
    })
}

/// Ticks of a second in `/proc`.
const TICKS_PER_SECOND: f64 = 100.0;
/// Ticks of the machine below which a share of them says little.
const LOAD_TICKS: u64 = 100;

/// Processor time in ticks, as Linux reports it.
struct Usage {
    /// Time of this process.
    own: u64,
    /// Time of its children that ended.
    children: u64,
    /// Time of all processors in which they worked, for whom it may be; stolen time included.
    busy: u64,
    /// Time of all processors.
    all: u64,
}

impl Usage {
    /// Times since the start of the process and of the machine.
    fn now() -> Option<Self> {
        let [own, machine] = ["/proc/self/stat", "/proc/stat"].map(std::fs::read_to_string);
        Usage::parse(&own.ok()?, &machine.ok()?)
    }

    /// Reads the texts of `/proc/self/stat` and `/proc/stat` (proc(5)).
    fn parse(own: &str, machine: &str) -> Option<Self> {
        // The name may have spaces. Fields after it count from 3; 14 to 17 are read.
        let (_, fields) = own.rsplit_once(')')?;
        let ticks = fields.split_whitespace().skip(11).take(4);
        let ticks: Vec<u64> = ticks.filter_map(|t| t.parse().ok()).collect();
        let cpu = machine.lines().next()?.strip_prefix("cpu ")?;
        // User, nice, system, idle, waiting for disks, two kinds of interrupts, stolen.
        let cpu = cpu.split_whitespace().take(8);
        let cpu: Vec<u64> = cpu.filter_map(|t| t.parse().ok()).collect();
        let ([user, system, others @ ..], 8) = (&ticks[..], cpu.len()) else {
            return None;
        };
        let all = cpu.iter().sum();
        Some(Usage {
            own: user + system,
            children: others.iter().sum(),
            busy: all - cpu[3] - cpu[4],
            all,
        })
    }

    /// The difference to an earlier time.
    fn since(&self, then: &Usage) -> Usage {
        Usage {
            own: self.own.saturating_sub(then.own),
            children: self.children.saturating_sub(then.children),
            busy: self.busy.saturating_sub(then.busy),
            all: self.all.saturating_sub(then.all),
        }
    }

    /// Share of time that neither this process nor its children used.
    fn foreign_load(&self) -> Option<f64> {
        let foreign = self.busy.saturating_sub(self.own + self.children);
        (self.all >= LOAD_TICKS).then(|| foreign as f64 / self.all as f64)
    }
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

    #[test]
    fn foreign_load_is_the_rest_of_the_busy_time() {
        let own =
            |user, child| format!("7 (a b) c) S 1 2 3 4 5 6 7 8 9 10 {user} 1 {child} 2 20 0");
        let machine = |user, idle| format!("cpu  {user} 0 10 {idle} 5 0 0 5 0 0\ncpu0 1 2\n");
        let usage = |u, c, all, idle| Usage::parse(&own(u, c), &machine(all, idle));
        let then = usage(10, 20, 1000, 500).expect("a state");
        // 200 ticks: 100 idle, 40 of this process, 30 of its children, 30 of others.
        let now = usage(50, 50, 1100, 600).expect("a state").since(&then);
        assert_eq!(
            (now.own, now.children, now.busy, now.all),
            (40, 30, 100, 200)
        );
        assert_eq!(now.foreign_load(), Some(0.15));
        let short = usage(10, 20, 1050, 520).expect("a state").since(&then);
        assert_eq!(short.foreign_load(), None);
        assert!(Usage::parse("7 (a) S", &machine(1, 1)).is_none());
    }
}
