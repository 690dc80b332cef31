//! Reductions as lines and objects.

use super::subject::Sizes;
use super::trial::{Ended, Trials, Wanted};
use crate::reduce::arguments::{ReduceArguments, ReduceKind};
use crate::reduce::{ReduceEnd, Tally};
use remat_bb::files;
use remat_bb::visible::{shown, visible};
use remat_report::counted;
use remat_report::results::{self, VERSION};
use serde::Serialize;
use std::fmt::Write as _;
use std::io::Write as _;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Time between two lines, with smaller things in between and without.
const PAUSE: Duration = Duration::from_secs(1);
const SILENCE: Duration = Duration::from_secs(10);

/// Lines on standard error.
pub struct Log {
    is_quiet: bool,
    begun: Instant,
    state: Mutex<ReportState>,
}

struct ReportState {
    last: Instant,
    runs: u64,
}

impl Log {
    /// The log of a reduction that began at `begun`.
    pub fn new(is_quiet: bool, begun: Instant) -> Self {
        let state = ReportState {
            last: Instant::now(),
            runs: 0,
        };
        Log {
            is_quiet,
            begun,
            state: Mutex::new(state),
        }
    }

    /// Reports the thing to reduce, and the failure to keep.
    pub fn start(&self, file: &str, sizes: &Sizes, trials: &Trials) {
        let limit = trials.limit.map_or(0.0, |limit| limit.as_secs_f64());
        self.show(&format!(
            "remat-bb {}: {file}: {}\nkeeping {}; {limit:.1} s a try\n",
            VERSION,
            listed(sizes),
            Keeps::of(&trials.wanted).in_words(),
        ));
    }

    /// Counts a run of the command, and reports the count after a long silence.
    pub fn trying(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.runs += 1;
        if state.last.elapsed() >= SILENCE {
            state.last = Instant::now();
            let runs = counted(state.runs, "run");
            self.show(&format!("{:8.1} s  {runs}\n", self.seconds()));
        }
    }

    /// Reports a smaller thing.
    pub fn smaller(&self, tally: &Tally, sizes: impl Fn() -> Sizes) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if self.is_quiet || state.last.elapsed() < PAUSE {
            return;
        }
        state.last = Instant::now();
        self.show(&format!(
            "{:8.1} s  {}, {} smaller: {}\n",
            self.seconds(),
            tries(tally.tries),
            tally.kept,
            listed(&sizes())
        ));
    }

    fn seconds(&self) -> f64 {
        self.begun.elapsed().as_secs_f64()
    }

    fn show(&self, text: &str) {
        if !self.is_quiet {
            let _ = std::io::stderr().write_all(visible(text).as_bytes());
        }
    }
}

fn tries(count: u64) -> String {
    match count {
        1 => "1 try".into(),
        n => format!("{n} tries"),
    }
}

fn listed(sizes: &Sizes) -> String {
    let all: Vec<String> = sizes
        .named()
        .map(|(name, size)| counted(size as u64, name))
        .collect();
    all.join(", ")
}

/// Runs that count as failing, as they are shown.
#[derive(Clone, Debug, Serialize)]
pub struct Keeps {
    exits: Vec<String>,
    texts: Vec<String>,
    without_texts: Vec<String>,
    timeout: bool,
}

impl Keeps {
    /// The description of a failure.
    pub fn of(wanted: &Wanted) -> Self {
        Keeps {
            exits: wanted.exits.iter().map(Ended::to_string).collect(),
            texts: wanted.texts.clone(),
            without_texts: wanted.without.clone(),
            timeout: wanted.timeout,
        }
    }

    fn in_words(&self) -> String {
        let mut all = Vec::new();
        if !self.exits.is_empty() {
            all.push(self.exits.join(" or "));
        }
        all.extend(
            self.texts
                .iter()
                .map(|text| format!("output with {text:?}")),
        );
        let without = self.without_texts.iter();
        all.extend(without.map(|text| format!("output without {text:?}")));
        match (self.timeout, all.is_empty()) {
            (true, true) => "runs beyond the limit of a try".into(),
            (true, false) => all.join(", ") + "; or runs beyond the limit of a try",
            (false, _) => all.join(", "),
        }
    }
}

