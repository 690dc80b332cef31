//! `remat-bench reduce`

mod report;
mod settings;
mod subject;
mod trial;

use crate::reduce::InstanceDraft;
use crate::reduce::arguments::{ReduceArguments, ReduceKind};
use crate::reduce::{ModelDraft, Parts, ReduceEnd, ReduceSettings, Reduced, reduce};
use remat_bb::failure::{Exit, Failure, note};
use remat_bb::files::{self, Files, Input};
use remat_bb::interrupt;
use remat_bb::source;
use remat_lp::solution_file::SolutionFile;
use report::{Keeps, Log, ReduceResult};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use subject::Subject;
use trial::{Ended, Trials, Wanted};

/// Default limit of a try: this factor times the time on the file, and the seconds below.
const LIMIT_FACTOR: u32 = 10;
const LIMIT_SECONDS: u64 = 2;

/// Exit codes of shells for a command that cannot be run or does not exist.
const NOT_RUN: [i32; 2] = [126, 127];

/// Shrinks a file while a command keeps failing on it.
///
/// # Errors
/// [`Failure`] for bad input, a command that does not fail on it, or files that cannot be written.
pub fn run(arguments: &ReduceArguments) -> Result<Exit, Failure> {
    let begun = Instant::now();
    let files = tried(arguments)?;
    let text = "ending with the smallest so far; once more to end at once";
    interrupt::catch(text, arguments.quiet);
    let read = Read::of(arguments)?;
    let parts = match &arguments.params {
        Some(path) => {
            let Input { name, bytes } = files::text(path)?;
            let text = remat_lp::decode(bytes).map_err(|e| unread(&name, &e))?;
            let parts = settings::parts(path, &name, &text)?;
            Some((text, Parts::new("settings", parts)))
        }
        None => None,
    };
    let work = ReductionWork {
        arguments,
        files,
        begun,
        original: read.bytes,
        settings: parts,
    };
    match read.thing {
        Thing::Model(draft) => work.run(*draft),
        Thing::Instance(draft) => work.run(draft),
        Thing::Lines(lines) => work.run(lines),
    }
}

/// Tests that all outputs can be written.
fn tried(arguments: &ReduceArguments) -> Result<Files, Failure> {
    let outputs = [
        ("--out", Some(arguments.out.as_path())),
        ("--params-out", arguments.params_out.as_deref()),
    ];
    let stream = |path: &Path| path == Path::new("-");
    if let Some((option, _)) = outputs.iter().find(|(_, p)| p.is_some_and(stream)) {
        return Err(Failure::Usage {
            problem: format!("{option} is written again and again: not to standard output"),
            remedy: "name a file".into(),
        });
    }
    let mut inputs: Vec<&Path> = [&arguments.params, &arguments.near]
        .into_iter()
        .flatten()
        .map(PathBuf::as_path)
        .collect();
    if source::zoo_text(&arguments.file).is_none() {
        inputs.push(&arguments.file);
    }
    Files::tried(arguments.json, &inputs, &outputs)
}

/// The file: its bytes, and its content as read.
struct Read {
    bytes: Vec<u8>,
    thing: Thing,
}

enum Thing {
    Model(Box<ModelDraft>),
    Instance(InstanceDraft),
    Lines(Parts),
}

impl Read {
    fn of(arguments: &ReduceArguments) -> Result<Self, Failure> {
        let path = &arguments.file;
        if source::zoo_text(path).is_some() {
            let instance = source::instance(path)?;
            return Ok(Read {
                bytes: remat_instances::write_instance(&instance).into_bytes(),
                thing: Thing::Instance(InstanceDraft::new(&instance)),
            });
        }
        let Input { name, bytes } = files::text(path)?;
        let text = remat_lp::decode(bytes.clone()).map_err(|e| unread(&name, &e))?;
        let kind = arguments
            .kind
            .unwrap_or_else(|| match text.trim_start().starts_with('{') {
                true => ReduceKind::Instance,
                false => ReduceKind::Model,
            });
        let thing = match kind {
            ReduceKind::Model => {
                let model = remat_bb::commands::lp::ModelText::of(path, name, text).parse()?;
                let mut draft = ModelDraft::new(&model);
                if let Some(near) = &arguments.near {
                    let Input { name, bytes } = files::text(near)?;
                    let text = remat_lp::decode(bytes).map_err(|e| unread(&name, &e))?;
                    let point = SolutionFile::parse(&text, &name).and_then(|f| f.point(&model));
                    let point = point.map_err(|e| unread(&name, &e))?;
                    draft = draft.with_reference(&point);
                }
                Thing::Model(Box::new(draft))
            }
            ReduceKind::Instance => {
                let instance = remat_instances::read_bytes(&name, text.as_bytes())?;
                Thing::Instance(InstanceDraft::new(&instance))
            }
            ReduceKind::Lines => Thing::Lines(Parts::new("lines", text.lines())),
        };
        if arguments.near.is_some() && !matches!(thing, Thing::Model(_)) {
            return Err(Failure::Usage {
                problem: "--near is a solution of a model, and FILE is none".into(),
                remedy: "leave it out".into(),
            });
        }
        Ok(Read { bytes, thing })
    }
}

