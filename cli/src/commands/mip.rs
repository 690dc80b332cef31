//! `remat-bb mip`

mod exact;
mod incumbents;
mod object;
mod permuted;
mod program;
mod solutions;
mod traces;
mod within;

use crate::arguments::MipArguments;
use crate::failure::{Exit, Failure, note};
use crate::files::{self, Files, Input};
use crate::visible::visible;
use crate::{interrupt, log};
use exact::ExactJson;
pub(super) use object::MipJson;
use object::Recognised;
pub(super) use program::certified;
use remat_instances::nearest::nearest;
use remat_lp::Model;
use remat_lp::solution_file::SolutionFile;
use remat_models::program::{Program, solve_whole};
use remat_models::{ModelSettings, RecognisedAs, solve_integer};
use remat_report::results;
use remat_report::results::VERSION;
use remat_report::search_log::Head;
use remat_report::{counted, number};
use remat_solver::mip::{
    Checkpoint, ComponentRow, Control, Settings, SolveError, SolveResult, SolveStatus,
};
use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;
use traces::Traces;

/// Solves a mixed-integer program and reports.
///
/// # Errors
/// [`Failure`] for bad input, or files that cannot be written.
pub fn run(arguments: &MipArguments) -> Result<Exit, Failure> {
    let begun = Instant::now();
    let files = tried(arguments)?;
    let mut settings = settings(arguments)?;
    interrupt::catch(
        "ending with the best solution so far; once more to end at once",
        arguments.quiet,
    );
    let file = super::lp::read_all(&arguments.file)?;
    let program = program::of(&file, arguments)?;
    let model = Arc::new(file.model);
    exact::held(&model, arguments)?;
    for path in &arguments.start {
        settings.starts.push(start(path, &model)?);
    }
    settings.limits.interrupt = Some(interrupt::flag());
    if arguments.resume.is_some() && !settings.presolve {
        let text = "presolve = false has no effect: the state goes on with the model that was presolved before";
        note(text, arguments.quiet);
    }
    let traces = Traces::asked(arguments, begun);
    let (result, recognised) = match arguments.permute.map(|seed| model.permuted(seed)) {
        None => solve(
            arguments,
            &model,
            program.as_ref(),
            &settings,
            &traces,
            begun,
        )?,
        Some((other, order)) => {
            let mut settings = settings.clone();
            for x in &mut settings.starts {
                *x = order.permute(x);
            }
            let solved = solve(arguments, &Arc::new(other), None, &settings, &traces, begun)?;
            (permuted::in_order(solved.0, &order), solved.1)
        }
    };
    let outcome = MipResult {
        model: &model,
        settings: &settings,
        result: &result,
        recognised,
        incumbents: traces.incumbents(),
        certificate: arguments.certificate.is_some(),
        checkpoint: arguments.checkpoint.is_some(),
        permuted: arguments.permute,
        statistics: traces.rows(),
    };
    // The result is printed even if a file cannot be written.
    let written = outcome.write_solutions(files, arguments);
    let traced = traces.write(files, &result);
    let within = within::written(files, arguments, &result);
    let written = match files::each([written, traced, within]) {
        Ok(all) => Ok(all.concat()),
        Err(problem) => Err(problem),
    };
    files.print(&if arguments.json {
        results::json(&outcome.json())
    } else {
        outcome.summary(written.as_deref().unwrap_or_default())
    })?;
    written?;
    Ok(match result.status {
        SolveStatus::Infeasible => Exit::Infeasible,
        SolveStatus::Unbounded => Exit::Done,
        _ if result.solution.is_some() => Exit::Done,
        _ => Exit::NoPlan,
    })
}

