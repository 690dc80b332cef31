//! `remat-bench library run`

use super::export::{made, solution_file, verified};
use super::{entries, text};
use crate::library::arguments::LibraryRunArguments;
use crate::library::catalogue::{Catalogue, LibraryProgram};
use crate::library::check::check_file;
use crate::library::results::{self, ResultRow};
use crate::library::{index, miplib, verdict};
use crate::others::{Installed, Limits, SolverRun, Status, Task};
use remat_bb::commands::lp;
use remat_bb::failure::{Exit, Failure, note};
use remat_bb::files::{self, Files};
use remat_bb::version::COMMIT;
use remat_lp::solution_file::SolutionFile;
use remat_lp::{Model, mps};
use remat_report::number;
use std::path::{Path, PathBuf};

/// Runs solvers.
///
/// # Errors
/// [`Failure`] if there is no program or no solver, for programs that cannot be read, and files
/// that cannot be written.
pub(super) fn run(arguments: &LibraryRunArguments) -> Result<Exit, Failure> {
    let outputs = [("--out", Some(arguments.out.as_path()))];
    let files = Files::tried(false, &[], &outputs)?;
    let sources = sources(arguments)?;
    let solvers = solvers(arguments)?;
    let mut rows = match arguments.resume && arguments.out.exists() {
        true => {
            let (name, text) = text(&arguments.out)?;
            results::parse(&name, &text)?
        }
        false => Vec::new(),
    };
    let mut known = index::best_values(&entries(None)?);
    known.extend(super::known(arguments.known.as_deref())?);
    if let Some(folder) = &arguments.solutions {
        made(folder)?;
    }
    let machine = machine();
    let commit = commit(&solvers);
    let folder = files::temporary_folder().map_err(|e| unwritten("a temporary folder", &e))?;
    for source in &sources {
        let jobs = || (0..arguments.seeds).flat_map(|seed| solvers.iter().map(move |s| (seed, s)));
        let is_done = |(seed, there): &(u32, &Installed)| {
            let same = |r: &ResultRow| {
                (&r.program, r.seed, r.solver) == (&source.name, *seed, there.solver)
            };
            rows.iter().any(same)
        };
        let jobs: Vec<_> = jobs().filter(|job| !is_done(job)).collect();
        if jobs.is_empty() {
            continue;
        }
        let model = source.model()?;
        let program = folder.path().join("program.mps");
        mps::write(&model, &program).map_err(|e| unwritten("a temporary file", &e))?;
        for (seed, there) in jobs {
            let case = Case {
                name: &source.name,
                model: &model,
                program: &program,
                solutions: arguments.solutions.as_deref(),
            };
            let mut row = case.run(there, arguments, seed, &files)?;
            commit.clone_into(&mut row.commit);
            row.machine.clone_from(&machine);
            files.print(&shown(&row))?;
            rows.push(row);
            let table: String = rows.iter().map(ResultRow::line).collect();
            files.write(&arguments.out, &(results::heading() + &table))?;
        }
    }
    let wrongs = verdict::wrongs(&rows, &known);
    for w in &wrongs {
        let name = w.solver.name();
        files.print(&format!("WRONG: {name} on {}: {}\n", w.program, w.reason))?;
    }
    files.print(&format!("{} runs, {} wrong\n", rows.len(), wrongs.len()))?;
    Ok(Exit::Done)
}

fn unwritten(what: &str, error: &dyn std::fmt::Display) -> Failure {
    Failure::Write {
        file: what.into(),
        problem: error.to_string(),
        remedy: Some("make room among the temporary files".into()),
    }
}

/// A program to run on.
struct RunSource {
    name: String,
    /// Its file; `None` for a program of the library that is made anew.
    file: Option<PathBuf>,
    program: Option<LibraryProgram>,
}

impl RunSource {
    fn model(&self) -> Result<Model, Failure> {
        match (&self.file, &self.program) {
            (None, Some(program)) => Ok(verified(program, &entries(None)?)?.0),
            (file, _) => lp::read(file.as_deref().unwrap_or(Path::new(&self.name))),
        }
    }
}

/// The programs to run on.
fn sources(arguments: &LibraryRunArguments) -> Result<Vec<RunSource>, Failure> {
    let catalogue = Catalogue::built_in()?;
    let choice = &arguments.choice;
    let chosen = catalogue.chosen(choice.family.as_deref(), choice.size, &choice.only)?;
    let path = &arguments.programs;
    let mut sources: Vec<RunSource> = if path.as_os_str() == "all" {
        let all = chosen.into_iter().map(|program| RunSource {
            name: program.name.clone(),
            file: None,
            program: Some(program.clone()),
        });
        all.collect()
    } else {
        let files = files_in(path)?.into_iter().filter_map(|file| {
            let name = program_name(&file)?;
            let known = catalogue.program(&name);
            let of_library = choice.family.is_none() && choice.size.is_none();
            let wanted = match known {
                Some(_) => chosen.iter().any(|p| p.name == name),
                None => {
                    let only = &choice.only;
                    of_library && (only.is_empty() || only.iter().any(|o| name.contains(o)))
                }
            };
            wanted.then(|| RunSource {
                name,
                file: Some(file.clone()),
                program: None,
            })
        });
        let mut files: Vec<RunSource> = files.collect();
        files.sort_by(|a, b| a.name.cmp(&b.name));
        files
    };
    if sources.is_empty() {
        return Err(Failure::Usage {
            problem: format!("{}: there is no program to run on", path.display()),
            remedy: "name a folder of .mps or .lp files, plain or gzipped, or `all`".into(),
        });
    }
    sources.dedup_by(|a, b| a.name == b.name);
    Ok(sources)
}