fn unread(name: &str, problem: &dyn std::fmt::Display) -> Failure {
    Failure::Open {
        file: name.into(),
        problem: problem.to_string(),
        remedy: None,
    }
}

/// Input of a reduction, except for the thing itself.
struct ReductionWork<'a> {
    arguments: &'a ReduceArguments,
    files: Files,
    begun: Instant,
    /// The unchanged file.
    original: Vec<u8>,
    /// The settings: the unchanged file, and its content as read.
    settings: Option<(String, Parts)>,
}

impl ReductionWork<'_> {
    fn run<T: Subject>(self, thing: T) -> Result<Exit, Failure> {
        let a = self.arguments;
        let parts = match &self.settings {
            Some((_, parts)) => parts.clone(),
            None => Parts::new("settings", [""; 0]),
        };
        let start = (parts, thing);
        let trials = self.trials(&start)?;
        let form = self.form();
        let before = form.sizes(&start);
        let log = Log::new(a.quiet, self.begun);
        log.start(&files::input_name(&a.file), &before, &trials);
        let search = ReduceSettings {
            steps: a.steps.clone(),
            tries: a.tries,
            jobs: usize::from(a.jobs),
            stop: trials.stop.clone(),
        };
        let fails = |thing: &(Parts, T)| {
            log.trying();
            match form.run(&trials, thing)? {
                Some(ran) => Ok(trials.wanted.holds(&ran)),
                None => Ok(false),
            }
        };
        form.write(self.files, &start)?;
        let found: Reduced<(Parts, T)> = reduce(start, &search, fails, |thing, tally| {
            form.write(self.files, thing)?;
            log.smaller(tally, || form.sizes(thing));
            Ok::<_, Failure>(())
        })?;
        let interrupted = found.end == ReduceEnd::Stopped && !self.is_over(&trials);
        let confirmed = self.confirm(&trials, &form, &found)?;
        let result = ReduceResult {
            arguments: a,
            kind: T::KIND,
            keeps: Keeps::of(&trials.wanted),
            before,
            after: form.sizes(&found.smallest),
            end: found.end,
            interrupted,
            tally: &found.tally,
            try_limit: trials.limit,
            seconds: self.begun.elapsed().as_secs_f64(),
            confirmed,
        };
        if confirmed == Some(false) {
            let text =
                "the command did not fail on the result once more: it does not fail every time";
            note(text, a.quiet);
        }
        self.files.print(&result.text())?;
        Ok(Exit::Done)
    }

    fn is_over(&self, trials: &Trials) -> bool {
        trials.deadline.is_some_and(|end| Instant::now() >= end)
    }

    /// Tests that the command fails on the unchanged file, and on the file as this program writes
    /// it.
    fn trials<T: Subject>(&self, start: &(Parts, T)) -> Result<Trials, Failure> {
        let a = self.arguments;
        let wanted = Wanted {
            exits: a.keep_exit.iter().copied().map(Ended::Code).collect(),
            texts: a.keep_text.clone(),
            without: a.without_text.clone(),
            timeout: a.keep_timeout,
        };
        let mut trials = Trials::new(&a.command, a.params.is_some(), wanted)?;
        trials.limit = a.try_limit;
        trials.deadline = a.time_limit.map(|limit| self.begun + limit);
        let name = match source::zoo_text(&a.file).is_some() {
            true => "instance.json".into(),
            false => safe_name(&a.file),
        };
        let params = a.params.as_deref().map(safe_name);
        let params = params.as_deref().zip(self.settings.as_ref());
        let params = params.map(|(name, (text, _))| (name, text.as_str()));
        let ran = trials.run((&name, &self.original), params)?;
        let ended = ran.ended;
        if ended == Ended::Stopped {
            return Err(not_failing(
                "it was stopped on FILE".into(),
                "give it more time",
            ));
        }
        if !trials.wanted.is_stated() && !a.keep_timeout {
            let is_failure = !matches!(ended, Ended::Code(0) | Ended::TimedOut);
            if !is_failure || NOT_RUN.map(Ended::Code).contains(&ended) {
                return Err(not_failing(
                    format!(
                        "the command ends with {ended} on {}",
                        files::input_name(&a.file)
                    ),
                    "say what counts as failing: --keep-text TEXT, --keep-exit N or --keep-timeout; \
                     a shell ends with 126 or 127 where a command cannot be run",
                ));
            }
            trials.wanted.exits = vec![ended];
        }
        if !trials.wanted.holds(&ran) {
            return Err(not_failing(
                format!(
                    "the command does not fail on {} as is asked for: it ends with {ended}{}",
                    files::input_name(&a.file),
                    trials.wanted.missing(&ran)
                ),
                "ask for what it does: --keep-exit N, --keep-text TEXT, --without-text TEXT, --keep-timeout",
            ));
        }
        let usual = LIMIT_FACTOR * ran.time + Duration::from_secs(LIMIT_SECONDS);
        trials.limit = a.try_limit.or(Some(usual));
        let again = self.form().run(&trials, start)?;
        let holds = again.as_ref().is_some_and(|ran| trials.wanted.holds(ran));
        if !holds {
            let how = again.map_or("is not written".into(), |ran| {
                format!("ends with {}", ran.ended)
            });
            return Err(not_failing(
                format!(
                    "the command fails on {}, and not on the same written anew for {}, where it {how}",
                    files::input_name(&a.file),
                    remat_bb::visible::shown(&a.out)
                ),
                "it may depend on the order, format or digits of the file: try another format by the \
                 name of --out, or --as lines",
            ));
        }
        Ok(trials)
    }

    fn form(&self) -> FileForm<'_> {
        let name = self.arguments.out.to_string_lossy().to_ascii_lowercase();
        FileForm {
            out: &self.arguments.out,
            params_out: self.arguments.params_out.as_deref(),
            is_lp: name.trim_end_matches(".gz").ends_with(".lp"),
        }
    }

    /// One more run on the result, unless time is over.
    fn confirm<T: Subject>(
        &self,
        trials: &Trials,
        form: &FileForm<'_>,
        found: &Reduced<(Parts, T)>,
    ) -> Result<Option<bool>, Failure> {
        if found.end == ReduceEnd::Stopped {
            return Ok(None);
        }
        let ran = form.run(trials, &found.smallest)?;
        let ran = ran.filter(|ran| ran.ended != Ended::Stopped);
        Ok(ran.map(|ran| trials.wanted.holds(&ran)))
    }
}