/// Checks that the requested files can be written.
fn tried(arguments: &MipArguments) -> Result<Files, Failure> {
    let a = arguments;
    let within = [
        ("--checkpoint", &a.checkpoint),
        ("--certificate", &a.certificate),
    ];
    let streamed = |(_, path): &&(&str, &Option<PathBuf>)| path.as_deref() == Some(Path::new("-"));
    if let Some((option, _)) = within.iter().find(streamed) {
        return Err(Failure::Usage {
            problem: format!("{option} cannot go to standard output"),
            remedy: "name a file".into(),
        });
    }
    if a.pool.is_some_and(|k| k > 1) && a.solution.as_deref() == Some(Path::new("-")) {
        return Err(Failure::Usage {
            problem: "several solutions cannot go to standard output".into(),
            remedy: "name a file behind --solution, or leave --pool out".into(),
        });
    }
    // A search may continue to write the state file that it resumes.
    let resumed = a
        .resume
        .as_ref()
        .filter(|&r| a.checkpoint.as_ref() != Some(r));
    let inputs = [Some(&a.file), a.params.as_ref(), resumed];
    let inputs: Vec<&Path> = (inputs.into_iter().flatten())
        .chain(&a.start)
        .map(PathBuf::as_path)
        .collect();
    // Existing files with names of further solutions may have another content.
    let further: Vec<PathBuf> = solutions::further(a, 1).filter(|p| p.exists()).collect();
    let further = further.iter().map(|p| ("--pool", Some(p.as_path())));
    let outputs = [
        ("--solution", a.solution.as_deref()),
        ("--checkpoint", a.checkpoint.as_deref()),
        ("--certificate", a.certificate.as_deref()),
        ("--curve", a.curve.as_deref()),
        ("--vbc", a.vbc.as_deref()),
    ];
    let outputs: Vec<_> = outputs.into_iter().chain(further).collect();
    Files::tried(a.json, &inputs, &outputs)
}

/// Reads a solution to start from.
pub(crate) fn start(path: &Path, model: &Model) -> Result<Vec<f64>, Failure> {
    let Input { name, bytes } = files::text(path)?;
    let point = || {
        let text = remat_lp::decode(bytes).map_err(|e| format!("{name}: {e}"))?;
        let file = SolutionFile::parse(&text, &name).map_err(|e| e.to_string())?;
        file.point(model).map_err(|e| format!("{name}: {e}"))
    };
    point().map_err(|problem| Failure::Usage {
        problem,
        remedy: "a start names columns of the model and their values, one a line, or is a solution file of Gurobi, CPLEX, \
                 SCIP, HiGHS or CBC; columns that it does not name are zero"
            .into(),
    })
}

/// Solves the model, as a mixed-integer program even where it has no integers.
fn solve(
    arguments: &MipArguments,
    model: &Arc<Model>,
    program: Option<&Program>,
    settings: &Settings,
    traces: &Traces,
    begun: Instant,
) -> Result<(SolveResult, Option<RecognisedAs>), Failure> {
    let mut asked = ModelSettings {
        mip: settings.clone(),
        recognise: !arguments.no_recognise,
        ..ModelSettings::default()
    };
    let mut control = control(arguments)?;
    traces.watch(&mut control);
    note_start(arguments, model, settings);
    // The time limit includes reading.
    if let Some(limit) = &mut asked.mip.limits.seconds {
        *limit = (*limit - begun.elapsed().as_secs_f64()).max(0.0);
    }
    let log = log::SearchLog::new(arguments.verbose);
    let (result, recognised) = log::shown(log, arguments.quiet, || match program {
        Some(program) => solve_whole(program, &asked, control).map_err(program::failed),
        None => solve_integer(model, &asked, control).map_err(failure),
    })?;
    if let Some(RecognisedAs { program, nodes }) = recognised {
        let text = format!(
            "recognised as {}; --no-recognise leaves it to the general search",
            recognised_as(program, nodes)
        );
        note(&text, arguments.quiet);
    }
    Ok((result, recognised))
}

/// A recognised program in words.
fn recognised_as(program: &str, nodes: usize) -> String {
    match program {
        "monet" => format!("MONeT's program of {nodes} nodes"),
        "poet" => format!("POET's program of {nodes} nodes"),
        "olla" => format!("OLLA's program of order and addresses of {nodes} operators"),
        "olla-order" => format!("OLLA's program of the order of {nodes} operators"),
        "olla-place" => format!("OLLA's program of the addresses of {nodes} buffers"),
        _ => format!("Checkmate's program of {nodes} nodes"),
    }
}