#[derive(Serialize)]
struct StepJson {
    name: &'static str,
    tries: u64,
    kept: u64,
}

#[derive(Serialize)]
struct ReduceJson<'a> {
    status: &'a str,
    version: &'a str,
    file: String,
    kind: &'a str,
    out: String,
    params_out: Option<String>,
    keeps: &'a Keeps,
    before: Sizes,
    after: Sizes,
    tries: u64,
    kept: u64,
    steps: Vec<StepJson>,
    try_limit_seconds: Option<f64>,
    seconds: f64,
    jobs: u16,
    confirmed: Option<bool>,
}

/// A reduction and its statistics.
pub struct ReduceResult<'a> {
    pub arguments: &'a ReduceArguments,
    pub kind: ReduceKind,
    pub keeps: Keeps,
    pub before: Sizes,
    pub after: Sizes,
    pub end: ReduceEnd,
    /// True if it was told to stop, and not by its time limit.
    pub interrupted: bool,
    pub tally: &'a Tally,
    pub try_limit: Option<Duration>,
    pub seconds: f64,
    pub confirmed: Option<bool>,
}

impl ReduceResult<'_> {
    fn status(&self) -> &'static str {
        match self.end {
            ReduceEnd::Minimal => "minimal",
            ReduceEnd::Stopped if self.interrupted => "interrupted",
            ReduceEnd::Stopped | ReduceEnd::Tries => "limit",
        }
    }

    /// The object or the summary, by the arguments.
    pub fn text(&self) -> String {
        match self.arguments.json {
            true => results::json(&self.json()),
            false => self.summary(),
        }
    }

    fn json(&self) -> ReduceJson<'_> {
        let a = self.arguments;
        let steps = self.tally.steps.iter();
        let steps = steps.filter(|s| s.name != "settings" || a.params.is_some());
        ReduceJson {
            status: self.status(),
            version: VERSION,
            file: files::input_name(&a.file),
            kind: match self.kind {
                ReduceKind::Model => "model",
                ReduceKind::Instance => "instance",
                ReduceKind::Lines => "lines",
            },
            out: shown(&a.out),
            params_out: a.params_out.as_ref().map(|p| shown(p)),
            keeps: &self.keeps,
            before: self.before,
            after: self.after,
            tries: self.tally.tries,
            kept: self.tally.kept,
            steps: steps
                .map(|s| StepJson {
                    name: s.name,
                    tries: s.tries,
                    kept: s.kept,
                })
                .collect(),
            try_limit_seconds: self.try_limit.map(|limit| limit.as_secs_f64()),
            seconds: self.seconds,
            jobs: a.jobs,
            confirmed: self.confirmed,
        }
    }

    fn summary(&self) -> String {
        let a = self.arguments;
        let mut out = format!("{}: {}\n", files::input_name(&a.file), listed(&self.before));
        // Writing to a string cannot fail.
        let _ = writeln!(out, "  reduced    {}", listed(&self.after));
        let _ = writeln!(out, "  keeps      {}", self.keeps.in_words());
        let status = match self.status() {
            "minimal" => "minimal: it fails after no further step",
            "interrupted" => "interrupted: the smallest so far",
            _ => "limit: the smallest so far",
        };
        let _ = writeln!(out, "  status     {status}");
        let _ = writeln!(
            out,
            "  search     {}, {} smaller, {:.1} s",
            tries(self.tally.tries),
            self.tally.kept,
            self.seconds
        );
        let _ = writeln!(out, "  wrote {}", shown(&a.out));
        if let Some(path) = &a.params_out {
            let _ = writeln!(out, "  wrote {}", shown(path));
        }
        out
    }
}