/// The file itself, or the files of a folder.
fn files_in(path: &Path) -> Result<Vec<PathBuf>, Failure> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let found = std::fs::read_dir(path).and_then(|entries| {
        let paths = entries.map(|entry| Ok(entry?.path()));
        paths.collect::<std::io::Result<Vec<PathBuf>>>()
    });
    found.map_err(|e| Failure::Open {
        file: path.display().to_string(),
        problem: e.to_string(),
        remedy: None,
    })
}

/// The name of a program's file without its endings; `None` for other files.
fn program_name(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_string_lossy().into_owned();
    let name = name.strip_suffix(".gz").unwrap_or(&name);
    let stem = [".mps", ".lp"]
        .iter()
        .find_map(|end| name.strip_suffix(end));
    stem.map(str::to_owned)
}

/// The requested solvers that are installed.
fn solvers(arguments: &LibraryRunArguments) -> Result<Vec<Installed>, Failure> {
    let mut found = Vec::new();
    for solver in &arguments.solvers {
        match solver.find(&arguments.python) {
            Ok(there) => found.push(there),
            Err(missing) => note(&format!("left out: {missing}"), false),
        }
    }
    if found.is_empty() {
        return Err(Failure::Usage {
            problem: "none of the solvers is here".into(),
            remedy: "name a Python that has their packages behind --python".into(),
        });
    }
    Ok(found)
}

/// The commit that `remat-bb` was built from, or this program's commit if `remat-bb` does not run.
fn commit(solvers: &[Installed]) -> String {
    let told = solvers.iter().find_map(|there| there.commit.clone());
    told.unwrap_or_else(|| COMMIT.unwrap_or("unknown").into())
}

/// A program that is being run on.
struct Case<'a> {
    name: &'a str,
    model: &'a Model,
    /// Its MPS file.
    program: &'a Path,
    /// Folder of the best solutions.
    solutions: Option<&'a Path>,
}

impl Case<'_> {
    /// One run, and the verdict on its solution.
    fn run(
        &self,
        there: &Installed,
        arguments: &LibraryRunArguments,
        seed: u32,
        files: &Files,
    ) -> Result<ResultRow, Failure> {
        let folder = files::temporary_folder().map_err(|e| unwritten("a temporary folder", &e))?;
        let solution = folder.path().join("solution.sol");
        let task = Task {
            program: self.program,
            sense: self.model.sense(),
            solution: Some(&solution),
        };
        let limits = Limits {
            seconds: arguments.time_limit.as_secs_f64(),
            threads: usize::from(arguments.threads),
            gap: arguments.gap,
            seed,
        };
        let run = there
            .solve(&task, &limits)
            .unwrap_or_else(|words| SolverRun {
                words,
                seconds: limits.seconds,
                process_seconds: limits.seconds,
                ..SolverRun::default()
            });
        let mut row = ResultRow {
            program: self.name.into(),
            sense: self.model.sense(),
            solver: there.solver,
            version: there.version.clone(),
            seed,
            threads: limits.threads,
            time_limit: limits.seconds,
            gap: limits.gap,
            status: run.status,
            words: run.words,
            objective: run.objective,
            bound: run.bound,
            checked: None,
            check: String::new(),
            nodes: run.nodes,
            seconds: run.seconds,
            process_seconds: run.process_seconds,
            cpu_seconds: run.cpu_seconds,
            incumbents: run.incumbents,
            commit: String::new(),
            machine: String::new(),
            foreign_load: run.foreign_load,
        };
        // CBC writes a file where it has no solution, too.
        let claims = row.objective.is_some() && row.status != Status::Infeasible;
        if claims && solution.exists() {
            let (verdict, point) = check_file(self.model, &solution);
            row.checked = verdict.objective();
            row.check = verdict.words();
            if let (Some(folder), Some(x)) = (self.solutions, point) {
                self.keep(folder, &x, files)?;
            }
        }
        Ok(row)
    }

    /// Keeps a solution that is better than the one in the folder.
    fn keep(&self, folder: &Path, x: &[f64], files: &Files) -> Result<(), Failure> {
        let path = solution_file(folder, self.name);
        let before = SolutionFile::read(&path).ok();
        let before = before.and_then(|file| file.point(self.model).ok());
        let sign = self.model.sense().sign();
        let [new, old] =
            [Some(x), before.as_deref()].map(|x| x.map(|x| sign * self.model.objective(x)));
        if old.is_some_and(|old| new.is_some_and(|new| new >= old)) {
            return Ok(());
        }
        files.write(&path, &miplib::solution(self.model, x))
    }
}

/// A run as a line for people.
fn shown(row: &ResultRow) -> String {
    let value = |v: Option<f64>| v.map_or("-".into(), number);
    format!(
        "{:<28} {:<17} {:<10} {:>16} {:>16} {:>8.2} s  {}{}\n",
        row.program,
        row.solver.name(),
        row.status.as_str(),
        value(row.objective),
        value(row.bound),
        row.seconds,
        match row.status {
            Status::Failed => &row.words,
            _ => &row.check,
        },
        match row.foreign_load.filter(|_| row.is_loaded()) {
            Some(load) => format!(", LOADED: other processes took {:.0}%", 100.0 * load),
            None => String::new(),
        }
    )
}

/// Processor and cores.
fn machine() -> String {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = info.lines().find_map(|l| l.strip_prefix("model name"));
    let name = name.map_or("unknown processor", |n| {
        n.trim_start_matches([' ', '\t', ':'])
    });
    format!("{name} ({cores} cores)")
}