/// Shows the program that is solved, and the settings that differ from their defaults.
fn note_start(arguments: &MipArguments, model: &Model, settings: &Settings) {
    if arguments.quiet {
        return;
    }
    let head = Head {
        name: model.name().into(),
        rows: model.num_rows(),
        columns: model.num_cols(),
        integers: super::integers(model),
        nonzeros: model.num_nonzeros(),
        settings: differing(settings),
    };
    let _ = std::io::stderr().write_all(visible(&head.text()).as_bytes());
}

/// Names and values of the settings that differ from their defaults.
fn differing(settings: &Settings) -> Vec<(String, String)> {
    let table = |settings: &Settings| toml::Table::try_from(settings).unwrap_or_default();
    let mut found = Vec::new();
    differences(
        "",
        &table(settings),
        &table(&Settings::default()),
        &mut found,
    );
    found
}

fn differences(
    group: &str,
    table: &toml::Table,
    defaults: &toml::Table,
    found: &mut Vec<(String, String)>,
) {
    let empty = toml::Table::new();
    for (name, value) in table {
        let default = defaults.get(name);
        match value {
            toml::Value::Table(table) => {
                let defaults = default.and_then(toml::Value::as_table);
                let group = format!("{group}{name}.");
                differences(&group, table, defaults.unwrap_or(&empty), found);
            }
            _ if default != Some(value) => {
                found.push((format!("{group}{name}"), value.to_string()))
            }
            _ => {}
        }
    }
}

/// The file of `--params`, then `--set`, then the options with names of their own.
fn settings(arguments: &MipArguments) -> Result<Settings, Failure> {
    let mut text = String::new();
    if let Some(path) = &arguments.params {
        let Input { name, bytes } = files::text(path)?;
        text = String::from_utf8(bytes).map_err(|e| Failure::Open {
            file: name,
            problem: e.to_string(),
            remedy: None,
        })?;
    }
    let fail = |place: String, e: toml::de::Error| Failure::Usage {
        problem: format!("{place}: {}", in_words(e.to_string().trim())),
        remedy: "docs/reference/cli/programs.md lists the names and their values".into(),
    };
    let place = || {
        let path = arguments.params.as_ref();
        path.map_or(String::new(), |p| files::input_name(p))
    };
    let mut table: toml::Table = text.parse().map_err(|e| fail(place(), e))?;
    // The file is read alone first, so errors name it.
    let _: Settings = toml::Table::try_into(table.clone()).map_err(|e| fail(place(), e))?;
    for (name, value) in &arguments.set {
        let place = || format!("--set {name}={value}");
        let one: toml::Table = format!("{name} = {value}")
            .parse()
            // A word without quotes is text.
            .or_else(|_| format!("{name} = {value:?}").parse())
            .map_err(|e| fail(place(), e))?;
        merge(&mut table, one);
        let _: Settings = toml::Table::try_into(table.clone()).map_err(|e| fail(place(), e))?;
    }
    let threads_stated = table.contains_key("threads");
    let mut s: Settings = table.try_into().map_err(|e| fail(place(), e))?;
    let a = arguments;
    let limits = &mut s.limits;
    limits.seconds = a.time_limit.map(|t| t.as_secs_f64()).or(limits.seconds);
    limits.nodes = a.node_limit.or(limits.nodes);
    limits.memory_bytes = a.memory_limit.or(limits.memory_bytes);
    s.relative_gap = a.gap.unwrap_or(s.relative_gap);
    s.absolute_gap = a.absolute_gap.unwrap_or(s.absolute_gap);
    let threads = match a.threads {
        Some(n) => usize::from(n),
        None if threads_stated => s.threads,
        None => 0,
    };
    s.threads = worker_threads(threads);
    s.seed = a.seed.unwrap_or(s.seed);
    s.opportunistic |= a.opportunistic;
    s.pool_size = a.pool.map_or(s.pool_size, |k| k as usize);
    exact::apply(&mut s, a);
    s.validate().map_err(failure)?;
    Ok(s)
}