/// Files of a thing: names and formats.
struct FileForm<'a> {
    out: &'a Path,
    params_out: Option<&'a Path>,
    is_lp: bool,
}

impl FileForm<'_> {
    /// Counts of a thing and its settings.
    fn sizes<T: Subject>(&self, (parts, thing): &(Parts, T)) -> subject::Sizes {
        let settings = self.params_out.map(|_| parts.len());
        thing.sizes().with_settings(settings)
    }

    /// Runs the command on a thing; `None` if the thing has no file form.
    fn run<T: Subject>(
        &self,
        trials: &Trials,
        (parts, thing): &(Parts, T),
    ) -> Result<Option<trial::Ran>, Failure> {
        let Some(text) = thing.text(self.is_lp) else {
            return Ok(None);
        };
        let bytes = remat_lp::encode(self.out, &text);
        let bytes = bytes.map_err(|e| unread(&remat_bb::visible::shown(self.out), &e))?;
        let params = self
            .params_out
            .map(|path| (safe_name(path), parts.to_text()));
        let params = params
            .as_ref()
            .map(|(name, text)| (name.as_str(), text.as_str()));
        trials.run((&safe_name(self.out), &bytes), params).map(Some)
    }

    fn write<T: Subject>(&self, files: Files, (parts, thing): &(Parts, T)) -> Result<(), Failure> {
        if let Some(text) = thing.text(self.is_lp) {
            files.write(self.out, &text)?;
        }
        match self.params_out {
            Some(path) => files.write(path, &parts.to_text()),
            None => Ok(()),
        }
    }
}

/// The name of a file, with every character that a shell could interpret replaced.
fn safe_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let is_safe = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    let safe: String = name
        .chars()
        .map(|c| if is_safe(c) { c } else { '_' })
        .collect();
    match safe.starts_with('-') || safe.is_empty() {
        true => format!("_{safe}"),
        false => safe,
    }
}

fn not_failing(problem: String, remedy: &str) -> Failure {
    Failure::Usage {
        problem,
        remedy: remedy.into(),
    }
}