/// A message about a setting with the names of types in words.
fn in_words(message: &str) -> String {
    let whole = "a whole number not below 0";
    let types = [
        ("expected usize", whole),
        ("expected u64", whole),
        ("expected u32", whole),
        ("expected f64", "a number"),
        ("expected a boolean", "true or false"),
    ];
    let text = types
        .iter()
        .fold(message.to_owned(), |text, (name, words)| {
            text.replace(name, &format!("expected {words}"))
        });
    // unknown field `a`, expected one of `b`, `c`
    let mut quoted = message.split('`').skip(1).step_by(2);
    let near = match (message.starts_with("unknown field"), quoted.next()) {
        (true, Some(name)) => nearest(name, quoted),
        _ => None,
    };
    near.map_or(text.clone(), |near| format!("did you mean {near}? {text}"))
}

/// Number of threads, as every command counts them: 0 is one per core.
pub(crate) fn worker_threads(threads: usize) -> usize {
    let settings = remat_search::Settings {
        threads,
        ..remat_search::Settings::default()
    };
    settings.worker_threads()
}

/// Puts the entries of one table into another, tables within tables too.
fn merge(into: &mut toml::Table, from: toml::Table) {
    for (name, value) in from {
        match (into.get_mut(&name), value) {
            (Some(toml::Value::Table(old)), toml::Value::Table(new)) => merge(old, new),
            (_, value) => {
                into.insert(name, value);
            }
        }
    }
}

fn control(arguments: &MipArguments) -> Result<Control, Failure> {
    let checkpoint = arguments.checkpoint.as_ref().map(|path| Checkpoint {
        path: path.clone(),
        seconds: arguments.checkpoint_every.as_secs_f64(),
    });
    Ok(Control {
        checkpoint,
        resume: arguments.resume.clone(),
        node_files: Some((arguments.node_files.clone()).unwrap_or_else(std::env::temp_dir)),
        certificate: arguments.certificate.clone(),
        ..Control::default()
    })
}

/// A failure of the search, with its remedy.
pub(super) fn failure(error: SolveError) -> Failure {
    let remedy = match &error {
        SolveError::File { .. } => {
            "give the file that --checkpoint wrote for this model, and places that can be written"
        }
        SolveError::Setting { .. } => {
            "docs/reference/cli/programs.md lists the settings and their values"
        }
        SolveError::PresolveStep { .. } => "leave the presolve step out, or mend its way back",
        SolveError::Model(_) => "check the numbers in the model",
        SolveError::Thread { .. } => "allow more memory and threads (`ulimit -a`)",
    };
    Failure::Usage {
        problem: error.to_string(),
        remedy: remedy.into(),
    }
}

/// A solve and the values of its report.
struct MipResult<'a> {
    model: &'a Model,
    settings: &'a Settings,
    result: &'a SolveResult,
    recognised: Option<RecognisedAs>,
    /// Seconds and objectives of the solutions, in the order in which they were found.
    incumbents: Vec<(f64, f64)>,
    /// True if a certificate was requested.
    certificate: bool,
    /// True if state files were requested.
    checkpoint: bool,
    permuted: Option<u64>,
    statistics: Option<Vec<ComponentRow>>,
}

impl MipResult<'_> {
    fn status(&self) -> &'static str {
        match self.result.status {
            SolveStatus::Optimal => "optimal",
            SolveStatus::Infeasible => "infeasible",
            SolveStatus::Cutoff => "cutoff",
            SolveStatus::Unbounded => "unbounded",
            SolveStatus::InfeasibleOrUnbounded => "infeasible or unbounded",
            SolveStatus::Interrupted => "interrupted",
            _ if self.result.solution.is_some() => "feasible",
            _ => "limit",
        }
    }

    /// Reason for the end of the search, in words.
    fn end(&self) -> &'static str {
        match self.result.status {
            SolveStatus::Optimal
            | SolveStatus::Infeasible
            | SolveStatus::Cutoff
            | SolveStatus::Unbounded
            | SolveStatus::InfeasibleOrUnbounded => "complete",
            SolveStatus::TimeLimit => "time limit",
            SolveStatus::NodeLimit => "node limit",
            SolveStatus::TickLimit => "tick limit",
            SolveStatus::MemoryLimit => "memory limit",
            SolveStatus::Interrupted => "interrupt",
            SolveStatus::Unresolved => "leaves that numerical trouble left open",
        }
    }

    fn bound(&self) -> Option<f64> {
        Some(self.result.dual_bound).filter(|b| b.is_finite())
    }

    fn json(&self) -> MipJson<'_> {
        let (r, m) = (self.result, self.model);
        let problems = &r.file_problems;
        let finite = |v: f64| Some(v).filter(|v| v.is_finite());
        MipJson {
            status: self.status(),
            version: VERSION,
            end: self.end(),
            objective: r.solution.as_ref().map(|s| s.objective),
            bound: self.bound(),
            gap: finite(r.gap()),
            seconds: r.info.seconds,
            nodes: r.info.nodes,
            lp_iterations: r.info.lp_iterations,
            ticks: r.info.ticks,
            root_bound: finite(r.info.root_bound),
            found_by: r.solution.as_ref().map(|s| s.found_by),
            recognised: self.recognised.map(|r| Recognised {
                program: r.program,
                nodes: r.nodes,
            }),
            pool: r.pool.iter().map(|s| s.objective).collect(),
            incumbents: &self.incumbents,
            model: m.name(),
            rows: m.num_rows(),
            cols: m.num_cols(),
            nonzeros: m.num_nonzeros(),
            integers: super::integers(m),
            presolved: [r.info.presolved_rows, r.info.presolved_cols],
            cuts: r.info.cuts,
            restarts: r.info.restarts,
            strong_branchings: r.info.strong_branchings,
            unproven_bounds: r.info.unproven_bounds,
            spilled_nodes: r.info.spilled_nodes,
            certificate: (self.certificate)
                .then(|| r.certificate_problem.is_none() && problems.certificate.is_none()),
            checkpoint: self.checkpoint.then(|| problems.checkpoint.is_none()),
            exact: r.exact.as_ref().map(ExactJson::of),
            settings: self.settings,
            threads: self.settings.threads,
            seed: self.settings.seed,
            permuted: self.permuted,
            statistics: self.statistics.as_deref(),
        }
    }

    fn summary(&self, written: &[String]) -> String {
        let json = self.json();
        let mut out = format!(
            "{}: {}\n",
            title(self.model),
            size(self.model, json.integers)
        );
        // Writing to a string cannot fail.
        let [rows, cols] = json.presolved;
        let _ = writeln!(
            out,
            "  presolved  {}, {}",
            counted(rows, "row"),
            counted(cols, "column")
        );
        let end = match json.end {
            "complete" => String::new(),
            end => format!(", ended by {end}"),
        };
        let _ = writeln!(out, "  status     {}{end}", json.status);
        if let (Some(v), Some(by)) = (json.objective, json.found_by) {
            let _ = writeln!(
                out,
                "  objective  {}, checked against the model; found by {by}",
                number(v)
            );
        }
        if let Some(bound) = json.bound {
            let gap = json
                .gap
                .map_or(String::new(), |g| format!(", gap {:.4}%", 100.0 * g));
            let _ = writeln!(out, "  bound      {}{gap}", number(bound));
        }
        let _ = writeln!(
            out,
            "  search     {}, {}, {}, {}, {:.2} s, {}, seed {}",
            counted(json.nodes, "node"),
            counted(json.lp_iterations, "LP iteration"),
            counted(json.cuts, "cut"),
            counted(json.restarts, "restart"),
            json.seconds,
            counted(json.threads as u64, "thread"),
            json.seed
        );
        let exact = self.result.exact.iter().flat_map(exact::lines);
        for line in exact.chain(written.iter().cloned()) {
            let _ = writeln!(out, "  {line}");
        }
        out
    }
}

/// Name of a model for the output.
fn title(model: &Model) -> Cow<'_, str> {
    match model.name() {
        "" => "model".into(),
        name => remat_instances::name::visible(name),
    }
}

fn size(model: &Model, integers: usize) -> String {
    format!(
        "{}, {} ({integers} integer), {}",
        counted(model.num_rows() as u64, "row"),
        counted(model.num_cols() as u64, "column"),
        counted(model.num_nonzeros() as u64, "nonzero")
    )
}
